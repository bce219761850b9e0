"""CRPS under TFP distributions, against integrals of SciPy's CDFs."""

import mpmath
import numpy as np
import properscoring
import pytest
import scipy.stats as st
import scoringrules
import tensorflow as tf
import tensorflow_probability as tfp

from uncertainty_metrics.tensorflow import (
    _cdfs,
    _closed_form_crps,
    _quadrature,
    _special,
)
from uncertainty_metrics.tensorflow.distribution_scores import crps_distribution

tfd = tfp.distributions
tfb = tfp.bijectors


def double(value):
    return tf.constant(value, tf.float64)


def integral(cdf, sf, points, label):
    """CRPS by Gauss-Legendre rules between the points and the label."""
    points = np.asarray([*points, label], float)
    points = np.unique(points[np.isfinite(points)])
    nodes, weights = np.polynomial.legendre.leggauss(48)
    half = np.diff(points)[:, np.newaxis] / 2
    z = points[:-1, np.newaxis] + half * (nodes + 1)
    integrand = np.where(z < label, cdf(z), sf(z)) ** 2
    return np.sum(half * weights * integrand)


def quantiles(frozen):
    tails = 10.0 ** -np.arange(1, 31)
    middle = np.linspace(0.1, 0.9, 33)
    ends = frozen.support()
    return [*frozen.ppf(tails), *frozen.ppf(middle), *frozen.isf(tails), *ends]


def reference(frozen, labels, kinks=()):
    points = [*quantiles(frozen), *kinks]
    return [integral(frozen.cdf, frozen.sf, points, label) for label in labels]


def around(center, scale):
    """Labels in the middle, in both tails and far outside."""
    steps = [-1e6, -37, -4, -1, -1e-3, 0, 0.3, 1, 2.5, 9, 1e6]
    return center + scale * np.array(steps)


def labels_for(frozen):
    low, middle, high = frozen.ppf([0.25, 0.5, 0.75])
    return np.concatenate([around(middle, high - low), [0.0]])


# Name, parameters, and the distribution that SciPy has for the same parameters.
CONTINUOUS = [
    *[("Normal", p, st.norm(*p)) for p in [(0, 1), (5, 1e-6), (-3, 1e6)]],
    *[("Laplace", p, st.laplace(*p)) for p in [(0, 1), (5, 1e-6), (-3, 1e6)]],
    *[("Logistic", p, st.logistic(*p)) for p in [(0, 1), (5, 1e-6), (-3, 1e6)]],
    *[("Gumbel", p, st.gumbel_r(*p)) for p in [(0, 1), (5, 1e-6), (-3, 1e6)]],
    *[("Cauchy", p, st.cauchy(*p)) for p in [(0, 1), (5, 1e-6)]],
    *[("HalfNormal", (s,), st.halfnorm(0, s)) for s in (1e-6, 1, 1e6)],
    *[("Exponential", (r,), st.expon(0, 1 / r)) for r in (1e-6, 1, 1e6)],
    *[("Uniform", (a, b), st.uniform(a, b - a)) for a, b in [(0, 1), (-5, 1e6)]],
    *[
        ("Gamma", (a, r), st.gamma(a, 0, 1 / r))
        for a, r in [(1, 1), (0.5, 2), (0.05, 1), (30, 2), (999, 1), (1001, 1)]
    ],
    *[("Gamma", (a, r), st.gamma(a, 0, 1 / r)) for a, r in [(1e5, 1e3), (1e6, 1)]],
    *[("Chi2", (k,), st.chi2(k)) for k in (1, 3, 500)],
    *[
        ("Beta", (a, b), st.beta(a, b))
        for a, b in [(1, 1), (2, 3), (0.5, 0.5), (0.1, 5), (1e6, 2), (1e6, 1e6)]
    ],
    *[("Beta", (a, b), st.beta(a, b)) for a, b in [(999, 2000), (1001, 2000)]],
    *[
        ("StudentT", (k, 0, 1), st.t(k))
        for k in (0.6, 0.9, 1, 1 + 1e-7, 1.124, 1.126, 3, 30, 1e6)
    ],
    ("StudentT", (2, 5, 1e-6), st.t(2, 5, 1e-6)),
    *[
        ("LogNormal", (m, s), st.lognorm(s, 0, np.exp(m)))
        for m, s in [(0, 1), (0, 1e-6), (2, 0.01), (1, 0.49), (1, 0.51), (0, 3)]
    ],
]


def named(name, parameters, dtype=tf.float64):
    return getattr(tfd, name)(*[tf.constant(p, dtype) for p in parameters])


@pytest.mark.parametrize(
    ("name", "parameters", "frozen"),
    CONTINUOUS,
    ids=[f"{name}{parameters}" for name, parameters, _ in CONTINUOUS],
)
def test_closed_form_equals_the_integral(name, parameters, frozen):
    labels = labels_for(frozen)
    distribution = named(name, parameters)
    scores = crps_distribution(labels, distribution)
    assert _closed_form_crps.lookup(distribution) is not None
    # Of the scale, the rounding of the labels costs as much as they are larger.
    np.testing.assert_allclose(scores, reference(frozen, labels), rtol=2e-8)


