"""CRPS under TFP distributions, against integrals of SciPy's CDFs."""

import numpy as np
import pytest
import scipy.stats as st
import scoringrules
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import special

from tests.distributions import (
    FROZEN,
    REALS,
    around,
    differences,
    double,
    integral,
    labels_for,
    named,
    reference,
    sum_of_cells,
    table,
    with_gradients,
)
from uncertainty_metrics.tensors.distributions import (
    _closed_form_crps,
    _extreme_value_crps,
)
from uncertainty_metrics.tensors.distributions.distribution_scores import (
    crps_distribution,
)

tfd = tfp.distributions


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
    **dict.fromkeys(
        ("GeneralizedPareto", "GeneralizedExtremeValue"),
        (
            *((0, 1, c) for c in (0.3, -0.4, 0, 1e-7, -1e-7, 1, 1.2, -1, -3)),
            (5, 1e-6, 0.1),
        ),
    ),
    "TruncatedNormal": [
        *[(0, 1, *ends) for ends in ((-1, 2), (-np.inf, 0.5), (3, np.inf), (30, 31))],
        *[(0, 1e6, 0, 1), (20, 1, 0, np.inf), (5, 1e-6, 5 - 3e-6, 6)],
    ],
}


@table(CLOSED)
def test_closed_form_equals_the_integral(name, parameters):
    frozen = FROZEN[name](*parameters)
    labels = labels_for(frozen)
    distribution = named(name, parameters)
    scores = crps_distribution(labels, distribution)
    assert float(crps_distribution(labels[3], distribution)) == pytest.approx(scores[3])
    assert _closed_form_crps.lookup(distribution) is not None
    # Rounding a label costs more relative to the scale, the farther away the label is.
    np.testing.assert_allclose(scores, reference(frozen, labels), rtol=2e-8)


@table(CLOSED)
@pytest.mark.first(6)
def test_float32_scores_and_gradients_are_precise_in_the_extremes(name, parameters):
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
    # log(y) - loc has the rounding error of the larger of the two, divided by the
    # scale.
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
    **dict.fromkeys(
        ("GeneralizedPareto", "GeneralizedExtremeValue"),
        tuple((0.3, 1.2, c) for c in (0.2, -0.4, 1e-3)),
    ),
    "TruncatedNormal": [(0.3, 1.2, -0.5, 2.0), (-4.0, 1.2, 0.5, 8.0)],
    "Poisson": [(2.5,), (1200.0,)],
    "Weibull": [(1.7, 1.2)],  # This one is computed by quadrature.
}


@table(MODERATE)
@pytest.mark.first(8)
def test_gradients_equal_finite_differences(name, parameters):
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


COUNTS = [
    *[
        (tfd.Poisson(double(rate)), st.poisson(rate))
        for rate in (1e-6, 0.5, 3.0, 40.0, 998.5, 1001.5)
    ],
    *[
        (tfd.Geometric(probs=double(p)), st.geom(p, loc=-1))
        for p in (0.03, 0.5, 0.999, 1.0)
    ],
    (tfd.Geometric(logits=double(-3.0)), st.geom(special.expit(-3.0), loc=-1)),
    (tfd.Binomial(double(20), probs=double(0.3)), st.binom(20, 0.3)),
    (tfd.NegativeBinomial(double(5), probs=double(0.3)), st.nbinom(5, 0.7)),
    (tfd.Zipf(double(9.0), dtype=tf.float64), st.zipf(9.0)),
]


@pytest.mark.first(4, "thorough")
@pytest.mark.parametrize(("distribution", "frozen"), COUNTS)
def test_counts_equal_the_sum(distribution, frozen):
    mean, deviation = frozen.mean(), frozen.std()
    labels = [*REALS, *np.round(around(mean, deviation))[1:-1], mean]
    expected = [sum_of_cells(frozen.cdf, frozen.sf, y, 3000) for y in labels]
    scores = crps_distribution(labels, distribution)
    # At a tiny rate, the score at 0 is a difference of two numbers as large as the
    # rate.
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-10 * mean)


