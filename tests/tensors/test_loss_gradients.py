"""Gradients of scoring rules and losses: right, and finite everywhere."""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um

INF = math.inf
DTYPES = ("float64", "float32")
GENERIC = 4  # The number of examples at which scores are smooth.
QUANTILES = (0.1, 0.5, 0.8)


@dataclasses.dataclass(frozen=True)
class Case:
    """A score of examples, and arguments in which it has gradients.

    Attributes:
      name: the id of the case in the tests.
      score: a function of integer labels, if there are any, and the arguments.
      data: makes arguments for GENERIC examples.
      extremes: arguments of more examples, at which gradients need only be finite.
      labels: integer labels of all examples.
    """

    name: str
    score: Callable
    data: Callable
    extremes: list
    labels: tuple | None = None

    def __call__(self, *arguments):
        """Returns the score of each example."""
        if self.labels is None:
            return self.score(*arguments)
        return self.score(list(self.labels[: arguments[0].shape[0]]), *arguments)


def reals(*shapes):
    """Returns a maker of arguments that has no ties within an example."""

    def make(rng):
        sizes = [math.prod(shape) for shape in shapes]
        total = sum(sizes)
        order = rng.permuted(np.tile(np.arange(total), [GENERIC, 1]), axis=1)
        places = (order + rng.uniform(0, 0.5, [GENERIC, total])) / total
        parts = np.split(4 * places - 2, np.cumsum(sizes)[:-1], axis=1)
        return [
            part.reshape(GENERIC, *shape)
            for part, shape in zip(parts, shapes, strict=True)
        ]

    return make


def dirichlet(rng):
    return [0.97 * rng.dirichlet(np.full(3, 3.0), GENERIC) + 0.01]


def targets_and_dirichlet(rng):
    return dirichlet(rng) + dirichlet(rng)


def with_scales(rng):
    y, mean, scale = reals([], [], [])(rng)
    return [y, mean, np.exp(scale)]


def with_parameters(rng):
    return reals([], [2])(rng)


def with_scale_parameters(rng):
    y, mean, scale = with_scales(rng)
    return [y, np.stack([mean, scale], axis=1)]


def loss(name, *options, **more):
    """Returns the scores of a loss as a function, which keeps the dtype."""

    @functools.cache
    def of_type(dtype):
        return getattr(um, name)(*options, dtype=dtype, reduction="none", **more)

    def score(y_true, y_pred):
        return of_type(y_pred.dtype.name)(y_true, y_pred)

    return score


CERTAIN = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]]
LOGITS = [
    *([1e3, -1e3, 0], [-1e3, 1e3, 1e3], [0, 0, 0]),
    *([1e30, -1e30, 0], [0, -INF, -INF], [-INF, 0, 1e3]),
]
LABELS = (0, 2, 1, 2, *(0, 2, 1, 1, 0, 2))
# Each row is a label, a mean and a scale.
NORMALS = [
    *([0, 0, 0], [1, 0, 0], [-3, 1, 0], [1, 0, 1e-6], [-1, 0, 1e-12], [0, 0, 1e-38]),
    *([1, 0, 1e-38], [1e15, -1e15, 1e-6], [-1e15, 1e15, 0], [0, 0, 1e30], [1, 1, 1e-6]),
]
SMALL = [-1e30, -1e4, -200, -104, -88, -50, -36.1, -36, -20, -15]
TIES = [
    *([0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 2], [1, 1, 1, 2, 2]),
    *([1e20, -1e20, 1e20, 0, 0], [0, 1e-30, -1e-30, 0, 0]),
]
BOUNDS = [
    *([0, 0, 0], [1, 1, 1], [0, 1, 1], [0, -1, -1], [0, 1, -1]),
    *([1e20, 1, 2], [-1e20, 1, 2], [1, -1e20, 1e20]),
]
QUARTETS = [
    *([0, 0, 0, 0], [1, 1, 1, 1], [0, 2, 1, 1], [0, 0, -1, -1], [0, 0, 1, -1]),
    *([1e20, 0, 1, 2], [-1e20, 0, 1, 2], [1, 0, -1e20, 1e20]),
]
ZEROS, FAR = [[0, 0]] * 3, [[3, 4]] * 3
VECTORS = [
    *([[0, 0], ZEROS], [[3, 4], ZEROS], [[3, 4], FAR], [[0, 0], [*FAR[:2], [0, 0]]]),
    *([[0, 0], [[1e20, 1e-20]] * 3], [[1e-30, 0], [[0, 1e-30], [0, 0], [1e-30, 0]]]),
]


