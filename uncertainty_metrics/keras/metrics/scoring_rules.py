"""Streaming proper scoring rules: the Keras metrics."""

from __future__ import annotations

from collections.abc import Sequence

from uncertainty_metrics.keras import _scorers
from uncertainty_metrics.keras._options import Option, flag, with_options
from uncertainty_metrics.keras.metrics._scores import (
    DecompositionMetric,
    MeanScore,
    NormalScore,
    RefinedMetric,
)
from uncertainty_metrics.numpy.scoring.forecast_scores import ALPHA, SpreadEstimator

__all__ = [
    "BrierDecomposition",
    "BrierScore",
    "CRPSNormal",
    "CRPSSamples",
    "IntervalScore",
    "NegativeLogLikelihood",
    "Pinball",
    "RankedProbabilityScore",
    "RefinedNegativeLogLikelihood",
    "WeightedIntervalScore",
]


@with_options(
    "from_logits, ignore_index, name, dtype, *, zero_based, sparse_labels, num_groups",
    "brier_score",
    zero_based=flag(),
)
class BrierScore(MeanScore):
    """Brier score of all batches: the mean of `sum_k p_k^2 - 2 p_y`.

    `y_true` holds integers in [0, K), shape [...] or [..., 1]; or distributions over
    the classes [..., K] (one-hot, smoothed or mixed labels), under which the score is
    averaged. `y_pred` holds probabilities or logits [..., K]; or [...] or [..., 1] for
    class 1 of two.

    Args:
      zero_based: whether to add 1, so that 0 is perfect and the range is [0, 2].

    Example:
      >>> metric = um.BrierScore()
      >>> metric.update_state([0], [[0.9, 0.1]])
      >>> metric.update_state([1], [[0.4, 0.6]])
      >>> round(float(metric.result()), 6)
      -0.83
    """

    _direction = "down"
    _scorer_type = _scorers.Brier


@with_options(
    "from_logits, ignore_index, name, dtype, *, sparse_labels, num_groups",
    "negative_log_likelihood",
)
class NegativeLogLikelihood(MeanScore):
    """Negative log-likelihood of all batches: the mean of `-log p_y`, in nats.

    Labels and predictions are as for `BrierScore`. Unlike the cross-entropy of Keras,
    it does not clip probabilities: a label of probability 0 makes the result infinite.

    Example:
      >>> metric = um.NegativeLogLikelihood(from_logits=True)
      >>> metric.update_state([0, 1], [[1000.0, 0.0], [0.0, 0.0]])
      >>> round(float(metric.result()), 6)
      0.346574
    """

    _direction = "down"
    _scorer_type = _scorers.Likelihood


@with_options(
    "from_logits, ignore_index, name, dtype, *, sparse_labels, num_groups",
    "ranked_probability_score",
)
class RankedProbabilityScore(MeanScore):
    """Ranked probability score of ordered classes, mean of all batches.

    Labels and predictions are as for `BrierScore`; the classes are in ascending order.

    Example:
      >>> metric = um.RankedProbabilityScore()
      >>> metric.update_state([0, 2], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
      >>> round(float(metric.result()), 6)
      0.67
    """

    _direction = "down"
    _scorer_type = _scorers.RankedProbability


@with_options("scale_transform, name, dtype", "crps_normal")
class CRPSNormal(NormalScore):
    """Continuous ranked probability score of Normal forecasts, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, whose scale is not transformed.

    Raises:
      TypeError: `y_pred` is a distribution, but not a Normal one.

    Example:
      >>> metric = um.CRPSNormal(scale_transform="identity")
      >>> metric.update_state([0.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])
      >>> round(float(metric.result()), 4)
      1.1168
    """

    _direction = "down"
    _function = "crps_normal_score"
    _scorer_type = _scorers.NormalCRPS


@with_options(
    "estimator, name, dtype, *, alpha",
    "crps_samples",
    estimator=Option(SpreadEstimator, "fair"),
    alpha=Option(float, ALPHA),
)
class CRPSSamples(MeanScore):
    """Continuous ranked probability score of samples, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` m samples of each
    forecast, shape [..., m].

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg", "almost_fair" or
        "roll": see `crps_score`.
      alpha: the share of "fair" in "almost_fair", in [0, 1]: 1 is "fair", 0 is "nrg".

    Example:
      >>> metric = um.CRPSSamples(estimator="nrg")
      >>> metric.update_state([0.0], [[-1.0, 1.0]])
      >>> float(metric.result())
      0.5
    """

    _direction = "down"
    _function = "crps_score"
    _scorer_type = _scorers.SampleCRPS


@with_options(
    "quantiles, name, dtype", "pinball", quantiles=Option(float | Sequence[float])
)
class Pinball(MeanScore):
    """Pinball (quantile) loss, mean over quantiles and batches: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (for one quantile the last axis may be absent).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.

    Example:
      >>> metric = um.Pinball([0.5, 0.75])
      >>> metric.update_state([1.0], [[0.0, 3.0]])
      >>> float(metric.result())
      0.5
    """

    _direction = "down"
    _function = "pinball_loss"
    _scorer_type = _scorers.MeanPinball


