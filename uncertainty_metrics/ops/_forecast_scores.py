"""Scores of real-valued forecasts, and which of them to trust.

The public functions, the Keras metrics and the losses call them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from uncertainty_metrics.numpy.scoring import _sample_estimators
from uncertainty_metrics.ops import _execution, _pairwise, numpy_dtype, xp


def _finite(*tensors: xp.Tensor) -> xp.Tensor:
    """Returns where all of the tensors, which have one shape, are finite."""
    if _execution.has_known_values(tensors[0]):
        # The sum is finite if all numbers are, and takes less time than comparisons.
        total = xp.add_n([xp.reduce_sum(tensor) for tensor in tensors])
        if xp.math.is_finite(total):
            return xp.ones_like(tensors[0], xp.bool)
    finite = xp.math.is_finite(tensors[0])
    for tensor in tensors[1:]:
        finite = finite & xp.math.is_finite(tensor)
    return finite


@_execution.custom_gradient
def _crps_normal(
    labels: xp.Tensor, means: xp.Tensor, stddevs: xp.Tensor
) -> tuple[xp.Tensor, Callable[..., tuple[xp.Tensor, ...]]]:
    difference = labels - means
    # Instead of by 0 this divides by the smallest normal number: erf is -1, 0 or 1.
    z = difference / xp.maximum(stddevs, numpy_dtype(stddevs).type(_TINY))
    sign = xp.math.erf(z / math.sqrt(2))
    density = xp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    slope = 2 * density - 1 / math.sqrt(math.pi)

    def gradient(upstream):
        # The derivatives by way of z cancel; as separate terms they would overflow for
        # small stddevs.
        return upstream * sign, -upstream * sign, upstream * slope

    return difference * sign + stddevs * slope, gradient


_TINY = np.finfo(np.float32).tiny


def normal_scores(
    labels: xp.Tensor, means: xp.Tensor, stddevs: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the CRPS of Normal forecasts, all arguments of one shape, and which are
    right.
    """
    right = _finite(labels, means, stddevs) & (stddevs >= 0)
    return _crps_normal(labels, means, stddevs), right


def sample_scores(
    labels: xp.Tensor,
    samples: xp.Tensor,
    estimator: str,
    alpha: float,
    with_gradient: bool = False,
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the CRPS of samples [..., m] and which are right.

    `with_gradient` says that the gradient will be taken, too, which is then faster.
    """
    right = xp.math.is_finite(labels) & xp.reduce_all(
        xp.math.is_finite(samples), axis=-1
    )
    error = xp.reduce_mean(xp.abs(samples - labels[..., None]), axis=-1)
    if estimator == "roll":
        neighbours = xp.abs(samples - xp.roll(samples, 1, axis=-1))
        return error - xp.reduce_mean(neighbours, axis=-1) / 2, right
    fair = _sample_estimators.is_fair(estimator)
    spread = _pairwise.pairwise_spread(samples, fair, with_gradient)
    m = xp.cast(xp.shape(samples)[-1], samples.dtype)
    return error - _sample_estimators.share_of_fair(estimator, alpha, m) * spread, right


def weighted_sample_scores(
    labels: xp.Tensor,
    samples: xp.Tensor,
    weights: xp.Tensor,
    estimator: str,
    alpha: float,
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the CRPS of samples [..., m], given the weights of the m members, and
    which are right.
    """
    weights = xp.broadcast_to(xp.stop_gradient(weights), xp.shape(samples))
    # A sample of weight 0 may be NaN. The label is in the range of the other samples.
    any_number = xp.broadcast_to(labels[..., None], xp.shape(samples))
    samples = xp.where(weights > 0, samples, any_number)
    positive = xp.reduce_sum(xp.cast(weights > 0, xp.int32), axis=-1)
    right = xp.math.is_finite(labels) & xp.reduce_all(
        xp.math.is_finite(samples) & xp.math.is_finite(weights) & (weights >= 0),
        axis=-1,
    )
    right = right & (positive >= (2 if _sample_estimators.is_fair(estimator) else 1))
    weights = xp.where(right[..., None], weights, xp.ones_like(weights))
    # First by the largest: the sum may overflow.
    weights = weights / xp.reduce_max(weights, axis=-1, keepdims=True)
    weights = weights / xp.reduce_sum(weights, axis=-1, keepdims=True)
    error = xp.reduce_sum(weights * xp.abs(samples - labels[..., None]), axis=-1)
    spread = _pairwise.weighted_spread(samples, weights)
    if _sample_estimators.is_fair(estimator):
        before = xp.cumsum(weights, axis=-1, exclusive=True)
        pairs = 2 * xp.reduce_sum(weights * before, axis=-1)
        share = alpha if estimator == "almost_fair" else 1
        spread = share * xp.math.divide_no_nan(spread, pairs) + (1 - share) * spread
    return error - spread, right


def pinball_losses(
    labels: xp.Tensor, predictions: xp.Tensor, quantiles: float | tuple[float, ...]
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the losses of predictions [..., Q] for labels [...] or [..., 1], and
    which are right.
    """
    error = labels - predictions
    levels = xp.constant(quantiles, predictions.dtype)
    losses = xp.maximum(levels * error, (levels - 1) * error)
    return losses, _finite(error)


def interval_scores(
    labels: xp.Tensor, lower: xp.Tensor, upper: xp.Tensor, alpha: float
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the interval scores, all arguments of one shape, and which are right."""
    outside = xp.nn.relu(lower - labels) + xp.nn.relu(labels - upper)
    return upper - lower + (2 / alpha) * outside, _finite(labels, lower, upper)


def weighted_interval_scores(
    labels: xp.Tensor,
    median: xp.Tensor,
    lower: xp.Tensor,
    upper: xp.Tensor,
    alphas: tuple[float, ...],
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the scores of K intervals, with bounds [..., K] and levels `alphas`, and
    of the median [...], for labels [...]; and which are right.
    """
    y = labels[..., None]
    outside = xp.nn.relu(lower - y) + xp.nn.relu(y - upper)
    halves = xp.constant([alpha / 2 for alpha in alphas], lower.dtype)
    total = xp.reduce_sum(halves * (upper - lower) + outside, axis=-1)
    scores = (xp.abs(labels - median) / 2 + total) / (len(alphas) + 0.5)
    return scores, _finite_intervals(labels, median, lower, upper)


def _finite_intervals(
    labels: xp.Tensor, median: xp.Tensor, lower: xp.Tensor, upper: xp.Tensor
) -> xp.Tensor:
    return xp.reduce_all(_finite(lower, upper), axis=-1) & _finite(labels, median)


def weighted_interval_parts(
    labels: xp.Tensor,
    median: xp.Tensor,
    lower: xp.Tensor,
    upper: xp.Tensor,
    alphas: tuple[float, ...],
) -> tuple[tuple[xp.Tensor, ...], xp.Tensor]:
    """Returns dispersion, overprediction and underprediction of the scores of
    `weighted_interval_scores`, which takes the same arguments; and which are right.
    """
    y = labels[..., None]
    halves = xp.constant([alpha / 2 for alpha in alphas], lower.dtype)
    parts = (
        xp.reduce_sum(halves * (upper - lower), axis=-1),
        xp.nn.relu(median - labels) / 2 + xp.reduce_sum(xp.nn.relu(lower - y), axis=-1),
        xp.nn.relu(labels - median) / 2 + xp.reduce_sum(xp.nn.relu(y - upper), axis=-1),
    )
    right = _finite_intervals(labels, median, lower, upper)
    return tuple(part / (len(alphas) + 0.5) for part in parts), right
