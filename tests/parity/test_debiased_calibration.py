"""The debiased calibration error on tensors: the values of NumPy, in every mode."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from uncertainty_metrics.numpy.debiased_calibration import (
    debiased_calibration_error as np_error,
)

CASES = [
    *(
        {
            "binning_scheme": scheme,
            "max_prob": max_prob,
            "class_conditional": class_conditional,
            "num_bins": 5,
        }
        for scheme, max_prob, class_conditional in itertools.product(
            ("even", "adaptive"), (True, False), (False, True)
        )
    ),
    {},
    {"threshold": 0.2, "num_bins": 3},
    {"datapoints_per_bin": 6},
]
every_case = pytest.mark.parametrize("case", CASES)


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_eager_equals_numpy(case, dtype, weighted, rng):
    data = catalogue.data(rng, dtype=dtype)
    weights = data.weights if weighted else None
    arguments = {"sample_weight": weights, **case}
    atol = 1e-12 if dtype is np.float64 else 1e-6
    square = um.debiased_calibration_error(
        data.labels, data.predictions, **arguments, squared=True
    )
    assert square.dtype == dtype
    assert square.shape == ()
    expected = np_error(data.labels, data.predictions, **arguments, squared=True)
    np.testing.assert_allclose(square, expected, rtol=0, atol=atol)
    root = um.debiased_calibration_error(data.labels, data.predictions, **arguments)
    # A root is steep at 0.
    np.testing.assert_allclose(root**2, max(expected, 0), rtol=0, atol=atol)


@every_case
def test_graph_of_any_size_equals_numpy(case, rng):
    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int64),
            tf.TensorSpec([None, 3], tf.float64),
            tf.TensorSpec([None], tf.float64),
        ]
    )
    def graph(labels, probabilities, weights):
        return um.debiased_calibration_error(
            labels, probabilities, sample_weight=weights, squared=True, **case
        )

    for n in (40, 11):
        data = catalogue.data(rng, n=n)
        arguments = (data.labels, data.predictions)
        expected = np_error(
            *arguments, sample_weight=data.weights, squared=True, **case
        )
        found = graph(*arguments, data.weights)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    for wrong in (data.labels + 2, data.labels - 2):
        assert np.isnan(graph(wrong, data.predictions, data.weights))
    assert np.isnan(graph(data.labels, data.predictions - 0.1, data.weights))
    assert np.isnan(graph(data.labels, data.predictions, -data.weights))
    assert np.isnan(graph(data.labels, data.predictions, 0 * data.weights))


def test_xla_equals_numpy(rng):
    data = catalogue.data(rng, dtype=np.float32)
    case = CASES[0]

    @tf.function(jit_compile=True)
    def compiled(labels, probabilities, weights):
        return um.debiased_calibration_error(
            labels, probabilities, sample_weight=weights, **case
        )

    arguments = (data.labels, data.predictions)
    expected = np_error(*arguments, sample_weight=data.weights, **case)
    found = compiled(*arguments, data.weights)
    np.testing.assert_allclose(found**2, expected**2, rtol=0, atol=1e-6)
    assert np.isnan(compiled(data.labels + 2, data.predictions, data.weights))


@pytest.mark.parametrize("weight", [1e-30, 1e-3, 0.3, 1.0, 1e6, 1e30])
def test_weights_of_any_scale(weight, rng):
    data = catalogue.data(rng, dtype=np.float32)
    weights = (data.weights * weight).astype(np.float32)
    arguments = {"sample_weight": weights, "num_bins": 4, "squared": True}
    found = um.debiased_calibration_error(data.labels, data.predictions, **arguments)
    expected = np_error(data.labels, data.predictions, **arguments)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_forms_of_the_same_predictions(rng):
    logits = rng.normal(size=[2, 5, 4, 3]).astype(np.float32)
    labels = rng.integers(0, 3, [2, 5, 4])
    labels[0, 1] = 255
    options = {
        "labels_predicted": rng.integers(0, 3, [2, 5, 4]),
        "sample_weight": np.array([0.5, 2.0]),
        "ignore_index": 255,
        "num_bins": 4,
        "squared": True,
    }
    expected = np_error(labels, logits=logits, **options)
    for convert in (tf.constant, lambda array: array.tolist()):
        found = um.debiased_calibration_error(
            convert(labels), logits=convert(logits), **options
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    p = rng.uniform(size=30)
    options = {"positive_class": True, "num_bins": 3, "squared": True}
    found = um.debiased_calibration_error(p < 0.4, probs=p, **options)
    assert found.dtype == tf.float64
    expected = np_error(p < 0.4, probs=p, **options)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_narrow_types_are_computed_in_float32(dtype, rng):
    data = catalogue.lattice(rng)
    found = um.debiased_calibration_error(
        data.labels, tf.cast(data.predictions, dtype), num_bins=4
    )
    assert found.dtype == tf.float32
    expected = np_error(data.labels, data.predictions, num_bins=4)
    assert float(found) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("bad", catalogue.SHAPES + catalogue.VALUES)
def test_messages_are_those_of_numpy(bad):
    arguments, word = catalogue.bad_data(bad)
    with pytest.raises(ValueError, match=word) as ours:
        um.debiased_calibration_error(**arguments)
    with pytest.raises(ValueError, match=word) as theirs:
        np_error(**arguments)
    if bad != "ragged":  # What is wrong with a ragged list is said by NumPy.
        assert str(ours.value) == str(theirs.value)


def test_bad_options_raise_while_the_graph_is_built():
    for name, value in (("squared", 1), ("binning_scheme", "odd"), ("num_bins", 0)):
        option = {name: value}

        @tf.function
        def graph(option=option):
            return um.debiased_calibration_error([0], [0.5], **option)

        for call in (graph, graph.python_function):
            with pytest.raises(ValueError, match=f"`{name}` must be"):
                call()
    with pytest.raises(ValueError, match="`labels` must be numbers"):
        um.debiased_calibration_error(["cat"], [0.5])
