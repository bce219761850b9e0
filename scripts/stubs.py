"""Reads and fills the tables of public names, the `.pyi` files of the packages."""

from __future__ import annotations

import ast
import functools
import importlib.util
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
# The modules whose names are all public in a package, those of their `__all__`.
_WHOLE = {
    "uncertainty_metrics": r"\.(tensors|keras\.metrics)\.[\w.]+",
    "uncertainty_metrics.numpy": r"\.[\w.]+",
}
_IMPORT = re.compile(r"^from (\.\S+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)


class Name(NamedTuple):
    """A public name: the heading it stands under, and the module it comes from."""

    title: str
    home: str


def table(package: str) -> pathlib.Path:
    """Returns the file of a package that is the table of its names."""
    return ROOT.joinpath(*package.split("."), "__init__.pyi")


def filled() -> dict[pathlib.Path, str]:
    """Returns the tables, with the names that their modules list in `__all__`."""
    return {
        table(package): _IMPORT.sub(
            functools.partial(_listed, table(package).parent, whole),
            table(package).read_text(encoding="utf-8"),
        )
        for package, whole in _WHOLE.items()
    }


def _listed(folder: pathlib.Path, whole: str, entry: re.Match[str]) -> str:
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
    """Returns the names of a package that is not a module itself, in order."""
    found, title, home = {}, "", ""
    for line in table(package).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:].rstrip(".")
        if start := re.match(r"from (\.\S*) import", line):
            home = start[1]
        if (name := re.search(r"(\w+) as \1", line)) and home != ".":
            found[name[1]] = Name(title, importlib.util.resolve_name(home, package))
    return found
