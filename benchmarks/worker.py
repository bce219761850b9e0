"""Runs the contenders of one environment: reads and writes lines of JSON.

`run.py` starts this script with the folder of the package. Requests are
{"do": name, ...}, one at a time; every answer is the result, or {"error": message}.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

_PACKAGES = (
    "numpy",
    "scipy",
    "tensorflow",
    "tensorflow-probability",
    "keras",
    "jax",
    "torch",
    "torchmetrics",
    "torch-uncertainty",
    "netcal",
    "uncertainty-toolbox",
    "uncertainty-metrics",
    "scikit-learn",
    "numba",
    "scoringrules",
    "properscoring",
    "arviz",
)


class Worker:
    """Holds the data of one case, and the calls that its contenders set up."""

    def __init__(self):
        self._clear()

    def _clear(self) -> None:
        self._case: Any = None
        self._data: Any = None
        self._timed: dict[int, Any] = {}
        gc.collect()

    def versions(self) -> dict[str, str]:
        """Returns the versions of Python and of the installed packages."""
        found = {"python": platform.python_version()}
        for package in _PACKAGES:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found[package] = importlib.metadata.version(package)
        return found

    def begin(self, case: str, module: str = "cases") -> list[float]:
        """Makes the data of a case and returns their fingerprint."""
        import data

        self._clear()
        cases = importlib.import_module(module).CASES
        self._case = next(row for row in cases if row.name == case)
        if not self._case.size:
            return []
        self._data = getattr(data, self._case.data)(*self._case.size)
        return data.fingerprint(self._data)

    def setup(self, contender: int) -> dict[str, Any]:
        """Sets a contender up and warms it up; returns its value and loop length."""
        from harness import warm_up

        row = self._case.contenders[contender]
        module, function = row.setup.rsplit(".", 1)
        make = getattr(importlib.import_module(module), function)
        timed = make(self._data, **row.options)
        self._timed[contender] = timed
        calls = warm_up(timed)
        value = None if row.quantity is None else float(timed.value())
        return {"value": value, "calls": calls}

    def time(self, contender: int, calls: int) -> float:
        """Returns the seconds of a call, or of one of its steps."""
        from harness import loop

        return loop(self._timed[contender], calls)

    def end(self) -> None:
        """Forgets the case."""
        self._clear()


def main() -> None:
    """Answers requests until the input ends."""
    # Output that libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    # The cases and tests are from this checkout, the package may be from another.
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
    importlib.import_module("tests")
    sys.path[1] = sys.argv[1]
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # If a contender fails, the others still run.
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
