"""Streaming scores of conformal prediction sets: the Keras metrics."""

from __future__ import annotations

import dataclasses
import functools

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _family, _labels, _options, _scorers
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import _inputs, to_numpy, xp

__all__ = ["ConformalCoverage", "MeanSetSize"]

with_options = functools.partial(
    _options.with_options,
    register=_family.register_in("conformal"),
    functions=um_np.conformal,
)
_COMMON = "ignore_index, name, dtype, *, sparse_labels, num_groups"


@dataclasses.dataclass(frozen=True)
class _SetScorer(_scorers.ClassScorer):
    """A scorer of sets: `y_pred` holds 0 and 1, or booleans."""

    def flatten(self, y_true, y_pred):
        if not _inputs.is_floating(y_pred):
            y_pred = xp.cast(y_pred, xp.float32)
        flat = super().flatten(y_true, y_pred)
        if len(y_pred.shape) < 2 or y_pred.shape[-1] == 1:
            received = f"shape {list(y_pred.shape)}"
            raise _checks.error(
                "y_pred", "sets, of shape [..., K] with K >= 2", received
            )
        return flat

    def _scores(self, examples, targets):
        sets = xp.cast(examples.probabilities, examples.dtype)
        right = xp.reduce_all((sets == 0) | (sets == 1), axis=-1)
        return self._of_sets(sets, examples.labels), right

    def explain(self, y_true, y_pred, counted):
        labels, _ = _labels.integer_labels(y_true, y_pred, self.sparse_labels)
        labels = to_numpy(labels)
        counted = to_numpy(counted).reshape(labels.shape)
        if self.ignore_index is not None:
            counted = counted & ~np_inputs.is_ignored(labels, self.ignore_index)
        with _labels.keras_names("sets"):
            um_np.conformal.coverage(labels, to_numpy(y_pred), sample_weight=counted)


@dataclasses.dataclass(frozen=True)
class _Holds(_SetScorer):
    _of_sets = staticmethod(_inputs.take)


@dataclasses.dataclass(frozen=True)
class _Size(_SetScorer):
    @staticmethod
    def _of_sets(sets, labels):
        return xp.reduce_sum(sets, axis=-1)


@with_options(_COMMON, "conformal_coverage")
class ConformalCoverage(MeanScore):
    """Share of prediction sets that hold the label, of all batches.

    `y_true` holds integer labels [...], or one-hot labels. `y_pred` holds the sets, of
    booleans or of 0 and 1, shape [..., K], as `ConformalSetLayer` makes them. The worst
    of several groups is the group with the smallest coverage.

    Example:
      >>> metric = um.conformal.ConformalCoverage()
      >>> metric.update_state([2, 1], [[1, 0, 1], [1, 0, 0]])
      >>> float(metric.result())
      0.5
    """

    _has_direction = False  # Closer to the promised coverage is better.
    _function = "coverage"
    _scorer_type = _Holds


@with_options(_COMMON, "mean_set_size")
class MeanSetSize(MeanScore):
    """Mean number of classes in prediction sets, of all batches.

    Arguments are as for `ConformalCoverage`. The worst of several groups is the group
    with the largest sets.

    Example:
      >>> metric = um.conformal.MeanSetSize()
      >>> metric.update_state([2, 1], [[1, 0, 1], [1, 0, 0]])
      >>> float(metric.result())
      1.5
    """

    _direction = "down"
    _scorer_type = _Size
