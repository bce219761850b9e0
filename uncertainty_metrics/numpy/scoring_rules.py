"""Proper scoring rules, exact and in float64.

A proper scoring rule is least, on average, for the forecast that is the true
distribution. All of them are losses: smaller is better.

Arguments that the scores of classifiers share:

  labels: integers in [0, K), shape [...]. A floating array of whole numbers will do.
  probabilities: in [0, 1], shape [..., K]; or [...] or [..., 1], those of class 1,
    read as `[1 - p, p]`.
  logits: instead of `probabilities`, their logarithms up to a constant; of class 1
    against class 0 where the class axis is absent. -inf is probability 0.
  aggregate: whether to return the mean over all examples (True) or a score for each.
  sample_weight: finite and >= 0, broadcastable to the labels. Weight 2 is the example
    twice, weight 0 the example left out. Scores of single examples are multiplied by
    their weights.
  ignore_index: examples with this label are left out; their single scores are 0.

Those of real-valued forecasts take labels of any shape and return a score for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import BrierParts, ExactBrierParts
from uncertainty_metrics.numpy import _inputs, _pairwise

__all__ = [
    "brier_decomposition",
    "brier_decomposition_exact",
    "brier_score",
    "crps_normal_score",
    "crps_score",
    "energy_score",
    "interval_score",
    "negative_log_likelihood",
    "pinball_loss",
]

CRPS_ESTIMATORS = ("fair", "nrg", "roll")


def _at_label(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.take_along_axis(values, labels[:, None], axis=1)[:, 0]


def _checked_probabilities(examples: _inputs.Examples) -> np.ndarray:
    probabilities = _inputs.check_probabilities(examples.probabilities, examples.name)
    return probabilities.astype(np.float64)


def reduced(
    examples: _inputs.Examples, scores: np.ndarray, aggregate: bool
) -> float | np.ndarray:
    """Returns the weighted mean of scores [N], or all of them, weighted."""
    if aggregate:
        with np.errstate(over="ignore"):  # To inf, as some scores are.
            return float(np.average(scores, weights=examples.weights))
    weighted = np.zeros(examples.kept.shape)
    weighted[examples.kept] = (
        scores if examples.weights is None else scores * examples.weights
    )
    return weighted


def brier_score(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float | np.ndarray:
    """Brier score: the squared distance of the forecast from what happened.

      Brier = sum_k p_k^2 - 2 p_y

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      aggregate: whether to return the mean instead of a score for each example.
      zero_based: whether to add 1, which makes it `sum_k (p_k - (k == y))^2`. For two
        classes that is twice the mean squared error of P(class 1).
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or float64 scores of the shape of the labels; in [-1, 1], or in [0, 2]
      for `zero_based`. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> score = um.brier_score([0, 1], probabilities=[[0.9, 0.1], [0.4, 0.6]])
      >>> round(score, 6)
      -0.83

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """
    _checks.boolean("aggregate", aggregate)
    _checks.boolean("zero_based", zero_based)
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        allow_none=not aggregate,
    )
    p = _checked_probabilities(examples)
    if zero_based:  # Without the rounding of numbers near 1.
        p = p.copy()
        p[np.arange(len(p)), examples.labels] -= 1
        scores = np.einsum("nk,nk->n", p, p)
    else:
        scores = np.einsum("nk,nk->n", p, p) - 2 * _at_label(p, examples.labels)
    return reduced(examples, scores, aggregate)


def negative_log_likelihood(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float | np.ndarray:
    """Negative log-likelihood, the logarithmic score: `-log p_y` in nats.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`; the value keeps its precision where the
        probability of the label underflows.
      aggregate: whether to return the mean instead of a score for each example.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or float64 scores of the shape of the labels; >= 0, inf where the label
      had probability 0. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> score = um.negative_log_likelihood([0, 1], logits=[[1000.0, 0.0], [0.0, 0.0]])
      >>> round(score, 6)
      0.346574

    References:
      Good (1952), Rational Decisions.
    """
    _checks.boolean("aggregate", aggregate)
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        allow_none=not aggregate,
    )
    if examples.name == "logits":
        z = _inputs.below_maximum(examples.predictions)
        scores = np.log(np.exp(z).sum(axis=-1)) - _at_label(z, examples.labels)
    else:
        with np.errstate(divide="ignore"):
            p = _at_label(_checked_probabilities(examples), examples.labels)
            scores = -np.log(p) + 0.0  # No -0.0.
    return reduced(examples, scores, aggregate)


def _rows_of_decisions(
    examples: _inputs.Examples,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns probabilities, outcomes and weights of all examples, [N, K] and [N], and
    which of the D decisions that occur is that of each.
    """
    decisions, _ = _inputs.decisions(examples.probabilities, examples.name)
    decisions = np.unique(decisions, return_inverse=True)[1].reshape(-1)
    p = _checked_probabilities(examples)
    outcomes = np.zeros_like(p)
    outcomes[np.arange(len(p)), examples.labels] = 1
    weights = np.ones(len(p)) if examples.weights is None else examples.weights
    return p, outcomes, weights / weights.sum(), decisions


def _means_of_decisions(
    rows: np.ndarray, weights: np.ndarray, decisions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean of the rows [N, K] of each decision, [D, K], and its weight."""
    occurring = decisions.max() + 1
    means, shares = np.zeros((occurring, rows.shape[1])), np.zeros(occurring)
    for k in range(occurring):  # One pass over the examples of each decision.
        chosen = decisions == k
        shares[k] = weights[chosen].sum()
        means[k] = weights[chosen] @ rows[chosen] / shares[k]
    return means, shares


def brier_decomposition(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> BrierParts:
    """Uncertainty, resolution and reliability of a classifier.

    Examples are partitioned by their decision k, the argmax. With w_k the share of the
    examples decided as k, dbar_kj the frequency of label j among them and pbar_j that
    among all:

      uncertainty = -sum_j pbar_j^2
      resolution = sum_k w_k sum_j (dbar_kj - pbar_j)^2
      reliability = mean over examples of sum_j (p_j - dbar_kj)^2

    `uncertainty - resolution + reliability` is the Brier score where all forecasts of a
    decision are equal; `brier_decomposition_exact` sums to it for any data.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A named tuple `(uncertainty, resolution, reliability)`: in [-1, -1/K]; in [0, 1],
      larger is better; in [0, 2], smaller is better and 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]]
      >>> parts = um.brier_decomposition([0, 1, 1, 1], probabilities=probabilities)
      >>> uncertainty, resolution, reliability = parts
      >>> round(uncertainty, 6), round(resolution, 6), round(reliability, 6)
      (-0.625, 0.125, 0.18)

    References:
      Murphy (1973), A New Vector Partition of the Probability Score.
      Bröcker (2009), Reliability, Sufficiency, and the Decomposition of Proper Scores.
    """
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    p, outcomes, weights, decisions = _rows_of_decisions(examples)
    dbar, shares = _means_of_decisions(outcomes, weights, decisions)
    pbar = shares @ dbar
    return BrierParts(
        float(-np.sum(pbar**2)),
        float(shares @ np.sum((dbar - pbar) ** 2, axis=1)),
        float(weights @ np.sum((p - dbar[decisions]) ** 2, axis=1)),
    )


def brier_decomposition_exact(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> ExactBrierParts:
    """Five parts that sum to the Brier score, for any data.

    Examples are partitioned as in `brier_decomposition`. With fbar_kj the mean of p_j
    and dbar_kj that of the outcome d_j = (j == y) over the examples decided as k:

      reliability = sum_k w_k sum_j (fbar_kj - dbar_kj)^2
      within_bin_variance = mean of sum_j (p_j - fbar_kj)^2
      within_bin_covariance = 2 * mean of sum_j (p_j - fbar_kj) (d_j - dbar_kj)
      Brier = uncertainty - resolution + reliability
              + within_bin_variance - within_bin_covariance

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A named tuple `(uncertainty, resolution, reliability, within_bin_variance,
      within_bin_covariance)`. Its `reliability` is that of the mean forecast, at most
      that of `brier_decomposition`; smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = {"labels": [0, 1, 1], "probabilities": [0.2, 0.4, 0.9]}
      >>> u, resolution, reliability, variance, covariance = (
      ...     um.brier_decomposition_exact(**data)
      ... )
      >>> total = u - resolution + reliability + variance - covariance
      >>> round(total - um.brier_score(**data), 12) + 0.0
      0.0

    References:
      Stephenson, Coelho and Jolliffe (2008), Two Extra Components in the Brier Score
      Decomposition.
    """
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    p, outcomes, weights, decisions = _rows_of_decisions(examples)
    dbar, shares = _means_of_decisions(outcomes, weights, decisions)
    fbar, _ = _means_of_decisions(p, weights, decisions)
    pbar = shares @ dbar
    p -= fbar[decisions]
    outcomes -= dbar[decisions]
    return ExactBrierParts(
        float(-np.sum(pbar**2)),
        float(shares @ np.sum((dbar - pbar) ** 2, axis=1)),
        float(shares @ np.sum((fbar - dbar) ** 2, axis=1)),
        float(weights @ np.einsum("nk,nk->n", p, p)),
        float(2 * weights @ np.einsum("nk,nk->n", p, outcomes)),
    )


def check_scales(name: str, scales: np.ndarray) -> None:
    """Raises ValueError where a scale is negative."""
    bad = scales < 0
    if np.any(bad):
        raise _checks.error(name, "scales >= 0", _inputs.first(bad, scales))


def crps_normal_score(
    labels: ArrayLike, means: ArrayLike, stddevs: ArrayLike
) -> np.ndarray:
    """Continuous ranked probability score (CRPS) of Normal forecasts.

    With z = (y - mean) / stddev, and Phi and phi the Normal CDF and density:

      CRPS = stddev (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))

    Args:
      labels: real, shape [...].
      means: real, shape of the labels, or a scalar.
      stddevs: >= 0, shape of the labels, or a scalar. For 0 the score is its limit,
        the absolute error.

    Returns:
      Float64 scores of the shape of the labels, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.crps_normal_score([0.0, 3.0], [0.0, 1.0], [1.0, 0.0]).round(6).tolist()
      [0.233695, 2.0]

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """
    from scipy import special

    labels = _inputs.finite("labels", labels)
    means = _inputs.like_labels("means", means, labels)
    stddevs = _inputs.like_labels("stddevs", stddevs, labels)
    check_scales("stddevs", stddevs)
    difference = labels - means
    with np.errstate(over="ignore"):
        z = difference / np.maximum(stddevs, np.finfo(np.float64).tiny)
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    spread = stddevs * (2 * density - 1 / np.sqrt(np.pi))
    return difference * special.erf(z / np.sqrt(2)) + spread


def _samples(
    labels: ArrayLike, predictive_samples: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Returns labels [...] and samples [..., m], checked."""
    labels = _inputs.as_array("labels", labels)
    samples = _inputs.as_array("predictive_samples", predictive_samples)
    _checks.last_axis("predictive_samples", samples.shape, labels.shape, "samples")
    labels = _inputs.finite("labels", labels).reshape(samples.shape[:-1])
    # They are sorted as they are, and added in float64.
    return labels, _inputs.finite("predictive_samples", samples, single=True)


def check_estimator(
    estimator: str,
    options: Sequence[str],
    num_samples: int | None,
    name: str = "predictive_samples",
) -> None:
    """Raises ValueError for an unknown estimator, or too few samples for it."""
    _checks.one_of("estimator", estimator, options)
    if estimator == "fair" and num_samples == 1:
        raise _checks.error(
            name,
            'of at least two samples for estimator="fair"',
            "one sample",
        )


@np.errstate(over="ignore", invalid="ignore")
def crps_score(
    labels: ArrayLike, predictive_samples: ArrayLike, *, estimator: str = "fair"
) -> np.ndarray:
    """Continuous ranked probability score (CRPS) of samples of a forecast.

      CRPS = mean_i |x_i - y| - spread / 2

    The spread estimates E|X - X'| for independent draws X and X' of the forecast:

      fair: mean of |x_i - x_j| over all pairs i != j, m(m-1); unbiased.
      nrg: mean over all m^2 pairs: the exact score of the empirical distribution, whose
        spread is too small by the factor (m-1)/m.
      roll: mean of |x_i - x_(i-1)| over neighbours in the order given; unbiased for
        independent samples, but noisier, and dependent on their order.

    Args:
      labels: real, shape [...].
      predictive_samples: m samples of each forecast, shape [..., m].
      estimator: "fair", "nrg" or "roll". "fair" needs two samples.

    Returns:
      Float64 scores, shape [...], in the unit of the labels. Smaller is better. "nrg"
      is >= 0; an unbiased score of few samples may be negative. O(m log m).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.crps_score([0.0], [[-1.0, 1.0]]).tolist()
      [0.0]
      >>> um.crps_score([0.0], [[-1.0, 1.0]], estimator="nrg").tolist()
      [0.5]

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts.
    """
    labels, samples = _samples(labels, predictive_samples)
    num_samples = samples.shape[-1]
    check_estimator(estimator, CRPS_ESTIMATORS, num_samples)
    error = np.mean(np.abs(samples - labels[..., None]), axis=-1)
    if estimator == "roll":
        samples = samples.astype(np.float64)
        neighbours = np.abs(samples - np.roll(samples, 1, axis=-1))
        return error - np.mean(neighbours, axis=-1) / 2
    return error - _pairwise.pairwise_spread(samples, fair=estimator == "fair")


def pinball_loss(
    labels: ArrayLike,
    quantile_predictions: ArrayLike,
    quantiles: float | Sequence[float] | np.ndarray,
) -> np.ndarray:
    """Pinball (quantile) loss of predicted quantiles.

    For the quantile q of level t:

      loss = t (y - q) where y >= q, (1 - t) (q - y) elsewhere

    Twice its mean over many evenly spaced levels approaches the CRPS.

    Args:
      labels: real, shape [...].
      quantile_predictions: real, shape [..., Q]; the shape of the labels where
        `quantiles` is a number.
      quantiles: their levels in (0, 1), a sequence of Q, or a number.

    Returns:
      Float64 losses of the shape of the predictions, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.pinball_loss([1.0], [[0.0, 3.0]], [0.5, 0.75]).tolist()
      [[0.5, 0.5]]

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """
    quantiles = _checks.levels("quantiles", quantiles)
    labels = _inputs.as_array("labels", labels)
    predictions = _inputs.as_array("quantile_predictions", quantile_predictions)
    _checks.quantile_shape(predictions.shape, labels.shape, quantiles)
    labels = _inputs.finite("labels", labels)
    if isinstance(quantiles, tuple):
        labels = labels.reshape(*predictions.shape[:-1], 1)
        predictions = _inputs.finite("quantile_predictions", predictions)
    else:
        predictions = _inputs.like_labels("quantile_predictions", predictions, labels)
    error = labels - predictions
    levels = np.asarray(quantiles)
    return np.maximum(levels * error, (levels - 1) * error)


@np.errstate(over="ignore", invalid="ignore")
def interval_score(
    labels: ArrayLike, lower: ArrayLike, upper: ArrayLike, alpha: float
) -> np.ndarray:
    """Interval (Winkler) score of central prediction intervals of level 1 - alpha.

      score = (u - l) + 2/alpha (l - y where y < l) + 2/alpha (y - u where y > u)

    It is 2/alpha times the sum of the pinball losses of l at alpha/2 and of u at
    1 - alpha/2, also where the two cross.

    Args:
      labels: real, shape [...].
      lower: real, the quantile of level alpha/2, shape of the labels, or a scalar.
      upper: real, the quantile of level 1 - alpha/2, shape of the labels, or a scalar.
      alpha: in (0, 1); 0.1 for 90% intervals.

    Returns:
      Float64 scores of the shape of the labels, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.interval_score([0.5, 3.0], [0.0, 0.0], [1.0, 1.0], 0.1).tolist()
      [1.0, 41.0]

    References:
      Winkler (1972), A Decision-Theoretic Approach to Interval Estimation. Gneiting and
      Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation.
    """
    alpha = _checks.open_unit("alpha", alpha)
    labels = _inputs.finite("labels", labels)
    lower = _inputs.like_labels("lower", lower, labels)
    upper = _inputs.like_labels("upper", upper, labels)
    if np.all(lower > upper):
        raise ValueError(
            "`lower` and `upper` seem to be swapped: every interval is reversed. "
            f"Received: {_inputs.first(lower > upper, lower)} as `lower`, "
            f"{_inputs.first(lower > upper, upper)} as `upper`"
        )
    outside = np.maximum(lower - labels, 0) + np.maximum(labels - upper, 0)
    return upper - lower + 2 / alpha * outside


@np.errstate(over="ignore", invalid="ignore")
def energy_score(
    labels: ArrayLike, predictive_samples: ArrayLike, *, estimator: str = "fair"
) -> np.ndarray:
    """Energy score of samples of a multivariate forecast; the CRPS for d = 1.

      ES = mean_i ||x_i - y|| - spread / 2

    The spread estimates E||X - X'|| as in `crps_score`: the mean of ||x_i - x_j||

      fair: over all pairs i != j, m(m-1); unbiased.
      nrg: over all m^2 pairs: the exact score of the empirical distribution.
      roll: over neighbours j = i - 1 in the order given; unbiased for independent
        samples, but noisier, and dependent on their order. O(m d).

    Args:
      labels: real, shape [..., d].
      predictive_samples: m samples of each forecast, shape [..., m, d].
      estimator: "fair", "nrg" or "roll". "fair" needs two samples.

    Returns:
      Float64 scores, shape [...], in the unit of the labels. Smaller is better. "nrg"
      is >= 0; an unbiased score of few samples may be negative. Time O(m^2 d), memory
      O(m d) for each forecast.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.energy_score([[0.0, 0.0]], [[[3.0, 4.0], [3.0, 4.0]]]).tolist()
      [5.0]

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """
    labels = _inputs.as_array("labels", labels)
    samples = _inputs.as_array("predictive_samples", predictive_samples)
    _checks.vector_samples("predictive_samples", samples.shape, labels.shape)
    m = samples.shape[-2]
    check_estimator(estimator, CRPS_ESTIMATORS, m)
    labels = _inputs.finite("labels", labels)
    samples = _inputs.finite("predictive_samples", samples)
    error = np.linalg.norm(samples - labels[..., None, :], axis=-1).mean(axis=-1)
    if estimator == "roll":
        steps = np.linalg.norm(samples - np.roll(samples, 1, axis=-2), axis=-1)
        return error - steps.mean(axis=-1) / 2
    total = np.zeros(labels.shape[:-1])
    for shift in range(1, m // 2 + 1):  # All pairs at once would take m^2 d numbers.
        pairs = np.linalg.norm(samples - np.roll(samples, shift, axis=-2), axis=-1)
        # The pairs that are m/2 apart come twice.
        total += pairs.sum(axis=-1) * (0.5 if 2 * shift == m else 1.0)
    return error - total / (m * (m - 1) if estimator == "fair" else m * m)
