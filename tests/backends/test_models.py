"""Metrics, losses, layers and the callback in models on JAX and PyTorch."""

import functools
import importlib.util
import math
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue, makers, references
from tests.backends.conftest import BACKEND
from tests.backends.test_arguments import array, gradients, tensor
from tests.keras import losses
from tests.keras.streams import assert_close, first_alike, kind, make_for_graph, read

OTHERS = [
    name
    for name in ("tensorflow", "jax", "torch")
    if name != BACKEND and importlib.util.find_spec(name)
]


def shape(row):
    return row.outputs, row.activation


# Metrics of the same predictions share a model.
KINDS = [
    row
    for row, again in first_alike(catalogue.METRICS, kind)
    if not again and row.metric != "BayesianExpectedCalibrationError"
]
GROUPS = [
    [row for row in KINDS if shape(row) == each]
    for each in dict.fromkeys(map(shape, KINDS))
]
# JAX compiles all metrics of a model as one program, which takes minutes for many.
# test_metrics.py compiles each alone.
FEW = [rows[:: -(-len(rows) // 2)] if BACKEND == "jax" else rows for rows in GROUPS]
every_group = pytest.mark.parametrize(
    "rows",
    [
        *(pytest.param(rows, id=rows[0].metric) for rows in FEW),
        *(
            pytest.param(rows, id=f"{rows[0].metric}-all", marks=pytest.mark.exhaustive)
            for rows, few in zip(GROUPS, FEW, strict=True)
            if few != rows
        ),
    ],
)


def model_of(row, **options):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input([4]),
            keras.layers.Dense(math.prod(row.outputs)),
            keras.layers.Reshape(row.outputs),
            keras.layers.Activation(row.activation or "linear"),
        ]
    )
    model.compile("sgd", **options)
    return model


@keras.saving.register_keras_serializable("tests")
def no_loss(y_true, y_pred):
    return 0 * keras.ops.mean(y_pred, axis=tuple(range(1, len(y_pred.shape))))


def examples(row, rng):
    features = rng.normal(size=[64, 4]).astype(np.float32)
    return features, row.labels(rng, 64), rng.uniform(0.5, 2, 64).astype(np.float32)


@every_group
def test_fit_and_evaluate(rows, rng):
    made = [make_for_graph(row, row.metric_cases[0][0]) for row in rows]
    names = [metric.name for metric in made]
    again = make_for_graph(rows[0], rows[0].metric_cases[0][0], name="plain")
    model = model_of(rows[0], loss=no_loss, weighted_metrics=made, metrics=[again])
    assert model.jit_compile == (BACKEND == "jax")
    features, labels, weights = examples(rows[0], rng)
    batches = {"batch_size": 32, "verbose": 0}
    history = model.fit(features, labels, sample_weight=weights, **batches).history
    logs = model.evaluate(
        features, labels, sample_weight=weights, return_dict=True, **batches
    )
    predictions = model.predict(features, verbose=0)
    for row, name, metric in zip(rows, names, made, strict=True):
        found = metric.result()
        if isinstance(found, dict):
            parts = [float(part) for part in found.values()]
            logged = [logs[part] for part in found]
            np.testing.assert_allclose(logged, np.float32(parts), rtol=1e-6)
        else:
            parts = [found]
            # Nothing is trained: the loss has no gradient.
            logged = [logs[name], history[name][-1]]
            np.testing.assert_allclose(logged, float(found), rtol=1e-6)
        # test_metrics.py compares the values of eager batches with NumPy.
        alone = make_for_graph(row, row.metric_cases[0][0])
        alone.update_state(labels, predictions, weights)
        assert_close(row, np.array([float(x) for x in parts]), read(alone), atol=2e-6)
        if metric is made[0]:
            alone.reset_state()
            alone.update_state(labels, predictions)
            assert_close(row, logs["plain"], float(alone.result()), atol=2e-6)


def classifier(*metrics, loss="sparse_categorical_crossentropy", **options):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3, "softmax")])
    model.compile(keras.optimizers.SGD(0.5), loss, metrics=list(metrics), **options)
    return model


