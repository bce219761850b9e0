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

Where the nodes are does not change the value, so no derivative is taken of them; the
derivative in y is 2 F(y) - 1.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.tensorflow import _special

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import Distribution

# Odd, so that every other node is a rule of its own that tells the error.
NUM_NODES = 129
# A score is refused where that rule differs by more than this part of the score.
ERROR_LIMIT = 1e-2
# A CDF is refused where it leaves [0, 1] or falls by more than this.
CDF_TOLERANCE = 1e-2
# Integers on which the CDF of a discrete distribution is summed.
NUM_INTEGERS = 2048
# Integers beyond these cannot be told apart in float32.
_LARGEST_INTEGER = 2**24


@dataclasses.dataclass(frozen=True)
class _Precision:
    """What depends on the dtype.

    Attributes:
      log_small: a distance of `exp(-log_small)` scales from an end is negligible.
      log_far: tails are followed up to `exp(log_far)` scales.
      tail: the largest part of A that a tail beyond may have.
      sum_tail: the same for the sum over integers.
      bisections: that halve a bracket of ratio 256 to neighbouring numbers.
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


@dataclasses.dataclass(frozen=True)
class _Cdf:
    """A CDF that is also right, and harmless to differentiate, outside the support.

    Attributes:
      lower: lower end of the support, or -inf.
      upper: upper end of the support, or inf.
      below: the function P(X <= z).
      above: the function P(X > z).
    """

    lower: tf.Tensor
    upper: tf.Tensor
    below: Callable[[tf.Tensor], tf.Tensor]
    above: Callable[[tf.Tensor], tf.Tensor]


def _event_bijector(distribution: Distribution) -> Any:
    try:
        return distribution.experimental_default_event_space_bijector()
    except (NotImplementedError, AttributeError, TypeError):
        return NotImplemented


def _mixture_parts(
    distribution: Distribution,
) -> tuple[tf.Tensor, list[Distribution] | Distribution] | None:
    """Returns weights [..., K] and components of a mixture, None for anything else."""
    if hasattr(distribution, "components_distribution"):
        weights = distribution.mixture_distribution.probs_parameter()
        return weights, distribution.components_distribution
    if hasattr(distribution, "components") and hasattr(distribution, "cat"):
        return distribution.cat.probs_parameter(), list(distribution.components)
    return None


def is_discrete(distribution: Distribution) -> bool:
    """Says if the distribution is one of integers."""
    if not distribution.dtype.is_floating:
        return True
    parts = _mixture_parts(distribution)
    if parts is not None:
        components = parts[1] if isinstance(parts[1], list) else [parts[1]]
        # An atom beside a distribution of integers, as in a zero-inflated one.
        components = [c for c in components if not _is_atom(c)] or components
        return all(is_discrete(component) for component in components)
    if _event_bijector(distribution) is not None:
        return False
    # Wrappers of a mixture have no bijector either.
    inner = getattr(distribution, "distribution", None)
    return (
        inner is None
        or _is_quantized(distribution)
        or not hasattr(inner, "cdf")
        or is_discrete(inner)
    )


def _is_atom(distribution: Distribution) -> bool:
    tfp = _optional.require("tensorflow_probability")

    return isinstance(distribution, tfp.distributions.Deterministic)


def _integer_atoms(distribution: Distribution) -> tf.Tensor:
    """Says if the atoms among the components of a mixture are at integers."""
    parts = _mixture_parts(distribution)
    if parts is None or not isinstance(parts[1], list):
        return tf.constant(True)
    atoms = [tf.convert_to_tensor(c.loc) for c in parts[1] if _is_atom(c)]
    return tf.reduce_all([tf.reduce_all(atom == tf.round(atom)) for atom in atoms])


def _is_quantized(distribution: Distribution) -> bool:
    tfp = _optional.require("tensorflow_probability")

    quantized = tfp.distributions.QuantizedDistribution
    bases = {base for base in quantized.__mro__ if "Quantized" in base.__name__}
    return isinstance(distribution, tuple(bases))


def _support(
    distribution: Distribution, dtype: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    infinity = tf.constant(np.inf, dtype)
    if _is_atom(distribution):
        loc = tf.stop_gradient(tf.cast(distribution.loc, dtype))
        return loc, loc
    bijector = _event_bijector(distribution)
    if bijector is None or bijector is NotImplemented:
        return -infinity, infinity
    try:
        ends = [bijector.forward(x) for x in (-infinity, infinity)]
    except (TypeError, ValueError):  # Of float32, whatever the distribution is.
        ends = [bijector.forward(x) for x in (-np.float32(np.inf), np.float32(np.inf))]
    ends = [tf.stop_gradient(tf.cast(end, dtype)) for end in ends]
    lower, upper = tf.minimum(*ends), tf.maximum(*ends)
    unknown = tf.math.is_nan(lower) | tf.math.is_nan(upper)
    return tf.where(unknown, -infinity, lower), tf.where(unknown, infinity, upper)


def call_method(distribution: Distribution, method: str, z: tf.Tensor) -> tf.Tensor:
    try:
        return getattr(distribution, method)(tf.cast(z, distribution.dtype))
    except NotImplementedError as missing:
        raise _checks.error(
            "distribution",
            "one with a closed form, or with a `cdf`",
            f"{type(distribution).__name__}: {missing}",
        ) from missing


def cdf_and_survival(distribution: Distribution, dtype: tf.DType) -> _Cdf:
    parts = _mixture_parts(distribution)
    if parts is not None:
        return _mixture_cdf(*parts, dtype)
    lower, upper = _support(distribution, dtype)
    # A point of the support for the calls whose result is thrown away.
    one = tf.ones([], dtype)
    middle = lower + 0.5 * (upper - lower)
    right_of, left_of = lower + tf.abs(lower) + one, upper - tf.abs(upper) - one
    some = tf.where(tf.math.is_finite(upper), left_of, tf.zeros_like(upper))
    some = tf.where(tf.math.is_finite(lower), right_of, some)
    some = tf.where(tf.math.is_finite(lower + upper), middle, some)

    # TFP gives NaN or worse (Weibull: a positive number) outside of the support.
    def masked(z, method, left, right):
        inside = (z > lower) & (z < upper)
        value = call_method(distribution, method, tf.where(inside, z, some))
        value = tf.cast(value, dtype)
        ends = tf.where(z >= upper, tf.constant(right, dtype), tf.constant(left, dtype))
        return tf.where(inside, value, ends)

    return _Cdf(
        lower,
        upper,
        lambda z: masked(z, "cdf", 0.0, 1.0),
        lambda z: masked(z, "survival_function", 1.0, 0.0),
    )


def _mixture_cdf(
    weights: tf.Tensor, components: list[Distribution] | Distribution, dtype: tf.DType
) -> _Cdf:
    # Not the mixture's own CDF: each component needs its own support.
    weights = tf.cast(weights, dtype)
    weights /= tf.reduce_sum(weights, axis=-1, keepdims=True)
    if isinstance(components, list):
        cdfs = [cdf_and_survival(component, dtype) for component in components]
        lowers, uppers = [cdf.lower for cdf in cdfs], [cdf.upper for cdf in cdfs]
        lower, upper = lowers[0], uppers[0]
        for other_lower, other_upper in zip(lowers, uppers, strict=True):
            lower = tf.minimum(lower, other_lower)
            upper = tf.maximum(upper, other_upper)

        def mixed(z, side):
            return sum(
                weights[..., k] * getattr(cdf, side)(z) for k, cdf in enumerate(cdfs)
            )

    else:
        cdf = cdf_and_survival(components, dtype)
        lower, upper = cdf.lower, cdf.upper
        if lower.shape.rank:  # Otherwise the same for all components.
            lower = tf.reduce_min(lower, axis=-1)
            upper = tf.reduce_max(upper, axis=-1)

        def mixed(z, side):
            return tf.reduce_sum(
                weights * getattr(cdf, side)(z[..., tf.newaxis]), axis=-1
            )

    return _Cdf(lower, upper, lambda z: mixed(z, "below"), lambda z: mixed(z, "above"))


def _first_true(mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the index of the first True along axis 0, 0 if none, and if any."""
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
      half_way: takes the sum of two numbers to what separates them.
    """
    # From 0 outwards, for far out TFP's CDFs are not always to be trusted.
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
    start: tf.Tensor, end: tf.Tensor, scale: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns nodes [n, ...] from start to end, on either side, and their weights."""
    log_small = _PRECISION[start.dtype].log_small
    length = tf.abs(end - start)
    scale = tf.minimum(scale, length)
    tiny = np.finfo(start.dtype.as_numpy_dtype).tiny
    ratio = tf.maximum(length / tf.maximum(scale, tiny), 1)
    first = -math.asinh(2 / math.pi * log_small)
    last = tf.asinh(2 / math.pi * (tf.math.log(ratio) + log_small))
    steps = _special.along_new_axis(np.linspace(0, 1, NUM_NODES), start)
    t = first + (last - first) * steps
    r = tf.exp(math.pi / 2 * tf.sinh(t))
    shrink = 1 / (1 + r / ratio)
    distance, left_over = scale * r * shrink, length * shrink
    # From the closer end, for a CDF may be steep at the end of the support.
    sign = tf.sign(end - start)
    nodes = tf.where(
        distance < left_over, start + sign * distance, end - sign * left_over
    )
    step = (last - first) / (NUM_NODES - 1)
    return nodes, step * math.pi / 2 * tf.cosh(t) * distance * shrink


