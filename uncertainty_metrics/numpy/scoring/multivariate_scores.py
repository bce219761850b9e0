"""Proper scoring rules of samples of multivariate forecasts, exact and in float64.

All are losses: smaller is better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs, _threads
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.scoring import (
    _energy,
    _sample_estimators,
    _variogram,
    forecast_scores,
)
from uncertainty_metrics.numpy.scoring._sample_estimators import ALPHA, SpreadEstimator

__all__ = ["dawid_sebastiani_score", "energy_score", "variogram_score"]


def _vectors(
    labels: ArrayLike, predictive_samples: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Returns checked labels [..., d] and samples [..., m, d]."""
    labels = _inputs.as_array("labels", labels)
    samples = _inputs.as_array("predictive_samples", predictive_samples)
    _checks.vector_samples(samples.shape, labels.shape)
    labels = _inputs.finite("labels", labels)
    return labels, _inputs.finite("predictive_samples", samples)


def check_order(p: float) -> float:
    """Returns the order as a float; raises ValueError unless it is finite and > 0."""
    order = _checks.number(p)
    if not 0 < order < np.inf:
        raise _checks.error("p", "a finite number > 0", repr(p))
    return order


def pair_weights(weights: ArrayLike, d: int) -> np.ndarray:
    """Returns checked weights of the pairs of d coordinates, [d, d]."""
    array = _inputs.as_array("weights", weights)
    if array.shape != (d, d):
        raise _checks.error(
            "weights",
            f"of shape [d, d] = {[d, d]}",
            f"shape {list(array.shape)}",
        )
    array = _inputs.finite("weights", array)
    if np.any(array < 0):
        raise _checks.error("weights", ">= 0", _inputs.first(array < 0, array))
    return array


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def variogram_score(
    labels: ArrayLike,
    predictive_samples: ArrayLike,
    p: float = 0.5,
    weights: ArrayLike | None = None,
) -> np.ndarray:
    """Variogram score of samples of a multivariate forecast.

    Over all ordered pairs (i, j) of the d coordinates, with x_k the m samples:

      VS = sum_ij w_ij (abs(y_i - y_j)^p - mean_k abs(x_ki - x_kj)^p)^2

    It detects wrong correlations better than the energy score does, but not an error
    that all coordinates share, such as a bias: use it together with scores of each
    coordinate. It is proper if moments of order 2p are finite, but not strictly proper.

    Args:
      labels: real, shape [..., d].
      predictive_samples: m samples of each forecast, shape [..., m, d].
      p: the order, > 0; 0.5, 1 and 2 are usual.
      weights: w, finite and >= 0, shape [d, d], for example inverse distances of
        stations; all 1 by default.

    Returns:
      Scores, shape [...], >= 0, in the unit of the labels to the power 2p. Smaller is
      better. Time O(m d^2) for each forecast, and O(m^2 d) for p = 2 without weights if
      m < d; memory O(m d). On tensors, in compiled code and for gradients, time and
      memory are O(m d^2).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> together = [[0.0, 0.0], [1.0, 1.0]]
      >>> apart = [[0.0, 1.0], [1.0, 0.0]]
      >>> [float(um.variogram_score([0.5, 0.5], x)) for x in (together, apart)]
      [0.0, 2.0]

    References:
      Scheuerer and Hamill (2015), Variogram-Based Proper Scoring Rules for
      Probabilistic Forecasts of Multivariate Quantities.
    """
    labels, samples = _vectors(labels, predictive_samples)
    m, d = samples.shape[-2:]
    order = check_order(p)
    if weights is not None:
        weights = pair_weights(weights, d)
    y, x = labels.reshape(-1, d), samples.reshape(-1, m, d)

    def score(block: slice) -> np.ndarray:
        return _variogram.variogram_scores(y[block], x[block], order, weights)

    step = _threads.rows_of_block(m * d)
    parts = _threads.map_blocks(score, len(y), m * d * d, step)
    return np.concatenate(parts).reshape(labels.shape[:-1])[()]


def check_count(m: int | None, d: int | None) -> None:
    """Raises ValueError if m samples are too few for a covariance with an inverse."""
    if m is not None and d is not None and m <= d:
        raise _checks.error(
            "predictive_samples",
            f"at least d + 1 = {d + 1} samples, for a covariance that has an inverse",
            f"{m} samples",
            verb="hold",
        )


def singular_below(d: int) -> float:
    """Returns the eigenvalue of float64 correlations up to which they are singular."""
    return 10 * d * float(np.finfo(np.float64).eps)


