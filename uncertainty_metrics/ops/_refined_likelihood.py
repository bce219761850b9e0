"""The negative log-likelihood after the best temperature T, from sums at a few T.

The mean negative log-likelihood is convex in 1/T. So as a function of s = log(1/T) it
falls and then rises. Its values and first two derivatives at a few nodes s add over
batches. Between two nodes it is close to the polynomial of degree five that these
determine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncertainty_metrics.ops import _inputs, _ranges, _sums, numpy_dtype, xp

# The nodes log(1/T), from T = 16 to T = 1/16.
NODES = np.log(2.0) * np.linspace(-4, 4, 17)
_STEP = float(NODES[1] - NODES[0])
_ONE = 8  # The index of the node T = 1.
# A metric has sums of the weight, and of value, slope and curvature at each node.
SIZE = 1 + 3 * len(NODES)
_SLOPES = slice(1 + len(NODES), 1 + 2 * len(NODES))

# Logits are at most so far below the largest: such a class counts for nothing at any
# node, and squares of larger distances might overflow.
_FAR = -1280.0
# A logit so far below the largest that its exponential is 0 at any node.
_NEGLIGIBLE = -1.6e4
# The size of the numbers of one step, which stay in the cache.
_BLOCK = 2**18
# From a start within a tenth of the interval each step doubles the digits.
_NEWTON_STEPS = 6
# The polynomial on [0, 1] that is 0 at 0 has a coefficient of t, t^2, ... in each row.
# The columns multiply its value at 1, its slopes at 0 and 1, and its curvatures there.
_HERMITE = np.array(
    [
        [0, 1, 0, 0, 0],
        [0, 0, 0, 0.5, 0],
        [10, -6, -4, -1.5, 0.5],
        [-15, 8, 7, 1.5, -1],
        [6, -3, -3, -0.5, 0.5],
    ]
)
_POWERS = np.arange(1.0, 6.0)


def margins(
    examples: _inputs.Examples, targets: xp.Tensor | None
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns by how much each logit is above the logit of the label, [N, K], inf where
    the label is impossible; and whether each example is right, [N].

    `targets` [N, K] are distributions over the classes instead of labels: the logit of
    the label is then the mean of the logits under the target.
    """
    logits = xp.cast(examples.predictions, examples.dtype)
    if examples.from_logits:
        top = xp.reduce_max(logits, axis=-1)
        # The maximum may hide a NaN, but the sum does not.
        total = xp.reduce_sum(logits, axis=-1)
        right = xp.math.is_finite(top) & ~xp.math.is_nan(total)
    else:
        logits = xp.math.log(logits)
        right = _ranges.rows_in_range(examples.predictions)
    if targets is None:
        at_label = _inputs.take(logits, examples.labels)
    else:
        products = xp.math.multiply_no_nan(logits, targets)
        at_label = xp.reduce_sum(products, axis=-1)
    at_label = at_label[:, None]
    possible = at_label > -np.inf
    above = logits - xp.where(possible, at_label, xp.zeros_like(at_label))
    return xp.where(possible, above, xp.constant(np.inf, above.dtype)), right


def _node_values(margins: xp.Tensor) -> xp.Tensor:
    """Returns the values at all nodes, then the slopes and the curvatures,
    [n, 3 * nodes], of margins [n, K].
    """
    dtype = numpy_dtype(margins).type
    betas = xp.constant(np.exp(NODES).astype(dtype))
    top = xp.reduce_max(margins, axis=-1, keepdims=True)
    z = margins - xp.where(top < np.inf, top, xp.zeros_like(top))
    z = xp.clip_by_value(z, dtype(_FAR), dtype(0))
    largest = z == 0
    ties = xp.reduce_sum(xp.cast(largest, z.dtype), axis=-1, keepdims=True)
    # The largest has the exponential 1. The others are summed apart, because small ones
    # that are added to 1 lose digits.
    z = xp.where(largest, xp.constant(_NEGLIGIBLE, z.dtype), z)
    u = betas[:, None] * z[:, None, :]
    mass = xp.exp(u)
    rest = xp.reduce_sum(mass, axis=-1)
    mass = mass * u
    total = ties + rest
    mean = xp.reduce_sum(mass, axis=-1) / total
    square = xp.reduce_sum(mass * u, axis=-1) / total
    above = betas * top
    slope = above + mean
    return xp.concat(
        [
            above + xp.math.log(ties) + xp.math.log1p(rest / ties),
            slope,
            slope + (square - mean * mean),
        ],
        axis=1,
    )


