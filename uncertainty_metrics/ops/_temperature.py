"""The temperature of the least negative log-likelihood, by Newton's method.

The arithmetic is that of `uncertainty_metrics.numpy.calibrators.temperature_scaling`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy.calibrators._calibrator import LEAST
from uncertainty_metrics.numpy.calibrators.temperature_scaling import (
    MAX_STEPS,
    ROUNDING,
)
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _ranges,
    _sums,
    _validity,
    numpy_dtype,
    xp,
)

# Newton's method doubles the digits: after a step as small as this one more is enough.
_LAST_STEP = {xp.float32: 1e-4, xp.float64: 1e-9}


class Rows(NamedTuple):
    """Logits less the largest of their row, divided by the largest such distance.

    Attributes:
      z: [N, K], in [-1, 0]; 0 in rows of weight 0 and where the class is impossible.
      possible: boolean [N, K], False where a logit was -inf.
      at_label: z at the label, [N]; -inf where the label is impossible.
    """

    z: xp.Tensor
    possible: xp.Tensor
    at_label: xp.Tensor


def rows_of(
    examples: _inputs.Examples, logits: xp.Tensor
) -> tuple[Rows, xp.Tensor, xp.Tensor]:
    """Returns the rows of logits [N, K], the divisor of `z`, and whether the examples
    are valid.
    """
    top = xp.reduce_max(logits, axis=-1)
    right = xp.math.is_finite(top) & ~xp.reduce_any(xp.math.is_nan(logits), axis=-1)
    counted = right
    valid = examples.valid & _validity.counted_are_right(right, examples.weights)
    if examples.weights is not None:
        counted = counted & (examples.weights > 0)
    valid = valid & xp.reduce_any(counted)
    z = xp.where(counted[:, None], logits - top[:, None], xp.zeros_like(logits))
    at_label = _inputs.take(z, examples.labels)
    possible = z > -np.inf
    z = xp.where(possible, z, xp.zeros_like(z))
    unit = -xp.reduce_min(z)
    unit = xp.where(unit > 0, unit, xp.ones_like(unit))
    return Rows(z / unit, possible, at_label / unit), unit, valid


def moments(rows: Rows, beta: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns log(sum_k e^(beta z_k)), and the mean and the variance of z under the
    softmax of beta z, [N] each.
    """
    mass = xp.where(rows.possible, xp.exp(beta * rows.z), xp.zeros_like(rows.z))
    total = xp.reduce_sum(mass, axis=-1)
    mean = xp.reduce_sum(mass * rows.z, axis=-1) / total
    square = xp.reduce_sum(mass * rows.z * rows.z, axis=-1) / total
    return xp.math.log(total), mean, square - mean * mean


# Compiled, an eager call is one call and not hundreds.
@functools.partial(_execution.compiled, any_size=True)
def inverse_temperature(
    rows: Rows, weights: xp.Tensor | None, start: xp.Tensor | None = None
) -> xp.Tensor:
    """Returns the beta of the least mean of `logsumexp(beta z) - beta z_label`.

    It is 0 where the logits of the labels are no larger than the others on average, inf
    where every label has the largest logit, and NaN if the steps do not converge.
    """
    dtype = rows.z.dtype

    def derivatives(beta):
        _, means, variances = moments(rows, beta)
        gaps = means - rows.at_label
        return gaps, _sums.mean(gaps, weights), _sums.mean(variances, weights)

    def step(beta, low, high, last, done):
        _, slope, curvature = derivatives(beta)
        low, high = xp.where(slope < 0, beta, low), xp.where(slope < 0, high, beta)
        # Rounding could make steps that are larger than the bracket.
        closed = high - low <= _LAST_STEP[dtype] * low
        newton = xp.where(closed, xp.zeros_like(beta), slope / curvature)
        done = xp.abs(newton) <= _LAST_STEP[dtype] * beta
        target = beta - newton
        fast = (low < target) & (target < high) & (xp.abs(slope) < last / 3)
        safe = xp.where(fast, target, xp.sqrt(low) * xp.sqrt(high))
        safe = xp.clip_by_value(safe, beta / 16, beta * 16)
        return xp.where(done, target, safe), low, high, xp.abs(slope), done

    zero, infinity = xp.constant(0, dtype), xp.constant(np.inf, dtype)
    gaps, slope, curvature = derivatives(zero)
    size = _sums.mean(xp.abs(gaps), weights)
    flat = slope >= -ROUNDING * np.finfo(numpy_dtype(dtype)).eps * size
    wrong = rows.at_label < 0
    separable = ~xp.reduce_any(wrong if weights is None else wrong & (weights > 0))
    limit = xp.where(flat, zero, infinity)
    at_limit = flat | separable
    # The variance of differences that are far smaller than the largest underflows.
    beta = -slope / xp.where(curvature > 0, curvature, xp.ones_like(curvature))
    if start is not None:
        beta = xp.where((start > 0) & (start < infinity), start, beta)
    # The slope increases with beta, from below 0 to above. Newton's steps narrow a
    # bracket around its zero. A step that leaves the bracket, or is slow, is replaced
    # by a bisection.
    beta, _, _, _, done = xp.while_loop(
        lambda *state: ~state[-1],
        step,
        (beta, zero, infinity, infinity, at_limit),
        maximum_iterations=MAX_STEPS,
    )
    beta = xp.where(done, beta, xp.constant(np.nan, dtype))
    return xp.where(at_limit, limit, beta)


def logits_of(
    examples: _inputs.Examples, least: float = 0.0
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the logits [N, K], or the logarithms of probabilities, and whether the
    probabilities of all examples that count are in [0, 1]. Probabilities are clipped to
    at least `least`, except in rows of zeros.
    """
    values = xp.cast(examples.predictions, examples.dtype)
    if examples.from_logits:
        return values, xp.constant(True)
    right = _ranges.rows_in_range(examples.predictions)
    # Divided by the largest, whose logarithm is then 0: TensorFlow's logarithm of one
    # number depends on its place, and equal largest ones must stay equal.
    top = xp.reduce_max(values, axis=-1, keepdims=True)
    values = xp.math.log(xp.maximum(values, xp.constant(least, values.dtype)) / top)
    return values, _validity.counted_are_right(right, examples.weights)


def optimal_temperature(examples: _inputs.Examples) -> xp.Tensor:
    """Returns the best temperature, a scalar; NaN if there is none."""
    logits, in_range = logits_of(examples, LEAST)
    rows, unit, valid = rows_of(examples, logits)
    beta = inverse_temperature(rows, examples.weights)
    valid = valid & in_range
    valid = valid & (
        (beta > 0) & (beta < np.inf) & xp.reduce_all(rows.at_label > -np.inf)
    )
    return xp.where(valid, unit / beta, xp.constant(np.nan, beta.dtype))
