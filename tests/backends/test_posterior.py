"""The posterior of the ECE on JAX and PyTorch."""

import numpy as np
import pytest

import uncertainty_metrics as um
from tests import references

SIGMAS = 5  # One false alarm in two million.


@pytest.mark.parametrize("bins", [15, 100])
def test_mean_and_draws_agree(bins, rng):
    metric = um.BayesianExpectedCalibrationError(num_bins=bins)
    assert float(metric.result()) == 0
    # These scores are exact in float32, and none is on an edge of a bin.
    scores = (rng.integers(512, 1024, 50) + 0.5) / 1024
    labels, weights = rng.integers(0, 2, 50), 10.0 ** rng.integers(0, 4, 50)
    predictions = np.stack([1 - scores, scores], axis=1).astype(np.float32)
    metric.update_state(np.int32(labels), predictions, np.float32(weights))
    sums = references.bin_sums(scores, labels, weights, bins)
    expected = references.posterior_mean(*sums)
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)
    draws = np.asarray(metric.sample(5000, seed=int(rng.integers(2**31))))
    error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - expected) < SIGMAS * error
    low, middle, high = np.asarray(metric.quantiles([0.01, 0.5, 0.99]))
    assert low < middle < high
    np.testing.assert_array_equal(metric.sample(9, seed=-3), metric.sample(9, seed=-3))
    assert not np.array_equal(metric.sample(9), metric.sample(9))
    with pytest.raises(ValueError, match="`seed` must be"):
        metric.sample(9, seed=0.5)
