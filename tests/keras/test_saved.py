"""A saved model loads in a process that imported `uncertainty_metrics.keras`."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.keras as um_keras

pytestmark = [pytest.mark.keras, pytest.mark.thorough]

keras = tf.keras
FEATURES, LABELS = np.eye(3, dtype=np.float32), np.arange(3)
# tf_keras imports the module that a `.keras` file names; Keras 3 loads no SavedModel.
NAMES = ("model.keras", "model.h5") if hasattr(keras, "ops") else ("saved", "model.h5")
LOAD = """
import sys
import numpy as np
import tensorflow as tf
import uncertainty_metrics

for path in sys.argv[1:]:
    try:
        tf.keras.models.load_model(path)
    except (TypeError, ValueError) as error:
        print("message", *str(error).split())

import uncertainty_metrics.keras

for path in sys.argv[1:]:
    model = tf.keras.models.load_model(path)
    values = model.evaluate(np.eye(3, dtype=np.float32), np.arange(3), verbose=0)
    print("loaded", type(model.loss).__name__, *values)
"""


def test_models_load_in_a_new_process(tmp_path):
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Input([3]), keras.layers.Dense(3, activation="softmax")]
    model = keras.Sequential(layers)
    metrics = [um.ExpectedCalibrationError(num_bins=7), um.BrierScore()]
    model.compile("sgd", loss=um.BrierLoss(), metrics=metrics)
    expected = model.evaluate(FEATURES, LABELS, verbose=0)
    paths = [str(tmp_path / name) for name in NAMES]
    for path in paths:
        model.save(path)
    run = subprocess.run(
        [sys.executable, "-c", LOAD, *paths], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    messages = [" ".join(line) for line in lines if line[:1] == ["message"]]
    assert len(messages) == len(paths)
    # The error says in which module the class is.
    assert "'uncertainty_metrics" in messages[0].replace('"', "'")
    loaded = [line for line in lines if line[:1] == ["loaded"]]
    assert len(loaded) == len(paths)
    for _, loss_name, *values in loaded:
        assert loss_name == "BrierLoss"
        values = sorted(map(float, values))
        np.testing.assert_allclose(values, sorted(expected), rtol=1e-5)


def test_all_modules_of_metrics_are_imported():
    folder = pathlib.Path(um.__file__).parent / "keras" / "metrics"
    assert {path.stem for path in folder.glob("[a-z]*.py")} <= set(um_keras.__all__)


def test_use_of_one_class_registers_all_classes():
    um.ExpectedCalibrationError()
    for name in ("BrierLoss", "AURC", "TemperatureScalingLayer"):
        assert keras.utils.get_registered_object(f"uncertainty_metrics>{name}"), name
