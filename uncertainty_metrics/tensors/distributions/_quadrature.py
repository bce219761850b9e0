"""The CRPS from the CDF alone: double exponential quadrature, or a sum over integers.

With any point m, here the median,

  CRPS(F, y) = A + B,
  A = integral of F^2 over (-inf, m] + integral of (1 - F)^2 over [m, inf),
  B = integral of 2 F - 1 from m to y
    = |y - m| - 2 * (integral of 1 - F over [m, y], or of F over [y, m]),

so a label far outside costs no accuracy: what remains under the integrals is small
there. Each integral starts at m and runs over a length W that may be infinite in
effect, with most of it within a scale s of m. The substitution

  distance from m = s r / (1 + r s / W),  r = exp(pi/2 sinh(t)),

is the exp-sinh rule for W = inf and the tanh-sinh rule for W = s; the trapezoidal rule
in t converges exponentially for every smooth CDF, also one that is singular at the ends
of its support, since both ends are at t = -inf and t = inf.

A mixture may be narrow at several places: its integrals are split at the quartiles and
the ends of the support of each component, and the halves of each piece are such
integrals from its ends.

Where the nodes are does not change the value, so no derivative is taken of them; the
derivative in y is 2 F(y) - 1.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.tensors.distributions import _cdfs, _special

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution

# Odd, so that every other node makes a second rule, whose difference is the error.
NUM_NODES = 129
# The number of nodes within `_NEAR` scales of an end of a piece; and the number beyond,
# where most of the integral is within `_LOG_SCALE` of the logarithm of the distance.
NEAR_NODES = 49
_NEAR = 40.0
FAR_NODES = 65
_LOG_SCALE = 8.0
# A score is refused if the second rule differs by more than this share of the score.
ERROR_LIMIT = 1e-2
# Integers on which the CDF of a discrete distribution, or component, is summed; eager
# execution takes the larger number where the first is too small.
NUM_INTEGERS = 2048
_MANY_INTEGERS = 2**16
# Beyond this number and its negative, float32 does not have all integers.
_LARGEST_INTEGER = 2**24


@dataclasses.dataclass(frozen=True)
class _Precision:
    """Numbers that depend on the dtype.

    Attributes:
      log_small: a distance of `exp(-log_small)` scales from an end is negligible.
      log_far: tails are followed up to `exp(log_far)` scales.
      tail: the largest share of A that the tails beyond may have.
      sum_tail: the same for the sum over integers.
      bisections: number of bisections of a bracket of ratio 256, down to neighbouring
        numbers.
    """

    log_small: float
    log_far: float
    tail: float
    sum_tail: float
    bisections: int


_PRECISION = {
    tf.float32: _Precision(17.0, 36.0, 1e-4, 1e-3, 32),
    tf.float64: _Precision(40.0, 300.0, 1e-8, 1e-8, 60),
}


def _first_true(mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the index of the first True along axis 0, 0 if none is, and if any is."""
    index = tf.argmax(tf.cast(mask, tf.int32), axis=0, output_type=tf.int32)
    return index, tf.reduce_any(mask, axis=0)


