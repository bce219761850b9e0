"""The base classes of streaming metrics of regression.

`y_true` holds real targets, shape [...] or [..., 1]. `y_pred` holds mean and scale
parameter [..., 2]; `scale_transform` turns the parameter into a standard deviation, as
in the losses. Or `y_pred` is a TFP distribution of scalar events, or the output of a
TFP layer; its batch shape is the shape of the targets, or [].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics.keras import _batches, _computed, _regression_scorers
from uncertainty_metrics.keras.metrics._scores import MeanScore, ScoreMetric
from uncertainty_metrics.ops import _inputs, _levels, _search, _sums, xp

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


class ForecastMetric(ScoreMetric):
    """A metric that takes distributions, too."""

    @_batches.adds_batch
    def update_state(
        self,
        y_true: TensorLike,
        y_pred: Any,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: real targets, shape [...] or [..., 1].
          y_pred: mean and scale parameter, shape [..., 2], or a TFP distribution.
          sample_weight: finite and >= 0, broadcastable to the targets.
        """
        self._add(self._read(y_true, y_pred, sample_weight))

    def _read(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: Any,
    ) -> _batches.Reading:
        scorer = self._scorer
        if _inputs.is_distribution(y_pred):
            y_pred = _regression_scorers.score_distribution(scorer, y_true, y_pred)
            scorer = scorer.for_computed_scores()
        return self._read_by(scorer, y_true, y_pred, sample_weight)


class MeanForecast(ForecastMetric, MeanScore):
    """The mean of a score."""


def _cell_sums(scorer: Any, scores: xp.Tensor, weights: xp.Tensor) -> _sums.Sums:
    """Returns the weight of the scores between the limits, [1, limits + 1]."""
    if len(scores.shape) > 1:  # The two ends of intervals.
        ends = xp.unstack(scores, axis=1)
        masses = _levels.ring_masses(ends, np.array(scorer.limits), weights)
        return _sums.Sums(None, masses[None], xp.zeros_like(masses)[None])
    limits = xp.constant(scorer.limits, scores.dtype)
    cell = _search.search_sorted(limits, scores, "left")
    hi, lo = _sums.segment_pair(weights[:, None], cell, limits.shape[0] + 1)
    return _sums.Sums(None, hi, lo)


class CoverageMetric(ForecastMetric):
    """A metric of the share of the targets in their intervals.

    The state holds the weight between the limits of neighbouring intervals.
    """

    _reduce = staticmethod(_cell_sums)

    def __init__(self, scorer: Any, *, name: str | None, dtype: Any) -> None:
        super().__init__(scorer, name=name, dtype=dtype)
        self._build_sums((1, len(self._scorer.levels) + 1))

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the value so far; 0.0 before the first example that counts."""
        sums, valid = self._read_sums()
        (mass,) = xp.unstack(_sums.totals(sums, self._result_dtype))
        total = xp.reduce_sum(mass)
        value = self._value(xp.cumsum(mass)[:-1] / total)
        value = xp.where(total > 0, value, xp.zeros_like(value))
        return xp.where(valid, value, xp.constant(float("nan"), value.dtype))

    def _value(self, coverage: xp.Tensor) -> xp.Tensor:
        """Returns the metric for the coverage of each level [L]."""
        raise NotImplementedError
