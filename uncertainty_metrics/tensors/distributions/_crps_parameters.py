"""Parameters of TFP distributions, for closed forms of the CRPS."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from uncertainty_metrics.numpy._inputs import ROW_SUM_TOLERANCE

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution

Score = tuple[tf.Tensor, tf.Tensor]
Rule = Callable[[tf.Tensor, Any], Score]


def parameter(value: Any, like: tf.Tensor) -> tf.Tensor:
    """Returns a parameter in the dtype and the shape of the labels."""
    value = tf.cast(tf.convert_to_tensor(value), like.dtype)
    return tf.broadcast_to(value, tf.shape(like))


def finite(value: Any, like: tf.Tensor) -> Score:
    """Returns a parameter, 0 where it is not finite, and whether it is finite."""
    value = parameter(value, like)
    valid = tf.math.is_finite(value)
    return tf.where(valid, value, tf.zeros_like(value)), valid


def positive(value: Any, like: tf.Tensor) -> Score:
    """Returns a parameter, 1 unless it is finite and > 0, and whether it is."""
    value = parameter(value, like)
    valid = tf.math.is_finite(value) & (value > 0)
    return tf.where(valid, value, tf.ones_like(value)), valid


def location_scale(
    y: tf.Tensor, distribution: Distribution
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns `y - loc`, the scale, and whether both parameters are in range."""
    loc, right_loc = finite(distribution.loc, y)
    scale, right_scale = positive(distribution.scale, y)
    return y - loc, scale, right_loc & right_scale


def in_double(function: Rule) -> Rule:
    """Decorates a rule, to compute in float64.

    In float32 the incomplete functions have only 2 to 5 right digits.
    """

    @functools.wraps(function)
    def wrapped(y: tf.Tensor, distribution: Distribution) -> Score:
        score, valid = function(tf.cast(y, tf.float64), distribution)
        return tf.cast(score, y.dtype), valid

    return wrapped


def expm1_over(x: tf.Tensor) -> tf.Tensor:
    """Returns `(exp(x) - 1) / x`, 1 at 0."""
    near = tf.abs(x) < 1e-5
    some = tf.where(near, tf.ones_like(x), x)
    inner = tf.where(near, x, tf.zeros_like(x))
    series = 1 + inner * (0.5 + inner / 6)
    return tf.where(near, series, tf.math.expm1(some) / some)


def log1p_over(x: tf.Tensor) -> tf.Tensor:
    """Returns `log(1 + x) / x`, 1 at 0."""
    near = tf.abs(x) < 1e-5
    some = tf.where(near, tf.ones_like(x), x)
    inner = tf.where(near, x, tf.zeros_like(x))
    series = 1 - inner * (0.5 - inner / 3)
    return tf.where(near, series, tf.math.log1p(some) / some)


def probabilities(value: Any, like: tf.Tensor) -> Score:
    """Returns probabilities [..., K], uniform if wrong, and whether they are right."""
    value = tf.cast(tf.convert_to_tensor(value), like.dtype)
    total = tf.reduce_sum(value, axis=-1, keepdims=True)
    valid = tf.reduce_all(value >= 0, axis=-1)  # False for NaN.
    valid &= tf.abs(total[..., 0] - 1) < ROW_SUM_TOLERANCE
    some = tf.ones_like(value)
    safe = tf.where(valid[..., tf.newaxis], value, some)
    return safe / tf.reduce_sum(safe, axis=-1, keepdims=True), valid
