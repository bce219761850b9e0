"""Closed forms of the CRPS under the distributions of TensorFlow Probability.

Each function takes labels, of the full shape of the result, and a distribution. It
returns the score, and whether the parameters are in range. If they are not, the score
is computed for harmless parameters instead.

All but a few have the form `(y - mean) (2 F(y) - 1) + rest`. Since the derivative of
the CRPS in y is `2 F(y) - 1`, the derivatives of F and of `rest` in y cancel. Where
either is large, as in the Gamma and Beta families near the ends of the support, they
are left out by `tf.stop_gradient`, and the sum of the two is exactly 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _optional
from uncertainty_metrics.ops import _polynomials
from uncertainty_metrics.tensors.distributions import _crps_parameters as _parameters
from uncertainty_metrics.tensors.distributions import (
    _extreme_value_crps,
    _special,
    _truncated_crps,
)
from uncertainty_metrics.tensors.distributions._crps_parameters import Score

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution

# It returns None for a distribution without one, if others of the class have one.
ClosedForm = Callable[[tf.Tensor, Any], Score | None]

_SQRT_2 = math.sqrt(2)
_SQRT_PI = math.sqrt(math.pi)
_LOG_2 = math.log(2)

# Within this distance of df = 1, StudentT uses a series.
_NEAR_CAUCHY = 0.125
# A LogNormal of a smaller scale is computed relative to its mean.
_NARROW_LOG_NORMAL = 0.5


def _normal_pdf(z: tf.Tensor) -> tf.Tensor:
    return tf.exp(-0.5 * tf.square(z)) / math.sqrt(2 * math.pi)


def normal(y: tf.Tensor, distribution: Distribution) -> Score:
    centred, scale, valid = _parameters.location_scale(y, distribution)
    z = centred / scale
    rest = 2 * _normal_pdf(z) - 1 / _SQRT_PI
    return centred * tf.math.erf(z / _SQRT_2) + scale * rest, valid


def half_normal(y: tf.Tensor, distribution: Distribution) -> Score:
    scale, valid = _parameters.positive(distribution.scale, y)
    inside = y > 0
    z = tf.where(inside, y, tf.zeros_like(y)) / scale
    rest = scale * (4 * _normal_pdf(z) - 2 / _SQRT_PI)
    return y * (2 * tf.math.erf(z / _SQRT_2) - 1) + rest, valid


def laplace(y: tf.Tensor, distribution: Distribution) -> Score:
    centred, scale, valid = _parameters.location_scale(y, distribution)
    distance = tf.abs(centred)
    return distance + scale * (tf.exp(-distance / scale) - 0.75), valid


def logistic(y: tf.Tensor, distribution: Distribution) -> Score:
    centred, scale, valid = _parameters.location_scale(y, distribution)
    distance = tf.abs(centred)
    # Not softplus: for a large negative number it is 0, with a gradient of 0.
    rest = 2 * tf.math.log1p(tf.exp(-distance / scale)) - 1
    return distance + scale * rest, valid


def uniform(y: tf.Tensor, distribution: Distribution) -> Score:
    low, right_low = _parameters.finite(distribution.low, y)
    high, right_high = _parameters.finite(distribution.high, y)
    valid = right_low & right_high & (low < high)
    high = tf.where(valid, high, low + 1)
    width = high - low
    from_centre = tf.clip_by_value((y - low) / width, 0, 1) - 0.5
    outside = tf.nn.relu(low - y) + tf.nn.relu(y - high)
    return outside + width * (tf.square(from_centre) + 1 / 12), valid


def exponential(y: tf.Tensor, distribution: Distribution) -> Score:
    rate, valid = _parameters.positive(distribution.rate, y)
    inside = y >= 0
    positive = tf.where(inside, y, tf.zeros_like(y))
    rest = (2 * tf.math.expm1(-positive * rate) + 0.5) / rate
    return tf.where(inside, positive, -y) + rest, valid


def _gamma(y: tf.Tensor, a: tf.Tensor, rate: tf.Tensor) -> tf.Tensor:
    inside = y > 0
    # See the module: no derivative in x.
    x = tf.stop_gradient(tf.where(inside, y, tf.ones_like(y)) * rate)
    x = tf.maximum(x, np.finfo(x.dtype.as_numpy_dtype).tiny)
    zero = tf.zeros_like(y)
    rises = 2 * tf.where(inside, _special.gamma_cdf(a, x), zero) - 1
    kernel = tf.where(inside, _special.gamma_kernel(a, x), zero)
    # 1 / B(1/2, a), half the mean difference of two draws.
    spread = tf.exp(_special.log_gamma_half_step(a)) / _SQRT_PI
    return (y - a / rate) * rises + (2 * kernel - spread) / rate


@_parameters.in_double
def gamma(y: tf.Tensor, distribution: Distribution) -> Score:
    a, right_a = _parameters.positive(distribution.concentration, y)
    if distribution.rate is not None:
        rate, right_rate = _parameters.positive(distribution.rate, y)
    else:
        log_rate, right_rate = _parameters.finite(distribution.log_rate, y)
        rate = tf.exp(log_rate)
    return _gamma(y, a, rate), right_a & right_rate


@_parameters.in_double
def chi2(y: tf.Tensor, distribution: Distribution) -> Score:
    df, valid = _parameters.positive(distribution.df, y)
    return _gamma(y, df / 2, 0.5 * tf.ones_like(y)), valid


@_parameters.in_double
def beta(y: tf.Tensor, distribution: Distribution) -> Score:
    a, right_a = _parameters.positive(distribution.concentration1, y)
    b, right_b = _parameters.positive(distribution.concentration0, y)
    inside = (y > 0) & (y < 1)
    # See the module: no derivative in x.
    x = tf.stop_gradient(tf.where(inside, y, 0.5 * tf.ones_like(y)))
    one, zero = tf.ones_like(y), tf.zeros_like(y)
    cdf = tf.where(inside, _special.beta_cdf(a, b, x), tf.where(y >= 1, one, zero))
    kernel = tf.where(inside, _special.beta_kernel(a, b, x), zero)
    total = a + b
    # B(2a, 2b) / B(a, b)^2.
    correction = _special.beta_correction(2 * a, 2 * b)
    correction -= 2 * _special.beta_correction(a, b)
    spread = tf.sqrt(a / total * b / (4 * math.pi)) * tf.exp(correction)
    score = (y - a / total) * (2 * cdf - 1) + 2 / total * (kernel - spread)
    return score, right_a & right_b


def _zeta(n: int) -> float:
    """Riemann's zeta function of n >= 2, by the Euler-Maclaurin formula."""
    m = 20
    tail = m ** (1 - n) / (n - 1) - 0.5 * m**-n
    tail += n / 12 * m ** (-n - 1) - n * (n + 1) * (n + 2) / 720 * m ** (-n - 3)
    return sum(k**-n for k in range(m, 0, -1)) + tail


