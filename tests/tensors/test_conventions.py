"""The conventions of two classes on tensors and in Keras, eager and compiled."""

import inspect
import warnings

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import conventions
from tests.conventions import CLASSES, DECISIONS, OPTIONS, columns, flat, low, ours

NAMES = [
    name
    for name in conventions.names(um)
    if getattr(um, name) is not getattr(um_np, name, None)
]
METRICS = [name for name in NAMES if inspect.isclass(getattr(um, name))]
FUNCTIONS = [name for name in NAMES if name not in METRICS]


def value_of(name, labels, predictions, **options):
    options = OPTIONS.get(name, {}) | options
    if name in METRICS:
        metric = getattr(um, name)(**options)
        for half in (slice(0, 200), slice(200, None)):
            metric.update_state(labels[half], predictions[half])
        return flat(metric.result())
    argument = "labels_true" if name.startswith("bayesian") else "labels"
    options |= {argument: labels, "probabilities": predictions}
    return flat(getattr(um, name)(**options))


def test_names_of_tensors_and_metrics_have_the_default():
    for name in NAMES:
        parameter = inspect.signature(getattr(um, name)).parameters["positive_class"]
        assert parameter.default is None, name
    assert {"SmoothCalibrationError", "DebiasedCalibrationError"} <= {*METRICS}
    assert {name for name in DECISIONS if name in conventions.names(um_np)} <= {
        *conventions.names(um)
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["vector", "column", "columns"])
def test_none_means_what_the_form_says(name, form, rng):
    labels, p = low(rng)
    given = {"vector": p, "column": p[:, None], "columns": columns(p)}[form]
    given = tf.constant(given)
    one_column = form != "columns"
    is_event = one_column and name not in (*DECISIONS, *CLASSES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = value_of(name, labels, given)
    caught = ours(caught)  # Imports of TFP warn, too.
    assert len(caught) == (one_column and name in DECISIONS)
    for warning in caught:
        assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = value_of(name, labels, given, positive_class=is_event)
        other = value_of(name, labels, given, positive_class=not is_event)
    np.testing.assert_array_equal(found, expected)
    if name not in (*CLASSES, "spiegelhalter_test"):  # Class 0 mirrors class 1.
        assert not np.allclose(found, other)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ece", "smece", "debiased_calibration_error", "sce"])
@pytest.mark.parametrize("last", [1, 2, None])
def test_graphs_tell_the_form_by_static_shapes(name, last, rng):
    labels, p = low(rng)
    given = {1: p[:, None], 2: columns(p), None: p}[last]
    signature = [
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([None] if last is None else [None, last], tf.float32),
    ]
    expected = value_of(name, labels, given)
    traced = tf.function(getattr(um, name), input_signature=signature)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            np.testing.assert_allclose(traced(labels, given), expected, rtol=1e-5)
    assert len(ours(caught)) == (name == "ece" and last != 2)
