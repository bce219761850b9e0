"""Differentiable distances between the confidences of a batch and its outcomes.

Only the ratios of the weights [N] matter, not their scale.
"""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.ops import xp

# Bins with a smaller share of the batch count as empty. float32 can hold the square of
# the inverse.
_LEAST = 1e-12
# float32 can hold exp(1 / bandwidth).
MIN_BANDWIDTH = 0.02


def soft_binned_error(
    confidences: xp.Tensor,
    outcomes: xp.Tensor,
    weights: xp.Tensor,
    num_bins: int,
    temperature: float,
    norm: str,
) -> xp.Tensor:
    """Returns the calibration error of soft bins: each example has a share of each bin,
    a softmax of its squared distances to the centres.
    """
    centres = (np.arange(num_bins) + 0.5) / num_bins
    distances = confidences[:, None] - xp.constant(centres, confidences.dtype)
    shares = xp.nn.softmax(-distances * distances / temperature, axis=-1)
    total = xp.reduce_sum(weights)
    shares = shares * xp.math.divide_no_nan(weights, total)[:, None]
    # For each bin its mass times the gap between confidence and accuracy.
    gaps = xp.reduce_sum(shares * (confidences - outcomes)[:, None], axis=0)
    if norm == "l1":
        return xp.reduce_sum(xp.abs(gaps))
    mass = xp.reduce_sum(shares, axis=0)
    counts = mass > _LEAST
    squares = gaps * gaps / xp.where(counts, mass, xp.ones_like(mass))
    square = xp.reduce_sum(xp.where(counts, squares, xp.zeros_like(mass)))
    positive = square > 0  # The root has no gradient at 0.
    root = xp.sqrt(xp.where(positive, square, xp.ones_like(square)))
    return xp.where(positive, root, xp.zeros_like(root))


def kernel_error(
    confidences: xp.Tensor, outcomes: xp.Tensor, weights: xp.Tensor, bandwidth: float
) -> xp.Tensor:
    """Returns the mean of u_i u_j exp(-abs(p_i - p_j) / bandwidth) over the pairs of
    different examples, u = p - outcome; 0 where there is no pair. O(N log N).
    """
    residuals = confidences - outcomes
    total = xp.reduce_sum(weights)
    weights = xp.math.divide_no_nan(weights, total)
    # For p_i >= p_j the kernel is exp(-p_i / bandwidth) exp(p_j / bandwidth): prefix
    # sums along sorted confidences add up all pairs.
    up = xp.exp((confidences - 0.5) / bandwidth)
    down = xp.exp((0.5 - confidences) / bandwidth)
    fixed = xp.stop_gradient(confidences)
    # Equal confidences are summed in both orders: then their gradients cancel, as the
    # gradients of a distance of 0 must.
    orders = xp.argsort(fixed), xp.reverse(xp.argsort(-fixed), axis=[0])

    def sum_over_pairs(values: xp.Tensor, up: xp.Tensor, down: xp.Tensor) -> xp.Tensor:
        return xp.reduce_sum(values * down * xp.cumsum(values * up, exclusive=True))

    ones = xp.ones_like(weights)
    number = sum_over_pairs(weights, ones, ones)
    sums = [
        sum_over_pairs(*(xp.gather(x, order) for x in (weights * residuals, up, down)))
        for order in orders
    ]
    return xp.math.divide_no_nan((sums[0] + sums[1]) / 2, number)
