"""Distributions of TFP and SciPy, and a reference CRPS by integrals of SciPy's CDFs."""

import numpy as np
import pytest
import scipy.stats as st
import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions


def double(value):
    return tf.constant(value, tf.float64)


def named(name, parameters, dtype=tf.float64):
    """Returns a distribution of TFP; None stands for a parameter that is not given."""
    parameters = [None if p is None else tf.constant(p, dtype) for p in parameters]
    return getattr(tfd, name)(*parameters)


def with_gradients(score, *inputs):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        scores = score(*inputs)
    return scores, *tape.gradient(scores, inputs)


def differences(score, inputs, i, step):
    """Returns central differences in input i; score n must depend on row n alone."""
    up, down = (
        score(*[x + move if i == j else x for j, x in enumerate(inputs)])
        for move in (step, -step)
    )
    return (up - down) / (2 * np.max(step))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)


def integral(cdf, sf, points, label, power=2):
    """Returns the CRPS by Gauss-Legendre rules between the points and the label.

    With power 1, returns the mean distance to the label.
    """
    points = np.asarray([*points, label], float)
    points = np.unique(points[np.isfinite(points)])
    half = np.diff(points)[:, np.newaxis] / 2
    z = points[:-1, np.newaxis] + half * (NODES + 1)
    left, side = z < label, np.empty_like(z)
    side[left], side[~left] = cdf(z[left]), sf(z[~left])
    return np.sum(half * WEIGHTS * side**power)


def quantiles(frozen):
    tails = 10.0 ** -np.arange(1, 31)
    middle = np.linspace(0.1, 0.9, 33)
    ends = frozen.support()
    return [*frozen.ppf(tails), *frozen.ppf(middle), *frozen.isf(tails), *ends]


def mixed(weights, parts, side):
    """Returns the CDF ("cdf") of a mixture, or 1 minus the CDF ("sf")."""
    pairs = list(zip(weights, parts, strict=True))
    return lambda z: sum(w * getattr(part, side)(z) for w, part in pairs)


def reference(frozen, labels, weights=(1,), kinks=(), power=2):
    """Returns the scores of a distribution of SciPy, or of a mixture of several."""
    parts = frozen if isinstance(frozen, list) else [frozen]
    points = [*np.ravel([quantiles(part) for part in parts]), *kinks]
    sides = mixed(weights, parts, "cdf"), mixed(weights, parts, "sf")
    return [integral(*sides, points, label, power) for label in labels]


def around(center, scale):
    """Makes labels in the middle, in both tails and far outside."""
    steps = [-1e6, -37, -4, -1, -1e-3, 0, 0.3, 1, 2.5, 9, 1e6]
    return center + scale * np.array(steps)


def labels_for(frozen):
    low, middle, high = frozen.ppf([0.25, 0.5, 0.75])
    return np.concatenate([around(middle, high - low), [0.0]])


def sum_of_cells(cdf, sf, label, last, first=0):
    """Returns the CRPS of a distribution on first, ..., last, by cells of length 1."""
    k = np.arange(first, last + 1)
    left = np.clip(label, k, k + 1) - k
    cells = left * cdf(k) ** 2 + (1 - left) * sf(k) ** 2
    return np.sum(cells) + max(first - label, 0) + max(label - last - 1, 0)


REALS = np.array([-1e6, -2.5, -1, 0, 0.3, 1, 2, 2.999, 3, 7.5, 40, 1e6])


# The distributions of SciPy, from the parameters of TFP.
FROZEN = {
    "Beta": st.beta,
    "Cauchy": st.cauchy,
    "Chi2": st.chi2,
    "Exponential": lambda rate: st.expon(0, 1 / rate),
    "Gamma": lambda a, rate: st.gamma(a, 0, 1 / rate),
    "GeneralizedExtremeValue": lambda loc, scale, c: st.genextreme(-c, loc, scale),
    "GeneralizedPareto": lambda loc, scale, c: st.genpareto(c, loc, scale),
    "Gumbel": st.gumbel_r,
    "HalfCauchy": st.halfcauchy,
    "HalfNormal": lambda scale: st.halfnorm(0, scale),
    "InverseGamma": lambda a, scale: st.invgamma(a, 0, scale),
    "Laplace": st.laplace,
    "LogLogistic": lambda loc, scale: st.fisk(1 / scale, 0, np.exp(loc)),
    "LogNormal": lambda loc, scale: st.lognorm(scale, 0, np.exp(loc)),
    "Logistic": st.logistic,
    "Moyal": st.moyal,
    "Normal": st.norm,
    "Pareto": lambda a, scale: st.pareto(a, 0, scale),
    "StudentT": st.t,
    "Triangular": lambda low, high, peak: st.triang(peak),
    "TruncatedNormal": lambda loc, scale, low, high: st.truncnorm(
        (low - loc) / scale, (high - loc) / scale, loc, scale
    ),
    "Uniform": lambda low, high: st.uniform(low, high - low),
    "Weibull": lambda a, scale: st.weibull_min(a, 0, scale),
}


def table(cases):
    """Parametrizes a test by names and parameters."""
    pairs = [(name, p) for name, parameters in cases.items() for p in parameters]
    return pytest.mark.parametrize(("name", "parameters"), pairs, ids=str)
