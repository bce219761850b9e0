"""The spread of samples, against the sum over all their pairs."""

import numpy as np
import pytest
import tensorflow as tf

from uncertainty_metrics.numpy.scoring import _pairwise as numpy_pairwise
from uncertainty_metrics.ops import _pairwise
from uncertainty_metrics.ops._pairwise import pairwise_spread

MODES = ("eager", "xla", "graph")
# Relative to the spread, not to the samples. A sum over m samples rounds many times.
TOLERANCE = {"float32": 1e-6, "float64": 1e-14}


def over_all_pairs(samples, fair):
    """Returns the double sum and its derivatives, in float64."""
    samples = np.asarray(samples, np.float64)
    m = samples.shape[-1]
    divisor = m * (m - 1) if fair else m * m
    difference = samples[..., :, None] - samples[..., None, :]
    spread = np.abs(difference).sum(axis=(-1, -2)) / (2 * divisor)
    return spread, np.sign(difference).sum(axis=-1) / divisor


def value_and_gradient(samples, fair, with_gradient=False):
    """Returns the spread, and the derivatives of its sum."""
    with tf.GradientTape() as tape:
        tape.watch(samples)
        value = pairwise_spread(samples, fair, with_gradient)
    return value, tape.gradient(value, samples)


def run(function, mode, *args, signature=None):
    if mode != "eager":
        function = tf.function(
            function, jit_compile=mode == "xla", input_signature=signature
        )
    return function(*args)


def assert_right(samples, fair, value, gradient):
    samples = np.asarray(samples)
    want_value, want_gradient = over_all_pairs(samples, fair)
    tolerance = TOLERANCE[samples.dtype.name]
    assert np.asarray(value).dtype == np.asarray(gradient).dtype == samples.dtype
    np.testing.assert_allclose(value, want_value, rtol=tolerance)
    # Derivatives of neighbours differ by 2 / m of the largest, so a wrong rank shows.
    np.testing.assert_allclose(gradient, want_gradient, atol=tolerance / 10)


def hard_rows(rng, dtype):
    """Returns rows [n, 36] whose order, ties, range or offset make them hard."""
    m = 36
    eps = np.finfo(dtype).eps
    # Neighbouring floats: an approximate key for sorting could not tell them apart.
    near = (1 + eps * np.arange(m)).astype(dtype)
    ties = rng.integers(-2, 3, size=(4, m))
    rows = [
        rng.normal(size=(4, m)),
        ties,
        1e4 + rng.normal(size=(4, m)),
        1e8 + 8 * rng.integers(-9, 9, size=(4, m)),
        [np.full(m, 1 / 3), np.zeros(m), np.repeat([-0.0, 0.0, 1.0], [9, 9, m - 18])],
        [np.arange(m), -np.arange(m), rng.permutation(m)],
        [rng.permutation(near), -rng.permutation(near)],
        ties * 1e-30,
        rng.standard_cauchy((4, m)) * 1e20,
    ]
    return np.concatenate(rows).astype(dtype)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.first(2)
def test_hard_rows_equal_the_sum_over_pairs(rng, mode, dtype):
    samples = tf.constant(hard_rows(rng, dtype))

    def function(x):
        return [value_and_gradient(x, False, given) for given in (False, True)]

    for value, gradient in run(function, mode, samples):
        assert_right(samples, False, value, gradient)


def test_by_hand():
    samples = tf.constant([4.0, 1.0, 2.0])  # The distances are 3, 2 and 1.
    value, gradient = value_and_gradient(samples, True)
    assert value.numpy() == 1.0
    np.testing.assert_allclose(gradient, [1 / 3, -1 / 3, 0])
    value, gradient = value_and_gradient(samples, False)
    np.testing.assert_allclose(value, 6 / 9)
    np.testing.assert_allclose(gradient, [2 / 9, -2 / 9, 0])


@pytest.mark.parametrize(
    ("mode", "m"),
    [("eager", m) for m in range(1, 131)] + [("xla", m) for m in (1, 2, 3, 4, 7, 130)],
)
@pytest.mark.first(3)
def test_any_number_of_samples_equals_the_sum_over_pairs(rng, mode, m):
    samples = tf.constant(rng.normal(size=(5, m)), tf.float32)
    value, gradient = run(lambda x: value_and_gradient(x, False), mode, samples)
    assert_right(samples, False, value, gradient)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.first(2)
def test_order_does_not_matter_and_extreme_sizes_work(rng, mode):
    row = rng.normal(size=7).astype(np.float32)
    permuted = tf.constant(np.stack([rng.permutation(row) for _ in range(20)]))
    upstream = tf.constant(rng.normal(size=20), tf.float32)

    def function(permuted, single, empty):
        with tf.GradientTape() as tape:
            tape.watch(permuted)
            value = pairwise_spread(permuted, True)
            weighted = tf.reduce_sum(upstream * value)
        gradient = tape.gradient(weighted, permuted)
        pairs = [value_and_gradient(x, True) for x in (single, empty)]
        return value, gradient, *pairs

    value, gradient, of_single, of_empty = run(
        function, mode, permuted, tf.ones([2, 1]), tf.zeros([0, 2, 5])
    )
    assert len(set(value.numpy())) == 1  # All orders have the same value.
    _, slopes = over_all_pairs(permuted, True)
    np.testing.assert_allclose(gradient, upstream[:, None] * slopes, rtol=1e-6)
    for part in of_single:  # The fair spread of one sample is undefined.
        assert np.isnan(part).all()
    assert [part.shape for part in of_empty] == [[0, 2], [0, 2, 5]]


