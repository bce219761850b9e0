"""Functions of ensembles on tensors equal NumPy: eager, in graphs and under XLA."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import ensembles, references
from tests.ensembles import (
    AGGREGATING,
    CROSS_ENTROPIES,
    NAMES,
    SCORES,
    VECTORS,
    exact_divergence,
    logits,
    members,
)
from uncertainty_metrics.numpy.ensemble import distances
from uncertainty_metrics.ops import _execution, _member_pairs
from uncertainty_metrics.tensors.ensemble import uncertainty

TOLERANCE = {np.float32: 1e-6, np.float64: 1e-13}


def assert_close(value, expected, tolerance=1e-6):
    np.testing.assert_allclose(value, expected, atol=tolerance, rtol=tolerance)


def case(name, case="", make=None, **options):
    """Returns a case, whose `make` makes arrays from a generator and a dtype.

    The 6 examples are on the first axis, or on the second if members come first.
    """
    make = make or functools.partial(ensembles.arguments, name)
    return pytest.param(name, make, options, id=f"{name}-{case}")


def one(key, make, *shape):
    """Returns a function that makes one named array."""
    return lambda rng, dtype: {key: make(rng, dtype, *shape)}


def uniform(rng, dtype, shape):
    return rng.uniform(size=shape).astype(dtype)


def weighted(rng, dtype):
    return {
        "labels": rng.integers(0, 4, 6),
        "probabilities": members(rng, dtype, zeros=False),
        "sample_weight": uniform(rng, dtype, 6),
    }


def binary(rng, dtype):
    y = rng.integers(0, 2, [6, 1])
    return {"labels": y, "logits": 3 * logits(rng, dtype)[..., :1]}


def tied(rng, dtype):
    probs = members(rng, dtype, (3, 6, 4), zeros=False)
    probs[:, 0] = [[0.25] * 4, [0.125, 0.375, 0.125, 0.375], [0.1, 0.4, 0.4, 0.1]]
    return {"probs": probs}


def log_alphas(rng, dtype):
    return {"logits": (4 * rng.normal(size=[6, 4])).astype(dtype)}


FIRST = [
    case(name, aggregate=False)
    if name in AGGREGATING
    else case(name, "ties", tied, error=0.3)
    if name == "average_pairwise_diversity"
    else case(name)
    for name in NAMES
]
# These cases have other graphs than the first case of their function.
OTHER_PATHS = [
    case(
        "expected_entropy",
        "axis",
        one("logits", logits, (6, 3, 2, 4)),
        ensemble_axis=-3,
    ),
    case("mutual_information", "binary", one("probabilities", uniform, (6, 3, 1))),
    case("mutual_information", "one member", one("logits", logits, (6, 1, 4))),
    case("predictive_entropy", "single", ensemble_axis=None),
    case("gibbs_cross_entropy", "probabilities", weighted, ignore_index=1),
    case("ensemble_cross_entropy", "binary", binary),
]
CASES = [
    *FIRST,
    *OTHER_PATHS,
    *(case(name, "probabilities", one("probabilities", members)) for name in SCORES),
    case("ensemble_cross_entropy", "probabilities", weighted, ignore_index=1),
    case("knowledge_uncertainty", "logits", log_alphas),
    *(case(name, "mean", aggregate=True) for name in distances.__all__),
    *(case("lp_distance", f"{p}", p=p, aggregate=False) for p in (2.5, np.inf)),
    case("variance_bound", "count", num_models=5),
    case("average_pairwise_diversity", "zeros"),
]
every_first = pytest.mark.parametrize(("name", "make", "options"), FIRST)


def flat(result):
    """Returns the values of a dict, or the result itself."""
    return list(result.values()) if isinstance(result, dict) else result


def call(room, name, arrays, options):
    return np.array(flat(getattr(room, name)(**arrays, **options)))


@pytest.mark.parametrize(("name", "make", "options"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eager_equals_numpy(name, make, options, dtype, rng):
    arrays = make(rng, dtype)
    result = call(um, name, arrays, options)
    assert result.dtype == dtype
    expected = call(um_np, name, arrays, options)
    assert_close(result, expected, TOLERANCE[dtype])


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "make", "options"), OTHER_PATHS)
def test_graph_equals_numpy(name, make, options, rng):
    """The graph does not know the size of the first axis, the number of examples."""
    arrays = make(rng, np.float32)
    specs = {k: tf.TensorSpec([None, *v.shape[1:]], v.dtype) for k, v in arrays.items()}
    run = tf.function(
        lambda arrays: getattr(um, name)(**arrays, **options), input_signature=[specs]
    )
    result = run({key: tf.constant(value) for key, value in arrays.items()})
    assert_close(np.array(result), call(um_np, name, arrays, options))


@every_first
def test_float16_lists_and_integers_equal_numpy(name, make, options, rng):
    arrays = make(rng, np.float16)
    expected = call(um_np, name, arrays, options)
    half = call(um, name, arrays, options)
    assert half.dtype == np.float32
    assert_close(half, expected)
    lists = {key: value.tolist() for key, value in arrays.items()}
    assert_close(call(um, name, lists, options), expected, 1e-5)
    if name != "knowledge_uncertainty":
        for key in arrays.keys() - {"labels"}:
            arrays[key] = (np.abs(np.nan_to_num(arrays[key])) < 1).astype(np.int32)
        whole = call(um, name, arrays, options)
        assert_close(whole, call(um_np, name, arrays, options))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["logit_kl_divergence", "disagreement", "kl_divergence"]
)
@pytest.mark.parametrize("shapes", [([6, 3], [None, None]), ([None, 3], [6, None])])
def test_sizes_may_be_static_in_one_of_two_arguments(name, shapes, rng):
    first, second = rng.dirichlet(np.ones(3), [2, 6]).astype(np.float32)
    function = getattr(um, name)
    run = tf.function(
        lambda *pair: function(*pair), [tf.TensorSpec(shape) for shape in shapes]
    )
    np.testing.assert_array_equal(run(first, second), function(first, second))


@pytest.mark.thorough
def test_number_of_members_may_be_unknown_to_the_graph(rng):
    z = logits(rng, np.float32)
    signature = [tf.TensorSpec([None, None, 4])]
    for name in SCORES:
        run = tf.function(getattr(um, name), input_signature=signature)
        for count in (5, 1):
            assert_close(run(z[:, :count]), getattr(um_np, name)(z[:, :count]))
    run = tf.function(
        lambda logits: um.ensemble_cross_entropy(tf.zeros([6], tf.int32), logits),
        input_signature=signature,
    )
    assert_close(run(z), um_np.ensemble_cross_entropy(np.zeros(6), z))
    bound = tf.function(
        lambda probs: um.variance_bound(probs, [0, 1], 3), input_signature=signature
    )
    p = members(rng, np.float32, (3, 2, 4))
    assert_close(bound(p), um_np.variance_bound(p, [0, 1]))
    assert np.isnan(bound(p[:2]))
    with pytest.raises(ValueError, match="static number of members"):
        tf.function(um.average_pairwise_diversity).get_concrete_function(*signature)


@pytest.mark.parametrize("name", SCORES)
def test_blocks_do_not_change_the_scores(name, rng, monkeypatch):
    z = logits(rng, np.float32)
    whole = np.array(getattr(um, name)(z))
    monkeypatch.setattr(uncertainty, "_BLOCK", 200)
    np.testing.assert_allclose(np.array(getattr(um, name)(z)), whole, atol=5e-7)


@pytest.mark.thorough
@pytest.mark.parametrize("run", [tf.function, lambda function: function])
def test_compiled_entropies_of_large_data_equal_numpy(run, rng, monkeypatch):
    monkeypatch.setattr(_execution, "_LARGE", 0)
    p = rng.dirichlet(np.ones(4), [5, 3])
    p[0, 1] = [0, 1, 0, 0]
    for name in ("mutual_information", "expected_entropy"):
        variable = tf.constant(p)
        with tf.GradientTape() as tape:
            tape.watch(variable)
            scores = run(getattr(um, name))(probabilities=variable)
        expected = getattr(um_np, name)(probabilities=p)
        np.testing.assert_allclose(scores, expected, atol=1e-13)
        slopes = tape.gradient(scores, variable)
    entropies = -(np.log(p[1:]) + 1) / 3
    np.testing.assert_allclose(slopes[1:], entropies, rtol=1e-12)


@pytest.mark.thorough
def test_compiled_diversity_of_large_ensembles_equals_numpy(rng, monkeypatch):
    probs = members(rng, np.float32, (4, 7, 3), zeros=False)
    expected = list(um_np.average_pairwise_diversity(probs).values())
    monkeypatch.setattr(_execution, "_LARGE", 0)
    assert_close(list(um.average_pairwise_diversity(probs).values()), expected)


# Precision.


@functools.cache
def compiled_diversities():
    return tf.function(_member_pairs.diversities, jit_compile=True)


@pytest.mark.thorough
@pytest.mark.parametrize("distance", [1e-5, 1e-3, 0.1, 0.4, 0.9])
def test_float32_divergences_are_precise(distance, rng):
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
    for run in (_member_pairs.diversities, compiled_diversities()):
        result = run(tf.constant(probs))[1]
        np.testing.assert_allclose(result, np.mean(exact, axis=0), rtol=1e-6)


@pytest.mark.parametrize("distance", [1e-4, 0.01, 0.5])
def test_float32_divergences_of_logits_are_precise(distance, rng):
    first = (3 * rng.normal(size=[8, 5]) + 20).astype(np.float32)
    second = (first + distance * rng.normal(size=[8, 5])).astype(np.float32)
    p, q = (references.softmax(z) for z in (first, second))
    exact = [exact_divergence(*rows) for rows in zip(p, q, strict=True)]
    result = um.logit_kl_divergence(first, second, aggregate=False)
    np.testing.assert_allclose(result, exact, rtol=3e-6)
    assert np.all(um.logit_kl_divergence(first, first, aggregate=False) == 0)


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float32, 1e8), (np.float32, 3e38), (np.float64, 1e30)]
)
def test_divergence_of_large_and_masked_logits_by_hand(dtype, size):
    first = np.array([[1, 1, -1], [0, 0, -np.inf], [0, 0, -1e9]], dtype)
    first[0] *= dtype(size)
    second = np.array([[0, 1, 2], [0, 1, -np.inf], [0, 1, -1e9]], dtype)
    # This is KL([.5, .5, 0] || q), where q has three classes in the first row, then
    # two.
    norms = np.log(1 + np.exp(1) + np.array([np.exp(2), 0, 0]))
    expected = norms - 0.5 - np.log(2)
    for room in (um_np, um):
        result = room.logit_kl_divergence(first, second, aggregate=False)
        np.testing.assert_allclose(result, expected, rtol=1e-6)
        # A probability that underflows is not 0.
        below = np.array([[-200, 0], [-np.inf, 0]], dtype)
        assert float(room.logit_kl_divergence(below[:1], below[1:])) == np.inf


@pytest.mark.thorough
def test_float32_knowledge_of_small_and_large_alphas_equals_numpy(rng):
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


def test_mutual_information_is_never_negative(rng):
    z = np.repeat(logits(rng, np.float32, (500, 1, 10)), 3, axis=1)
    z += 1e-4 * rng.normal(size=z.shape).astype(np.float32)
    result = um.mutual_information(z)
    assert np.all(result >= 0)
    np.testing.assert_allclose(result, um_np.mutual_information(z), atol=5e-7)
    assert np.all(um.mutual_information(z[:, :1]) == 0)


@pytest.mark.thorough
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


def gradient(function, values):
    variable = tf.constant(values)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        result = function(variable)
    return tape.gradient(result, variable).numpy()


@pytest.mark.parametrize("name", CROSS_ENTROPIES)
@pytest.mark.parametrize(
    ("form", "aggregate"), [("logits", False), ("probabilities", True)]
)
def test_gradients_equal_finite_differences(name, form, aggregate, rng):
    p = members(rng, np.float64, (2, 3, 3), zeros=False)
    values = np.log(p) if form == "logits" else p
    options = {"aggregate": aggregate, "sample_weight": rng.uniform(0.5, 2, 2)}
    y = rng.integers(0, 3, 2)

    def total(values):
        result = getattr(um, name)(y, **{form: values}, **options)
        return tf.reduce_sum(tf.sin(result))

    expected = references.slopes(total, values)
    np.testing.assert_allclose(gradient(total, values), expected, atol=1e-8, rtol=1e-6)


def test_gradients_by_hand_if_a_member_gives_the_label_probability_0():
    # -log((a + b) / 2) has the same slope in both members, even at a = 0.
    p = [[[0.0, 1.0], [0.5, 0.5]]]
    result = gradient(lambda p: um.ensemble_cross_entropy([0], None, p), p)
    assert_close(result, [[[-2.0, 0.0], [-2.0, 0.0]]])
    z = [[[-np.inf, 0.0], [0.0, 0.0]]]
    result = gradient(lambda z: um.ensemble_cross_entropy([0], z), z)
    assert_close(result, [[[0.0, 0.0], [-0.5, 0.5]]])
    far = [[[-500.0, 500.0], [500.0, -500.0]]]
    for loss in (um.ensemble_cross_entropy, um.gibbs_cross_entropy):
        assert np.all(np.isfinite(gradient(functools.partial(loss, [0]), far)))


@pytest.mark.parametrize("name", VECTORS)
def test_gradients_of_equal_and_zero_vectors_are_finite(name):
    def of_both(x, **options):
        return getattr(um, name)(x, x + 0, **options)

    for options in [{}] + [{"p": p} for p in (2, np.inf)] * (name == "lp_distance"):
        result = gradient(functools.partial(of_both, **options), [[0.0, 0.0], [1.0, 2]])
        assert np.all(np.isfinite(result))


# Bad input.

GOOD = np.full([2, 3, 4], 0.25)
# Three examples whose rows all look like probabilities.
CERTAINLY = np.random.default_rng(0).dirichlet(np.ones(4), [3, 3])
PAIR = np.full([2, 4], 0.25)
OF_TWO = ["disagreement", "logit_kl_divergence"]
ONES = np.ones(2)
LABELS = np.array([0, 3])
THREE = np.array([0, 1, 2])


def changed(array, *values, count=1):
    """Returns for each value a copy of the array whose last numbers are the value.

    The last numbers are in the last example.
    """
    arrays = [np.array(array, np.float64) for _ in values]
    for array, value in zip(arrays, values, strict=True):
        array.reshape(-1)[-count:] = value
    return tuple(arrays)


def bad(names, word, *arguments, **options):
    """Yields bad arguments of each function, and a word of the message.

    A tuple of arguments stands for one case each.
    """
    names = [names] if isinstance(names, str) else names
    given = [*arguments, *options.values()]
    given = [value if isinstance(value, tuple) else (value,) for value in given]
    for name, *values in itertools.product(names, *given):
        named = dict(zip(options, values[len(arguments) :], strict=True))
        yield pytest.param(name, word, values[: len(arguments)], named, id=name)


BAD_VALUES = [
    *bad(SCORES, r"`logits`.*\[1, 2, 3\]", changed(GOOD, np.nan, np.inf)),
    *bad(SCORES, r"`logits`.*\[1, 2, 0\]", changed(GOOD, -np.inf, count=4)),
    *bad(SCORES, r"`prob.*\[1, 2, 3\]", None, changed(GOOD, np.nan, -0.1, 1.1)),
    *bad("mutual_information", "`logits`", changed(GOOD[..., :1], np.nan)),
    *bad(SCORES, "`logits`.*use `probabilities`", CERTAINLY),
    *bad(SCORES, "`probabilities`.*use `logits`", None, np.log(CERTAINLY)),
    *bad(CROSS_ENTROPIES, "`logits`.*use `probabilities`", THREE, CERTAINLY),
    *bad(CROSS_ENTROPIES, "`labels`", changed(LABELS, 4, -1, 0.5, np.nan), GOOD),
    *bad(CROSS_ENTROPIES, "`logits`", LABELS, changed(GOOD, np.nan), None, False),
    *bad(CROSS_ENTROPIES, "`probabilities`", LABELS, None, changed(GOOD, 1.5)),
    *bad(CROSS_ENTROPIES, "`s", LABELS, GOOD, sample_weight=changed(ONES, -1, np.nan)),
    *bad(CROSS_ENTROPIES, "`labels`", LABELS, GOOD, sample_weight=0 * ONES),
    *bad(CROSS_ENTROPIES, "`labels`", 0 * LABELS, GOOD, ignore_index=0),
    *bad("knowledge_uncertainty", "`alphas`", changed(PAIR, 0, -1, np.inf)),
    *bad("knowledge_uncertainty", "`logits`", None, changed(PAIR, np.nan, -np.inf)),
    *bad(OF_TWO, "`logits_1`", changed(PAIR, np.nan, np.inf), PAIR),
    *bad(OF_TWO, "`logits_2`", PAIR, changed(PAIR, np.nan, np.inf)),
    *bad("double_fault", "`logits_1`", changed(PAIR, np.nan, np.inf), PAIR, LABELS),
    *bad("double_fault", "`logits_2`", PAIR, changed(PAIR, np.nan, np.inf), LABELS),
    *bad("double_fault", "`labels`", PAIR, PAIR, changed(LABELS, 4, 0.5)),
    *bad("kl_divergence", "`q`.*>= 0", PAIR, changed(PAIR, -0.1)),
    *bad("kl_divergence", "`p`", changed(PAIR, np.nan), PAIR),
    *bad("kl_divergence", "`q`", PAIR, changed(PAIR, np.inf)),
    *bad(VECTORS, "`x`", changed(PAIR, np.nan), PAIR),
    *bad(VECTORS, "`y`", PAIR, changed(PAIR, np.inf)),
    *bad("variance_bound", "`probs`", changed(GOOD, 1.5), THREE),
    *bad("variance_bound", "`labels`", GOOD, changed(THREE, 4)),
    *bad("average_pairwise_diversity", "`probs`", changed(GOOD, -1, np.nan)),
    *bad("average_pairwise_diversity", "`error`", GOOD, 2, changed(0, 0, -1, np.nan)),
]


@pytest.mark.parametrize(("name", "word", "arguments", "options"), BAD_VALUES)
def test_bad_values_raise_the_message_of_numpy(name, word, arguments, options):
    messages = []
    for room in (um_np, um):
        with pytest.raises(ValueError, match=word) as raised:
            getattr(room, name)(*arguments, **options)
        messages.append(str(raised.value))
    assert "Received" in messages[0]
    assert messages[0] == messages[1]


@functools.cache
def traced(name, kinds, keys, jit_compile=False):
    """Returns a graph of the arguments of kind "array", the same for all values."""
    position = len(kinds) - len(keys)

    def function(arrays):
        arrays = iter(arrays)
        values = [next(arrays) if kind == "array" else kind for kind in kinds]
        named = zip(keys, values[position:], strict=True)
        return flat(getattr(um, name)(*values[:position], **dict(named)))

    return tf.function(function, jit_compile=jit_compile, autograph=False)


def run_in_graph(name, arguments, options, jit_compile=False):
    """Runs the function in a graph that does not know what the arrays hold."""
    given = [*arguments, *options.values()]
    kinds = tuple("array" if isinstance(x, np.ndarray) else x for x in given)
    run = traced(name, kinds, tuple(options), jit_compile)
    return np.array(run([tf.constant(x) for x in given if isinstance(x, np.ndarray)]))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "word", "arguments", "options"), BAD_VALUES)
def test_bad_values_are_nan_in_a_graph(name, word, arguments, options):
    result = run_in_graph(name, arguments, options)
    if result.shape[-1:] == (2,) and name not in CROSS_ENTROPIES:
        assert not np.any(np.isnan(result[..., 0]))  # The other example is good.
        result = result[..., 1]
    assert np.all(np.isnan(result))


def test_bad_logits_are_nan_under_xla():
    z = np.concatenate([GOOD, GOOD])
    z[1, 2, 0], z[2, 0, 3], z[3, 2] = np.nan, np.inf, -np.inf
    for name in ("model_uncertainty", "variation_ratio"):
        wrong = np.isnan(run_in_graph(name, (z,), {}, jit_compile=True))
        np.testing.assert_array_equal(wrong[..., 0], False)
        np.testing.assert_array_equal(wrong[..., 1:], True)


BAD_SHAPES = [
    *bad(SCORES, "`probabilities` and `logits`"),
    *bad(SCORES, "`probabilities` and `logits`", GOOD, GOOD),
    *bad(SCORES, "`probabilities`.*rank 3", None, PAIR),
    *bad(SCORES, "`logits`", (GOOD[:0], GOOD[:, :0], [[[1.0, 2.0], [1.0]]])),
    *bad(SCORES, "`ensemble_axis`", GOOD, ensemble_axis=(2, -1, 3, 1.5, True)),
    *bad(
        [name for name in SCORES if name != "predictive_entropy"],
        *("ensemble_axis", GOOD),
        ensemble_axis=None,
    ),
    *bad(SCORES, r"`labels`.*np\.stack\(members, axis=1\)", GOOD, labels=THREE),
    *bad(SCORES, r"`labels` must be of shape \[2\], for", GOOD, labels=np.zeros(5)),
    *bad(CROSS_ENTROPIES, "`probabilities` and `logits`", LABELS),
    *bad(CROSS_ENTROPIES, "`probabilities` and `logits`", LABELS, GOOD, GOOD),
    *bad(CROSS_ENTROPIES, "`labels`", (LABELS[:1], LABELS[None], PAIR), GOOD),
    *bad(CROSS_ENTROPIES, "`logits`.*rank 3", LABELS, PAIR),
    *bad(CROSS_ENTROPIES, "swapped", GOOD, LABELS),
    *bad(CROSS_ENTROPIES, "`logits`", LABELS[:0], GOOD[:0]),
    *bad(CROSS_ENTROPIES, "`sample_weight`", LABELS, GOOD, sample_weight=np.ones(3)),
    *bad(CROSS_ENTROPIES, "`aggregate`", LABELS, GOOD, aggregate=(1, "mean")),
    *bad(distances.__all__, "`aggregate`", PAIR, PAIR, aggregate="mean"),
    *bad("knowledge_uncertainty", "`alphas` and `logits`"),
    *bad("knowledge_uncertainty", "`alphas` and `logits`", PAIR, PAIR),
    *bad("knowledge_uncertainty", "`alphas`", (1.0, PAIR[:, :1], PAIR[:0])),
    *bad(OF_TWO, "`logits_2`", PAIR, (PAIR[:1], PAIR[:, :2], GOOD)),
    *bad(OF_TWO, "`logits_1`", PAIR[:0], PAIR[:0]),
    *bad("logit_kl_divergence", "`logits_1`", 1.0, 1.0),
    *bad("disagreement", "`logits_1`.*K >= 2", PAIR[:, :1], PAIR[:, :1]),
    *bad("disagreement", "`logits_1`", LABELS, LABELS),
    *bad("double_fault", "`logits_2`", PAIR, (PAIR[:1], PAIR[:, :2]), LABELS),
    *bad("double_fault", "`logits_1`.*K >= 2", PAIR[:, :1], PAIR[:, :1], LABELS),
    *bad("double_fault", "`logits_1`", (LABELS, PAIR[:0]), PAIR, PAIR),
    *bad("double_fault", "`labels`", PAIR, PAIR, [0]),
    *bad("kl_divergence", "`q`", PAIR, (PAIR[:1], PAIR[0])),
    *bad("kl_divergence", "`p`.*K >= 2", PAIR[:, :1], PAIR[:, :1]),
    *bad("kl_divergence", "`p`", (1.0, PAIR[:0]), PAIR),
    *bad(VECTORS, "`y`", PAIR, (PAIR[:1], PAIR[0])),
    *bad(VECTORS, "`x`", (1.0, PAIR[:0]), PAIR),
    *bad("lp_distance", "`p`", PAIR, PAIR, (0.5, np.nan, "2x")),
    *bad("variance_bound", "`probs`.*rank 3", PAIR, LABELS),
    *bad("variance_bound", "`labels`", GOOD, LABELS),
    *bad("variance_bound", "`num_models`", GOOD, THREE, (3, 2.5)),
    *bad("variance_bound", "`probs`", GOOD[:0], THREE),
    *bad("average_pairwise_diversity", "`probs`.*rank 3", PAIR),
    *bad("average_pairwise_diversity", "`probs`.*at least 2", GOOD[:1]),
    *bad("average_pairwise_diversity", "`num_models`", GOOD, 3),
    *bad("average_pairwise_diversity", "`probs`", GOOD[:, :0]),
    *bad("average_pairwise_diversity", "`error`", GOOD, error=[0.5]),
]


@pytest.mark.parametrize(("name", "word", "arguments", "options"), BAD_SHAPES)
def test_bad_shapes_raise_in_eager_calls_and_while_tracing(
    name, word, arguments, options
):
    messages = []
    for function in (
        getattr(um_np, name),
        getattr(um, name),
        tf.function(getattr(um, name), autograph=False),
    ):
        with pytest.raises(ValueError, match=word) as raised:
            function(*arguments, **options)
        messages.append(str(raised.value).replace("(", "[").replace(")", "]"))
    assert "Received" in messages[0]
    assert messages[0] == messages[1]


@pytest.mark.parametrize("name", NAMES)
def test_text_raises_a_type_error(name, rng):
    arrays = ensembles.arguments(name, rng)
    for key in set(arrays) - {"labels"}:
        text = np.full(arrays[key].shape, "a")
        for room, value in ((um_np, text), (um, text), (um, tf.constant(text))):
            with pytest.raises(TypeError, match=f"`{key}` must hold numbers"):
                getattr(room, name)(**{**arrays, key: value})


@pytest.mark.parametrize("name", CROSS_ENTROPIES)
def test_examples_that_do_not_count_have_a_score_of_0(name):
    for options in ({"sample_weight": [0, 0]}, {"ignore_index": 0}):
        for room in (um_np, um):
            scores = getattr(room, name)([0, 0], GOOD, None, False, **options)
            np.testing.assert_array_equal(scores, [0, 0])
