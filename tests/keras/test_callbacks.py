"""The callback writes values and diagrams of the metrics to TensorBoard."""

import importlib
import pathlib
import sys
import types

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.keras import callbacks
from uncertainty_metrics.visualization import reliability

CLASSES = 3


def written(folder, run="validation"):
    """Returns what is in the logs: {tag: {step: value}}."""
    found = {}
    for path in sorted((pathlib.Path(folder) / run).glob("events*")):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                array = tf.make_ndarray(value.tensor)
                assert event.step not in found.setdefault(value.tag, {})
                found[value.tag][event.step] = array
    return found


def images(array):
    """Returns the images of a summary, [images, height, width, 4]."""
    width, height, *pngs = array
    decoded = np.stack([tf.io.decode_png(png).numpy() for png in pngs])
    assert decoded.shape[1:] == (int(height), int(width), 4)
    return decoded


@pytest.fixture
def data(rng):
    features = rng.normal(size=[96, 4]).astype("float32")
    return features, rng.integers(0, CLASSES, 96)


@pytest.fixture
def undrawn(monkeypatch):
    """Draws diagrams of a few pixels, for tests that only count them."""
    pixels = np.zeros([2, 3, 4], np.uint8)
    monkeypatch.setattr(callbacks, "_diagram", lambda *arguments: pixels)


def new_model(*metrics, **options):
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential(
        [tf.keras.Input([4]), tf.keras.layers.Dense(CLASSES, "softmax")]
    )
    model.compile(
        "sgd", "sparse_categorical_crossentropy", metrics=list(metrics), **options
    )
    return model


def ece(name="ece", **options):
    return um.ExpectedCalibrationError(name=name, **options)


def fit(model, data, callback, **options):
    arguments = {"validation_data": data, "epochs": 3, "batch_size": 16, "verbose": 0}
    return model.fit(*data, callbacks=[callback], **{**arguments, **options}).history


