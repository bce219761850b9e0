"""Ensembles in TensorFlow equal those in NumPy: eager, in a graph, under XLA."""

import functools
import itertools

import mpmath
import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import references
from uncertainty_metrics.tensorflow.ensemble import (
    _pairs,
    cross_entropy,
    distances,
    diversity,
    uncertainty,
)

ROOMS = (uncertainty, cross_entropy, diversity, distances)
NAMES = [name for module in ROOMS for name in module.__all__]

ATOL = {np.float32: 1e-6, np.float64: 1e-13}

SCORES = (
    *("model_uncertainty", "predictive_entropy", "expected_entropy"),
    *("mutual_information", "ensemble_disagreement", "mean_member_uncertainty"),
    "variation_ratio",
)
CROSS_ENTROPIES = ("ensemble_cross_entropy", "gibbs_cross_entropy")
VECTORS = ("lp_distance", "cosine_similarity", "cosine_distance")


def members(rng, dtype, shape=(6, 5, 4), positive=False):
    p = rng.dirichlet(np.full(shape[-1], 0.4), shape[:-1])
    if positive:
        p = 0.9 * p + 0.1 / shape[-1]
    else:
        p[rng.uniform(size=shape) < 0.1] = 0
    return p.astype(dtype)


def logits(rng, dtype, shape=(6, 5, 4)):
    z = 3 * rng.normal(size=shape)
    z[1, ..., 0, 2] = -np.inf
    return z.astype(dtype)


def labels(rng, n=6):
    return rng.integers(0, 4, n)


def cases():
    """Yields a name, an id, and a function of a generator and a type that makes the
    arguments, arrays of which the first axis is that of the examples, and options.
    """
    for name in SCORES:
        yield name, "logits", lambda rng, t: ({"logits": logits(rng, t)}, {})
        yield (
            name,
            "probabilities",
            lambda rng, t: ({"probabilities": members(rng, t)}, {}),
        )
    yield (
        "expected_entropy",
        "axis",
        lambda rng, t: (
            {"logits": logits(rng, t, (6, 3, 2, 4))},
            {"ensemble_axis": -3},
        ),
    )
    yield (
        "mutual_information",
        "binary",
        lambda rng, t: (
            {"probabilities": rng.uniform(size=[6, 3, 1]).astype(t)},
            {},
        ),
    )
    yield (
        "mutual_information",
        "one member",
        lambda rng, t: (
            {"logits": logits(rng, t, (6, 1, 4))},
            {},
        ),
    )
    yield (
        "predictive_entropy",
        "single",
        lambda rng, t: (
            {"logits": logits(rng, t)},
            {"ensemble_axis": None},
        ),
    )
    for name in CROSS_ENTROPIES:
        yield (
            name,
            "logits",
            lambda rng, t: (
                {"labels": labels(rng), "logits": 5 * logits(rng, t)},
                {"aggregate": False},
            ),
        )
        yield (
            name,
            "probabilities",
            lambda rng, t: (
                {
                    "labels": labels(rng),
                    "probabilities": members(rng, t, positive=True),
                    "sample_weight": rng.uniform(size=6).astype(t),
                },
                {"ignore_index": 1},
            ),
        )
    yield (
        "ensemble_cross_entropy",
        "binary",
        lambda rng, t: (
            {
                "labels": rng.integers(0, 2, [6, 1]),
                "logits": 3 * logits(rng, t)[..., :1],
            },
            {},
        ),
    )
    yield (
        "knowledge_uncertainty",
        "alphas",
        lambda rng, t: (
            {"alphas": np.exp(2 * rng.normal(size=[6, 2, 4])).astype(t)},
            {},
        ),
    )
    yield (
        "knowledge_uncertainty",
        "logits",
        lambda rng, t: (
            {"logits": (4 * rng.normal(size=[6, 4])).astype(t)},
            {},
        ),
    )
    for name in ("disagreement", "double_fault"):

        def two(rng, t, name=name):
            arrays = {f"logits_{i}": logits(rng, t)[:, 0] for i in (1, 2)}
            if name == "double_fault":
                arrays["labels"] = labels(rng)
            return arrays, {}

        yield name, "logits", two
    for aggregate in (False, True):
        yield (
            "kl_divergence",
            f"{aggregate}",
            lambda rng, t, aggregate=aggregate: (
                {"p": members(rng, t), "q": members(rng, t, positive=True)},
                {"aggregate": aggregate},
            ),
        )
        yield (
            "logit_kl_divergence",
            f"{aggregate}",
            (
                lambda rng, t, aggregate=aggregate: (
                    {
                        "logits_1": logits(rng, t),
                        "logits_2": rng.normal(size=(6, 5, 4)).astype(t),
                    },
                    {"aggregate": aggregate},
                )
            ),
        )
    for name, p in (
        *((name, None) for name in VECTORS),
        *(("lp_distance", p) for p in (2.5, np.inf)),
    ):
        for aggregate in (False, True):

            def pair(rng, t, p=p, aggregate=aggregate):
                x, y = rng.normal(size=[2, 6, 5, 4]).astype(t)
                x[2, 3] = 0
                x[3] = y[3]
                options = {"aggregate": aggregate} if p is None else {"p": p}
                return {"x": x, "y": y}, options

            yield name, f"{p}-{aggregate}", pair
    # The examples are on the second axis here: see `compiled`.
    yield (
        "variance_bound",
        "",
        lambda rng, t: (
            {"probs": members(rng, t, (5, 6, 4)), "labels": labels(rng)},
            {"num_models": 5},
        ),
    )

    def tied(rng, t):
        probs = members(rng, t, (3, 6, 4), positive=True)
        probs[:, 0] = [[0.25] * 4, [0.125, 0.375, 0.125, 0.375], [0.1, 0.4, 0.4, 0.1]]
        return {"probs": probs}, {"error": 0.3}

    yield "average_pairwise_diversity", "ties", tied
    yield (
        "average_pairwise_diversity",
        "zeros",
        lambda rng, t: (
            {"probs": members(rng, t, (3, 6, 4))},
            {},
        ),
    )