@functools.cache
def _cauchy_series() -> list[float]:
    """Coefficients of `log(B(1/2, 1/2 + e) / B(1/2, (1 + e) / 2)) / e` in e."""
    return [-_LOG_2] + [
        (-1) ** n * (1 - 2.0**-n) * (2.0**n - 2) * _zeta(n) / n for n in range(2, 30)
    ]


@_parameters.in_double
def student_t(y: tf.Tensor, distribution: Distribution) -> Score:
    df, valid = _parameters.positive(distribution.df, y)
    return _student_t(y, distribution, df, valid)


@_parameters.in_double
def cauchy(y: tf.Tensor, distribution: Distribution) -> Score:
    return _student_t(y, distribution, tf.ones_like(y), tf.constant(True))


def _student_t(
    y: tf.Tensor, distribution: Distribution, df: tf.Tensor, valid: tf.Tensor
) -> Score:
    tfp = _optional.require("tensorflow_probability")

    centred, scale, right = _parameters.location_scale(y, distribution)
    proper = df > 0.5
    df = tf.where(proper, df, tf.ones_like(df))
    z = centred / scale
    one, zero = tf.ones_like(df), tf.zeros_like(df)
    cdf = tfp.distributions.StudentT(df, zero, one).cdf(z)

    # With e = df - 1 and C = B(1/2, df - 1/2) / B(1/2, df / 2), the rest is
    #   2 sqrt(df) / B(1/2, df / 2) * ((1 + z^2 / df)^(-e/2) - C) / e,
    # where the last factor, from the logarithms of both powers, passes through e = 0.
    e = df - 1
    near = tf.abs(e) < _NEAR_CAUCHY
    half_step = _special.log_gamma_half_step(df / 2)
    ratio = tf.where(
        near,
        _polynomials.horner(tf.where(near, e, zero), _cauchy_series()),
        (half_step - _special.log_gamma_half_step(df - 0.5)) / tf.where(near, one, e),
    )
    log_power = -0.5 * tfp.math.log1psquare(z / tf.sqrt(df))
    difference = log_power * _parameters.expm1_over(
        e * log_power
    ) - ratio * _parameters.expm1_over(e * ratio)
    rest = 2 * tf.sqrt(df) * tf.exp(half_step) / _SQRT_PI * difference
    score = centred * (2 * cdf - 1) + scale * rest
    # The integral over the tails diverges.
    infinite = tf.constant(np.inf, score.dtype)
    return tf.where(proper, score, infinite), valid & right