def _first_reached(
    reached: Callable[[tf.Tensor], tf.Tensor],
    like: tf.Tensor,
    powers: np.ndarray,
    steps: int,
    half_way: Callable[[tf.Tensor], tf.Tensor],
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns neighbours low < high where a monotone condition becomes true.

    Args:
      reached: the condition, false for small z and true for large z.
      like: a tensor of the shape and dtype of the result.
      powers: positive numbers, ascending: the brackets, with both signs.
      steps: number of bisections of a bracket.
      half_way: returns a number between two numbers, given their sum.
    """
    # From 0 outwards, because far out the CDFs of TFP are not always right.
    zero = tf.zeros_like(like)
    sizes = np.concatenate([[0.0], powers])
    last = len(powers)
    grid = _special.along_new_axis(sizes, like) + zero
    right, found_right = _first_true(reached(grid))
    left, found_left = _first_true(~reached(-grid))
    right = tf.where(found_right, right, last)
    left = tf.where(found_left, left, last)
    is_left = reached(zero)
    index = tf.where(is_left, left, right)
    outer = tf.gather(tf.constant(sizes, like.dtype), index)
    inner = tf.gather(tf.constant(sizes, like.dtype), tf.maximum(index - 1, 0))
    low = tf.where(is_left, -outer, inner)
    high = tf.where(is_left, -inner, outer)

    def halve(i, low, high):
        middle = half_way(low + high)
        true = reached(middle)
        return i + 1, tf.where(true, low, middle), tf.where(true, middle, high)

    _, low, high = tf.while_loop(
        lambda i, *_: i < steps, halve, (0, low, high), maximum_iterations=steps
    )
    return tf.stop_gradient(low), tf.stop_gradient(high)


def _nodes(
    start: tf.Tensor, end: tf.Tensor, scale: tf.Tensor, count: int = NUM_NODES
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns nodes [n, ...] from start to end, on either side, and their weights."""
    log_small = _PRECISION[start.dtype].log_small
    length = tf.abs(end - start)
    scale = tf.minimum(scale, length)
    tiny = np.finfo(start.dtype.as_numpy_dtype).tiny
    ratio = tf.maximum(length / tf.maximum(scale, tiny), 1)
    first = -math.asinh(2 / math.pi * log_small)
    last = tf.asinh(2 / math.pi * (tf.math.log(ratio) + log_small))
    steps = _special.along_new_axis(np.linspace(0, 1, count), start)
    t = first + (last - first) * steps
    r = tf.exp(math.pi / 2 * tf.sinh(t))
    shrink = 1 / (1 + r / ratio)
    distance, left_over = scale * r * shrink, length * shrink
    # From the closer end, because a CDF may be steep at the end of the support.
    sign = tf.sign(end - start)
    nodes = tf.where(
        distance < left_over, start + sign * distance, end - sign * left_over
    )
    step = (last - first) / (count - 1)
    return nodes, step * math.pi / 2 * tf.cosh(t) * distance * shrink


def _half_nodes(
    start: tf.Tensor, end: tf.Tensor, scale: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns nodes as `_nodes` does, for a CDF that also changes far from the start.

    Beyond some scales, where a narrow part at the start has ended, the CDF is smooth in
    the logarithm of the distance.
    """
    length = tf.abs(end - start)
    sign = tf.sign(end - start)
    near = tf.minimum(length, _NEAR * scale)
    nodes, weights = _nodes(start, start + sign * near, scale, NEAR_NODES)
    tiny = np.finfo(start.dtype.as_numpy_dtype).tiny
    span = tf.math.log(tf.maximum(length / tf.maximum(near, tiny), 1))
    most = tf.constant(_LOG_SCALE, span.dtype)
    steps, step_weights = _nodes(tf.zeros_like(span), span, most, FAR_NODES)
    distance = near * tf.exp(steps)
    return (
        tf.concat([nodes, start + sign * distance], axis=0),
        tf.concat([weights, step_weights * distance], axis=0),
    )


def _integrate(weights: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the integral by all nodes, and the integral by every other node."""
    terms = weights * values
    return tf.reduce_sum(terms, axis=0), 2 * tf.reduce_sum(terms[::2], axis=0)


def _is_monotone(values: tf.Tensor) -> tf.Tensor:
    """Says if values [n, ...] in [0, 1] fall, up to a tolerance; False for NaN."""
    in_range = (values >= -_cdfs.CDF_TOLERANCE) & (values <= 1 + _cdfs.CDF_TOLERANCE)
    falls = values[1:] - values[:-1] <= _cdfs.CDF_TOLERANCE
    return tf.reduce_all(in_range, axis=0) & tf.reduce_all(falls, axis=0)


def _with_slope(score: tf.Tensor, y: tf.Tensor, slope: tf.Tensor) -> tf.Tensor:
    """Gives a score that does not depend on y the derivative `slope` in y."""
    return score + (y - tf.stop_gradient(y)) * tf.stop_gradient(slope)


def _first(
    reached: Callable[[tf.Tensor], tf.Tensor], like: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns neighbouring real numbers where a monotone condition becomes true."""
    powers = 2.0 ** np.arange(-120, 121, 8)
    steps = _PRECISION[like.dtype].bisections
    return _first_reached(reached, like, powers, steps, lambda z: 0.5 * z)


class _Core(NamedTuple):
    """The middle of a CDF, and the distances from there on either side.

    Attributes:
      median: m.
      scales: distances at which the probability of the tail has halved.
      extents: distances beyond which the integral of F^2, or (1 - F)^2, is negligible.
      reaches: distances beyond which the integral of F, or 1 - F, is negligible.
    """

    median: tf.Tensor
    scales: tuple[tf.Tensor, tf.Tensor]
    extents: tuple[tf.Tensor, tf.Tensor]
    reaches: tuple[tf.Tensor, tf.Tensor]


def _core(cdf: _cdfs.Cdf, like: tf.Tensor) -> _Core:
    limits = np.finfo(like.dtype.as_numpy_dtype)
    below, above = cdf.below, cdf.above
    before, median = _first(lambda z: below(z) >= 0.5, like)
    # The distances that halve the probability on each side, apart from an atom at m.
    half_left, half_right = 0.5 * below(before), 0.5 * above(median)
    floor = 2 * limits.eps * tf.abs(median) + 2.0**-120
    # Below a jump at m, or below a steep rise, the probability may be 0.
    half_left = tf.maximum(half_left, limits.tiny)
    left_scale = median - _first(lambda z: below(z) >= half_left, like)[0]
    right_scale = _first(lambda z: above(z) <= half_right, like)[1] - median
    left_scale = tf.maximum(left_scale, floor)
    right_scale = tf.maximum(right_scale, floor)

    end = math.asinh(2 / math.pi * _PRECISION[like.dtype].log_far)
    far = np.exp(math.pi / 2 * np.sinh(np.linspace(0, end, 33)))

    def extent(tail, scale, room):
        distance = _special.along_new_axis(far, like) * scale
        value = tf.stop_gradient(tf.maximum(tail(distance), 0))
        relative = distance / scale
        # By rounding, 1 - F may stay constant although the tail falls.
        stuck = (value[:-1] <= 8 * limits.eps) & (value[1:] > 0.5 * value[:-1])
        stuck = tf.concat([stuck, tf.zeros_like(stuck[:1])], axis=0)

        def cut(remaining):
            index, found = _first_true((remaining <= 0.01 * limits.eps) | stuck)
            index = tf.where(found, index, len(far) - 1)
            length = tf.gather(tf.constant(far, like.dtype), index) * scale
            return tf.minimum(length, room)

        return cut(value * value * relative), cut(value * relative)

    left = extent(lambda d: below(median - d), left_scale, median - cdf.lower)
    right = extent(lambda d: above(median + d), right_scale, cdf.upper - median)
    return _Core(median, (left_scale, right_scale), *zip(left, right, strict=True))


def _ends(
    cdf: _cdfs.Cdf, median: tf.Tensor, lengths: tuple[tf.Tensor, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the points at these distances from the median, within the support."""
    left, right = lengths
    return (
        tf.where(left < median - cdf.lower, median - left, cdf.lower),
        tf.where(right < cdf.upper - median, median + right, cdf.upper),
    )


def _marks(cdf: _cdfs.Cdf, like: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the marks of a CDF without kinks, within its support: see `Cdf`."""
    core = _core(cdf, like)
    median, (left, right) = core.median, core.scales
    lower, upper = _ends(cdf, median, core.reaches)
    points = tf.stack([lower, median - left, median, median + right, upper])
    scales = [tf.abs(points[1] - lower), left, tf.minimum(left, right), right]
    scales = tf.stack([*scales, tf.abs(upper - points[3])])
    points = tf.clip_by_value(points, lower, upper)
    scales = tf.maximum(scales, tf.minimum(left, right))
    # Beside an atom nothing changes.
    return points, tf.where(upper > lower, scales, 2.0**120 * tf.ones_like(scales))


def _continuous_in_pieces(
    cdf: _cdfs.Cdf, fixed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the score, the point of its slope, and whether to trust it.

    The integrals are split at the marks, at m and at y. Each half of a piece has nodes
    from its outer end inwards, in steps that grow from the scale of that end on.
    """
    dtype = fixed.dtype
    median = _first(lambda z: cdf.below(z) >= 0.5, fixed)[1]
    points, scales = [tf.stop_gradient(x) for x in _cdfs.marks_of(cdf, fixed, _marks)]
    lower, upper = tf.reduce_min(points, axis=0), tf.reduce_max(points, axis=0)
    within = tf.clip_by_value(fixed, lower, upper)
    edges = tf.concat([points, median[tf.newaxis], within[tf.newaxis]], axis=0)
    edges = tf.sort(edges, axis=0)

    def scale_at(edge):
        return tf.reduce_min(tf.maximum(scales, tf.abs(edge - points)), axis=0)

    def piece(i, total, error, valid):
        start, end = edges[i], edges[i + 1]
        is_right = start >= median
        in_b = start >= tf.minimum(median, within)
        in_b &= end <= tf.maximum(median, within)
        # No nodes at a mark itself, where a CDF may have no derivative.
        apart = end > start
        end = tf.where(apart, end, start + scale_at(start))
        middle = start + 0.5 * (end - start)
        half = tf.abs(middle - start)
        rules = [_half_nodes(x, middle, scale_at(x)) for x in (start, end)]
        nodes = tf.concat([rules[0][0], rules[1][0][::-1]], axis=0)
        some = tf.broadcast_to(median, tf.shape(nodes))
        tail = tf.where(
            is_right,
            cdf.above(tf.where(is_right, nodes, some)),
            cdf.below(tf.where(is_right, some, nodes)),
        )
        valid &= _is_monotone(tf.where(is_right, tail, tail[::-1])) | ~apart
        tails = (tail[: NEAR_NODES + FAR_NODES], tail[NEAR_NODES + FAR_NODES :][::-1])
        for (_, weights), values in zip(rules, tails, strict=True):
            terms = values * tf.where(in_b, values - 2, values)
            # A plateau may be so long that few of the nodes are on it.
            plateau = terms[-1]
            whole, coarse = _integrate(weights, terms - plateau)
            total += tf.where(apart, whole + half * plateau, zero)
            error += tf.where(apart, tf.abs(whole - coarse), zero)
        return i + 1, total, error, valid

    # One piece at a time: all at once would take the memory of K components K times.
    zero = tf.zeros_like(fixed)
    _, total, error, valid = tf.while_loop(
        lambda i, *_: i < tf.shape(edges)[0] - 1,
        piece,
        (0, zero, zero, tf.ones_like(zero, tf.bool)),
        maximum_iterations=edges.shape[0] and edges.shape[0] - 1,
    )
    score = total + tf.abs(fixed - median)
    valid &= error <= ERROR_LIMIT * score
    # The order of the tails beyond, if they fall like a power.
    left = tf.where(lower > cdf.lower, median - lower, zero)
    right = tf.where(upper < cdf.upper, upper - median, zero)
    beyond = cdf.below(lower) ** 2 * left + cdf.above(upper) ** 2 * right
    valid &= beyond <= _PRECISION[dtype].tail * score
    return score, within, valid


def continuous(y: tf.Tensor, distribution: Distribution) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the score by quadrature, and whether to trust it."""
    cdf = _cdfs.cdf_and_survival(distribution, y.dtype)
    integrate = _continuous_in_one if cdf.marks is None else _continuous_in_pieces
    score, within, valid = integrate(cdf, tf.stop_gradient(y))
    return _with_slope(score, y, 2 * cdf.below(within) - 1), valid


def _continuous_in_one(
    cdf: _cdfs.Cdf, fixed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the score, the point of its slope, and whether to trust it."""
    below, above = cdf.below, cdf.above
    core = _core(cdf, fixed)
    median, (left_scale, right_scale) = core.median, core.scales
    left, right = core.extents
    left_reach, right_reach = core.reaches

    # A.
    left_end, right_end = _ends(cdf, median, core.extents)
    left_nodes, left_weights = _nodes(median, left_end, left_scale)
    right_nodes, right_weights = _nodes(median, right_end, right_scale)
    left_tail, right_tail = below(left_nodes), above(right_nodes)
    valid = _is_monotone(left_tail) & _is_monotone(right_tail)
    a_left, a_left_coarse = _integrate(left_weights, left_tail**2)
    a_right, a_right_coarse = _integrate(right_weights, right_tail**2)
    a = a_left + a_right

    # The order of the tails beyond, if they fall like a power.
    beyond = tf.zeros_like(a)
    for tail, length, room in (
        (left_tail, left, median - cdf.lower),
        (right_tail, right, cdf.upper - median),
    ):
        rest = tail[-1] ** 2 * length
        beyond += tf.where(length < room, rest, tf.zeros_like(rest))
    valid &= beyond <= _PRECISION[a.dtype].tail * a

    # B.
    is_right = fixed > median
    gap = tf.abs(fixed - median)
    reach = tf.where(is_right, right_reach, left_reach)
    scale = tf.where(is_right, right_scale, left_scale)
    step = tf.minimum(gap, reach)
    within = median + tf.where(is_right, step, -step)
    within = tf.where(gap < reach, fixed, within)
    # At y = m the nodes would be m too, where a CDF may have no derivative.
    apart = gap > 0
    nodes, weights = _nodes(median, tf.where(apart, within, median - scale), scale)
    weights = tf.where(apart, weights, tf.zeros_like(weights))
    middle = tf.broadcast_to(median, tf.shape(nodes))
    tail = tf.where(
        is_right,
        above(tf.where(is_right, nodes, middle)),
        below(tf.where(is_right, middle, nodes)),
    )
    valid &= _is_monotone(tail)
    b, b_coarse = _integrate(weights, tail)
    score = a + gap - 2 * b

    error = tf.abs(a_left - a_left_coarse) + tf.abs(a_right - a_right_coarse)
    error += 2 * tf.abs(b - b_coarse)
    valid &= error <= ERROR_LIMIT * score

    return score, within, valid


def _tail(
    function: Callable[[tf.Tensor], tf.Tensor], k: tf.Tensor, median: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns a CDF, or 1 minus it, at integers, and whether it falls in [0, 1]."""
    # Zeros get no derivative, because outside of the support it may be NaN in TFP.
    fixed = tf.stop_gradient(function(k))
    positive = fixed > 0
    tail = function(tf.where(positive, k, median))
    return tf.where(positive, tail, tf.zeros_like(tail)), _is_monotone(fixed)


def _integer_marks(
    cdf: _cdfs.Cdf, like: tf.Tensor, count: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns integers around the median; and 1 if they are too few, NaN if invalid."""
    _, median = _first_reached(
        lambda k: cdf.below(k) >= 0.5,
        like,
        2.0 ** np.arange(25),
        25,
        lambda k: tf.floor(0.5 * k),
    )
    half = count // 2
    offsets = _special.along_new_axis(np.arange(half, dtype=np.float64), like)
    left, right = median - 1 - offsets, median + offsets  # Away from the median.
    left_tail, left_valid = _tail(cdf.below, left, median)
    right_tail, right_valid = _tail(cdf.above, right, median)
    a = tf.reduce_sum(left_tail**2 + right_tail**2, axis=0)
    # If the tails fall like a power, this is the order of their sum.
    rest = half * (tf.abs(left_tail[-1]) + tf.abs(right_tail[-1]))
    wide = rest > _PRECISION[like.dtype].sum_tail * a
    wide |= tf.abs(median) >= _LARGEST_INTEGER - half
    nan = tf.constant(np.nan, like.dtype)
    wrong = tf.where(left_valid & right_valid, tf.cast(wide, like.dtype), nan)
    return tf.concat([left[::-1], right], axis=0), wrong[tf.newaxis]


def discrete(y: tf.Tensor, distribution: Distribution) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the score by a sum over integers, and whether to trust it.

    Each component has its own integers; between them the CDF is constant.
    """
    if _cdfs.is_a(distribution, "TransformedDistribution") and not (
        type(distribution.bijector).__name__.lstrip("_") == "Shift"
    ):
        raise _checks.error(
            "distribution",
            "a distribution of integers that is not transformed, or only shifted",
            f"{type(distribution).__name__} by {distribution.bijector.name}",
        )
    score, wrong = _sum(y, distribution, NUM_INTEGERS)
    if tf.executing_eagerly() and tf.reduce_any(wrong == 1):
        score, wrong = _sum(y, distribution, _MANY_INTEGERS)
        if tf.reduce_any(wrong == 1):
            raise _checks.error(
                "distribution",
                f"narrower, with all but a negligible part within {_MANY_INTEGERS} "
                f"integers around its median, or the median of each component, between "
                f"-{_LARGEST_INTEGER} and {_LARGEST_INTEGER}",
                f"{type(distribution).__name__}, too wide for a sum over integers",
            )
    return score, (wrong == 0) & _cdfs.integer_atoms(distribution)


def _sum(
    y: tf.Tensor, distribution: Distribution, count: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the score, and 0 if it is right: see `_integer_marks` for 1 and NaN."""
    dtype = y.dtype
    fixed = tf.stop_gradient(y)

    if _cdfs.mixture_parts(distribution) or _cdfs.is_a(distribution, "BatchReshape"):
        cdf = _cdfs.cdf_and_survival(distribution, dtype)
    else:
        infinity = tf.constant(np.inf, dtype)
        cdf = _cdfs.Cdf(
            -infinity,
            infinity,
            lambda k: tf.cast(_cdfs.call_method(distribution, "cdf", k), dtype),
            lambda k: tf.cast(
                _cdfs.call_method(distribution, "survival_function", k),
                dtype,
            ),
        )

    def leaf(part, like):
        return _integer_marks(part, like, count)

    points, wrong = [tf.stop_gradient(x) for x in _cdfs.marks_of(cdf, fixed, leaf)]
    if cdf.marks is not None:
        points = tf.sort(points, axis=0)
    index, _ = _first_true(cdf.below(points) >= 0.5)
    position = tf.range(tf.shape(points)[0])
    position = tf.reshape(position, [-1] + [1] * y.shape.rank)
    is_right = position >= index
    median = tf.reduce_min(
        tf.where(is_right, points, tf.constant(np.inf, dtype)), axis=0
    )
    ends = tf.concat([points[1:], points[-1:] + 1], axis=0)
    some = tf.broadcast_to(median, tf.shape(points))
    left_tail, _ = _tail(cdf.below, tf.where(is_right, some, points), median)
    right_tail, _ = _tail(cdf.above, tf.where(is_right, points, some), median)
    zero, nan = tf.zeros_like(points), tf.constant(np.nan, dtype)
    width = ends - points
    a = tf.where(is_right, right_tail, left_tail) ** 2 * width
    # The parts of the cells between the median and y.
    right_part = tf.clip_by_value(fixed - points, zero, width)
    left_part = tf.clip_by_value(ends - fixed, zero, width)
    b = tf.where(is_right, right_part * right_tail, left_part * left_tail)
    score = tf.reduce_sum(a - 2 * b, axis=0) + tf.abs(fixed - median)

    cell = tf.clip_by_value(tf.floor(fixed), points[0], points[-1])
    score = _with_slope(score, y, 2 * cdf.below(cell) - 1)
    worst = tf.reduce_max(wrong, axis=0)
    return score, tf.where(tf.reduce_any(tf.math.is_nan(wrong), axis=0), nan, worst)
