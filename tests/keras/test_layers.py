"""The layer that divides logits by a temperature."""

import numpy as np
import pytest
import tensorflow as tf

from uncertainty_metrics.keras.layers import TemperatureScalingLayer
from uncertainty_metrics.numpy.recalibration import TemperatureScaling

keras = tf.keras
pytestmark = pytest.mark.keras


def network(rng, n=400, classes=4):
    """Labels, and logits three times too large for them."""
    logits = rng.normal(size=[n, classes])
    noise = rng.gumbel(size=[n, classes])
    return np.argmax(logits + noise, axis=1), (3 * logits).astype(np.float32)


def model_with(layer, features=4):
    return keras.Sequential([keras.Input([features]), layer])


def test_divides_by_the_temperature(rng):
    logits = rng.normal(size=[3, 2, 4]).astype(np.float32)
    logits[0, 0, 1] = -np.inf
    layer = TemperatureScalingLayer(2.5)
    np.testing.assert_allclose(layer(logits), logits / 2.5, rtol=2e-7)
    assert layer.temperature == 2.5
    assert TemperatureScalingLayer().temperature == 1.0
    assert layer.compute_output_shape((None, 4)) == (None, 4)
    assert not layer.trainable_weights
    assert [weight.shape for weight in layer.weights] == [()]


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf, "hot", None])
def test_wrong_temperatures(temperature):
    with pytest.raises(ValueError, match="`temperature` must be finite and > 0"):
        TemperatureScalingLayer(temperature)


def test_fit_is_that_of_temperature_scaling(rng):
    labels, logits = network(rng)
    layer = TemperatureScalingLayer(1.5)
    # A failed fit keeps the temperature.
    with pytest.raises(ValueError, match="grows without bound"):
        layer.fit(np.argmax(logits, axis=1), logits)
    with pytest.raises(ValueError, match="`labels` must be integers"):
        layer.fit(labels + 3, logits)
    assert layer.temperature == 1.5
    options = {"sample_weight": rng.integers(0, 3, len(labels)), "ignore_index": 2}
    assert layer.fit(labels, logits, **options) is layer
    expected = TemperatureScaling().fit(labels, logits, **options)
    np.testing.assert_allclose(layer.temperature, expected.temperature, rtol=1e-5)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_compiled_model_takes_a_new_temperature(jit_compile, rng):
    labels, logits = network(rng)
    layer = TemperatureScalingLayer()
    model = model_with(layer)
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=jit_compile,
    )
    before = model.evaluate(logits, labels, verbose=0)
    np.testing.assert_array_equal(model.predict(logits, verbose=0), logits)
    layer.fit(labels, logits)
    assert layer.temperature > 1.5
    predictions = model.predict(logits, verbose=0)
    np.testing.assert_allclose(predictions, logits / layer.temperature, rtol=1e-6)
    after = model.evaluate(logits, labels, verbose=0)
    assert after < before - 0.1


def test_training_the_rest_leaves_it_alone(rng):
    labels, logits = network(rng)
    dense, layer = keras.layers.Dense(4), TemperatureScalingLayer(2.0)
    model = keras.Sequential([keras.Input([4]), dense, layer])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = dense.get_weights()[0]
    model.fit(logits, labels, verbose=0)
    assert layer.temperature == 2.0
    assert np.any(dense.get_weights()[0] != before)


def test_saved_in_a_model(tmp_path, rng):
    labels, logits = network(rng)
    layer = TemperatureScalingLayer(name="scaling").fit(labels, logits)
    model = model_with(layer)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        loaded.predict(logits, verbose=0), model.predict(logits, verbose=0)
    )
    assert loaded.layers[-1].temperature == layer.temperature

    model.save_weights(tmp_path / "model.weights.h5")
    fresh = model_with(TemperatureScalingLayer(name="scaling"))
    fresh.load_weights(tmp_path / "model.weights.h5")
    assert fresh.layers[-1].temperature == layer.temperature
    assert keras.models.clone_model(model).layers[-1].temperature == layer.temperature


def test_config_has_the_temperature_of_now(rng):
    layer = TemperatureScalingLayer(2.0, name="scaling", dtype="float64")
    layer.fit(*network(rng))
    config = layer.get_config()
    assert set(config) == {"temperature", "name", "dtype"}
    again = TemperatureScalingLayer.from_config(config)
    assert again.temperature == layer.temperature == config["temperature"]
    assert again.name == "scaling"
    assert again.compute_dtype == "float64"


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_other_precisions(policy, rng):
    layer = TemperatureScalingLayer(1.0 / 3.0, dtype=policy)
    assert layer.weights[0].dtype in ("float32", tf.float32)
    logits = tf.constant(rng.normal(size=[5, 4]), tf.float32)
    result = layer(logits)
    dtype = tf.as_dtype(layer.compute_dtype)
    assert result.dtype == dtype
    narrow = tf.cast(logits, dtype)
    exact = tf.cast(narrow, tf.float64) / layer.temperature
    # T itself is not rounded to the narrow type.
    rtol = {"float64": 1e-6, "float16": 0.51 * 2.0**-10, "bfloat16": 0.51 * 2.0**-7}
    rtol = rtol[dtype.name]
    np.testing.assert_allclose(tf.cast(result, tf.float64), exact, rtol=rtol)


def test_masks_pass_through():
    layer = TemperatureScalingLayer(2.0)
    embedded = keras.layers.Embedding(5, 3, mask_zero=True)(np.array([[1, 0, 2]]))
    np.testing.assert_array_equal(layer(embedded)._keras_mask, [[True, False, True]])