def test_poisson_of_a_large_rate_equals_the_sum():
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
    np.testing.assert_allclose(single, exact, rtol=1e-4)  # Rounds the labels.
    assert np.all(np.isfinite(slope))


def test_finite_distributions_by_hand():
    # The CDF is 0.2 in the cell [1, 3) and 0.5 in [3, 7.5). The label 4 is in the
    # second.
    outcomes, probabilities = double([1.0, 3.0, 7.5]), double([0.2, 0.3, 0.5])
    distribution = tfd.FiniteDiscrete(outcomes, probs=probabilities)
    scores = crps_distribution([4.0, -1.0, 9.5], distribution)
    within, below = 2 * 0.04 + 1 * 0.25 + 3.5 * 0.25, 2 + 2 * 0.64 + 4.5 * 0.25
    np.testing.assert_allclose(scores, [within, below, 2 * 0.04 + 4.5 * 0.25 + 2])
    # This is the ranked probability score.
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


# Eager, graph, XLA.


# One distribution for each closed form. `OTHERS` have none, and their graphs are large.
FORMS = {
    **{name: cases[0] for name, cases in CLOSED.items()},
    "Bernoulli": (None, 0.3),
    "Categorical": (None, [0.2, 0.3, 0.5]),
    "Deterministic": (2.0,),
    "Empirical": ([0.3, -1.0, 2.0],),
    "FiniteDiscrete": ([1.0, 3.0, 7.5], None, [0.2, 0.3, 0.5]),
    "Geometric": (None, 0.3),
    "Poisson": (2.5,),
}
OTHERS = {"Weibull": (1.7, 1.2), "Binomial": (20.0, None, 0.3)}
LARGE = [
    *("Beta", "Chi2", "Gamma", "GeneralizedExtremeValue", "Poisson", "StudentT"),
    *(*OTHERS, "mixed Laplace", "TruncatedNormal", "censored Normal"),
]
# The gradients of these take much longer to compile than the scores.
DEAR_GRADIENTS = ["Gumbel", "Cauchy", "LogNormal"]


def test_every_closed_form_is_compiled():
    known = {cls.__name__ for cls in _closed_form_crps._table()}
    mixed = {"Mixture", "MixtureSameFamily", "_Mixture", "_MixtureSameFamily"}
    assert known == {*FORMS, *mixed}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("large", "jit_compile", "values_alone"),
    [
        (False, True, DEAR_GRADIENTS),
        *[(large, jit, ()) for large in (False, True) for jit in (True, False)],
    ],
)
@pytest.mark.first(1)
def test_compiled_equals_eager(large, jit_compile, values_alone):
    def score(labels):
        made = {name: named(name, p) for name, p in (FORMS | OTHERS).items()}
        weights = tfd.Categorical(probs=double([0.3, 0.7]))
        for name in ("Normal", "Laplace"):
            parts = named(name, ([0.0, 2.0], [1.0, 0.5]))
            made[f"mixed {name}"] = tfd.MixtureSameFamily(weights, parts)
        made["censored Normal"] = censored(0.1, 1.0, 0.0, np.inf, 0.3)

        def of(name):
            if name in values_alone:
                return (crps_distribution(labels, made[name]),)
            return with_gradients(lambda y: crps_distribution(y, made[name]), labels)

        return {name: of(name) for name in made if (name in LARGE) == large}

    labels = double([-3.0, 0.0, 0.2, 0.9, 3.0, 1e3])
    expected = score(labels)
    for name, result in tf.function(score, jit_compile=jit_compile)(labels).items():
        for actual, value in zip(result, expected[name], strict=True):
            rtol = 2e-8 if value.dtype == tf.float64 else 3e-7
            np.testing.assert_allclose(actual, value, rtol, atol=1e-12, err_msg=name)


@pytest.mark.thorough
def test_bad_values_are_nan_in_a_graph():
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


