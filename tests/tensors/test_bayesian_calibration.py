"""The Bayesian ECE: draws on tensors have the distribution of NumPy's draws."""

import random

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue
from uncertainty_metrics.ops import _posterior_draws

SIGMAS = 5  # One false alarm in two million.
BOTH = pytest.mark.parametrize("room", [um, um_np], ids=["tensors", "numpy"])


def seed_of(rng):
    return int(rng.integers(2**31))


def arguments(rng, dtype=np.float32, **options):
    """Makes arguments of the function, with all corner cases of the data."""
    data = catalogue.data(rng, dtype=dtype)
    return {"probabilities": data.predictions, "labels_true": data.labels, **options}


def check_same_distribution(samples, expected):
    """Asserts that draws have the same distribution, with bounds for any seed."""
    samples = np.asarray(samples, np.float64)
    assert np.all(np.isfinite(samples))
    error = np.sqrt(np.var(samples) / len(samples) + np.var(expected) / len(expected))
    assert abs(np.mean(samples) - np.mean(expected)) < SIGMAS * error
    assert stats.ks_2samp(samples, expected).pvalue > 1e-6


def eager(function, seed):
    return function(seed)


def graph(function, seed):
    return tf.function(function)(tf.constant(seed))


def xla(function, seed):
    compiled = tf.function(function, jit_compile=True)
    samples = compiled(tf.constant(seed))
    np.testing.assert_array_equal(samples, compiled(tf.constant(seed)))
    assert not np.any(samples == compiled(tf.constant(seed + 1)))
    return samples


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize(
    ("mode", "bins", "alpha", "dtype"),
    [
        (eager, 1, None, np.float32),
        (eager, 5, 0.7, np.float64),
        (eager, 15, None, np.float32),
        (graph, 5, 0.7, np.float64),
        (xla, 15, None, np.float32),
    ],
)
def test_draws_have_the_distribution_of_numpy(mode, bins, alpha, dtype, rng):
    options = arguments(rng, dtype, prior_alpha=alpha, num_ece_samples=5000)

    def function(seed):
        return um.bayesian_expected_calibration_error(bins, **options, seed=seed)

    samples = mode(function, seed_of(rng))
    assert samples.dtype == dtype
    expected = um_np.bayesian_expected_calibration_error(
        bins, **options, seed=seed_of(rng)
    )
    check_same_distribution(samples, expected)


def test_draws_with_all_options_have_the_distribution_of_numpy(rng):
    labels = rng.integers(0, 3, [2, 5, 4])
    labels[0, 1] = 255
    options = {
        "logits": rng.normal(size=[2, 5, 4, 3]).astype(np.float32),
        "labels_true": labels,
        "labels_predicted": rng.integers(0, 3, [2, 5, 4]),
        "sample_weight": np.array([0.5, 2.0]),
        "ignore_index": 255,
        "num_ece_samples": 5000,
    }
    samples = um.bayesian_expected_calibration_error(4, **options, seed=seed_of(rng))
    expected = um_np.bayesian_expected_calibration_error(
        4, **options, seed=seed_of(rng)
    )
    check_same_distribution(samples, expected)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("jit_compile", "bins", "alpha"),
    [
        *((False, 100, alpha) for alpha in (None, 1e-300, 1e30)),
        *((False, bins, None) for bins in (1, 15)),
        *((False, 100, 1e-6), (True, 100, None)),
    ],
)
@pytest.mark.first(3)
def test_float32_draws_are_finite_for_extreme_scores_and_priors(
    jit_compile, bins, alpha, rng
):
    @tf.function(jit_compile=jit_compile, reduce_retracing=True)
    def function(scores, labels, seed):
        return um.bayesian_expected_calibration_error(
            bins,
            probabilities=scores,
            labels_true=labels,
            labels_predicted=tf.ones_like(labels),
            prior_alpha=alpha,
            num_ece_samples=1000,
            seed=seed,
        )

    scores = np.array([0.0, 0.01, 0.5, 0.999, 1.0], np.float32)
    batches = [*scores[:, None], *([] if jit_compile else [np.tile(scores, 200)])]
    for outcome in (0, 1):
        for batch in batches:  # Single examples at each edge, and all together.
            labels = tf.fill(batch.shape, outcome)
            draws = function(tf.constant(batch), labels, tf.constant(seed_of(rng)))
            assert draws.dtype == tf.float32
            assert np.all((draws >= 0) & (draws <= 1 + 1e-5))


