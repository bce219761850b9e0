"""Streaming calibration of predicted means and scales: the Keras metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _computed, _regression_scorers, _scorers
from uncertainty_metrics.keras.metrics._regression import CoverageMetric, MeanForecast
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.numpy.regression import coverage_of_quantiles
from uncertainty_metrics.numpy.regression.pit import check_quantiles
from uncertainty_metrics.ops import xp

__all__ = [
    "ExpectedCalibrationError",
    "IntervalCoverage",
    "IntervalWidth",
    "NegativeLogLikelihood",
    "QuantileCoverage",
    "RootMeanSquaredError",
    "Sharpness",
]


@_base.register("expected_calibration_error", room="regression")
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
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x > 0; "variance", the root of
        x > 0; or "log_variance", e^(x / 2).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

    def __init__(
        self,
        n_bins: int = 10,
        name: str | None = "expected_calibration_error",
        dtype: Any = None,
        *,
        scale_transform: _scorers.ScaleTransform = "softplus",
    ) -> None:
        scorer = _regression_scorers.Curve(
            n_bins=n_bins,
            scale_transform=scale_transform,
        )
        super().__init__(scorer, name=name, dtype=dtype)

    def _value(self, coverage: xp.Tensor) -> xp.Tensor:
        levels = xp.constant(self._scorer.levels, coverage.dtype)
        return xp.reduce_mean(xp.abs(coverage - levels))


@_base.register("interval_coverage", room="regression")
class IntervalCoverage(CoverageMetric):
    """Share of the targets in their central intervals, of all batches.

    See `um.regression.interval_coverage`; targets and predictions are as for
    `ExpectedCalibrationError`. The closer to the level, the better.

    Args:
      level: probability of the intervals, in (0, 1).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x > 0; "variance", the root of
        x > 0; or "log_variance", e^(x / 2).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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
        scale_transform: _scorers.ScaleTransform = "softplus",
    ) -> None:
        scorer = _regression_scorers.Coverage(
            level=level,
            scale_transform=scale_transform,
        )
        super().__init__(scorer, name=name, dtype=dtype)

    def _value(self, coverage: xp.Tensor) -> xp.Tensor:
        return coverage[0]


