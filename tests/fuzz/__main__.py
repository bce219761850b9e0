"""Runs random cases for some time, or one case again."""

from __future__ import annotations

import argparse
import itertools
import logging
import time

from tests import fuzz
from tests.fuzz import functions
from tests.fuzz.kinds import KINDS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=fuzz.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", help="KIND/NAME:SEED of one case to run again")
    parser.add_argument("--only", default="", help="part of the KIND/NAME to run")
    options = parser.parse_args()
    logging.getLogger("tensorflow").setLevel("ERROR")  # It warns of retracing.
    if options.case:
        case, seed = options.case.rsplit(":", 1)
        kind, name = case.split("/", 1)
        if kind == "functions":
            functions.show(name, int(seed))
        print(KINDS[kind].check(name, int(seed)))
        return
    cases = (f"{kind}/{name}" for kind in KINDS for name in KINDS[kind].names)
    if not any(options.only in case for case in cases):
        parser.error(f"no case has {options.only!r} in its name")
    end = time.monotonic() + options.seconds
    count = failures = 0
    first = options.seed * 10**6
    for seed in itertools.count(first):
        for kind, (names, check, every) in KINDS.items():
            for name in names:
                case = f"{kind}/{name}"
                if (seed - first) % every or options.only not in case:
                    continue
                if time.monotonic() > end:
                    print(f"{failures} failures in {count} cases")
                    return
                count += 1
                problem = check(name, seed)
                if problem:
                    failures += 1
                    line = f"--case {case}:{seed}  {problem}"[:400]
                    print(" ".join(line.split()), flush=True)


if __name__ == "__main__":
    main()
