"""How far the confidences of a batch are from what happened: differentiable in them.

Weights [N] are relative: those of any one scale give the same value.
"""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.ops import xp

# Bins of a smaller share of the batch weigh nothing; float32 holds the square of 1/it.
_LEAST = 1e-12
# float32 holds exp(1 / bandwidth).
MIN_BANDWIDTH = 0.02


def soft_binned_error(
    confidences: xp.Tensor,
    outcomes: xp.Tensor,
    weights: xp.Tensor,
    num_bins: int,
    temperature: float,
    norm: str,
) -> xp.Tensor:
    """Returns the calibration error of bins of which each example has a share, a
    softmax of its squared distances to their centres.
    """
    centres = (np.arange(num_bins) + 0.5) / num_bins
    distances = confidences[:, None] - xp.constant(centres, confidences.dtype)
    shares = xp.nn.softmax(-distances * distances / temperature, axis=-1)
    total = xp.reduce_sum(weights)
    shares = shares * xp.math.divide_no_nan(weights, total)[:, None]
    # Of each bin its mass times the gap between confidence and accuracy.
    gaps = xp.reduce_sum(shares * (confidences - outcomes)[:, None], axis=0)
    if norm == "l1":
        return xp.reduce_sum(xp.abs(gaps))
    mass = xp.reduce_sum(shares, axis=0)
    held = mass > _LEAST
    squares = gaps * gaps / xp.where(held, mass, xp.ones_like(mass))
    square = xp.reduce_sum(xp.where(held, squares, xp.zeros_like(mass)))
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
    # The kernel of a sorted pair is a product: prefix sums add up all pairs.
    up = xp.exp((confidences - 0.5) / bandwidth)
    down = xp.exp((0.5 - confidences) / bandwidth)
    fixed = xp.stop_gradient(confidences)
    # In both orders of equal confidences, whose gradients then cancel, as those of a
    # distance of 0 must.
    orders = xp.argsort(fixed), xp.reverse(xp.argsort(-fixed), axis=[0])

    def of_pairs(values: xp.Tensor, up: xp.Tensor, down: xp.Tensor) -> xp.Tensor:
        return xp.reduce_sum(values * down * xp.cumsum(values * up, exclusive=True))

    ones = xp.ones_like(weights)
    number = of_pairs(weights, ones, ones)
    sums = [
        of_pairs(*(xp.gather(x, order) for x in (weights * residuals, up, down)))
        for order in orders
    ]
    return xp.math.divide_no_nan((sums[0] + sums[1]) / 2, number)