def separable(rng, n=64):
    features = rng.normal(size=[n, 4]).astype(np.float32)
    return features, np.argmax(features[:, :3], axis=1)


def test_callbacks_in_mode_auto_and_bad_batches(rng, tmp_path):
    features, labels = separable(rng)
    # Names from which Keras guesses no direction.
    names = [("up", um.Accuracy), ("down", um.BrierScore)]
    model = classifier(*(metric(name=name) for name, metric in names))
    stopping = [keras.callbacks.EarlyStopping(f"val_{name}") for name, _ in names]
    path = str(tmp_path / "best.keras")
    best = keras.callbacks.ModelCheckpoint(path, "val_down", save_best_only=True)
    data = {"validation_data": (features, labels), "batch_size": 32, "verbose": 0}
    model.fit(features, labels, callbacks=[*stopping, best], **data)
    ups = [bool(each.monitor_op(2.0, 1.0)) for each in (*stopping, best)]
    assert ups == [True, False, False]
    assert keras.models.load_model(path).metrics_names == model.metrics_names
    features[3] = np.nan
    if BACKEND == "jax":
        with pytest.warns(RuntimeWarning, match="1 batch"):
            logs = model.evaluate(features, labels, return_dict=True, verbose=0)
        assert np.isnan(logs["down"])
    else:  # PyTorch updates are eager.
        with pytest.raises(ValueError, match="y_pred"):
            model.evaluate(features, labels, verbose=0)


def test_epochs_have_the_results_of_all_batches(rng, tmp_path):
    """A collection shows earlier results in compiled steps, and only there."""

    def members():
        return {
            "ece": um.ExpectedCalibrationError(),
            "aurc": um.AURC(sketch_bits=3),
            "parts": um.BrierDecomposition(num_classes=3),
        }

    features, labels = separable(rng, 80)
    model = classifier(um.MetricCollection(members(), result_every=3), loss=no_loss)
    path = tmp_path / "model.keras"
    model.save(path)
    alone = um.MetricCollection(members())
    alone.update_state(labels, model.predict(features, verbose=0))
    expected = {name: float(part) for name, part in alone.result().items()}
    shown = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: shown.append(float(logs["aurc"]))
    )
    data = {"batch_size": 16, "verbose": 0}
    loaded = keras.models.load_model(path)
    history = loaded.fit(
        features,
        labels,
        epochs=2,
        shuffle=False,
        validation_data=(features, labels),
        callbacks=[callback],
        **data,
    ).history
    for each in (model, loaded):
        logs = each.evaluate(features, labels, return_dict=True, **data)
        for name, part in expected.items():
            found = [logs[name], *history[name], *history[f"val_{name}"]]
            np.testing.assert_allclose(found, part, rtol=0, atol=2e-6)
    first = shown[:5]
    if BACKEND == "jax":
        assert first == [first[0]] * 3 + [first[3]] * 2
    assert len(set(first)) == (2 if BACKEND == "jax" else 5)


def test_masks_of_a_model_reach_metrics(rng):
    inputs = keras.Input([5], dtype="int32")
    hidden = keras.layers.Embedding(7, 3, mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Activation("softmax")(hidden))
    brier = um.BrierScore(name="brier")
    model.compile("sgd", um.BrierLoss(), weighted_metrics=[brier])
    tokens = rng.integers(0, 7, [8, 5])
    labels = rng.integers(0, 3, [8, 5])
    logs = model.evaluate(tokens, labels, return_dict=True, verbose=0)
    kept = tokens > 0
    expected = um_np.brier_score(labels[kept], model.predict(tokens, verbose=0)[kept])
    np.testing.assert_allclose(logs["brier"], expected, rtol=2e-6)


