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
# Keras 3 does not load a SavedModel.
FORMATS = ["m.keras", "m.h5"]
if not hasattr(keras, "ops"):
    FORMATS.append("saved_model")
LOAD = """
import sys
import numpy as np
{imports}
for path in sys.argv[1:]:
    model = load_model(path)
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
        um.AURC(),
        um.BrierScore(),
        um.DebiasedCalibrationError(),
    ]
    model.compile("sgd", loss=um.BrierLoss(), metrics=metrics)
    model.fit(FEATURES, LABELS, verbose=0)
    return model


@pytest.mark.parametrize(
    "imports",
    [
        "import uncertainty_metrics\nimport tensorflow as tf\n"
        "load_model = tf.keras.models.load_model",
        "import tensorflow as tf\nimport uncertainty_metrics\n"
        "load_model = tf.keras.models.load_model",
        "import uncertainty_metrics.numpy\nfrom {family}.models import load_model",
    ],
    ids=["first", "last", "keras"],
)
def test_models_load_in_a_new_process(model, tmp_path, imports):
    paths = [str(tmp_path / name) for name in FORMATS]
    for path in paths:
        model.save(path)
    family = "keras" if hasattr(keras, "ops") else "tf_keras"
    code = LOAD.format(imports=imports.format(family=family))
    run = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    expected = sorted(model.evaluate(FEATURES, LABELS, verbose=0))
    lines = [line.split() for line in run.stdout.splitlines()]
    loaded = [line[1:] for line in lines if line[:1] == ["loaded"]]
    assert len(loaded) == len(paths)
    for loss_name, *values in loaded:
        assert loss_name == "BrierLoss"
        np.testing.assert_allclose(sorted(map(float, values)), expected, rtol=1e-5)


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
