"""Callbacks of Keras know in which direction metrics are better; NaN says why."""

import functools
import warnings

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import STREAMS, every_stream

keras = tf.keras
pytestmark = pytest.mark.keras
keras_3 = pytest.mark.skipif(
    not hasattr(keras, "ops"), reason="tf_keras guesses from the name alone"
)

# Names to monitor that come from a metric whose result is a dict, and this metric.
DICTS = {
    "val_resolution": um.BrierDecomposition,
    "reliability": um.BrierDecomposition,
    "val_brier_decomposition": um.BrierDecomposition,
    "val_ece": lambda: um.MetricCollection({"ece": um.ExpectedCalibrationError()}),
    "val_accuracy_worst": lambda: um.Accuracy(num_groups=2),
}
CALLBACKS = {
    "EarlyStopping": keras.callbacks.EarlyStopping,
    "ReduceLROnPlateau": keras.callbacks.ReduceLROnPlateau,
    "ModelCheckpoint": lambda monitor: keras.callbacks.ModelCheckpoint(
        "best.keras", monitor, save_best_only=True
    ),
}


MONITORED = {
    f"val_{row.metric}": row.better
    for row in catalogue.METRICS
    if row.metric != "BrierDecomposition"  # Its result is a dict.
}


@pytest.fixture(scope="module")
def model():
    """A model with every metric whose result is one number."""
    model = keras.Sequential([keras.Input([3]), keras.layers.Softmax()])
    names = sorted(STREAMS.keys() - {"BrierDecomposition"})
    metrics = [STREAMS[name].make(name=name) for name in names]
    model.compile(metrics=metrics)
    build_metrics(model)
    return model


def build_metrics(model):
    """Makes Keras take the metrics of `compile` into its list, as `fit` does."""
    for metrics in model.metrics:
        if hasattr(metrics, "build"):
            metrics.build(np.zeros([1], np.int32), np.zeros([1, 3], np.float32))


@keras_3
@pytest.mark.parametrize(("monitor", "better"), MONITORED.items(), ids=MONITORED)
def test_callbacks_find_the_direction(monitor, better, model):
    for make in CALLBACKS.values():
        callback = make(monitor)
        callback.set_model(model)
        if better == "neither":
            with pytest.raises(ValueError, match=r"Pass `mode='max'`"):
                callback._set_monitor_op()
        else:
            callback._set_monitor_op()
            assert callback.monitor_op(1, 0) == (better == "larger")


@keras_3
@pytest.mark.parametrize("callback", CALLBACKS)
@pytest.mark.parametrize(("monitor", "make"), DICTS.items(), ids=DICTS)
def test_callbacks_ask_for_a_mode_where_the_result_is_a_dict(monitor, make, callback):
    model = keras.Sequential([keras.Input([3]), keras.layers.Softmax()])
    model.compile(metrics=[make(), um.BrierScore()])
    build_metrics(model)
    found = CALLBACKS[callback](monitor)
    found.set_model(model)
    with pytest.raises(ValueError, match=r"`mode='max'`.*`mode='min'`") as raised:
        found._set_monitor_op()
    assert monitor in str(raised.value)


@pytest.mark.thorough
@keras_3
def test_fit_asks_for_a_mode_where_the_result_is_a_dict():
    dense = keras.layers.Dense(3, activation="softmax")
    model = keras.Sequential([keras.Input([3]), dense])
    model.compile("sgd", um.BrierLoss(), metrics=[um.BrierDecomposition()])
    data = np.eye(3, dtype=np.float32), np.arange(3)
    stop = keras.callbacks.EarlyStopping("val_resolution")
    with pytest.raises(ValueError, match=r"val_resolution.*`mode='max'`.*`mode='min'`"):
        model.fit(*data, validation_data=data, callbacks=[stop], verbose=0)