@pytest.mark.parametrize(
    ("name", "parameters", "frozen"),
    CONTINUOUS,
    ids=[f"{name}{parameters}" for name, parameters, _ in CONTINUOUS],
)
@pytest.mark.first(6)
def test_float32_and_gradients_in_the_extremes(name, parameters, frozen):
    parameters = [float(np.float32(p)) for p in parameters]
    labels = labels_for(frozen).astype(np.float32)
    labels = np.concatenate([labels, [0, 1, -1, 1e6, 1e-30]]).astype(np.float32)
    results = []
    for dtype in (tf.float64, tf.float32):
        y = tf.constant(labels, dtype)
        inputs = [y, *[tf.fill(y.shape, tf.constant(p, dtype)) for p in parameters]]
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            scores = crps_distribution(y, getattr(tfd, name)(*inputs[1:]))
        results.append([scores, *tape.gradient(scores, inputs)])
    for exact, single in zip(*results, strict=True):
        assert single.dtype == tf.float32
        assert np.all(np.isfinite(exact))
        largest = np.max(np.abs(exact))
        np.testing.assert_allclose(single, exact, rtol=1e-4, atol=2e-5 * largest)
    # log(y) - loc is rounded to the spacing of the larger, in units of the scale.
    rounding = 3e-5 if name == "LogNormal" else 2e-6
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=rounding)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Normal", (0.3, 1.2)),
        ("Laplace", (0.3, 1.2)),
        ("Logistic", (0.3, 1.2)),
        ("Gumbel", (0.3, 1.2)),
        ("Cauchy", (0.3, 1.2)),
        ("HalfNormal", (1.2,)),
        ("Exponential", (1.2,)),
        ("Uniform", (-0.3, 1.2)),
        ("Gamma", (1.0, 1.2)),
        ("Gamma", (1200.0, 500.0)),
        ("Chi2", (3.0,)),
        ("Beta", (1.0, 1.0)),
        ("Beta", (2.0, 3.0)),
        ("Beta", (1200.0, 1300.0)),
        ("StudentT", (1.0, 0.3, 1.2)),
        ("StudentT", (0.7, 0.3, 1.2)),
        ("StudentT", (4.0, 0.3, 1.2)),
        ("LogNormal", (0.3, 0.4)),
        ("LogNormal", (0.3, 1.2)),
        ("Poisson", (2.5,)),
        ("Poisson", (1200.0,)),
        ("Geometric", (1.2,)),
        ("Weibull", (1.7, 1.2)),  # By quadrature.
    ],
)
@pytest.mark.first(8)
def test_gradients_against_finite_differences(name, parameters):
    distribution = named(name, parameters)
    center, spread = 0.3, 1.2
    if name not in ("Cauchy", "StudentT", "Pareto"):
        center, spread = float(distribution.mean()), float(distribution.stddev())
    labels = center + spread * np.array([-7.1, -1.3, -0.4, 0.011, 0.71, 1.9, 6.3])
    inputs = [tf.fill(labels.shape, double(p)) for p in parameters]
    inputs.insert(0, double(labels))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        scores = crps_distribution(inputs[0], getattr(tfd, name)(*inputs[1:]))
    gradients = tape.gradient(scores, inputs)
    for i, gradient in enumerate(gradients):
        step = 1e-5 * (spread if i == 0 else abs(float(inputs[i][0])))
        both = []
        for sign in (1, -1):
            moved = [x + sign * step if i == j else x for j, x in enumerate(inputs)]
            both.append(crps_distribution(moved[0], getattr(tfd, name)(*moved[1:])))
        expected = (both[0] - both[1]) / (2 * step)
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * scale)


# Discrete distributions.


def sum_of_cells(cdf, sf, label, last):
    """CRPS of a distribution of 0, 1, ..., last by cells of length 1."""
    k = np.arange(0, last + 1)
    left = np.clip(label, k, k + 1) - k
    cells = left * cdf(k) ** 2 + (1 - left) * sf(k) ** 2
    return np.sum(cells) + max(-label, 0) + max(label - last - 1, 0)


REALS = np.array([-1e6, -2.5, -1, 0, 0.3, 1, 2, 2.999, 3, 7.5, 40, 1e6])


@pytest.mark.parametrize("rate", [1e-6, 0.5, 3.0, 40.0, 998.5, 1001.5])
def test_poisson_equals_the_sum(rate):
    frozen = st.poisson(rate)
    labels = np.concatenate([REALS, np.round(around(rate, rate**0.5)), [rate]])
    expected = [sum_of_cells(frozen.cdf, frozen.sf, y, 2000) for y in labels]
    scores = crps_distribution(labels, tfd.Poisson(double(rate)))
    # At a tiny rate the score at 0 is a difference of numbers of the rate's size.
    np.testing.assert_allclose(scores, expected, rtol=2e-10, atol=1e-10 * rate)


def test_poisson_of_a_large_rate():
    rate, labels = 1e6, around(1e6, 1e3)[1:-1]
    frozen = st.poisson(rate)
    k = np.arange(int(rate - 2e4), int(rate + 2e4))
    cdf, sf = frozen.cdf(k), frozen.sf(k)
    for y in (rate - 1500.5, rate, rate + 800.25):
        left = np.clip(y, k, k + 1) - k
        expected = np.sum(left * cdf**2 + (1 - left) * sf**2)
        score = crps_distribution(y, tfd.Poisson(double(rate)))
        np.testing.assert_allclose(score, expected, rtol=1e-9)
    with tf.GradientTape() as tape:
        rates = tf.fill(labels.shape, tf.constant(rate, tf.float32))
        tape.watch(rates)
        single = crps_distribution(labels, tfd.Poisson(rates))
    exact = crps_distribution(labels, tfd.Poisson(double(rate)))
    np.testing.assert_allclose(single, exact, rtol=1e-4)  # Labels are rounded.
    assert np.all(np.isfinite(tape.gradient(single, rates)))


@pytest.mark.parametrize("p", [0.03, 0.5, 0.999, 1.0])
def test_geometric_equals_the_sum(p):
    frozen = st.geom(p, loc=-1)
    expected = [sum_of_cells(frozen.cdf, frozen.sf, y, 3000) for y in REALS]
    for distribution in (
        tfd.Geometric(probs=double(p)),
        *([tfd.Geometric(logits=double(np.log(p / (1 - p))))] if p < 1 else []),
    ):
        scores = crps_distribution(REALS, distribution)
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-15)


def test_finite_distributions_by_hand():
    # Cells of F: [1, 3) has 0.2, [3, 7.5) has 0.5; a label of 4 cuts the second.
    outcomes, probabilities = double([1.0, 3.0, 7.5]), double([0.2, 0.3, 0.5])
    distribution = tfd.FiniteDiscrete(outcomes, probs=probabilities)
    score = crps_distribution(4.0, distribution)
    assert float(score) == pytest.approx(2 * 0.04 + 1 * 0.25 + 3.5 * 0.25)
    score = crps_distribution(-1.0, distribution)
    assert float(score) == pytest.approx(2 + 2 * 0.64 + 4.5 * 0.25)
    score = crps_distribution(9.5, distribution)
    assert float(score) == pytest.approx(2 * 0.04 + 4.5 * 0.25 + 2)
    # The ranked probability score.
    score = crps_distribution([1, 0], tfd.Categorical(probs=[0.2, 0.3, 0.5]))
    np.testing.assert_allclose(score, [0.04 + 0.25, 0.64 + 0.25], rtol=1e-6)
    for bernoulli in (tfd.Bernoulli(probs=0.3), tfd.Bernoulli(np.log(0.3 / 0.7))):
        score = crps_distribution([0, 1, -2.0, 0.5], bernoulli)
        expected = [0.09, 0.49, 2.09, 0.5 * 0.49 + 0.5 * 0.09]
        np.testing.assert_allclose(score, expected, rtol=1e-6)
    score = crps_distribution([1.5, 5.0], tfd.Deterministic(2.0))
    assert score.numpy().tolist() == [0.5, 3.0]