def _erf_difference(z: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    """Returns `erf(z / sqrt 2) - erf((z - width) / sqrt 2)` for a small width."""
    rule = _polynomials.gauss_legendre(8)
    nodes, weights = (_special.along_new_axis(part, z) for part in rule)
    density = _normal_pdf(z - width * nodes)
    return 2 * width * tf.reduce_sum(weights * density, axis=0)


def log_normal(y: tf.Tensor, distribution: Distribution) -> Score:
    tfp = _optional.require("tensorflow_probability")

    loc, right_loc = _parameters.finite(distribution.loc, y)
    scale, right_scale = _parameters.positive(distribution.scale, y)
    inside = y > 0
    some = tf.where(inside, y, tf.exp(loc))
    log_ratio = tf.math.log(some) - loc

    # A narrow distribution: relative to the mean, without differences of equal terms.
    narrow = scale < _NARROW_LOG_NORMAL
    half = _NARROW_LOG_NORMAL * tf.ones_like(scale)
    s = tf.where(narrow, scale, half)
    z = log_ratio / s
    mean = tf.exp(loc + 0.5 * tf.square(s))
    # Far above the mean the derivatives of exp(log_ratio) would cancel.
    near = tf.abs(log_ratio) < 1
    exponent = tf.where(near, log_ratio - 0.5 * tf.square(s), tf.zeros_like(s))
    excess = tf.where(near, mean * tf.math.expm1(exponent), some - mean)
    narrow_score = excess * tf.math.erf(z / _SQRT_2) + mean * (
        _erf_difference(z, s) - tf.math.erf(s / 2)
    )

    # A wide distribution: no exponential is larger than the score.
    s = tf.where(narrow, half, scale)
    z = log_ratio / s
    spread = tf.exp(loc + 0.25 * tf.square(s)) * tfp.math.erfcx(s / 2)
    below = z < s
    gap = tf.where(below, s - z, tf.zeros_like(s)) / _SQRT_2
    lower = some * tf.exp(-0.5 * tf.square(z)) * tfp.math.erfcx(gap)
    gap = tf.where(below, tf.zeros_like(s), s - z) / _SQRT_2
    exponent = tf.where(below, tf.zeros_like(s), loc + 0.5 * tf.square(s))
    upper = tf.exp(exponent) * tf.math.erfc(gap)
    wide_score = (
        some * tf.math.erf(z / _SQRT_2) + spread - tf.where(below, lower, upper)
    )

    outside = -y + tf.exp(loc + 0.25 * tf.square(scale)) * tfp.math.erfcx(scale / 2)
    score = tf.where(inside, tf.where(narrow, narrow_score, wide_score), outside)
    return score, right_loc & right_scale


@tf.custom_gradient
def _poisson_spread(
    rate: tf.Tensor,
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """Half the mean difference of two draws, `rate (I0 + I1)(2 rate) exp(-2 rate)`."""
    i0 = tf.math.bessel_i0e(2 * rate)
    # The derivative is I0 alone. The other terms in the derivative of the product would
    # cancel.
    return rate * (i0 + tf.math.bessel_i1e(2 * rate)), lambda upstream: upstream * i0


@_parameters.in_double
def poisson(y: tf.Tensor, distribution: Distribution) -> Score:
    rate, valid = _parameters.positive(distribution.rate_parameter(), y)
    inside = y >= 0
    successor = tf.floor(tf.where(inside, y, tf.zeros_like(y))) + 1
    zero = tf.zeros_like(y)
    cdf = tf.where(inside, 1 - _special.gamma_cdf(successor, rate), zero)
    kernel = tf.where(inside, _special.gamma_kernel(successor, rate), zero)
    score = (y - rate) * (2 * cdf - 1) + 2 * kernel - _poisson_spread(rate)
    return score, valid


def geometric(y: tf.Tensor, distribution: Distribution) -> Score:
    if distribution.logits is not None:
        logits, valid = _parameters.finite(distribution.logits, y)
        p, log_q = tf.sigmoid(logits), -tf.math.softplus(logits)
    else:
        p, valid = _parameters.positive(distribution.probs, y)
        valid &= p <= 1
        # For p = 1 it is log(0). exp(-1e4) is 0, but its powers have gradients.
        p = tf.where(valid, p, 0.5 * tf.ones_like(p))
        certain = p == 1
        some = tf.where(certain, 0.5 * tf.ones_like(p), p)
        log_q = tf.where(certain, -1e4 * tf.ones_like(p), tf.math.log1p(-some))
    q = tf.exp(log_q)
    inside = y >= 0
    positive = tf.where(inside, y, tf.zeros_like(y))
    k = tf.floor(positive)
    # The integral of 1 - F over [0, y]; the last cell may be cut.
    survival = -q * tf.math.expm1(k * log_q) / p
    survival += (positive - k) * tf.exp((k + 1) * log_q)
    score = tf.where(inside, positive, -y) - 2 * survival
    return score + tf.square(q) / (p * (1 + q)), valid


def deterministic(y: tf.Tensor, distribution: Distribution) -> Score:
    loc, valid = _parameters.finite(distribution.loc, y)
    return tf.abs(y - loc), valid


def _cells(
    y: tf.Tensor, outcomes: tf.Tensor, below: tf.Tensor, above: tf.Tensor
) -> tf.Tensor:
    """Returns the exact score of a step function.

    Args:
      y: labels, [...].
      outcomes: [..., K], where the CDF steps, sorted along the last axis.
      below: [..., K - 1], the CDF between two outcomes.
      above: [..., K - 1], one minus that.
    """
    left, right = outcomes[..., :-1], outcomes[..., 1:]
    cut = tf.minimum(tf.maximum(y[..., tf.newaxis], left), right)
    cells = (cut - left) * tf.square(below) + (right - cut) * tf.square(above)
    outside = tf.nn.relu(outcomes[..., 0] - y) + tf.nn.relu(y - outcomes[..., -1])
    return tf.reduce_sum(cells, axis=-1) + outside


def _finite_discrete(y: tf.Tensor, outcomes: Any, probabilities: Any) -> Score:
    probabilities, valid = _parameters.probabilities(probabilities, y)
    below = tf.cumsum(probabilities, axis=-1)[..., :-1]
    above = tf.cumsum(probabilities, axis=-1, exclusive=True, reverse=True)[..., :-1]
    return _cells(y, outcomes, below, above), valid


def finite_discrete(y: tf.Tensor, distribution: Distribution) -> Score:
    outcomes = tf.cast(distribution.outcomes, y.dtype)
    right = tf.reduce_all(outcomes[1:] > outcomes[:-1])
    right &= tf.reduce_all(tf.math.is_finite(outcomes))
    score, valid = _finite_discrete(y, outcomes, distribution.probs_parameter())
    return score, valid & right


def categorical(y: tf.Tensor, distribution: Distribution) -> Score:
    probabilities = distribution.probs_parameter()
    outcomes = tf.cast(tf.range(tf.shape(probabilities)[-1]), y.dtype)
    return _finite_discrete(y, outcomes, probabilities)


def bernoulli(y: tf.Tensor, distribution: Distribution) -> Score:
    if distribution.logits is not None:
        logits, valid = _parameters.finite(distribution.logits, y)
        above, below = tf.sigmoid(logits), tf.sigmoid(-logits)
    else:
        above, valid = _parameters.finite(distribution.probs, y)
        valid &= (above >= 0) & (above <= 1)
        below = 1 - above
    outcomes = tf.constant([0, 1], y.dtype)
    return _cells(y, outcomes, below[..., tf.newaxis], above[..., tf.newaxis]), valid


def empirical(y: tf.Tensor, distribution: Distribution) -> Score:
    outcomes = tf.sort(tf.cast(distribution.samples, y.dtype), axis=-1)
    right = tf.reduce_all(tf.math.is_finite(outcomes), axis=-1)
    some = tf.zeros_like(outcomes)
    outcomes = tf.where(right[..., tf.newaxis], outcomes, some)
    probabilities = tf.ones_like(outcomes)
    probabilities /= tf.reduce_sum(probabilities, axis=-1, keepdims=True)
    score, valid = _finite_discrete(y, outcomes, probabilities)
    return score, valid & right


def _distance_to_normal(difference: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """E|d + s Z| for a standard normal Z."""
    z = difference / scale
    return difference * tf.math.erf(z / _SQRT_2) + 2 * scale * _normal_pdf(z)


def _normal_mixture(y: tf.Tensor, probabilities: Any, loc: Any, scale: Any) -> Score:
    """The score of a mixture of K normals, parameters [..., K]: O(K^2) per label."""
    weights, valid = _parameters.probabilities(probabilities, y)
    # At the full shape, so that one wrong component spoils no other row.
    like = y[..., tf.newaxis] + tf.zeros_like(weights)
    loc, right_loc = _parameters.finite(loc, like)
    scale, right_scale = _parameters.positive(scale, like)
    valid &= tf.reduce_all(right_loc & right_scale, axis=-1)
    first = tf.reduce_sum(
        weights * _distance_to_normal(y[..., tf.newaxis] - loc, scale), axis=-1
    )
    small = tf.minimum(scale[..., tf.newaxis], scale[..., tf.newaxis, :])
    large = tf.maximum(scale[..., tf.newaxis], scale[..., tf.newaxis, :])
    pairs = _distance_to_normal(
        loc[..., tf.newaxis] - loc[..., tf.newaxis, :],
        large * tf.sqrt(1 + tf.square(small / large)),  # Squares would underflow.
    )
    weight = weights[..., tf.newaxis] * weights[..., tf.newaxis, :]
    return first - 0.5 * tf.reduce_sum(weight * pairs, axis=[-2, -1]), valid


def mixture_same_family(y: tf.Tensor, distribution: Distribution) -> Score | None:
    components = distribution.components_distribution
    if lookup(components) is not normal:
        return None
    weights = distribution.mixture_distribution.probs_parameter()
    return _normal_mixture(y, weights, components.loc, components.scale)


def mixture(y: tf.Tensor, distribution: Distribution) -> Score | None:
    components = distribution.components
    forms = [lookup(component) for component in components]
    if forms.count(_truncated_crps.truncated_normal) == 1 and (
        forms.count(deterministic) == len(forms) - 1
    ):
        return _truncated_crps.censored_normal(y, distribution)
    if any(form is not normal for form in forms):
        return None
    loc, scale = (
        tf.stack(
            [_parameters.parameter(getattr(c, name), y) for c in components], axis=-1
        )
        for name in ("loc", "scale")
    )
    return _normal_mixture(y, distribution.cat.probs_parameter(), loc, scale)


@functools.cache
def _table() -> dict[type, ClosedForm]:
    # Imported here, because importing TensorFlow Probability takes seconds.
    tfp = _optional.require("tensorflow_probability")

    tfd = tfp.distributions
    table: dict[type, ClosedForm] = {
        tfd.Bernoulli: bernoulli,
        tfd.Beta: beta,
        tfd.Categorical: categorical,
        tfd.Cauchy: cauchy,
        tfd.Chi2: chi2,
        tfd.Deterministic: deterministic,
        tfd.Empirical: empirical,
        tfd.Exponential: exponential,
        tfd.FiniteDiscrete: finite_discrete,
        tfd.Gamma: gamma,
        tfd.GeneralizedExtremeValue: _extreme_value_crps.generalized_extreme_value,
        tfd.GeneralizedPareto: _extreme_value_crps.generalized_pareto,
        tfd.Geometric: geometric,
        tfd.Gumbel: _extreme_value_crps.gumbel,
        tfd.HalfNormal: half_normal,
        tfd.Laplace: laplace,
        tfd.LogNormal: log_normal,
        tfd.Logistic: logistic,
        tfd.Mixture: mixture,
        tfd.MixtureSameFamily: mixture_same_family,
        tfd.Normal: normal,
        tfd.Poisson: poisson,
        tfd.StudentT: student_t,
        tfd.TruncatedNormal: _truncated_crps.truncated_normal,
        tfd.Uniform: uniform,
    }
    # Mixtures that hold distributions without a TypeSpec are of a private base class.
    for public in (tfd.Mixture, tfd.MixtureSameFamily):
        for base in public.__mro__:
            if base.__name__ == f"_{public.__name__}":
                table[base] = table[public]
    return table


# A subclass that defines one of these is a distribution of its own.
_DEFINING = ("_cdf", "_log_cdf", "_prob", "_log_prob", "_survival_function")


def lookup(distribution: Distribution) -> ClosedForm | None:
    """Returns the closed form for the most specific class that has one."""
    table = _table()
    for cls in type(distribution).__mro__:
        if cls in table:
            return table[cls]
        if any(name in vars(cls) for name in _DEFINING):
            return None
    return None
