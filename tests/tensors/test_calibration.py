"""Arguments that concern tensors: ragged, dynamic, of any integer type, very long."""

import inspect
import re

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"],
)
def test_labels_may_have_every_integer_dtype(dtype, rng):
    probabilities = rng.dirichlet(np.ones(2), 20)
    labels = rng.integers(0, 2, 20)
    expected = um_np.ece(labels, probabilities)
    assert um_np.ece(labels.astype(dtype), probabilities) == expected
    result = um.ece(tf.constant(labels.astype(dtype)), probabilities)
    assert float(result) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("room", [um, um_np], ids=["tensors", "numpy"])
def test_missing_and_unknown_arguments_raise(room):
    data = [0, 1], [0.2, 0.7]
    required = {"binning_scheme": "even", "max_prob": True, "class_conditional": False}
    text = str(inspect.signature(room.gce))
    for name in (*required, "norm"):
        assert re.search(rf"\b{name}: '\w+' = None", text)
    with pytest.raises(ValueError, match=r"`norm` must be one of .* Received: None"):
        room.gce(*data, **required)
    with pytest.raises(
        TypeError, match=r"expected_\w+\(\) got an unexpected .* 'norm'"
    ):
        room.ece(*data, norm="l1")
    with pytest.raises(ValueError, match=r"Either `labels` with .* must be given"):
        room.ece(probs=data[1])


def test_byte_order_and_strides_do_not_matter(rng):
    probabilities = rng.dirichlet(np.ones(3), [2, 20])
    labels = rng.integers(0, 3, 20)
    expected = um_np.ece(labels, probabilities[0])
    for array in (
        probabilities[0].astype(">f8"),
        np.asfortranarray(probabilities[0]),
        np.repeat(probabilities[0], 2, axis=0)[::2],
    ):
        assert um_np.ece(labels.astype(">i4"), array) == expected
        result = um.ece(labels.astype(">i4"), array)
        assert float(result) == pytest.approx(expected, abs=1e-12)


def test_ignored_index_is_compared_as_a_number(rng):
    probabilities = rng.dirichlet(np.ones(256), 10)
    labels = np.full(10, 255, np.uint8)
    expected = um_np.ece(labels, probabilities, ignore_index=-1)
    result = um.ece(labels, probabilities, ignore_index=-1)
    assert float(result) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_labels_of_8_bits_work_with_more_than_256_classes(dtype, rng):
    probabilities = rng.dirichlet(np.ones(300), 10)
    labels = rng.integers(0, 120, 10).astype(dtype)
    expected = um_np.sce(labels, probabilities)
    assert float(um.sce(labels, probabilities)) == pytest.approx(expected, abs=1e-12)


def test_ragged_sparse_and_non_numeric_tensors_raise():
    probabilities = tf.constant([[0.4, 0.6], [0.2, 0.8]])
    with pytest.raises(ValueError, match=r"labels.*Ragged"):
        um.ece(tf.ragged.constant([[0], [1, 0]]), probabilities)
    with pytest.raises(ValueError, match=r"probabilities.*Sparse"):
        um.ece([0, 1], tf.sparse.from_dense(probabilities))
    with pytest.raises(ValueError, match=r"`labels` must be .*um\.class_indices"):
        um.ece(tf.constant(["a", "b"]), probabilities)
    with pytest.raises(TypeError, match="probabilities"):
        um.ece([0, 1], tf.cast(probabilities, tf.complex64))


def test_a_graph_of_unknown_rank_or_classes_raises():
    def trace(labels, predictions):
        return tf.function(
            lambda a, b: um.ece(a, b), input_signature=[labels, predictions]
        ).get_concrete_function()

    integers = tf.TensorSpec([None], tf.int32)
    with pytest.raises(ValueError, match="static rank"):
        trace(integers, tf.TensorSpec(None))
    with pytest.raises(ValueError, match="number of classes"):
        trace(integers, tf.TensorSpec([None, None]))


def test_an_empty_batch_of_unknown_size_is_nan():
    for function in (um.ece, um.ace):
        run = tf.function(
            function,
            input_signature=[
                tf.TensorSpec([None], tf.int64),
                tf.TensorSpec([None, 3]),
            ],
        )
        assert np.isnan(run(np.zeros([0], np.int64), np.zeros([0, 3], np.float32)))


