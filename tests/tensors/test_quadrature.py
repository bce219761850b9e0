"""The CRPS of distributions without a closed form: integrals, sums and mixtures."""

import mpmath
import numpy as np
import pytest
import scipy.stats as st
import tensorflow as tf
import tensorflow_probability as tfp

from tests.distributions import (
    FROZEN,
    REALS,
    around,
    differences,
    double,
    integral,
    labels_for,
    mixed,
    named,
    quantiles,
    reference,
    sum_of_cells,
    table,
    with_gradients,
)
from uncertainty_metrics.tensors.distributions import (
    _closed_form_crps,
    _quadrature,
    _special,
)
from uncertainty_metrics.tensors.distributions.distribution_scores import (
    crps_distribution,
)

tfd = tfp.distributions
tfb = tfp.bijectors


def test_quadrature_has_the_gradients_of_the_closed_form():
    # One label is the median, where the second integral is empty.
    inputs = [double(around(0.0, 3.0)), *[tf.fill([11], double(p)) for p in (0.0, 3.0)]]
    results = [
        with_gradients(lambda y, *p, score=score: score(y, tfd.Normal(*p)), *inputs)
        for score in (lambda *data: _quadrature.continuous(*data)[0], crps_distribution)
    ]
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-14)


# These have a closed form, so quadrature is tested in float64 only.
CLOSED = {
    **{"Normal": [(5, 1e-6)], "Laplace": [(-3, 1e6)], "Gamma": [(0.05, 2)]},
    **dict.fromkeys(("Gumbel", "Cauchy", "Uniform", "LogNormal"), ((1, 2),)),
}
SMOOTH = {
    "Weibull": [(2, 3), (0.3, 3)],
    "HalfCauchy": [(1, 2)],
    "Triangular": [(0, 1, 0.1), (0, 1, 0.3), (0, 1, 0.77)],
    **CLOSED,
    "Pareto": [(2, 3)],
    "Moyal": [(0, 1)],
    "TruncatedNormal": [(0, 1, -1e4, 0.5)],
    "LogLogistic": [(0, 0.3)],
    "InverseGamma": [(3, 2)],
    "GeneralizedPareto": [(0, 1, -0.4)],
    "GeneralizedExtremeValue": [(0, 1, 0.2)],
}


@pytest.mark.first(2, "thorough")
@table(SMOOTH)
@pytest.mark.first(4)
def test_quadrature_equals_scipy(name, parameters):
    frozen, kink = FROZEN[name](*parameters), name == "Triangular"
    labels = labels_for(frozen).astype(np.float32)
    expected = reference(frozen, labels.astype(float), kinks=parameters[2:][:kink])
    for dtype, rtol in ((tf.float64, 3e-6 if kink else 1e-8), (tf.float32, 1e-5)):
        if dtype == tf.float64 or name not in CLOSED:
            distribution, y = named(name, parameters, dtype), tf.constant(labels, dtype)
            scores, valid = _quadrature.continuous(y, distribution)
            assert np.all(valid)
            np.testing.assert_allclose(scores, expected, rtol=rtol)


@pytest.mark.thorough
@pytest.mark.parametrize(("dtype", "df"), [(tf.float64, 0.515), (tf.float32, 0.51)])
@pytest.mark.first(1)
def test_a_tail_that_is_too_heavy_is_refused(dtype, df):
    heavy = tfb.Shift(tf.constant(0.5, dtype))(named("StudentT", (df, 0, 1), dtype))
    two = tfd.MixtureSameFamily(
        tfd.Categorical(probs=tf.constant([0.5, 0.5], dtype)),
        named("StudentT", ([df, df], [0, 1], [1, 2]), dtype),
    )
    for distribution in (heavy, two):
        with pytest.raises(ValueError, match="can be integrated"):
            crps_distribution([0.5, 2.0], distribution)


# Each mixture has weights, and for each component its name and parameters.
MIXTURES = [
    # This one has a closed form.
    ([0.2, 0.8], [("Normal", (0, 1)), ("Normal", (5, 0.5))]),
    ([0.9, 0.1], [("Laplace", (0, 0.01)), ("Laplace", (1, 0.01))]),
    ([0.5, 0.5], [("StudentT", (4, 0, 0.1)), ("StudentT", (4, 10, 0.1))]),
    ([0.5, 0.5], [("Laplace", (0, 1)), ("Laplace", (30, 1))]),
    # Three very different scales at one place.
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
    # To the right of the narrow component, both have heavy tails.
    ([0.002, 0.998], [("StudentT", (1.5, 10, 0.02)), ("StudentT", (1.5, 1, 3))]),
]


