"""Proper scoring rules of samples of multivariate forecasts, on tensors.

Declared in `uncertainty_metrics.numpy.scoring.multivariate_scores`; differentiable in
the forecasts. The result is float64 for float64 forecasts, else float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.scoring import (
    multivariate_scores as np_multivariate_scores,
)
from uncertainty_metrics.ops import _inputs, _sizes, xp
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["dawid_sebastiani_score", "variogram_score"]


def _vectors(
    labels: TensorLike, predictive_samples: TensorLike
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns labels [..., d] and samples [..., m, d], of one type, 0 for examples that
    are not finite; and whether each example is finite, [...].
    """
    labels = _inputs.as_tensor("labels", labels)
    samples = _inputs.as_tensor("predictive_samples", predictive_samples)
    _checks.vector_samples(samples.shape, labels.shape)
    if samples.shape[-1] is None:
        raise _checks.error(
            "predictive_samples",
            "a static number of coordinates on the last axis",
            f"shape {list(samples.shape)}",
            verb="have",
        )
    samples = xp.cast(samples, _inputs.predictions_dtype(samples))
    labels = xp.cast(labels, samples.dtype)
    labels = _sizes.nan_unless_alike(labels, samples, len(samples.shape) - 2)
    right = xp.reduce_all(xp.math.is_finite(labels), axis=-1)
    right = right & xp.reduce_all(xp.math.is_finite(samples), axis=[-2, -1])
    labels = xp.where(right[..., None], labels, xp.zeros_like(labels))
    samples = xp.where(right[..., None, None], samples, xp.zeros_like(samples))
    return labels, samples, right


def _power(values: xp.Tensor, order: float) -> xp.Tensor:
    """Returns a power of the absolute values, whose gradient at 0 is 0."""
    positive = xp.abs(values) > 0
    safe = xp.where(positive, xp.abs(values), xp.ones_like(values))
    return xp.where(positive, xp.pow(safe, order), xp.zeros_like(values))


@twin(np_multivariate_scores.variogram_score, by_numpy=True)
def variogram_score(labels, predictive_samples, p, weights):
    labels, samples, right = _vectors(labels, predictive_samples)
    order, d = np_multivariate_scores.check_order(p), samples.shape[-1]
    if weights is not None:
        weights = _inputs.as_tensor("weights", weights)
        if not _checks.compatible(weights.shape, (d, d)):
            np_multivariate_scores.pair_weights(weights, d)
        w = xp.cast(weights, samples.dtype)
    else:
        w = xp.ones([d, d], samples.dtype)
    right = right & xp.reduce_all(xp.math.is_finite(w) & (w >= 0))
    seen = labels[..., :, None] - labels[..., None, :]
    drawn = samples[..., :, None] - samples[..., None, :]
    # Powers of very small or large numbers would leave the range of the type.
    unit = xp.maximum(
        xp.reduce_max(xp.abs(seen), axis=[-2, -1]),
        xp.reduce_max(xp.abs(drawn), axis=[-3, -2, -1]),
    )
    unit = xp.stop_gradient(unit)
    bounded = xp.math.is_finite(unit)
    unit = xp.where((unit > 0) & bounded, unit, xp.ones_like(unit))[..., None, None]
    drawn = xp.reduce_mean(_power(drawn / unit[..., None], order), axis=-3)
    errors = _power(seen / unit, order) - drawn
    total = xp.reduce_sum(w * errors * errors, axis=[-2, -1])
    factor = xp.where(total > 0, unit[..., 0, 0], xp.ones_like(total))
    scores = total * xp.pow(factor, 2 * order)
    infinite = xp.constant(np.inf, scores.dtype)
    return xp.where(bounded, scores, infinite), right


@twin(np_multivariate_scores.dawid_sebastiani_score)
def dawid_sebastiani_score(labels, predictive_samples):
    labels, samples, right = _vectors(labels, predictive_samples)
    m, d = samples.shape[-2:]
    np_multivariate_scores.check_count(m, d)
    # In float64, because float32 does not tell whether there is an inverse.
    y, x = xp.cast(labels, xp.float64), xp.cast(samples, xp.float64)
    less_one = xp.cast(xp.shape(x)[-2] - 1, x.dtype)
    # The NumPy twin has the same steps, and explains them.
    offsets = x - x[..., :1, :]
    unit = xp.stop_gradient(xp.reduce_max(xp.abs(offsets), axis=-2))
    spread = (unit > 0) & xp.math.is_finite(unit)
    unit = xp.where(spread, unit, xp.ones_like(unit))
    offsets = xp.where(spread[..., None, :], offsets, xp.zeros_like(offsets))
    offsets = offsets / unit[..., None, :]
    mean = xp.reduce_mean(offsets, axis=-2)
    centred = offsets - mean[..., None, :]
    variance = xp.reduce_sum(centred * centred, axis=-2) / less_one
    stddev = xp.sqrt(xp.where(spread, variance, xp.ones_like(variance)))
    standard = centred / stddev[..., None, :]
    correlations = (
        xp.reduce_sum(standard[..., :, None] * standard[..., None, :], axis=-3)
        / less_one
    )
    least = xp.linalg.eigvalsh(xp.stop_gradient(correlations))[..., 0]
    regular = xp.reduce_all(spread, axis=-1) & (
        least > np_multivariate_scores.singular_below(d)
    )
    correlations = xp.where(
        regular[..., None, None], correlations, xp.eye(d, dtype=x.dtype)
    )
    error = ((x[..., 0, :] - y) / unit + mean) / stddev
    factor = xp.linalg.cholesky(correlations)
    z = xp.linalg.triangular_solve(factor, error[..., None])[..., 0]
    diagonal = xp.reduce_sum(factor * xp.eye(d, dtype=x.dtype), axis=-1)
    log_stddev = xp.math.log(unit) + xp.math.log(stddev) + xp.math.log(diagonal)
    scores = 2 * xp.reduce_sum(log_stddev, axis=-1) + xp.reduce_sum(z * z, axis=-1)
    return xp.cast(scores, samples.dtype), right & regular
