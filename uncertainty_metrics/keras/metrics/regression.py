"""Streaming calibration of predicted means and scales: the Keras metrics."""

from __future__ import annotations

import functools

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.keras import _computed, _family, _options, _regression_scorers
from uncertainty_metrics.keras._options import Option
from uncertainty_metrics.keras.metrics._regression import CoverageMetric, MeanForecast
from uncertainty_metrics.ops import xp

__all__ = [
    "ExpectedCalibrationError",
    "IntervalCoverage",
    "IntervalWidth",
    "NegativeLogLikelihood",
    "RootMeanSquaredError",
    "Sharpness",
]

_SCALE = _options.SHARED["scale_transform"]
with_options = functools.partial(
    _options.with_options,
    register=_family.register_in("regression"),
    functions=um_np.regression,
    scale_transform=_SCALE._replace(prose=_SCALE.prose.replace(">= 0", "> 0")),
)


@with_options(
    "n_bins, name, dtype, *, scale_transform",
    "expected_calibration_error",
    n_bins=Option(int, 10),
)
class ExpectedCalibrationError(CoverageMetric):
    """Expected calibration error of regression, of all batches.

      ECE = mean over p of |coverage of central intervals of level p - p|

    over `n_bins` levels from 0.1 to 0.99: see
    `um.regression.expected_calibration_error`. `y_true` holds real targets, shape [...]
    or [..., 1]. `y_pred` holds mean and scale parameter [..., 2]; `scale_transform`
    turns the parameter into the standard deviation. Or `y_pred` is a TFP distribution,
    whose CDF tells which intervals hold the target; the CDF of a discrete distribution
    may jump there, and an interval then holds a share of the target. Smaller is better.

    Args:
      n_bins: number of levels.

    Example:
      >>> metric = um.regression.ExpectedCalibrationError(
      ...     n_bins=3, scale_transform="variance"
      ... )
      >>> metric.update_state([1.0], [[0.0, 1.0]])
      >>> metric.update_state([1.0], [[0.0, 4.0]])
      >>> round(float(metric.result()), 6)
      0.051667
    """

    _direction = "down"
    _scorer_type = _regression_scorers.Curve

    def _value(self, coverage: xp.Tensor) -> xp.Tensor:
        levels = xp.constant(self._scorer.levels, coverage.dtype)
        return xp.reduce_mean(xp.abs(coverage - levels))


@with_options(
    "level, name, dtype, *, scale_transform",
    "interval_coverage",
    level=Option(float, 0.95),
)
class IntervalCoverage(CoverageMetric):
    """Share of the targets in their central intervals, of all batches.

    See `um.regression.interval_coverage`; targets and predictions are as for
    `ExpectedCalibrationError`. The closer to the level, the better.

    Args:
      level: probability of the intervals, in (0, 1).

    Example:
      >>> metric = um.regression.IntervalCoverage(0.95, scale_transform="identity")
      >>> metric.update_state([1.9, 2.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      0.5
    """

    _has_direction = False  # Closer to the level is better.
    _scorer_type = _regression_scorers.Coverage

    def _value(self, coverage: xp.Tensor) -> xp.Tensor:
        return coverage[0]


@with_options(
    "level, name, dtype, *, scale_transform",
    "interval_width",
    level=Option(float, 0.95),
)
class IntervalWidth(MeanForecast):
    """Mean width of the central intervals, of all batches.

    See `um.regression.interval_width`; predictions are as for
    `ExpectedCalibrationError`, but distributions need a `quantile`. The width is in the
    unit of the targets; smaller is sharper.

    Args:
      level: probability of the intervals, in (0, 1).

    Example:
      >>> metric = um.regression.IntervalWidth(0.95, scale_transform="variance")
      >>> metric.update_state([0.0, 0.0], [[0.0, 1.0], [0.0, 4.0]])
      >>> round(float(metric.result()), 5)
      5.87989
    """

    _direction = "down"
    _scorer_type = _regression_scorers.Width


@with_options("name, dtype, *, scale_transform", "sharpness")
class Sharpness(MeanForecast):
    """Sharpness: the mean predicted standard deviation of all batches.

    See `um.regression.sharpness`; predictions are as for `ExpectedCalibrationError`.
    The value is in the unit of the targets; smaller is sharper.

    Example:
      >>> metric = um.regression.Sharpness(scale_transform="variance")
      >>> metric.update_state([0.0, 0.0], [[0.0, 1.0], [0.0, 4.0]])
      >>> float(metric.result())
      1.5
    """

    _direction = "down"
    _scorer_type = _regression_scorers.Deviation


@with_options("name, dtype, *, scale_transform", "negative_log_likelihood")
class NegativeLogLikelihood(MeanForecast):
    """Negative log-likelihood of the targets, mean of all batches, in nats.

      NLL = mean of 1/2 (log(2 pi variance) + (y - mean)^2 / variance)

    See `um.regression.negative_log_likelihood`; for a distribution it is the mean of
    its `-log_prob`. Targets and predictions are as for `ExpectedCalibrationError`.
    Smaller is better.

    Example:
      >>> metric = um.regression.NegativeLogLikelihood(scale_transform="exp")
      >>> metric.update_state([1.0], [[0.0, 0.0]])
      >>> round(float(metric.result()), 6)
      1.418939
    """

    _direction = "down"
    _scorer_type = _regression_scorers.NormalLikelihood


@with_options("name, dtype", "root_mean_squared_error")
class RootMeanSquaredError(MeanForecast):
    """Root mean squared error of the predicted means of all batches.

    See `um.regression.root_mean_squared_error`; targets and predictions are as for
    `ExpectedCalibrationError`, but the scales are not read. The value is in the unit of
    the targets; smaller is better.

    Example:
      >>> metric = um.regression.RootMeanSquaredError()
      >>> metric.update_state([1.0, 7.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      5.0
    """

    _direction = "down"
    _scorer_type = _regression_scorers.SquaredError

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the root of the mean over all batches; 0.0 before the first example
        that counts.
        """
        return xp.sqrt(super().result())