@pytest.mark.thorough
@pytest.mark.parametrize("m", [20, None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.first(3)
def test_rows_that_are_not_finite_do_not_change_others(rng, mode, dtype, m):
    samples = rng.normal(size=(9, 20)).astype(dtype)
    samples[1, 3] = np.nan
    samples[3] = np.nan
    samples[4, :2] = np.inf
    samples[6, 7:9] = [-np.inf, np.inf]
    samples[7, 0] = -np.inf
    good = [0, 2, 5, 8]
    signature = [tf.TensorSpec([None, m], dtype)] if mode == "graph" else None
    value, gradient = run(
        lambda x: value_and_gradient(x, True),
        mode,
        tf.constant(samples),
        signature=signature,
    )
    assert_right(samples[good], True, value.numpy()[good], gradient.numpy()[good])
    assert np.isnan(np.delete(value, good)).all()
    assert np.isnan(np.delete(gradient, good, axis=0)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [[None, None, 7], [None, None, None], None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.first(3)
def test_shapes_may_be_unknown_to_the_graph(rng, shape, dtype):
    samples = tf.constant(rng.integers(0, 9, size=(3, 2, 7)), dtype)
    value, gradient = run(
        lambda x: value_and_gradient(x, False),
        "graph",
        samples,
        signature=[tf.TensorSpec(shape, dtype)],
    )
    assert_right(samples, False, value, gradient)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["graph", "xla"])
def test_long_rows_without_a_sorting_network_equal_the_sum_over_pairs(
    rng, mode, monkeypatch
):
    monkeypatch.setattr(_pairwise, "MAX_NETWORK", 16)
    samples = tf.constant(rng.integers(0, 9, size=(3, 17)), tf.float32)
    value, gradient = run(lambda x: value_and_gradient(x, True), mode, samples)
    assert_right(samples, True, value, gradient)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
def test_second_derivatives_are_zero(rng, mode):
    samples = tf.constant(rng.normal(size=(3, 10)), tf.float32)

    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            _, gradient = value_and_gradient(x, True)
        return outer.gradient(gradient, x)

    np.testing.assert_array_equal(run(second, mode, samples), np.zeros([3, 10]))


@pytest.mark.thorough
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.first(1)
def test_spread_works_in_a_strategy(rng, compiled):
    if len(tf.config.list_logical_devices("CPU")) < 2:
        pytest.skip("one logical CPU")
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    samples = tf.constant(rng.integers(0, 9, size=(3, 20)), tf.float32)

    def step():
        return value_and_gradient(samples, True)

    replica = strategy.run(tf.function(step) if compiled else step)
    for value, gradient in zip(
        *(strategy.experimental_local_results(result) for result in replica),
        strict=True,
    ):
        assert_right(samples, True, value, gradient)


def test_spread_works_inside_map_fn(rng):
    samples = tf.constant(rng.normal(size=(4, 3, 8)), tf.float32)
    value = tf.map_fn(lambda x: pairwise_spread(x, True), samples)
    vectorized = tf.vectorized_map(lambda x: pairwise_spread(x, True), samples)
    want, _ = over_all_pairs(samples, True)
    np.testing.assert_allclose(value, want, rtol=1e-6)
    np.testing.assert_allclose(vectorized, want, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numpy_equals_the_sum_over_pairs(rng, dtype):
    samples = hard_rows(rng, dtype)
    want, want_gradient = over_all_pairs(samples, True)
    ordered = np.sort(samples).astype(np.float64)
    value = numpy_pairwise.spread_of_sorted(ordered, True)
    assert value.dtype == np.float64
    np.testing.assert_allclose(value, want, rtol=1e-13)
    gradient = numpy_pairwise.spread_gradient(samples, True)
    np.testing.assert_allclose(gradient, want_gradient, atol=1e-7)


def test_numpy_isolates_rows_and_keeps_tiny_samples():
    samples = np.array([[1, np.nan], [1, np.inf], [1, 3], [0, 5e-324]])
    ordered = np.sort(samples).astype(np.float64)
    value = numpy_pairwise.spread_of_sorted(ordered, True)
    np.testing.assert_array_equal(value[:3], [np.nan, np.nan, 1])
    tiny = np.float32([3, 1, 2]) * np.float32(1e-45)
    np.testing.assert_allclose(
        numpy_pairwise.spread_gradient(tiny, True), [1 / 3, -1 / 3, 0], rtol=1e-6
    )
