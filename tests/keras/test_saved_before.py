"""Files that version 0.1.0 wrote before the modules moved still load.

`tests/saved_before` has the files, the data that made them, and the expected values.
"""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.keras
import uncertainty_metrics.numpy as um_np

pytestmark = pytest.mark.keras

FILES = pathlib.Path(__file__).parents[1] / "saved_before"
VALUES = json.loads((FILES / "values.json").read_text())
DATA = np.load(FILES / "data.npz")
CALIBRATORS = [
    name for name in VALUES if name.endswith(("Scaling", "Calibration", "Binning"))
]
CALIBRATORS.remove("regression.TemperatureScaling")
METRICS = {
    "ExpectedCalibrationError": {},
    "AdaptiveCalibrationError": {"sketch_bits": 5},
    "AURC": {"sketch_bits": 6},
    "BrierScore": {},
    "BrierDecomposition": {},
    "RefinedNegativeLogLikelihood": {"from_logits": True},
    "BayesianExpectedCalibrationError": {"seed": 1},
}


def assert_close(value, expected):
    if isinstance(expected, dict):
        assert set(value) == set(expected)
        expected = [expected[name] for name in value]
        value = list(value.values())
    np.testing.assert_allclose(
        [np.asarray(part) for part in np.ravel(value)], np.ravel(expected), rtol=1e-6
    )


@pytest.mark.parametrize("name", CALIBRATORS)
def test_calibrators_load(name):
    calibrator = getattr(um_np, name).load(FILES / f"{name}.npz")
    ensemble = name == "EnsembleTemperatureScaling"
    logits = DATA["member_logits" if ensemble else "logits"]
    assert_close(calibrator.transform(logits=logits[:2]), VALUES[name])


def test_other_numpy_states_load():
    distances = um_np.Mahalanobis.load(FILES / "Mahalanobis.npz")
    assert_close(distances.score(DATA["logits"][:2]), VALUES["Mahalanobis"])
    sketch = um_np.ScoreSketch.load(FILES / "ScoreSketch.npz")
    for question, value in VALUES["ScoreSketch"].items():
        assert_close(getattr(sketch, question)(), value)
    name = "regression.TemperatureScaling"
    scaling = um_np.regression.TemperatureScaling.load(FILES / f"{name}.npz")
    assert_close(scaling.temperature, VALUES[name])


@pytest.mark.parametrize("name", METRICS)
def test_metric_states_load(name):
    state = um_np.MetricState.load(FILES / f"{name}.npz")
    metric = getattr(um, name)(**METRICS[name])
    metric.set_state(state)
    result = metric.result()
    if isinstance(result, dict):
        result = {key: float(value) for key, value in result.items()}
    assert_close(result, VALUES[name])


@pytest.mark.skipif(not hasattr(tf.keras, "ops"), reason="a file of Keras 3")
def test_models_load():
    model = tf.keras.models.load_model(FILES / "model.keras")
    logits = DATA["logits"].astype(np.float32)
    values = model.evaluate(logits, DATA["labels"], verbose=0, return_dict=True)
    assert_close(values, VALUES["model.keras"])