CORNERS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
CLOUDS = [
    *([[0, 0], CORNERS], [[1e10, -1e10], CORNERS], [[0, 0], 1e10 * CORNERS]),
    *([[0, 0], 1e-10 * CORNERS], [[1, 1], [0, 1e-6] * CORNERS + [1e-3, 0] * CORNERS]),
    [[1, 1], [[0, 0], [0, 0], [1, 0], [0, 1]]],
]


def columns(rows, *widths):
    """Splits rows into arguments; one with a width of 0 has no axis of its own."""
    rows = np.array(rows, np.float64)
    parts = np.split(rows, np.cumsum([max(w, 1) for w in widths])[:-1], axis=1)
    return [
        part if width else part[:, 0] for part, width in zip(parts, widths, strict=True)
    ]


def with_scale(values, errors=(0, 1, -3)):
    return columns([[e, 0, v] for v in values for e in errors], 0, 2)


def each(function, argument, **options):
    """Returns a function of labels and one kind of predictions, without aggregation."""
    return lambda y, p: function(y, **{argument: p}, aggregate=False, **options)


P, X, THREE = "probabilities", "logits", reals([3])
BRIER, NLL = um.brier_score, um.negative_log_likelihood
RPS = um.ranked_probability_score
FAR_OFF = (0, 1, -3, 1e5)
VAGUE = [*SMALL, 0, 40, 100, 1e30]
FIRST = columns([row[:4] for row in TIES], 0, 3)
SAMPLES = reals([], [4]), columns(TIES, 0, 4)
CASES = {
    "brier_score-probabilities": (each(BRIER, P), dirichlet, [CERTAIN], LABELS),
    "brier_score-logits": (each(BRIER, X), THREE, [LOGITS], LABELS),
    "brier_score-zero_based": (
        each(BRIER, X, zero_based=True),
        THREE,
        [LOGITS],
        LABELS,
    ),
    "brier_score-logits-of-class-1": (
        each(BRIER, X),
        reals([]),
        [[-INF, -1e3, 1e3, 0, -1e3, 1e3]],
        (0, 1, 1, 0, *(0, 0, 0, 1, 1, 1)),
    ),
    "negative_log_likelihood-probabilities": (
        each(NLL, P),
        dirichlet,
        [CERTAIN],
        (*LABELS[:4], *(0, 1, 2, 1, 2, 1)),  # Labels that are possible.
    ),
    "negative_log_likelihood-logits": (each(NLL, X), THREE, [LOGITS], LABELS),
    "ranked_probability_score-probabilities": (
        each(RPS, P),
        dirichlet,
        [CERTAIN],
        LABELS,
    ),
    "ranked_probability_score-logits": (each(RPS, X), THREE, [LOGITS], LABELS),
    "RankedProbabilityLoss-targets-logits": (
        loss("RankedProbabilityLoss", True),
        lambda rng: dirichlet(rng) + THREE(rng),
        [CERTAIN, LOGITS],
    ),
    "BrierLoss": (loss("BrierLoss"), dirichlet, [CERTAIN], LABELS),
    "BrierLoss-ignored": (
        loss("BrierLoss", True, ignore_index=-1),
        THREE,
        [LOGITS],
        (0, -1, 1, 2, *(0, -1, -1, 1, 0, -1)),
    ),
    "BrierLoss-targets": (
        loss("BrierLoss"),
        targets_and_dirichlet,
        [CERTAIN[::-1], CERTAIN],
    ),
    "BrierLoss-zero_based-targets-logits": (
        loss("BrierLoss", True, zero_based=True),
        lambda rng: dirichlet(rng) + THREE(rng),
        [CERTAIN, LOGITS],
    ),
    "crps_normal_score": (um.crps_normal_score, with_scales, columns(NORMALS, 0, 0, 0)),
    "CRPSNormalLoss-softplus": (
        loss("CRPSNormalLoss"),
        with_parameters,
        with_scale(VAGUE),
    ),
    "CRPSNormalLoss-exp": (
        loss("CRPSNormalLoss", "exp"),
        with_parameters,
        with_scale([*SMALL, 0, 40, 80]),
    ),
    "CRPSNormalLoss-identity": (
        loss("CRPSNormalLoss", "identity"),
        with_scale_parameters,
        columns(NORMALS, 0, 2),
    ),
    **{
        f"GaussianNLLLoss-{transform}": (
            loss("GaussianNLLLoss", transform),
            with_parameters,
            with_scale(VAGUE, FAR_OFF),
        )
        for transform in ("softplus", "exp")
    },
    "GaussianNLLLoss-identity": (
        loss("GaussianNLLLoss", "identity"),
        with_scale_parameters,
        with_scale([0, 1e-38, 1e-12, 1e-6, 1, 1e30]),
    ),
    **{
        f"crps_score-{estimator}": (
            functools.partial(um.crps_score, estimator=estimator),
            *SAMPLES,
        )
        for estimator in ("fair", "nrg", "almost_fair", "roll")
    },
    **{
        f"crps_score-{estimator}-weighted": (
            functools.partial(
                um.crps_score, estimator=estimator, member_weights=(1, 0.5, 2, 0.25)
            ),
            *SAMPLES,
        )
        for estimator in ("fair", "nrg", "almost_fair")
    },
    "CRPSSampleLoss": (loss("CRPSSampleLoss"), *SAMPLES),
    "pinball_loss": (
        functools.partial(um.pinball_loss, quantiles=QUANTILES),
        reals([], [3]),
        FIRST,
    ),
    "PinballLoss": (loss("PinballLoss", QUANTILES), reals([], [3]), FIRST),
    "interval_score": (
        functools.partial(um.interval_score, alpha=0.1),
        reals([], [], []),
        columns(BOUNDS, 0, 0, 0),
    ),
    "IntervalLoss": (loss("IntervalLoss", 0.1), reals([], [2]), columns(BOUNDS, 0, 2)),
    "weighted_interval_score": (
        functools.partial(um.weighted_interval_score, alphas=(0.1, 0.5)),
        reals([], [], [2], [2]),
        columns([[*row, *row[2:]] for row in QUARTETS], 0, 0, 2, 2),
    ),
    "threshold_weighted_crps": (
        functools.partial(um.threshold_weighted_crps, lower=-0.8, upper=0.9),
        *SAMPLES,
    ),
    **{
        f"energy_score-{estimator}": (
            functools.partial(um.energy_score, estimator=estimator),
            reals([2], [3, 2]),
            [np.array(part, np.float64) for part in zip(*VECTORS, strict=True)],
        )
        for estimator in ("nrg", "fair", "almost_fair", "roll")
    },
    **{
        f"variogram_score-{p}": (
            functools.partial(um.variogram_score, p=p),
            reals([2], [3, 2]),
            [np.array(part, np.float64) for part in zip(*VECTORS, strict=True)],
        )
        for p in (0.5, 0.9)
    },
    "dawid_sebastiani_score": (
        um.dawid_sebastiani_score,
        reals([2], [4, 2]),
        [np.array(part, np.float64) for part in zip(*CLOUDS, strict=True)],
    ),
}
CASES = [Case(name, *parts) for name, parts in CASES.items()]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
# One case for each kind of arithmetic, which the default run compiles.
KERNELS = (
    *("BrierLoss-ignored", "negative_log_likelihood-logits"),
    *("ranked_probability_score-logits", "crps_score-almost_fair-weighted"),
    *("CRPSNormalLoss-softplus", "GaussianNLLLoss-exp", "CRPSSampleLoss"),
    *("PinballLoss", "IntervalLoss", "energy_score-fair"),
)


