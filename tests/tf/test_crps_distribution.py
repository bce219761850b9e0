"""CRPS under TFP distributions, against integrals of SciPy's CDFs."""

import mpmath
import numpy as np
import properscoring
import pytest
import scipy.stats as st
import scoringrules
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import special

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


def named(name, parameters, dtype=tf.float64):
    """The distribution of TFP; a parameter of None stands for one not given."""
    parameters = [None if p is None else tf.constant(p, dtype) for p in parameters]
    return getattr(tfd, name)(*parameters)


def with_gradients(score, *inputs):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        scores = score(*inputs)
    return scores, *tape.gradient(scores, inputs)


def differences(score, inputs, i, step):
    """Central differences in input i, of scores that depend on their own row of it."""
    up, down = (
        score(*[x + move if i == j else x for j, x in enumerate(inputs)])
        for move in (step, -step)
    )
    return (up - down) / (2 * np.max(step))


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


def mixed(weights, parts, side):
    """The CDF, or 1 minus it, of a mixture."""
    pairs = list(zip(weights, parts, strict=True))
    return lambda z: sum(w * getattr(part, side)(z) for w, part in pairs)


def reference(frozen, labels, weights=(1,), kinks=()):
    """The scores of a distribution of SciPy, or of a mixture of some."""
    parts = frozen if isinstance(frozen, list) else [frozen]
    points = [*np.ravel([quantiles(part) for part in parts]), *kinks]
    sides = mixed(weights, parts, "cdf"), mixed(weights, parts, "sf")
    return [integral(*sides, points, label) for label in labels]


def around(center, scale):
    """Labels in the middle, in both tails and far outside."""
    steps = [-1e6, -37, -4, -1, -1e-3, 0, 0.3, 1, 2.5, 9, 1e6]
    return center + scale * np.array(steps)


def labels_for(frozen):
    low, middle, high = frozen.ppf([0.25, 0.5, 0.75])
    return np.concatenate([around(middle, high - low), [0.0]])


# What SciPy has for the parameters of TFP.
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
    "TruncatedNormal": lambda loc, scale, low, high: st.truncnorm(low, high),
    "Uniform": lambda low, high: st.uniform(low, high - low),
    "Weibull": lambda a, scale: st.weibull_min(a, 0, scale),
}
WIDE = [(0, 1), (5, 1e-6), (-3, 1e6)]
CLOSED = {
    **dict.fromkeys(("Normal", "Laplace", "Logistic", "Gumbel"), WIDE),
    **dict.fromkeys(("HalfNormal", "Exponential"), ((1e-6,), (1,), (1e6,))),
    "Cauchy": WIDE[:2],
    "Uniform": [(0, 1), (-5, 1e6)],
    "Gamma": [(a, 1) for a in (1, 0.05, 999, 1001, 1e6)]
    + [(0.5, 2), (30, 2), (1e5, 1e3)],
    "Chi2": [(1,), (3,), (500,)],
    "Beta": [
        *[(1, 1), (2, 3), (0.5, 0.5), (0.1, 5), (1e6, 2), (1e6, 1e6)],
        *[(999, 2000), (1001, 2000)],
    ],
    "StudentT": [
        *[(k, 0, 1) for k in (0.6, 0.9, 1, 1 + 1e-7, 1.124, 1.126, 3, 30, 1e6)],
        (2, 5, 1e-6),
    ],
    "LogNormal": [(0, 1), (0, 1e-6), (2, 0.01), (1, 0.49), (1, 0.51), (0, 3)],
}
SMOOTH = {
    "Weibull": [(2, 3), (0.3, 3)],
    "Pareto": [(2, 3)],
    "Moyal": [(0, 1)],
    "TruncatedNormal": [(0, 1, -1e4, 0.5)],
    "LogLogistic": [(0, 0.3)],
    "HalfCauchy": [(1, 2)],
    "InverseGamma": [(3, 2)],
    "GeneralizedPareto": [(0, 1, -0.4)],
    "GeneralizedExtremeValue": [(0, 1, 0.2)],
}


