"""Values that are computed from the state of a metric, on every backend."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from uncertainty_metrics.keras import _variables
from uncertainty_metrics.keras._family import keras
from uncertainty_metrics.ops import IS_TENSORFLOW, _execution, to_numpy

_Method = TypeVar("_Method", bound=Callable[..., Any])

# Whether `as_parts` is entered.
_are_parts: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "are_parts", default=False
)


@contextlib.contextmanager
def as_parts() -> Iterator[None]:
    """Within this context results of metrics are parts of the result of another, and
    get no function of their own.
    """
    token = _are_parts.set(True)
    try:
        yield
    finally:
        _are_parts.reset(token)


class CompiledResults:
    """The compiled functions that compute the results of one metric."""

    def __init__(self) -> None:
        self._calls: dict[Callable[..., Any], tuple[Any, list[str]]] = {}
        # For TensorFlow: the variables that the function of a compiled step reads, the
        # function, and the names of its results.
        self._steps: dict[Callable[..., Any], tuple[list[Any], Any, list[str]]] = {}

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

    def of_step(
        self, result: Callable[..., Any], metric: Any
    ) -> tuple[Any, list[str]] | None:
        """Returns a function that computes the result from the variables, and the names
        of a result that is a dict, which the first call fills in.

        Only a compiled step makes one, as that takes a second; later steps share it. An
        eager call gets the one of a step, or None.
        """
        variables = metric.variables  # Others, once the state is made or shared.
        if result in self._steps:
            before, function, names = self._steps[result]
            if list(map(id, before)) == list(map(id, variables)):
                return function, names
        if _execution.is_eager():
            return None
        names = []

        def compute() -> Any:
            with as_parts():
                value = result(metric)
            if isinstance(value, dict):
                names[:] = value
                value = list(value.values())
            return value

        function = _execution.compiled(compute)
        self._steps[result] = variables, function, names
        return function, names


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
    """Decorates `result`: an eager call is one call of a compiled function.

    JAX would compile each of the hundred operations by itself. TensorFlow has such a
    function if a compiled step computed the result: Keras reads it eagerly at the end
    of each epoch. For PyTorch the result is computed without gradients.
    """
    if IS_TENSORFLOW:
        return _as_in_steps(result)
    if not _execution.COMPILES:
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


def _as_in_steps(result: _Method) -> _Method:
    """Decorates `result` for TensorFlow: an eager call is a call of the function that a
    compiled step made, if there is one and if there is nothing to warn of.
    """

    @_execution.not_converted
    @functools.wraps(result)
    def computed(self: Any) -> Any:
        if _are_parts.get() or not self._has_same_result_in_steps():
            return result(self)
        with self._locked():
            call = self._compiled_results.of_step(result, self)
            if call is None:
                return result(self)
            function, names = call
            value = function()
            if _execution.is_eager():
                values = map(to_numpy, value if names else [value])
                if any((each != each).any() for each in values):
                    return result(self)  # It says why a value is NaN.
                self._forget_warnings()
        return dict(zip(names, value, strict=True)) if names else value

    return computed  # type: ignore[return-value]
