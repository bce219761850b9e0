"""Streaming scores of real-valued forecasts: the Keras metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncertainty_metrics.keras import _base, _scorers
from uncertainty_metrics.keras.metrics._scores import MeanScore, NormalScore
from uncertainty_metrics.numpy.scoring._sample_estimators import SpreadEstimator

__all__ = [
    "CRPSNormal",
    "CRPSSamples",
    "IntervalScore",
    "Pinball",
    "WeightedIntervalScore",
]


@_base.register("crps_normal_score")
class CRPSNormal(NormalScore):
    """Continuous ranked probability score of Normal forecasts, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, whose scale is not transformed.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      TypeError: `y_pred` is a distribution, but not a Normal one.
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CRPSNormal(scale_transform="identity")
      >>> metric.update_state([0.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])
      >>> round(float(metric.result()), 4)
      1.1168

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """

    def __init__(
        self,
        scale_transform: _scorers.ScaleTransform = "softplus",
        name: str | None = "crps_normal",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.NormalCRPS(
            scale_transform=scale_transform,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("crps_score")
class CRPSSamples(MeanScore):
    """Continuous ranked probability score of samples, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` m samples of each
    forecast, shape [..., m].

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg", "almost_fair" or
        "roll": see `crps_score`.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      alpha: the share of "fair" in "almost_fair", in [0, 1]: 1 is "fair", 0 is "nrg".

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CRPSSamples(estimator="nrg")
      >>> metric.update_state([0.0], [[-1.0, 1.0]])
      >>> float(metric.result())
      0.5

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts. Lang et al. (2024),
      AIFS-CRPS: Ensemble Forecasting Using a Model Trained with a Loss Function Based
      on the Continuous Ranked Probability Score.
    """

    def __init__(
        self,
        estimator: SpreadEstimator = "fair",
        name: str | None = "crps_samples",
        dtype: Any = None,
        *,
        alpha: float = 0.95,
    ) -> None:
        scorer = _scorers.SampleCRPS(
            estimator=estimator,
            alpha=alpha,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("pinball_loss")
class Pinball(MeanScore):
    """Pinball (quantile) loss, mean over quantiles and batches: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (for one quantile the last axis may be absent).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.Pinball([0.5, 0.75])
      >>> metric.update_state([1.0], [[0.0, 3.0]])
      >>> float(metric.result())
      0.5

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """

    def __init__(
        self,
        quantiles: float | Sequence[float],
        name: str | None = "pinball",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.MeanPinball(
            quantiles=quantiles,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("interval_score")
class IntervalScore(MeanScore):
    """Interval (Winkler) score of central intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross are scored as predictions of the two
    quantiles: see `interval_score`.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.IntervalScore(alpha=0.1)
      >>> metric.update_state([0.5, 3.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      21.0

    References:
      Winkler (1972), A Decision-Theoretic Approach to Interval Estimation. Gneiting and
      Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation.
    """

    def __init__(
        self,
        alpha: float,
        name: str | None = "interval_score",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.Interval(
            alpha=alpha,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("weighted_interval_score")
class WeightedIntervalScore(MeanScore):
    """Weighted interval score of a median and K intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred`, shape [..., 2K + 1],
    the median, then lower and upper bound of each interval, in the order of `alphas`:
    see `weighted_interval_score`.

    Args:
      alphas: in (0, 1), a sequence of K; 0.1 for 90% intervals.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.WeightedIntervalScore(alphas=[0.5, 0.1])
      >>> metric.update_state([3.0], [[0.5, 0.0, 1.0, -1.0, 2.0]])
      >>> round(float(metric.result()), 6)
      1.86

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format.
    """

    def __init__(
        self,
        alphas: Sequence[float],
        name: str | None = "weighted_interval_score",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.WeightedInterval(
            alphas=alphas,
        )
        super().__init__(scorer, name=name, dtype=dtype)