@(losses.first_of_class if BACKEND == "jax" else losses.every_row)
def test_losses_equal_numpy(row, rng):
    y_true, y_pred = losses.data_of(row, rng, [8])
    tensors = map(keras.ops.convert_to_tensor, (y_true.astype(np.float32), y_pred))
    scores = row.scores(y_true, y_pred)
    if row.loss == "CRPSSampleLoss":
        scores = scores.reshape(8)
    found = keras.ops.convert_to_numpy(row.make(reduction="none")(*tensors))
    losses.close(found, scores, 5e-6)
    weights = rng.uniform(size=8).astype(np.float32)
    expected = np.mean(row.scores(y_true, y_pred, weights) * weights)
    losses.close(float(row.make()(y_true, y_pred, weights)), expected, 5e-6)
    with pytest.raises(ValueError, match="y_pred"):
        row.make()(y_true, np.float32([row.bad] * 8))
    for shape in ([0], [3], [8, 2]):
        with pytest.raises(ValueError, match="`sample_weight` must be broadcastable"):
            row.make()(y_true, y_pred, np.ones(shape, np.float32))


PENALIZED = [row for row in losses.CLASSES if not row.of.is_mean]


@pytest.mark.parametrize("row", PENALIZED, ids=lambda row: row.id)
def test_gradients_of_penalties_equal_finite_differences(row, rng):
    y, y_pred = rng.integers(0, 3, 6), 0.9 * rng.dirichlet([1, 1, 1], 6) + 0.1 / 3
    loss = row.make()
    expected = references.slopes(lambda x: np.mean(row.scores(y, x)), y_pred, step=1e-5)
    for gradient in gradients(lambda x: loss(y, x), tensor(np.float32(y_pred))):
        losses.close(array(gradient), expected, 2e-5)


@losses.every_class
def test_losses_train(row, rng):
    features = rng.normal(size=[64, 4]).astype(np.float32)
    keras.utils.set_random_seed(0)
    units = np.shape(row.bad)[0]
    last = keras.layers.Dense(units, "softmax" if row.classifies else None)
    model = keras.Sequential([keras.Input([4]), last])
    model.compile(keras.optimizers.Adam(0.1), row.make())
    labels = features[:, 0]
    if row.classifies:
        labels = np.int32(labels > 0)
    history = model.fit(features, labels, epochs=4, batch_size=32, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] - 0.05


def test_temperature_scaling_layer(rng, tmp_path):
    labels, logits = rng.integers(0, 3, 50), 5 * rng.normal(size=[50, 3])
    logits[np.arange(50), labels] += 2
    logits = logits.astype(np.float32)
    layer = um.TemperatureScalingLayer()
    model = keras.Sequential([keras.Input([3]), layer])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    layer.fit(labels, keras.ops.convert_to_tensor(logits))
    expected = um_np.TemperatureScaling().fit(labels, logits).temperature
    np.testing.assert_allclose(layer.temperature, expected, rtol=1e-4)
    scaled = model.predict(logits, verbose=0)
    np.testing.assert_allclose(scaled, logits / layer.temperature, rtol=1e-6)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.layers[-1].temperature == layer.temperature
    np.testing.assert_array_equal(again.predict(logits, verbose=0), scaled)
    with pytest.raises(ValueError, match="labels"):
        layer.fit(labels + 3, logits)


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_sets_hold_labels_whose_score_equals_the_quantile(score, rng):
    p, y = makers.tied_classes(rng, 400)
    layer = um.conformal.ConformalSetLayer(score).fit(y, p)
    known = um_np.conformal.ConformalClassifier(score).fit(y, p)
    model = keras.Sequential([keras.Input([100]), layer])
    model.compile(jit_compile=BACKEND == "jax")
    for quantile in (layer.quantile, known.quantile):
        layer._quantile.assign(quantile)
        for sets in (layer(tensor(p)), model.predict(p, verbose=0)):
            np.testing.assert_array_equal(array(sets) == 1, known.predict(p))