def test_empirical_is_the_ensemble_score(rng):
    ensemble, labels = rng.normal(size=[4, 7]), rng.normal(size=4)
    scores = crps_distribution(labels, tfd.Empirical(double(ensemble)))
    expected = scoringrules.crps_ensemble(labels, ensemble, estimator="nrg")
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def mixture_reference(weights, loc, scale, label):
    parts = [st.norm(m, s) for m, s in zip(loc, scale, strict=True)]

    def mixed(side):
        return lambda z: sum(
            w * getattr(part, side)(z) for w, part in zip(weights, parts, strict=True)
        )

    points = [*np.ravel([quantiles(part) for part in parts])]
    return integral(mixed("cdf"), mixed("sf"), points, label)


@pytest.mark.parametrize(
    ("weights", "loc", "scale"),
    [
        ([0.2, 0.8], [0.0, 5.0], [1.0, 0.5]),
        ([0.5, 0.3, 0.2], [-1e3, 0.0, 2.0], [1e-6, 3.0, 1e3]),
        ([1e-9, 1 - 1e-9], [0.0, 1.0], [1.0, 1.0]),
    ],
)
def test_mixtures_of_normals(weights, loc, scale):
    labels = [-1e4, -1000.0, -1.0, 0.0, 0.7, 5.0, 300.0]
    expected = [mixture_reference(weights, loc, scale, y) for y in labels]
    categorical = tfd.Categorical(probs=double(weights))
    family = tfd.MixtureSameFamily(categorical, tfd.Normal(double(loc), double(scale)))
    parts = [tfd.Normal(double(m), double(s)) for m, s in zip(loc, scale, strict=True)]
    for distribution in (family, tfd.Mixture(categorical, parts)):
        assert _closed_form_crps.lookup(distribution)(double(labels), distribution)
        scores = crps_distribution(labels, distribution)
        np.testing.assert_allclose(scores, expected, rtol=1e-9)
    logits = tfd.Categorical(logits=tf.math.log(double(weights)) + 3)
    again = tfd.MixtureSameFamily(logits, tfd.Normal(double(loc), double(scale)))
    np.testing.assert_allclose(crps_distribution(labels, again), expected, rtol=1e-9)


def test_mixtures_in_a_batch(rng):
    logits, loc, scale = rng.normal(size=[3, 4, 2]), rng.normal(size=[3, 4, 2]), 0.7
    labels = rng.normal(size=[4, 1])
    batch = tfd.MixtureSameFamily(
        tfd.Categorical(logits=logits[0]), tfd.Normal(loc[0], double(scale))
    )
    scores = crps_distribution(labels[:, 0], batch)
    for i in range(4):
        single = tfd.MixtureSameFamily(
            tfd.Categorical(logits=logits[0, i]), tfd.Normal(loc[0, i], double(scale))
        )
        np.testing.assert_allclose(
            scores[i], crps_distribution(labels[i, 0], single), rtol=1e-13
        )


def test_other_packages(rng):
    y = rng.normal(size=50)
    positive, unit = np.exp(y), 1 / (1 + np.exp(-y))
    loc, scale = rng.normal(size=50), rng.uniform(0.2, 3, 50)
    a, b = rng.uniform(0.3, 6, [2, 50])
    for name, labels, parameters, expected in (
        ("Normal", y, (loc, scale), scoringrules.crps_normal(y, loc, scale)),
        ("Normal", y, (loc, scale), properscoring.crps_gaussian(y, loc, scale)),
        ("Laplace", y, (loc, scale), scoringrules.crps_laplace(y, loc, scale)),
        ("Logistic", y, (loc, scale), scoringrules.crps_logistic(y, loc, scale)),
        ("Uniform", y, (loc, loc + b), scoringrules.crps_uniform(y, loc, loc + b)),
        ("Exponential", positive, (a,), scoringrules.crps_exponential(positive, a)),
        ("Gamma", positive, (a, b), scoringrules.crps_gamma(positive, a, b)),
        ("Beta", unit, (a, b), scoringrules.crps_beta(unit, a, b)),
        (
            "LogNormal",
            positive,
            (loc, b),
            scoringrules.crps_lognormal(positive, loc, b),
        ),
        ("StudentT", y, (a + 1, loc, b), scoringrules.crps_t(y, a + 1, loc, b)),
        (
            "Poisson",
            np.round(positive),
            (a,),
            scoringrules.crps_poisson(np.round(positive), a),
        ),
        ("Gumbel", y, (loc, scale), scoringrules.crps_gev(y, 0.0, loc, scale)),
    ):
        scores = crps_distribution(labels, named(name, parameters))
        np.testing.assert_allclose(scores, expected, rtol=1e-7, err_msg=name)
    means, deviations = rng.normal(size=[50, 3]), rng.uniform(0.2, 3, [50, 3])
    weights = rng.dirichlet(np.ones(3), 50)
    mixture = tfd.MixtureSameFamily(
        tfd.Categorical(probs=weights), tfd.Normal(means, deviations)
    )
    expected = scoringrules.crps_mixnorm(y, means, deviations, weights)
    np.testing.assert_allclose(crps_distribution(y, mixture), expected, rtol=1e-9)


# Quadrature.


def quadrature(name, labels, parameters):
    distribution = getattr(tfd, name)(*parameters)
    return _quadrature.continuous(labels, distribution)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Normal", (5, 1e-6)),
        ("Laplace", (-3, 1e6)),
        ("Gumbel", (1, 2)),
        ("Cauchy", (1, 2)),
        ("Uniform", (1, 2)),
        ("Gamma", (0.05, 2)),
        ("LogNormal", (1, 2)),
    ],
)
@pytest.mark.first(2)
def test_quadrature_equals_the_closed_form(name, parameters):
    distribution = named(name, parameters)
    quarter, middle, most = [
        float(x) for x in distribution.quantile(double([0.25, 0.5, 0.75]))
    ]
    labels = np.append(around(middle, most - quarter), 0.0)
    expected = crps_distribution(labels, distribution)
    inputs = [double(labels), *[double(p) for p in parameters]]
    scores, valid = quadrature(name, inputs[0], inputs[1:])
    assert np.all(valid)
    # Digits of a tiny scale are lost beside the location.
    rounding = 4e-16 * abs(middle) / (most - quarter)
    np.testing.assert_allclose(scores, expected, rtol=1e-10 + 5 * rounding)