def scores_and_gradients(case, arguments):
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        scores = case(*arguments)
    return scores, tape.gradient(scores, arguments)


@pytest.fixture(scope="module")
def results(request):
    """Returns a function of dtype and `jit_compile` that runs all cases, by name."""
    seed = request.config.getoption("--seed")

    @functools.cache
    def arguments():
        made = {}
        for case in CASES:
            generic = case.data(np.random.default_rng([seed, *case.name.encode()]))
            made[case.name] = [
                np.concatenate([part, more])
                for part, more in zip(generic, case.extremes, strict=True)
            ]
        return made

    def all_of(cases, batches):
        # All cases are in one graph, which compiles once.
        return [
            scores_and_gradients(case, batch)
            for case, batch in zip(cases, batches, strict=True)
        ]

    @functools.cache
    def run(dtype, jit_compile=False, names=None):
        cases = [case for case in CASES if names is None or case.name in names]
        function = functools.partial(all_of, cases)
        if jit_compile:
            function = tf.function(function, jit_compile=True)
        batches = [arguments()[case.name] for case in cases]
        inputs = [[tf.constant(a, dtype) for a in batch] for batch in batches]
        return {
            case.name: (batch, scores.numpy(), [g.numpy() for g in gradients])
            for case, batch, (scores, gradients) in zip(
                cases, batches, function(inputs), strict=True
            )
        }

    return run


