"""Times two checkouts of the package in turns: is any path slower than before?

`python benchmarks/compare.py BEFORE [AFTER]`; AFTER is by default this checkout. Both
run the cases of this checkout, without the peers.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness import OURS, Case
from run import Place, Worker, measure, quartiles, select

_HERE = Path(__file__).resolve().parent
BEFORE, AFTER = "before", "after"
# If a contender looks slower than the limit, it is measured once more in so many times
# as many rounds, because among many ratios some are large by chance.
_AGAIN = 4


def compare(
    case: Case, chosen: list[int], workers: dict[str, Worker], rounds: int
) -> tuple[dict[int, list[float]], list[str]]:
    """Returns the quartiles of after / before for the chosen contenders, and a line for
    each contender whose value differs or that fails.
    """
    places = [Place(side, i) for i in chosen for side in (BEFORE, AFTER)]
    found = measure(case, places, workers, rounds)
    ratios = {}
    for i in chosen:
        sides = [found.seconds.get(Place(side, i)) for side in (AFTER, BEFORE)]
        if None not in sides:
            ratios[i] = quartiles(*sides)
    return ratios, found.problems


def ours(case: Case) -> list[int]:
    """Returns the indices of the contenders that belong to the package."""
    return [
        i
        for i, row in enumerate(case.contenders)
        if row.environment == OURS and row.mode is not None
    ]


def main(arguments: list[str] | None = None) -> None:
    """Compares, and exits with an error if a path is slower or a value differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="a checkout, from `git worktree`")
    parser.add_argument("after", type=Path, nargs="?", default=_HERE.parent)
    parser.add_argument("--cases", help="starts of names, or patterns: ece-update,sce")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--limit", type=float, default=1.05, help="largest allowed ratio (%(default)s)"
    )
    options = parser.parse_args(arguments)
    workers = {
        side: Worker(sys.executable, getattr(options, side).resolve())
        for side in (BEFORE, AFTER)
    }
    wrong: list[str] = []
    print("| case | contender | after / before | quartiles |\n|---|---|---|---|")
    for case in select(options.cases):
        rounds = options.rounds * case.patience
        found, problems = compare(case, ours(case), workers, rounds)
        slow = [i for i, (_, ratio, _) in found.items() if ratio > options.limit]
        if slow:
            found |= compare(case, slow, workers, _AGAIN * rounds)[0]
        wrong += [f"{case.name}: {problem}" for problem in problems]
        for i, (low, ratio, high) in found.items():
            label = case.contenders[i].label
            row = f"{case.name} | {label} | {ratio:.3f}"
            print(f"| {row} | {low:.3f} to {high:.3f} |", flush=True)
            if ratio > options.limit:
                wrong.append(f"{case.name}: {label} takes {ratio:.3f} of before")
    for worker in workers.values():
        worker.close()
    if wrong:
        raise SystemExit("SLOWER, OTHER OR FAILED:\n  " + "\n  ".join(wrong))


if __name__ == "__main__":
    main()
