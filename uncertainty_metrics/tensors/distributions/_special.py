"""Special functions that TensorFlow lacks, or has without the accuracy needed here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _optional
from uncertainty_metrics.ops import _polynomials

# Below, lgamma itself is accurate; from here on its Stirling series is.
_STIRLING_FROM = 8.0
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)

# From this concentration on, incomplete gamma and beta functions are integrals of a
# nearly normal density. TensorFlow's iterations lose digits there, in the end all
# digits.
LARGE_CONCENTRATION = 1000.0
# The mass of such a density outside these standard deviations is below 1e-16.
_NORMAL_LIKE_SUPPORT = (-9.0, 10.0)
_NORMAL_LIKE_NODES = 48

# Far enough from an integer for TFP's derivatives of betainc to be right to 2e-8.
_BESIDE = 1 + 1e-8


def along_new_axis(values: np.ndarray, like: tf.Tensor) -> tf.Tensor:
    """Returns values [n] as [n, 1, ..., 1], to broadcast against `like`."""
    column = tf.constant(values, like.dtype)
    return tf.reshape(column, [-1] + [1] * len(like.shape))


def excess_over_log(ratio: tf.Tensor) -> tf.Tensor:
    """Returns `r - 1 - log(r)` for r > 0, to full precision near its minimum at 1."""
    x = ratio - 1
    near = tf.abs(x) < 0.3
    inner = tf.where(near, x, tf.zeros_like(x))
    # log(1 + x) = 2 atanh(t), and x - 2 t = x t.
    t = inner / (2 + inner)
    series = _polynomials.horner(t * t, [1 / (2 * k + 3) for k in range(11)])
    outer = tf.where(near, tf.ones_like(x), ratio)
    return tf.where(near, inner * t - 2 * t**3 * series, x - tf.math.log(outer))


def stirling_correction(a: tf.Tensor) -> tf.Tensor:
    """Returns `lgamma(a) - (a - 1/2) log(a) + a - log(2 pi) / 2`."""
    tfp = _optional.require("tensorflow_probability")

    large = a >= _STIRLING_FROM
    small_a = tf.where(large, tf.ones_like(a), a)
    large_a = tf.where(large, a, tf.fill(tf.shape(a), tf.cast(_STIRLING_FROM, a.dtype)))
    return tf.where(
        large,
        tfp.math.log_gamma_correction(large_a),
        tf.math.lgamma(small_a)
        - (small_a - 0.5) * tf.math.log(small_a)
        + small_a
        - _HALF_LOG_2_PI,
    )


def log_gamma_half_step(a: tf.Tensor) -> tf.Tensor:
    """Returns `lgamma(a + 1/2) - lgamma(a)`, without cancellation for large a."""
    return (
        a * tf.math.log1p(0.5 / a)
        + 0.5 * tf.math.log(a)
        - 0.5
        + stirling_correction(a + 0.5)
        - stirling_correction(a)
    )


def gamma_kernel(a: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Returns `x^a exp(-x) / Gamma(a)`, x times the density of Gamma(a), for x > 0."""
    exponent = -a * excess_over_log(x / a) - stirling_correction(a)
    return tf.sqrt(a / (2 * math.pi)) * tf.exp(exponent)


def beta_kernel(a: tf.Tensor, b: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Returns `x^a (1 - x)^b / B(a, b)`, for x in (0, 1)."""
    total = a + b
    exponent = (
        -a * excess_over_log(x * total / a)
        - b * excess_over_log((1 - x) * total / b)
        - beta_correction(a, b)
    )
    return tf.sqrt(a / total * b / (2 * math.pi)) * tf.exp(exponent)


def beta_correction(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns log B(a, b) minus its leading Stirling terms."""
    return stirling_correction(a) + stirling_correction(b) - stirling_correction(a + b)


def _normal_like_cdf(
    z: tf.Tensor, density: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Integrates a nearly normal density, in standard units, up to z."""
    lower, upper = _NORMAL_LIKE_SUPPORT
    rule = _polynomials.gauss_legendre(_NORMAL_LIKE_NODES)
    nodes, weights = (along_new_axis(part, z) for part in rule)
    width = tf.clip_by_value(z, lower, upper) - lower
    t = lower + width * nodes
    return tf.minimum(width * tf.reduce_sum(weights * density(t), axis=0), 1)


def gamma_cdf(a: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Regularized lower incomplete gamma function for x > 0 and any a > 0."""
    large = a >= LARGE_CONCENTRATION
    some = tf.ones_like(a)
    small = tf.math.igamma(tf.where(large, some, a), tf.where(large, some, x))
    a = tf.where(large, a, some * LARGE_CONCENTRATION)
    sd = tf.sqrt(a)
    integral = _normal_like_cdf(
        tf.where(large, (x - a) / sd, tf.zeros_like(a)),
        lambda t: gamma_kernel(a, a + sd * t) / (sd + t),
    )
    return tf.where(large, integral, small)


@tf.custom_gradient
def _betainc(a: tf.Tensor, b: tf.Tensor, x: tf.Tensor) -> Any:
    """TFP's betainc, its derivatives taken just beside a and b.

    At integers they are wrong in the third digit.
    """
    tfp = _optional.require("tensorflow_probability")

    def gradient(upstream):
        with tf.GradientTape() as tape:
            tape.watch((a, b, x))
            value = tfp.math.betainc(a * _BESIDE, b * _BESIDE, x)
        return tape.gradient(value, (a, b, x), upstream)

    return tfp.math.betainc(a, b, x), gradient


def beta_cdf(a: tf.Tensor, b: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Regularized incomplete beta function for x in (0, 1) and any a, b > 0."""
    large = tf.minimum(a, b) >= LARGE_CONCENTRATION
    some = tf.ones_like(a)
    small = _betainc(
        tf.where(large, some, a), tf.where(large, some, b), tf.where(large, some / 2, x)
    )
    a = tf.where(large, a, some * LARGE_CONCENTRATION)
    b = tf.where(large, b, some * LARGE_CONCENTRATION)
    mean = a / (a + b)
    sd = tf.sqrt(mean * (b / (a + b)) / (a + b))

    def density(t):
        x = mean + sd * t
        return beta_kernel(a, b, x) * sd / (x * (1 - x))

    z = tf.where(large, (x - mean) / sd, tf.zeros_like(a))
    return tf.where(large, _normal_like_cdf(z, density), small)


# The series of Ein serves up to here, the continued fraction of E1 from here on.
EIN_UP_TO = 2.0


def complementary_exponential_integral(x: tf.Tensor) -> tf.Tensor:
    """Ein(x) = integral of (1 - exp(-t)) / t over [0, x], for x in [0, 2]."""
    terms = [(-1) ** k / ((k + 1) * math.factorial(k + 1)) for k in range(25)]
    return x * _polynomials.horner(x, terms)


def exponential_integral(x: tf.Tensor) -> tf.Tensor:
    """E1(x) = integral of exp(-t) / t over [x, inf), for x >= 2."""
    fraction = tf.zeros_like(x)
    for k in range(50, 0, -1):  # The depth that converges at x = 2.
        fraction = k * k / (x + 2 * k + 1 - fraction)
    return tf.exp(-x) / (x + 1 - fraction)