def test_fit_stops_and_saves(tmp_path):
    dense = keras.layers.Dense(3, activation="softmax")
    model = keras.Sequential([keras.Input([3]), dense])
    decomposition = um.BrierDecomposition(num_classes=3)
    model.compile("sgd", um.BrierLoss(), metrics=[um.BrierScore(), decomposition])
    data = np.eye(3, dtype=np.float32), np.arange(3)
    modes = {"val_brier_score": "auto", "val_resolution": "max", "reliability": "min"}
    paths = {monitor: str(tmp_path / f"{monitor}.keras") for monitor in modes}
    stops, callbacks = {}, []
    for monitor, mode in modes.items():
        stops[monitor] = keras.callbacks.EarlyStopping(monitor, mode=mode, patience=5)
        saves = keras.callbacks.ModelCheckpoint(
            paths[monitor], monitor, save_best_only=True, mode=mode
        )
        callbacks += [stops[monitor], saves]
    logs = model.fit(
        *data, epochs=2, validation_data=data, callbacks=callbacks, verbose=0
    ).history
    for monitor, mode in modes.items():
        best = max if mode == "max" else min
        assert stops[monitor].best == best(logs[monitor]), monitor
    for path in paths.values():
        keras.models.load_model(path)


# A batch that a compiled update refused.


def with_warnings(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = function()
    return value, [str(w.message) for w in caught if w.category is RuntimeWarning]


@functools.cache
def compiled(metric):
    @tf.function
    def update(*batch):
        metric.update_state(*batch)

    return update


def refuse(metric, *batches):
    for batch in batches:
        compiled(metric)(*map(tf.constant, batch))


@pytest.mark.first(4, "thorough")
@pytest.mark.tensors
@every_stream
def test_the_result_warns_why_it_is_nan(stream, rng):
    metric = stream.make()
    data = stream.data(rng)
    y_pred = np.array(data.predictions, np.float32)
    y_pred[0] = np.nan
    batch = data.labels, y_pred
    refuse(metric, batch, batch)
    result, (message,) = with_warnings(metric.result)
    assert np.all(np.isnan([float(part) for part in tf.nest.flatten(result)]))
    options = metric.get_config()
    for word, given in {
        "2 batches": True,
        f"{type(metric).__name__} {stream.make().name!r}": True,
        "from_logits=True": options.get("from_logits") is False,
        "labels out of range": "ignore_index" in options,
        "scale_transform": "scale_transform" in options,
        "NaN": True,
    }.items():
        assert (word in message) == given, word
    assert with_warnings(metric.result)[1] == []  # It warns once.
    refuse(metric, batch)
    assert "3 batches" in with_warnings(metric.result)[1][0]
    metric.reset_state()
    assert with_warnings(metric.result)[1] == []
    refuse(metric, batch)
    assert "1 batch." in with_warnings(metric.result)[1][0]  # Again in the next epoch.


def test_a_copied_state_warns_too():
    metric = um.StaticCalibrationError()
    state = metric.get_state()
    refuse(metric, ([0], np.float32([[3, -1, -1]])))
    unbuilt = um.StaticCalibrationError()
    unbuilt.set_state(type(state)(state.metric, state.config, {"invalid": np.array(2)}))
    for found, batches in ((metric, "1 batch"), (unbuilt, "2 batches")):
        result, (message,) = with_warnings(found.result)
        assert np.isnan(result)
        assert batches in message


@pytest.mark.thorough
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_every_epoch_warns(run_eagerly):
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(3)])
    metrics = [um.ExpectedCalibrationError(), um.BrierDecomposition(num_classes=3)]
    model.compile(
        "sgd", um.BrierLoss(from_logits=True), metrics=metrics, run_eagerly=run_eagerly
    )
    features, labels = 9 * np.eye(3, dtype=np.float32), np.arange(3)

    def fit():
        model.fit(features, labels, batch_size=1, epochs=2, verbose=0)

    def evaluate():
        model.evaluate(features, labels, batch_size=1, verbose=0)

    if run_eagerly:
        with pytest.raises(ValueError, match="y_pred"):
            fit()
        return
    for function, epochs in ((fit, 2), (evaluate, 1)):
        messages = with_warnings(function)[1]
        assert len(messages) == epochs * len(metrics)
        assert all("3 batches" in message for message in messages)


@pytest.mark.tensors
def test_a_metric_reads_a_model_as_its_loss_does(rng):
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    model.compile(
        loss=um.GaussianNLLLoss(),
        metrics=[
            um.regression.NegativeLogLikelihood(name="nll"),
            um.regression.IntervalCoverage(),
            um.CRPSNormal(),
        ],
    )
    data = rng.normal(size=[40, 3]), rng.normal(size=40)
    logs, messages = with_warnings(
        lambda: model.evaluate(*data, verbose=0, return_dict=True)
    )
    assert messages == []
    np.testing.assert_allclose(logs["nll"], logs["loss"], rtol=1e-5)
