"""Reads the tables of public names, the `.pyi` files of the packages."""

from __future__ import annotations

import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]


class Name(NamedTuple):
    """A public name: the heading it stands under, and the module it comes from."""

    title: str
    home: str


def names(package: str) -> dict[str, Name]:
    """Returns the names of a package that is not a module itself, in order."""
    stub = ROOT.joinpath(*package.split("."), "__init__.pyi")
    found, title, home = {}, "", ""
    for line in stub.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:].rstrip(".")
        if start := re.match(r"from (\.\S*) import", line):
            home = start[1]
        if (name := re.search(r"(\w+) as \1", line)) and home != ".":
            found[name[1]] = Name(title, package + home)
    return found
