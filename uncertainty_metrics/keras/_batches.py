"""A batch of data as a metric reads it, before it is added to a state."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from uncertainty_metrics.keras import _variables
from uncertainty_metrics.ops import _execution, xp


class Reading(NamedTuple):
    """A batch as a metric reads it: what to add up, and how.

    Attributes:
      batch_sums: adds up the batch.
      options: the first arguments of `batch_sums`, which can be hashed.
      data: the other arguments of `batch_sums`.
      explain: raises the ValueError that says what is wrong with the data.
      shape: the shape of the data of one example.
      classes: the number of classes, if the metric needs it to make its state.
      one_column: whether predictions are one column, if the metric asks for it.
      compiled: whether a graph of TensorFlow is faster than eager operations.
      joinable: whether a collection may call `batch_sums` once for several metrics
        whose data and other options are the same. Their first options, which are
        tuples, are then joined to one tuple, and the returned vectors of sums are
        joined in the same order.
    """

    batch_sums: _variables.BatchSums
    options: tuple[Any, ...]
    data: tuple[Any, ...]
    explain: Callable[[], object]
    shape: tuple[int, ...]
    classes: int | None = None
    one_column: bool | None = None
    compiled: bool = True
    joinable: bool = False


def is_empty_share(y_pred: Any) -> bool:
    """Returns whether a graph is traced for a replica without a share of a batch, as
    the last batch may be too small for all replicas.

    In other places, predictions of no examples are an error.
    """
    return (
        xp.is_tensor(y_pred) and y_pred.shape[:1] == [0] and not _execution.is_eager()
    )


_UpdateState = TypeVar("_UpdateState", bound=Callable[..., None])


def adds_batch(update_state: _UpdateState) -> _UpdateState:
    """Decorates `update_state`: a replica without a share of the batch adds nothing, no
    gradients are taken, and AutoGraph leaves the code as it is.
    """

    @functools.wraps(update_state)
    def update(self: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        if not is_empty_share(y_pred):
            with _execution.without_gradients():
                update_state(self, y_true, y_pred, sample_weight)

    return _execution.not_converted(update)  # type: ignore[return-value]
