"""Models on two replicas give the numbers of one machine, metrics and losses alike."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.thorough]

# Of 21 examples the last batch has 5, which two replicas share as 3 and 2. Of 17 it has
# 1, and one replica gets none. Keras 3 wants equal shares of the first batch.
BATCH, UNEQUAL, EMPTY = 8, 21, 17


def classes(rng, n):
    logits = 2 * rng.normal(size=[n, 3])
    probabilities = np.exp(logits) / np.sum(np.exp(logits), axis=1, keepdims=True)
    return rng.integers(0, 3, n), probabilities


def members(rng, n):
    return rng.integers(0, 3, n), rng.dirichlet(np.ones(3), [n, 4])


def samples(rng, n):
    return rng.normal(size=n), rng.normal(size=[n, 5])


def scores(rng, n):
    labels = np.arange(n) % 2
    return labels, rng.normal(size=[n, 1]) + labels[:, None]


def means_and_variances(rng, n):
    return rng.normal(size=n), np.abs(rng.normal(size=[n, 2])) + 0.1


# For each group the function that makes data, and the metrics that read them.
GROUPS = {
    "classes": (
        classes,
        {
            "AdaptiveCalibrationError": {"num_classes": 3, "sketch_bits": 6},
            "BrierDecomposition": {"num_classes": 3},
            "AURC": {"sketch_bits": 6},
        },
    ),
    "few": (classes, {"ExpectedCalibrationError": {}}),
    "two": (classes, {"ExpectedCalibrationError": {}, "BrierScore": {}}),
    "posterior": (classes, {"BayesianExpectedCalibrationError": {}}),
    "samples": (samples, {"CRPSSamples": {}}),
    "scores": (scores, {"AUROC": {"sketch_bits": 6}}),
    "members": (members, {"EnsembleDisagreement": {}}),
    "regression": (means_and_variances, {"IntervalCoverage": {"level": 0.8}}),
}
# Only tf_keras runs "classes": under Keras 3 test_catalogue.py has these metrics.
every_group = pytest.mark.parametrize("group", list(GROUPS)[hasattr(keras, "ops") :])


def metrics_of(group):
    home = um.regression if group == "regression" else um
    options = GROUPS[group][1]
    return [getattr(home, name)(**options[name], name=name) for name in options]


def data_of(group, rng, n=UNEQUAL):
    labels, predictions = GROUPS[group][0](rng, n)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n).astype(np.float32)
    weights[::BATCH] = 1.0
    return predictions.astype(np.float32), labels.astype(np.float32), weights


def dataset(data, batch=BATCH):
    return tf.data.Dataset.from_tensor_slices(data).batch(batch)


def constant_loss(y_true, y_pred):
    del y_true
    return 0 * tf.reduce_mean(y_pred, axis=range(1, y_pred.shape.rank))


def identity(shape):
    """Returns a model that predicts its features, and has a weight to train."""
    inputs = keras.Input(shape)
    layer = keras.layers.Dense(shape[-1], use_bias=False, kernel_initializer="identity")
    return keras.Model(inputs, layer(inputs))


def compiled(group, data, metrics=None, **options):
    model = identity(data[0].shape[1:])
    model.compile(
        keras.optimizers.SGD(0.0),
        constant_loss,
        weighted_metrics=metrics or metrics_of(group),
        **options,
    )
    return model


def values(metrics):
    """Returns the numbers of the metrics by name, as the logs have them."""
    numbers = {}
    for metric in metrics:
        result = metric.result()
        numbers.update(result if isinstance(result, dict) else {metric.name: result})
    return {name: float(numbers[name]) for name in numbers}


def on_one_machine(group, data, batch=BATCH):
    """Returns the values of the metrics after each batch."""
    metrics = metrics_of(group)
    logs = []
    for start in range(0, len(data[0]), batch):
        predictions, labels, weights = (x[start : start + batch] for x in data)
        for metric in metrics:
            metric.update_state(labels, predictions, weights)
        logs.append(values(metrics))
    return logs


def assert_equal(logs, expected):
    for name, value in expected.items():
        assert float(logs[name]) == pytest.approx(value, rel=2e-6, abs=2e-7), name


class Logs(keras.callbacks.Callback):
    """Keeps the logs of Keras after each batch."""

    def __init__(self):
        super().__init__()
        self.train, self.test = [], []

    def on_train_batch_end(self, batch, logs=None):
        """Keeps the logs of a batch of `fit`."""
        self.train.append(dict(logs))

    def on_test_batch_end(self, batch, logs=None):
        """Keeps the logs of a batch of `evaluate`."""
        self.test.append(dict(logs))


def check(logs, expected):
    assert len(logs) == len(expected)
    for found, wanted in zip(logs, expected, strict=True):
        assert_equal(found, wanted)


@pytest.mark.first(1)
@every_group
def test_evaluate(group, strategy, rng):
    data = data_of(group, rng)
    features, labels, weights = data
    expected = on_one_machine(group, data)
    with strategy.scope():
        model = compiled(group, data)
    for _ in range(2):  # The second starts from 0.
        seen = Logs()
        logs = model.evaluate(
            features,
            labels,
            sample_weight=weights,
            batch_size=BATCH,
            verbose=0,
            return_dict=True,
            callbacks=[seen],
        )
        assert_equal(logs, expected[-1])
        check(seen.test, expected)


def test_fit_and_validate(strategy, rng):
    data, held_out = data_of("few", rng), data_of("few", rng, EMPTY)
    expected, validation = on_one_machine("few", data), on_one_machine("few", held_out)
    with strategy.scope():
        model = compiled("few", data)
    seen = Logs()
    history = model.fit(
        dataset(data),
        epochs=2,
        validation_data=dataset(held_out),
        verbose=0,
        callbacks=[seen],
    ).history
    check(seen.train, 2 * expected)
    check(seen.test, 2 * validation)
    for epoch in range(2):
        logs = {name: history[name][epoch] for name in history}
        assert_equal(logs, expected[-1])
        assert_equal(logs, {f"val_{k}": v for k, v in validation[-1].items()})


@pytest.mark.parametrize("how", ["steps_per_execution", "outside", "run_eagerly"])
@pytest.mark.first(2)
def test_other_ways_to_run_steps(how, strategy, rng):
    data = data_of("few", rng)
    expected = on_one_machine("few", data)
    metrics = metrics_of("few") if how == "outside" else None  # Outside the scope.
    options = {"steps_per_execution": {how: 2}, "run_eagerly": {how: True}}
    with strategy.scope():
        model = compiled("few", data, metrics, **options.get(how, {}))
    seen = Logs()
    logs = model.evaluate(dataset(data), verbose=0, return_dict=True, callbacks=[seen])
    assert_equal(logs, expected[-1])
    check(seen.test, expected[1:] if how == "steps_per_execution" else expected)


class Custom(keras.Model):
    """Logs its metric under another name, and reads it in the replica."""

    def train_step(self, data):
        """Scores a batch."""
        features, labels, weights = data
        self.score.update_state(labels, self(features), weights)
        return {"another": self.score.result()}

    test_step = train_step

    @property
    def metrics(self):
        """The metrics that Keras resets."""
        return [self.score]


def test_custom_steps_with_another_name(strategy, rng):
    data = data_of("few", rng)
    expected = [
        {"another": logs["ExpectedCalibrationError"]}
        for logs in on_one_machine("few", data)
    ]
    with strategy.scope():
        plain = identity([3])
        model = Custom(plain.inputs, plain.outputs)
        model.score = um.ExpectedCalibrationError()
        model.compile("sgd")
    seen = Logs()
    logs = model.evaluate(dataset(data), verbose=0, return_dict=True, callbacks=[seen])
    assert_equal(logs, expected[-1])
    check(seen.test, expected)
    history = model.fit(dataset(data), epochs=2, verbose=0, callbacks=[seen]).history
    check(seen.train, 2 * expected)
    assert history["another"] == pytest.approx([expected[-1]["another"]] * 2, rel=2e-6)


@pytest.fixture
def policy(request):
    before = keras.mixed_precision.global_policy()
    keras.mixed_precision.set_global_policy(request.param)
    yield request.param
    keras.mixed_precision.set_global_policy(before)


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("policy", "group"),
    [("mixed_float16", "few"), ("mixed_bfloat16", "samples")],
    indirect=["policy"],
)
def test_mixed_precision(group, policy, strategy, rng):
    """The value is that of rounded predictions; the state keeps full precision."""
    predictions, labels, weights = data_of(group, rng)
    half = np.asarray(tf.cast(predictions, policy.removeprefix("mixed_")))
    data = predictions, labels, weights
    if not hasattr(keras, "ops"):  # tf_keras rounds the labels as well.
        labels = np.asarray(tf.cast(labels, policy.removeprefix("mixed_")))
    expected = on_one_machine(group, (half, labels, weights))
    with strategy.scope():
        metrics = metrics_of(group)
        model = compiled(group, data, metrics)
    assert model.predict(predictions[:2], verbose=0).dtype == half.dtype
    logs = model.evaluate(dataset(data), verbose=0, return_dict=True)
    assert_equal(logs, expected[-1])
    for metric in metrics:
        assert metric.result().dtype == tf.float32
        types = {tf.as_dtype(variable.dtype) for variable in metric.variables}
        assert types <= {tf.int64, tf.float32}


def distributed_update(strategy, metrics, data):
    features, labels, weights = data
    batches = strategy.experimental_distribute_dataset(
        dataset((labels, features, weights))
    )

    def update(*batch):
        for metric in metrics:
            metric.update_state(*batch)

    # One trace serves shares of any size.
    @tf.function(input_signature=[batches.element_spec])
    def step(batch):
        strategy.run(update, args=batch)

    for batch in batches:
        step(batch)


def test_metrics_made_in_a_scope_merge(strategy, rng):
    whole = data_of("two", rng)
    parts = [tuple(each[part] for each in whole) for part in (slice(13), slice(13, 21))]
    expected = on_one_machine("two", whole)[-1]
    with strategy.scope():
        first, second, merged = (metrics_of("two") for _ in range(3))
    outside = metrics_of("two")
    distributed_update(strategy, first, parts[0])
    distributed_update(strategy, second, parts[1])
    for i, name in enumerate(expected):
        for target in (merged[i], outside[i]):
            target.merge_state([first[i], second[i]])
            assert float(target.result()) == pytest.approx(expected[name], rel=2e-6)
        with strategy.scope():
            first[i].merge_state([second[i]])  # Its replicas have examples.
        assert float(first[i].result()) == pytest.approx(expected[name], rel=2e-6)
    distributed_update(strategy, merged, whole)  # Merged metrics take updates.
    for metric in merged:
        value = expected[metric.name]
        assert float(metric.result()) == pytest.approx(value, rel=2e-6)


# Losses: a step on two replicas moves the weights as one machine does.

LOSSES = {
    "BrierLoss": ({"from_logits": True}, classes),
    "CRPSNormalLoss": ({}, means_and_variances),
    "CRPSSampleLoss": ({}, samples),
    "GaussianNLLLoss": ({}, means_and_variances),
    "PinballLoss": ({"quantiles": [0.1, 0.25, 0.5, 0.75, 0.9]}, samples),
    "IntervalLoss": ({"alpha": 0.2}, means_and_variances),
}


def loss_and_data(name, rng, n, **more):
    options, draw = LOSSES[name]
    labels, features = draw(rng, n)
    weights = rng.uniform(0.5, 2, n)
    data = tuple(np.float32(each) for each in (features, labels, weights))
    return getattr(um, name)(**options, **more), data


def fitted(strategy, loss, data, rate=0.5):
    """Returns the weights and the loss of `fit`; without a strategy on one machine."""
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = identity(data[0].shape[1:])
        model.compile(keras.optimizers.SGD(rate), loss)
    history = model.fit(dataset(data), verbose=0).history
    return model.get_weights()[0], history["loss"][0]


@pytest.mark.first(2)
@pytest.mark.parametrize("name", LOSSES)
def test_training_moves_the_weights_as_on_one_machine(name, strategy, rng):
    loss, data = loss_and_data(name, rng, 2 * BATCH)
    weights, value = fitted(strategy, loss, data)
    alone, value_alone = fitted(None, loss, data)
    assert not np.allclose(alone, np.eye(len(alone)), atol=1e-3)
    np.testing.assert_allclose(weights, alone, rtol=2e-6, atol=2e-6)
    assert value == pytest.approx(value_alone, rel=2e-6, abs=1e-7)


def test_unequal_shares_count_as_in_losses_of_keras(strategy, rng):
    """Keras averages over each replica; the Brier score is 3 times the MSE less 1."""
    _, (features, labels, weights) = loss_and_data("BrierLoss", rng, UNEQUAL)
    labels = np.eye(3, dtype=np.float32)[labels.astype(int)]
    data = features, labels, weights
    features -= np.log(np.sum(np.exp(features), axis=1, keepdims=True))

    def step(loss, rate):
        with strategy.scope():
            plain = identity([3])
            softmax = keras.layers.Activation("softmax", dtype="float32")
            model = keras.Model(plain.inputs, softmax(plain.outputs[0]))
            model.compile(keras.optimizers.SGD(rate), loss)
        model.fit(dataset(data), verbose=0)
        return model.get_weights()[0]

    ours = step(um.BrierLoss(), 0.25)
    np.testing.assert_allclose(ours, step("mse", 0.75), rtol=2e-6, atol=2e-6)


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("name", "reduction"), [*zip(LOSSES, 3 * ("none", "sum"), strict=True)]
)
def test_custom_loops_train_as_on_one_machine(name, reduction, strategy, rng):
    """Replicas add to the sum over the global batch, however they share it."""
    loss, data = loss_and_data(name, rng, EMPTY, reduction=reduction)

    def train(strategy):
        with strategy.scope():
            model = identity(data[0].shape[1:])
            optimizer = keras.optimizers.SGD(0.5)
            optimizer.build(model.trainable_variables)

        def step(features, labels, weights):
            with tf.GradientTape() as tape:
                losses = loss(labels, model(features), weights)
                total = tf.reduce_sum(losses) / BATCH
            variables = model.trainable_variables
            gradients = tape.gradient(total, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return total

        batches = strategy.experimental_distribute_dataset(dataset(data))

        @tf.function(input_signature=[batches.element_spec])
        def run(batch):
            losses = strategy.run(step, args=batch)
            return strategy.reduce("sum", losses, axis=None)

        values = [float(run(batch)) for batch in batches]
        return model.get_weights()[0], values

    weights, values = train(strategy)
    alone, values_alone = train(tf.distribute.get_strategy())
    assert np.all(np.isfinite(alone))
    np.testing.assert_allclose(weights, alone, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(values, values_alone, rtol=5e-6, atol=1e-6)