def test_quadrature_has_the_gradients_of_the_closed_form():
    # With a label at the median, where the second integral is empty.
    labels, loc, scale = (
        double(around(0.0, 3.0)),
        *[tf.fill([11], double(p)) for p in (0.0, 3.0)],
    )
    gradients = []
    for score in (lambda y, *p: quadrature("Normal", y, p)[0], crps_normal):
        with tf.GradientTape() as tape:
            tape.watch([labels, loc, scale])
            value = score(labels, loc, scale)
        gradients.append(tape.gradient(value, [labels, loc, scale]))
    for actual, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-14)


def crps_normal(labels, loc, scale):
    return crps_distribution(labels, tfd.Normal(loc, scale))


SMOOTH = [
    ("Weibull", (2, 3), st.weibull_min(2, scale=3)),
    ("Weibull", (0.3, 3), st.weibull_min(0.3, scale=3)),
    ("Pareto", (2, 3), st.pareto(2, scale=3)),
    ("Moyal", (0, 1), st.moyal()),
    ("TruncatedNormal", (0, 1, -1e4, 0.5), st.truncnorm(-1e4, 0.5)),
    ("LogLogistic", (0, 0.3), st.fisk(1 / 0.3)),
    ("HalfCauchy", (1, 2), st.halfcauchy(1, 2)),
    ("InverseGamma", (3, 2), st.invgamma(3, scale=2)),
    ("GeneralizedPareto", (0, 1, -0.4), st.genpareto(-0.4)),
    ("GeneralizedExtremeValue", (0, 1, 0.2), st.genextreme(-0.2)),
]


@pytest.mark.parametrize(
    ("name", "parameters", "frozen"),
    SMOOTH,
    ids=[f"{name}{parameters}" for name, parameters, _ in SMOOTH],
)
@pytest.mark.first(4)
def test_quadrature_equals_scipy(name, parameters, frozen):
    labels = labels_for(frozen)
    inputs = [double(p) for p in parameters]
    scores, valid = quadrature(name, double(labels), inputs)
    assert np.all(valid)
    np.testing.assert_allclose(scores, reference(frozen, labels), rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("Weibull", (2, 3)), ("Weibull", (0.2, 3)), ("HalfCauchy", (1, 2))],
)
@pytest.mark.first(1)
def test_quadrature_in_float32(name, parameters):
    labels = np.array([-30, -1, 0, 1, 1.5, 3, 7, 20, 1e3, 1e6], np.float32)
    scores = crps_distribution(labels, named(name, parameters, tf.float32))
    expected = crps_distribution(labels, named(name, parameters))
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


@pytest.mark.parametrize("peak", [0.1, 0.3, 0.77])
@pytest.mark.first(1)
def test_quadrature_of_a_kink(peak):
    labels = np.linspace(-0.5, 1.5, 21)
    frozen = st.triang(peak)
    scores = crps_distribution(labels, named("Triangular", (0, 1, peak)))
    np.testing.assert_allclose(scores, reference(frozen, labels, [peak]), rtol=3e-6)


FROZEN = {
    "Beta": st.beta,
    "Cauchy": st.cauchy,
    "Exponential": lambda rate: st.expon(0, 1 / rate),
    "Gamma": lambda a, rate: st.gamma(a, 0, 1 / rate),
    "Gumbel": st.gumbel_r,
    "HalfCauchy": st.halfcauchy,
    "Laplace": st.laplace,
    "Logistic": st.logistic,
    "LogNormal": lambda loc, scale: st.lognorm(scale, 0, np.exp(loc)),
    "Normal": st.norm,
    "StudentT": st.t,
    "Uniform": lambda low, high: st.uniform(low, high - low),
    "Weibull": lambda a, scale: st.weibull_min(a, scale=scale),
}
# Weights, and the name and the parameters of each component.
MIXTURES = [
    ([0.9, 0.1], [("Laplace", (0, 0.01)), ("Laplace", (1, 0.01))]),
    ([0.5, 0.5], [("StudentT", (4, 0, 0.1)), ("StudentT", (4, 10, 0.1))]),
    ([0.5, 0.5], [("Laplace", (0, 1)), ("Laplace", (30, 1))]),
    # Three scales at one place.
    ([0.2, 0.3, 0.5], [("Laplace", (0, s)) for s in (1e-6, 1, 1e6)]),
    ([0.2, 0.8], [("Logistic", (-1e3, 1e-4)), ("Normal", (2, 1e3))]),
    ([1 - 1e-3, 1e-3], [("Laplace", (0, 1)), ("Laplace", (1e6, 0.25))]),
    ([1 - 1e-9, 1e-9], [("Gumbel", (0, 1)), ("Laplace", (1e6, 0.25))]),
    ([0.3, 0.7], [("Uniform", (0, 1)), ("Uniform", (0.5, 9))]),
    ([0.3, 0.7], [("Uniform", (0, 1e-3)), ("Uniform", (5, 1e3))]),
    ([0.4, 0.6], [("Gamma", (0.05, 1)), ("Gamma", (900, 3))]),
    ([0.4, 0.6], [("LogNormal", (0, 3)), ("LogNormal", (5, 0.01))]),
    ([0.5, 0.5], [("Cauchy", (0, 1)), ("Cauchy", (1e4, 0.01))]),
    ([0.3, 0.7], [("StudentT", (1.2, 0, 1e-5)), ("Normal", (2, 1e6))]),
    ([0.4, 0.6], [("Exponential", (1,)), ("Beta", (0.5, 0.5))]),
    # TFP's Weibull has a CDF of 0.94 at -5.
    ([0.3, 0.7], [("Weibull", (2, 3)), ("Normal", (-1, 2))]),
    ([0.5, 0.5], [("Weibull", (0.3, 3)), ("HalfCauchy", (1, 2))]),
    ([0.1] * 10, [("Laplace", (i * i, 0.1 * (i + 1))) for i in range(10)]),
]


