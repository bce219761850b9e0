"""The coverage of predicted quantiles as a streaming metric."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def batches(rng):
    quantiles = np.sort(rng.normal(size=[40, 5]), axis=1).astype(np.float32)
    return rng.normal(size=40).astype(np.float32), quantiles, rng.uniform(size=40)


@pytest.mark.parametrize(("level", "row"), [(None, 1), (0.9, 1), (0.5, 0)])
def test_batches_give_the_coverage_of_the_table(level, row, rng):
    y, quantiles, weights = batches(rng)
    metric = um.regression.QuantileCoverage(LEVELS, level, dtype="float64")
    for rows in (slice(15), slice(15, None)):
        metric.update_state(y[rows, None], quantiles[rows], weights[rows])
    table = um_np.regression.quantile_coverage(
        quantiles, LEVELS, y, sample_weight=weights
    )
    assert float(metric.result()) == pytest.approx(table[row].coverage, abs=1e-6)


def test_stands_beside_the_pinball_loss_in_fit(rng):
    y, x, _ = batches(rng)
    model = tf.keras.Sequential([tf.keras.layers.Dense(5)])
    model.compile(
        loss=um.PinballLoss(LEVELS), metrics=[um.regression.QuantileCoverage(LEVELS)]
    )
    history = model.fit(x, y, epochs=2, verbose=0).history
    assert 0 <= history["quantile_coverage"][-1] <= 1


def test_wrong_options_and_batches_raise(rng):
    for wrong in ([0.1, 0.5], [0.9, 0.1], [0.5], 0.5, [0.1, 1.5]):
        with pytest.raises(ValueError, match="`quantiles`"):
            um.regression.QuantileCoverage(wrong)
    with pytest.raises(ValueError, match=r"the ends of the interval of level 0\.8"):
        um.regression.QuantileCoverage(LEVELS, 0.8)
    with pytest.raises(ValueError, match="`level`"):
        um.regression.QuantileCoverage(LEVELS, 95)
    metric = um.regression.QuantileCoverage(LEVELS)
    with pytest.raises(ValueError, match="`y_pred`"):
        metric.update_state([0.0], [[0.0, 1.0]])
    with pytest.raises(ValueError, match="`y_true`"):
        metric.update_state([np.nan], [[0.0, 1.0, 2.0, 3.0, 4.0]])
    assert float(metric.result()) == 0
