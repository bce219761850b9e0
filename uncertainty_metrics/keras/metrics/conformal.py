"""Streaming scores of conformal prediction sets: the Keras metrics."""

from __future__ import annotations

import dataclasses
from typing import Any

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _labels, _scorers
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import _inputs, is_floating, to_numpy, xp

__all__ = ["ConformalCoverage", "MeanSetSize"]


@dataclasses.dataclass(frozen=True)
class _SetScorer(_scorers.ClassScorer):
    """A scorer of sets: `y_pred` holds 0 and 1, or booleans."""

    def flatten(
        self, y_true: xp.Tensor, y_pred: xp.Tensor
    ) -> tuple[_scorers.Batch, xp.Tensor]:
        """Returns the batch, and the labels in the shape of its scores."""
        if not is_floating(y_pred):
            y_pred = xp.cast(y_pred, xp.float32)
        flat = super().flatten(y_true, y_pred)
        if len(y_pred.shape) < 2 or y_pred.shape[-1] == 1:
            received = f"shape {list(y_pred.shape)}"
            raise _checks.error(
                "y_pred", "sets, of shape [..., K] with K >= 2", received
            )
        return flat

    def _scores(
        self, examples: _inputs.Examples, targets: xp.Tensor | None
    ) -> tuple[xp.Tensor, xp.Tensor]:
        sets = xp.cast(examples.probabilities, examples.dtype)
        right = xp.reduce_all((sets == 0) | (sets == 1), axis=-1)
        return self._of_sets(sets, examples.labels), right

    def _of_sets(self, sets: xp.Tensor, labels: xp.Tensor) -> xp.Tensor:
        """Returns the score of each set of zeros and ones, [N, K]."""
        raise NotImplementedError

    def explain(self, y_true: xp.Tensor, y_pred: xp.Tensor, counted: xp.Tensor) -> None:
        """Raises the ValueError that says what is wrong."""
        tensor, _ = _labels.integer_labels(y_true, y_pred, self.sparse_labels)
        labels = to_numpy(tensor)
        weights = to_numpy(counted).reshape(labels.shape)
        if self.ignore_index is not None:
            weights = weights & ~np_inputs.is_ignored(labels, self.ignore_index)
        with _labels.keras_names("sets"):
            um_np.conformal.coverage(labels, to_numpy(y_pred), sample_weight=weights)


@dataclasses.dataclass(frozen=True)
class _Holds(_SetScorer):
    def _of_sets(self, sets: xp.Tensor, labels: xp.Tensor) -> xp.Tensor:
        return _inputs.take(sets, labels)


@dataclasses.dataclass(frozen=True)
class _Size(_SetScorer):
    def _of_sets(self, sets: xp.Tensor, labels: xp.Tensor) -> xp.Tensor:
        return xp.reduce_sum(sets, axis=-1)


@_base.register("coverage", room="conformal")
class ConformalCoverage(MeanScore):
    """Share of prediction sets that hold the label, of all batches.

    `y_true` holds integer labels [...], or one-hot labels. `y_pred` holds the sets, of
    booleans or of 0 and 1, shape [..., K], as `ConformalSetLayer` makes them. The worst
    of several groups is the group with the smallest coverage.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.conformal.ConformalCoverage()
      >>> metric.update_state([2, 1], [[1, 0, 1], [1, 0, 0]])
      >>> float(metric.result())
      0.5
    """

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = "conformal_coverage",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None:
        scorer = _Holds(
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, name=name, dtype=dtype, num_groups=num_groups)


@_base.register("mean_set_size", room="conformal")
class MeanSetSize(MeanScore):
    """Mean number of classes in prediction sets, of all batches.

    Arguments are as for `ConformalCoverage`. The worst of several groups is the group
    with the largest sets.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.conformal.MeanSetSize()
      >>> metric.update_state([2, 1], [[1, 0, 1], [1, 0, 0]])
      >>> float(metric.result())
      1.5
    """

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = "mean_set_size",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None:
        scorer = _Size(
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, name=name, dtype=dtype, num_groups=num_groups)
