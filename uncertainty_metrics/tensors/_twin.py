"""Makes the public functions on tensors, from arithmetic and their NumPy twins.

A function on tensors takes everything but the arithmetic from its NumPy twin:
signature, defaults, prose, checks and messages.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec

from uncertainty_metrics import _arguments, _checks
from uncertainty_metrics.numpy import _frames, _row_math
from uncertainty_metrics.ops import (
    IS_JAX,
    _execution,
    _inputs,
    _structures,
    _validity,
    for_numpy,
    is_floating,
    xp,
)

P = ParamSpec("P")

_OF_TENSORS = (
    "float32, or float64 for float64 predictions. Compiled code returns NaN for wrong "
    "values, for which eager code raises ValueError."
)


def twin(
    declaration: Callable[P, Any],
    data: type | None = None,
    by_numpy: bool = False,
    if_short: bool = False,
) -> Callable[[FunctionType], Callable[P, Any]]:
    """Returns a decorator that makes a public function from its arithmetic.

    Args:
      declaration: the NumPy function, which declares the parameters and their defaults.
      data: a dataclass. The arithmetic then takes an object of it as its argument
        `data`, in place of the parameters that are its fields.
      by_numpy: whether the NumPy function is faster than the arithmetic. It then
        computes eager calls with tensors on a CPU, if nobody takes a gradient.
      if_short: whether NumPy is faster only for few classes, or few numbers in all.

    The arithmetic has the parameters of the NumPy function, without defaults. It
    returns `(value, ok)`: a tensor, or a dict, tuple or dataclass of tensors, and
    whether to trust the value, for the whole or for each element. For a value not to
    trust, the NumPy function, which has the same checks, raises the error. In a graph,
    which cannot raise errors, the value is NaN.

    Raises:
      TypeError: the arithmetic has other parameters than it must, or none of the
        parameters gives the result of NumPy its type.
    """
    signature = inspect.signature(declaration)
    if by_numpy and not signature.parameters.keys() & {*_arguments.PREDICTIONS}:
        raise TypeError(
            f"with `by_numpy`, a parameter of `{declaration.__name__}` must be in "
            f"`PREDICTIONS` of {_arguments.__name__}. Received: {signature}"
        )

    def decorator(arithmetic: FunctionType) -> Callable[P, Any]:
        if data is None:
            compute = _with_defaults(arithmetic, declaration)
        else:
            compute = _with_data(arithmetic, declaration, data)

        def function(*args: Any, **kwargs: Any) -> Any:
            if _frames.has_frames(args, kwargs):
                args, kwargs = _frames.read_frames(declaration, args, kwargs)
            if "clusters" in signature.parameters:
                _check_without_clusters(declaration.__name__, kwargs)
            with _execution.on_device_of(*args, *kwargs.values()):
                return computed(args, kwargs)

        def computed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            left = by_numpy and _left_to_numpy(signature, args, kwargs, if_short)
            if left:
                arguments, dtype = left
                value = _on_arrays(declaration, arguments.args, arguments.kwargs)
                return _structures.mapped(lambda x: xp.constant(x, dtype), value)
            with _execution.in_64_bits():
                value, ok = compute(*args, **kwargs)
                value = _execution.narrowed(value)
            return _validity.nan_unless(
                ok, value, lambda: _on_arrays(declaration, args, kwargs)
            )

        function.__name__ = function.__qualname__ = declaration.__name__
        function.__module__ = arithmetic.__module__
        function.__doc__ = _docstring(declaration)
        function.__signature__ = signature  # type: ignore[attr-defined]
        function.__declaration__ = declaration  # type: ignore[attr-defined]
        return _execution.not_converted(function)

    return decorator


def _on_arrays(
    declaration: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Returns the value of a NumPy function of tensors."""
    named = {name: for_numpy(value) for name, value in kwargs.items()}
    return declaration(*map(for_numpy, args), **named)