@pytest.mark.parametrize("name", ["VectorScaling", "MatrixScaling"])
def test_linear_layers_fitted_to_a_dataset(name, rng, tmp_path):
    tokens = rng.integers(0, 9, [40, 7])
    inputs = keras.Input([7], dtype="int32")
    hidden = keras.layers.Embedding(9, 3, mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
    logits = model.predict(tokens, verbose=0)
    labels = np.argmax(9 * logits + rng.gumbel(size=logits.shape), axis=-1)
    labels[tokens == 0] = -1
    calibrator = getattr(um_np, name)().fit(labels[tokens > 0], logits[tokens > 0])
    # Tensors of the backend and arrays; the last batch is smaller.
    tensors = [keras.ops.convert_to_tensor(array) for array in (tokens, labels)]
    of_backend = [[t[i : i + 16] for t in tensors] for i in range(0, 40, 16)]
    layer = getattr(um, f"{name}Layer")()
    recalibrated = keras.Sequential([keras.Input([7], dtype="int32"), model, layer])
    recalibrated.compile("sgd", "mse")
    before = recalibrated.predict(tokens, verbose=0)
    np.testing.assert_allclose(before, logits, rtol=1e-6, atol=1e-7)
    expected = calibrator.transform(logits)
    for data in (of_backend, [(tokens, labels)]):
        layer.fit(data, model=model)
        found = recalibrated.predict(tokens, verbose=0)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    recalibrated.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(tokens, verbose=0), found)
    narrow = type(layer)(dtype="mixed_float16").fit(labels, model(tokens))
    np.testing.assert_allclose(narrow.biases, layer.biases, rtol=1e-4, atol=1e-5)
    assert "float16" in str(narrow(logits).dtype)


def written(folder):
    """Returns what is in the file of a run: {tag: {step: array}}."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import (
        PyRecordReader_New,
    )
    from tensorboard.util.tensor_util import make_ndarray

    (path,) = folder.glob("events.out.tfevents.*")
    reader, found = PyRecordReader_New(str(path)), {}
    first = True
    while True:
        try:
            reader.GetNext()
        except Exception:  # The end of the file.
            return found
        event = Event.FromString(reader.record())
        if first:
            assert event.file_version == "brain.Event:2"
        first = False
        for value in event.summary.value:
            assert value.metadata.plugin_data.plugin_name in ("scalars", "images")
            array = make_ndarray(value.tensor)
            found.setdefault(value.tag, {})[event.step] = array


def test_reliability_diagrams(rng, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    pytest.importorskip("tensorboard")
    features, labels = separable(rng)
    model = classifier(um.ExpectedCalibrationError(name="ece"))
    callback = um.ReliabilityDiagramCallback(tmp_path, every=2)
    history = model.fit(
        features,
        labels,
        validation_data=(features, labels),
        epochs=2,
        batch_size=32,
        verbose=0,
        callbacks=[callback],
    ).history
    found = written(tmp_path / "validation")
    values = [float(found["calibration/ece"][step]) for step in (0, 1)]
    np.testing.assert_allclose(values, history["val_ece"], rtol=1e-6)
    predictions = model.predict(features, verbose=0)
    gap = np.mean(predictions.argmax(1) == labels) - np.mean(predictions.max(1))
    last = found["calibration/ece/accuracy_minus_confidence"][1]
    np.testing.assert_allclose(last, gap, atol=1e-6)
    assert list(found["calibration/ece/diagram"]) == [0]
    width, height, png = found["calibration/ece/diagram"][0]
    import io

    pixels = image.imread(io.BytesIO(png), format="png")
    assert pixels.shape == (int(height), int(width), 4)
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 20


def elsewhere(code, backend, **environment):
    """Runs code in a new process with the given backend."""
    paths = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    environment = {"KERAS_BACKEND": backend, "PYTHONPATH": paths, **environment}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **environment},
        check=True,
        timeout=300,
    )


SAVED = """
import sys
import keras, numpy as np
import uncertainty_metrics as um, uncertainty_metrics.keras
folder = FOLDER
data = np.load(f"{folder}/data.npz")
model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3),
                          um.TemperatureScalingLayer(2.0)])