@with_options("alpha, name, dtype", "interval_score", alpha=Option(float))
class IntervalScore(MeanScore):
    """Interval (Winkler) score of central intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross are scored as predictions of the two
    quantiles: see `interval_score`.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.

    Example:
      >>> metric = um.IntervalScore(alpha=0.1)
      >>> metric.update_state([0.5, 3.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      21.0
    """

    _direction = "down"
    _scorer_type = _scorers.Interval


@with_options(
    "alphas, name, dtype", "weighted_interval_score", alphas=Option(Sequence[float])
)
class WeightedIntervalScore(MeanScore):
    """Weighted interval score of a median and K intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred`, shape [..., 2K + 1],
    the median, then lower and upper bound of each interval, in the order of `alphas`:
    see `weighted_interval_score`.

    Args:
      alphas: in (0, 1), a sequence of K; 0.1 for 90% intervals.

    Example:
      >>> metric = um.WeightedIntervalScore(alphas=[0.5, 0.1])
      >>> metric.update_state([3.0], [[0.5, 0.0, 1.0, -1.0, 2.0]])
      >>> round(float(metric.result()), 6)
      1.86
    """

    _direction = "down"
    _scorer_type = _scorers.WeightedInterval


@with_options(
    "num_classes, from_logits, ignore_index, name, dtype, *, exact, sparse_labels",
    "brier_decomposition",
    exact=flag(),
)
class BrierDecomposition(DecompositionMetric):
    """The parts of the Brier score of all batches, a dict.

    See the functions `brier_decomposition` and `brier_decomposition_exact`. The parts
    are exact. The state has 2K(K + 1) cells, which limits K to some thousand classes.
    Labels and predictions are as for `BrierScore`; a label that is a distribution
    counts as its largest class.

    A callback that monitors a part needs `mode="max"` (resolution) or `mode="min"`
    (reliability), because the metric has no single direction that Keras could read.

    Args:
      exact: whether the result has the five parts of `brier_decomposition_exact`
        instead of the three parts of `brier_decomposition`.

    Example:
      >>> metric = um.BrierDecomposition()
      >>> metric.update_state([0, 1], [[0.8, 0.2], [0.8, 0.2]])
      >>> metric.update_state([1, 1], [[0.3, 0.7], [0.3, 0.7]])
      >>> {name: round(float(part), 5) for name, part in metric.result().items()}
      {'uncertainty': -0.625, 'resolution': 0.125, 'reliability': 0.18}

    References:
      Murphy (1973), A New Vector Partition of the Probability Score. Stephenson, Coelho
      and Jolliffe (2008), Two Extra Components in the Brier Score Decomposition.
    """


@with_options(
    "from_logits, ignore_index, name, dtype, *, sparse_labels",
    "refined_nll",
)
class RefinedNegativeLogLikelihood(RefinedMetric):
    """Negative log-likelihood of all batches after the best temperature, in nats.

      min over T of the mean of -log softmax(z / T)_y

    for logits z (for probabilities, their logarithms) and labels y: the part of
    `NegativeLogLikelihood` that temperature scaling cannot remove. In training, models
    become overconfident long before they stop learning: the negative log-likelihood
    rises, while this metric still falls. So stop early by this metric, and recalibrate
    the trained model:

      keras.callbacks.EarlyStopping("val_refined_nll")

    Labels and predictions are as for `BrierScore`; logits may be -inf. The state has
    the sums of the negative log-likelihood and of its first two derivatives in
    log(1/T), at 17 temperatures from 1/16 to 16. The result is the minimum of the
    interpolant of degree five between two of these temperatures. For normally
    distributed logits it is within 1e-5 of the exact minimum, and T is within 1e-4 of
    its size unless the likelihood hardly depends on T. The errors are largest if all
    examples have the same two logits, one of them K - 1 times: for K of 10, 100 and
    1000, up to 1e-5, 2e-4 and 1e-3, and 0.1%, 0.5% and 2% of T. T is fitted to the
    examples that are scored, so there should not be few.

    If the best T is out of this range, the result is the value at the end of the range,
    the temperature is inf or 0.0, and the first result outside of compiled code warns
    with a RuntimeWarning. A label of probability 0 makes the result infinite, and the
    attributes NaN.

    Attributes:
      temperature: the best T; 1.0 before the first batch, or if all T are equally good.
      calibration_part: the negative log-likelihood at T = 1 minus the result, >= 0: the
        gain from temperature scaling.

    Example:
      >>> metric = um.RefinedNegativeLogLikelihood(from_logits=True)
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> metric.update_state([0, 1, 0, 1], logits)  # 3 of 4: log 3, and not 4.
      >>> round(float(metric.result()), 4), round(float(metric.temperature), 3)
      (0.5623, 3.641)
      >>> round(float(metric.calibration_part), 4)
      0.4558

    References:
      Berta, Holzmüller, Jordan and Bach (2025), Rethinking Early Stopping: Refine, Then
      Calibrate.
    """

    _direction = "down"