@BOTH
@pytest.mark.parametrize("weight", [1e-30, 1e30])
def test_draws_of_extreme_weights_are_finite(room, weight, rng):
    samples = room.bayesian_expected_calibration_error(
        15, **arguments(rng, sample_weight=weight)
    )
    assert np.all((samples >= 0) & (samples <= 1 + 1e-5))


@pytest.mark.thorough
def test_a_seed_gives_the_same_draws_eager_and_in_graphs(rng):
    options = arguments(rng)

    def function(seed):
        return um.bayesian_expected_calibration_error(5, **options, seed=seed)

    seed = seed_of(rng)
    expected = function(seed)
    assert expected.shape == (500,)
    for same in (
        seed,
        np.int64(seed),
        tf.constant(seed, tf.int64),
        [seed, 0],
        (seed, 0),
        np.array([seed, 0]),
        tf.constant([seed, 0], tf.int32),
        seed + 2**64,
    ):
        np.testing.assert_array_equal(function(same), expected)
    compiled = tf.function(function)
    # The draws are the same, but the sums may differ in the last bit.
    np.testing.assert_allclose(compiled(tf.constant(seed)), expected, rtol=1e-6)
    np.testing.assert_allclose(function(-1), compiled(tf.constant(-1)), rtol=1e-6)
    for other in (seed + 1, [seed, 1], [1, seed], -seed - 1):
        assert not np.array_equal(function(other), expected)


XLA = pytest.param(True, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize("jit_compile", [None, False, XLA])
def test_every_run_without_a_seed_draws_anew(jit_compile, rng):
    options = arguments(rng)

    def function():
        return um.bayesian_expected_calibration_error(5, **options)

    if jit_compile is not None:
        function = tf.function(function, jit_compile=jit_compile)
    assert not np.array_equal(function(), function())


def test_no_global_seed_is_set(rng, monkeypatch):
    def fail(*_):
        raise AssertionError("A global seed was set.")

    for module, name in (
        (tf.random, "set_seed"),
        (np.random, "seed"),
        (random, "seed"),
    ):
        monkeypatch.setattr(module, name, fail)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    options = arguments(rng, num_ece_samples=77)
    for seed in (None, seed_of(rng)):
        um.bayesian_expected_calibration_error(5, **options, seed=seed)
        um_np.bayesian_expected_calibration_error(5, **options, seed=seed)
    after = np.random.get_state()[1]  # noqa: NPY002
    np.testing.assert_array_equal(before, after)


@BOTH
def test_weights_count_as_repeated_examples_and_ignored_labels_not_at_all(room, rng):
    data = catalogue.data(rng, dtype=np.float32)
    seed = seed_of(rng)

    def draw(labels, probabilities, **options):
        return room.bayesian_expected_calibration_error(
            5, probabilities=probabilities, labels_true=labels, seed=seed, **options
        )

    weights = rng.integers(0, 4, len(data.labels))
    weights[0] = 1
    times = np.repeat(np.arange(len(weights)), weights)
    np.testing.assert_allclose(
        draw(data.labels, data.predictions, sample_weight=weights),
        draw(data.labels[times], data.predictions[times]),
        atol=1e-5,
    )
    ignored = rng.uniform(size=len(data.labels)) < 0.3
    ignored[0] = False
    np.testing.assert_allclose(
        draw(np.where(ignored, 255, data.labels), data.predictions, ignore_index=255),
        draw(data.labels[~ignored], data.predictions[~ignored]),
        atol=1e-5,
    )


def renamed(bad):
    options, word = catalogue.bad_data(bad)
    options["labels_true"] = options.pop("labels")
    return options, word.replace("`labels`", "`labels_true`")


@BOTH
@pytest.mark.parametrize("bad", catalogue.SHAPES + catalogue.VALUES)
def test_bad_data_raises(room, bad):
    options, word = renamed(bad)
    with pytest.raises(ValueError, match=word) as raised:
        room.bayesian_expected_calibration_error(5, **options)
    assert "Received" in str(raised.value)
    assert "`labels`" not in str(raised.value)


@pytest.mark.thorough
@pytest.mark.parametrize("jit_compile", [False, XLA])
def test_bad_values_in_a_graph_give_nan(jit_compile):
    bad = ["nan probability"]
    if not jit_compile:  # Compiling more cases would take long.
        bad += ["label too large", "infinite logit", "negative weight", "zero weights"]

    @tf.function(jit_compile=jit_compile)
    def function(cases):
        return [
            um.bayesian_expected_calibration_error(5, num_ece_samples=3, **options)
            for options in cases
        ]

    for samples in function([renamed(name)[0] for name in bad]):
        assert samples.shape == (3,)
        assert np.all(np.isnan(samples))


@BOTH
def test_missing_labels_raise(room):
    data = {"probabilities": [[0.5, 0.5]]}
    for missing in ({}, {"labels_true": None}):
        with pytest.raises(ValueError, match=r"Either `labels_true` with .* must"):
            room.bayesian_expected_calibration_error(5, **data, **missing)
    with pytest.raises(ValueError, match=r"`labels_true` must be .*um\.class_indices"):
        room.bayesian_expected_calibration_error(5, **data, labels_true=["cat"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("num_bins", value) for value in (0, -1, 2.5, None, True)),
        *(("num_ece_samples", value) for value in (0, -1, 2.5, None, True)),
        *(("prior_alpha", value) for value in (0, -1.0, np.nan, np.inf, "a", True)),
        *(("prior_alpha", [1, 2]), ("seed", 1.5), ("seed", "a"), ("seed", [0.5, 1])),
        *(("seed", value) for value in (True, [1], [1, 2, 3])),  # Tensors alone.
        ("seed", -1),  # NumPy alone.
    ],
)
def test_bad_options_raise(name, value):
    functions = [
        um.bayesian_expected_calibration_error,
        tf.function(um.bayesian_expected_calibration_error),
    ]
    if name == "seed" and value == -1:
        functions = []
    if name != "seed" or value in (-1, 1.5, "a", [0.5, 1]):
        functions.append(um_np.bayesian_expected_calibration_error)
    for function in functions:
        options = {"num_bins": 5, name: value}
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            function(**options, probabilities=[[0.2, 0.8]], labels_true=[1])


