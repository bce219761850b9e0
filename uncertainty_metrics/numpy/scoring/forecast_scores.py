"""Proper scoring rules of real-valued forecasts, exact and in float64.

All are losses: smaller is better. Labels have any shape, and there is a score for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import (
    _compiled_loops,
    _inputs,
    _row_math,
    _stddev_or_variance,
)
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.scoring import (
    _interval_bounds,
    _pairwise,
    _sample_estimators,
)
from uncertainty_metrics.numpy.scoring._sample_estimators import ALPHA, SpreadEstimator

__all__ = [
    "crps_normal_score",
    "crps_score",
    "interval_score",
    "pinball_loss",
    "threshold_weighted_crps",
    "weighted_interval_score",
]


def check_scales(name: str, scales: np.ndarray) -> None:
    """Raises ValueError if a scale is negative."""
    bad = scales < 0
    if np.any(bad):
        first = _inputs.first(bad, scales.astype(np.float64))
        raise _checks.error(name, "scales >= 0", first)


@takes_frames
def crps_normal_score(
    labels: ArrayLike, means: ArrayLike, stddevs: ArrayLike
) -> np.ndarray:
    """Continuous ranked probability score (CRPS) of Normal forecasts.

    With z = (y - mean) / stddev, and Phi and phi the Normal CDF and density:

      CRPS = stddev (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))

    Args:
      labels: real, shape [...].
      means: real, shape of the labels, or a scalar.
      stddevs: >= 0, shape of the labels, or a scalar. For 0 the score is the limit, the
        absolute error.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> scores = um.crps_normal_score([0.0, 3.0], [0.0, 1.0], [1.0, 0.0])
      >>> [round(float(score), 6) for score in scores]
      [0.233695, 2.0]

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """
    from scipy import special

    def score(
        y: np.ndarray, mean: np.ndarray, stddev: np.ndarray, out: np.ndarray
    ) -> None:
        difference = np.subtract(y, mean, out=y)
        with np.errstate(over="ignore"):
            z = difference / np.maximum(stddev, np.finfo(np.float64).tiny)
            density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        spread = stddev * (2 * density - 1 / np.sqrt(np.pi))
        z /= np.sqrt(2)
        np.multiply(difference, special.erf(z, out=z), out=out)
        out += spread

    labels = _inputs.finite("labels", labels, single=True)
    means = _inputs.like_labels("means", means, labels, single=True)
    stddevs = _inputs.like_labels("stddevs", stddevs, labels, single=True)
    check_scales("stddevs", stddevs)
    _stddev_or_variance.check("stddevs", means, stddevs, labels, None)
    return _row_math.in_double(score, labels, means, stddevs)


def _samples(
    labels: ArrayLike,
    predictive_samples: ArrayLike,
    member_weights: ArrayLike | None = None,
    estimator: str = "",
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns checked labels [...] and samples [..., m], and the weights of these, or
    None. Samples of weight 0 become 0.
    """
    labels = _inputs.as_array("labels", labels)
    samples = _inputs.as_array("predictive_samples", predictive_samples)
    _checks.last_axis("predictive_samples", samples.shape, labels.shape, "samples")
    labels = _inputs.finite("labels", labels).reshape(samples.shape[:-1])
    weights = None
    if member_weights is not None:
        weights = _sample_estimators.checked_member_weights(
            member_weights, samples, estimator
        )
        samples = np.where(weights > 0, samples, 0)
    # Samples in float32 are sorted in float32; all sums are in float64.
    return labels, _inputs.finite("predictive_samples", samples, single=True), weights


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def crps_score(
    labels: ArrayLike,
    predictive_samples: ArrayLike,
    *,
    estimator: SpreadEstimator = "fair",
    alpha: float = ALPHA,
    member_weights: ArrayLike | None = None,
) -> np.ndarray:
    """Continuous ranked probability score (CRPS) of samples of a forecast.

      CRPS = mean_i |x_i - y| - spread / 2

    The spread estimates E|X - X'| for independent draws X and X' of the forecast:

      fair: mean of |x_i - x_j| over all pairs i != j, m(m-1); unbiased.
      nrg: mean over all m^2 pairs: the exact score of the empirical distribution, whose
        spread is too small by the factor (m-1)/m.
      almost_fair: alpha fair + (1 - alpha) nrg. It is for training: if all samples but
        one equal the label, the score with "fair" is 0 wherever that one sample is.
      roll: mean of |x_i - x_(i-1)| over neighbours in the given order; unbiased for
        independent samples, but noisier, and it depends on their order.

    Weights w_i of the samples, normalised to sum to 1, replace 1/m:

      CRPS = sum_i w_i |x_i - y| - spread / 2
      nrg: spread = sum_ij w_i w_j |x_i - x_j|
      fair: spread of nrg, divided by 1 - sum_i w_i^2

    Args:
      labels: real, shape [...].
      predictive_samples: m samples of each forecast, shape [..., m].
      estimator: "fair", "nrg", "almost_fair" or "roll". "fair" and "almost_fair" need
        two samples.
      alpha: Only for "almost_fair": the share of "fair", in [0, 1]; the rest is "nrg".
      member_weights: Not for "roll": weights of the samples, >= 0, of shape [m] or of
        the shape of the samples; equal by default. Gradients treat them as constants.
        A sample of weight 0 may be anything, even NaN.

    Returns:
      Scores, shape [...], in the unit of the labels. Smaller is better. "nrg"
      is >= 0; an unbiased score of few samples may be negative. O(m log m).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.crps_score(0.0, [-1.0, 1.0]))
      0.0
      >>> float(um.crps_score(0.0, [-1.0, 1.0], estimator="nrg"))
      0.5

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts. Lang et al. (2024),
      AIFS-CRPS: Ensemble Forecasting Using a Model Trained with a Loss Function Based
      on the Continuous Ranked Probability Score.
    """
    estimator, alpha = _sample_estimators.settled(estimator, alpha)
    labels, samples, weights = _samples(
        labels, predictive_samples, member_weights, estimator
    )
    num_samples = samples.shape[-1]
    _sample_estimators.check_num_samples(estimator, num_samples)
    if weights is not None:
        spread, pairs = _pairwise.weighted_spread(samples, weights)
        if _sample_estimators.is_fair(estimator):
            share = alpha if estimator == "almost_fair" else 1
            spread = share * spread / pairs + (1 - share) * spread
        return np.sum(weights * np.abs(samples - labels[..., None]), axis=-1) - spread

    share = _sample_estimators.share_of_fair(estimator, alpha, num_samples)
    compiled = None if estimator == "roll" else _compiled_loops.loops(samples)

    def score(y: np.ndarray, samples: np.ndarray) -> np.ndarray:
        if estimator == "roll":
            samples = samples.astype(np.float64)
            neighbours = np.abs(samples - np.roll(samples, 1, axis=-1))
            spread = np.mean(neighbours, axis=-1) / 2
            errors = samples - y[:, None]
        else:
            ordered = np.sort(samples, axis=-1)
            weights = _pairwise.rank_weights(
                num_samples, _sample_estimators.is_fair(estimator)
            )
            if compiled is not None:
                out = np.empty(len(y))
                compiled.crps_of_sorted(y, ordered, share * weights, out)
                return out
            errors = ordered.astype(np.float64, copy=False)
            errors -= y[:, None]  # The spread of the errors is that of the samples.
            spread = share * _row_math.dot(errors, weights)
        return np.abs(errors, out=errors).mean(axis=-1) - spread

    return _row_math.of_samples(score, labels, samples)