CASES = list(cases())
every_case = pytest.mark.parametrize(
    ("name", "make"),
    [pytest.param(name, make, id=f"{name}-{case}") for name, case, make in CASES],
)
# The first case of every function.
FIRST = [
    pytest.param(*next(c for c in CASES if c[0] == name)[::2], id=name)
    for name in NAMES
]

# Cases whose graphs differ from the first of their function.
OTHER_PATHS = [
    pytest.param(name, make, id=f"{name}-{case}")
    for name, case, make in CASES
    if case in ("axis", "binary", "single", "one member")
    or (name, case) == ("gibbs_cross_entropy", "probabilities")
]


def flat(result):
    """Returns the parts of a result."""
    return list(result.values()) if isinstance(result, dict) else result


def call(room, name, arrays, options):
    return np.array(flat(getattr(room, name)(**arrays, **options)))


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eager_equals_numpy(name, make, dtype, rng):
    arrays, options = make(rng, dtype)
    result = call(um, name, arrays, options)
    assert result.dtype == dtype
    expected = call(um_np, name, arrays, options)
    np.testing.assert_allclose(result, expected, atol=ATOL[dtype], rtol=ATOL[dtype])


def compiled(name, make, dtype, rng, jit_compile):
    """Runs the function in a graph that does not know the number of examples, or under
    XLA.
    """
    arrays, options = make(rng, dtype)
    specs = {}
    for key, value in arrays.items():
        shape = list(value.shape)
        shape[1 if key == "probs" else 0] = None
        specs[key] = tf.TensorSpec(shape, value.dtype)

    def function(arrays):
        return flat(getattr(um, name)(**arrays, **options))

    run = tf.function(
        function,
        jit_compile=jit_compile,
        input_signature=None if jit_compile else [specs],
    )
    result = run({key: tf.constant(value) for key, value in arrays.items()})
    expected = call(um_np, name, arrays, options)
    np.testing.assert_allclose(
        np.array(result), expected, atol=ATOL[dtype], rtol=ATOL[dtype]
    )


@pytest.mark.parametrize(("name", "make"), FIRST + OTHER_PATHS)
def test_graph_equals_numpy(name, make, rng):
    compiled(name, make, np.float32, rng, False)


@pytest.mark.parametrize(("name", "make"), FIRST)
def test_xla_equals_numpy(name, make, rng):
    compiled(name, make, np.float32, rng, True)