def mixtures(weights, components, dtype=tf.float64):
    """The mixture as TFP's classes have it."""
    categorical = tfd.Categorical(probs=tf.constant(weights, dtype))
    parts = [named(name, parameters, dtype) for name, parameters in components]
    yield tfd.Mixture(categorical, parts)
    names, parameters = zip(*components, strict=True)
    if len(set(names)) == 1:
        family = named(names[0], zip(*parameters, strict=True), dtype)
        yield tfd.MixtureSameFamily(categorical, family)


def nested(mixture):
    batch = tfd.BatchBroadcast(mixture, [2])
    return tfd.MixtureSameFamily(tfd.Categorical(probs=double([0.3, 0.7])), batch)


# What leaves a mixture as it is but for a factor.
WRAPPERS = [
    (
        lambda mixture: tfb.Chain([tfb.Scale(double(-2.0)), tfb.Shift(double(0.0))])(
            mixture
        ),
        -2,
    ),
    (lambda mixture: tfd.BatchReshape(tfd.Independent(mixture), [1]), 1),
    (nested, 1),
]


def mixed_reference(weights, components, labels):
    frozen = [FROZEN[name](*parameters) for name, parameters in components]

    def mixed(side):
        return lambda z: sum(
            w * getattr(part, side)(z) for w, part in zip(weights, frozen, strict=True)
        )

    points = np.ravel([quantiles(part) for part in frozen])
    return [integral(mixed("cdf"), mixed("sf"), points, y) for y in labels]


