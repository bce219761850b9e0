"""Public names, imported when they are first used (PEP 562).

The stub of a package, `__init__.pyi`, is the table of its public names. Type checkers
and editors read it, and so does `attach`: a name is listed once.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import pathlib
from collections.abc import Callable
from typing import Any

from uncertainty_metrics import _optional

_ROOT = pathlib.Path(__file__).parents[1]


def homes(package: str, stub: pathlib.Path) -> dict[str, str]:
    """Returns the public names in a stub, each with the module to import it from.

    A submodule is imported from the package that it belongs to.
    """
    home_of: dict[str, str] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            home_of[node.name] = package
        if isinstance(node, ast.ImportFrom):
            home = f"{'.' * node.level}{node.module or ''}"
            home = importlib.util.resolve_name(home, package)
            names = [alias.name for alias in node.names]
            all_of_home = names == ["*"] and _stub(home)
            found = (
                homes(home, all_of_home) if all_of_home else dict.fromkeys(names, home)
            )
            home_of |= found
    return home_of


def _stub(package: str) -> pathlib.Path | None:
    """Returns the stub of a package or of a module, if there is one."""
    path = _ROOT.joinpath(*package.split("."))
    stubs = path / "__init__.pyi", path.with_suffix(".pyi")
    return next((stub for stub in stubs if stub.exists()), None)


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns `__getattr__`, `__dir__` and `__all__` of the package with this file."""
    home_of = homes(package, pathlib.Path(file).with_suffix(".pyi"))
    names = sorted(home_of)

    def __getattr__(name: str) -> Any:
        if name not in home_of:
            raise no_such_name(package, name)
        home = home_of[name]
        try:
            if home == package:
                return importlib.import_module(f"{package}.{name}")
            return getattr(importlib.import_module(home), name)
        except ModuleNotFoundError as missing:
            raise _optional.not_installed(missing, f"{package}.{name}") from missing

    return __getattr__, lambda: names, names


def no_such_name(package: str, name: str) -> AttributeError:
    """Returns the error for a name that a package does not have, with ours for it."""
    text = f"module {package!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text)
    # With a `name` and no `obj`, Python adds no guess, which would be another metric:
    # "Did you mean: 'CCE'?" for "ECE".
    return AttributeError(text + _our_name_for(package, name), name=name)


def _our_name_for(package: str, name: str) -> str:
    """Returns the end of a message: the names here for a name that people type."""
    import difflib

    called: list[str] = []
    place = package
    while place:
        names = _names(place)
        found = _same_names(place, name)
        if called:  # Packages around this one add but the very name.
            found = [known for known in found if known == name]
        prefix = "" if place == package else f"{place}."
        for known in found:
            mark = " (Keras)" if ".keras." in names[known] else ""
            called.append(f"`{prefix}{known}`{mark}")
        # The rooms of `torch`, which is a module, are in a package of their own.
        place = place.rpartition(".")[0].replace("._torch", ".torch")
    if called:
        return f": here it is called {' or '.join(called)}"
    # One letter makes another metric of a short name, as "rmse" and "rmsce" show.
    close = difflib.get_close_matches(name, _names(package), n=1, cutoff=0.85)
    return f": did you mean `{close[0]}`?" if close and len(name) > 5 else ""


def _same_names(package: str, name: str) -> list[str]:
    """Returns the names in a package for a name that people type: the same one but for
    case and underscores first, and Keras classes last.
    """
    from uncertainty_metrics import _typed_names

    typed = _typed_names.plain(name)
    ours = _typed_names.OURS.get(typed, ())
    _, *rooms = package.split(".")
    room = ".".join({*rooms} - {"numpy", "jax", "torch", "_torch"})
    names = _names(package)
    order = {}
    for known in names:
        whole = f"{room}.{known}".lstrip(".")
        if whole in ours:
            order[known] = ".keras." in names[known], ours.index(whole)
        elif _typed_names.plain(known.rpartition(".")[2]) == typed:
            order[known] = ".keras." in names[known], -1
    found = sorted(order, key=order.__getitem__)
    # Names in subpackages count only where the package itself has none.
    return [known for known in found if "." not in known] or found


@functools.cache
def _names(package: str) -> dict[str, str]:
    """Returns the names of a package and, with a dot, of its subpackages, each with
    its module.
    """
    stub = _stub(package)
    home_of = homes(package, stub) if stub else {}
    inside: dict[str, str] = {}
    for room, home in home_of.items():
        of_room = _stub(f"{home}.{room}")
        # The names of `numpy` are those of the package itself; modules have no table.
        if room != "numpy" and of_room:
            names = homes(f"{home}.{room}", of_room)
            inside |= {f"{room}.{name}": names[name] for name in names}
    return home_of | inside
