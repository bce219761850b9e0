"""Every Keras metric through every sweep, in the Keras that is loaded."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

keras = tf.keras
pytestmark = pytest.mark.keras

CASES = [case[:3] for case in catalogue.metric_cases()]
IDS = [case[3] for case in catalogue.metric_cases()]
every_case = pytest.mark.parametrize(("row", "options", "case"), CASES, ids=IDS)
every_row = pytest.mark.parametrize(
    ("row", "options"),
    [(row, row.metric_cases[0][0]) for row in catalogue.METRICS],
    ids=[row.metric for row in catalogue.METRICS],
)


def make(row, options, **more):
    return getattr(um, row.metric)(**options, **more)


def expected(row, case, data, weighted=False):
    return getattr(um_np, row.name)(**data.arguments(weighted), **case)


def feed(metric, data, batches=3, weighted=False, update=None):
    for part in np.array_split(np.arange(len(data.labels)), batches):
        arguments = [data.labels[part], data.probabilities[part]]
        if weighted:
            arguments.append(data.weights[part])
        (update or metric.update_state)(*arguments)
    return float(metric.result())


@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_equal_the_function_on_the_whole(row, options, case, weighted, rng):
    data = catalogue.lattice(rng)
    value = expected(row, case, data, weighted)
    for batches in (1, 3, 7):
        metric = make(row, options)
        result = feed(metric, data, batches, weighted)
        np.testing.assert_allclose(result, value, atol=3e-7)
        assert float(metric.result()) == result  # Reading changes nothing.
    metric.reset_state()
    assert float(metric.result()) == 0
    np.testing.assert_allclose(feed(metric, data, 1, weighted), value, atol=3e-7)


@every_case
def test_weighted_and_unweighted_batches_mix(row, options, case, rng):
    data = catalogue.lattice(rng)
    metric = make(row, options)
    metric.update_state(data.labels[:20], data.probabilities[:20])
    metric.update_state(data.labels[20:], data.probabilities[20:], data.weights[20:])
    weights = np.where(np.arange(40) < 20, 1.0, data.weights)
    data = catalogue.Data(data.labels, data.probabilities, weights)
    np.testing.assert_allclose(
        float(metric.result()), expected(row, case, data, True), atol=3e-7
    )


@every_case
def test_weight_is_repetition(row, options, case, rng):
    data = catalogue.lattice(rng)
    weights = rng.integers(0, 4, len(data.labels))
    times = np.repeat(np.arange(len(weights)), weights)
    weighted, repeated = make(row, options), make(row, options)
    weighted.update_state(data.labels, data.probabilities, weights)
    repeated.update_state(data.labels[times], data.probabilities[times])
    np.testing.assert_allclose(
        float(weighted.result()), float(repeated.result()), atol=3e-7
    )


@every_case
@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_equals_eager(row, options, case, jit_compile, rng):
    data = catalogue.lattice(rng)
    metric = make(row, {"num_classes": 3, **options})

    @tf.function(jit_compile=jit_compile, reduce_retracing=True)
    def update(labels, probabilities, weights):
        metric.update_state(labels, probabilities, weights)

    def call(*arrays):
        update(*(tf.constant(array) for array in arrays))

    feed(metric, data, 2, True, call)
    result = tf.function(metric.result, jit_compile=jit_compile)()
    np.testing.assert_allclose(result, expected(row, case, data, True), atol=3e-7)


@every_row
def test_labels_as_keras_users_pass_them(row, options, rng):
    data = catalogue.lattice(rng)
    case = row.metric_cases[0][1]
    value = expected(row, case, data)
    for labels in (
        data.labels[:, None],
        data.labels.astype(np.float32),
        np.eye(3)[data.labels],
        np.eye(3, dtype=np.int64)[data.labels],
        0.9 * np.eye(3)[data.labels] + 0.1 / 3,  # Smoothed.
    ):
        metric = make(row, options)
        metric.update_state(labels, data.probabilities)
        np.testing.assert_allclose(float(metric.result()), value, atol=3e-7)


@every_row
def test_logits_ignored_labels_and_images(row, options, rng):
    logits = rng.normal(size=[2, 3, 4, 3]).astype(np.float32)
    labels = rng.integers(0, 3, [2, 3, 4])
    labels[0, 1] = 255
    case = row.metric_cases[0][1]
    metric = make(row, options, from_logits=True, ignore_index=255)
    metric.update_state(labels, logits, sample_weight=[1.0, 2.0])
    value = getattr(um_np, row.name)(
        labels,
        logits=logits,
        sample_weight=np.array([1.0, 2.0]),
        ignore_index=255,
        **case,
    )
    np.testing.assert_allclose(float(metric.result()), value, atol=1e-6)


@every_row
def test_masked_predictions_are_left_out(row, options, rng):
    data = catalogue.lattice(rng)
    shape = [8, 5]
    labels = tf.reshape(tf.constant(data.labels), shape)
    predictions = tf.reshape(tf.constant(data.probabilities), [*shape, 3])
    mask = rng.uniform(size=shape) < 0.7
    mask[0, 0] = True
    predictions._keras_mask = tf.constant(mask)
    metric = make(row, options)
    metric.update_state(labels, predictions)
    masked = catalogue.Data(
        data.labels, data.probabilities, mask.reshape(-1).astype(float)
    )
    value = expected(row, row.metric_cases[0][1], masked, True)
    np.testing.assert_allclose(float(metric.result()), value, atol=3e-7)


@every_row
def test_config_holds_the_arguments_of_the_constructor(row, options):
    metric = make(row, options, name="other", dtype="float64")
    config = metric.get_config()
    parameters = set(inspect.signature(type(metric).__init__).parameters)
    assert set(config) == parameters - {"self"}
    for key, value in options.items():
        assert config[key] == value
    again = type(metric).from_config(config)
    assert again.get_config() == config
    assert again.name == "other"
    assert again.result().dtype == tf.float64


@every_row
def test_merge_adds_the_states(row, options, rng):
    data = catalogue.lattice(rng)
    whole, first, second = (make(row, options, name=name) for name in "abc")
    feed(whole, data, 1, True)
    feed(first, catalogue.Data(*(part[:15] for part in vars(data).values())), 1, True)
    feed(second, catalogue.Data(*(part[15:] for part in vars(data).values())), 1, True)
    merged = make(row, options)
    merged.merge_state([first, second, make(row, options)])
    np.testing.assert_allclose(merged.result(), whole.result(), atol=3e-7)
    with pytest.raises(ValueError, match="merge"):
        merged.merge_state([make(row, {**options, "num_bins": 9})])


def model_and_data(rng, compile_options):
    features = rng.normal(size=[90, 4]).astype(np.float32)
    labels = rng.integers(0, 3, 90)
    inputs = keras.Input([4])
    outputs = keras.layers.Dense(3, activation="softmax")(inputs)
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "sparse_categorical_crossentropy", **compile_options)
    return model, features, labels


def check_evaluation(row, options, jit_compile, rng, path=None):
    model, features, labels = model_and_data(
        rng,
        {
            "metrics": [make(row, options, name="plain")],
            "weighted_metrics": [make(row, options, name="weighted")],
            "jit_compile": jit_compile,
        },
    )
    weights = rng.uniform(0.5, 2, 90)
    if path is not None:
        model.fit(features, labels, sample_weight=weights, batch_size=32, verbose=0)
        model.save(path)
        reloaded = keras.models.load_model(path)
        for ours, theirs in zip(model.weights, reloaded.weights, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        model = reloaded
    arguments = {"sample_weight": weights, "batch_size": 32, "verbose": 0}
    logs = model.evaluate(features, labels, return_dict=True, **arguments)
    metric = make(row, options)
    probabilities = model.predict(features, verbose=0)
    metric.update_state(labels, probabilities)
    np.testing.assert_allclose(logs["plain"], float(metric.result()), atol=1e-6)
    metric.reset_state()
    metric.update_state(labels, probabilities, weights)
    np.testing.assert_allclose(logs["weighted"], float(metric.result()), atol=1e-6)


@every_row
def test_in_compile_and_after_reload(row, options, rng, tmp_path):
    check_evaluation(row, options, False, rng, tmp_path / "model.keras")


@pytest.mark.parametrize(
    "name", ["ExpectedCalibrationError", "AdaptiveCalibrationError"]
)
def test_in_a_model_compiled_by_xla(name, rng):
    (row,) = (row for row in catalogue.METRICS if row.metric == name)
    check_evaluation(row, {}, True, rng)


@every_row
def test_two_replicas_give_the_value_of_one(row, options, rng):
    data = catalogue.lattice(rng, n=41)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert strategy.num_replicas_in_sync == 2
    with strategy.scope():
        metric = make(row, {"num_classes": 3, **options})
    dataset = tf.data.Dataset.from_tensor_slices(
        (data.labels, data.probabilities, data.weights)
    ).batch(12)

    @tf.function
    def step(batch):
        strategy.run(metric.update_state, args=batch)

    for batch in strategy.experimental_distribute_dataset(dataset):
        step(batch)
    value = expected(row, row.metric_cases[0][1], data, True)
    np.testing.assert_allclose(float(metric.result()), value, atol=3e-7)
    inside = strategy.run(tf.function(metric.result))
    for result in strategy.experimental_local_results(inside):
        np.testing.assert_allclose(result, value, atol=3e-7)
    metric.reset_state()
    assert float(metric.result()) == 0


@every_row
def test_mixed_precision_keeps_the_state(row, options, rng):
    data = catalogue.lattice(rng)
    metric = make(row, options, dtype="bfloat16")
    for part in (slice(None, 9), slice(9, None)):
        predictions = tf.cast(data.probabilities[part], tf.bfloat16)  # Exact.
        metric.update_state(data.labels[part], predictions)
    assert metric.result().dtype == tf.float32
    half = np.asarray(tf.cast(data.probabilities, tf.bfloat16))
    data = catalogue.Data(data.labels, half, data.weights)
    value = expected(row, row.metric_cases[0][1], data)
    np.testing.assert_allclose(float(metric.result()), value, atol=3e-7)


# In Keras's terms: the predictions are one argument, whatever they are.
SHAPES = ("rank", "lengths", "swapped", "empty", "weight shape", "ragged")
VALUES = tuple(
    bad
    for bad in catalogue.VALUES
    if bad
    not in (
        *("infinite logit", "predicted too large", "one-hot", "zero weights"),
        "swapped binary",
    )
)


def keras_arguments(bad):
    arguments, word = catalogue.bad_data(bad)
    word = word.replace("labels", "y_true").replace("probabilities", "y_pred")
    return (
        arguments["labels"],
        arguments["probabilities"],
        arguments.get("sample_weight"),
    ), word


@every_row
@pytest.mark.parametrize("bad", SHAPES + VALUES)
def test_bad_data_raises_and_keeps_the_state(row, options, bad, rng):
    data = catalogue.lattice(rng)
    metric, untouched = make(row, options), make(row, options)
    arguments, word = keras_arguments(bad)
    with pytest.raises(ValueError, match=word) as raised:
        untouched.update_state(*arguments)
    assert "Received" in str(raised.value)
    before = feed(metric, data)
    with pytest.raises(ValueError, match=word):
        metric.update_state(*arguments)
    assert float(metric.result()) == before
    assert feed(untouched, data) == before


def test_swapped_probabilities_of_one_class_raise():
    metric = um.ExpectedCalibrationError()
    (labels, predictions, _), word = keras_arguments("swapped binary")
    with pytest.raises(ValueError, match=word):
        metric.update_state(labels, predictions)


@every_row
def test_bad_one_hot_rows_raise(row, options):
    for rows in (
        [[1, 1, 0], [0, 1, 0]],
        [[0, 0, 0], [0, 1, 0]],
        [[2, -1, 0], [0, 1, 0]],
    ):
        with pytest.raises(ValueError, match="y_true"):
            make(row, options).update_state(rows, [[0.5, 0.2, 0.3]] * 2)


@every_row
def test_bad_values_in_a_graph_make_the_result_nan(row, options, rng):
    data = catalogue.lattice(rng)
    metric = make(row, {"num_classes": 3, **options})
    for bad in VALUES:
        (labels, predictions, weights), _ = keras_arguments(bad)
        tensors = [tf.constant(labels), tf.constant(predictions)]
        if weights is not None:
            tensors.append(tf.constant(weights))

        @tf.function
        def update(*batch):
            metric.update_state(*batch)

        update(*tensors)
        assert np.isnan(metric.result()), bad
        assert np.all(np.isnan(metric.counts)), bad
        feed(metric, data)
        assert np.isnan(metric.result()), bad
        metric.reset_state()
    case = row.metric_cases[0][1]
    np.testing.assert_allclose(feed(metric, data), expected(row, case, data), atol=3e-7)


@every_row
def test_nothing_to_count_counts_nothing(row, options, rng):
    data = catalogue.lattice(rng)
    metric = make(row, options)
    before = feed(metric, data)
    metric.update_state(data.labels, data.probabilities, np.zeros(len(data.labels)))
    assert float(metric.result()) == before

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.int64), tf.TensorSpec([None, 3])]
    )
    def update(labels, probabilities):
        metric.update_state(labels, probabilities)

    # A replica may get an empty shard of the last batch.
    update(np.zeros([0], np.int64), np.zeros([0, 3], np.float32))
    assert float(metric.result()) == before


@every_row
def test_bad_options_raise(row, options):
    for bad in (
        {"num_bins": 0},
        {"num_bins": 2.5},
        {"from_logits": 1},
        {"sparse_labels": "yes"},
        {"sketch_bits": 99},
        {"num_classes": -1},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            make(row, {**options, **bad})