def table(cases):
    """Parametrizes a test by names and parameters."""
    pairs = [(name, p) for name, parameters in cases.items() for p in parameters]
    return pytest.mark.parametrize(("name", "parameters"), pairs, ids=str)


@table(CLOSED)
def test_closed_form_equals_the_integral(name, parameters):
    frozen = FROZEN[name](*parameters)
    labels = labels_for(frozen)
    distribution = named(name, parameters)
    scores = crps_distribution(labels, distribution)
    assert _closed_form_crps.lookup(distribution) is not None
    # Of the scale, the rounding of the labels costs as much as they are larger.
    np.testing.assert_allclose(scores, reference(frozen, labels), rtol=2e-8)


@table(CLOSED)
@pytest.mark.first(6)
def test_float32_and_gradients_in_the_extremes(name, parameters):
    parameters = [float(np.float32(p)) for p in parameters]
    labels = labels_for(FROZEN[name](*parameters)).astype(np.float32)
    labels = np.concatenate([labels, [0, 1, -1, 1e6, 1e-30]]).astype(np.float32)
    results = []
    for dtype in (tf.float64, tf.float32):
        y = tf.constant(labels, dtype)
        inputs = [tf.fill(y.shape, tf.constant(p, dtype)) for p in parameters]
        results.append(
            with_gradients(
                lambda y, *p: crps_distribution(y, getattr(tfd, name)(*p)), y, *inputs
            )
        )
    for exact, single in zip(*results, strict=True):
        assert single.dtype == tf.float32
        assert np.all(np.isfinite(exact))
        largest = np.max(np.abs(exact))
        np.testing.assert_allclose(single, exact, rtol=1e-4, atol=2e-5 * largest)
    # log(y) - loc is rounded to the spacing of the larger, in units of the scale.
    rounding = 3e-5 if name == "LogNormal" else 2e-6
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=rounding)


MODERATE = {
    **dict.fromkeys(
        ("Normal", "Laplace", "Logistic", "Gumbel", "Cauchy"), ((0.3, 1.2),)
    ),
    **dict.fromkeys(("HalfNormal", "Exponential", "Geometric"), ((1.2,),)),
    "Uniform": [(-0.3, 1.2)],
    "Gamma": [(1.0, 1.2), (1200.0, 500.0)],
    "Chi2": [(3.0,)],
    "Beta": [(1.0, 1.0), (2.0, 3.0), (1200.0, 1300.0)],
    "StudentT": [(df, 0.3, 1.2) for df in (1.0, 0.7, 4.0)],
    "LogNormal": [(0.3, 0.4), (0.3, 1.2)],
    "Poisson": [(2.5,), (1200.0,)],
    "Weibull": [(1.7, 1.2)],  # By quadrature.
}


@table(MODERATE)
@pytest.mark.first(8)
def test_gradients_against_finite_differences(name, parameters):
    def score(y, *parameters):
        return crps_distribution(y, getattr(tfd, name)(*parameters))

    distribution = named(name, parameters)
    center, spread = 0.3, 1.2
    if name not in ("Cauchy", "StudentT"):
        center, spread = float(distribution.mean()), float(distribution.stddev())
    labels = center + spread * np.array([-7.1, -1.3, -0.4, 0.011, 0.71, 1.9, 6.3])
    inputs = [double(labels), *[tf.fill(labels.shape, double(p)) for p in parameters]]
    _, *gradients = with_gradients(score, *inputs)
    for i, gradient in enumerate(gradients):
        step = 1e-5 * (spread if i == 0 else abs(parameters[i - 1]))
        expected = differences(score, inputs, i, step)
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * scale)


# Discrete distributions.