def _integrate(weights: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the integral, and that by every other node."""
    terms = weights * values
    return tf.reduce_sum(terms, axis=0), 2 * tf.reduce_sum(terms[::2], axis=0)


def _is_monotone(values: tf.Tensor) -> tf.Tensor:
    """Says if values [n, ...] fall, all within [0, 1]; NaN does not."""
    in_range = (values >= -CDF_TOLERANCE) & (values <= 1 + CDF_TOLERANCE)
    falls = values[1:] - values[:-1] <= CDF_TOLERANCE
    return tf.reduce_all(in_range, axis=0) & tf.reduce_all(falls, axis=0)


def _with_slope(score: tf.Tensor, y: tf.Tensor, slope: tf.Tensor) -> tf.Tensor:
    """Gives a score that does not depend on y the derivative `slope` in y."""
    return score + (y - tf.stop_gradient(y)) * tf.stop_gradient(slope)


def continuous(y: tf.Tensor, distribution: Distribution) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the score by quadrature, and whether it can be relied on."""
    dtype = y.dtype
    precision = _PRECISION[dtype]
    limits = np.finfo(dtype.as_numpy_dtype)
    cdf = cdf_and_survival(distribution, dtype)
    fixed = tf.stop_gradient(y)

    below, above = cdf.below, cdf.above

    def first(reached):
        powers = 2.0 ** np.arange(-120, 121, 8)
        return _first_reached(
            reached, fixed, powers, precision.bisections, lambda z: 0.5 * z
        )

    before, median = first(lambda z: below(z) >= 0.5)
    # The distances that halve the probability on each side, apart from an atom at m.
    half_left, half_right = 0.5 * below(before), 0.5 * above(median)
    floor = 2 * limits.eps * tf.abs(median) + 2.0**-120
    left_scale = median - first(lambda z: below(z) >= half_left)[0]
    right_scale = first(lambda z: above(z) <= half_right)[1] - median
    left_scale = tf.maximum(left_scale, floor)
    right_scale = tf.maximum(right_scale, floor)

    # The distances at which F^2, or F, has nothing left.
    end = math.asinh(2 / math.pi * precision.log_far)
    far = np.exp(math.pi / 2 * np.sinh(np.linspace(0, end, 33)))

    def extent(tail, scale, room):
        distance = _special.along_new_axis(far, y) * scale
        value = tf.stop_gradient(tf.maximum(tail(distance), 0))
        relative = distance / scale
        # Rounding can leave 1 - F at a constant, where a tail would fall.
        stuck = (value[:-1] <= 8 * limits.eps) & (value[1:] > 0.5 * value[:-1])
        stuck = tf.concat([stuck, tf.zeros_like(stuck[:1])], axis=0)

        def cut(remaining):
            index, found = _first_true((remaining <= 0.01 * limits.eps) | stuck)
            index = tf.where(found, index, len(far) - 1)
            return tf.minimum(tf.gather(tf.constant(far, dtype), index) * scale, room)

        return cut(value * value * relative), cut(value * relative)

    left, left_reach = extent(
        lambda d: below(median - d), left_scale, median - cdf.lower
    )
    right, right_reach = extent(
        lambda d: above(median + d), right_scale, cdf.upper - median
    )

    # A.
    left_end = tf.where(left < median - cdf.lower, median - left, cdf.lower)
    right_end = tf.where(right < cdf.upper - median, median + right, cdf.upper)
    left_nodes, left_weights = _nodes(median, left_end, left_scale)
    right_nodes, right_weights = _nodes(median, right_end, right_scale)
    left_tail, right_tail = below(left_nodes), above(right_nodes)
    valid = _is_monotone(left_tail) & _is_monotone(right_tail)
    a_left, a_left_coarse = _integrate(left_weights, left_tail**2)
    a_right, a_right_coarse = _integrate(right_weights, right_tail**2)
    a = a_left + a_right

    # What lies beyond, if the tails fall like a power.
    beyond = tf.zeros_like(a)
    for tail, length, room in (
        (left_tail, left, median - cdf.lower),
        (right_tail, right, cdf.upper - median),
    ):
        rest = tail[-1] ** 2 * length
        beyond += tf.where(length < room, rest, tf.zeros_like(rest))
    valid &= beyond <= precision.tail * a

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

    return _with_slope(score, y, 2 * below(within) - 1), valid


def _tail(
    function: Callable[[tf.Tensor], tf.Tensor], k: tf.Tensor, median: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns a CDF, or 1 minus it, at integers, and whether it falls in [0, 1]."""
    # Outside of the support TFP's derivatives may be NaN: none are taken of zeros.
    fixed = tf.stop_gradient(function(k))
    positive = fixed > 0
    tail = function(tf.where(positive, k, median))
    return tf.where(positive, tail, tf.zeros_like(tail)), _is_monotone(fixed)


def discrete(y: tf.Tensor, distribution: Distribution) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the score by a sum over integers, and whether it can be relied on."""
    dtype = y.dtype
    precision = _PRECISION[dtype]
    fixed = tf.stop_gradient(y)

    def below(k):
        return tf.cast(call_method(distribution, "cdf", k), dtype)

    def above(k):
        return tf.cast(call_method(distribution, "survival_function", k), dtype)

    _, median = _first_reached(
        lambda k: below(k) >= 0.5,
        fixed,
        2.0 ** np.arange(25),
        25,
        lambda k: tf.floor(0.5 * k),
    )
    half = NUM_INTEGERS // 2
    offsets = _special.along_new_axis(np.arange(half, dtype=np.float64), y)
    left, right = median - 1 - offsets, median + offsets  # Away from the median.
    left_tail, left_valid = _tail(below, left, median)
    right_tail, right_valid = _tail(above, right, median)
    valid = left_valid & right_valid
    a = tf.reduce_sum(left_tail**2 + right_tail**2, axis=0)

    # The parts of the cells [k, k + 1) between the median and y.
    right_part = tf.clip_by_value(fixed - right, 0, 1)
    left_part = tf.clip_by_value(left + 1 - fixed, 0, 1)
    b = tf.reduce_sum(right_part * right_tail + left_part * left_tail, axis=0)
    score = a + tf.abs(fixed - median) - 2 * b

    # If the tails fall like a power, this is the order of their sum.
    rest = half * (tf.abs(left_tail[-1]) + tf.abs(right_tail[-1]))
    valid &= rest <= precision.sum_tail * a
    valid &= _integer_atoms(distribution)
    valid &= tf.abs(median) < _LARGEST_INTEGER - half
    cell = tf.clip_by_value(tf.floor(fixed), median - half, median + half - 1)
    return _with_slope(score, y, 2 * below(cell) - 1), valid
