"""Runs the vectors of a definition on any callable, with nothing but Python:

    python conformance/run.py expected_calibration_error my_module:my_function

The callable takes the inputs of a vector by their names, as lists and numbers; what it
returns may be nested in any way. It must raise where "error" is expected. From
Python: `run("expected_calibration_error", my_function)`.
"""

import contextlib
import importlib
import json
import math
import pathlib
import sys

FILES = sorted(pathlib.Path(__file__).parent.glob("*.json"))
VECTORS = {k: v for f in FILES for k, v in json.loads(f.read_text("utf-8")).items()}


def flat(value):
    """Returns the numbers of nested lists, tuples, arrays or tensors."""
    if not isinstance(value, str):
        with contextlib.suppress(TypeError):  # One number cannot be iterated.
            return [number for part in value for number in flat(part)]
    return [float(value)]


def run(definition, function, tolerance=1e-6):
    """Yields (case, is it right, numbers or exception that came) of each vector."""
    for case, vector in VECTORS[definition].items():
        try:
            found = flat(function(**vector["inputs"]))
        except Exception as error:
            yield case, vector["expected"] == "error", error
            continue
        wanted = flat(math.nan if vector["expected"] == "error" else vector["expected"])
        near = {"rel_tol": tolerance, "abs_tol": tolerance}
        right = len(found) == len(wanted) and all(
            math.isclose(*pair, **near) for pair in zip(found, wanted, strict=True)
        )
        yield case, right, found


if __name__ == "__main__":
    module, _, name = sys.argv[2].partition(":")
    sys.path.insert(0, "")
    results = list(run(sys.argv[1], getattr(importlib.import_module(module), name)))
    for case, right, found in results:
        print("right" if right else f"WRONG: {found!r}", "-", case)
    sys.exit(not all(right for _, right, _ in results))
