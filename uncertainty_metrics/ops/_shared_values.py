"""What several metrics read of the same tensors is computed once."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
# By function and arguments: what came out, and the arguments, whose ids stay theirs.
_found: contextvars.ContextVar[dict[Any, Any] | None] = contextvars.ContextVar(
    "found", default=None
)


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """Lets functions that are called `once` return again what they returned before, of
    the same tensors; not what they returned outside, which may be another graph.
    """
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def once(function: _Function) -> _Function:
    """Returns the pure function; inside of `sharing` it computes each value once."""

    @functools.wraps(function)
    def value(*args: Any, **kwargs: Any) -> Any:
        found = _found.get()
        if found is None:
            return function(*args, **kwargs)
        named = ((name, _key(given)) for name, given in kwargs.items())
        key = (function, *map(_key, args), *named)
        if key not in found:
            found[key] = function(*args, **kwargs), args, kwargs
        return found[key][0]

    return value  # type: ignore[return-value]


def _key(value: Any) -> Any:
    plain = value is None or isinstance(value, bool | int | float | str)
    return (type(value), value) if plain else id(value)