@every_case
def test_gradients_equal_finite_differences_in_both_precisions(case, results):
    arguments, _, gradients = results("float64")[case.name]
    arguments = [argument[:GENERIC] for argument in arguments]
    step = 1e-5

    def scores(changed, index):
        changed = [*arguments[:index], changed, *arguments[index + 1 :]]
        return case(*(tf.constant(a, tf.float64) for a in changed)).numpy()

    for index, argument in enumerate(arguments):
        for place in np.ndindex(argument.shape[1:]):
            # Examples are independent, so one shift serves all of them.
            shift = np.zeros_like(argument)
            shift[(slice(None), *place)] = step
            slopes = scores(argument + shift, index) - scores(argument - shift, index)
            if slopes.ndim > 1:  # There is a score for each quantile.
                slopes = slopes.sum(axis=1)
            gradient = gradients[index][(slice(GENERIC), *place)]
            np.testing.assert_allclose(
                gradient, slopes / (2 * step), rtol=2e-6, atol=2e-8
            )
    _, *wide = results("float64")[case.name]
    _, *narrow = results("float32")[case.name]
    for actual, expected in zip(
        tf.nest.flatten(narrow), tf.nest.flatten(wide), strict=True
    ):
        actual, expected = actual[:GENERIC], expected[:GENERIC]
        np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_and_gradients_are_finite(dtype, results):
    for name, (_, scores, gradients) in results(dtype).items():
        assert scores.dtype == dtype, name
        for values in (scores, *gradients):
            assert np.all(np.isfinite(values)), name


# Many cases are in one test, so that one process compiles them together.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dtype", "names"),
    [("float64", KERNELS), *((dtype, None) for dtype in DTYPES)],
    ids=["kernels", *DTYPES],
)
@pytest.mark.first(1)
def test_compiled_equals_eager(dtype, names, results):
    tolerance = 1e-9 if dtype == "float64" else 2e-5
    for name, (_, compiled, slopes) in results(dtype, True, names).items():
        _, scores, gradients = results(dtype)[name]
        # One cloud of samples is nearly flat, which costs precision.
        bound = max(tolerance, 1e-5 * (name == "dawid_sebastiani_score"))
        pairs = zip((compiled, *slopes), (scores, *gradients), strict=True)
        for actual, expected in pairs:
            np.testing.assert_allclose(actual, expected, bound, bound, err_msg=name)


# Limits by hand.


