"""Closed forms of the CRPS of extremes: see `_closed_form_crps`."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.tensors.distributions import _crps_parameters as _parameters
from uncertainty_metrics.tensors.distributions import _special

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution
    from uncertainty_metrics.tensors.distributions._crps_parameters import Score

_LOG_2 = math.log(2)
_EULER = float(np.euler_gamma)

# The point where the two forms of the integrals of a GeneralizedExtremeValue meet, and
# the numbers of terms and of nodes for errors of 1e-12 there.
_JOINT = 2.0
_NUM_TERMS, _NUM_NODES = 34, 32
# For a smaller concentration there are too few nodes.
_LEAST_CONCENTRATION = -20.0
_FAR = 1e60  # In place of infinity, to have finite derivatives.


@functools.cache
def _series() -> tuple[np.ndarray, np.ndarray]:
    """Returns the coefficients of `exp(-2 s)` and `(1 - exp(-s))^2` in s."""
    k = np.arange(_NUM_TERMS)
    factorial = np.cumprod(np.maximum(k, 1.0))
    return (-2.0) ** k / factorial, (-1.0) ** k * (2.0**k - 2 + (k == 0)) / factorial


def _tail(x: tf.Tensor, c: tf.Tensor, rate: float) -> tf.Tensor:
    """The integral of `exp(-rate s) s^(-c - 1)` from x >= 2 on, by Gauss-Laguerre."""
    nodes, weights = np.polynomial.laguerre.laggauss(_NUM_NODES)
    places = x[..., tf.newaxis] + tf.constant(nodes / rate, x.dtype)
    powers = tf.exp(-(c[..., tf.newaxis] + 1) * tf.math.log(places))
    return tf.exp(-rate * x) / rate * tf.tensordot(powers, weights, 1)


@_parameters.in_double
def generalized_extreme_value(y: tf.Tensor, distribution: Distribution) -> Score:
    centred, scale, right = _parameters.location_scale(y, distribution)
    c, valid = _parameters.finite(distribution.concentration, y)
    in_reach = c > _LEAST_CONCENTRATION
    if tf.executing_eagerly() and tf.reduce_any(valid & ~in_reach):
        raise _checks.error(
            "distribution",
            f"a GeneralizedExtremeValue of a concentration above "
            f"{_LEAST_CONCENTRATION:g}, because below it the score is not accurate",
            f"a concentration of {float(tf.reduce_min(c)):g}",
        )
    valid &= in_reach
    proper = c < 2
    c = tf.where(proper & valid, c, tf.zeros_like(c))
    z = centred / scale
    # With F = e^-t and t = e^-h the score is
    #   integral of e^-2s s^(-c - 1) ds from t on
    #   + integral of (1 - e^-s)^2 s^(-c - 1) ds up to t
    # and labels beyond an end of the support, t = 0 or inf, add their distance.
    inside = 1 + c * z > 0
    some = tf.where(inside, z, tf.zeros_like(z))
    h = some * _parameters.log1p_over(c * some)
    h = tf.where(inside, h, tf.sign(z) * _FAR)
    end = -1 / tf.where(inside, tf.ones_like(c), c)
    beyond = tf.where(inside, tf.zeros_like(z), tf.abs(z - end))

    # Up to s = _JOINT by the series, whose powers pass through 0 without poles.
    log_joint = math.log(_JOINT)
    joint = _JOINT * tf.ones_like(c)
    up_to = tf.minimum(-h, log_joint)
    log_t = up_to[..., tf.newaxis]
    power = tf.range(_NUM_TERMS, dtype=c.dtype) - c[..., tf.newaxis]
    at_joint = tf.exp(power * log_joint)
    reach = log_joint - log_t
    steps = at_joint * reach * _parameters.expm1_over(-power * reach)
    series = [tf.constant(part, c.dtype) for part in _series()]
    score = _tail(joint, c, 2) + tf.tensordot(steps, series[0], 1)
    # The terms of s^0 and s^1 are 0.
    power, coefficients = power[..., 2:], series[1][2:]
    score += tf.tensordot(tf.exp(power * log_t) / power, coefficients, 1)
    # From there on the second integrand is s^(-c - 1) less two tails.
    reach = -h - up_to
    score += tf.exp(-c * log_joint) * reach * _parameters.expm1_over(-c * reach)
    # exp(-750) is 0.
    t = tf.exp(tf.minimum(log_joint + reach, math.log(750.0)))
    score += 2 * (_tail(t, c, 1) - _tail(joint, c, 1))
    score = scale * (score + beyond)
    infinite = tf.constant(np.inf, score.dtype)
    return tf.where(proper, score, infinite), valid & right


@_parameters.in_double
def generalized_pareto(y: tf.Tensor, distribution: Distribution) -> Score:
    centred, scale, right = _parameters.location_scale(y, distribution)
    c, valid = _parameters.finite(distribution.concentration, y)
    proper = c < 2
    c = tf.where(proper, c, tf.zeros_like(c))
    z = centred / scale
    # With 1 - F = e^-h between the ends of the support, the integral of 1 - F up to z
    # is (1 - e^-((1 - c) h)) / (1 - c).
    inside = (z > 0) & (1 + c * z > 0)
    some = tf.where(inside, z, tf.zeros_like(z))
    h = some * _parameters.log1p_over(c * some)
    beyond = (z > 0) & ~inside  # Where c < 0.
    end = tf.where(beyond, 1 / (1 - tf.where(beyond, c, tf.zeros_like(c))), 0)
    area = tf.where(beyond, end, h * _parameters.expm1_over((c - 1) * h))
    score = scale * (tf.abs(z) - 2 * area + 1 / (2 - c))
    # The integral over the tail diverges.
    infinite = tf.constant(np.inf, score.dtype)
    return tf.where(proper, score, infinite), valid & right


def gumbel(y: tf.Tensor, distribution: Distribution) -> Score:
    centred, scale, valid = _parameters.location_scale(y, distribution)
    # F is 0 to the last bit below z = -7.
    z = tf.maximum(centred / scale, -7)
    x = tf.exp(-z)
    cdf = tf.exp(-x)
    small = x <= _special.EIN_UP_TO
    two = tf.constant(_special.EIN_UP_TO, x.dtype)
    right = _special.complementary_exponential_integral(tf.where(small, x, two))
    left = _special.exponential_integral(tf.where(small, two, x))
    rest = tf.where(
        small,
        -2 * z * tf.math.expm1(-x) - _EULER - _LOG_2 + 2 * right,
        -2 * z * cdf + _EULER - _LOG_2 + 2 * left,
    )
    return centred * (2 * cdf - 1) + scale * rest, valid
