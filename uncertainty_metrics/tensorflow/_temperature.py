"""The temperature of the least negative log-likelihood, on tensors.

The twin of the arithmetic of `uncertainty_metrics.numpy.recalibration`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from uncertainty_metrics.numpy.recalibration import MAX_STEPS, ROUNDING
from uncertainty_metrics.tensorflow import _inputs, _sums

# Newton doubles the digits: the step after one as small as this is the last.
_LAST_STEP = {tf.float32: 1e-4, tf.float64: 1e-9}


class Rows(NamedTuple):
    """Logits less the largest of their row, in units of the largest such distance.

    Attributes:
      z: [N, K], in [-1, 0]; 0 in rows of weight 0 and where the class is impossible.
      possible: boolean [N, K], False where a logit was -inf.
      at_label: z at the label, [N]; -inf where that is impossible.
    """

    z: tf.Tensor
    possible: tf.Tensor
    at_label: tf.Tensor


def rows_of(
    examples: _inputs.Examples, logits: tf.Tensor
) -> tuple[Rows, tf.Tensor, tf.Tensor]:
    """Returns the rows of logits [N, K], the unit of `z`, and if all was right."""
    top = tf.reduce_max(logits, axis=-1)
    right = tf.math.is_finite(top) & ~tf.reduce_any(tf.math.is_nan(logits), axis=-1)
    live = right
    valid = examples.valid & _inputs.live_rows(examples.weights, right)
    if examples.weights is not None:
        live &= examples.weights > 0
    valid &= tf.reduce_any(live)
    z = tf.where(live[:, None], logits - top[:, None], tf.zeros_like(logits))
    at_label = _inputs.take(z, examples.labels)
    possible = z > -np.inf
    z = tf.where(possible, z, tf.zeros_like(z))
    unit = -tf.reduce_min(z)
    unit = tf.where(unit > 0, unit, tf.ones_like(unit))
    return Rows(z / unit, possible, at_label / unit), unit, valid


def moments(rows: Rows, beta: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns log(sum_k e^(beta z_k)), and mean and variance of z under the softmax of
    beta z, [N] each.
    """
    mass = tf.where(rows.possible, tf.exp(beta * rows.z), tf.zeros_like(rows.z))
    total = tf.reduce_sum(mass, axis=-1)
    mean = tf.reduce_sum(mass * rows.z, axis=-1) / total
    square = tf.reduce_sum(mass * rows.z * rows.z, axis=-1) / total
    return tf.math.log(total), mean, square - mean * mean


# As a graph, an eager call is one call and not hundreds.
@functools.partial(tf.function, autograph=False, reduce_retracing=True)
def inverse_temperature(
    rows: Rows, weights: tf.Tensor | None, start: tf.Tensor | None = None
) -> tf.Tensor:
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
        low, high = tf.where(slope < 0, beta, low), tf.where(slope < 0, high, beta)
        # Where rounding makes larger steps than the bracket has.
        closed = high - low <= _LAST_STEP[dtype] * low
        newton = tf.where(closed, tf.zeros_like(beta), slope / curvature)
        done = tf.abs(newton) <= _LAST_STEP[dtype] * beta
        target = beta - newton
        fast = (low < target) & (target < high) & (tf.abs(slope) < last / 2)
        safe = tf.where(fast, target, tf.sqrt(low) * tf.sqrt(high))
        safe = tf.clip_by_value(safe, beta / 16, beta * 16)
        return tf.where(done, target, safe), low, high, tf.abs(slope), done

    zero, infinity = tf.constant(0, dtype), tf.constant(np.inf, dtype)
    gaps, slope, curvature = derivatives(zero)
    size = _sums.mean(tf.abs(gaps), weights)
    flat = slope >= -ROUNDING * np.finfo(dtype.as_numpy_dtype).eps * size
    wrong = rows.at_label < 0
    separable = ~tf.reduce_any(wrong if weights is None else wrong & (weights > 0))
    limit = tf.where(flat, zero, infinity)
    at_limit = flat | separable
    beta = -slope / curvature
    if start is not None:
        beta = tf.where((start > 0) & (start < infinity), start, beta)
    # The slope increases with beta from below 0 to above: Newton's steps, inside the
    # bracket that they leave, or a bisection where they are not fast.
    beta, _, _, _, done = tf.while_loop(
        lambda *state: ~state[-1],
        step,
        (beta, zero, infinity, infinity, at_limit),
        maximum_iterations=MAX_STEPS,
    )
    beta = tf.where(done, beta, tf.constant(np.nan, dtype))
    return tf.where(at_limit, limit, beta)


def optimal_temperature(examples: _inputs.Examples) -> tf.Tensor:
    """Returns the temperature, a scalar, NaN where none is best."""
    rows, unit, valid = rows_of(examples, examples.predictions)
    beta = inverse_temperature(rows, examples.weights)
    valid &= (beta > 0) & (beta < np.inf) & tf.reduce_all(rows.at_label > -np.inf)
    return tf.where(valid, unit / beta, tf.constant(np.nan, beta.dtype))
