"""`repr` of a metric shows its name and its value."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um

LEGACY = not hasattr(tf.keras, "ops")
DATA = [0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.3, 0.7]]
BAD = [0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.3, 70.0]]


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_repr_shows_the_value(dtype):
    metric = um.BrierScore(name="brier", dtype=dtype, zero_based=True)
    assert repr(metric) == "<BrierScore name=brier, no examples>"
    metric.update_state(*DATA)
    score = np.mean([0.1, 0.2, 0.4, 0.7] * np.array([0.1, 0.2, 0.4, 0.7])) * 2
    assert repr(metric) == f"<BrierScore name=brier, result={score}>"
    metric.reset_state()
    assert repr(metric) == "<BrierScore name=brier, no examples>"


def test_repr_names_parts_and_members():
    metrics = {"ece": um.ExpectedCalibrationError(), "parts": um.BrierDecomposition()}
    metric = um.MetricCollection(metrics, name="all")
    metric.update_state(*DATA)
    given = {name: round(float(v), 6) for name, v in metric.result().items()}
    values = ", ".join(f"{name}={value}" for name, value in given.items())
    assert repr(metric) == f"<MetricCollection name=all, {values}>"
    assert repr(metrics["ece"]).endswith(f", result={given['ece']}>")


def test_repr_does_not_warn():
    # The warning is left to `result`.
    metric = um.ExpectedCalibrationError(name="ece")

    @tf.function
    def step(labels, probabilities):
        metric.update_state(labels, probabilities)

    step(*map(tf.constant, BAD))
    assert repr(metric) == "<ExpectedCalibrationError name=ece, result=nan>"
    with pytest.warns(RuntimeWarning, match="refused 1 batch"):
        metric.result()


def test_repr_in_a_graph_has_no_value():
    metric, shown = um.ExpectedCalibrationError(name="ece"), []

    @tf.function
    def step(labels, probabilities):
        metric.update_state(labels, probabilities)
        shown.extend([repr(metric), repr(um.bin_statistics(labels, probabilities))])

    step(*map(tf.constant, DATA))
    title = "BinStatistics of 15 even bins"
    assert shown == ["<ExpectedCalibrationError name=ece>", title]
    np_table = repr(um.numpy.bin_statistics(*DATA))
    assert repr(um.bin_statistics(*DATA)) == np_table
    assert np_table.startswith(f"{title}\n")


@pytest.mark.thorough
@pytest.mark.skipif(LEGACY, reason="update_state of tf_keras returns no tensors")
def test_repr_does_not_wait_for_the_warning_that_shows_it():
    # TensorFlow shows `repr` of the metric in its warning of repeated traces, while it
    # holds a lock that the call of any function needs.
    code = """
import tensorflow as tf

import uncertainty_metrics as um

LEGACY = not hasattr(tf.keras, "ops")
for metric, value in (
    (um.BayesianExpectedCalibrationError(), 0.5),
    (um.RefinedNegativeLogLikelihood(from_logits=True), 1.5),
):
    step = tf.function(metric.update_state)
    for n in range(2, 12):
        step(tf.zeros([n], tf.int32), tf.fill([n, 2], value))
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr
    assert "<BayesianExpectedCalibrationError name=" in found.stderr
