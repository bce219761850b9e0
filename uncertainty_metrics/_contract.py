"""What a function on tensors takes over from its NumPy twin: everything but arithmetic.

Signature, defaults and prose are declared once, in the NumPy function.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
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