def test_every_epoch_writes_its_validation(data, tmp_path):
    model = new_model(ece())
    history = fit(model, data, um.ReliabilityDiagramCallback(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["validation"]
    logs = written(tmp_path)
    assert sorted(logs) == [
        "calibration/ece",
        "calibration/ece/accuracy_minus_confidence",
        "calibration/ece/diagram",
    ]
    assert list(logs["calibration/ece"]) == [0, 1, 2]
    values = list(logs["calibration/ece"].values())
    np.testing.assert_array_equal(values, np.float32(history["val_ece"]))

    features, labels = data
    probabilities = model.predict(features, verbose=0)
    gap = np.mean(probabilities.argmax(1) == labels) - np.mean(probabilities.max(1))
    last = logs["calibration/ece/accuracy_minus_confidence"][2]
    np.testing.assert_allclose(last, gap, atol=1e-6)

    drawn = [images(value) for value in logs["calibration/ece/diagram"].values()]
    assert len(drawn) == 3
    assert all(len(image) == 1 for image in drawn)
    assert all(len(np.unique(image.reshape(-1, 4), axis=0)) > 20 for image in drawn)
    assert np.any(drawn[0] != drawn[2])


@pytest.mark.tensors
def test_diagram_shows_the_predictions(data, tmp_path, monkeypatch):
    curves = {}
    draw = reliability.draw_reliability

    def record(curve, *, title, ax):
        curves[title] = curve
        return draw(curve, title=title, ax=ax)

    monkeypatch.setattr(reliability, "draw_reliability", record)
    model = new_model(ece(), um.StaticCalibrationError(name="sce", num_bins=5))
    callback = um.ReliabilityDiagramCallback(tmp_path)
    model.evaluate(*data, callbacks=[callback], verbose=0)
    features, labels = data
    probabilities = model.predict(features, verbose=0)
    expected = {"ece": um_np.reliability_curve(labels, probabilities)}
    for k in range(CLASSES):
        expected[f"sce, class {k}"] = um_np.reliability_curve(
            labels == k, probabilities[:, k], num_bins=5, y_axis="frequency"
        )
    assert sorted(curves) == sorted(expected)
    for title, curve in curves.items():
        assert curve.y_axis == expected[title].y_axis
        np.testing.assert_array_equal(curve.counts, expected[title].counts)
        for part in ("confidences", "accuracies"):
            np.testing.assert_allclose(
                getattr(curve, part), getattr(expected[title], part), atol=1e-6
            )


@pytest.mark.thorough
@pytest.mark.tensors
@pytest.mark.usefixtures("undrawn")
def test_epochs_without_validation_write_training_values(data, tmp_path):
    model = new_model(ece(), steps_per_execution=3)
    none, some = tmp_path / "none", tmp_path / "some"
    callback = um.ReliabilityDiagramCallback(none)
    history = fit(model, data, callback, validation_data=None)
    assert [path.name for path in none.iterdir()] == ["train"]
    logs = written(none, "train")
    values = list(logs["calibration/ece"].values())
    np.testing.assert_array_equal(values, np.float32(history["ece"]))
    assert len(logs["calibration/ece/diagram"]) == 3
    callback = um.ReliabilityDiagramCallback(some)
    fit(model, data, callback, epochs=4, validation_freq=2)
    assert list(written(some, "train")["calibration/ece"]) == [0, 2]
    assert list(written(some)["calibration/ece"]) == [1, 3]


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_evaluate_alone_and_after_fit(data, tmp_path):
    callback = um.ReliabilityDiagramCallback(str(tmp_path), every=2, max_images=2)
    model = new_model(ece(), um.StaticCalibrationError(name="sce"))
    first = model.evaluate(*data, callbacks=[callback], return_dict=True, verbose=0)
    assert written(tmp_path)["calibration/ece"] == {0: np.float32(first["ece"])}
    fit(model, data, callback, initial_epoch=1)
    for _ in range(2):
        model.evaluate(*data, callbacks=[callback], verbose=0)
    logs = written(tmp_path)
    assert list(logs["calibration/sce"]) == [0, 1, 2, 3, 4]
    assert "calibration/sce/accuracy_minus_confidence" not in logs
    for name, number in (("ece", 1), ("sce", 2)):
        drawn = logs[f"calibration/{name}/diagram"]
        assert list(drawn) == [0, 2, 3, 4]
        assert all(len(images(value)) == number for value in drawn.values())


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_two_replicas_write_the_value_of_one(data, tmp_path, strategy):
    with strategy.scope():
        model = new_model(ece())
    callback = um.ReliabilityDiagramCallback(tmp_path)
    result = model.evaluate(*data, callbacks=[callback], return_dict=True, verbose=0)
    logs = written(tmp_path)
    assert logs["calibration/ece"] == {0: np.float32(result["ece"])}
    features, labels = data
    one = um_np.ece(labels, model.predict(features, verbose=0))
    np.testing.assert_allclose(result["ece"], one, atol=1e-6)
    assert len(logs["calibration/ece/diagram"]) == 1


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_metrics_of_several_outputs_have_the_names_of_keras(data, tmp_path):
    features, labels = data
    inputs = tf.keras.Input([4])
    outputs = {
        name: tf.keras.layers.Dense(CLASSES, "softmax", name=name)(inputs)
        for name in ("left", "right")
    }
    model = tf.keras.Model(inputs, outputs)
    model.compile(
        "sgd",
        dict.fromkeys(outputs, "sparse_categorical_crossentropy"),
        metrics={"left": [ece()], "right": [ece()]},
        weighted_metrics={"right": [um.MaximumCalibrationError(name="mce")]},
    )
    targets = (features, dict.fromkeys(outputs, labels))
    history = fit(model, targets, um.ReliabilityDiagramCallback(tmp_path), epochs=1)
    logs = written(tmp_path)
    names = ("left_ece", "right_ece", "right_mce")
    assert {tag.split("/")[1] for tag in logs} == set(names)
    for name in names:
        assert logs[f"calibration/{name}"][0] == np.float32(history[f"val_{name}"][0])
        assert len(logs[f"calibration/{name}/diagram"]) == 1


@pytest.mark.tensors
def test_metrics_of_equal_names_have_different_tags():
    model = types.SimpleNamespace(metrics=[ece(), ece(), tf.keras.metrics.Mean()])
    found = callbacks._calibration_metrics(model)
    assert list(found) == ["ece", "ece_1"]
    assert list(found.values()) == model.metrics[:2]


@pytest.mark.thorough
@pytest.mark.tensors
@pytest.mark.usefixtures("undrawn")
def test_quantiles_of_posteriors_and_parts_of_scores_are_written(data, tmp_path):
    posterior = um.BayesianExpectedCalibrationError(name="posterior", seed=1)
    parts = um.BrierDecomposition(num_classes=CLASSES, name="brier")
    model = new_model(posterior, parts)
    fit(model, data, um.ReliabilityDiagramCallback(tmp_path), epochs=1)
    logs = {
        tag.removeprefix("calibration/"): value
        for tag, value in written(tmp_path).items()
    }
    quantiles = posterior.quantiles([0.025, 0.5, 0.975]).numpy()
    names = [f"posterior/quantile_{level}" for level in ("0.025", "0.5", "0.975")]
    assert [logs[name][0] for name in names] == list(quantiles)
    assert quantiles[0] < logs["posterior"][0] < quantiles[2]
    assert "posterior/diagram" in logs
    expected = {f"brier/{name}": value for name, value in parts.result().items()}
    assert {tag for tag in logs if tag.startswith("brier")} == set(expected)
    assert all(logs[tag][0] == value for tag, value in expected.items())


@pytest.mark.thorough
@pytest.mark.tensors
def test_drawing_changes_no_state_and_no_setting_of_pyplot(data, tmp_path):
    metrics = [ece(), um.AdaptiveCalibrationError(num_classes=CLASSES)]
    model = new_model(*metrics)
    model.evaluate(*data, verbose=0)
    before = [metric.get_state() for metric in metrics]
    mine, settings = plt.figure(), dict(matplotlib.rcParams)
    callback = um.ReliabilityDiagramCallback(tmp_path)
    callback.set_model(model)
    callback.on_test_end()
    assert plt.get_fignums() == [mine.number]
    plt.close(mine)
    assert dict(matplotlib.rcParams) == settings
    for metric, state in zip(metrics, before, strict=True):
        after = metric.get_state()
        for name, array in state.arrays.items():
            np.testing.assert_array_equal(after.arrays[name], array)
    assert len(written(tmp_path)["calibration/ece/diagram"]) == 1


@pytest.mark.tensors
def test_metrics_without_classes_or_with_an_invalid_batch(data, tmp_path):
    unknown, invalid = um.StaticCalibrationError(name="unknown"), ece("invalid")
    # A compiled update cannot raise, so this metric becomes NaN.
    tf.function(lambda *batch: (invalid.update_state(*batch), batch[0])[1])(
        tf.constant([0, 7]), tf.constant([[0.5, 0.5], [0.2, 0.8]])
    )
    callback = um.ReliabilityDiagramCallback(tmp_path)
    callback.set_model(types.SimpleNamespace(metrics=[unknown, invalid]))
    callback.on_test_end()
    logs = written(tmp_path)
    assert logs["calibration/unknown"] == {0: 0.0}
    assert "calibration/unknown/diagram" not in logs
    assert np.isnan(logs["calibration/invalid"][0])
    assert len(images(logs["calibration/invalid/diagram"][0])) == 1


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("update_freq", "first"), [("epoch", True), (5, False)])
def test_works_beside_the_callback_of_keras(update_freq, first, data, tmp_path):
    board = tf.keras.callbacks.TensorBoard(tmp_path, update_freq=update_freq)
    ours = um.ReliabilityDiagramCallback(tmp_path, every=2)
    model = new_model(ece())
    history = model.fit(
        *data,
        validation_data=data,
        epochs=2,
        callbacks=[board, ours] if first else [ours, board],
        verbose=0,
    ).history
    logs = written(tmp_path)
    values = dict(enumerate(np.float32(history["val_ece"])))
    assert logs["calibration/ece"] == values
    assert list(logs["calibration/ece/diagram"]) == [0]
    if update_freq == "epoch":  # Otherwise Keras itself leaves some values out.
        assert logs["epoch_ece"] == values


def test_a_model_without_calibration_metrics_warns(data, tmp_path):
    callback = um.ReliabilityDiagramCallback(tmp_path)
    with pytest.warns(UserWarning, match="no calibration metric"):
        new_model("accuracy").evaluate(*data, callbacks=[callback], verbose=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tensors
@pytest.mark.parametrize("missing", ["tensorboard", "matplotlib"])
def test_missing_packages_name_their_extra(missing, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    module = importlib.reload(callbacks)
    extra = {"tensorboard": "tensorboard", "matplotlib": "plot"}[missing]
    with pytest.raises(ImportError, match=rf"needs {missing}.*`{extra}`"):
        module.ReliabilityDiagramCallback(tmp_path)


@pytest.mark.tensors
@pytest.mark.parametrize("option", ["every", "max_images"])
@pytest.mark.parametrize("value", [0, -1, 1.5, None, True])
def test_options_are_checked(option, value, tmp_path):
    with pytest.raises(ValueError, match=option):
        um.ReliabilityDiagramCallback(tmp_path, **{option: value})
