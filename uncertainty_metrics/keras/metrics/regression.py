"""Streaming calibration of predicted means and scales: the Keras metrics.

`y_true` holds real targets, shape [...] or [..., 1]. `y_pred` holds mean and scale
parameter [..., 2], which `scale_transform` makes a standard deviation, as the losses
do; or is a TFP distribution of scalar events, of the shape of the targets or of batch
shape [], or what a TFP layer returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics.keras import _base, _regression_scorers
from uncertainty_metrics.keras._scorers import ScaleTransform
from uncertainty_metrics.keras.metrics.scoring_rules import MeanScore, ScoreMetric
from uncertainty_metrics.tensorflow import _inputs, _search, _sums
from uncertainty_metrics.tensorflow.regression import _levels

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


def _register(metric: type) -> type:
    """Registers a class whose bare name may be that of a metric of classifiers."""
    return _base.keras.utils.register_keras_serializable(
        package="uncertainty_metrics", name=f"regression.{metric.__name__}"
    )(metric)


class _ForecastMetric(ScoreMetric):
    """A metric that takes distributions as well."""

    @_base.adds_batch
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
        scorer = self._scorer
        if _inputs.is_distribution(y_pred):
            y_pred = _regression_scorers.score_distribution(scorer, y_true, y_pred)
            scorer = scorer.given()
        self._update_by(scorer, y_true, y_pred, sample_weight)


class _MeanMetric(_ForecastMetric, MeanScore):
    """The mean of a score."""


def _cell_sums(scorer: Any, scores: tf.Tensor, weights: tf.Tensor) -> _sums.Sums:
    """Returns the weight of the scores between the limits, [1, limits + 1]."""
    if scores.shape.rank > 1:  # The two ends of intervals.
        ends = tf.unstack(scores)
        masses = _levels.ring_masses(ends, np.array(scorer.limits), weights)
        return _sums.Sums(None, masses[None], tf.zeros_like(masses)[None])
    limits = tf.constant(scorer.limits, scores.dtype)
    cell = _search.search_sorted(limits, scores, "left")
    hi, lo = _sums.segment_pair(weights[:, None], cell, limits.shape[0] + 1)
    return _sums.Sums(None, hi, lo)


class _CoverageMetric(_ForecastMetric):
    """A metric of the share of the targets in their intervals.

    The state is the weight between the limits of neighbouring intervals.
    """

    _reduce = staticmethod(_cell_sums)

    def __init__(self, scorer: Any, name: str | None, dtype: Any):
        super().__init__(scorer, name, dtype)
        self._build_sums((1, len(scorer.levels) + 1))

    def result(self) -> tf.Tensor:
        """Returns the value of all batches; 0.0 before the first."""
        sums, valid = self._read_sums()
        (mass,) = tf.unstack(_sums.totals(sums, self._result_dtype))
        total = tf.reduce_sum(mass)
        value = self._value(tf.cumsum(mass)[:-1] / total)
        value = tf.where(total > 0, value, tf.zeros_like(value))
        return tf.where(valid, value, tf.constant(float("nan"), value.dtype))

    def _value(self, coverage: tf.Tensor) -> tf.Tensor:
        """Returns the metric, of the coverage of each level [L]."""
        raise NotImplementedError


@_register
class ExpectedCalibrationError(_CoverageMetric):
    """Expected calibration error of regression, of all batches.

      ECE = mean over p of |coverage of central intervals of level p - p|

    over `n_bins` levels from 0.1 to 0.99: `um.regression.expected_calibration_error`.
    `y_true` holds real targets, shape [...] or [..., 1]; `y_pred` mean and scale
    parameter [..., 2], which `scale_transform` makes the standard deviation, or it is a
    TFP distribution, whose CDF tells which intervals hold the target; where that of a
    discrete one jumps, they hold a share of it. Smaller is better.

    Args:
      n_bins: number of levels.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: how the second parameter x becomes the standard deviation, as in
        the losses: "softplus", log(1 + e^x); "exp", e^x; "identity", x > 0; "variance",
        the root of x > 0; or "log_variance", e^(x / 2).

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.ExpectedCalibrationError(
      ...     n_bins=3, scale_transform="variance"
      ... )
      >>> metric.update_state([1.0], [[0.0, 1.0]])
      >>> metric.update_state([1.0], [[0.0, 4.0]])
      >>> round(float(metric.result()), 6)
      0.051667

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """

    _direction = "down"

    def __init__(
        self,
        n_bins: int = 10,
        name: str | None = "expected_calibration_error",
        dtype: Any = None,
        *,
        scale_transform: ScaleTransform = "softplus",
    ):
        scorer = _regression_scorers.Curve(scale_transform, n_bins)
        super().__init__(scorer, name, dtype)

    def _value(self, coverage: tf.Tensor) -> tf.Tensor:
        levels = tf.constant(self._scorer.levels, coverage.dtype)
        return tf.reduce_mean(tf.abs(coverage - levels))


@_register
class IntervalCoverage(_CoverageMetric):
    """Share of the targets in their central intervals, of all batches.

    `um.regression.interval_coverage`; targets and predictions are those of
    `ExpectedCalibrationError`. The closer to the level, the better.

    Args:
      level: probability of the intervals, in (0, 1).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: "softplus", "exp", "identity", "variance" or "log_variance", as
        for `ExpectedCalibrationError`.

    Raises:
      ValueError: an argument is not as described; as for `ExpectedCalibrationError`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.IntervalCoverage(0.95, scale_transform="identity")
      >>> metric.update_state([1.9, 2.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      0.5

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """

    def __init__(
        self,
        level: float = 0.95,
        name: str | None = "interval_coverage",
        dtype: Any = None,
        *,
        scale_transform: ScaleTransform = "softplus",
    ):
        scorer = _regression_scorers.Coverage(scale_transform, level)
        super().__init__(scorer, name, dtype)

    def _value(self, coverage: tf.Tensor) -> tf.Tensor:
        return coverage[0]


@_register
class IntervalWidth(_MeanMetric):
    """Mean width of the central intervals, of all batches.

    `um.regression.interval_width`; predictions are those of `ExpectedCalibrationError`,
    of distributions with a `quantile`. In the unit of the targets; smaller is sharper.

    Args:
      level: probability of the intervals, in (0, 1).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: "softplus", "exp", "identity", "variance" or "log_variance", as
        for `ExpectedCalibrationError`.

    Raises:
      ValueError: an argument is not as described; as for `ExpectedCalibrationError`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.IntervalWidth(0.95, scale_transform="variance")
      >>> metric.update_state([0.0, 0.0], [[0.0, 1.0], [0.0, 4.0]])
      >>> round(float(metric.result()), 5)
      5.87989

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """

    _direction = "down"

    def __init__(
        self,
        level: float = 0.95,
        name: str | None = "interval_width",
        dtype: Any = None,
        *,
        scale_transform: ScaleTransform = "softplus",
    ):
        scorer = _regression_scorers.Width(scale_transform, level)
        super().__init__(scorer, name, dtype)


@_register
class Sharpness(_MeanMetric):
    """Sharpness: the mean predicted standard deviation of all batches.

    `um.regression.sharpness`; predictions are those of `ExpectedCalibrationError`. In
    the unit of the targets; smaller is sharper.

    Args:
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: "softplus", "exp", "identity", "variance" or "log_variance", as
        for `ExpectedCalibrationError`.

    Raises:
      ValueError: an argument is not as described; as for `ExpectedCalibrationError`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.Sharpness(scale_transform="variance")
      >>> metric.update_state([0.0, 0.0], [[0.0, 1.0], [0.0, 4.0]])
      >>> float(metric.result())
      1.5

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness.
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "sharpness",
        dtype: Any = None,
        *,
        scale_transform: ScaleTransform = "softplus",
    ):
        scorer = _regression_scorers.Deviation(scale_transform)
        super().__init__(scorer, name, dtype)


@_register
class NegativeLogLikelihood(_MeanMetric):
    """Negative log-likelihood of the targets, mean of all batches, in nats.

      NLL = mean of 1/2 (log(2 pi variance) + (y - mean)^2 / variance)

    `um.regression.negative_log_likelihood`; for a distribution the mean of its
    `-log_prob`. Targets and predictions are those of `ExpectedCalibrationError`.
    Smaller is better.

    Args:
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: "softplus", "exp", "identity", "variance" or "log_variance", as
        for `ExpectedCalibrationError`.

    Raises:
      ValueError: an argument is not as described; as for `ExpectedCalibrationError`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.NegativeLogLikelihood(scale_transform="exp")
      >>> metric.update_state([1.0], [[0.0, 0.0]])
      >>> round(float(metric.result()), 6)
      1.418939

    References:
      Good (1952), Rational Decisions.
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "negative_log_likelihood",
        dtype: Any = None,
        *,
        scale_transform: ScaleTransform = "softplus",
    ):
        scorer = _regression_scorers.NormalLikelihood(scale_transform)
        super().__init__(scorer, name, dtype)


@_register
class RootMeanSquaredError(_MeanMetric):
    """Root mean squared error of the predicted means of all batches.

    `um.regression.root_mean_squared_error`; targets and predictions are those of
    `ExpectedCalibrationError`, of which the scales are not looked at. In the unit of
    the targets; smaller is better.

    Args:
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described; as for `ExpectedCalibrationError`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.RootMeanSquaredError()
      >>> metric.update_state([1.0, 7.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      5.0
    """

    _direction = "down"

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None):
        super().__init__(_regression_scorers.SquaredError(), name, dtype)

    def result(self) -> tf.Tensor:
        """Returns the root of the mean over all batches; 0.0 before the first."""
        return tf.sqrt(super().result())
