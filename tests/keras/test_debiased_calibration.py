"""The debiased calibration error as a Keras metric, in the Keras that is loaded."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from uncertainty_metrics.numpy.calibration.bins.debiased_calibration import (
    debiased_calibration_error,
)

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.tensors]

Metric = um.DebiasedCalibrationError


def feed(metric, data, batches=3, weighted=False):
    for part in np.array_split(np.arange(len(data.labels)), batches):
        weights = data.weights[part] * weighted if weighted else None
        metric.update_state(data.labels[part], data.predictions[part], weights)
    return float(metric.result())


def function(data, weighted=False, **options):
    weights = data.weights * weighted if weighted else None
    return debiased_calibration_error(
        data.labels, data.predictions, sample_weight=weights, **options
    )


@pytest.mark.parametrize("weighted", [1, 0.01], ids=["heavy", "light"])
def test_weights_are_scaled_over_all_batches(weighted, rng):
    data = catalogue.lattice(rng)
    expected = function(data, weighted, num_bins=4, squared=True)
    for batches in (1, 3):
        metric = Metric(num_bins=4, squared=True)
        result = feed(metric, data, batches, weighted)
        assert result == pytest.approx(expected, abs=1e-6)
        # The root of a small number is less precise.
        root = feed(Metric(num_bins=4), data, batches, weighted)
        assert root**2 == pytest.approx(max(expected, 0), abs=1e-6)


def test_debiased_error_is_below_the_biased_error(rng):
    data = catalogue.lattice(rng, n=60)
    biased = um.GeneralCalibrationError("adaptive", True, False, "l2", num_bins=4)
    assert feed(Metric(num_bins=4), data) < feed(biased, data)


def test_positive_class_and_logits(rng):
    p = rng.integers(1, 31, 50) / 32
    labels = (rng.uniform(size=50) < 0.5).astype(int)
    expected = debiased_calibration_error(
        labels, p, positive_class=True, num_bins=3, squared=True
    )
    metric = Metric(num_bins=3, positive_class=True, squared=True)
    metric.update_state(labels, p.astype(np.float32))
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)
    metric = Metric(num_bins=3, positive_class=True, squared=True, from_logits=True)
    metric.update_state(labels, np.log(p / (1 - p)))
    assert float(metric.result()) == pytest.approx(expected, abs=1e-4)


def test_error_of_no_or_one_example_is_0():
    for metric in (Metric(), Metric(max_prob=False, class_conditional=True)):
        assert float(metric.result()) == 0
        metric.update_state([1], [[0.2, 0.8]])
        assert float(metric.result()) == 0
    assert Metric(dtype="float64").result().dtype == tf.float64
    assert Metric(dtype="bfloat16").result().dtype == tf.float32
