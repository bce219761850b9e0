"""A saved model loads in a process that imports nothing but the package and Keras."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um

pytestmark = pytest.mark.keras

keras = tf.keras
FEATURES, LABELS = np.eye(3, dtype=np.float32), np.arange(3)
LOAD = """
import sys
import numpy as np
{imports}
model = load_model(sys.argv[1])
values = model.evaluate(np.eye(3, dtype=np.float32), np.arange(3), verbose=0)
print("loaded", type(model.loss).__name__, *values)
"""


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input([3]),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    metrics = [
        um.ExpectedCalibrationError(num_bins=7),
        um.BrierScore(),
        um.DebiasedCalibrationError(),
    ]
    model.compile("sgd", loss=um.BrierLoss(), metrics=metrics)
    model.fit(FEATURES, LABELS, verbose=0)
    return model


# Imports, in the orders that there are, and a format.
PROCESSES = {
    "first": (
        "import uncertainty_metrics\nimport tensorflow as tf\n"
        "load_model = tf.keras.models.load_model",
        "model.keras",
    ),
    "last": (
        "import tensorflow as tf\nimport uncertainty_metrics\n"
        "load_model = tf.keras.models.load_model",
        "model.h5",
    ),
    "keras": (
        "import uncertainty_metrics.numpy\nfrom {family}.models import load_model",
        # Keras 3 does not load a SavedModel.
        "model.keras" if hasattr(keras, "ops") else "saved_model",
    ),
}


@pytest.mark.parametrize(("imports", "name"), PROCESSES.values(), ids=PROCESSES)
def test_models_load_in_a_new_process(imports, name, model, tmp_path):
    path = str(tmp_path / name)
    model.save(path)
    family = "keras" if hasattr(keras, "ops") else "tf_keras"
    code = LOAD.format(imports=imports.format(family=family))
    run = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    expected = model.evaluate(FEATURES, LABELS, verbose=0)
    (line,) = (line for line in run.stdout.splitlines() if line.startswith("loaded"))
    _, loss_name, *values = line.split()
    assert loss_name == "BrierLoss"
    np.testing.assert_allclose(sorted(map(float, values)), sorted(expected), rtol=1e-5)


def test_one_class_makes_keras_know_all():
    code = """
import uncertainty_metrics as um
um.ExpectedCalibrationError()
import tensorflow as tf
for name in ("BrierLoss", "AURC", "TemperatureScalingLayer"):
    assert tf.keras.utils.get_registered_object(f"uncertainty_metrics>{name}"), name
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