@takes_frames
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
      quantile_predictions: predicted quantiles, real, shape [..., Q]; or the shape of
        the labels if `quantiles` is a number.
      quantiles: levels of the predicted quantiles in (0, 1), a sequence of Q, or a
        number.

    Returns:
      Losses of the shape of the predictions, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> losses = um.pinball_loss([1.0], [[0.0, 3.0]], [0.5, 0.75])
      >>> [float(loss) for loss in losses[0]]
      [0.5, 0.5]

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """
    quantiles = _checks.levels("quantiles", quantiles)
    labels = _inputs.as_array("labels", labels)
    predictions = _inputs.as_array("quantile_predictions", quantile_predictions)
    _checks.quantile_shape(predictions.shape, labels.shape, quantiles)
    labels = _inputs.floats(labels, single=True)
    predictions = _inputs.floats(predictions, single=True)
    if not isinstance(quantiles, tuple):
        predictions = _inputs.in_shape_of(labels, predictions)
    levels = np.asarray(quantiles)

    def check() -> None:
        _inputs.finite("labels", labels)
        _inputs.finite("quantile_predictions", predictions)

    def loss(y: np.ndarray, quantile: np.ndarray, out: np.ndarray) -> None:
        error = np.subtract(y, quantile, out=quantile)
        np.multiply(levels, error, out=out)
        np.maximum(out, np.multiply(levels - 1, error, out=error), out=out)
        # A wrong number makes a wrong loss. The losses of a block are in the cache.
        if not np.max(out, initial=0) < np.inf:
            check()

    compiled = _compiled_loops.loops(labels, predictions)
    if compiled is None:
        return _row_math.in_double(loss, labels, predictions)
    out = np.empty(predictions.shape)
    loop, option = compiled.pinball_of_levels, levels
    shape: tuple[int, ...] = (-1, levels.size)
    if levels.size == 1:
        loop, option, shape = compiled.pinball, levels.item(), (-1,)
    y, quantile, losses = (
        array.reshape(form)
        for array, form in ((labels, -1), (predictions, shape), (out, shape))
    )
    if not _compiled_loops.fill(losses, loop, y, quantile, options=(option,)):
        check()
    return out


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def interval_score(
    labels: ArrayLike, lower: ArrayLike, upper: ArrayLike, alpha: float
) -> np.ndarray:
    """Interval (Winkler) score of central prediction intervals of level 1 - alpha.

      score = (u - l) + 2/alpha (l - y where y < l) + 2/alpha (y - u where y > u)

    This is 2/alpha times the sum of the pinball losses of l at alpha/2 and of u at
    1 - alpha/2, even if l > u.

    Args:
      labels: real, shape [...].
      lower: real, the quantile of level alpha/2, shape of the labels, or a scalar.
      upper: real, the quantile of level 1 - alpha/2, shape of the labels, or a scalar.
      alpha: in (0, 1); 0.1 for 90% intervals.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> scores = um.interval_score([0.5, 3.0], [0.0, 0.0], [1.0, 1.0], 0.1)
      >>> [float(score) for score in scores]
      [1.0, 41.0]

    References:
      Winkler (1972), A Decision-Theoretic Approach to Interval Estimation. Gneiting and
      Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation.
    """
    alpha = _checks.open_unit("alpha", alpha)
    arrays: dict[str, np.ndarray] = {}
    for name, value in (("labels", labels), ("lower", lower), ("upper", upper)):
        array = _inputs.floats(_inputs.as_array(name, value), single=True)
        shape = arrays.setdefault("labels", array).shape
        _checks.same_shape(name, array.shape, shape)
        arrays[name] = _inputs.in_shape_of(arrays["labels"], array)

    def check() -> None:
        for name, array in arrays.items():
            _inputs.finite(name, array)
        _interval_bounds.check_not_reversed(arrays["lower"], arrays["upper"])

    # Every interval can be reversed only if the first one is.
    if np.all(arrays["lower"].reshape(-1)[:1] > arrays["upper"].reshape(-1)[:1]):
        check()

    def score(
        y: np.ndarray, low: np.ndarray, high: np.ndarray, out: np.ndarray
    ) -> None:
        np.maximum(np.subtract(low, y, out=out), 0, out=out)
        out += np.maximum(np.subtract(y, high, out=y), 0, out=y)  # Outside.
        out *= 2 / alpha
        out += np.subtract(high, low, out=high)
        if not np.max(out, initial=0) < np.inf:  # A wrong number makes a wrong score.
            check()

    compiled = _compiled_loops.loops(*arrays.values())
    if compiled is None:
        return _row_math.in_double(score, *arrays.values())
    out = np.empty(arrays["labels"].shape)
    rows = [array.reshape(-1) for array in (out, *arrays.values())]
    if not _compiled_loops.fill(
        rows[0], compiled.interval, *rows[1:], options=(2 / alpha,)
    ):
        check()
    return out


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def weighted_interval_score(
    labels: ArrayLike,
    median: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    alphas: Sequence[float] | np.ndarray,
) -> np.ndarray:
    """Weighted interval score (WIS) of a median and K central prediction intervals.

      WIS = (abs(y - median) / 2 + sum_k alpha_k / 2 IS_k) / (K + 1/2)

    IS_k is the `interval_score` of the interval of level 1 - alpha_k. The WIS is twice
    the mean of the pinball losses of the 2K + 1 quantiles, and approaches the CRPS for
    many evenly spaced levels.

    Args:
      labels: real, shape [...].
      median: real, shape of the labels, or a scalar.
      lower: real, the quantiles of level alpha/2, shape [..., K].
      upper: real, the quantiles of level 1 - alpha/2, shape [..., K].
      alphas: in (0, 1), a sequence of K; 0.1 for 90% intervals.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> intervals = {"lower": [[0.0, -1.0]], "upper": [[1.0, 2.0]]}
      >>> alphas = [0.5, 0.1]
      >>> score = um.weighted_interval_score([3.0], [0.5], **intervals, alphas=alphas)
      >>> round(float(score[0]), 6)
      1.86

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format.
    """
    y, middle, low, high, levels = _interval_bounds.checked_intervals(
        labels, median, lower, upper, alphas
    )
    outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    total = np.sum(np.divide(levels, 2) * (high - low) + outside, axis=-1)
    return (np.abs(y[..., 0] - middle) / 2 + total) / (len(levels) + 0.5)


def _threshold(
    name: str, value: ArrayLike, labels: np.ndarray, infinite: float
) -> np.ndarray:
    """Returns thresholds [..., 1], finite or the infinity `infinite`."""
    array = _inputs.as_array(name, value)
    _checks.same_shape(name, array.shape, labels.shape)
    array = array.astype(np.float64)
    bad = ~(np.isfinite(array) | (array == infinite))
    if np.any(bad):
        raise _checks.error(name, f"numbers or {infinite}", _inputs.first(bad, array))
    shaped = array if array.ndim == 0 else array.reshape(labels.shape)
    return np.broadcast_to(shaped, labels.shape)[..., None]


@takes_frames
def threshold_weighted_crps(
    labels: ArrayLike,
    predictive_samples: ArrayLike,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    *,
    estimator: SpreadEstimator = "fair",
    alpha: float = ALPHA,
) -> np.ndarray:
    """CRPS of samples, restricted to thresholds from `lower` to `upper`.

      twCRPS = integral from lower to upper of (F(z) - (z >= y))^2 dz

    This is the `crps_score` of labels and samples clipped to [`lower`, `upper`], and a
    proper score of tails. A mean over only the labels beyond a threshold is not proper:
    it rewards a forecaster who always predicts an extreme.

    Args:
      labels: real, shape [...].
      predictive_samples: m samples of each forecast, shape [..., m].
      lower: real or -inf, shape of the labels, or a scalar.
      upper: real or inf, at least `lower`, shape of the labels, or a scalar.
      estimator: "fair", "nrg", "almost_fair" or "roll". "fair" and "almost_fair" need
        two samples.
      alpha: Only for "almost_fair": the share of "fair", in [0, 1]; the rest is "nrg".

    Returns:
      Scores, shape [...], in the unit of the labels. Smaller is better. "nrg"
      is >= 0; an unbiased score of few samples may be negative. O(m log m).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> scores = um.threshold_weighted_crps([5.0, 1.0], [[2.0, 4.0], [2.0, 4.0]], 3.0)
      >>> [float(score) for score in scores]
      [1.0, 0.0]

    References:
      Gneiting and Ranjan (2011), Comparing Density Forecasts Using Threshold- and
      Quantile-Weighted Scoring Rules. Allen, Ginsbourger and Ziegel (2023), Evaluating
      Forecasts for High-Impact Events Using Transformed Kernel Scores.
    """
    labels, samples, _ = _samples(labels, predictive_samples)
    low = _threshold("lower", lower, labels, -np.inf)
    high = _threshold("upper", upper, labels, np.inf)
    if np.any(low > high):
        received = (_inputs.first(low > high, end) for end in (low, high))
        raise _checks.error("lower", "at most `upper`", " above ".join(received))
    labels = np.clip(labels[..., None], low, high)[..., 0]
    clipped = np.clip(samples, low, high)
    return crps_score(labels, clipped, estimator=estimator, alpha=alpha)
