"""Writes the stubs that tell type checkers where the public names come from.

Names that are imported when they are first used have no type without them. Run it from
a checkout after adding a public name: `python scripts/write_stubs.py`. `--check` only
says whether the stubs are up to date.
"""

from __future__ import annotations

import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
STUBS = {
    "uncertainty_metrics": "uncertainty_metrics/__init__.pyi",
    "uncertainty_metrics.regression": "uncertainty_metrics/regression.pyi",
    "uncertainty_metrics.numpy": "uncertainty_metrics/numpy/__init__.pyi",
}
HEADER = """\
# As written by scripts/write_stubs.py.
# ruff: noqa: E501, I001
"""


def _homes(package: str) -> dict[str, str]:
    """Returns the module that defines each public name."""
    module = importlib.import_module(package)
    homes = dict(module._HOMES)
    if hasattr(module, "__version__"):
        homes["__version__"] = f"{package}.version"
    # A module that is itself the value is imported from its package.
    return {
        name: package if home == f"{package}.{name}" else home
        for name, home in homes.items()
    }


def render(package: str) -> str:
    """Returns the text of the stub of a package."""
    homes = _homes(package)
    lines = [f"from {homes[name]} import {name} as {name}\n" for name in sorted(homes)]
    return "".join([HEADER, *lines])


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for package, path in STUBS.items():
        stub = ROOT / path
        if "--check" not in sys.argv[1:]:
            stub.write_text(render(package), encoding="utf-8")
        elif stub.read_text(encoding="utf-8") != render(package):
            sys.exit(f"{path} is out of date: run `python scripts/write_stubs.py`")
