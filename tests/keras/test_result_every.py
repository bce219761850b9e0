"""Steps may show earlier results of a collection; epochs show those of all batches."""

import math

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests.keras.streams import assert_close, make_for_graph, value
from tests.keras.test_catalogue import constant_loss, groups

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.thorough]

LABELS = np.array([0, 1, 1, 0])
BATCHES = [
    (LABELS, np.float32([[p, 1 - p], [0.2, 0.8], [0.4, 0.6], [1 - p, p]]))
    for p in (0.9, 0.7, 0.3, 0.6, 0.1)
]


def make(**options):
    members = {
        "ece": um.ExpectedCalibrationError(),
        "aurc": um.AURC(sketch_bits=3),
        "parts": um.BrierDecomposition(num_classes=2),
    }
    return um.MetricCollection(members, **options)


def of_batches(batches):
    """Returns the results of the metrics for these batches."""
    collection = make()
    for batch in batches:
        collection.update_state(*batch)
    return value(collection.result())


def fitted(collection, inputs, labels, jit_compile=False, model=keras.Sequential):
    """Fits a model of which nothing is learned.

    Returns:
      the model, its history, and the logs of each step of the first epoch.
    """
    outputs = inputs.shape[1:]
    size = math.prod(outputs)
    fixed = model(
        [
            keras.Input(outputs),
            keras.layers.Reshape([size]),
            keras.layers.Dense(size, use_bias=False, kernel_initializer="identity"),
            keras.layers.Reshape(outputs),
        ]
    )
    fixed.compile("sgd", constant_loss, metrics=[collection], jit_compile=jit_compile)
    shown = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: shown.append(dict(logs))
    )
    history = fixed.fit(
        inputs,
        labels,
        batch_size=12,
        epochs=2,
        shuffle=False,
        verbose=0,
        validation_data=(inputs[:60], labels[:60]),
        callbacks=[callback],
    ).history
    return fixed, history, shown[: math.ceil(len(inputs) / 12)]


def check_epochs(rows, jit_compile, rng):
    """Checks that epochs have the results of all batches, and steps those of every
    third batch.
    """
    made = {
        f"m{i}_": make_for_graph(r, r.metric_cases[0][0]) for i, r in enumerate(rows)
    }
    data = rows[0].lattice(rng, n=96)
    inputs = np.float32(data.predictions)
    collection = um.MetricCollection(made, result_every=3)
    model, history, shown = fitted(collection, inputs, data.labels, jit_compile)
    tested = model.evaluate(
        inputs, data.labels, batch_size=12, verbose=0, return_dict=True
    )
    changes = []
    for i, row in enumerate(rows):
        for prefix, n in (("", 96), ("val_", 60)):
            alone = make_for_graph(row, row.metric_cases[0][0])
            alone.update_state(data.labels[:n], inputs[:n])
            result = value(alone.result())
            names = [name for name in tested if name.startswith(f"m{i}_")]
            for epoch in range(2):
                found = [history[prefix + name][epoch] for name in names]
                assert_close(row, np.sort(found), np.sort(result), atol=1e-6)
        assert_close(
            row,
            np.sort([tested[name] for name in names]),
            np.sort(value(collection.metrics[f"m{i}_"].result())),
            atol=1e-6,
        )
        for name in names:
            steps = np.array([float(logs[name]) for logs in shown])
            np.testing.assert_array_equal(steps, np.repeat(steps[::3], 3)[:8])
            changes.append(len(set(steps)) > 1)
    assert any(changes)


@groups(of_all=id)
@pytest.mark.first(1)
def test_epochs_have_the_results_of_all_batches(rows, rng):
    check_epochs(rows, False, rng)


@pytest.mark.parametrize("jit_compile", [True])
@groups(of_all=id)
@pytest.mark.first(1)
def test_epochs_of_models_compiled_by_xla(rows, jit_compile, rng):
    check_epochs(rows[:1], jit_compile, rng)


def test_a_step_of_your_own_with_other_keys_has_the_last_results(rng):
    """So the default is 1: Keras takes the logs of the last step as they are."""

    class Own(keras.Sequential):
        def train_step(self, data):
            return {**super().train_step(data), "rate": 0.1}

    inputs = np.float32(rng.dirichlet([1, 1], 60))
    labels = rng.integers(0, 2, 60)
    expected = of_batches([(labels, inputs)])[0]
    _, history, _ = fitted(make(), inputs, labels, model=Own)
    np.testing.assert_allclose(history["ece"], expected, atol=1e-6)
    _, history, _ = fitted(make(result_every=3), inputs, labels, model=Own)
    after_four = of_batches([(labels[:48], inputs[:48])])[0]
    assert abs(after_four - expected) > 1e-3
    np.testing.assert_allclose(history["ece"][0], after_four, atol=1e-6)


def step_of(collection):
    @tf.function
    def step(*batch):
        collection.update_state(*batch)
        return collection.result()

    def call(batch):
        result = step(*map(tf.constant, batch))
        return value({name: result[name] for name in collection.result()})

    return call


@pytest.mark.tensors
def test_results_are_computed_again_after_any_other_change():
    collection = make(result_every=3)
    step = step_of(collection)
    first = of_batches(BATCHES[:1])
    np.testing.assert_allclose(step(BATCHES[0]), first, atol=1e-6)
    np.testing.assert_allclose(step(BATCHES[1]), first, atol=1e-6)
    two = of_batches(BATCHES[:2])
    np.testing.assert_allclose(value(collection.result()), two, atol=1e-6)
    collection.update_state(*BATCHES[2])  # An eager update.
    np.testing.assert_allclose(step(BATCHES[3]), of_batches(BATCHES[:4]), atol=1e-6)
    collection.set_state(collection.get_state())
    np.testing.assert_allclose(step(BATCHES[4]), of_batches(BATCHES), atol=1e-6)
    collection.reset_state()
    np.testing.assert_allclose(step(BATCHES[1]), of_batches(BATCHES[1:2]), atol=1e-6)


@pytest.mark.tensors
def test_groups_have_a_result_each():
    collection = um.MetricCollection(
        [um.BrierScore(num_groups=2), um.Accuracy()], result_every=2
    )

    @tf.function
    def step(labels, predictions):
        batch = {"labels": labels, "groups": tf.constant([0, 1, 0, 1])}
        collection.update_state(batch, predictions)
        return collection.result()

    for batch in BATCHES[:3]:
        result = step(*map(tf.constant, batch))
    expected = collection.result()
    assert set(result) == set(expected)
    for name, part in expected.items():
        np.testing.assert_allclose(result[name], part, atol=1e-6)


def test_replicas_compute_all_results(strategy):
    with strategy.scope():
        collection = make(result_every=3)

    @tf.function
    def step(labels, predictions):
        def run():
            collection.update_state(labels, predictions)
            return collection.result()["ece"]

        return strategy.run(run)

    for n, batch in enumerate(BATCHES, 1):
        found = strategy.experimental_local_results(step(*map(tf.constant, batch)))
        expected = of_batches(BATCHES[:n])[0]  # Twice the examples: the same value.
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_option_is_saved_and_checked():
    collection = make(result_every=3)
    assert len(collection.variables) == len(make().variables) + 2
    again = um.MetricCollection.from_config(collection.get_config())
    assert again.result_every == 3
    config = collection.get_config()
    del config["result_every"]  # As in models that an earlier version saved.
    assert um.MetricCollection.from_config(config).result_every == 1
    for wrong in (0, -1, 2.5, True):
        with pytest.raises((TypeError, ValueError), match="`result_every`"):
            make(result_every=wrong)
