"""The public functions on tensors: arithmetic, inside what their twins declare."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec

from uncertainty_metrics import _contract
from uncertainty_metrics.ops import IS_TENSORFLOW, _inputs, plain, wide, xp

P = ParamSpec("P")


def twin(
    declaration: Callable[P, Any],
) -> Callable[[FunctionType], Callable[P, Any]]:
    """Returns a decorator that makes a public function of its arithmetic.

    The arithmetic has the parameters of the NumPy function, without their defaults, or
    takes all of them by name, as `**arguments`. It returns `(value, ok)`: tensors, or a
    dict, tuple or dataclass of them, and whether to trust them, for all or for each.
    Where not, the NumPy function says why, as it knows the same rules; in a graph,
    where nothing can be raised, the value is NaN.
    """

    def decorator(arithmetic: FunctionType) -> Callable[P, Any]:
        compute = _contract.complete(arithmetic, declaration)

        def function(*args: P.args, **kwargs: P.kwargs) -> Any:
            with wide():
                value, ok = compute(*args, **kwargs)
                if not IS_TENSORFLOW:
                    value = xp.narrowed(value)

            def explain() -> object:
                named = {name: plain(value) for name, value in kwargs.items()}
                return declaration(*map(plain, args), **named)

            return _inputs.nan_unless(ok, value, explain)

        _contract.adopt(function, declaration, arithmetic.__module__)
        return xp.autograph.experimental.do_not_convert(function)

    return decorator
