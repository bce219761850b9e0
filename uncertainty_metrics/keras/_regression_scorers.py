"""Scorers of forecasts: a mean and a scale, or a distribution. See `_scorers`.

For a distribution `score_distribution` computes the scores first, NaN for an example
that has none; the scorer `ComputedScores` then takes them for predictions.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _labels, _scorers
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy.regression import _levels
from uncertainty_metrics.ops import _inputs, numpy_dtype, to_numpy, xp

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution


def _call(distribution: Distribution, method: str, *arguments: xp.Tensor) -> xp.Tensor:
    """Calls a method; raises ValueError if the distribution does not have it."""
    try:
        return getattr(distribution, method)(*arguments)
    except NotImplementedError as missing:
        raise _checks.error(
            "y_pred",
            f"a distribution with a `{method}`",
            f"{type(distribution).__name__}: {missing}",
        ) from missing


@dataclasses.dataclass(frozen=True)
class _Forecast(_scorers.RealScorer):
    """A score of means and scale parameters; `y_pred` [..., 2]."""

    _columns = "mean and scale parameter"

    def of_distribution(self, distribution: Distribution, y: xp.Tensor) -> xp.Tensor:
        """Returns the scores of a distribution for labels y [...].

        Returns:
          the scores [...], or their lower and upper ends [2, ...]; NaN where there is
          no score.
        """
        raise NotImplementedError

    def for_computed_scores(self) -> ComputedScores:
        """Returns the scorer that takes these scores for predictions."""
        return ComputedScores()


@dataclasses.dataclass(frozen=True)
class SquaredError(_Forecast):
    """The squared difference of label and mean; the scale is not read."""

    def _scores(self, labels, y_pred):
        errors = labels - y_pred[:, 0]
        return errors * errors, xp.math.is_finite(errors)

    def of_distribution(self, distribution, y):
        errors = y - xp.cast(_call(distribution, "mean"), y.dtype)
        return xp.where(xp.math.is_finite(errors), errors * errors, np.nan)


@dataclasses.dataclass(frozen=True)
class _ScaleForecast(_scorers.NormalScorer, _Forecast):
    allows_zero_scale: ClassVar[bool] = False

    def _scores(self, labels, y_pred):
        mean, parameter = xp.unstack(y_pred, axis=-1)
        errors = labels - mean
        scales = self._scale(parameter)
        if self._parameter_name is None:
            # Scales may underflow to 0. The square of this number does not.
            tiny = np.finfo(numpy_dtype(scales)).tiny
            scales = xp.maximum(scales, math.sqrt(tiny))
        right = (scales > 0) & (scales < np.inf) & xp.math.is_finite(errors)
        return self._score(errors, scales), right

    def _score(self, errors: xp.Tensor, scales: xp.Tensor) -> xp.Tensor:
        """Returns the scores [N], any number where errors or scales are wrong."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Deviation(_ScaleForecast):
    """The standard deviation."""

    def _score(self, errors, scales):
        return scales

    def of_distribution(self, distribution, y):
        stddevs = xp.cast(_call(distribution, "stddev"), y.dtype)
        return xp.where((stddevs >= 0) & (stddevs < np.inf), stddevs, np.nan)


@dataclasses.dataclass(frozen=True)
class Width(_ScaleForecast):
    """The width of the central interval of one level."""

    level: float = 0.95

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "level", _checks.open_unit("level", self.level))

    def _score(self, errors, scales):
        (limit,) = _levels.normal_limits([self.level])
        return 2 * limit * scales

    def of_distribution(self, distribution, y):
        dtype = distribution.dtype if distribution.dtype.is_floating else y.dtype
        tail = xp.constant((1 - self.level) / 2, dtype)
        lower, upper = (
            xp.cast(_call(distribution, "quantile", p), y.dtype)
            for p in (tail, 1 - tail)
        )
        return xp.where(upper >= lower, upper - lower, np.nan)


@dataclasses.dataclass(frozen=True)
class NormalLikelihood(_ScaleForecast):
    """The negative log-likelihood."""

    def _score(self, errors, scales):
        z = errors / scales
        return xp.math.log(scales) + 0.5 * z * z + 0.5 * math.log(2 * math.pi)

    def of_distribution(self, distribution, y):
        y = xp.cast(y, distribution.dtype)
        likelihood = _call(distribution, "log_prob", y)
        return -xp.cast(likelihood, _inputs.sum_dtype(likelihood))


