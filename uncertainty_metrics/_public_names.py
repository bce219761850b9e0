"""Public names, imported when they are first used (PEP 562).

The stub of a package, `__init__.pyi`, is the table of its public names. Type checkers
and editors read it, and so does `attach`: a name is listed once.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pathlib
from collections.abc import Callable
from typing import Any

from uncertainty_metrics import _optional


def homes(package: str, stub: pathlib.Path) -> dict[str, str]:
    """Returns the public names in a stub, each with the module to import it from.

    A submodule is imported from the package that it belongs to.
    """
    home_of: dict[str, str] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            home = f"{'.' * node.level}{node.module or ''}"
            home = importlib.util.resolve_name(home, package)
            home_of |= dict.fromkeys((alias.name for alias in node.names), home)
    return home_of


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns `__getattr__`, `__dir__` and `__all__` of the package with this file."""
    home_of = homes(package, pathlib.Path(file).with_suffix(".pyi"))
    names = sorted(home_of)

    def __getattr__(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = home_of[name]
        try:
            if home == package:
                return importlib.import_module(f"{package}.{name}")
            return getattr(importlib.import_module(home), name)
        except ModuleNotFoundError as missing:
            raise _optional.not_installed(missing, f"{package}.{name}") from missing

    return __getattr__, lambda: names, names
