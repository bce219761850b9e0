"""Special functions that TensorFlow lacks, or has without the accuracy needed here."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics.ops import xp

# Below, lgamma itself is accurate; from here on its Stirling series is.
_STIRLING_FROM = 8.0
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)

# From this concentration on, incomplete gamma and beta functions are integrals of a
# nearly normal density. TensorFlow's iterations lose digits there, in the end all.
LARGE_CONCENTRATION = 1000.0
# The mass of such a density outside these standard deviations is below 1e-16.
_NORMAL_LIKE_SUPPORT = (-9.0, 10.0)
_NORMAL_LIKE_NODES = 48

# Far enough from an integer for TFP's derivatives of betainc to be right to 2e-8.
_BESIDE = 1 + 1e-8


def horner(x: xp.Tensor, coefficients: Sequence[float]) -> xp.Tensor:
    """Returns `c_0 + c_1 x + c_2 x^2 + ...`."""
    total = xp.zeros_like(x)
    for coefficient in reversed(coefficients):  # A static number of terms.
        total = total * x + coefficient
    return total


@functools.cache
def gauss_legendre(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(num_nodes)
    return (nodes + 1) / 2, weights / 2


def along_new_axis(values: np.ndarray, like: xp.Tensor) -> xp.Tensor:
    """Returns values [n] as [n, 1, ..., 1], to broadcast against `like`."""
    column = xp.constant(values, like.dtype)
    return xp.reshape(column, [-1] + [1] * len(like.shape))


def excess_over_log(ratio: xp.Tensor) -> xp.Tensor:
    """Returns `r - 1 - log(r)` for r > 0, to full precision near its minimum at 1."""
    x = ratio - 1
    near = xp.abs(x) < 0.3
    inner = xp.where(near, x, xp.zeros_like(x))
    # log(1 + x) = 2 atanh(t), and x - 2 t = x t.
    t = inner / (2 + inner)
    series = horner(t * t, [1 / (2 * k + 3) for k in range(11)])
    outer = xp.where(near, xp.ones_like(x), ratio)
    return xp.where(near, inner * t - 2 * t**3 * series, x - xp.math.log(outer))


def stirling_correction(a: xp.Tensor) -> xp.Tensor:
    """Returns `lgamma(a) - (a - 1/2) log(a) + a - log(2 pi) / 2`."""
    tfp = _optional.require("tensorflow_probability")

    large = a >= _STIRLING_FROM
    small_a = xp.where(large, xp.ones_like(a), a)
    large_a = xp.where(large, a, xp.fill(xp.shape(a), xp.cast(_STIRLING_FROM, a.dtype)))
    return xp.where(
        large,
        tfp.math.log_gamma_correction(large_a),
        xp.math.lgamma(small_a)
        - (small_a - 0.5) * xp.math.log(small_a)
        + small_a
        - _HALF_LOG_2_PI,
    )


def log_gamma_half_step(a: xp.Tensor) -> xp.Tensor:
    """Returns `lgamma(a + 1/2) - lgamma(a)`, without cancellation for large a."""
    return (
        a * xp.math.log1p(0.5 / a)
        + 0.5 * xp.math.log(a)
        - 0.5
        + stirling_correction(a + 0.5)
        - stirling_correction(a)
    )


def gamma_kernel(a: xp.Tensor, x: xp.Tensor) -> xp.Tensor:
    """Returns `x^a exp(-x) / Gamma(a)`, x times the density of Gamma(a), for x > 0."""
    exponent = -a * excess_over_log(x / a) - stirling_correction(a)
    return xp.sqrt(a / (2 * math.pi)) * xp.exp(exponent)


def beta_kernel(a: xp.Tensor, b: xp.Tensor, x: xp.Tensor) -> xp.Tensor:
    """Returns `x^a (1 - x)^b / B(a, b)`, for x in (0, 1)."""
    total = a + b
    exponent = (
        -a * excess_over_log(x * total / a)
        - b * excess_over_log((1 - x) * total / b)
        - beta_correction(a, b)
    )
    return xp.sqrt(a / total * b / (2 * math.pi)) * xp.exp(exponent)


def beta_correction(a: xp.Tensor, b: xp.Tensor) -> xp.Tensor:
    """Returns what log B(a, b) has in excess of its leading Stirling terms."""
    return stirling_correction(a) + stirling_correction(b) - stirling_correction(a + b)


def _normal_like_cdf(
    z: xp.Tensor, density: Callable[[xp.Tensor], xp.Tensor]
) -> xp.Tensor:
    """Integrates a nearly normal density, in standard units, up to z."""
    lower, upper = _NORMAL_LIKE_SUPPORT
    rule = gauss_legendre(_NORMAL_LIKE_NODES)
    nodes, weights = (along_new_axis(part, z) for part in rule)
    width = xp.clip_by_value(z, lower, upper) - lower
    t = lower + width * nodes
    return xp.minimum(width * xp.reduce_sum(weights * density(t), axis=0), 1)


def gamma_cdf(a: xp.Tensor, x: xp.Tensor) -> xp.Tensor:
    """Regularized lower incomplete gamma function for x > 0 and any a > 0."""
    large = a >= LARGE_CONCENTRATION
    some = xp.ones_like(a)
    small = xp.math.igamma(xp.where(large, some, a), xp.where(large, some, x))
    a = xp.where(large, a, some * LARGE_CONCENTRATION)
    sd = xp.sqrt(a)
    integral = _normal_like_cdf(
        xp.where(large, (x - a) / sd, xp.zeros_like(a)),
        lambda t: gamma_kernel(a, a + sd * t) / (sd + t),
    )
    return xp.where(large, integral, small)


@xp.custom_gradient
def _betainc(a: xp.Tensor, b: xp.Tensor, x: xp.Tensor) -> Any:
    """TFP's betainc, its derivatives taken just beside a and b.

    At integers they are wrong in the third digit.
    """
    tfp = _optional.require("tensorflow_probability")

    def gradient(upstream):
        with xp.GradientTape() as tape:
            tape.watch((a, b, x))
            value = tfp.math.betainc(a * _BESIDE, b * _BESIDE, x)
        return tape.gradient(value, (a, b, x), upstream)

    return tfp.math.betainc(a, b, x), gradient


def beta_cdf(a: xp.Tensor, b: xp.Tensor, x: xp.Tensor) -> xp.Tensor:
    """Regularized incomplete beta function for x in (0, 1) and any a, b > 0."""
    large = xp.minimum(a, b) >= LARGE_CONCENTRATION
    some = xp.ones_like(a)
    small = _betainc(
        xp.where(large, some, a), xp.where(large, some, b), xp.where(large, some / 2, x)
    )
    a = xp.where(large, a, some * LARGE_CONCENTRATION)
    b = xp.where(large, b, some * LARGE_CONCENTRATION)
    mean = a / (a + b)
    sd = xp.sqrt(mean * (b / (a + b)) / (a + b))

    def density(t):
        x = mean + sd * t
        return beta_kernel(a, b, x) * sd / (x * (1 - x))

    z = xp.where(large, (x - mean) / sd, xp.zeros_like(a))
    return xp.where(large, _normal_like_cdf(z, density), small)


# The series of Ein serves up to here, the continued fraction of E1 from here on.
EIN_UP_TO = 2.0


def complementary_exponential_integral(x: xp.Tensor) -> xp.Tensor:
    """Ein(x) = integral of (1 - exp(-t)) / t over [0, x], for x in [0, 2]."""
    terms = [(-1) ** k / ((k + 1) * math.factorial(k + 1)) for k in range(25)]
    return x * horner(x, terms)


def exponential_integral(x: xp.Tensor) -> xp.Tensor:
    """E1(x) = integral of exp(-t) / t over [x, inf), for x >= 2."""
    fraction = xp.zeros_like(x)
    for k in range(50, 0, -1):  # The depth that converges at x = 2.
        fraction = k * k / (x + 2 * k + 1 - fraction)
    return xp.exp(-x) / (x + 1 - fraction)