@BOTH
def test_probability_of_lower_takes_any_arrays_and_refuses_bad_ones(room):
    function = room.probability_of_lower_calibration_error
    assert float(function([1, 1], [1, 2])) == 0.75
    assert float(function([0.1], np.ones(3))) == 1
    for bad in ([], 0.5, [[0.1, 0.2]], [0.1, np.nan], [np.inf], [[0.1], [0.2, 0.3]]):
        for name, samples in (("a", (bad, [0.1])), ("b", ([0.1], bad))):
            with pytest.raises(ValueError, match=f"`samples_{name}` must be"):
                function(*samples)
    if room is um:
        narrow, wide = (np.array([0.1, 0.3], dtype) for dtype in ("f4", "f8"))
        assert function(narrow, narrow).dtype == tf.float32
        assert function(narrow, wide).dtype == tf.float64


def test_probability_of_lower_works_in_a_graph_of_unknown_sizes():
    function = tf.function(
        um.probability_of_lower_calibration_error,
        input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])],
    )
    assert float(function([0.1, 0.3], [0.2, 0.3, 0.4])) == pytest.approx(4.5 / 6)
    for bad in ([], [0.1, np.nan], [-np.inf]):
        bad = np.array(bad, np.float32)
        assert np.isnan(function(bad, [0.1]))
        assert np.isnan(function([0.1], bad))


@pytest.mark.parametrize("compiled", [False, True])
def test_mean_scores_of_bins_are_draws_of_truncated_normals(compiled, rng):
    counts = np.array([0, 1, 50, 3, 20000], np.float32)
    means = np.array([0, 0.2, 0.41, 0.8, 1.0], np.float32)  # Two are at an end.
    bins = len(counts)
    draw = tf.function(
        lambda seed: _posterior_draws._bin_means(
            tf.constant(counts), tf.constant(counts * means), 20000, seed
        ),
        jit_compile=compiled,
    )
    draws = draw(tf.constant([seed_of(rng), 1])).numpy().astype(np.float64)
    for k in range(bins):
        location = ((k + 0.5) / bins + counts[k] * means[k]) / (1 + counts[k])
        scale = 1 / (bins * np.sqrt(12 * (1 + counts[k])))
        ends = k / bins, (k + 1) / bins
        assert draws[:, k].min() >= np.float32(ends[0])
        assert draws[:, k].max() <= np.float32(ends[1])
        low, high = ((end - location) / scale for end in ends)
        normal = stats.truncnorm(low, high, location, scale)
        assert stats.kstest(draws[:, k], normal.cdf).pvalue > 1e-6
