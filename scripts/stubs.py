"""Reads and fills the tables of public names, the `.pyi` files of the packages."""

from __future__ import annotations

import ast
import functools
import importlib.util
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
# By package: a pattern of the modules from which it takes all names in `__all__`.
_WHOLE = {
    "uncertainty_metrics": r"\.(tensors|keras\.metrics)\.[\w.]+",
    "uncertainty_metrics.numpy": r"\.[\w.]+",
}
_IMPORT = re.compile(r"^from (\.\S+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)


class Name(NamedTuple):
    """A public name: the heading above it in the table, and the module of the name."""

    title: str
    home: str


def table(package: str) -> pathlib.Path:
    """Returns the file that holds the table of the names of a package."""
    return ROOT.joinpath(*package.split("."), "__init__.pyi")


def filled() -> dict[pathlib.Path, str]:
    """Returns the text of the tables, with the names of `__all__` of their modules."""
    return {
        table(package): _IMPORT.sub(
            functools.partial(_with_all_names, table(package).parent, whole),
            table(package).read_text(encoding="utf-8"),
        )
        for package, whole in _WHOLE.items()
    }


def _with_all_names(folder: pathlib.Path, whole: str, entry: re.Match[str]) -> str:
    """Returns an import statement of a table, with all names of its module.

    Args:
      folder: folder of the package.
      whole: pattern of the modules whose names are all public.
      entry: the import statement, as `_IMPORT` matches it.
    """
    home = entry[1]
    module = folder.joinpath(*home.split(".")).with_suffix(".py")
    if not re.fullmatch(whole, home) or not module.exists():
        return entry[0]
    found = re.search(r"^__all__ = (\[.*?\])", module.read_text(), re.DOTALL | re.M)
    names = sorted(ast.literal_eval(found[1])) if found else []
    if not names or names == sorted(re.findall(r"(\w+) as \1", entry[0])):
        return entry[0]
    if len(names) == 1:
        return f"from {home} import {names[0]} as {names[0]}\n"
    lines = "".join(f"    {name} as {name},\n" for name in names)
    return f"from {home} import (\n{lines})\n"


def names(package: str) -> dict[str, Name]:
    """Returns the names in the table of a package, in order, without submodules."""
    found, title, home = {}, "", ""
    for line in table(package).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:].rstrip(".")
        if start := re.match(r"from (\.\S*) import", line):
            home = start[1]
        if (name := re.search(r"(\w+) as \1", line)) and home != ".":
            found[name[1]] = Name(title, importlib.util.resolve_name(home, package))
    return found