def _block_sums(margins: xp.Tensor, weights: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the sums over a few examples as pairs [SIZE]."""
    weights = weights[:, None]
    values = xp.math.multiply_no_nan(_node_values(margins), weights)
    return _sums.total_pair(xp.concat([weights, values], axis=1))


def node_sums(margins: xp.Tensor, weights: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the sums over examples as pairs [SIZE].

    Args:
      margins: [N, K]; inf, or finite or -inf with at least one >= 0 in each row.
      weights: [N], >= 0.
    """
    rows = max(_BLOCK // (len(NODES) * margins.shape[1]), 1)
    if margins.shape[0] is not None and margins.shape[0] <= rows:
        return _block_sums(margins, weights)
    n = xp.shape(margins)[0]
    size = xp.minimum(n, rows) if margins.shape[0] is None else rows

    def add(start, hi, lo):
        # The last block repeats examples of the block before, which do not count again.
        index = xp.minimum(start, n - size) + xp.range(size)
        counted = xp.gather(weights, index)
        counted = xp.where(index < start, xp.zeros_like(counted), counted)
        more = _block_sums(xp.gather(margins, index), counted)
        step_hi, step_lo = _sums.pair_steps(hi, lo, *more)
        return start + rows, hi + step_hi, lo + step_lo

    nothing = xp.zeros([SIZE])
    start = xp.constant(0)
    _, hi, lo = xp.while_loop(
        lambda start, hi, lo: start < n, add, (start, nothing, nothing)
    )
    return hi, lo


class Minimum(NamedTuple):
    """The least negative log-likelihood in the range of the nodes, scalars.

    Attributes:
      value: the likelihood, inf where a label is impossible.
      calibration_part: the likelihood at T = 1 less `value`, >= 0; NaN where `value` is
        inf.
      temperature: where the likelihood is least: inf if above the range, 0 if below,
        NaN if a label is impossible; of several, the nearest to 1.
    """

    value: xp.Tensor
    calibration_part: xp.Tensor
    temperature: xp.Tensor


def minimum(sums: _sums.Sums, dtype: xp.DType) -> Minimum:
    """Returns the least likelihood, given the sums of all batches."""
    totals = _sums.totals(sums, dtype)
    weight = totals[0]
    means = xp.reshape(xp.math.divide_no_nan(totals[1:], weight), [3, len(NODES)])
    values, slopes, curvatures = xp.unstack(means)
    falling = _count(slopes < 0)
    up_to_flat = _count(slopes <= 0)
    below, above = _beyond(slopes)
    last = len(NODES) - 2
    # A node with a slope of 0 is a minimum.
    flat = xp.maximum(falling, xp.minimum(_ONE, up_to_flat - 1))
    left = xp.where(up_to_flat > falling, flat, falling - 1)
    left = xp.where(below, last, xp.clip_by_value(left, 0, last))

    def at(node, vector):
        return xp.gather(vector, node)

    def less_left(part):
        part = part[1 : 1 + len(NODES)]
        return xp.cast(part - at(left, part), dtype)

    # Differences of sums have digits that a rounded sum lacks.
    units, hi, lo = map(less_left, (sums.units, sums.hi, sums.lo))
    gains = xp.math.divide_no_nan(units + (hi + lo), weight)
    ends = xp.stack(
        [
            at(left + 1, gains),
            at(left, slopes) * _STEP,
            at(left + 1, slopes) * _STEP,
            at(left, curvatures) * _STEP**2,
            at(left + 1, curvatures) * _STEP**2,
        ]
    )
    t, gain = _least(ends)
    t = xp.where(below, xp.ones_like(t), xp.where(above, xp.zeros_like(t), t))
    gain = xp.where(below, ends[0], xp.where(above, xp.zeros_like(gain), gain))
    log_inverse = at(left, xp.constant(NODES, dtype)) + _STEP * t
    temperature = xp.exp(-log_inverse)
    temperature = xp.where(below, xp.zeros_like(t), temperature)
    temperature = xp.where(above, xp.constant(np.inf, dtype), temperature)
    value = at(left, values)
    possible = xp.math.is_finite(value)
    nan = xp.constant(np.nan, dtype)
    return Minimum(
        xp.where(possible, value + gain, value),
        xp.where(possible, xp.maximum(gains[_ONE] - gain, 0), nan),
        xp.where(possible, temperature, nan),
    )


def _count(true: xp.Tensor) -> xp.Tensor:
    """Returns how many of the booleans are True."""
    return xp.reduce_sum(xp.cast(true, xp.int32))


def _beyond(slopes):
    """Returns whether the best temperature is below the range, and whether it is above,
    given the slopes [nodes], means or sums, tensors or arrays.
    """
    rising = slopes[-1] > 0
    falling = slopes[0] < 0
    return falling & ~rising, rising & (slopes[0] > 0)


def _least(ends: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns where in [0, 1] the polynomial is least, and its value there.

    Args:
      ends: [5], what the columns of `_HERMITE` multiply; the slope at 0 is <= 0, and at
        1 it is >= 0.
    """

    def constant(numbers):
        return xp.constant(numbers, ends.dtype)

    values = xp.reduce_sum(constant(_HERMITE) * ends, axis=1)
    slopes = values * constant(_POWERS)
    curvatures = slopes * constant(_POWERS - 1)

    def polynomial(coefficients, t, order):
        powers = constant(np.maximum(_POWERS - order, 0.0))
        return xp.reduce_sum(coefficients * xp.pow(t, powers))

    low, high = xp.zeros_like(ends[0]), xp.ones_like(ends[0])
    t = xp.math.divide_no_nan(ends[1], ends[1] - ends[2])
    for _ in range(_NEWTON_STEPS):
        slope = polynomial(slopes, t, 1)
        low, high = xp.where(slope < 0, t, low), xp.where(slope < 0, high, t)
        target = t - slope / polynomial(curvatures, t, 2)
        inside = (low <= target) & (target <= high)
        t = xp.where(inside, target, (low + high) / 2)
    # Rounding must not put the value above the values at 0 and 1.
    limit = xp.minimum(ends[0], xp.zeros_like(t))
    return t, xp.minimum(polynomial(values, t, 0), limit)


def beyond(total: np.ndarray) -> str:
    """Returns how the best temperature is out of the range and why, "" if it is within.

    Args:
      total: [SIZE], the sums of all batches.
    """
    if total[1] == np.inf:
        return (
            "not defined: a label has probability 0 at each, so the result is infinite"
        )
    below, above = _beyond(total[_SLOPES])
    if below:
        return (
            "below 1/16, and the result, that at 1/16, could be smaller: the largest "
            "logit is that of the label wherever it matters, or all logits are tiny"
        )
    if above:
        return (
            "above 16, and the result, that at 16, could be smaller: the logits of the "
            "labels are hardly larger than the others, or all are huge"
        )
    return ""
