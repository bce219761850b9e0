"""Properties that are computed when they are first asked for, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy_property(Generic[Value]):
    """A property that is computed once for each object, and kept in its `vars`.

    On Python 3.10 and 3.11 `functools.cached_property` holds one lock for all objects
    of a class while it computes. There threads wait for each other, and a process that
    is forked meanwhile waits for ever. Here two threads that ask the same object at the
    same time both compute, and both get the value that was there first.
    """

    def __init__(self, function: Callable[[Any], Value]):
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        # Once a value is in `vars`, Python finds it there and does not call this.
        if instance is None:
            return self
        return vars(instance).setdefault(self._name, self._function(instance))