def sum_of_cells(cdf, sf, label, last, first=0):
    """CRPS of a distribution of first, ..., last by cells of length 1."""
    k = np.arange(first, last + 1)
    left = np.clip(label, k, k + 1) - k
    cells = left * cdf(k) ** 2 + (1 - left) * sf(k) ** 2
    return np.sum(cells) + max(first - label, 0) + max(label - last - 1, 0)


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
    frozen, first, last = st.poisson(rate), int(rate - 2e4), int(rate + 2e4)
    for y in (rate - 1500.5, rate, rate + 800.25):
        expected = sum_of_cells(frozen.cdf, frozen.sf, y, last, first)
        score = crps_distribution(y, tfd.Poisson(double(rate)))
        np.testing.assert_allclose(score, expected, rtol=1e-9)
    single, slope = with_gradients(
        lambda rates: crps_distribution(labels, tfd.Poisson(rates)),
        tf.fill(labels.shape, tf.constant(rate, tf.float32)),
    )
    exact = crps_distribution(labels, tfd.Poisson(double(rate)))
    np.testing.assert_allclose(single, exact, rtol=1e-4)  # Labels are rounded.
    assert np.all(np.isfinite(slope))


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
    scores = crps_distribution([4.0, -1.0, 9.5], distribution)
    within, below = 2 * 0.04 + 1 * 0.25 + 3.5 * 0.25, 2 + 2 * 0.64 + 4.5 * 0.25
    np.testing.assert_allclose(scores, [within, below, 2 * 0.04 + 4.5 * 0.25 + 2])
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


def test_other_packages(rng):
    y, loc = rng.normal(size=[2, 50])
    scale, a, b = rng.uniform(0.3, 6, [3, 50])
    positive, unit = np.exp(y), special.expit(y)
    for name, function, labels, *parameters in (
        ("Normal", scoringrules.crps_normal, y, loc, scale),
        ("Normal", properscoring.crps_gaussian, y, loc, scale),
        ("Laplace", scoringrules.crps_laplace, y, loc, scale),
        ("Logistic", scoringrules.crps_logistic, y, loc, scale),
        ("Uniform", scoringrules.crps_uniform, y, loc, loc + b),
        ("Exponential", scoringrules.crps_exponential, positive, a),
        ("Gamma", scoringrules.crps_gamma, positive, a, b),
        ("Beta", scoringrules.crps_beta, unit, a, b),
        ("LogNormal", scoringrules.crps_lognormal, positive, loc, b),
        ("StudentT", scoringrules.crps_t, y, a + 1, loc, b),
        ("Poisson", scoringrules.crps_poisson, np.round(positive), a),
        ("Gumbel", lambda y, *p: scoringrules.crps_gev(y, 0.0, *p), y, loc, scale),
    ):
        scores = crps_distribution(labels, named(name, parameters))
        expected = function(labels, *parameters)
        np.testing.assert_allclose(scores, expected, rtol=1e-7, err_msg=name)
    means, deviations = rng.normal(size=[50, 3]), rng.uniform(0.2, 3, [50, 3])
    weights = rng.dirichlet(np.ones(3), 50)
    mixture = tfd.MixtureSameFamily(
        tfd.Categorical(probs=weights), tfd.Normal(means, deviations)
    )
    expected = scoringrules.crps_mixnorm(y, means, deviations, weights)
    np.testing.assert_allclose(crps_distribution(y, mixture), expected, rtol=1e-9)


# Quadrature.


@table(
    {
        **{"Normal": [(5, 1e-6)], "Laplace": [(-3, 1e6)], "Gamma": [(0.05, 2)]},
        **dict.fromkeys(("Gumbel", "Cauchy", "Uniform", "LogNormal"), ((1, 2),)),
    }
)
@pytest.mark.first(2)
def test_quadrature_equals_the_closed_form(name, parameters):
    distribution = named(name, parameters)
    quarter, middle, most = map(float, distribution.quantile(double([0.25, 0.5, 0.75])))
    labels = np.append(around(middle, most - quarter), 0.0)
    scores, valid = _quadrature.continuous(double(labels), distribution)
    assert np.all(valid)
    # Digits of a tiny scale are lost beside the location.
    rounding = 4e-16 * abs(middle) / (most - quarter)
    expected = crps_distribution(labels, distribution)
    np.testing.assert_allclose(scores, expected, rtol=1e-10 + 5 * rounding)