@pytest.mark.parametrize(
    ("weights", "components", "wrapper", "factor"),
    [
        (*mixture, *(WRAPPERS[i] if i < 3 else (None, 1)))
        for i, mixture in enumerate(MIXTURES)
    ],
    ids=[f"{i}-{components[0][0]}" for i, (_, components) in enumerate(MIXTURES)],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in exp")
@pytest.mark.first(1)
def test_mixtures_equal_the_integral(weights, components, wrapper, factor):
    centres = [FROZEN[name](*p).ppf([0.1, 0.5, 0.99]) for name, p in components]
    labels = np.unique([*np.ravel(centres[:3]), -1e6, -1.0, 0.0, 3.0, 1e7])
    labels = labels.astype(np.float32)
    expected = mixed_reference(weights, components, labels.astype(float))
    for distribution in mixtures(weights, components):
        scores = crps_distribution(labels, distribution)
        np.testing.assert_allclose(scores, expected, rtol=2e-8)
    if wrapper:
        scores = crps_distribution(labels * factor, wrapper(distribution))
        np.testing.assert_allclose(scores / abs(factor), expected, rtol=2e-8)
    *_, distribution = mixtures(weights, components, tf.float32)
    scores = crps_distribution(labels, distribution)
    # As far as TFP's own CDF is accurate.
    gamma = components[0][0] == "Gamma"
    np.testing.assert_allclose(scores, expected, rtol=5e-5 if gamma else 3e-6)


@pytest.mark.exhaustive
def test_mixtures_compile_and_have_gradients():
    labels = double([-2.0, 0.0, 0.7, 1.0, 40.0])

    @tf.function
    def score(logits, loc):
        with tf.GradientTape() as tape:
            tape.watch([logits, loc])
            mixture = tfd.MixtureSameFamily(
                tfd.Categorical(logits=logits), tfd.Laplace(loc, double(0.01))
            )
            total = tf.reduce_sum(crps_distribution(labels, mixture))
        return total, tape.gradient(total, [logits, loc])

    # E|X - y| - E|X - X'| / 2 of two atoms, so narrow are they.
    inputs = double([np.log(9), 0.0]), double([0.0, 1.0])
    (y,) = np.asarray(labels)[None]
    distances = 0.9 * np.abs(y) + 0.1 * np.abs(y - 1) - 0.09
    total, (by_logits, by_loc) = score(*inputs)
    np.testing.assert_allclose(total, distances.sum(), rtol=3e-3)
    for i, gradient in enumerate((by_logits, by_loc)):
        for k in range(2):
            moves = [double(np.eye(2)[k] * s) for s in (1e-6, -1e-6)]
            both = [
                score(*[x + move if i == j else x for j, x in enumerate(inputs)])[0]
                for move in moves
            ]
            slope = (both[0] - both[1]) / 2e-6
            np.testing.assert_allclose(gradient[k], slope, rtol=1e-4, atol=1e-7)
    compiled = tf.function(score.python_function, jit_compile=True)(*inputs)
    np.testing.assert_allclose(compiled[0], total, rtol=1e-12)
    np.testing.assert_allclose(compiled[1], [by_logits, by_loc], rtol=1e-9)


def test_a_curve_of_a_mixture():
    labels = np.array([-1.0, 1e-5, 1.0, 40.0, 1e3, 2e4, 1e9])
    weights, parameters = [0.3, 0.7], [(0, 3), (5, 0.01)]
    normal = named("Normal", zip(*parameters, strict=True))
    normals = tfd.MixtureSameFamily(tfd.Categorical(probs=double(weights)), normal)
    components = [("LogNormal", p) for p in parameters]
    scores = crps_distribution(labels, tfb.Exp()(normals))
    expected = mixed_reference(weights, components, labels)
    np.testing.assert_allclose(scores, expected, rtol=2e-8)


@pytest.mark.exhaustive
def test_mixtures_need_the_support_of_each_component():
    # TFP's Weibull has a CDF of 0.94 at -5.
    labels = np.array([-5.0, -0.4, 0.2, 1.0, 2.0, 11.0])
    weights = double([0.3, 0.7])
    parts = [tfd.Weibull(double(2.0), double(3.0)), tfd.Normal(double(-1), double(2))]
    distribution = tfd.Mixture(tfd.Categorical(probs=weights), parts)
    frozen = [st.weibull_min(2, scale=3), st.norm(-1, 2)]
    points = [*quantiles(frozen[0]), *quantiles(frozen[1])]

    def mixed(side):
        return lambda z: (
            0.3 * getattr(frozen[0], side)(z) + 0.7 * getattr(frozen[1], side)(z)
        )

    expected = [integral(mixed("cdf"), mixed("sf"), points, y) for y in labels]
    scores = crps_distribution(labels, distribution)
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


@pytest.mark.parametrize("zero", [0.3, 0.6, 0.95])
@pytest.mark.filterwarnings("ignore:You have created an Inflated")
def test_an_atom_at_the_end_of_the_support(zero):
    labels = np.array([-1.0, 0.0, 0.2, 1.5, 9.0])
    frozen = st.gamma(2)
    expected = [
        integral(
            lambda z: np.where(z < 0, 0, zero + (1 - zero) * frozen.cdf(z)),
            lambda z: np.where(z < 0, 1, (1 - zero) * frozen.sf(z)),
            [-1.0, *quantiles(frozen)],
            y,
        )
        for y in labels
    ]
    distribution = tfd.Inflated(
        tfd.Gamma(double(2.0), double(1.0)), inflated_loc_probs=double(zero)
    )
    scores = crps_distribution(labels, distribution)
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_transformed_distributions():
    labels = np.array([-20.0, -3.0, -0.5, 0.0, 0.7, 4.0])
    shifted = tfb.Shift(double(2.0))(
        tfb.Scale(double(-3.0))(tfd.Normal(double(0), double(1)))
    )
    expected = crps_distribution(labels, tfd.Normal(double(2.0), double(3.0)))
    np.testing.assert_allclose(crps_distribution(labels, shifted), expected, rtol=1e-12)
    mirrored = tfb.Scale(double(-1.0))(tfd.Exponential(double(1.5)))
    expected = crps_distribution(-labels, tfd.Exponential(double(1.5)))
    np.testing.assert_allclose(
        crps_distribution(labels, mirrored), expected, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("dtype", "df"), [(tf.float32, 0.51), (tf.float32, 0.6), (tf.float64, 0.515)]
)
@pytest.mark.first(1)
def test_a_tail_that_is_too_heavy_is_refused(dtype, df):
    heavy = tfb.Shift(tf.constant(0.5, dtype))(named("StudentT", (df, 0, 1), dtype))
    with pytest.raises(ValueError, match="can be integrated"):
        crps_distribution([0.5, 2.0], heavy)


@pytest.mark.exhaustive
def test_a_heavy_tail_is_followed():
    student = named("StudentT", (0.55, 0, 1))
    shifted = tfb.Shift(double(0.5))(student)
    np.testing.assert_allclose(
        crps_distribution([0.5, 2.0], shifted),
        crps_distribution([0.0, 1.5], student),
        rtol=2e-8,
    )


def test_sums_over_integers():
    for distribution, frozen in (
        (tfd.Binomial(double(20), probs=double(0.3)), st.binom(20, 0.3)),
        (tfd.NegativeBinomial(double(5), probs=double(0.3)), st.nbinom(5, 0.7)),
        (tfd.Zipf(double(9.0), dtype=tf.float64), st.zipf(9.0)),
    ):
        expected = [sum_of_cells(frozen.cdf, frozen.sf, y, 900) for y in REALS]
        scores = crps_distribution(REALS, distribution)
        assert _cdfs.is_discrete(distribution)
        np.testing.assert_allclose(scores, expected, rtol=1e-9)
    poisson = tfd.Poisson(double(7.5))
    scores, valid = _quadrature.discrete(double(REALS), poisson)
    assert np.all(valid)
    np.testing.assert_allclose(scores, crps_distribution(REALS, poisson), rtol=1e-12)
    ordered = tfd.OrderedLogistic(cutpoints=[-1.0, 1.0], loc=0.3)
    categorical = tfd.Categorical(probs=ordered.categorical_probs())
    np.testing.assert_allclose(
        crps_distribution(REALS, ordered),
        crps_distribution(REALS, categorical),
        rtol=1e-5,
    )


@pytest.mark.parametrize("rates", [(3.0, 10.0), (10.0, 1e5)])
@pytest.mark.first(1)
def test_mixtures_of_integers_equal_the_sum(rates):
    labels, weights = np.array([-5, 9.5, 1.0003e5]), [0.3, 0.7]
    frozen = [st.poisson(rate) for rate in rates]
    cdf, sf = [
        lambda k, side=side: sum(
            w * getattr(part, side)(k) for w, part in zip(weights, frozen, strict=True)
        )
        for side in ("cdf", "sf")
    ]
    expected = [sum_of_cells(cdf, sf, y, 120_000) for y in labels]
    categorical = tfd.Categorical(probs=double(weights))
    family = tfd.MixtureSameFamily(categorical, tfd.Poisson(double(rates)))
    parts = tfd.Mixture(categorical, [tfd.Poisson(double(rate)) for rate in rates])
    for mixture in (family, parts):
        scores = crps_distribution(labels, mixture)
        np.testing.assert_allclose(scores, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="too wide for a sum over integers"):
        crps_distribution(labels, tfd.Binomial(double(1e9), probs=double(0.3)))


def test_sum_over_integers_has_gradients():
    labels, p = double([-1.0, 2.0, 5.5, 30.0]), tf.fill([4], double(0.3))
    with tf.GradientTape() as tape:
        tape.watch([labels, p])
        scores = crps_distribution(labels, tfd.Binomial(double(20), probs=p))
    slope, gradient = tape.gradient(scores, [labels, p])
    frozen = st.binom(20, 0.3)
    np.testing.assert_allclose(slope, 2 * frozen.cdf(labels) - 1, rtol=1e-10)
    both = [
        crps_distribution(labels, tfd.Binomial(double(20), probs=p + step))
        for step in (1e-6, -1e-6)
    ]
    np.testing.assert_allclose(gradient, (both[0] - both[1]) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize(
    "distribution",
    [
        tfd.Binomial(1e8, probs=0.3),  # Wider than the window.
        tfd.Zipf(2.2),  # Too heavy a tail.
        tfd.Pareto(double(0.4), double(1.0)),  # Infinite.
        tfd.TwoPieceNormal(0.0, -1.0, 1.0),
        tfd.Weibull(np.nan, 1.0),
        tfd.Triangular(0.0, 1.0, 3.0),
    ],
    ids=lambda distribution: type(distribution).__name__,
)
def test_no_plausible_wrong_number(distribution):
    with pytest.raises(ValueError, match=r"`distribution` must be .*Received: "):
        crps_distribution([0.5, 2.0], distribution)


# Eager, graph, XLA.


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Normal", (0.3, 1.2)),
        ("Gumbel", (0.3, 1.2)),
        ("Beta", (2.0, 3.0)),
        ("StudentT", (1.0, 0.3, 1.2)),
        ("Poisson", (2.5,)),
        ("Weibull", (1.7, 1.2)),
        ("Binomial", (20.0, None, 0.3)),
    ],
)
@pytest.mark.first(2)
def test_graph_and_xla(name, parameters):
    labels = tf.constant([-3.0, 0.0, 0.2, 0.9, 3.0, 1e3])
    parameters = [None if p is None else tf.constant(p) for p in parameters]

    def score(labels, parameters):
        with tf.GradientTape() as tape:
            tape.watch(labels)
            scores = crps_distribution(labels, getattr(tfd, name)(*parameters))
        return scores, tape.gradient(scores, labels)

    expected = score(labels, parameters)
    for jit_compile in (False, True):
        result = tf.function(score, jit_compile=jit_compile)(labels, parameters)
        for actual, value in zip(result, expected, strict=True):
            np.testing.assert_allclose(actual, value, rtol=2e-5, atol=1e-6)