def _left_to_numpy(
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    if_short: bool,
) -> tuple[inspect.BoundArguments, Any] | None:
    """Returns the arguments of a call that is left to NumPy, and the type of its
    result; None for other calls.
    """
    if IS_JAX or not _execution.is_eager():
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    arguments, given = bound.arguments, []
    if arguments.get("groups") is not None:
        return None  # The two halves have other rules for the number of groups.
    for name in _arguments.PREDICTIONS:
        if arguments.get(name) is not None:
            arguments[name] = _inputs.as_tensor(name, arguments[name])
            given.append(arguments[name])
    left = bool(given) and all(map(is_floating, given))
    left = left and (not if_short or all(map(_is_short, given)))
    if not (left and _inputs.left_to_numpy(*arguments.values())):
        return None
    return bound, _inputs.predictions_dtype(*given)


# With so few numbers the operations of a framework take longer than the arithmetic.
_FEW_NUMBERS = 2**16


def _is_short(predictions: xp.Tensor) -> bool:
    """Returns whether NumPy's float64 takes no longer than a framework's float32."""
    shape = predictions.shape
    if math.prod(shape) <= _FEW_NUMBERS:
        return True
    compiled = _execution.COMPILES and _execution.is_worth_compiling(predictions)
    return shape[-1] <= _row_math.FEW_COLUMNS and not compiled


def _with_defaults(
    arithmetic: FunctionType, declaration: Callable[..., Any]
) -> Callable[..., Any]:
    """Returns the arithmetic with the defaults of its declaration."""
    parameters = inspect.signature(declaration).parameters.values()
    given = inspect.signature(arithmetic).parameters.values()
    if [(p.name, p.kind) for p in given] != [(p.name, p.kind) for p in parameters]:
        raise _wrong_parameters(arithmetic, inspect.signature(declaration))
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    arithmetic.__defaults__ = tuple(v for k, v in defaults.items() if k not in named)
    arithmetic.__kwdefaults__ = {k: v for k, v in defaults.items() if k in named}
    return arithmetic


def _with_data(
    arithmetic: FunctionType, declaration: Callable[..., Any], data: type
) -> Callable[..., Any]:
    """Returns a function with the parameters of the declaration, which calls the
    arithmetic by name: with an object `data`, and with the parameters that are not its
    fields.
    """
    signature = inspect.signature(declaration)
    fields = {field.name for field in dataclasses.fields(data)}
    fields = {name for name in signature.parameters if name in fields}
    expected = {"data", *signature.parameters} - fields
    if {*inspect.signature(arithmetic).parameters} != expected:
        raise _wrong_parameters(arithmetic, f"({', '.join(sorted(expected))})")

    def compute(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            declaration(*args, **kwargs)  # Python's own message names the function.
            raise
        bound.apply_defaults()
        examples = data(**{name: bound.arguments.pop(name) for name in fields})
        return arithmetic(data=examples, **bound.arguments)

    return compute


def _check_without_clusters(name: str, given: dict[str, Any]) -> None:
    """Raises ValueError for clusters of tensors: ids may be strings, and their number
    is known only from their values, so no compiled code could take them. With
    `multilabel` the labels of an example are a cluster, unless each label is a group.
    """
    if given.get("clusters") is not None:
        raise _checks.error(
            "clusters",
            f"None on tensors: `uncertainty_metrics.numpy.{name}` takes clusters",
            "`clusters`",
        )
    if given.get("multilabel") is True and given.get("class_conditional") is not True:
        expected = f"False on tensors: `uncertainty_metrics.numpy.{name}` takes labels"
        raise _checks.error("multilabel", expected + " that depend on each other", True)


def _wrong_parameters(arithmetic: FunctionType, expected: object) -> TypeError:
    return TypeError(
        f"`{arithmetic.__module__}.{arithmetic.__name__}` must have the parameters "
        f"{expected}. Received: {inspect.signature(arithmetic)}"
    )


def _docstring(declaration: Callable[..., Any]) -> str:
    """Returns the docstring of a NumPy function, changed for its twin on tensors."""
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