@pytest.mark.parametrize(("name", "make"), FIRST)
def test_other_types(name, make, rng):
    arrays, options = make(rng, np.float16)
    expected = call(um_np, name, arrays, options)
    half = call(um, name, arrays, options)
    assert half.dtype == np.float32
    np.testing.assert_allclose(half, expected, atol=1e-6, rtol=1e-6)
    lists = {key: value.tolist() for key, value in arrays.items()}
    np.testing.assert_allclose(
        call(um, name, lists, options), expected, rtol=1e-5, atol=1e-6
    )
    whole = {key: np.abs(np.nan_to_num(value)) < 1 for key, value in arrays.items()}
    whole = {
        key: arrays[key] if key == "labels" else value.astype(np.int32)
        for key, value in whole.items()
    }
    if name != "knowledge_uncertainty":
        np.testing.assert_allclose(
            call(um, name, whole, options),
            call(um_np, name, whole, options),
            atol=1e-6,
            rtol=1e-6,
        )


@pytest.mark.parametrize(
    "name", ["logit_kl_divergence", "disagreement", "kl_divergence"]
)
@pytest.mark.parametrize("shapes", [([6, 3], [None, None]), ([None, 3], [6, None])])
def test_sizes_that_one_of_two_tells(name, shapes, rng):
    first, second = rng.dirichlet(np.ones(3), [2, 6]).astype(np.float32)
    function = getattr(um, name)
    run = tf.function(
        lambda *pair: function(*pair), [tf.TensorSpec(shape) for shape in shapes]
    )
    np.testing.assert_array_equal(run(first, second), function(first, second))


def test_members_that_only_the_graph_sees(rng):
    z = logits(rng, np.float32)
    signature = [tf.TensorSpec([None, None, 4])]
    for name in SCORES:
        run = tf.function(getattr(um, name), input_signature=signature)
        for count in (5, 1):
            np.testing.assert_allclose(
                run(z[:, :count]), getattr(um_np, name)(z[:, :count]), atol=1e-6
            )
    run = tf.function(
        lambda labels, logits: um.ensemble_cross_entropy(labels, logits),
        input_signature=[tf.TensorSpec([None], tf.int32), *signature],
    )
    np.testing.assert_allclose(
        run(tf.zeros([6], tf.int32), z),
        um_np.ensemble_cross_entropy(np.zeros(6), z),
        rtol=1e-6,
    )
    bound = tf.function(
        lambda probs: um.variance_bound(probs, [0, 1], 3), input_signature=signature
    )
    p = members(rng, np.float32, (3, 2, 4))
    np.testing.assert_allclose(bound(p), um_np.variance_bound(p, [0, 1]), rtol=1e-5)
    assert np.isnan(bound(p[:2]))
    with pytest.raises(ValueError, match="static number of members"):
        tf.function(um.average_pairwise_diversity).get_concrete_function(*signature)


@pytest.mark.parametrize("name", SCORES)
def test_blocks_make_no_difference(name, rng, monkeypatch):
    z = logits(rng, np.float32)
    whole = np.array(getattr(um, name)(z))
    monkeypatch.setattr(uncertainty, "_BLOCK", 200)
    np.testing.assert_allclose(np.array(getattr(um, name)(z)), whole, atol=5e-7)


def test_large_ensembles_are_compiled(rng, monkeypatch):
    probs = members(rng, np.float32, (4, 7, 3), positive=True)
    expected = list(um_np.average_pairwise_diversity(probs).values())
    monkeypatch.setattr(_pairs, "_LARGE", 0)
    result = list(um.average_pairwise_diversity(probs).values())
    np.testing.assert_allclose(result, expected, rtol=1e-6)


# Precision.


def exact_divergence(p, q):
    with mpmath.workdps(40):
        p, q = ([mpmath.mpf(float(x)) for x in row] for row in (p, q))
        return float(
            mpmath.fsum(
                (a * mpmath.log(a / b) if a else 0) - a + b
                for a, b in zip(p, q, strict=True)
            )
        )


COMPILED_DIVERSITIES = tf.function(_pairs.diversities, jit_compile=True)