@dataclasses.dataclass(frozen=True)
class _Distance(_ScaleForecast):
    """The distance of the label from the mean, in standard deviations.

    For a distribution it is `abs(2 PIT - 1)`, in [0, 1]. For a discrete distribution,
    whose PIT is an interval, the score has two ends: `2 PIT - 1` of each, in [-1, 1].
    """

    def _score(self, errors, scales):
        return xp.abs(errors) / scales

    def of_distribution(self, distribution, y):
        from uncertainty_metrics.tensors.distributions.distribution_pit import cdf_ends

        ends, right = cdf_ends(distribution, y)
        ends = [xp.where(right, 2 * end - 1, np.nan) for end in ends]
        return xp.abs(ends[0]) if len(ends) == 1 else xp.stack(ends)

    def for_computed_scores(self):
        return ComputedScores(tuple(_levels.pit_limits(self.levels, np.float32)))

    @property
    def levels(self) -> np.ndarray:
        """The levels of the intervals, ascending, [L]."""
        raise NotImplementedError

    @property
    def limits(self) -> np.ndarray:
        """The largest score of a label in the interval of each level, [L]."""
        return _levels.normal_limits(self.levels)


@dataclasses.dataclass(frozen=True)
class Curve(_Distance):
    n_bins: int = 10

    def __post_init__(self):
        super().__post_init__()
        n_bins = _checks.bins("n_bins", self.n_bins)
        object.__setattr__(self, "n_bins", n_bins)

    @property
    def levels(self):
        return _levels.curve_levels(self.n_bins)


@dataclasses.dataclass(frozen=True)
class Coverage(_Distance):
    level: float = 0.95

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "level", _checks.open_unit("level", self.level))

    @property
    def levels(self):
        return np.array([self.level])


@dataclasses.dataclass(frozen=True)
class ComputedScores(_scorers.RealScorer):
    """Scores that were computed before; `y_pred` [..., 1], or [..., 2] for two ends."""

    _columns = "1 (score)"
    limits: tuple[float, ...] = ()

    @property
    def _size(self):
        return None

    def _scores(self, labels, y_pred):
        scores = y_pred[:, 0] if y_pred.shape[1] == 1 else y_pred
        return scores, ~xp.math.is_nan(y_pred[:, 0])

    def explain(self, y_true, y_pred, counted):
        np_inputs.finite("y_true", to_numpy(y_true).reshape(-1)[to_numpy(counted)])
        raise _checks.error(
            "y_pred",
            "a distribution whose parameters are in their range, with finite moments",
            "a distribution without a score for a target",
        )


def score_distribution(scorer: _Forecast, y_true: Any, y_pred: Any) -> xp.Tensor:
    """Returns the scores of a distribution, as predictions for `ComputedScores`.

    Returns:
      shape of `y_true` and one more axis, of 1 for a score or of 2 for its ends.

    Raises:
      ValueError: the distribution lacks a method, or its shape is not that of `y_true`.
    """
    from uncertainty_metrics.tensors.distributions import distribution_scores

    distribution = _scorers.distribution_in(y_pred)
    y_true = _inputs.as_tensor("y_true", y_true)
    with _labels.keras_names("distribution"):
        distribution = distribution_scores.unwrapped(distribution)
        batch = distribution.batch_shape
        if batch.rank:
            _checks.paired("distribution", batch, "y_true", y_true.shape)
        wide = distribution.dtype == xp.float64
        y = xp.cast(y_true, xp.float64 if wide else xp.float32)
        if batch.rank:
            y = distribution_scores.in_batch_shape(y, distribution)
        finite = xp.math.is_finite(y)
        scores = scorer.of_distribution(distribution, xp.where(finite, y, 0.0))
    scores = xp.where(finite, scores, np.nan)
    ends = xp.unstack(scores) if len(scores.shape) > len(finite.shape) else [scores]
    return xp.stack([xp.reshape(end, xp.shape(y_true)) for end in ends], axis=-1)
