"""Arguments that the functions accept or refuse on tensors of JAX and PyTorch."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import references
from tests.backends.conftest import BACKEND

PROBABILITIES = np.array(
    [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4], [0.25, 0.5, 0.25]], np.float32
)
LABELS = np.array([0, 1, 0, 2])
SAMPLES = np.array([[0.5, -1.0, 2.0], [1.0, 0.0, 3.5]], np.float32)
TARGETS = np.array([0.25, 2.0], np.float32)
WEIGHTS = np.array([1.0, 0.5, 2.0], np.float32)


def tensor(values, dtype=None):
    from keras import ops

    return ops.convert_to_tensor(values, dtype)


def array(values):
    from keras import ops

    return ops.convert_to_numpy(values)


def at_once(function):
    """Returns the function as one program: JAX would compile each of its steps."""
    if BACKEND != "jax":
        return function
    import jax

    return jax.jit(function)


ON_PROBABILITIES = ("ece", "ace", "brier_score", "negative_log_likelihood", "aurc")


@pytest.mark.parametrize(
    "name", ["negative_log_likelihood", "brier_score", "ensemble_cross_entropy"]
)
def test_logits_may_exclude_classes(name):
    logits = np.log(PROBABILITIES)
    logits[0, 2] = logits[2, 1] = -np.inf
    if name == "ensemble_cross_entropy":
        logits = np.stack([logits, logits[:, ::-1] - 1], axis=1)
    given = {"labels": LABELS, "logits": logits}
    expected = getattr(um_np, name)(**given)
    given["logits"] = tensor(logits)
    result = at_once(lambda: getattr(um, name)(**given))()
    np.testing.assert_allclose(float(result), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ON_PROBABILITIES)
def test_half_precision_is_computed_in_float32(name, dtype):
    narrow = tensor(PROBABILITIES, dtype)
    function, reference = at_once(getattr(um, name)), getattr(um_np, name)
    if name in ("brier_score", "negative_log_likelihood", "aurc"):
        expected = reference(LABELS, probabilities=array(narrow).astype(np.float32))
        result = function(tensor(LABELS), probabilities=narrow)
    else:
        expected = reference(LABELS, array(narrow))
        result = function(tensor(LABELS), narrow)
    assert str(result.dtype).endswith("float32")
    np.testing.assert_allclose(float(result), expected, rtol=1e-5)


@pytest.mark.parametrize("label", [2**32, 2**40 + 1, -(2**32) + 1, 2**64 - 1])
def test_labels_beyond_int32_raise(label):
    labels = np.array([label, 0, 1, 2], np.uint64 if label > 2**63 else np.int64)
    for given in (labels, labels.tolist()):
        with pytest.raises((ValueError, OverflowError), match="labels"):
            um.ece(given, tensor(PROBABILITIES))


@pytest.mark.parametrize("index", [2**40, -(2**33)])
def test_ignored_label_may_be_beyond_int32(index):
    labels = np.where(LABELS == 2, index, LABELS)
    result = um.ece(labels, tensor(PROBABILITIES), ignore_index=index)
    expected = um_np.ece(labels, PROBABILITIES, ignore_index=index)
    np.testing.assert_allclose(float(result), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="labels"):
        um.ece(LABELS - 7, tensor(PROBABILITIES), ignore_index=index)


BAD = {
    "a label": (LABELS + 1, PROBABILITIES, None),
    "a NaN": (LABELS, np.where(PROBABILITIES == 0.6, np.nan, PROBABILITIES), None),
    "a probability": (LABELS, PROBABILITIES * 2, None),
    "a weight": (LABELS, PROBABILITIES, np.array([1, -1, 1, 1], np.float32)),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_values_raise_as_in_numpy(case):
    labels, probabilities, weights = BAD[case]
    with pytest.raises(ValueError, match="Received") as of_numpy:
        um_np.ece(labels, probabilities, sample_weight=weights)
    tensors = [None if x is None else tensor(x) for x in BAD[case]]
    with pytest.raises(ValueError, match="Received") as raised:
        um.ece(*tensors[:2], sample_weight=tensors[2])
    assert str(raised.value) == str(of_numpy.value)
    if BACKEND == "jax":
        import jax

        compiled = jax.jit(lambda y, p, w: um.ece(y, p, sample_weight=w))
        assert np.isnan(compiled(*tensors))


def test_lists_arrays_and_variables_are_accepted():
    expected = um_np.ece(LABELS, PROBABILITIES)
    for kind in (np.asarray, np.ndarray.tolist, tensor):
        result = um.ece(kind(LABELS), kind(PROBABILITIES))
        np.testing.assert_allclose(float(result), expected, rtol=1e-5)
    variable = __import__("keras").Variable(PROBABILITIES)
    np.testing.assert_allclose(float(um.ece(LABELS, variable)), expected, rtol=1e-5)


def test_statistics_are_tensors():
    from keras import ops

    result = um.bin_statistics(tensor(LABELS), tensor(PROBABILITIES), num_bins=5)
    expected = um_np.bin_statistics(LABELS, PROBABILITIES, num_bins=5)
    for field in ("edges", "counts", "score_sums", "outcome_sums", "confidences"):
        assert ops.is_tensor(getattr(result, field))
        # Empty bins have no mean in NumPy, and 0 on tensors.
        known = np.nan_to_num(getattr(expected, field))
        np.testing.assert_allclose(array(getattr(result, field)), known, rtol=1e-5)


def test_temperature_scaling_equals_numpy():
    logits = np.log(PROBABILITIES) * 3
    expected = um_np.TemperatureScaling().fit(LABELS, logits)
    scaling = um.TemperatureScaling().fit(tensor(LABELS), logits=tensor(logits))
    np.testing.assert_allclose(scaling.temperature, expected.temperature, rtol=1e-4)
    scaled = scaling.transform(tensor(logits))
    np.testing.assert_allclose(array(scaled), expected.transform(logits), rtol=1e-4)
    with pytest.raises(ValueError, match="logits"):
        scaling.transform(tensor(logits * np.nan))
    with pytest.raises(ValueError, match="labels"):
        um.TemperatureScaling().fit(tensor(LABELS + 1), tensor(logits))


# Differentiable scalars of a float array, at points that are no kinks.
LOSSES = {
    "brier_score": (
        lambda half, x: half.brier_score(LABELS, probabilities=x),
        PROBABILITIES,
    ),
    "brier_score of logits": (
        lambda half, x: half.brier_score(LABELS, logits=x),
        np.log(PROBABILITIES) * 2,
    ),
    "negative_log_likelihood": (
        lambda half, x: half.negative_log_likelihood(LABELS, logits=x),
        np.log(PROBABILITIES) * 2,
    ),
    "ensemble_cross_entropy": (
        lambda half, x: half.ensemble_cross_entropy(LABELS[:2], probabilities=x),
        PROBABILITIES.reshape(2, 2, 3),
    ),
    "crps_normal_score": (
        lambda half, x: half.crps_normal_score(TARGETS, x[:, 0], x[:, 2]).sum(),
        SAMPLES,
    ),
    "interval_score": (
        lambda half, x: half.interval_score(TARGETS, x[:, 1], x[:, 0], 0.1).sum(),
        SAMPLES,
    ),
    "pinball_loss": (
        lambda half, x: half.pinball_loss(TARGETS, x, (0.1, 0.5, 0.9)).sum(),
        np.sort(SAMPLES),
    ),
    **{
        f"crps_score, {estimator}": (
            lambda half, x, e=estimator: half.crps_score(TARGETS, x, estimator=e).sum(),
            SAMPLES,
        )
        for estimator in ("nrg", "fair", "almost_fair", "roll")
    },
    "crps_score, weighted": (
        lambda half, x: half.crps_score(TARGETS, x, member_weights=WEIGHTS).sum(),
        SAMPLES,
    ),
    "energy_score": (
        lambda half, x: half.energy_score(TARGETS[:1], x[:, :1]).sum(),
        SAMPLES,
    ),
    "regression.negative_log_likelihood": (
        lambda half, x: half.regression.negative_log_likelihood(
            x[:, 0], x[:, 2], TARGETS
        ),
        SAMPLES,
    ),
    "negative_waic": (lambda half, x: half.negative_waic(x)[0], SAMPLES / 4 - 1),
}


def gradients(loss, x, step_by_step=False):
    if BACKEND == "jax":
        import jax

        compiled = [at_once(jax.grad(loss))(x)]
        return [*compiled, jax.grad(loss)(x)] if step_by_step else compiled
    x.requires_grad_()
    loss(x).backward()
    return [x.grad]


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_equal_finite_differences(name):
    loss, x = LOSSES[name]
    expected = references.slopes(
        lambda values: loss(um_np, values), x.astype(np.float64), step=1e-5
    )
    found = gradients(lambda values: loss(um, values), tensor(x), name == "brier_score")
    for gradient in found:
        np.testing.assert_allclose(array(gradient), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(BACKEND != "torch", reason="PyTorch alone")
def test_predictions_may_require_gradients():
    probabilities = tensor(PROBABILITIES).requires_grad_()
    for name in ("ece", "ace", "bin_statistics", "compute_all_metrics"):
        getattr(um, name)(tensor(LABELS), probabilities)
    um.risk_coverage_curve(LABELS, probabilities=probabilities)
    with pytest.raises(ValueError, match="labels"):
        um.ece(LABELS + 1, probabilities)


@pytest.mark.skipif(BACKEND != "torch", reason="PyTorch alone")
@pytest.mark.parametrize("name", ["ece", "ace"])
def test_torch_compile(name):
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The compiler itself warns.
        compiled = torch.compile(getattr(um, name), backend="eager")
        result = compiled(tensor(LABELS), tensor(PROBABILITIES))
    expected = getattr(um_np, name)(LABELS, PROBABILITIES)
    np.testing.assert_allclose(float(result), expected, rtol=1e-5)


def test_functions_of_tensorflow_alone_raise():
    for find in (
        lambda: um.crps_distribution,
        lambda: um.regression.distribution_pit,
        lambda: um.bayesian_expected_calibration_error(
            5, probabilities=PROBABILITIES, labels_true=LABELS
        ),
    ):
        with pytest.raises(ImportError, match=r"uncertainty_metrics\.numpy") as raised:
            find()
        assert BACKEND in str(raised.value)


PROGRAM = """
import sys
import uncertainty_metrics as um
um.ece([0, 1], [[0.7, 0.3], [0.4, 0.6]])
um.regression.sharpness([1.0])
metric = um.ExpectedCalibrationError()
metric.update_state([0, 1], [[0.7, 0.3], [0.4, 0.6]])
metric.result()
assert "tensorflow" not in sys.modules
"""


def test_tensorflow_is_not_imported():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)