@_base.register("interval_width", room="regression")
class IntervalWidth(MeanForecast):
    """Mean width of the central intervals, of all batches.

    See `um.regression.interval_width`; predictions are as for
    `ExpectedCalibrationError`, but distributions need a `quantile`. The width is in the
    unit of the targets; smaller is sharper.

    Args:
      level: probability of the intervals, in (0, 1).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x > 0; "variance", the root of
        x > 0; or "log_variance", e^(x / 2).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

    def __init__(
        self,
        level: float = 0.95,
        name: str | None = "interval_width",
        dtype: Any = None,
        *,
        scale_transform: _scorers.ScaleTransform = "softplus",
    ) -> None:
        scorer = _regression_scorers.Width(
            level=level,
            scale_transform=scale_transform,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("sharpness", room="regression")
class Sharpness(MeanForecast):
    """Sharpness: the mean predicted standard deviation of all batches.

    See `um.regression.sharpness`; predictions are as for `ExpectedCalibrationError`.
    The value is in the unit of the targets; smaller is sharper.

    Args:
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x > 0; "variance", the root of
        x > 0; or "log_variance", e^(x / 2).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

    def __init__(
        self,
        name: str | None = "sharpness",
        dtype: Any = None,
        *,
        scale_transform: _scorers.ScaleTransform = "softplus",
    ) -> None:
        scorer = _regression_scorers.Deviation(
            scale_transform=scale_transform,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("negative_log_likelihood", room="regression")
class NegativeLogLikelihood(MeanForecast):
    """Negative log-likelihood of the targets, mean of all batches, in nats.

      NLL = mean of 1/2 (log(2 pi variance) + (y - mean)^2 / variance)

    See `um.regression.negative_log_likelihood`; for a distribution it is the mean of
    its `-log_prob`. Targets and predictions are as for `ExpectedCalibrationError`.
    Smaller is better.

    Args:
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x > 0; "variance", the root of
        x > 0; or "log_variance", e^(x / 2).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.NegativeLogLikelihood(scale_transform="exp")
      >>> metric.update_state([1.0], [[0.0, 0.0]])
      >>> round(float(metric.result()), 6)
      1.418939

    References:
      Good (1952), Rational Decisions.
    """

    def __init__(
        self,
        name: str | None = "negative_log_likelihood",
        dtype: Any = None,
        *,
        scale_transform: _scorers.ScaleTransform = "softplus",
    ) -> None:
        scorer = _regression_scorers.NormalLikelihood(
            scale_transform=scale_transform,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("root_mean_squared_error", room="regression")
class RootMeanSquaredError(MeanForecast):
    """Root mean squared error of the predicted means of all batches.

    See `um.regression.root_mean_squared_error`; targets and predictions are as for
    `ExpectedCalibrationError`, but the scales are not read. The value is in the unit of
    the targets; smaller is better.

    Args:
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.RootMeanSquaredError()
      >>> metric.update_state([1.0, 7.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      5.0
    """

    def __init__(
        self,
        name: str | None = "root_mean_squared_error",
        dtype: Any = None,
    ) -> None:
        scorer = _regression_scorers.SquaredError()
        super().__init__(scorer, name=name, dtype=dtype)

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the root of the mean over all batches; 0.0 before the first example
        that counts.
        """
        return xp.sqrt(super().result())


@dataclasses.dataclass(frozen=True)
class _Between(_scorers.MeanPinball):
    """Whether a label is in the central interval between two of the quantiles."""

    level: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantiles", check_quantiles(self.quantiles))
        if self.level is not None:
            object.__setattr__(self, "level", _checks.open_unit("level", self.level))
        if self.pair is None:
            expected = "levels t and 1 - t"
            if self.level is not None:
                expected = f"the ends of the interval of level {self.level}, {expected}"
            raise _checks.error(
                "quantiles", expected, repr(list(self.quantiles)), verb="hold"
            )

    @property
    def pair(self) -> tuple[int, int] | None:
        """The places of the two quantiles, or None."""
        levels = self.quantiles
        for i, j in reversed(coverage_of_quantiles.central_pairs(levels)):
            if self.level is None or abs(levels[j] - levels[i] - self.level) < 1e-6:
                return i, j
        return None

    def _scores(
        self, labels: xp.Tensor, y_pred: xp.Tensor
    ) -> tuple[xp.Tensor, xp.Tensor]:
        pair = self.pair
        assert pair is not None
        low, high = (y_pred[:, place] for place in pair)
        within = xp.cast((low <= labels) & (labels <= high), y_pred.dtype)
        finite = xp.reduce_all(xp.math.is_finite(y_pred), axis=-1)
        return within, finite & xp.math.is_finite(labels)


@_base.register(None, room="regression")
class QuantileCoverage(MeanScore):
    """Share of the targets between two predicted quantiles, of all batches.

    `y_true` holds real targets, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q], as for `PinballLoss` and `Pinball`. The closer to the
    level, the better. `um.regression.quantile_coverage` has the coverage of all levels.

    Args:
      quantiles: levels in (0, 1), a sequence of Q, strictly increasing.
      level: probability of the interval, in (0, 1): its ends, the quantiles of levels
        (1 - level) / 2 and (1 + level) / 2, must be among the quantiles. By default the
        widest central interval.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.regression.QuantileCoverage([0.1, 0.5, 0.9], level=0.8)
      >>> metric.update_state([0.5, 4.0], [[0.0, 1.0, 3.0], [0.0, 1.0, 3.0]])
      >>> float(metric.result())
      0.5

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format.
    """

    def __init__(
        self,
        quantiles: Sequence[float],
        level: float | None = None,
        name: str | None = "quantile_coverage",
        dtype: Any = None,
    ) -> None:
        scorer = _Between(quantiles=quantiles, level=level)
        super().__init__(scorer, name=name, dtype=dtype)
