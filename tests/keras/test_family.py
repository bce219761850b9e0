"""Metrics and losses of one Keras family refuse the models of the other.

The other family would take them for plain functions, and average the values of batches.
"""

import importlib

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um

pytestmark = pytest.mark.keras

OURS, OTHER = ("keras", "tf_keras")
if not hasattr(tf.keras, "ops"):
    OURS, OTHER = OTHER, OURS


def other_model(**options):
    other = importlib.import_module(OTHER)
    model = other.Sequential(
        [other.layers.Input([3]), other.layers.Dense(3, activation="softmax")]
    )
    model.compile("sgd", **{"loss": "sparse_categorical_crossentropy", **options})
    return model


FEATURES = np.eye(3, dtype=np.float32)
LABELS = np.arange(3)


def use(model, how):
    return getattr(model, how)(FEATURES, LABELS, verbose=0)


@pytest.mark.parametrize(
    ("how", "run_eagerly"), [("fit", False), ("evaluate", False), ("fit", True)]
)
@pytest.mark.parametrize(
    "make",
    [
        lambda: {"metrics": [um.ExpectedCalibrationError()]},
        lambda: {"weighted_metrics": [um.BrierScore()]},
        lambda: {"metrics": [um.BrierDecomposition(num_classes=3)]},
        lambda: {"metrics": ["accuracy", um.AURC()]},
        lambda: {"loss": um.BrierLoss()},
        lambda: {"loss": um.BrierLoss(), "metrics": [um.BrierScore()]},
    ],
    ids=["metric", "weighted", "dict", "second", "loss", "both"],
)
def test_models_of_the_other_family_raise(make, how, run_eagerly):
    options = make()
    with pytest.raises(TypeError) as raised:
        use(other_model(run_eagerly=run_eagerly, **options), how)
    message = str(raised.value)
    for word in (f"`{OURS}`", f"`{OTHER}`", "TF_USE_LEGACY_KERAS", "Received"):
        assert word in message
    given = [*options.get("metrics", ()), *options.get("weighted_metrics", ())]
    names = [type(each).__name__ for each in (*given, options.get("loss"))]
    assert any(name in message for name in names)
    for metric in given:
        if metric != "accuracy":
            assert not np.any(metric.get_state().arrays["invalid"])
            assert not np.any(tf.nest.flatten(metric.result()))


def test_both_families_live_in_one_process():
    """A metric that is called or updated by hand works beside any model."""
    metric = um.ExpectedCalibrationError()
    loss = um.BrierLoss()
    model = other_model()
    use(model, "fit")
    predictions = model(FEATURES)
    metric.update_state(LABELS, predictions)
    assert float(metric(LABELS, predictions)) == pytest.approx(float(metric.result()))
    assert float(loss(LABELS, predictions)) == pytest.approx(
        float(um.brier_score(LABELS, probabilities=predictions))
    )
