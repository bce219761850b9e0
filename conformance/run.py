"""Runs the vectors of a definition on any callable; needs only Python.

    python conformance/run.py expected_calibration_error my_module:my_function

The callable takes the inputs of a vector by their names, as lists and numbers. Its
result may be nested in any way. It must raise an exception if "error" is expected. In
Python, call `run("expected_calibration_error", my_function)`.
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
    """Yields (case, whether it is right, numbers or exception) for each vector."""
    for case, vector in VECTORS[definition].items():
        try:
            numbers = flat(function(**vector["inputs"]))
        except Exception as error:
            yield case, vector["expected"] == "error", error
            continue
        is_error = vector["expected"] == "error"
        expected = flat(math.nan if is_error else vector["expected"])  # NaN never fits.
        near = {"rel_tol": tolerance, "abs_tol": tolerance}
        right = len(numbers) == len(expected) and all(
            math.isclose(*pair, **near) for pair in zip(numbers, expected, strict=True)
        )
        yield case, right, numbers


if __name__ == "__main__":
    module, _, name = sys.argv[2].partition(":")
    sys.path.insert(0, "")
    results = list(run(sys.argv[1], getattr(importlib.import_module(module), name)))
    for case, right, result in results:
        print("right" if right else f"WRONG: {result!r}", "-", case)
    sys.exit(not all(right for _, right, _ in results))
