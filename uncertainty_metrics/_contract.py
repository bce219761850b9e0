"""What a function on tensors takes over from its NumPy twin: everything but arithmetic.

Signature, defaults and prose are declared once, in the NumPy function; what many of
those say of an argument, in a table that they share.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_RAISES = "ValueError: an argument is not as described."
_ORDER = ("Args", "Returns", "Attributes", "Raises", "Example", "References")
_IMPORT = "import uncertainty_metrics.numpy as um"
_OF_TENSORS = (
    "float32, or float64 where the predictions are. NaN in compiled code, where eager "
    "code raises ValueError for values."
)


def documented(
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
        if function.__doc__:  # Not under `python -OO`.
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
    names = [key for key in dict.fromkeys([*_ORDER, *found]) if key in found]
    parts = [f"{key}:\n{found[key]}" for key in names]
    return "\n\n".join([head, *parts])


def docstring(declaration: Callable[..., Any]) -> str:
    """Returns the docstring of a NumPy function as that of its twin on tensors."""
    text = inspect.cleandoc(declaration.__doc__ or "")
    text = text.replace(_IMPORT, "import uncertainty_metrics as um")
    head, returns, rest = re.split(
        r"^Returns:\n((?:  .*\n)+)", text, flags=re.MULTILINE
    )
    said = " ".join([*returns.split(), _OF_TENSORS])
    said = textwrap.fill(said, 84, initial_indent="  ", subsequent_indent="  ")
    return f"{head}Returns:\n{said}\n{rest}"


def complete(
    arithmetic: FunctionType, declaration: Callable[..., Any]
) -> Callable[..., Any]:
    """Returns arithmetic that is called as its twin is: with the defaults of that, and
    if it takes nothing but `**arguments`, with all arguments by name.

    Raises:
      TypeError: it has other parameters.
    """
    signature = inspect.signature(declaration)
    given = inspect.signature(arithmetic).parameters.values()
    declared = signature.parameters.values()
    if [p.kind for p in given] == [inspect.Parameter.VAR_KEYWORD]:

        def gathering(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                declaration(*args, **kwargs)  # Python's own message names the function.
                raise
            bound.apply_defaults()
            return arithmetic(**bound.arguments)

        return gathering
    if [(p.name, p.kind) for p in given] != [(p.name, p.kind) for p in declared]:
        raise TypeError(
            f"`{arithmetic.__name__}` must have the parameters of its twin, "
            f"{signature}. Received: {inspect.signature(arithmetic)}"
        )
    defaults = {p.name: p.default for p in declared if p.default is not p.empty}
    named = {p.name for p in declared if p.kind is p.KEYWORD_ONLY}
    arithmetic.__defaults__ = tuple(v for k, v in defaults.items() if k not in named)
    arithmetic.__kwdefaults__ = {k: v for k, v in defaults.items() if k in named}
    return arithmetic


def adopt(
    function: Callable[..., Any], declaration: Callable[..., Any], module: str
) -> None:
    """Makes a function of a module look as declared."""
    function.__name__ = function.__qualname__ = declaration.__name__
    function.__module__ = module
    function.__doc__ = docstring(declaration)
    function.__signature__ = inspect.signature(declaration)  # type: ignore[attr-defined]
    function.__declaration__ = declaration  # type: ignore[attr-defined]