def test_quadrature_has_the_gradients_of_the_closed_form():
    # With a label at the median, where the second integral is empty.
    inputs = [double(around(0.0, 3.0)), *[tf.fill([11], double(p)) for p in (0.0, 3.0)]]
    results = [
        with_gradients(lambda y, *p, score=score: score(y, tfd.Normal(*p)), *inputs)
        for score in (lambda *data: _quadrature.continuous(*data)[0], crps_distribution)
    ]
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-14)


@table(SMOOTH)
@pytest.mark.first(4)
def test_quadrature_equals_scipy(name, parameters):
    frozen = FROZEN[name](*parameters)
    labels = labels_for(frozen)
    scores, valid = _quadrature.continuous(double(labels), named(name, parameters))
    assert np.all(valid)
    np.testing.assert_allclose(scores, reference(frozen, labels), rtol=1e-8)


@table({"Weibull": [(2, 3), (0.2, 3)], "HalfCauchy": [(1, 2)]})
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
    expected = reference(st.triang(peak), labels, kinks=[peak])
    scores = crps_distribution(labels, named("Triangular", (0, 1, peak)))
    np.testing.assert_allclose(scores, expected, rtol=3e-6)


# Weights, and the name and the parameters of each component.
MIXTURES = [
    ([0.2, 0.8], [("Normal", (0, 1)), ("Normal", (5, 0.5))]),  # In closed form.
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
    (
        [0.5, 0.3, 0.2],
        [("Normal", (-1e3, 1e-6)), ("Normal", (0, 3)), ("Normal", (2, 1e3))],
    ),
    ([1e-9, 1 - 1e-9], [("Normal", (0, 1)), ("Normal", (1, 1))]),
    # Right of the narrow one both tails are heavy.
    ([0.002, 0.998], [("StudentT", (1.5, 10, 0.02)), ("StudentT", (1.5, 1, 3))]),
]


def mixtures(weights, components, dtype=tf.float64):
    """The mixture as TFP's classes have it."""
    weights = tf.constant(weights, dtype)
    parts = [named(name, parameters, dtype) for name, parameters in components]
    yield tfd.Mixture(tfd.Categorical(probs=weights), parts)
    names, parameters = zip(*components, strict=True)
    if len(set(names)) == 1:
        family = named(names[0], zip(*parameters, strict=True), dtype)
        logits = tfd.Categorical(logits=tf.math.log(weights) + 3)
        yield tfd.MixtureSameFamily(logits, family)


def nested(mixture):
    batch = tfd.BatchBroadcast(mixture, [2])
    return tfd.MixtureSameFamily(tfd.Categorical(probs=double([0.3, 0.7])), batch)


# What leaves a mixture as it is but for a factor.
WRAPPERS = [
    (tfb.Chain([tfb.Scale(double(-2.0)), tfb.Shift(double(0.0))]), -2),
    (lambda mixture: tfd.BatchReshape(tfd.Independent(mixture), [1]), 1),
    (nested, 1),
]


