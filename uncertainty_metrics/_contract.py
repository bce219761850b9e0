"""What is declared once, and taken over.

A function on tensors takes over everything but arithmetic from its NumPy twin:
signature, defaults and prose. The docstring of a Keras class takes over what is said of
arguments that many have.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

_OF_TENSORS = (
    "float32, or float64 where the predictions are. NaN in compiled code, where eager "
    "code raises ValueError for values."
)


def docstring(declaration: Callable[..., Any]) -> str:
    """Returns the docstring of a NumPy function as that of its twin on tensors."""
    text = inspect.cleandoc(declaration.__doc__ or "")
    text = text.replace(
        "import uncertainty_metrics.numpy as", "import uncertainty_metrics as"
    )
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


_SECTIONS = ("Args", "Attributes", "Raises", "Example", "References")
_IMPORT = "  >>> import uncertainty_metrics as um\n"


def class_docstring(
    text: str,
    shared: Mapping[str, str],
    raises: str,
    function: Callable[..., Any] | None,
) -> str:
    """Returns the docstring of a class, completed by what it shares with others.

    Args:
      text: describes arguments of its own, and those it says more of.
      shared: how all arguments are described elsewhere, in order; "" where nowhere.
      raises: when a ValueError is raised, unless the class says it.
      function: has the references, unless the class has its own.

    Raises:
      TypeError: an argument is described nowhere, or what is described is none.
    """
    head, sections = _sections(text)
    _, of_function = _sections(getattr(function, "__doc__", None) or "")
    if "References" in of_function:
        sections.setdefault("References", of_function["References"])
    entries = r"^  (\w+): (.*\n(?:    .*\n)*)"
    own = dict(re.findall(entries, sections.get("Args", ""), flags=re.MULTILINE))
    described = {name: own.get(name) or prose for name, prose in shared.items()}
    unknown = [*(own.keys() - shared), *(k for k, v in described.items() if not v)]
    if unknown:
        raise TypeError(f"Not an argument, or not described: {', '.join(unknown)}")
    sections["Args"] = "".join(map(_entry, described.items()))
    raised = dict(re.findall(entries, sections.get("Raises", ""), flags=re.MULTILINE))
    raised.setdefault("ValueError", raises)
    sections["Raises"] = "".join(map(_entry, raised.items()))
    if "Example" in sections:
        sections["Example"] = _IMPORT + sections["Example"]
    listed = (f"{k}:\n{sections[k].rstrip()}" for k in _SECTIONS if k in sections)
    return "\n\n".join([head.rstrip(), *listed])


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Returns what is before the sections of a docstring, and these."""
    names = "|".join(_SECTIONS)
    text = inspect.cleandoc(text) + "\n"
    head, *rest = re.split(rf"^({names}):\n", text, flags=re.MULTILINE)
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def _entry(described: tuple[str, str]) -> str:
    said = re.sub(r"\s+", " ", ": ".join(described))
    return textwrap.fill(said, 84, initial_indent="  ", subsequent_indent="    ") + "\n"