# One of each closed form; the parameters that None stands for are None.
DISCRETE = {
    "Bernoulli": (None, 0.3),
    "Categorical": (None, [0.2, 0.3, 0.5]),
    "Deterministic": (2.0,),
    "Empirical": ([0.3, -1.0, 2.0],),
    "FiniteDiscrete": ([1.0, 3.0, 7.5], None, [0.2, 0.3, 0.5]),
    "Geometric": (None, 0.3),
    "Poisson": (2.5,),
}


@pytest.mark.exhaustive
def test_every_closed_form_compiles():
    continuous = {name: (p, frozen) for name, p, frozen in reversed(CONTINUOUS)}
    known = {cls.__name__ for cls in _closed_form_crps._table()}
    mixed = {"Mixture", "MixtureSameFamily", "_Mixture", "_MixtureSameFamily"}
    assert known == {*continuous, *DISCRETE, *mixed}
    labels = {name: labels_for(frozen) for name, (_, frozen) in continuous.items()}
    weights, parameters = double([0.3, 0.7]), (double([0.0, 2.0]), double([1.0, 0.5]))

    @tf.function(jit_compile=True)
    def scores():
        results = {
            name: crps_distribution(labels[name], named(name, p))
            for name, (p, _) in continuous.items()
        }
        for name, p in DISCRETE.items():
            p = [None if value is None else double(value) for value in p]
            forecast = getattr(tfd, name)(*p)
            results[name] = crps_distribution(double(REALS), forecast)
        family = tfd.MixtureSameFamily(
            tfd.Categorical(probs=weights), tfd.Normal(*parameters)
        )
        results["MixtureSameFamily"] = crps_distribution(double(REALS), family)
        return results

    results = scores()
    expected = {name: reference(f, labels[name]) for name, (_, f) in continuous.items()}
    with tf.init_scope():
        eager = scores.python_function()
    for name, result in results.items():
        exact = expected.get(name, eager[name])
        np.testing.assert_allclose(result, exact, rtol=2e-8, err_msg=name)


def test_nan_in_a_graph():
    @tf.function
    def run(labels, loc, scale):
        return crps_distribution(labels, tfd.Normal(loc, scale))

    labels = tf.constant([0.0, np.nan, np.inf, 0.0, 0.0, 0.0, 0.0])
    loc = tf.constant([0.0, 0.0, 0.0, np.nan, 0.0, 0.0, 0.0])
    scale = tf.constant([1.0, 1.0, 1.0, 1.0, 0.0, -1.0, np.nan])
    result = run(labels, loc, scale).numpy()
    assert np.isnan(result).tolist() == [False] + [True] * 6
    assert result[0] == pytest.approx(0.2336950, rel=1e-6)

    @tf.function
    def weibull(concentration):
        return crps_distribution(1.0, tfd.Weibull(concentration, 2.0))

    result = weibull(tf.constant([1.0, np.nan])).numpy()
    expected = crps_distribution(1.0, tfd.Exponential(0.5))
    assert result[0] == pytest.approx(float(expected), rel=1e-6)
    assert np.isnan(result[1])


def test_bad_rows_leave_the_gradients_of_others_alone():
    scale = tf.constant([1.0, -1.0])

    @tf.function
    def run(scale):
        with tf.GradientTape() as tape:
            tape.watch(scale)
            score = crps_distribution([0.0, 0.0], tfd.Normal(0.0, scale))[0]
        return tape.gradient(score, scale)

    assert run(scale).numpy() == pytest.approx([0.2336950, 0.0], rel=1e-6)


@pytest.mark.parametrize(
    "distribution",
    [
        tfd.Normal(0.0, 0.0),
        tfd.Normal(np.nan, 1.0),
        tfd.Laplace(0.0, -1.0),
        tfd.Logistic(0.0, np.inf),
        tfd.Uniform(1.0, 1.0),
        tfd.Exponential(0.0),
        tfd.Gamma(-1.0, 1.0),
        tfd.Gamma(1.0, 0.0),
        tfd.Beta(0.0, 1.0),
        tfd.StudentT(0.0, 0.0, 1.0),
        tfd.LogNormal(0.0, -1.0),
        tfd.Poisson(0.0),
        tfd.Geometric(probs=1.5),
        tfd.Bernoulli(probs=-0.5),
        tfd.Categorical(probs=[0.5, 0.9]),
        tfd.FiniteDiscrete([1.0, 1.0], probs=[0.5, 0.5]),
        tfd.MixtureSameFamily(
            tfd.Categorical(probs=[0.5, 0.5]), tfd.Normal([0.0, 0.0], [1.0, 0.0])
        ),
    ],
    ids=lambda distribution: type(distribution).__name__,
)
def test_parameters_out_of_range(distribution):
    name = type(distribution).__name__
    with pytest.raises(ValueError, match=rf"`distribution` must be .*Received: {name}"):
        crps_distribution([0.5, 2.0], distribution)
    result = tf.function(lambda y: crps_distribution(y, distribution))([0.5, 2.0])
    assert np.all(np.isnan(result))


def test_student_t_without_a_finite_score():
    df = tf.constant([0.3, 0.5, 0.51])
    scores = crps_distribution(0.0, tfd.StudentT(df, 0.0, 1.0)).numpy()
    assert np.isinf(scores[:2]).all()
    assert np.isfinite(scores[2])


# Arguments.