def test_bad_rows_do_not_change_the_gradients_of_others():
    @tf.function
    def run(scale):
        return with_gradients(
            lambda s: crps_distribution([0.0, 0.0], tfd.Normal(0.0, s))[0], scale
        )[1]

    slopes = run(tf.constant([1.0, -1.0])).numpy()
    assert slopes == pytest.approx([0.2336950, 0.0], rel=1e-6)


# These distributions check their parameters themselves, but not in a graph.
TOLD_EAGERLY = [tfd.TwoPieceNormal(0.0, -1.0, 1.0), tfd.Triangular(0.0, 1.0, 3.0)]


each_without_a_score = pytest.mark.parametrize(
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
        tfd.GeneralizedPareto(0.0, 1.0, np.nan),
        tfd.GeneralizedExtremeValue(0.0, 1.0, np.nan),
        tfd.TruncatedNormal(0.0, 1.0, 2.0, 2.0),
        tfd.TruncatedNormal(0.0, 1.0, np.nan, 2.0),
        tfd.TruncatedNormal(0.0, -1.0, 0.0, 2.0),
        tfd.Poisson(0.0),
        tfd.Geometric(probs=1.5),
        tfd.Bernoulli(probs=-0.5),
        tfd.Categorical(probs=[0.5, 0.9]),
        tfd.FiniteDiscrete([1.0, 1.0], probs=[0.5, 0.5]),
        tfd.MixtureSameFamily(
            tfd.Categorical(probs=[0.5, 0.5]), tfd.Normal([0.0, 0.0], [1.0, 0.0])
        ),
        # For these, quadrature or a sum would give a plausible wrong number.
        tfd.Binomial(1e8, probs=0.3),  # Has more values than are summed.
        tfd.Zipf(2.2),  # Has too heavy a tail.
        tfd.Pareto(double(0.4), double(1.0)),  # Has an infinite score.
        tfd.Weibull(np.nan, 1.0),
        *TOLD_EAGERLY,
    ],
    ids=lambda distribution: type(distribution).__name__,
)


@each_without_a_score
def test_distributions_without_a_score_raise(distribution):
    name = type(distribution).__name__
    with pytest.raises(ValueError, match=rf"`distribution` must .*Received: {name}"):
        crps_distribution([0.5, 2.0], distribution)


@pytest.mark.thorough
@each_without_a_score
# `test_bad_values_are_nan_in_a_graph` has one by quadrature.
@pytest.mark.first(18)
def test_distributions_without_a_score_are_nan_in_a_graph(distribution):
    if distribution not in TOLD_EAGERLY:
        result = tf.function(lambda y: crps_distribution(y, distribution))([0.5, 2.0])
        assert np.all(np.isnan(result))


def test_score_of_student_t_is_infinite_up_to_one_half_degree_of_freedom():
    df = tf.constant([0.3, 0.5, 0.51])
    scores = crps_distribution(0.0, tfd.StudentT(df, 0.0, 1.0)).numpy()
    assert np.isinf(scores).tolist() == [True, True, False]


def test_generalized_pareto_is_infinite_for_heavy_tails_and_has_known_limits():
    forecast = tfd.GeneralizedPareto(double(1.0), double(2.0), double([2.5, 2.0, 1.9]))
    scores = crps_distribution(double([3.0] * 3), forecast).numpy()
    assert np.isinf(scores).tolist() == [True, True, False]
    labels = double([-0.5, 0.0, 0.7, 2.0, 9.0])
    for shape, same in (
        (-1.0, tfd.Uniform(double(0.0), double(2.0))),
        (0.0, tfd.Exponential(double(0.5))),
    ):
        forecast = tfd.GeneralizedPareto(double(0.0), double(2.0), double(shape))
        expected = crps_distribution(labels, same)
        np.testing.assert_allclose(crps_distribution(labels, forecast), expected)


