"""Docstrings that are completed by what many functions say alike: once, in a table, or
in the docstring of one of them.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_RAISES = "ValueError: an argument is not as described."
_ORDER = ("Args", "Returns", "Attributes", "Raises", "Example", "References")
_IMPORT = "import uncertainty_metrics.numpy as um"


def completed(
    *tables: Mapping[str, str] | Callable[..., Any], **sections: str
) -> Callable[[F], F]:
    """Completes the docstring of a function, or of a class, by what others say, too.

    Its example imports the package where it does not do so itself.

    Args:
      *tables: what is said of an argument that the docstring does not describe itself:
        dicts from names to prose, or functions that describe it. The first counts. Of
        functions the other sections, but for the example, count as well.
      **sections: `Returns`, and others, of a docstring that has none of that name.

    Raises:
      TypeError: an argument is described nowhere.
    """
    arguments: ChainMap[str, str] = ChainMap()
    shared = ChainMap({key: f"  {text}" for key, text in sections.items()})
    for table in tables:
        if callable(table):
            others = _sections(inspect.getdoc(table) or "")[1]
            shared.maps.append({k: t for k, t in others.items() if k != "Example"})
            arguments.maps.append(_entries(others.get("Args", "")))
        else:
            arguments.maps.append({k: _entry(k, prose) for k, prose in table.items()})
    shared.maps.append({"Raises": f"  {_RAISES}"})

    def decorate(function: F) -> F:
        if sys.flags.optimize < 2:  # Else there are no docstrings.
            function.__doc__ = _completed(function, arguments, shared)
        return function

    return decorate


def _entry(name: str, prose: str) -> str:
    return textwrap.fill(f"{name}: {prose}", 82, subsequent_indent="    ")


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Returns what is before the first section of a docstring, and the sections."""
    head, *parts = re.split(r"\n\n(?=[A-Z]\w+:\n)", text)
    return head, dict(part.split(":\n", 1) for part in parts)


def _entries(section: str) -> dict[str, str]:
    """Returns what the section `Args` says of each, which it begins with."""
    entries = re.split(r"^  (?=\S)", section, flags=re.MULTILINE)
    return {entry.partition(":")[0]: entry.rstrip("\n") for entry in entries}


def _completed(
    function: Callable[..., Any],
    arguments: Mapping[str, str],
    shared: Mapping[str, str],
) -> str:
    head, sections = _sections(inspect.cleandoc(function.__doc__ or ""))
    entries = {**arguments, **_entries(sections.get("Args", ""))}
    lines = []
    for parameter in inspect.signature(function).parameters.values():
        name = str(parameter.replace(annotation=parameter.empty)).partition("=")[0]
        if name not in entries and name != "self":
            raise TypeError(f"`{function.__name__}` does not describe `{name}`.")
        lines += [f"  {entries[name]}"] if name != "self" else []
    example = sections.get("Example", "")
    if "um." in example and " as um\n" not in example:
        sections["Example"] = f"  >>> {_IMPORT}\n{example}"
    if "Attributes" in sections:  # A class returns nothing.
        shared = {key: text for key, text in shared.items() if key != "Returns"}
    found = {**shared, **sections, "Args": "\n".join(lines)}
    found = {key: text for key, text in found.items() if text}
    names = [key for key in dict.fromkeys([*_ORDER, *found]) if key in found]
    parts = [f"{key}:\n{found[key]}" for key in names]
    return "\n\n".join([head, *parts])