@pytest.mark.parametrize("i", range(len(MIXTURES)))
@pytest.mark.filterwarnings("ignore:overflow encountered in exp")
@pytest.mark.first(2)
def test_mixtures_equal_the_integral(i):
    weights, components = MIXTURES[i]
    frozen = [FROZEN[name](*p) for name, p in components]
    centres = np.ravel([part.ppf([0.1, 0.5, 0.99]) for part in frozen[:3]])
    labels = np.unique([*centres, -1e6, -5.0, -1.0, 0.0, 3.0, 1e7]).astype(np.float32)
    expected = reference(frozen, labels.astype(float), weights)
    normal = {name for name, _ in components} == {"Normal"}
    for distribution in mixtures(weights, components):
        scores = crps_distribution(labels, distribution)
        np.testing.assert_allclose(scores, expected, rtol=1e-9 if normal else 2e-8)
        closed_form = _closed_form_crps.lookup(distribution)
        assert (closed_form(double(labels), distribution) is not None) == normal
    if 0 < i <= len(WRAPPERS):
        wrapper, factor = WRAPPERS[i - 1]
        scores = crps_distribution(labels * factor, wrapper(distribution))
        np.testing.assert_allclose(scores / abs(factor), expected, rtol=2e-8)
    *_, distribution = mixtures(weights, components, tf.float32)
    scores = crps_distribution(labels, distribution)
    # As far as TFP's own CDF is accurate.
    gamma = components[0][0] == "Gamma"
    np.testing.assert_allclose(scores, expected, rtol=5e-5 if gamma else 3e-6)


def test_mixtures_in_a_batch(rng):
    logits, loc, scale = *rng.normal(size=[2, 4, 2]), double(0.7)
    labels = rng.normal(size=4)

    def scores(rows):
        categorical = tfd.Categorical(logits=logits[rows])
        mixture = tfd.MixtureSameFamily(categorical, tfd.Normal(loc[rows], scale))
        return crps_distribution(labels[rows], mixture)

    singles = [scores(i) for i in range(4)]
    np.testing.assert_allclose(scores(slice(None)), singles, rtol=1e-13)


@pytest.mark.exhaustive
def test_mixtures_compile_and_have_gradients():
    labels = double([-2.0, 0.0, 0.7, 1.0, 40.0])

    def total(logits, loc):
        categorical = tfd.Categorical(logits=logits)
        mixture = tfd.MixtureSameFamily(categorical, tfd.Laplace(loc, double(0.01)))
        return tf.reduce_sum(crps_distribution(labels, mixture))

    def score(*inputs):
        return with_gradients(total, *inputs)

    # E|X - y| - E|X - X'| / 2 of two atoms, so narrow are they.
    inputs = double([np.log(9), 0.0]), double([0.0, 1.0])
    y = labels.numpy()
    distances = 0.9 * np.abs(y) + 0.1 * np.abs(y - 1) - 0.09
    result = tf.function(score)(*inputs)
    np.testing.assert_allclose(result[0], distances.sum(), rtol=3e-3)
    for i, gradient in enumerate(result[1:]):
        slopes = [differences(total, inputs, i, step) for step in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-7)
    compiled = tf.function(score, jit_compile=True)(*inputs)
    np.testing.assert_allclose(compiled[0], result[0], rtol=1e-12)
    np.testing.assert_allclose(compiled[1:], result[1:], rtol=1e-9)