@pytest.mark.parametrize("distance", [1e-5, 1e-3, 0.1, 0.4, 0.9])
def test_float32_divergences_keep_their_digits(distance, rng):
    p = rng.dirichlet(np.ones(6), 4).astype(np.float32)
    p[0, 0] = 0
    noise = 1 - distance * rng.uniform(size=[5, 4, 6])
    probs = (p * noise).astype(np.float32)
    pairs = list(itertools.combinations(range(5), 2))
    exact = [
        [exact_divergence(*rows) for rows in zip(probs[i], probs[j], strict=True)]
        for i, j in pairs
    ]
    for value, (i, j) in zip(exact, pairs, strict=True):
        result = um.kl_divergence(probs[i], probs[j])
        np.testing.assert_allclose(result, value, rtol=1e-6)
    for run in (_pairs.diversities, COMPILED_DIVERSITIES):
        result = run(tf.constant(probs))[1]
        np.testing.assert_allclose(result, np.mean(exact, axis=0), rtol=1e-6)


@pytest.mark.parametrize("distance", [1e-4, 0.01, 0.5])
def test_float32_divergences_of_logits_keep_their_digits(distance, rng):
    first = (3 * rng.normal(size=[8, 5]) + 20).astype(np.float32)
    second = (first + distance * rng.normal(size=[8, 5])).astype(np.float32)
    p, q = (references.softmax(z) for z in (first, second))
    exact = [exact_divergence(*rows) for rows in zip(p, q, strict=True)]
    result = um.logit_kl_divergence(first, second, aggregate=False)
    np.testing.assert_allclose(result, exact, rtol=3e-6)
    assert np.all(um.logit_kl_divergence(first, first, aggregate=False) == 0)


# What takes logits and does not change where all of a row grow by the same.
OF_LOGITS = [
    *("model_uncertainty", "predictive_entropy", "expected_entropy"),
    *("mutual_information", "mean_member_uncertainty", "variation_ratio"),
    *("ensemble_cross_entropy", "gibbs_cross_entropy", "ensemble_disagreement"),
    *("logit_kl_divergence", "disagreement", "double_fault"),
    *("brier_score", "negative_log_likelihood", "brier_decomposition_exact", "ece"),
]


@pytest.mark.parametrize("name", OF_LOGITS)
@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float32, 2.0**23), (np.float64, 2.0**52)]
)
def test_large_logits_count_by_their_differences(name, dtype, size, rng):
    # What a function loses it loses by itself: the sums of these are exact.
    logits = rng.integers(-3, 4, size=[6, 3, 4]).astype(dtype)
    logits[:, 2] += rng.normal(size=[6, 4]).astype(dtype)
    shifts = np.array([[size], [-size], [0]], dtype)
    labels = rng.integers(0, 4, size=6)
    results = []
    for values, room in (
        (logits, um_np),
        (logits + shifts, um_np),
        (logits + shifts, um),
    ):
        if name in ("logit_kl_divergence", "disagreement", "double_fault"):
            data = {"logits_1": values[:, 0], "logits_2": values[:, 2]}
        elif name in OF_LOGITS[-4:]:
            data = {"logits": values[:, 0]}
        else:
            data = {"logits": values}
        if "cross_entropy" in name or name in ("double_fault", *OF_LOGITS[-4:]):
            data["labels"] = labels
        results.append(np.asarray(getattr(room, name)(**data), np.float64))
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float32, 1e8), (np.float32, 3e38), (np.float64, 1e30)]
)
def test_divergence_of_large_and_masked_logits(dtype, size):
    first = np.array([[1, 1, -1], [0, 0, -np.inf], [0, 0, -1e9]], dtype)
    first[0] *= dtype(size)
    second = np.array([[0, 1, 2], [0, 1, -np.inf], [0, 1, -1e9]], dtype)
    # KL([.5, .5, 0] || q), q of three classes, then of two.
    norms = np.log(1 + np.exp(1) + np.array([np.exp(2), 0, 0]))
    expected = norms - 0.5 - np.log(2)
    for room in (um_np, um):
        result = room.logit_kl_divergence(first, second, aggregate=False)
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_float32_knowledge_of_small_and_large_alphas(rng):
    scales = 10.0 ** np.arange(-30, 31, 3)
    alphas = (scales[:, None] * rng.uniform(0.5, 2, [21, 3])).astype(np.float32)
    expected = np.array(um_np.knowledge_uncertainty(alphas))
    for run in (
        um.knowledge_uncertainty,
        tf.function(um.knowledge_uncertainty, jit_compile=True),
    ):
        result = np.array(run(tf.constant(alphas)))
        np.testing.assert_allclose(result, expected, atol=6e-7)
        large = scales >= 1e3
        np.testing.assert_allclose(result[0, large], expected[0, large], rtol=3e-6)
    result = np.array(um.knowledge_uncertainty(logits=[[1000.0, 1001.0], [-90.0, 0.0]]))
    expected = um_np.knowledge_uncertainty(logits=[[1000.0, 1001.0], [-90.0, 0.0]])
    np.testing.assert_allclose(result, expected, atol=3e-7)


