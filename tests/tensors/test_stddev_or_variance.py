"""Eager tensors have the check of NumPy; compiled code does not look at the values."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um


@pytest.fixture
def forecasts(rng):
    """Means, standard deviations and targets that are calibrated."""
    means, stddevs = rng.normal(size=4000), 0.1 * np.exp(0.8 * rng.normal(size=4000))
    return means, stddevs, means + stddevs * rng.normal(size=4000)


def test_eager_tensors_of_the_other_kind_are_refused(forecasts):
    means, stddevs, targets = (tf.constant(x, tf.float32) for x in forecasts)
    with pytest.raises(ValueError, match="and these are standard deviations"):
        um.regression.interval_coverage(means, stddevs, targets)
    with pytest.raises(ValueError, match="and these are variances"):
        um.crps_normal_score(targets, means, stddevs**2)


def test_a_graph_computes_with_them(forecasts):
    coverage = tf.function(um.regression.interval_coverage)(
        *(tf.constant(x, tf.float32) for x in forecasts)
    )
    assert float(coverage) > 0.99