metrics = [um.ExpectedCalibrationError(num_bins=5, from_logits=True, name="ece"),
           um.BrierScore(from_logits=True, name="brier")]
model.compile("sgd", um.BrierLoss(from_logits=True), metrics=metrics)
model.evaluate(data["features"], data["labels"], batch_size=16, verbose=0)
model.save(f"{folder}/model.keras")
for metric in metrics:
    metric.get_state().save(f"{folder}/{metric.name}.npz")
np.save(f"{folder}/logits.npy", model.predict(data["features"], verbose=0))
"""


@pytest.mark.skipif(not OTHERS, reason="no other backend is installed")
def test_models_and_states_of_another_backend_load(rng, tmp_path):
    features, labels = separable(rng, 48)
    np.savez(tmp_path / "data.npz", features=features, labels=labels)
    elsewhere(f"FOLDER = {str(tmp_path)!r}\n{SAVED}", OTHERS[0])
    model = keras.models.load_model(tmp_path / "model.keras")
    assert model.layers[-1].temperature == 2
    logits = model.predict(features, verbose=0)
    there = np.load(tmp_path / "logits.npy")
    np.testing.assert_allclose(logits, there, rtol=1e-5, atol=1e-6)
    logs = model.evaluate(features, labels, verbose=0, return_dict=True)
    for name, function in (
        ("ece", functools.partial(um_np.ece, num_bins=5)),
        ("brier", um_np.brier_score),
    ):
        expected = function(labels, logits=there)
        np.testing.assert_allclose(logs[name], expected, rtol=1e-5)
        state = um.MetricState.load(tmp_path / f"{name}.npz")
        metric = state.to_metric()
        np.testing.assert_allclose(float(metric.result()), expected, rtol=2e-6)
        # The same predictions give the same sums on this backend.
        again = type(metric).from_config(metric.get_config())
        for part in range(0, 48, 16):
            again.update_state(labels[part : part + 16], there[part : part + 16])
        arrays = again.get_state().arrays
        np.testing.assert_array_equal(arrays["units"][0], state.arrays["units"][0])
        for each in arrays:
            # The softmaxes of the backends differ in their last bits.
            unit = 2.0**9 if each == "units" and name == "ece" else 1.0
            np.testing.assert_allclose(
                arrays[each] / unit, state.arrays[each] / unit, rtol=1e-5, atol=2**22
            )


TWO_DEVICES = """
import keras, numpy as np
import uncertainty_metrics as um
import jax
assert len(jax.devices()) == 2
rng = np.random.default_rng(0)
features = rng.normal(size=[96, 4]).astype(np.float32)
labels = rng.integers(0, 3, 96)
weights = rng.uniform(.5, 2, 96).astype(np.float32)

def logs():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3, "softmax")])
    made = [um.AURC(sketch_bits=3), um.BrierScore()]
    model.compile("sgd", "sparse_categorical_crossentropy", weighted_metrics=made)
    data = dict(sample_weight=weights, batch_size=32, verbose=0)
    history = model.fit(features, labels, epochs=1, **data).history
    after = model.evaluate(features, labels, return_dict=True, **data)
    return [history[m.name][0] for m in made] + [after[m.name] for m in made]

one = logs()
keras.distribution.set_distribution(
    keras.distribution.DataParallel(devices=keras.distribution.list_devices()))
two = logs()
np.testing.assert_allclose(two, one, rtol=2e-6)
assert all(one)
"""


@pytest.mark.skipif(BACKEND != "jax", reason="keras.distribution needs JAX")
def test_two_devices_give_the_values_of_one():
    flags = "--xla_force_host_platform_device_count=2"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
    elsewhere(TWO_DEVICES, "jax", XLA_FLAGS=flags)