def gradients_of(score, *arguments, dtype="float32"):
    arguments = [tf.constant(argument, dtype) for argument in arguments]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        scores = score(*arguments)
    return [gradient.numpy() for gradient in tape.gradient(scores, arguments)]


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [0.0, 1e-38, 1e-12])
def test_gradients_of_the_crps_of_a_point_are_those_of_the_absolute_error(scale, dtype):
    labels, means = [1.0, -3.0, 2.0], [0.0, 0.0, 2.0]
    y, mean, stddev = gradients_of(
        um.crps_normal_score, labels, means, [scale] * 3, dtype=dtype
    )
    close(y, [1, -1, 0])
    close(mean, [-1, 1, 0])
    # If y is not the mean, a larger spread makes the score smaller.
    root = 1 / math.sqrt(math.pi)
    close(stddev, [-root, -root, math.sqrt(2) * root - root])


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_the_crps_of_a_vague_forecast_by_hand(dtype):
    slope = (math.sqrt(2) - 1) / math.sqrt(math.pi)
    y, mean, stddev = gradients_of(
        um.crps_normal_score, [3.0], [1.0], [1e30], dtype=dtype
    )
    close([y, mean], 0)
    close(stddev, slope)
    loss = um.CRPSNormalLoss(reduction="none")
    (parameters,) = gradients_of(
        lambda p: loss(np.float32([1.0, 3.0]), p), [[1.0, 100.0], [1.0, -200.0]]
    )
    close(parameters, [[0, slope], [-1, 0]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_second_derivative_of_the_normal_crps_is_twice_the_density(dtype):
    """Newton steps need the second derivative in the mean."""
    y, mean, scale = (tf.constant(v, dtype) for v in ([0.7], [0.2], [1.3]))
    with tf.GradientTape() as outer:
        outer.watch(mean)
        with tf.GradientTape() as inner:
            inner.watch(mean)
            score = um.crps_normal_score(y, mean, scale)
        slope = inner.gradient(score, mean)
    z = 0.5 / 1.3
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / 1.3
    close(outer.gradient(slope, mean), [2 * density])


def test_gradients_of_brier_and_likelihood_by_hand():
    labels = [0, 1, 1]
    p = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    one_hot = np.eye(2)[labels]
    (slopes,) = gradients_of(functools.partial(each(BRIER, P), labels), p)
    close(slopes, 2 * np.array(p) - 2 * one_hot)
    for certain in (1000.0, 1e30):
        logits = certain * (2 * np.array(p) - 1)
        for score, expected in ((each(BRIER, X), 0), (each(NLL, X), p - one_hot)):
            (slopes,) = gradients_of(functools.partial(score, labels), logits)
            close(slopes, expected)
    score = functools.partial(each(NLL, P), [0, 1])
    (slopes,) = gradients_of(score, [[1.0, 0.0], [0.75, 0.25]])
    close(slopes, [[-1, 0], [0, -4]])


def test_gradients_of_means_are_weighted():
    labels, weights = [0, 1, 1, 0], [1.0, 2.0, 0.0, 0.5]
    logits = [[1.0, 0.0], [0.0, 0.3], [2.0, 1.0], [0.0, -1.0]]
    for score in (um.brier_score, um.negative_log_likelihood):
        (scores,) = gradients_of(functools.partial(each(score, X), labels), logits)
        (mean,) = gradients_of(
            lambda x, f=score: f(labels, logits=x, sample_weight=weights), logits
        )
        close(mean, scores * np.array(weights)[:, None] / 3.5)
        (mean,) = gradients_of(
            lambda x, f=score: f([0, 1, -1, 0], logits=x, ignore_index=-1), logits
        )
        close(mean, scores * np.array([1, 1, 0, 1])[:, None] / 3)


@pytest.mark.parametrize("estimator", ["fair", "nrg"])
def test_equal_samples_and_vectors_share_the_gradient(estimator):
    score = functools.partial(um.crps_score, estimator=estimator)
    y, samples = gradients_of(score, [0.0, 0.0, 1.0], [[2.0] * 4, [0.0] * 4, [0.0] * 4])
    close(y, [-1, 0, 1])
    close(samples, [[0.25] * 4, [0] * 4, [-0.25] * 4])
    # The two equal samples in the middle have the average of their two ranks.
    for weights in (None, [2.0] * 4):
        weighted = functools.partial(score, member_weights=weights)
        _, samples = gradients_of(weighted, [-9.0], [[0.0, 1.0, 1.0, 2.0]])
        pairs = 12 if estimator == "fair" else 16
        close(samples, [0.25 - np.array([-3, 0, 0, 3]) / pairs])
    score = functools.partial(um.energy_score, estimator=estimator)
    for size in (1e-20, 1.0, 1e20):
        y, samples = gradients_of(
            score, [[0.0, 0.0], [0.0, 0.0]], [[[3 * size, 4 * size]] * 2, [[0, 0]] * 2]
        )
        close(y, [[-0.6, -0.8], [0, 0]])
        close(samples, [[[0.3, 0.4]] * 2, [[0, 0]] * 2])


def test_gradients_at_ties_are_subgradients():
    y, q = gradients_of(
        lambda y, q: um.pinball_loss(y, q, QUANTILES), [0.0], [[0.0] * 3]
    )
    levels = np.array(QUANTILES)
    assert np.all((-levels - 1e-6 <= q) & (q <= 1 - levels + 1e-6))
    close(y, -q.sum())
    y, low, high = gradients_of(
        lambda *arguments: um.interval_score(*arguments, 0.1), [0.0], [0.0], [0.0]
    )
    assert -1 <= low[0] <= 19
    assert -19 <= high[0] <= 1
    close(y + low + high, 0)


@pytest.mark.parametrize("transform", ["softplus", "exp"])
@pytest.mark.parametrize("parameter", [-1e30, -1e3, -104.0, -50.0, -28.0, -20.0])
def test_gradients_of_the_likelihood_enlarge_a_tiny_scale(transform, parameter):
    """An error pushes the scale up; without an error it goes down."""
    loss = um.GaussianNLLLoss(transform, reduction="none")
    (slopes,) = gradients_of(
        lambda p: loss(np.float32([1e-3, 0.0]), p), [[0.0, parameter]] * 2
    )
    scale = math.exp(max(parameter, math.log(1e-8)))
    np.testing.assert_allclose(
        slopes[0], [-1e-3 / scale**2, 1 - (1e-3 / scale) ** 2], 1e-4
    )
    close(slopes[1], [0, 1])
