"""Values that are computed from the state of a metric, on every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from uncertainty_metrics.keras import _variables
from uncertainty_metrics.keras._family import keras
from uncertainty_metrics.ops import IS_TENSORFLOW, _execution

_Method = TypeVar("_Method", bound=Callable[..., Any])


class CompiledResults:
    """The compiled functions that compute the results of one metric."""

    def __init__(self) -> None:
        self._calls: dict[Callable[..., Any], tuple[Any, list[str]]] = {}

    def of(self, result: Callable[..., Any], metric: Any) -> tuple[Any, list[str]]:
        """Returns a function from the values of the variables to the result, the number
        of invalid batches, and whether counts are exact; and the names of a result that
        is a dict, which the first call fills in.
        """
        if result in self._calls:
            return self._calls[result]
        names: list[str] = []

        def compute(state: list[Any]) -> Any:
            with keras.StatelessScope(list(zip(metric.variables, state, strict=True))):
                metric._forget_shown()
                value, invalid = result(metric), _variables.read(metric._invalid)
                exact = (
                    metric._counts_are_exact(_variables.read(metric._units))
                    if metric._has_sums
                    else True
                )
            if isinstance(value, dict):  # JAX would sort the keys.
                names[:] = value
                value = list(value.values())
            return value, invalid, exact

        self._calls[result] = _execution.compiled(compute), names
        return self._calls[result]


def in_64_bits(method: _Method) -> _Method:
    """Decorates a method that reads a value off the state of a metric.

    JAX has 64 bits only where a caller asks for them. PyTorch would prepare for
    gradients, which nobody takes. For TensorFlow it is the method as it is.
    """
    if IS_TENSORFLOW:
        return method

    @functools.wraps(method)
    def computed(*args: Any, **kwargs: Any) -> Any:
        with _execution.without_gradients(), _execution.in_64_bits():
            return method(*args, **kwargs)

    return computed  # type: ignore[return-value]


def in_one_call(result: _Method) -> _Method:
    """Decorates `result`: on JAX an eager call is one call of a compiled function.

    JAX would compile each of the hundred operations by itself. For TensorFlow it is the
    method as it is, and for PyTorch it computes without gradients.
    """
    if IS_TENSORFLOW or not _execution.COMPILES:
        return in_64_bits(result)

    @functools.wraps(result)
    def computed(self: Any) -> Any:
        if not _execution.is_eager():
            return result(self)
        compiled, names = self._compiled_results.of(result, self)
        with self._locked():
            state = [variable.value for variable in self.variables]
        value, invalid, exact = compiled(state)
        self._warn_if_nan(int(invalid), bool(exact))
        if not invalid and exact:
            self._warn_if_undefined(value)
        return dict(zip(names, value, strict=True)) if names else value

    return in_64_bits(computed)  # type: ignore[return-value]