def test_information_is_never_negative(rng):
    z = np.repeat(logits(rng, np.float32, (500, 1, 10)), 3, axis=1)
    z += 1e-4 * rng.normal(size=z.shape).astype(np.float32)
    result = um.mutual_information(z)
    assert np.all(result >= 0)
    np.testing.assert_allclose(result, um_np.mutual_information(z), atol=5e-7)
    assert np.all(um.mutual_information(z[:, :1]) == 0)


def test_means_over_many_examples_do_not_drift():
    n = 300_000
    p = tf.repeat(tf.constant([[0.3, 0.7]]), n, axis=0)
    q = tf.repeat(tf.constant([[0.6, 0.4]]), n, axis=0)
    one = um_np.kl_divergence(p[:1], q[:1], aggregate=True)
    for jit_compile in (None, True):
        run = functools.partial(um.kl_divergence, aggregate=True)
        if jit_compile:
            run = tf.function(run, jit_compile=True)
        np.testing.assert_allclose(run(p, q), one, rtol=5e-7)


# Gradients.


@pytest.mark.parametrize("name", CROSS_ENTROPIES)
@pytest.mark.parametrize(
    ("form", "aggregate"), [("logits", False), ("probabilities", True)]
)
def test_gradients_equal_finite_differences(name, form, aggregate, rng):
    p = members(rng, np.float64, (2, 3, 3), positive=True)
    values = np.log(p) if form == "logits" else p
    options = {"aggregate": aggregate, "sample_weight": rng.uniform(0.5, 2, 2)}
    y = rng.integers(0, 3, 2)

    def total(values):
        result = getattr(um, name)(y, **{form: values}, **options)
        return tf.reduce_sum(tf.sin(result))

    variable = tf.constant(values)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        result = total(variable)
    np.testing.assert_allclose(
        tape.gradient(result, variable),
        references.slopes(total, values),
        atol=1e-8,
        rtol=1e-6,
    )


def gradient(name, form, values):
    variable = tf.constant(values)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        result = getattr(um, name)([0], **{form: variable})
    return tape.gradient(result, variable).numpy()


def test_gradients_where_a_member_rules_the_label_out():
    # -log((0 + p) / 2) falls as fast in the first member as in the second.
    expected = [[[-2.0, 0.0], [-2.0, 0.0]]]
    p = [[[0.0, 1.0], [0.5, 0.5]]]
    result = gradient("ensemble_cross_entropy", "probabilities", p)
    np.testing.assert_allclose(result, expected)
    z = [[[-np.inf, 0.0], [0.0, 0.0]]]
    result = gradient("ensemble_cross_entropy", "logits", z)
    np.testing.assert_allclose(result, [[[0.0, 0.0], [-0.5, 0.5]]], atol=1e-7)
    for name in CROSS_ENTROPIES:
        result = gradient(name, "logits", [[[-500.0, 500.0], [500.0, -500.0]]])
        assert np.all(np.isfinite(result))


