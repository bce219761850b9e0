"""Members of a `MetricCollection`: it reads a batch by all, and adds it to all."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from uncertainty_metrics import _checks

if TYPE_CHECKING:
    from uncertainty_metrics.keras._base import SumsMetric
    from uncertainty_metrics.keras._variables import BatchSums

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Reading(NamedTuple):
    """A batch as a metric read it: the arguments of `SumsMetric._update`."""

    metric: SumsMetric
    batch_sums: BatchSums
    options: tuple[Any, ...]
    data: tuple[Any, ...]
    explain: Callable[[], object]
    shape: tuple[int, ...]
    classes: int | None = None
    one_column: bool | None = None
    compiled: bool = True
    joinable: bool = False


_readings: contextvars.ContextVar[list[Reading] | None] = contextvars.ContextVar(
    "readings", default=None
)


@contextlib.contextmanager
def collecting() -> Iterator[list[Reading]]:
    """Yields a list, into which metrics put their readings instead of adding them."""
    readings: list[Reading] = []
    token = _readings.set(readings)
    try:
        yield readings
    finally:
        _readings.reset(token)


def adds_or_collects(update: _Method) -> _Method:
    """Decorates the method that adds a batch, for `collecting`."""

    @functools.wraps(update)
    def called(self: SumsMetric, *args: Any, **kwargs: Any) -> None:
        readings = _readings.get()
        if readings is None:
            _refuse_member(self)
            update(self, *args, **kwargs)
        else:
            readings.append(Reading(self, *args, **kwargs))

    return called  # type: ignore[return-value]


def not_for_members(method: _Method) -> _Method:
    """Decorates a method that changes a state: it raises ValueError for members,
    because they may share the state.
    """

    @functools.wraps(method)
    def called(self: SumsMetric, *args: Any, **kwargs: Any) -> Any:
        _refuse_member(self)
        return method(self, *args, **kwargs)

    return called  # type: ignore[return-value]


def is_member(metric: SumsMetric) -> bool:
    """Returns whether a collection holds the metric."""
    return getattr(metric, "_is_member", False)


def _refuse_member(metric: SumsMetric) -> None:
    if is_member(metric):
        raise _checks.plain_error(
            "A metric in a `MetricCollection` cannot be changed alone, because the "
            "members may share a state: call the method of the collection.",
            repr(metric),
        )
