"""The layers that recalibrate a model, fitted to arrays and to datasets."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.keras.layers import (
    ConformalSetLayer,
    MatrixScalingLayer,
    TemperatureScalingLayer,
    VectorScalingLayer,
)
from uncertainty_metrics.numpy.calibrators.temperature_scaling import TemperatureScaling

keras = tf.keras
pytestmark = pytest.mark.keras

# Layers, and the NumPy calibrators that they must equal.
KINDS = {
    "temperature": (TemperatureScalingLayer, um_np.TemperatureScaling),
    "vector": (VectorScalingLayer, um_np.VectorScaling),
    "matrix": tuple(
        functools.partial(made, ridge=3.0)
        for made in (MatrixScalingLayer, um_np.MatrixScaling)
    ),
    "odir": tuple(
        functools.partial(made, regularization="odir")
        for made in (MatrixScalingLayer, um_np.MatrixScaling)
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def network(rng, n=400, classes=4):
    """Returns labels, and logits that are three times too large for them."""
    logits = rng.normal(size=[n, classes])
    noise = rng.gumbel(size=[n, classes])
    return np.argmax(logits + noise, axis=1), (3 * logits).astype(np.float32)


def model_with(layer, features=4):
    return keras.Sequential([keras.Input([features]), layer])


def test_layer_divides_by_the_temperature(rng):
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
def test_wrong_temperatures_raise(temperature):
    with pytest.raises(ValueError, match="`temperature` must be finite and > 0"):
        TemperatureScalingLayer(temperature)


def test_fit_equals_temperature_scaling(rng):
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


def test_training_other_layers_keeps_the_temperature(rng):
    labels, logits = network(rng)
    dense, layer = keras.layers.Dense(4), TemperatureScalingLayer(2.0)
    model = keras.Sequential([keras.Input([4]), dense, layer])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = dense.get_weights()[0]
    model.fit(logits, labels, verbose=0)
    assert layer.temperature == 2.0
    assert np.any(dense.get_weights()[0] != before)


def test_a_copy_has_the_temperature(rng):
    layer = TemperatureScalingLayer(name="scaling").fit(*network(rng))
    copy = keras.models.clone_model(model_with(layer))
    assert copy.layers[-1].temperature == layer.temperature


def test_config_has_the_fitted_temperature(rng):
    layer = TemperatureScalingLayer(2.0, name="scaling", dtype="float64")
    layer.fit(*network(rng))
    config = layer.get_config()
    assert set(config) == {"temperature", "name", "dtype"}
    again = TemperatureScalingLayer.from_config(config)
    assert again.temperature == layer.temperature == config["temperature"]
    assert again.name == "scaling"
    assert again.compute_dtype == "float64"


@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_temperature_in_other_precisions(policy, rng):
    layer = TemperatureScalingLayer(1.0 / 3.0, dtype=policy)
    assert layer.weights[0].dtype in ("float32", tf.float32)
    logits = tf.constant(rng.normal(size=[5, 4]), tf.float32)
    result = layer(logits)
    dtype = tf.as_dtype(layer.compute_dtype)
    assert result.dtype == dtype
    narrow = tf.cast(logits, dtype)
    exact = tf.cast(narrow, tf.float64) / layer.temperature
    # Only logits are rounded to the narrow type, not T.
    rtol = {"float64": 1e-6, "float16": 0.51 * 2.0**-10, "bfloat16": 0.51 * 2.0**-7}
    rtol = rtol[dtype.name]
    np.testing.assert_allclose(tf.cast(result, tf.float64), exact, rtol=rtol)


def test_masks_pass_through():
    layer = TemperatureScalingLayer(2.0)
    embedded = keras.layers.Embedding(5, 3, mask_zero=True)(np.array([[1, 0, 2]]))
    np.testing.assert_array_equal(layer(embedded)._keras_mask, [[True, False, True]])


def mapped(layer, logits):
    return np.asarray(layer(np.float32(logits)), np.float64)


def assert_maps(layer, calibrator, logits):
    """Asserts that the layer maps as the calibrator does, up to float32."""
    expected = calibrator.transform(logits.astype(np.float64))
    np.testing.assert_allclose(mapped(layer, logits), expected, rtol=1e-5, atol=1e-5)


@every_kind
def test_layers_are_the_identity_and_after_fit_their_calibrator(kind, rng):
    make_layer, make_calibrator = KINDS[kind]
    labels, logits = network(rng)
    layer = make_layer()
    # Images are accepted too.
    images = logits.reshape(20, 20, 4)
    np.testing.assert_array_equal(layer(images), images)
    assert not layer.trainable_weights
    names = {"temperature": ("temperature",), "vector": ("scales", "biases")}
    before = [np.array(weight) for weight in layer.weights]
    rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for wrong, arguments in {
        "labels": (labels + 3, logits),
        "logits": (labels, rows),
        "Exactly one": (labels,),
    }.items():
        with pytest.raises(ValueError, match=wrong):
            layer.fit(*arguments)
    for options in (
        {"sample_weight": np.full(400, -1.0)},
        {"class_weight": {4: 1.0}},
        {"class_weight": {0: -1.0}},
        {"class_weight": {"cat": 1.0}},
        {"class_weight": [1.0] * 4},
    ):
        with pytest.raises(ValueError, match=f"`{next(iter(options))}` must be"):
            layer.fit(labels, logits, **options)
    for weight, kept in zip(layer.weights, before, strict=True):
        np.testing.assert_array_equal(np.array(weight), kept)

    weights = rng.integers(0, 3, 400)
    factors = np.array([2.0, 1.0, 0.5, 1.0])[labels]
    calibrator = make_calibrator().fit(
        labels, logits, sample_weight=weights * factors, ignore_index=3
    )
    assert layer is layer.fit(
        labels.reshape(20, 20),
        tf.constant(images),
        sample_weight=weights.reshape(20, 20),
        class_weight={0: 2.0, 2: 0.5},
        ignore_index=3,
    )
    for name in names.get(kind, ("matrix", "biases")):
        value, exact = getattr(layer, name), getattr(calibrator, name)
        np.testing.assert_allclose(value, exact, rtol=1e-5, atol=1e-6)
    assert_maps(layer, calibrator, logits)


@every_kind
def test_layers_of_the_logit_of_class_1(kind, rng):
    make_layer, make_calibrator = KINDS[kind]
    logits = 3 * rng.normal(size=[300, 1]).astype(np.float32)
    labels = rng.uniform(size=300) < 1 / (1 + np.exp(1 - logits[:, 0] / 2))
    calibrator = make_calibrator().fit(labels, logits)
    for shape in ([300], [300, 1], [20, 15], [20, 15, 1]):
        layer = make_layer().fit(labels.reshape(shape), logits.reshape([*shape, 1]))
        assert_maps(layer, calibrator, logits)
    if kind != "temperature":
        assert layer.biases.shape == (1,)
        with pytest.raises(ValueError, match="`logits` must have a last axis of 1"):
            layer.fit(*network(rng))


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize(
    ("kind", "jit_compile"),
    [("temperature", False), ("vector", False), ("matrix", False), ("odir", True)],
)
def test_layers_in_a_model_that_is_compiled_and_saved(kind, jit_compile, tmp_path, rng):
    make_layer, _ = KINDS[kind]
    labels, logits = network(rng)
    layer = make_layer(name="scaling")
    model = model_with(layer)
    model.compile(
        "sgd",
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=jit_compile,
    )
    before = model.evaluate(logits, labels, verbose=0)
    np.testing.assert_array_equal(model.predict(logits, verbose=0), logits)
    layer.fit(labels, logits)
    after = model.predict(logits, verbose=0)
    np.testing.assert_allclose(after, mapped(layer, logits), rtol=1e-5, atol=1e-5)
    assert model.evaluate(logits, labels, verbose=0) < before - 0.1
    if jit_compile:
        return
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(logits, verbose=0), after)
    assert loaded.layers[-1].get_config() == layer.get_config()
    model.save_weights(tmp_path / "model.weights.h5")
    fresh = model_with(make_layer(name="scaling"))
    fresh.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(fresh.predict(logits, verbose=0), after)


@pytest.mark.thorough
@every_kind
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_layers_in_other_precisions(kind, policy, rng):
    make_layer, make_calibrator = KINDS[kind]
    labels, logits = network(rng)
    layer = make_layer(dtype=policy)
    dtype = tf.as_dtype(layer.compute_dtype)
    narrow = tf.cast(logits, dtype)
    layer.fit(labels, narrow)
    assert {str(np.array(weight).dtype) for weight in layer.weights} == {"float32"}
    result = layer(narrow)
    assert result.dtype == dtype
    wide = np.asarray(tf.cast(narrow, tf.float64))
    exact = make_calibrator().fit(labels, wide).transform(wide)
    rtol = {"float64": 1e-5, "float16": 0.51 * 2.0**-10, "bfloat16": 0.51 * 2.0**-7}
    found = np.asarray(tf.cast(result, tf.float64))
    np.testing.assert_allclose(found, exact, rtol=rtol[dtype.name], atol=1e-5)


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("kind", ["temperature", "vector"])
def test_masked_positions_do_not_count(kind, rng):
    make_layer, make_calibrator = KINDS[kind]
    keras.utils.set_random_seed(1)
    inputs = keras.Input([None], dtype="int32")
    hidden = keras.layers.Embedding(9, 3, mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
    batches, kept = [], []
    for steps in (17, 11):
        x = rng.integers(0, 9, [16, steps])
        z = model.predict(x, verbose=0)
        noise = rng.gumbel(size=z.shape)
        # Masked positions have no label.
        y = np.where(x > 0, np.argmax(9 * z + noise, axis=-1), -1)
        w = rng.uniform(size=16)
        batches.append((x, y, w))
        each = np.broadcast_to(w[:, None], y.shape)
        kept.append([values[x > 0] for values in (y, z, each)])
    labels, logits, weights = map(np.concatenate, zip(*kept, strict=True))
    calibrator = make_calibrator().fit(labels, logits, sample_weight=weights)
    assert_maps(make_layer().fit(batches, model=model), calibrator, logits)

    x, y, w = batches[0]
    labels, logits, weights = kept[0]
    calibrator = make_calibrator().fit(labels, logits, sample_weight=weights)
    layer = make_layer().fit(y, model(x), sample_weight=w)
    assert_maps(layer, calibrator, logits)
    assert layer(model(x))._keras_mask is not None


class Batches(keras.utils.Sequence):
    def __init__(self, *arrays):
        super().__init__()
        self.arrays = arrays

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return tuple(array[150 * i : 150 * i + 150] for array in self.arrays)


def classifier(rng):
    """Returns a model, and features, labels and logits that it was not trained on."""
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3)])
    x = rng.normal(size=[400, 4]).astype(np.float32)
    z = model.predict(x, verbose=0)
    labels = np.argmax(z / 2 + rng.gumbel(size=z.shape), axis=1)
    return model, x, labels, z


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("kind", ["temperature", "matrix"])
def test_fit_to_a_dataset(kind, rng, tmp_path):
    make_layer, make_calibrator = KINDS[kind]
    model, x, labels, z = classifier(rng)
    weights = rng.uniform(size=400)
    dataset = tf.data.Dataset.from_tensor_slices((x, labels, weights)).batch(150)
    options = {"class_weight": {1: 3.0}}
    factors = np.where(labels == 1, 3.0, 1.0)
    plain = make_calibrator().fit(labels, z, sample_weight=factors)
    weighted = make_calibrator().fit(labels, z, sample_weight=factors * weights)
    layer = make_layer().fit(dataset, model=model, **options)
    assert_maps(layer, weighted, z)
    for data in (dataset.map(lambda x, y, w: (x, y)), Batches(x, labels[:, None])):
        assert_maps(layer.fit(data, model=model, **options), plain, z)
    # The model and the layer make one model.
    recalibrated = keras.Sequential([model, layer])
    expected = mapped(layer, z)
    found = recalibrated.predict(x, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    recalibrated.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), found)

    one_hot = np.eye(3)[labels]
    softmax = keras.Sequential([model, keras.layers.Softmax()])
    inputs = keras.Input([4])
    two = keras.Model(inputs, [model(inputs), inputs])
    for data, other, wrong in (
        (
            [(x, labels)],
            recalibrated,
            "`model` must be the model that makes the inputs",
        ),
        ([(x, labels)], layer, "without the layer. Received: .*which contains it"),
        ([(x, labels)], np.exp, "`model` must be a model or a layer of"),
        ([(x, labels)], two, "`model` must have one output"),
        ([(x, labels)], softmax, "`logits` must be logits"),
        ([(x, one_hot)], model, "np.argmax"),
        ([(x, labels + 1)], model, r"`labels` must be integers in \[0, 3\)"),
        (
            [x],
            model,
            r"`labels` must be an iterable of batches \(x, labels\).*ndarray of 400",
        ),
        ([], model, "`labels` must hold at least one batch"),
        (3, model, "`labels` must be an iterable of batches"),
        (dataset.repeat(), model, "`labels` must be a finite dataset"),
    ):
        with pytest.raises(ValueError, match=wrong):
            layer.fit(data, model=other)
    with pytest.raises(ValueError, match="`sample_weight` must be None with `model`"):
        layer.fit(dataset, model=model, sample_weight=weights)
    with pytest.raises(ValueError, match="Exactly one of `logits` and `model`"):
        layer.fit(labels, z, model=model)
    with pytest.raises(RuntimeError, match="needs eager execution"):
        tf.function(lambda: layer.fit(labels, z) and 0)()
    np.testing.assert_array_equal(mapped(layer, z), expected)


def test_conformal_sets_are_fitted_to_a_dataset(rng):
    model, x, labels, _ = classifier(rng)
    model = keras.Sequential([model, keras.layers.Softmax()])
    p = model.predict(x, verbose=0)
    dataset = tf.data.Dataset.from_tensor_slices((x, labels)).batch(150)
    layer = ConformalSetLayer("aps", 0.2)
    expected = layer.fit(labels, p).quantile
    layer.fit(labels[:50], p[:50])
    found = layer.fit(dataset, model=model).quantile
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(
        ValueError, match=r"`labels` must be an iterable of batches \(x, labels\) with"
    ):
        layer.fit([(x, labels, labels)], model=model)
    assert layer.quantile == found
    with pytest.raises(ValueError, match="`probabilities` must be"):
        layer.fit(labels == 1, p[:, 1])


@pytest.mark.parametrize("make", [VectorScalingLayer, MatrixScalingLayer])
def test_arguments_of_linear_layers_are_checked(make):
    for ridge in (-1, np.nan, "much"):
        with pytest.raises(ValueError, match="`ridge` must be finite and >= 0"):
            make(ridge=ridge)
    layer = make(ridge=2, name="scaling")
    with pytest.raises(ValueError, match="call `fit` first"):
        assert layer.biases is None
    with pytest.raises(ValueError, match="static number of classes"):
        layer.build((None, None))
    again = make.from_config(layer.get_config())
    assert again.ridge == 2
    assert again.name == "scaling"
    with pytest.raises(ValueError, match="`regularization` must be one of"):
        MatrixScalingLayer(regularization="lasso")
