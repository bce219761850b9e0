"""The conventions of two classes on tensors of JAX and PyTorch, and in Keras."""

import inspect
import warnings

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import conventions
from tests.backends.conftest import BACKEND
from tests.conventions import CLASSES, DECISIONS, OPTIONS, columns, flat, low, ours
from uncertainty_metrics.ops import to_numpy, xp


def is_tensors_own(name):
    """Says if tensors have this public name, and are not left to NumPy's."""
    is_posterior = name == "bayesian_expected_calibration_error"  # TensorFlow's alone.
    return not is_posterior and getattr(um, name) is not getattr(um_np, name, None)


NAMES = [name for name in conventions.names(um) if is_tensors_own(name)]
METRICS = [name for name in NAMES if inspect.isclass(getattr(um, name))]
# JAX compiles each operation for each shape, which takes a minute for all names.
QUICK = ("ece", "ExpectedCalibrationError")


def marked(name):
    left_out = BACKEND == "jax" and name not in QUICK
    return pytest.param(name, marks=[pytest.mark.exhaustive] * left_out)


def arrays(value):
    """Returns a result with arrays for its tensors."""
    if isinstance(value, dict):
        return {key: arrays(part) for key, part in value.items()}
    if hasattr(value, "outcome_sums"):
        return arrays([value.counts, value.score_sums, value.outcome_sums])
    if isinstance(value, list | tuple):
        return [arrays(part) for part in value]
    return to_numpy(value)


def value_of(name, labels, predictions, **options):
    options = OPTIONS.get(name, {}) | options
    if name not in METRICS:
        found = getattr(um, name)(labels=labels, probabilities=predictions, **options)
        return flat(arrays(found))
    metric = getattr(um, name)(**options)
    for half in (slice(0, 200), slice(200, None)):
        metric.update_state(labels[half], predictions[half])
    return flat(arrays(metric.result()))


@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
def test_none_means_what_the_form_says(name, rng):
    labels, p = low(rng)
    for given, one_column in ((p[:, None], True), (columns(p), False)):
        given = xp.constant(given)
        is_event = one_column and name not in (*DECISIONS, *CLASSES)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = value_of(name, labels, given)
        assert len(ours(caught)) == (one_column and name in DECISIONS)
        assert {warning.filename for warning in ours(caught)} <= {__file__}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = value_of(name, labels, given, positive_class=is_event)
            np.testing.assert_array_equal(found, expected)
            if name not in METRICS:
                exact = getattr(um_np, name)(
                    labels, to_numpy(given), **OPTIONS.get(name, {})
                )
                np.testing.assert_allclose(found, flat(exact), atol=1e-5)


def test_the_first_batch_settles_the_form(rng):
    labels, p = low(rng)
    metric, other = um.SmoothCalibrationError(), um.SmoothCalibrationError()
    metric.update_state(labels, p)
    assert metric.get_config()["positive_class"] is True
    with pytest.raises(ValueError, match="as in the first batch"):
        metric.update_state(labels, columns(p))
    other.update_state(labels, columns(p))
    with pytest.raises(ValueError, match="positive_class"):
        other.merge_state([metric])
    assert metric.get_state().to_metric().get_config()["positive_class"] is True


def test_fit_warns_once_at_the_line_of_the_user(rng):
    import keras

    labels, p = low(rng, 64)
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    metrics = [um.ExpectedCalibrationError(), um.SmoothCalibrationError()]
    model.compile("sgd", "binary_crossentropy", metrics=metrics)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(p[:, None], labels, batch_size=16, epochs=2, verbose=0)
        model.evaluate(p[:, None], labels, batch_size=16, verbose=0)
    assert [warning.filename for warning in ours(caught)] == [__file__]
    expected = um_np.smece(labels, model.predict(p[:, None], verbose=0))
    np.testing.assert_allclose(float(metrics[1].result()), expected, atol=1e-4)


@pytest.mark.skipif(BACKEND != "jax", reason="compiled by jax.jit")
def test_jit_tells_the_form_while_it_traces(rng):
    import jax

    labels, p = low(rng)
    for function in (um.ece, um.debiased_calibration_error):
        for given in (p, columns(p)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                compiled = jax.jit(function)
                found = [float(compiled(labels, given)) for _ in range(2)]
                expected = getattr(um_np, function.__name__)(labels, given)
            warns = function is um.ece and given is p
            assert len(ours(caught)) == 2 * warns  # One is NumPy's.
            np.testing.assert_allclose(found, expected, atol=1e-5)