@pytest.mark.parametrize("weighted", [False, True])
def test_long_float32_sums_do_not_drift(weighted, rng):
    n = 300_000
    p = rng.uniform(0.9, 1, n).astype(np.float32)
    labels = (rng.uniform(size=n) < 0.95).astype(np.int64)
    weights = rng.uniform(0.1, 2, n).astype(np.float32) if weighted else None
    for options in ({}, {"num_bins": 1}):
        # A plain float32 sum of these scores is wrong in the fourth digit.
        expected = um_np.ece(labels, p, sample_weight=weights, **options)
        result = um.ece(labels, p, sample_weight=weights, **options)
        assert float(result) == pytest.approx(expected, abs=2e-7)


def test_statistics_can_be_added_inside_a_graph(rng):
    labels = rng.integers(0, 3, 20)
    probabilities = rng.dirichlet(np.ones(3), 20)

    @tf.function
    def both():
        first = um.bin_statistics(labels[:9], probabilities[:9])
        second = um.bin_statistics(labels[9:], probabilities[9:])
        return (first + second).counts

    whole = um_np.bin_statistics(labels, probabilities)
    np.testing.assert_array_equal(both(), whole.counts)


def test_extreme_weights_equal_numpy(rng):
    p = np.array([0.1, 0.6, 0.8, 0.95], np.float32)
    labels = [0, 1, 0, 1]
    for weights in (
        np.array([1e-30, 1e30, 1e30, 1], np.float32),
        np.array([1e-12, 1, 1, 1e-12], np.float32),
        np.full(4, 1e-36, np.float32),
    ):
        for name in ("ece", "mce", "rmsce"):
            expected = getattr(um_np, name)(labels, p, sample_weight=weights)
            result = getattr(um, name)(labels, p, sample_weight=weights)
            assert float(result) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 0.3, 1.0, 1e6, 1e30])
def test_debiased_error_equals_numpy_for_weights_of_any_scale(scale, rng):
    data = catalogue.data(rng, dtype=np.float32)
    weights = (data.weights * scale).astype(np.float32)
    arguments = {**data.arguments(), "sample_weight": weights, "num_bins": 4}
    found, expected = (
        room.debiased_calibration_error(**arguments, squared=True)
        for room in (um, um_np)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_datapoints_per_bin_with_real_weights_equal_numpy(rng):
    data = {
        "labels": rng.integers(0, 3, 60),
        "probabilities": rng.dirichlet(np.ones(3), 60),
        "sample_weight": rng.uniform(0.01, 5, 60),
    }
    for name in ("rmsce", "ace"):
        result = getattr(um, name)(**data, datapoints_per_bin=4)
        expected = getattr(um_np, name)(**data, datapoints_per_bin=4)
        assert float(result) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize("jit_compile", [None, False, True])
@pytest.mark.parametrize("more", [0, 30_000])
def test_decisions_treat_negative_zeros_as_zeros_and_flag_bad_rows(
    dtype, jit_compile, more
):
    from uncertainty_metrics.ops import _decisions

    rows = [
        *([0.25, 0.5, 0.25], [0.25, 0.25, 0.25], [-0.0, 0.5, 0.5], [0.0, -0.0, 0.0]),
        *([np.nan, 0.1, 0.1], [-0.1, 0.5, 0.25], [0.1, 1.5, 0.0], [0.1, -np.inf, 0.0]),
        *([[0.5, 0.5, 0.0]] * more),  # Many rows take another way.
    ]
    decide = _decisions.decisions
    if jit_compile is not None:
        decide = tf.function(decide, jit_compile=jit_compile, autograph=False)
    index, scores, right = decide(tf.cast(rows, dtype))
    assert index.numpy()[:4].tolist() == [1, 0, 1, 0]
    assert tf.cast(scores, tf.float32).numpy()[:4].tolist() == [0.5, 0.25, 0.5, 0.0]
    assert index.numpy()[8:].tolist() == [0] * more
    assert right.numpy().tolist() == [True] * 4 + [False] * 4 + [True] * more