@pytest.mark.parametrize("zero", [0.3, 0.6, 0.95])
@pytest.mark.filterwarnings("ignore:You have created an Inflated")
def test_an_atom_at_the_end_of_the_support(zero):
    labels = np.array([-1.0, 0.0, 0.2, 1.5, 9.0])
    frozen = st.gamma(2)
    sides = (
        lambda z: np.where(z < 0, 0, zero + (1 - zero) * frozen.cdf(z)),
        lambda z: np.where(z < 0, 1, (1 - zero) * frozen.sf(z)),
    )
    expected = [integral(*sides, [-1.0, *quantiles(frozen)], y) for y in labels]
    distribution = tfd.Inflated(
        tfd.Gamma(double(2.0), double(1.0)), inflated_loc_probs=double(zero)
    )
    scores = crps_distribution(labels, distribution)
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_transformed_distributions():
    labels = np.array([-20.0, -3.0, -0.5, 0.0, 0.7, 4.0])
    shift, scale = tfb.Shift(double(2.0)), tfb.Scale(double(-3.0))
    heavy = named("StudentT", (0.55, 0, 1))
    for transformed, expected in (
        (
            shift(scale(named("Normal", (0, 1)))),
            crps_distribution(labels, named("Normal", (2, 3))),
        ),
        (
            scale(named("Exponential", (1.5,))),
            3 * crps_distribution(-labels / 3, named("Exponential", (1.5,))),
        ),
        (shift(heavy), crps_distribution(labels - 2, heavy)),
    ):
        scores = crps_distribution(labels, transformed)
        rtol = 2e-8 if isinstance(transformed.distribution, tfd.StudentT) else 1e-12
        np.testing.assert_allclose(scores, expected, rtol=rtol)
    labels = np.array([-1.0, 1e-5, 1.0, 40.0, 1e3, 2e4, 1e9])
    weights, parameters = [0.3, 0.7], [(0, 3), (5, 0.01)]
    normals = tfd.MixtureSameFamily(
        tfd.Categorical(probs=double(weights)),
        named("Normal", zip(*parameters, strict=True)),
    )
    scores = crps_distribution(labels, tfb.Exp()(normals))
    frozen = [FROZEN["LogNormal"](*p) for p in parameters]
    np.testing.assert_allclose(scores, reference(frozen, labels, weights), rtol=2e-8)


@pytest.mark.parametrize(
    ("dtype", "df"), [(tf.float32, 0.51), (tf.float32, 0.6), (tf.float64, 0.515)]
)
@pytest.mark.first(1)
def test_a_tail_that_is_too_heavy_is_refused(dtype, df):
    heavy = tfb.Shift(tf.constant(0.5, dtype))(named("StudentT", (df, 0, 1), dtype))
    with pytest.raises(ValueError, match="can be integrated"):
        crps_distribution([0.5, 2.0], heavy)


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
    expected = crps_distribution(REALS, categorical)
    np.testing.assert_allclose(crps_distribution(REALS, ordered), expected, rtol=1e-5)


@pytest.mark.parametrize("rates", [(3.0, 10.0), (10.0, 1e5)])
@pytest.mark.first(1)
def test_mixtures_of_integers_equal_the_sum(rates):
    labels, weights = np.array([-5, 9.5, 1.0003e5]), [0.3, 0.7]
    frozen = [st.poisson(rate) for rate in rates]
    sides = [mixed(weights, frozen, side) for side in ("cdf", "sf")]
    expected = [sum_of_cells(*sides, y, 120_000) for y in labels]
    for mixture in mixtures(weights, [("Poisson", (rate,)) for rate in rates]):
        scores = crps_distribution(labels, mixture)
        np.testing.assert_allclose(scores, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="too wide for a sum over integers"):
        crps_distribution(labels, tfd.Binomial(double(1e9), probs=double(0.3)))