def mixtures(weights, components, dtype=tf.float64):
    """Yields the mixture in each class of TFP that can hold it."""
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


# Wrappers that change a mixture by a factor at most, and the factor.
WRAPPERS = [
    (tfb.Chain([tfb.Scale(double(-2.0)), tfb.Shift(double(0.0))]), -2),
    (lambda mixture: tfd.BatchReshape(tfd.Independent(mixture), [1]), 1),
    (nested, 1),
]


@pytest.mark.first(1, "thorough")
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
    # The precision is that of TFP's own CDF.
    gamma = components[0][0] == "Gamma"
    np.testing.assert_allclose(scores, expected, rtol=5e-5 if gamma else 3e-6)


def test_mixtures_in_a_batch_equal_single_ones(rng):
    logits, loc, scale = *rng.normal(size=[2, 4, 2]), double(0.7)
    labels = rng.normal(size=4)

    def scores(rows):
        categorical = tfd.Categorical(logits=logits[rows])
        mixture = tfd.MixtureSameFamily(categorical, tfd.Normal(loc[rows], scale))
        return crps_distribution(labels[rows], mixture)

    singles = [scores(i) for i in range(4)]
    np.testing.assert_allclose(scores(slice(None)), singles, rtol=1e-13)


def narrow(logits, loc):
    """Returns a mixture of two narrow components, which has no closed form."""
    categorical = tfd.Categorical(logits=logits)
    return tfd.MixtureSameFamily(categorical, tfd.Laplace(loc, double(0.01)))


@pytest.mark.thorough
def test_gradients_of_mixtures_equal_finite_differences():
    y = np.array([-2.0, 0.0, 0.7, 1.0, 40.0])

    def total(logits, loc):
        return tf.reduce_sum(crps_distribution(y, narrow(logits, loc)))

    inputs = double([np.log(9), 0.0]), double([0.0, 1.0])
    score, *gradients = with_gradients(total, *inputs)
    # E|X - y| - E|X - X'| / 2, if both components were points.
    distances = 0.9 * np.abs(y) + 0.1 * np.abs(y - 1) - 0.09
    np.testing.assert_allclose(score, distances.sum(), rtol=3e-3)
    for i, step in enumerate(1e-6 * np.array([[1, 0.5], [0.5, 1]])):
        slope = differences(total, inputs, i, step)
        expected = np.sum(gradients[i] * step) / 1e-6
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("zero", [0.3, 0.6, 0.95])
@pytest.mark.first(1)
@pytest.mark.filterwarnings("ignore:You have created an Inflated")
def test_a_point_mass_at_the_end_of_the_support_equals_the_integral(zero):
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


@pytest.mark.thorough
def test_transformed_distributions_equal_closed_forms():
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


def test_sums_over_integers_equal_closed_forms():
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


def test_gradients_of_sums_over_integers_are_right():
    def score(y, p):
        return crps_distribution(y, tfd.Binomial(double(20), probs=p))

    inputs = double([-1.0, 2.0, 5.5, 30.0]), tf.fill([4], double(0.3))
    _, slope, gradient = with_gradients(score, *inputs)
    expected = 2 * st.binom(20, 0.3).cdf(inputs[0]) - 1
    np.testing.assert_allclose(slope, expected, rtol=1e-10)
    expected = differences(score, inputs, 1, 1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_special_functions_equal_mpmath():
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
def test_cdfs_of_large_concentrations_equal_scipy(a):
    z = np.array([-8.0, -2.0, 0.0, 0.7, 5.0])
    one, x = np.ones(5), a + z * np.sqrt(a)
    cdf = _special.gamma_cdf(double(a * one), double(x))
    np.testing.assert_allclose(cdf, st.gamma(a).cdf(x), atol=2e-12)
    x = 0.25 + z * np.sqrt(0.1875 / (4 * a))
    cdf = _special.beta_cdf(double(a * one), double(3 * a * one), double(x))
    np.testing.assert_allclose(cdf, st.beta(a, 3 * a).cdf(x), atol=1e-9)
