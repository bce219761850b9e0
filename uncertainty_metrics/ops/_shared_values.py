"""Values that several metrics need of the same tensors, computed once."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
# By function and arguments: the value and the arguments. These are held so that no
# other object gets their ids.
_values: contextvars.ContextVar[dict[Any, Any] | None] = contextvars.ContextVar(
    "values", default=None
)


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """Within this context functions decorated with `once` return, for the same tensors,
    the value that they computed before. They compute anew a value from outside of the
    context, which may belong to another graph.
    """
    token = _values.set({})
    try:
        yield
    finally:
        _values.reset(token)


def once(function: _Function) -> _Function:
    """Returns the pure function; within `sharing` it computes each value once."""

    @functools.wraps(function)
    def shared(*args: Any, **kwargs: Any) -> Any:
        values = _values.get()
        if values is None:
            return function(*args, **kwargs)
        named = ((name, _key(argument)) for name, argument in kwargs.items())
        key = (function, *map(_key, args), *named)
        if key not in values:
            values[key] = function(*args, **kwargs), args, kwargs
        return values[key][0]

    return shared  # type: ignore[return-value]


def _key(argument: Any) -> Any:
    is_plain = argument is None or isinstance(argument, bool | int | float | str)
    return (type(argument), argument) if is_plain else id(argument)