@pytest.mark.parametrize("name", VECTORS)
def test_gradients_of_equal_and_zero_vectors_are_finite(name):
    x = tf.constant([[0.0, 0.0], [1.0, 2.0]])
    for options in [{}] + [{"p": p} for p in (2, np.inf)] * (name == "lp_distance"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = getattr(um, name)(x, x + 0, **options)
        assert np.all(np.isfinite(tape.gradient(result, x)))


# Bad input.

GOOD = np.full([2, 3, 4], 0.25)
# Three examples, of which each is as wrong as the others.
CERTAINLY = np.random.default_rng(0).dirichlet(np.ones(4), [3, 3])
PAIR = np.full([2, 4], 0.25)
LABELS = np.array([0, 3])


def changed(array, value):
    """Returns the array, its last example changed."""
    array = np.array(array, np.float64)
    array.reshape(-1)[-1] = value
    return array


BAD_VALUES = [
    *(
        (name, {"logits": changed(GOOD, v)})
        for name in SCORES
        for v in (np.nan, np.inf)
    ),
    *(
        (name, {"probabilities": changed(GOOD, v)})
        for name in SCORES
        for v in (np.nan, -0.1, 1.1)
    ),
    ("mutual_information", {"logits": np.array([[[0.0], [1.0]], [[1.0], [np.nan]]])}),
    *(
        (name, {"labels": LABELS, "aggregate": False, **wrong})
        for name in CROSS_ENTROPIES
        for wrong in (
            {"logits": GOOD, "labels": np.array([0, 4])},
            {"logits": GOOD, "labels": np.array([0, 0.5])},
            {"logits": changed(GOOD, np.nan)},
            {"probabilities": changed(GOOD, 1.5)},
            {"logits": GOOD, "sample_weight": np.array([1.0, -1.0])},
            {"logits": GOOD, "sample_weight": np.array([0.0, 0.0]), "aggregate": True},
            {
                "logits": GOOD,
                "ignore_index": 0,
                "labels": LABELS * 0,
                "aggregate": True,
            },
        )
    ),
    *((name, {"logits": CERTAINLY}) for name in SCORES),
    *((name, {"probabilities": np.log(CERTAINLY)}) for name in SCORES),
    *(
        (name, {"labels": np.array([0, 1, 2]), "logits": CERTAINLY})
        for name in CROSS_ENTROPIES
    ),
    ("knowledge_uncertainty", {"alphas": changed(PAIR, 0.0)}),
    ("knowledge_uncertainty", {"alphas": changed(PAIR, np.inf)}),
    ("knowledge_uncertainty", {"logits": changed(PAIR, -np.inf)}),
    ("disagreement", {"logits_1": PAIR, "logits_2": changed(PAIR, np.nan)}),
    (
        "double_fault",
        {"logits_1": changed(PAIR, np.inf), "logits_2": PAIR, "labels": LABELS},
    ),
    (
        "double_fault",
        {"logits_1": PAIR, "logits_2": PAIR, "labels": np.array([0, 4])},
    ),
    ("kl_divergence", {"p": PAIR, "q": changed(PAIR, -0.1)}),
    ("kl_divergence", {"p": changed(PAIR, np.nan), "q": PAIR}),
    ("logit_kl_divergence", {"logits_1": changed(PAIR, np.nan), "logits_2": PAIR}),
    *((name, {"x": PAIR, "y": changed(PAIR, np.inf)}) for name in VECTORS),
    ("variance_bound", {"probs": changed(GOOD, 1.5), "labels": np.array([0, 1, 2])}),
    ("variance_bound", {"probs": GOOD, "labels": np.array([0, 1, 4])}),
    ("average_pairwise_diversity", {"probs": changed(GOOD, -1.0)}),
    ("average_pairwise_diversity", {"probs": GOOD, "error": np.array(-1.0)}),
]


@pytest.mark.parametrize(("name", "arguments"), BAD_VALUES)
def test_bad_values_raise_the_message_of_numpy(name, arguments):
    messages = []
    for room in (um_np, um):
        with pytest.raises(ValueError, match="Received") as raised:
            getattr(room, name)(**arguments)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def run_in_graph(name, arguments, jit_compile=False):
    arrays = {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}
    options = {k: v for k, v in arguments.items() if k not in arrays}
    run = tf.function(
        lambda arrays: flat(getattr(um, name)(**arrays, **options)),
        jit_compile=jit_compile,
        autograph=False,
    )
    return np.array(run({k: tf.constant(v) for k, v in arrays.items()}))


@pytest.mark.parametrize(("name", "arguments"), BAD_VALUES)
def test_bad_values_are_nan_in_a_graph(name, arguments):
    result = run_in_graph(name, arguments)
    if result.shape[-1:] == (2,) and name not in CROSS_ENTROPIES:
        assert not np.any(np.isnan(result[..., 0]))  # Of another example.
        result = result[..., 1]
    assert np.all(np.isnan(result))


def test_bad_logits_are_nan_under_xla():
    z = np.concatenate([GOOD, GOOD])
    z[1, 2, 0], z[2, 0, 3], z[3, 2] = np.nan, np.inf, -np.inf
    for name in ("model_uncertainty", "variation_ratio"):
        wrong = np.isnan(run_in_graph(name, {"logits": z}, jit_compile=True))
        np.testing.assert_array_equal(wrong[..., 0], False)
        np.testing.assert_array_equal(wrong[..., 1:], True)


BAD_SHAPES = [
    ("model_uncertainty", {"logits": PAIR}, "`logits`.*rank 3"),
    ("variation_ratio", {"logits": GOOD[:0]}, "`logits`"),
    ("mutual_information", {"logits": GOOD, "ensemble_axis": 2}, "ensemble_axis"),
    ("expected_entropy", {}, "`probabilities` and `logits`"),
    ("expected_entropy", {"logits": GOOD, "probabilities": GOOD}, "Exactly one"),
    ("expected_entropy", {"logits": [[[1.0, 2.0], [1.0]]]}, "`logits`"),
    ("knowledge_uncertainty", {"alphas": PAIR[:, :1]}, "`alphas`"),
    ("ensemble_cross_entropy", {"labels": LABELS[:1], "logits": GOOD}, "`labels`"),
    ("gibbs_cross_entropy", {"labels": GOOD, "logits": LABELS}, "swapped"),
    ("gibbs_cross_entropy", {"labels": LABELS, "logits": PAIR}, "rank 3"),
    (
        "gibbs_cross_entropy",
        {"labels": LABELS, "logits": GOOD, "aggregate": "mean"},
        "`aggregate`",
    ),
    ("disagreement", {"logits_1": LABELS, "logits_2": LABELS}, "`logits_1`"),
    ("disagreement", {"logits_1": PAIR, "logits_2": PAIR[:1]}, "`logits_2`"),
    (
        "double_fault",
        {"logits_1": PAIR, "logits_2": PAIR, "labels": [0]},
        "`labels`",
    ),
    ("kl_divergence", {"p": PAIR[:, :1], "q": PAIR[:, :1]}, "`p`"),
    ("logit_kl_divergence", {"logits_1": PAIR, "logits_2": GOOD}, "`logits_2`"),
    ("lp_distance", {"x": PAIR, "y": PAIR[0]}, "`y`"),
    ("lp_distance", {"x": PAIR, "y": PAIR, "p": 0.5}, "`p`"),
    ("cosine_similarity", {"x": PAIR[:0], "y": PAIR[:0]}, "`x`"),
    ("variance_bound", {"probs": GOOD, "labels": LABELS}, "`labels`"),
    (
        "variance_bound",
        {"probs": GOOD, "labels": [0, 1, 2], "num_models": 3},
        "`num_models`",
    ),
    ("average_pairwise_diversity", {"probs": GOOD[:1]}, "at least 2"),
    ("average_pairwise_diversity", {"probs": GOOD, "num_models": 3}, "`num_models`"),
    ("average_pairwise_diversity", {"probs": GOOD, "error": [0.5]}, "`error`"),
]


@pytest.mark.parametrize(("name", "arguments", "word"), BAD_SHAPES)
def test_bad_shapes_raise_at_once(name, arguments, word):
    messages = []
    for function in (
        getattr(um_np, name),
        getattr(um, name),
        tf.function(getattr(um, name), autograph=False),
    ):
        with pytest.raises(ValueError, match=word) as raised:
            function(**arguments)
        messages.append(str(raised.value).replace("(", "[").replace(")", "]"))
    assert messages[0] == messages[1] or "ragged" in name or "[[" in str(arguments)


@pytest.mark.parametrize("name", NAMES)
def test_text_is_a_type_error(name):
    text = tf.constant([[["a", "b"]]])
    arguments = {
        **dict.fromkeys(SCORES, (text,)),
        **dict.fromkeys(CROSS_ENTROPIES, ([0], text)),
        "knowledge_uncertainty": (text,),
        "double_fault": (text, text, [0]),
        "variance_bound": (text, [0]),
        "average_pairwise_diversity": (text,),
    }.get(name, (text, text))
    with pytest.raises(TypeError, match="must hold numbers"):
        getattr(um, name)(*arguments)


def test_both_rooms_have_the_same_signatures():
    import inspect

    for name in NAMES:
        ours, theirs = (
            inspect.signature(getattr(room, name)).parameters for room in (um, um_np)
        )
        assert list(ours) == list(theirs)
        for key, parameter in ours.items():
            assert parameter.default == theirs[key].default
            assert parameter.kind == theirs[key].kind
