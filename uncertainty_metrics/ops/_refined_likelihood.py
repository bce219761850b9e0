"""The negative log-likelihood after the best temperature T, read off sums at few T.

As a function of s = log(1/T) the mean likelihood falls and then rises: it is convex in
1/T. Its values and first two derivatives at the nodes add over batches; between two of
them it is the polynomial of degree five that they determine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncertainty_metrics.ops import _inputs, _sums, numpy_dtype, xp

# log(1/T), from T = 16 to T = 1/16.
NODES = np.log(2.0) * np.linspace(-4, 4, 17)
_STEP = float(NODES[1] - NODES[0])
_ONE = 8  # The node T = 1.
# The state of a metric: the weight, and of each node value, slope and curvature.
SIZE = 1 + 3 * len(NODES)
_SLOPES = slice(1 + len(NODES), 1 + 2 * len(NODES))

# Classes as far as this below the largest have no share at any node. Squares of what is
# farther might overflow.
_FAR = -1280.0
# The exponential of a multiple of it, at any node, is 0.
_NOTHING = -1.6e4
# Numbers of one step, which stay in the cache.
_BLOCK = 2**18
# From a start within a tenth of the interval each step doubles the digits.
_NEWTON_STEPS = 6
# The coefficients of t, t^2, ... of the polynomial on [0, 1] that is 0 at 0, of: its
# value at 1, its slopes at 0 and 1, its curvatures at 0 and 1.
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
    """Returns by how much each logit is above that of the label, [N, K], inf where the
    label is impossible; and whether each example is right, [N].

    `targets` [N, K] are distributions over the classes instead of labels, and average
    the logits.
    """
    logits = xp.cast(examples.predictions, examples.dtype)
    if examples.from_logits:
        top = xp.reduce_max(logits, axis=-1)
        # NaN is in the sum, if not in the maximum.
        total = xp.reduce_sum(logits, axis=-1)
        right = xp.math.is_finite(top) & ~xp.math.is_nan(total)
    else:
        logits = xp.math.log(logits)
        right = _inputs.rows_in_range(examples.predictions)
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
    """Returns value, slope and curvature at the nodes, [n, 3 * nodes]."""
    dtype = numpy_dtype(margins).type
    betas = xp.constant(np.exp(NODES).astype(dtype))
    top = xp.reduce_max(margins, axis=-1, keepdims=True)
    z = margins - xp.where(top < np.inf, top, xp.zeros_like(top))
    z = xp.clip_by_value(z, dtype(_FAR), dtype(0))
    largest = z == 0
    ties = xp.reduce_sum(xp.cast(largest, z.dtype), axis=-1, keepdims=True)
    # Beside the 1 of the largest, a small rest would be lost.
    z = xp.where(largest, xp.constant(_NOTHING, z.dtype), z)
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
        # The last block goes back over examples of the one before.
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
    """The least likelihood in the range of the nodes, scalars.

    Attributes:
      value: inf where a label is impossible.
      calibration_part: the likelihood at T = 1 less `value`, >= 0; NaN where it is inf.
      temperature: inf above the range, 0 below it, NaN where a label is impossible; the
        nearest to 1 where all are as good.
    """

    value: xp.Tensor
    calibration_part: xp.Tensor
    temperature: xp.Tensor


def minimum(sums: _sums.Sums, dtype: xp.DType) -> Minimum:
    """Returns the least likelihood, of the sums of all batches."""
    totals = _sums.totals(sums, dtype)
    weight = totals[0]
    means = xp.reshape(xp.math.divide_no_nan(totals[1:], weight), [3, len(NODES)])
    values, slopes, curvatures = xp.unstack(means)
    falling = _count(slopes < 0)
    up_to_flat = _count(slopes <= 0)
    below, above = _beyond(slopes)
    last = len(NODES) - 2
    # Nodes where the slope is 0 are minima.
    flat = xp.maximum(falling, xp.minimum(_ONE, up_to_flat - 1))
    left = xp.where(up_to_flat > falling, flat, falling - 1)
    left = xp.where(below, last, xp.clip_by_value(left, 0, last))

    def at(node, vector):
        return xp.gather(vector, node)

    def less_left(part):
        part = part[1 : 1 + len(NODES)]
        return xp.cast(part - at(left, part), dtype)

    # Differences of sums keep digits that the sums have not.
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
    return xp.reduce_sum(xp.cast(true, xp.int32))


def _beyond(slopes):
    """Says if the best temperature is below the range, and if it is above, of the mean
    slopes or their sums [nodes], tensors or of NumPy.
    """
    rising = slopes[-1] > 0
    falling = slopes[0] < 0
    return falling & ~rising, rising & (slopes[0] > 0)


def _least(ends: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns where in [0, 1] the polynomial is least and its value there, of what
    `_HERMITE` describes, [5]; its slope is <= 0 at 0 and >= 0 at 1.
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
    # Rounding must not put the value above the ends.
    limit = xp.minimum(ends[0], xp.zeros_like(t))
    return t, xp.minimum(polynomial(values, t, 0), limit)


def beyond(total: np.ndarray) -> str:
    """Returns how the best temperature is out of range and why, "" if it is not, of the
    sums [SIZE] in NumPy.
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
