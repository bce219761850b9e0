"""The Bayesian ECE as a Keras metric, in the Keras that is loaded."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue, references
from tests.keras.streams import feed

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.tensors]

Metric = um.BayesianExpectedCalibrationError
SIGMAS = 5  # One false alarm in two million.


def seed_of(rng):
    return int(rng.integers(2**31))


def function(data, bins=15, **options):
    return um.bayesian_expected_calibration_error(
        bins, probabilities=data.predictions, labels_true=data.labels, **options
    )


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_agree_with_the_function(weighted, rng):
    data = catalogue.lattice(rng)
    weights = data.weights.astype(np.float32) if weighted else None
    seed = seed_of(rng)
    samples = function(data, seed=seed, sample_weight=weights)
    metric = Metric(seed=seed)
    result = feed(metric, data, 3, weighted)
    error = np.std(samples) / np.sqrt(len(samples))
    assert abs(result - np.mean(samples)) < SIGMAS * error
    np.testing.assert_allclose(metric.sample(seed=seed), samples, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bins", [1, 15, 100])
@pytest.mark.parametrize("alpha", [None, 1e-9, 0.4])
def test_result_is_the_posterior_mean(alpha, bins, dtype, rng):
    metric = Metric(num_bins=bins, prior_alpha=alpha, dtype=dtype)
    atol = 1e-6 if dtype == "float32" else 1e-7
    for count in (1, 30, 10**7):
        metric.reset_state()
        # These scores are exact in float32, and none is on an edge of a bin.
        scores = (rng.integers(512, 1024, 7) + 0.5) / 1024
        right, wrong = rng.binomial(count, scores), rng.integers(0, 2, 7)
        labels = np.repeat([1, 0], 7)
        weights = np.concatenate([right, wrong])
        both = np.tile(scores, 2)
        metric.update_state(labels, np.stack([1 - both, both], 1), weights)
        sums = references.bin_sums(both, labels, weights, bins)
        expected = references.posterior_mean(*sums, alpha)
        assert float(metric.result()) == pytest.approx(expected, abs=atol)


def test_result_is_the_mean_of_numpy_draws(rng):
    data = catalogue.lattice(rng)
    result = feed(Metric(num_bins=5, prior_alpha=0.4), data)
    samples = um_np.bayesian_expected_calibration_error(
        5,
        probabilities=data.predictions,
        labels_true=data.labels,
        prior_alpha=0.4,
        num_ece_samples=20000,
        seed=seed_of(rng),
    )
    error = np.std(samples) / np.sqrt(20000)
    assert abs(result - np.mean(samples)) < SIGMAS * error


@pytest.mark.parametrize("alpha", [1e-300, 1e300])
def test_extreme_priors(alpha):
    metric = Metric(num_bins=100, prior_alpha=alpha)
    metric.update_state([1], [0.7])
    # A tiny prior counts for nothing: the confidence 0.7 is too low by about 0.3.
    # A huge prior outweighs the example: the accuracy of each bin is 1/2.
    expected = 0.3 if alpha < 1 else 0.25
    assert float(metric.result()) == pytest.approx(expected, abs=0.01)


def test_samples_and_quantiles(rng):
    data = catalogue.lattice(rng)
    seed = seed_of(rng)
    metric = Metric(seed=seed, num_ece_samples=200)
    feed(metric, data)
    assert metric.sample().shape == (500,)
    draws = metric.sample(200, seed=seed)
    np.testing.assert_array_equal(draws, metric.sample(200, seed=seed))
    for other in (metric.sample(200), metric.sample(200, seed=seed + 1)):
        assert not np.array_equal(draws, other)
    assert not np.array_equal(metric.sample(200), metric.sample(200))

    q = [0.1, 0.5, 0.9]
    # By default quantiles take the seed and the number of draws of the metric.
    np.testing.assert_allclose(metric.quantiles(q), np.quantile(draws, q), rtol=1e-5)
    q = [[0.0, 0.123], [0.7, 1.0]]
    draws = metric.sample(77, seed=[seed, 3])
    np.testing.assert_allclose(
        metric.quantiles(q, n=77, seed=[seed, 3]), np.quantile(draws, q), rtol=1e-5
    )
    assert metric.quantiles(0.5).shape == ()
    for bad in ([-0.1], [0.5, 1.1], [np.nan], [], None, [[0.1], [0.2, 0.3]]):
        with pytest.raises(ValueError, match="`q` must"):
            metric.quantiles(bad)
    with pytest.raises(TypeError, match="`q` must hold numbers"):
        metric.quantiles("median")
    for call in (metric.sample, lambda n: metric.quantiles(0.5, n=n)):
        with pytest.raises(ValueError, match="`n` must be"):
            call(0)
    for call in (metric.sample, lambda n, seed: metric.quantiles(0.5, n, seed)):
        with pytest.raises(ValueError, match="`seed` must be"):
            call(5, 0.5)


@pytest.mark.thorough
def test_draws_before_the_first_batch_follow_the_prior(rng):
    metric = Metric(num_bins=3, seed=seed_of(rng))
    assert float(metric.result()) == 0
    assert float(tf.function(metric.result)()) == 0
    # Without examples the draws follow the prior. The function needs an example, so it
    # gets one of hardly any weight.
    prior = um_np.bayesian_expected_calibration_error(
        3,
        probabilities=[0.5],
        labels_true=[1],
        sample_weight=1e-30,
        num_ece_samples=5000,
        seed=seed_of(rng),
    )
    samples = metric.sample(5000, seed=seed_of(rng)).numpy()
    error = np.std(prior) * np.sqrt(2 / 5000)
    assert abs(np.mean(samples) - np.mean(prior)) < SIGMAS * error


def test_float64_is_kept(rng):
    data = catalogue.lattice(rng)
    metric = Metric(dtype="float64")
    feed(metric, data)
    for values in (metric.result(), metric.sample(3), metric.quantiles(0.5)):
        assert values.dtype == tf.float64
    assert Metric(dtype="bfloat16").result().dtype == tf.float32


def test_a_bad_batch_in_a_graph_makes_the_samples_nan():
    metric = Metric(num_classes=3)
    update = tf.function(metric.update_state)
    update(tf.constant([3]), tf.constant([[0.2, 0.3, 0.5]]))
    for values in (metric.result(), metric.sample(3), metric.quantiles([0.1, 0.9])):
        assert np.all(np.isnan(values))


@pytest.mark.exhaustive
def test_in_a_model_compiled_by_xla(rng):
    features, labels = rng.normal(size=[64, 4]), rng.integers(0, 3, 64)
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3, "softmax")])
    metric = Metric(num_bins=5, name="posterior")
    loss = "sparse_categorical_crossentropy"
    model.compile(loss=loss, metrics=[metric], jit_compile=True)
    logs = model.evaluate(features, labels, batch_size=32, return_dict=True, verbose=0)
    metric = Metric(num_bins=5)
    metric.update_state(labels, model.predict(features, verbose=0))
    assert logs["posterior"] == pytest.approx(float(metric.result()), abs=1e-5)