def test_generalized_extreme_value_is_infinite_for_heavy_tails_and_has_known_limits(
    rng,
):
    shapes = double([2.5, 2.0, 1.9])
    forecast = tfd.GeneralizedExtremeValue(double(1.0), double(2.0), shapes)
    scores = crps_distribution(double([3.0] * 3), forecast).numpy()
    assert np.isinf(scores).tolist() == [True, True, False]
    labels = double(3 * rng.normal(size=50))
    gumbel = crps_distribution(labels, tfd.Gumbel(double(0.3), double(1.2)))
    for shape in (0.0, 1e-12, -1e-12):
        forecast = tfd.GeneralizedExtremeValue(double(0.3), double(1.2), double(shape))
        np.testing.assert_allclose(
            crps_distribution(labels, forecast), gumbel, rtol=1e-10
        )
    shape = rng.uniform(-0.9, 0.9, 50)
    forecast = tfd.GeneralizedExtremeValue(double(0.3), double(1.2), double(shape))
    expected = scoringrules.crps_gev(labels.numpy(), shape, 0.3, 1.2)
    np.testing.assert_allclose(crps_distribution(labels, forecast), expected, rtol=1e-8)


def censored(loc, scale, low, high, below=0.0, above=0.0):
    """Returns a TruncatedNormal with masses at its ends."""
    weights, parts = (
        [1 - below - above],
        [named("TruncatedNormal", (loc, scale, low, high))],
    )
    for place, weight in ((low, below), (high, above)):
        if np.all(np.isfinite(place)):
            weights.append(weight + 0 * np.asarray(loc))
            parts.append(tfd.Deterministic(double(place + 0 * np.asarray(loc))))
    return tfd.Mixture(tfd.Categorical(probs=double(np.stack(weights, axis=-1))), parts)


def test_truncated_and_censored_normals_equal_scoringrules(rng):
    # The means are near the interval: far outside, scoringrules loses its precision.
    labels, loc = 2 * rng.normal(size=60), rng.uniform(-2, 3, 60)
    scale = rng.uniform(0.7, 2, 60)
    labels[:2] = -1.0, 2.0
    parameters = loc, scale, np.full(60, -1.0), np.full(60, 2.0)
    scores = crps_distribution(double(labels), named("TruncatedNormal", parameters))
    expected = scoringrules.crps_tnormal(labels, *parameters)
    np.testing.assert_allclose(scores, expected, rtol=1e-8)
    below = st.norm.cdf(-1.0, loc, scale)
    above = st.norm.sf(2.0, loc, scale)
    scores = crps_distribution(double(labels), censored(*parameters, below, above))
    expected = scoringrules.crps_cnormal(labels, *parameters)
    np.testing.assert_allclose(scores, expected, rtol=1e-8)
    # The masses need not be those of a censored Normal, for example in a hurdle model.
    below, above = rng.dirichlet([1, 1, 1], 60).T[:2]
    scores = crps_distribution(double(labels), censored(*parameters, below, above))
    expected = scoringrules.crps_gtcnormal(labels, *parameters, below, above)
    np.testing.assert_allclose(scores, expected, rtol=1e-8)


def test_mixtures_of_a_truncated_normal_and_points_equal_the_integral():
    parts = [
        tfd.Deterministic(double(-3.0)),
        named("TruncatedNormal", (0.3, 1.2, -1.0, np.inf)),
        tfd.Deterministic(double(0.7)),
    ]
    forecast = tfd.Mixture(tfd.Categorical(probs=double([0.2, 0.5, 0.3])), parts)
    frozen = FROZEN["TruncatedNormal"](0.3, 1.2, -1.0, np.inf)
    labels = np.array([-9.0, -3.0, -2.0, -1.0, 0.3, 0.7, 5.0])

    def cdf(z):
        return 0.5 * frozen.cdf(z) + 0.2 * (z >= -3) + 0.3 * (z >= 0.7)

    points = [-3.0, -1.0, 0.3, 0.7, *np.linspace(1, 14, 27)]
    expected = [integral(cdf, lambda z: 1 - cdf(z), points, y) for y in labels]
    np.testing.assert_allclose(
        crps_distribution(double(labels), forecast), expected, rtol=1e-10
    )


