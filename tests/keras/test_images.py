"""Metrics in `fit` with masks: all pixels of all images, without the void ones."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

VOID = 255
METRICS = {
    "expected_calibration_error": um.ExpectedCalibrationError,
    "static_calibration_error": um.StaticCalibrationError,
    "brier_score": um.BrierScore,
    "negative_log_likelihood": um.NegativeLogLikelihood,
}
keras = tf.keras


@pytest.mark.parametrize("from_logits", [False, True])
def test_pixels_of_masks_are_examples_in_fit(from_logits, rng):
    labels = rng.integers(0, 3, [7, 6, 5])
    labels[rng.random(labels.shape) < 0.2] = VOID
    labels[2] = VOID
    x = rng.normal(size=[7, 6, 5, 2]).astype(np.float32)
    activation = None if from_logits else "softmax"
    model = keras.Sequential(
        [keras.Input([6, 5, 2]), keras.layers.Conv2D(3, 1, activation=activation)]
    )
    options = {"ignore_index": VOID, "from_logits": from_logits}
    metrics = [made(**options, name=name) for name, made in METRICS.items()]
    loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=from_logits, ignore_class=VOID
    )
    model.compile(keras.optimizers.SGD(0.0), loss, metrics=metrics)
    logs = model.fit(x, labels, batch_size=3, verbose=0).history
    predictions = {"logits" if from_logits else "probabilities": model.predict(x)}
    for name in METRICS:
        expected = getattr(um_np, name)(labels, **predictions, ignore_index=VOID)
        assert logs[name][0] == pytest.approx(expected, abs=1e-5)