@np.errstate(over="ignore")
@takes_frames
def dawid_sebastiani_score(
    labels: ArrayLike, predictive_samples: ArrayLike
) -> np.ndarray:
    """Dawid-Sebastiani score of the mean and covariance of a multivariate forecast.

      DSS = log det S + (y - mean)^T S^-1 (y - mean)

    with the mean and the covariance S (divisor m - 1) of the m samples. Up to a
    constant, DSS is twice the negative log-likelihood of a Normal distribution.

    Args:
      labels: real, shape [..., d].
      predictive_samples: m > d samples of each forecast, shape [..., m, d]. Their
        covariance must have an inverse: no coordinate may be constant, or a linear
        function of others.

    Returns:
      Scores, shape [...], real. Smaller is better. They are biased: with few samples
      per coordinate they prefer smooth forecasts. Computed in float64. O(m d^2 + d^3).

    Raises:
      ValueError: an argument is not as described; the covariance is singular.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> samples = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
      >>> round(float(um.dawid_sebastiani_score([1.0, 0.0], samples)), 6)
      0.68907

    References:
      Dawid and Sebastiani (1999), Coherent Dispersion Criteria for Optimal Experimental
      Design.
    """
    labels, samples = _vectors(labels, predictive_samples)
    m, d = samples.shape[-2:]
    check_count(m, d)
    # Offsets from one sample keep the variance of a constant coordinate at exactly 0;
    # dividing by the range gives all coordinates a similar scale.
    offsets = samples - samples[..., :1, :]
    unit = np.max(np.abs(offsets), axis=-2)
    spread = (unit > 0) & np.isfinite(unit)
    unit = np.where(spread, unit, 1.0)
    offsets = np.where(spread[..., None, :], offsets, 0.0) / unit[..., None, :]
    mean = np.mean(offsets, axis=-2)
    centred = offsets - mean[..., None, :]
    stddev = np.sqrt(np.sum(centred**2, axis=-2) / (m - 1))
    stddev = np.where(spread, stddev, 1.0)
    standard = centred / stddev[..., None, :]
    correlations = np.swapaxes(standard, -1, -2) @ standard / (m - 1)
    least = np.linalg.eigvalsh(correlations)[..., 0]
    singular = ~np.all(spread, axis=-1) | ~(least > singular_below(d))
    if np.any(singular):
        place = ", ".join(str(int(i)) for i in np.argwhere(singular)[0])
        raise _checks.error(
            "predictive_samples",
            "a covariance that has an inverse: no coordinate may be constant, or a "
            "linear function of others",
            f"a singular covariance at [{place}]",
            verb="have",
        )
    error = ((samples[..., 0, :] - labels) / unit + mean) / stddev
    factor = np.linalg.cholesky(correlations)
    z = np.linalg.solve(factor, error[..., None])[..., 0]
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    log_stddev = np.log(unit) + np.log(stddev) + np.log(diagonal)
    return 2 * np.sum(log_stddev, axis=-1) + np.sum(z**2, axis=-1)


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def energy_score(
    labels: ArrayLike,
    predictive_samples: ArrayLike,
    *,
    estimator: SpreadEstimator = "fair",
    alpha: float = ALPHA,
) -> np.ndarray:
    """Energy score of samples of a multivariate forecast; the CRPS for d = 1.

      ES = mean_i ||x_i - y|| - spread / 2

    The spread estimates E||X - X'|| as in `crps_score`: the mean of ||x_i - x_j||

      fair: over all pairs i != j, m(m-1); unbiased.
      nrg: over all m^2 pairs: the exact score of the empirical distribution.
      almost_fair: alpha fair + (1 - alpha) nrg.
      roll: over neighbours j = i - 1 in the given order; unbiased for independent
        samples, but noisier, and it depends on their order. O(m d).

    Args:
      labels: real, shape [..., d].
      predictive_samples: m samples of each forecast, shape [..., m, d].
      estimator: "fair", "nrg", "almost_fair" or "roll". "fair" and "almost_fair" need
        two samples.
      alpha: Only for "almost_fair": the share of "fair", in [0, 1]; the rest is "nrg".

    Returns:
      Scores, shape [...], in the unit of the labels. Smaller is better. "nrg"
      is >= 0; an unbiased score of few samples may be negative. Time O(m^2 d) for
      each forecast, and O(m log m) for d = 1; memory O(m d).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.energy_score([0.0, 0.0], [[3.0, 4.0], [3.0, 4.0]]))
      5.0

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts. Lang et al. (2024),
      AIFS-CRPS: Ensemble Forecasting Using a Model Trained with a Loss Function Based
      on the Continuous Ranked Probability Score.
    """
    labels, samples = _vectors(labels, predictive_samples)
    m, d = samples.shape[-2:]
    estimator, alpha = _sample_estimators.settled(estimator, alpha)
    _sample_estimators.check_num_samples(estimator, m)
    if d == 1:
        score_of_samples = forecast_scores.crps_score  # By sorting, not by pairs.
        return score_of_samples(
            labels[..., 0], samples[..., 0], estimator=estimator, alpha=alpha
        )
    y, x = labels.reshape(-1, d), samples.reshape(-1, m, d)
    scale = None if estimator == "roll" else 1 / (m * m)
    if _sample_estimators.is_fair(estimator):
        scale = _sample_estimators.share_of_fair(estimator, alpha, m) / (m * (m - 1))

    def score(block: slice) -> np.ndarray:
        return _energy.energy_scores(y[block], x[block], scale)

    # There are m / 2 passes over the samples, and a few arrays of their size.
    step = _threads.rows_of_block(4 * m * d)
    parts = _threads.map_blocks(score, len(y), m * (m // 2) * d, step)
    return np.concatenate(parts).reshape(labels.shape[:-1])[()]
