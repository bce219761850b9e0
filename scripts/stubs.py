"""Reads, checks and fills the tables of public names, the `.pyi` files of packages."""

from __future__ import annotations

import ast
import functools
import importlib.util
import itertools
import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
# By package: a pattern of the modules from which it takes all names in `__all__`.
_WHOLE = {
    "uncertainty_metrics": r"\.(tensors|keras\.metrics|numpy\.calibrators)\.[\w.]+",
    "uncertainty_metrics.conformal": r"\.\.keras\.metrics\.conformal",
    "uncertainty_metrics.detection": r"\.\.numpy\.detection\.\w+",
    "uncertainty_metrics.regression": r"\.\.(tensors|keras\.metrics)\.regression[\w.]*",
    "uncertainty_metrics.numpy": r"\.\w[\w.]*",
    "uncertainty_metrics.numpy.conformal": r"\.\w[\w.]*",
    "uncertainty_metrics.numpy.detection": r"\.\w[\w.]*",
    "uncertainty_metrics.numpy.regression": r"\.\w[\w.]*",
}
# The folders whose modules define public names, those of files without an underscore.
_ROOMS = ("numpy", "tensors", "keras", "visualization")
_IMPORT = re.compile(r"^from (\.\S+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)
_NAME = re.compile(r"\b(\w+) as \1\b")


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
            functools.partial(_with_all_names, package, whole),
            table(package).read_text(encoding="utf-8"),
        )
        for package, whole in _WHOLE.items()
    }


def _with_all_names(package: str, whole: str, entry: re.Match[str]) -> str:
    """Returns an import statement of a table, with all names of its module.

    Args:
      package: the package whose table it is.
      whole: pattern of the modules whose names are all public.
      entry: the import statement, as `_IMPORT` matches it.
    """
    home = entry[1]
    module = _file(importlib.util.resolve_name(home, package))
    if not re.fullmatch(whole, home) or not module.exists():
        return entry[0]
    names = sorted(_exported(module) or ())
    if not names or names == sorted(_NAME.findall(entry[0])):
        return entry[0]
    if len(names) == 1:
        return f"from {home} import {names[0]} as {names[0]}\n"
    lines = "".join(f"    {name} as {name},\n" for name in names)
    return f"from {home} import (\n{lines})\n"


def _file(module: str) -> pathlib.Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def _exported(module: pathlib.Path) -> list[str] | None:
    """Returns the `__all__` of a module, None where it has none."""
    text = module.read_text(encoding="utf-8")
    if listed := re.search(r"^__all__ = (\[.*?\])", text, re.DOTALL | re.MULTILINE):
        names: list[str] = ast.literal_eval(listed[1])
        return names
    # On tensors the names may be those of the NumPy module that declares them.
    if alias := re.search(r"^__all__ = (\w+)\.__all__$", text, re.MULTILINE):
        (home,) = (
            f"{node.module}.{name.name}"
            for node in ast.parse(text).body
            if isinstance(node, ast.ImportFrom)
            for name in node.names
            if name.asname == alias[1]
        )
        return _exported(_file(home))
    return None


def _defined(module: pathlib.Path, room: str) -> list[str]:
    """Returns the names that a module defines and that are meant to be public: those of
    functions on tensors, of Keras classes, and of whatever shows an example.
    """
    found = []
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        is_class = isinstance(node, ast.ClassDef)
        if not (is_class or isinstance(node, ast.FunctionDef)):
            continue
        is_twin = any(ast.unparse(d).startswith("twin(") for d in node.decorator_list)
        shows = "Example:" in (ast.get_docstring(node) or "")
        is_meant = is_twin or shows or (is_class and room == "keras")
        if is_meant and not node.name.startswith("_"):
            found.append(node.name)
    return found


def missing() -> list[str]:
    """Returns what to write where, for each public name that is not listed."""
    tables = {package: _homes(package) for package in _WHOLE}
    twins = {name for path in _modules("tensors") for name in _exported(path) or ()}
    found = []
    for room in _ROOMS:
        for path in _modules(room):
            found += _missing_of(path, room, tables, twins)
    return found


def _modules(room: str) -> list[pathlib.Path]:
    return sorted(ROOT.glob(f"uncertainty_metrics/{room}/**/[!_]*.py"))


def _homes(package: str) -> dict[str, str]:
    """Returns the names in the table of a package, each with the module it is from."""
    found = {}
    for entry in _IMPORT.finditer(table(package).read_text(encoding="utf-8")):
        home = importlib.util.resolve_name(entry[1], package)
        found |= dict.fromkeys(_NAME.findall(entry[0]), home)
    return found


def _missing_of(
    path: pathlib.Path,
    room: str,
    tables: dict[str, dict[str, str]],
    twins: set[str],
) -> Iterator[str]:
    """Yields what to write where for the names of one module.

    Args:
      path: of the module.
      room: its folder.
      tables: from each package to the names in its table and their homes.
      twins: the names of functions on tensors.
    """
    file = path.relative_to(ROOT)
    module = ".".join(file.with_suffix("").parts)
    defined, exported = _defined(path, room), _exported(path)
    pairs = itertools.chain(*(homes.items() for homes in tables.values()))
    taken = {name for name, home in pairs if home == module}
    if exported is None:
        if names := sorted({*defined, *taken}):
            quoted = ", ".join(f'"{name}"' for name in names)
            yield f"{file}: write `__all__ = [{quoted}]` below the imports"
        return
    for name in defined:
        if name not in exported:
            yield f'{file}: write `"{name}",` into `__all__`'
            continue
        if room == "visualization" or (room != "numpy" and name in taken):
            continue  # The `__all__` of plots has helpers, which no table lists.
        for package in _packages_of(file):
            has_twin = room == "numpy" and ".numpy" not in package and name in twins
            if name in tables[package] or has_twin:
                continue
            line = f"from {_relative(module, package)} import {name} as {name}"
            complaint = f"{table(package).relative_to(ROOT)}: write `{line}`"
            if ".numpy." in line:
                complaint += ", or its twin into uncertainty_metrics/tensors"
            yield complaint


def _packages_of(file: pathlib.Path) -> list[str]:
    """Returns the packages whose tables have the names of a module: what is in NumPy is
    in the other half as well.
    """
    halves = ["uncertainty_metrics.numpy"] if "numpy" in file.parts else []
    halves.append("uncertainty_metrics")
    for room in ("conformal", "detection", "regression"):
        # Modules called `detection` elsewhere are about another detection, by scores.
        names = file.parts if room == "detection" else (*file.parts, file.stem)
        if room in names:
            return [f"{half}.{room}" for half in halves]
    return halves


def _relative(module: str, package: str) -> str:
    """Returns the name of a module as an import in a package has it."""
    if module.startswith(f"{package}."):
        return module.removeprefix(package)
    return f".{module.removeprefix(package.rpartition('.')[0])}"


def names(package: str) -> dict[str, Name]:
    """Returns the names in the table of a package, in order, without submodules."""
    found, title, home = {}, "", ""
    for line in table(package).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:].rstrip(".")
        if start := re.match(r"from (\.\S*) import", line):
            home = start[1]
        if (name := re.search(r"(\w+) as \1", line)) and home.strip("."):
            found[name[1]] = Name(title, importlib.util.resolve_name(home, package))
    return found