def test_shapes():
    normal = tfd.Normal
    ones = np.ones
    for labels, batch, expected in (
        ([], [], []),
        ([3], [], [3]),
        ([2, 3], [3], [2, 3]),
        ([2, 3], [1], [2, 3]),
        ([], [2, 3], [2, 3]),
        ([2, 1], [2, 3], [2, 3]),
        ([2, 3], [2, 1], [2, 3]),
        ([1], [4], [4]),
    ):
        scores = crps_distribution(ones(labels), normal(double(ones(batch)), 1.0))
        assert scores.shape == expected
    for labels, batch in (([3], [3, 1]), ([3], [2, 3]), ([2, 3], [2]), ([2], [3])):
        message = rf"batch shape .*{list(labels)}.*Received: batch shape".replace(
            "[", r"\["
        )
        with pytest.raises(ValueError, match=message):
            crps_distribution(ones(labels), normal(double(ones(batch)), 1.0))
    for shape in ([0], [2, 0]):
        with pytest.raises(ValueError, match="at least one example"):
            crps_distribution(np.zeros(shape), normal(0.0, 1.0))
    with pytest.raises(ValueError, match="at least one example"):
        crps_distribution(1.0, normal(np.zeros([0]), 1.0))


def test_a_batch_of_unknown_size():
    run = tf.function(
        lambda y, loc: crps_distribution(y, tfd.Normal(loc, 1.0)),
        input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None, 1])],
    )
    labels = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], np.float32)
    expected = scoringrules.crps_normal(labels, labels[:, :1], 1.0)
    np.testing.assert_allclose(run(labels, labels[:, :1]), expected, rtol=1e-6)


def test_types():
    assert crps_distribution([1, 2], tfd.Normal(0.0, 1.0)).dtype == tf.float32
    assert crps_distribution([1, 2], tfd.Normal(double(0), 1.0)).dtype == tf.float64
    assert crps_distribution([1, 2], tfd.Categorical([0.0, 1.0])).dtype == tf.float32
    half = tfd.Normal(tf.constant(0.0, tf.float16), tf.constant(1.0, tf.float16))
    score = crps_distribution(0.0, half)
    assert score.dtype == tf.float16
    assert float(score) == pytest.approx(0.2336950, abs=2e-4)
    # A Python number is not rounded to float32 on its way.
    expected = scoringrules.crps_normal(0.1, 0.0, 1.0)
    score = crps_distribution([0.1], tfd.Normal(double(0.0), 1.0))
    assert float(score[0]) == pytest.approx(expected, rel=1e-14)
    integers = crps_distribution(np.array([0, 3], np.uint8), tfd.Poisson(2.0))
    reals = crps_distribution([0.0, 3.0], tfd.Poisson(2.0))
    assert integers.numpy().tolist() == reals.numpy().tolist()


def test_wrong_arguments():
    normal = tfd.Normal(0.0, 1.0)
    for label in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=r"`labels` must be finite\. Received: "):
            crps_distribution([0.0, label], normal)
    with pytest.raises(TypeError, match=r"Distribution\. Received: float"):
        crps_distribution(0.0, 1.0)
    with pytest.raises(TypeError, match=r"Distribution\. Received: "):
        crps_distribution(0.0, tfd.Normal)
    with pytest.raises(ValueError, match="`labels` must be numbers"):
        crps_distribution(["a"], normal)
    with pytest.raises(ValueError, match="scalar events"):
        crps_distribution([0.0, 1.0], tfd.MultivariateNormalDiag([0.0, 0.0]))
    for missing in (tfd.Horseshoe(1.0), tfd.Skellam(1.0, 2.0)):
        name = type(missing).__name__
        with pytest.raises(ValueError, match=rf"`cdf`. Received: {name}"):
            crps_distribution(0.0, missing)


def test_subclasses():
    class Renamed(tfd.Normal):
        pass

    class Doubled(tfd.Normal):
        def _cdf(self, value):
            return super()._cdf(2 * value)

        def _survival_function(self, value):
            return super()._survival_function(2 * value)

    renamed, doubled = Renamed(0.0, 1.0), Doubled(0.0, 1.0)
    assert _closed_form_crps.lookup(renamed) is _closed_form_crps.normal
    assert _closed_form_crps.lookup(doubled) is None
    expected = crps_distribution(1.0, tfd.Normal(0.0, 0.5))
    score = crps_distribution(1.0, doubled)
    assert float(score) == pytest.approx(float(expected), rel=1e-6)
    # An Exponential is a Gamma, a LogNormal a transformed one, to Python.
    for name in ("Exponential", "LogNormal", "Gumbel"):
        form = _closed_form_crps.lookup(
            named(name, (1,) * (1 + (name != "Exponential")))
        )
        assert form.__name__ == {"LogNormal": "log_normal"}.get(name, name.lower())


# Special functions.


def test_special_functions():
    x = np.array([2.0, 2.5, 7.0, 40.0, 500.0])
    expected = [float(mpmath.e1(v)) for v in x]
    np.testing.assert_allclose(
        _special.exponential_integral(double(x)), expected, rtol=1e-14
    )
    x = np.array([0.0, 1e-9, 0.3, 1.0, 2.0])
    expected = [float(mpmath.quad(lambda t: -mpmath.expm1(-t) / t, [0, v])) for v in x]
    np.testing.assert_allclose(
        _special.complementary_exponential_integral(double(x)), expected, rtol=1e-14
    )
    x = np.array([1e-300, 0.01, 0.69, 0.71, 1 - 1e-8, 1 + 2.0**-40, 1.29, 1.31, 1e6])
    with mpmath.workdps(50):
        exact = [mpmath.mpf(v) for v in x]
        expected = [float(v - 1 - mpmath.log(v)) for v in exact]
    np.testing.assert_allclose(
        _special.excess_over_log(double(x)), expected, rtol=5e-15
    )


@pytest.mark.parametrize("a", [1000.0, 1e4, 1e6, 1e8])
def test_incomplete_functions_of_large_concentrations(a):
    z = np.array([-8.0, -2.0, 0.0, 0.7, 5.0])
    x = a + z * np.sqrt(a)
    cdf = _special.gamma_cdf(tf.fill(z.shape, double(a)), double(x))
    np.testing.assert_allclose(cdf, st.gamma(a).cdf(x), atol=2e-12)
    x = 0.25 + z * np.sqrt(0.1875 / (4 * a))
    cdf = _special.beta_cdf(
        tf.fill(z.shape, double(a)), tf.fill(z.shape, double(3 * a)), double(x)
    )
    np.testing.assert_allclose(cdf, st.beta(a, 3 * a).cdf(x), atol=1e-9)