def test_sum_over_integers_has_gradients():
    def score(y, p):
        return crps_distribution(y, tfd.Binomial(double(20), probs=p))

    inputs = double([-1.0, 2.0, 5.5, 30.0]), tf.fill([4], double(0.3))
    _, slope, gradient = with_gradients(score, *inputs)
    expected = 2 * st.binom(20, 0.3).cdf(inputs[0]) - 1
    np.testing.assert_allclose(slope, expected, rtol=1e-10)
    expected = differences(score, inputs, 1, 1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


# Eager, graph, XLA.


@table(
    {
        **{"Gumbel": [(0.3, 1.2)], "Poisson": [(2.5,)], "Beta": [(2.0, 3.0)]},
        **{"StudentT": [(1.0, 0.3, 1.2)], "Weibull": [(1.7, 1.2)]},
        "Binomial": [(20.0, None, 0.3)],
    }
)
@pytest.mark.first(2)
def test_graph_and_xla(name, parameters):
    def score(labels):
        forecast = named(name, parameters, tf.float32)
        return with_gradients(lambda y: crps_distribution(y, forecast), labels)

    labels = tf.constant([-3.0, 0.0, 0.2, 0.9, 3.0, 1e3])
    expected = score(labels)
    for jit_compile in (False, True):
        result = tf.function(score, jit_compile=jit_compile)(labels)
        for actual, value in zip(result, expected, strict=True):
            np.testing.assert_allclose(actual, value, rtol=2e-5, atol=1e-6)


# One of each closed form.
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
    known = {cls.__name__ for cls in _closed_form_crps._table()}
    mixed = {"Mixture", "MixtureSameFamily", "_Mixture", "_MixtureSameFamily"}
    assert known == {*CLOSED, *DISCRETE, *mixed}
    frozen = {name: FROZEN[name](*cases[0]) for name, cases in CLOSED.items()}
    labels = {name: labels_for(part) for name, part in frozen.items()}

    @tf.function(jit_compile=True)
    def scores():
        results = {
            name: crps_distribution(labels[name], named(name, cases[0]))
            for name, cases in CLOSED.items()
        }
        for name, p in DISCRETE.items():
            results[name] = crps_distribution(double(REALS), named(name, p))
        family = tfd.MixtureSameFamily(
            tfd.Categorical(probs=double([0.3, 0.7])),
            named("Normal", ([0.0, 2.0], [1.0, 0.5])),
        )
        results["MixtureSameFamily"] = crps_distribution(double(REALS), family)
        return results

    with tf.init_scope():
        eager = scores.python_function()
    for name, result in scores().items():
        exact = eager[name]
        if name in frozen:
            exact = reference(frozen[name], labels[name])
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
    @tf.function
    def run(scale):
        return with_gradients(
            lambda s: crps_distribution([0.0, 0.0], tfd.Normal(0.0, s))[0], scale
        )[1]

    slopes = run(tf.constant([1.0, -1.0])).numpy()
    assert slopes == pytest.approx([0.2336950, 0.0], rel=1e-6)


# What is wrong with them the distributions say, but not in a graph.
TOLD_EAGERLY = [tfd.TwoPieceNormal(0.0, -1.0, 1.0), tfd.Triangular(0.0, 1.0, 3.0)]


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
        # No plausible wrong number by quadrature, or by a sum.
        tfd.Binomial(1e8, probs=0.3),  # Wider than the window.
        tfd.Zipf(2.2),  # Too heavy a tail.
        tfd.Pareto(double(0.4), double(1.0)),  # Infinite.
        tfd.Weibull(np.nan, 1.0),
        *TOLD_EAGERLY,
    ],
    ids=lambda distribution: type(distribution).__name__,
)
def test_without_a_score(distribution):
    name = type(distribution).__name__
    with pytest.raises(ValueError, match=rf"`distribution` must be .*Received: {name}"):
        crps_distribution([0.5, 2.0], distribution)
    if distribution not in TOLD_EAGERLY:
        result = tf.function(lambda y: crps_distribution(y, distribution))([0.5, 2.0])
        assert np.all(np.isnan(result))


def test_student_t_without_a_finite_score():
    df = tf.constant([0.3, 0.5, 0.51])
    scores = crps_distribution(0.0, tfd.StudentT(df, 0.0, 1.0)).numpy()
    assert np.isinf(scores).tolist() == [True, True, False]


# Arguments.


