"""The temperature of the least negative log-likelihood, on tensors.

The twin of the arithmetic of
`uncertainty_metrics.numpy.calibrators.temperature_scaling`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy.calibrators.temperature_scaling import (
    MAX_STEPS,
    ROUNDING,
)
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _sums,
    _validity,
    numpy_dtype,
    xp,
)

# Newton doubles the digits: the step after one as small as this is the last.
_LAST_STEP = {xp.float32: 1e-4, xp.float64: 1e-9}


class Rows(NamedTuple):
    """Logits less the largest of their row, in units of the largest such distance.

    Attributes:
      z: [N, K], in [-1, 0]; 0 in rows of weight 0 and where the class is impossible.
      possible: boolean [N, K], False where a logit was -inf.
      at_label: z at the label, [N]; -inf where that is impossible.
    """

    z: xp.Tensor
    possible: xp.Tensor
    at_label: xp.Tensor


def rows_of(
    examples: _inputs.Examples, logits: xp.Tensor
) -> tuple[Rows, xp.Tensor, xp.Tensor]:
    """Returns the rows of logits [N, K], the unit of `z`, and if all was right."""
    top = xp.reduce_max(logits, axis=-1)
    right = xp.math.is_finite(top) & ~xp.reduce_any(xp.math.is_nan(logits), axis=-1)
    live = right
    valid = examples.valid & _validity.counted_are_right(right, examples.weights)
    if examples.weights is not None:
        live = live & (examples.weights > 0)
    valid = valid & xp.reduce_any(live)
    z = xp.where(live[:, None], logits - top[:, None], xp.zeros_like(logits))
    at_label = _inputs.take(z, examples.labels)
    possible = z > -np.inf
    z = xp.where(possible, z, xp.zeros_like(z))
    unit = -xp.reduce_min(z)
    unit = xp.where(unit > 0, unit, xp.ones_like(unit))
    return Rows(z / unit, possible, at_label / unit), unit, valid


def moments(rows: Rows, beta: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns log(sum_k e^(beta z_k)), and mean and variance of z under the softmax of
    beta z, [N] each.
    """
    mass = xp.where(rows.possible, xp.exp(beta * rows.z), xp.zeros_like(rows.z))
    total = xp.reduce_sum(mass, axis=-1)
    mean = xp.reduce_sum(mass * rows.z, axis=-1) / total
    square = xp.reduce_sum(mass * rows.z * rows.z, axis=-1) / total
    return xp.math.log(total), mean, square - mean * mean


# As a graph, an eager call is one call and not hundreds.
@functools.partial(_execution.compiled, any_size=True)
def inverse_temperature(
    rows: Rows, weights: xp.Tensor | None, start: xp.Tensor | None = None
) -> xp.Tensor:
    """Returns the beta of the least mean of `logsumexp(beta z) - beta z_label`.

    The limits are 0, where the logits of the labels are no larger than the others, and
    inf, where every label has the largest. NaN if it does not converge.
    """
    dtype = rows.z.dtype

    def derivatives(beta):
        _, means, variances = moments(rows, beta)
        gaps = means - rows.at_label
        return gaps, _sums.mean(gaps, weights), _sums.mean(variances, weights)

    def step(beta, low, high, last, done):
        _, slope, curvature = derivatives(beta)
        low, high = xp.where(slope < 0, beta, low), xp.where(slope < 0, high, beta)
        # Where rounding makes larger steps than the bracket has.
        closed = high - low <= _LAST_STEP[dtype] * low
        newton = xp.where(closed, xp.zeros_like(beta), slope / curvature)
        done = xp.abs(newton) <= _LAST_STEP[dtype] * beta
        target = beta - newton
        fast = (low < target) & (target < high) & (xp.abs(slope) < last / 2)
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
    beta = -slope / curvature
    if start is not None:
        beta = xp.where((start > 0) & (start < infinity), start, beta)
    # The slope increases with beta from below 0 to above: Newton's steps, inside the
    # bracket that they leave, or a bisection where they are not fast.
    beta, _, _, _, done = xp.while_loop(
        lambda *state: ~state[-1],
        step,
        (beta, zero, infinity, infinity, at_limit),
        maximum_iterations=MAX_STEPS,
    )
    beta = xp.where(done, beta, xp.constant(np.nan, dtype))
    return xp.where(at_limit, limit, beta)


def logits_of(examples: _inputs.Examples) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns logits [N, K], of probabilities their logarithms, and if these are."""
    values = xp.cast(examples.predictions, examples.dtype)
    if examples.from_logits:
        return values, xp.constant(True)
    right = _inputs.rows_in_range(examples.predictions)
    # Equal probabilities are equal so: TensorFlow's logarithm of the same number
    # depends on its place.
    values = xp.math.log(values / xp.reduce_max(values, axis=-1, keepdims=True))
    return values, _validity.counted_are_right(right, examples.weights)


def optimal_temperature(examples: _inputs.Examples) -> xp.Tensor:
    """Returns the temperature, a scalar, NaN where none is best."""
    logits, in_range = logits_of(examples)
    rows, unit, valid = rows_of(examples, logits)
    beta = inverse_temperature(rows, examples.weights)
    valid = valid & in_range
    valid = valid & (
        (beta > 0) & (beta < np.inf) & xp.reduce_all(rows.at_label > -np.inf)
    )
    return xp.where(valid, unit / beta, xp.constant(np.nan, beta.dtype))