def test_truncated_normals_far_in_the_tail_are_exponential():
    # The tail is exponential with the mean `scale^2 / (low - loc)`; its CRPS is half of
    # that.
    loc, scale = double([-1.0, -1e9, 1.0]), double([1e-9, 1.0, 1e-3])
    forecast = tfd.TruncatedNormal(loc, scale, double(2.0), double(np.inf))
    scores = crps_distribution(double(2.0), forecast)
    np.testing.assert_allclose(scores, scale**2 / (2 - loc) / 2, rtol=2e-6)
    forecast = tfd.TruncatedNormal(double(0.0), double(1e9), double(0.0), double(2.0))
    uniform = crps_distribution(REALS, tfd.Uniform(double(0.0), double(2.0)))
    np.testing.assert_allclose(crps_distribution(REALS, forecast), uniform, rtol=1e-12)


def test_gradients_for_labels_at_an_end_equal_finite_differences():
    def score(y, low, high, loc):
        return crps_distribution(y, tfd.TruncatedNormal(loc, double(1.2), low, high))

    rows = [(0.0, 0.0, 3.0, 0.5), (3.0, 0.0, 3.0, 0.5), (0.0, 0.0, 3.0, -2.0)]
    rows += [(3.0, 0.0, 3.0, 5.0), (0.5, 0.0, 3.0, 0.5)]
    inputs = [double(column) for column in zip(*rows, strict=True)]
    _, *gradients = with_gradients(score, *inputs)
    for i, gradient in enumerate(gradients):
        expected = differences(score, inputs, i, 1e-5)
        np.testing.assert_allclose(gradient, expected, atol=1e-4)


# Arguments.


def test_batch_shapes_broadcast_to_the_labels():
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


def test_a_batch_of_unknown_size_equals_scoringrules():
    run = tf.function(
        lambda y, loc: crps_distribution(y, tfd.Normal(loc, 1.0)),
        input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None, 1])],
    )
    labels = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], np.float32)
    expected = scoringrules.crps_normal(labels, labels[:, :1], 1.0)
    np.testing.assert_allclose(run(labels, labels[:, :1]), expected, rtol=1e-6)


def test_result_has_the_dtype_of_the_distribution():
    assert crps_distribution([1, 2], tfd.Normal(0.0, 1.0)).dtype == tf.float32
    assert crps_distribution([1, 2], tfd.Normal(double(0), 1.0)).dtype == tf.float64
    assert crps_distribution([1, 2], tfd.Categorical([0.0, 1.0])).dtype == tf.float32
    score = crps_distribution(0.0, named("Normal", (0.0, 1.0), tf.float16))
    assert score.dtype == tf.float16
    assert float(score) == pytest.approx(0.2336950, abs=2e-4)
    # A Python number is not rounded to float32 in between.
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
def test_wrong_arguments_raise(labels, distribution, error, message):
    with pytest.raises(error, match=message):
        crps_distribution(labels, distribution)


def test_subclasses_use_a_closed_form_only_if_it_is_right():
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
    # In TFP, Exponential is a subclass of Gamma, and LogNormal of
    # TransformedDistribution.
    for name, form in (
        ("Exponential", _closed_form_crps.exponential),
        ("LogNormal", _closed_form_crps.log_normal),
        ("Gumbel", _extreme_value_crps.gumbel),
    ):
        assert _closed_form_crps.lookup(named(name, CLOSED[name][0])) is form


def test_concentrations_below_the_limit_raise():
    forecast = tfd.GeneralizedExtremeValue(0.0, 1.0, [0.1, -20.0])
    with pytest.raises(ValueError, match=r"concentration above -20.*Received: .*-20"):
        crps_distribution([0.5, 0.5], forecast)
    inside_graph = tf.function(lambda y: crps_distribution(y, forecast))
    scores = inside_graph(tf.constant([0.5, 0.5]))
    assert np.isnan(scores.numpy()).tolist() == [False, True]