def test_shapes():
    def score(labels, batch):
        forecast = tfd.Normal(tf.ones(batch, tf.float64), 1.0)
        return crps_distribution(np.ones(labels), forecast)

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
        assert score(labels, batch).shape == expected
    for labels, batch in (([3], [3, 1]), ([3], [2, 3]), ([2, 3], [2]), ([2], [3])):
        shape = str(labels).replace("[", r"\[")
        with pytest.raises(ValueError, match=f"batch shape .*{shape}.*Received: batch"):
            score(labels, batch)
    for labels, batch in (([0], []), ([2, 0], []), ([], [0])):
        with pytest.raises(ValueError, match="at least one example"):
            score(labels, batch)


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
    score = crps_distribution(0.0, named("Normal", (0.0, 1.0), tf.float16))
    assert score.dtype == tf.float16
    assert float(score) == pytest.approx(0.2336950, abs=2e-4)
    # A Python number is not rounded to float32 on its way.
    expected = scoringrules.crps_normal(0.1, 0.0, 1.0)
    score = crps_distribution([0.1], tfd.Normal(double(0.0), 1.0))
    assert float(score[0]) == pytest.approx(expected, rel=1e-14)
    integers = crps_distribution(np.array([0, 3], np.uint8), tfd.Poisson(2.0))
    reals = crps_distribution([0.0, 3.0], tfd.Poisson(2.0))
    assert integers.numpy().tolist() == reals.numpy().tolist()


NORMAL = tfd.Normal(0.0, 1.0)


@pytest.mark.parametrize(
    ("labels", "distribution", "error", "message"),
    [
        *[
            ([0.0, y], NORMAL, ValueError, r"`labels` must be finite\. Received: ")
            for y in (np.nan, np.inf, -np.inf)
        ],
        (["a"], NORMAL, ValueError, "`labels` must be numbers"),
        (0.0, 1.0, TypeError, r"Distribution\. Received: float"),
        (0.0, tfd.Normal, TypeError, r"Distribution\. Received: "),
        (0.0, tfd.MultivariateNormalDiag([0.0, 0.0]), ValueError, "scalar events"),
        (0.0, tfd.Horseshoe(1.0), ValueError, "`cdf`. Received: Horseshoe"),
        (0.0, tfd.Skellam(1.0, 2.0), ValueError, "`cdf`. Received: Skellam"),
    ],
)
def test_wrong_arguments(labels, distribution, error, message):
    with pytest.raises(error, match=message):
        crps_distribution(labels, distribution)


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
    for name, form in (
        ("Exponential", _closed_form_crps.exponential),
        ("LogNormal", _closed_form_crps.log_normal),
        ("Gumbel", _closed_form_crps.gumbel),
    ):
        assert _closed_form_crps.lookup(named(name, CLOSED[name][0])) is form


# Special functions.


def test_special_functions():
    def ein(v):
        return mpmath.quad(lambda t: -mpmath.expm1(-t) / t, [0, v])

    def excess(v):
        return mpmath.mpf(v) - 1 - mpmath.log(mpmath.mpf(v))

    near_1 = [0.69, 0.71, 1 - 1e-8, 1 + 2.0**-40, 1.29, 1.31]
    for function, exact, x, rtol in (
        (_special.exponential_integral, mpmath.e1, [2, 2.5, 7, 40, 500], 1e-14),
        (
            _special.complementary_exponential_integral,
            ein,
            [0, 1e-9, 0.3, 1, 2],
            1e-14,
        ),
        (_special.excess_over_log, excess, [1e-300, 0.01, *near_1, 1e6], 5e-15),
    ):
        with mpmath.workdps(50):
            expected = [float(exact(v)) for v in x]
        np.testing.assert_allclose(function(double(x)), expected, rtol=rtol)


@pytest.mark.parametrize("a", [1000.0, 1e4, 1e6, 1e8])
def test_incomplete_functions_of_large_concentrations(a):
    z = np.array([-8.0, -2.0, 0.0, 0.7, 5.0])
    one, x = np.ones(5), a + z * np.sqrt(a)
    cdf = _special.gamma_cdf(double(a * one), double(x))
    np.testing.assert_allclose(cdf, st.gamma(a).cdf(x), atol=2e-12)
    x = 0.25 + z * np.sqrt(0.1875 / (4 * a))
    cdf = _special.beta_cdf(double(a * one), double(3 * a * one), double(x))
    np.testing.assert_allclose(cdf, st.beta(a, 3 * a).cdf(x), atol=1e-9)
