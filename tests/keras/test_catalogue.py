"""Every Keras metric through every sweep, in the Keras that is loaded."""

import dataclasses
import functools
import inspect
import itertools
import math

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import (
    assert_close,
    every_classifier,
    every_kind,
    every_reader,
    every_row,
    feed,
    first_alike,
    holder,
    in_order,
    kernel,
    kind,
    make_for_graph,
    parts,
    read,
    reader,
    value,
)

keras = tf.keras
pytestmark = pytest.mark.keras

every_case = pytest.mark.parametrize(
    ("row", "options", "case"),
    [
        pytest.param(*case, id=f"{row.metric}-{row.name}-{i}")
        for row in catalogue.METRICS
        for i, case in enumerate((row, *each) for each in row.metric_cases)
    ],
)


def first_cases(alike, rows=catalogue.METRICS):
    """Parametrizes a test over all cases; the default run has the first of each key."""
    params = [
        pytest.param(
            *(row, *case),
            id=f"{row.metric}-{row.name}-{i}",
            marks=marks if i == 0 else pytest.mark.exhaustive,
        )
        for row, marks in first_alike(rows, alike)
        for i, case in enumerate(row.metric_cases)
    ]
    return pytest.mark.parametrize(("row", "options", "case"), params)


@pytest.mark.tensors
@every_case
def test_batches_equal_the_function_of_all_data(row, options, case, rng):
    data = row.lattice(rng)
    result = feed(row.made(options), data, 4, weighted=True)
    assert_close(row, result, row.expected(case, data, True))


@pytest.mark.tensors
@every_row
def test_the_docs_say_what_a_metric_without_examples_returns(row, options, rng):
    metric = row.made(options)
    words = " ".join(type(metric).result.__doc__.split())
    assert "0.0 before the first example that counts" in words
    assert not np.any(read(metric))
    data = row.lattice(rng, 6)
    metric.update_state(data.labels, data.predictions, np.zeros(6))
    assert not np.any(read(metric))


@pytest.mark.thorough
@pytest.mark.tensors
@every_kind
def test_batches_of_any_size_and_weights_of_any_kind(row, options, rng):
    data = row.lattice(rng)
    case = row.metric_cases[0][1]
    for weighted, batches in itertools.product((True, False), (1, 7)):
        metric = row.made(options)
        expected = row.expected(case, data, weighted)
        result = feed(metric, data, batches, weighted)
        assert_close(row, result, expected)
        np.testing.assert_array_equal(read(metric), result)  # Reading changes nothing.
    metric.update_state(data.labels, data.predictions, np.zeros(len(data.labels)))
    np.testing.assert_array_equal(read(metric), result)
    metric.reset_state()
    assert not np.any(read(metric))
    assert_close(row, feed(metric, data, 1, weighted), expected)

    # Batches with and without weights may alternate.
    metric.reset_state()
    metric.update_state(data.labels[:20], data.predictions[:20])
    metric.update_state(data.labels[20:], data.predictions[20:], data.weights[20:])
    weights = np.where(np.arange(40) < 20, 1.0, data.weights)
    mixed = dataclasses.replace(data, weights=weights)
    assert_close(row, read(metric), row.expected(case, mixed, True))

    # A weight of n counts as n copies of the example.
    weights = rng.integers(0, 4, len(data.labels))
    times = np.repeat(np.arange(len(weights)), weights)
    weighted, repeated = row.made(options), row.made(options)
    weighted.update_state(data.labels, data.predictions, weights)
    repeated.update_state(data.labels[times], data.predictions[times])
    assert_close(row, read(weighted), read(repeated))

    # Examples of weight 0 may hold anything.
    dropped = data.weights == 0
    labels = np.where(dropped, -7, data.labels)
    predictions = data.predictions.copy()
    predictions[dropped] = np.nan
    metric = row.made(options)
    metric.update_state(labels, predictions, data.weights)
    assert_close(row, read(metric), row.expected(case, data, True))


@pytest.mark.thorough
@pytest.mark.tensors
@first_cases(
    # XLA draws other numbers.
    *(reader, [row for row in catalogue.METRICS if not row.random])
)
def test_compiled_by_xla(row, options, case, rng):
    data = row.lattice(rng)
    metric = make_for_graph(row, options)

    @tf.function(jit_compile=True)
    def step(*batch):
        metric.update_state(*batch)
        return metric.result()

    for batch in parts(data, 2):
        result = step(*map(tf.constant, batch))
    if isinstance(result, dict):  # A graph sorts the keys.
        result = {name: result[name] for name in metric.result()}
    assert_close(row, value(result), row.expected(case, data, True))


@pytest.mark.thorough
@pytest.mark.tensors
@first_cases(kind)
def test_in_a_graph(row, options, case, rng):
    """One trace takes batches of any size; bad batches make the result NaN."""
    data = row.lattice(rng)
    expected = row.expected(case, data, True)
    metric = make_for_graph(row, options)

    @functools.cache
    def compiled(label_dtype):
        specs = [
            tf.TensorSpec([None], label_dtype),
            tf.TensorSpec([None, *row.outputs]),
            tf.TensorSpec([None]),
        ]
        return tf.function(lambda *batch: metric.update_state(*batch), specs)

    def update(labels, predictions, weights=None):
        weights = np.ones(len(labels)) if weights is None else weights
        whole = np.issubdtype(labels.dtype, np.integer)
        labels = labels.astype(np.int64 if whole else np.float32)
        compiled(labels.dtype)(labels, np.float32(predictions), np.float32(weights))

    result = feed(metric, data, 3, True, update)
    assert_close(row, result, expected)
    inside = tf.function(metric.result)()
    if isinstance(inside, dict):  # A graph sorts the keys.
        inside = {name: inside[name] for name in metric.result()}
    assert_close(row, value(inside), expected)
    # Batches without examples: a replica may get an empty share of the last batch.
    update(data.labels[:0], data.predictions[:0])
    update(data.labels, data.predictions, np.zeros(len(data.labels)))
    np.testing.assert_array_equal(read(metric), result)
    for bad in row.metric_values():
        metric.reset_state()
        update(*row.bad_keras_data(bad)[0])
        with pytest.warns(RuntimeWarning, match="1 batch"):
            assert np.all(np.isnan(read(metric))), bad
        if hasattr(metric, "counts"):
            assert np.all(np.isnan(metric.counts)), bad
        assert np.all(np.isnan(feed(metric, data, 3, True, update))), bad
    metric.reset_state()
    np.testing.assert_array_equal(feed(metric, data, 3, True, update), result)


@pytest.mark.thorough
@pytest.mark.tensors
@every_reader
def test_batch_size_may_be_static_in_some_arguments_only(row, options, rng):
    data = row.lattice(rng, n=6)
    arrays = [data.labels, data.predictions.astype(np.float32), data.weights]
    expected = row.expected(row.metric_cases[0][1], data, weighted=True)
    metric = make_for_graph(row, options)
    for dynamic in ((0,), (1,)):
        signature = [
            tf.TensorSpec([None if i in dynamic else 6, *array.shape[1:]], array.dtype)
            for i, array in enumerate(arrays)
        ]
        metric.reset_state()
        tf.function(metric.update_state, input_signature=signature)(*arrays)
        assert_close(row, read(metric), expected)

    @tf.function
    def update_by_none():
        none = (data.labels[:0], data.predictions[:0])
        metric.update_state(*map(tf.constant, none))

    update_by_none()
    assert_close(row, read(metric), expected)


@every_classifier
def test_labels_as_keras_users_pass_them(row, options, rng):
    data = row.lattice(rng)
    case = row.metric_cases[0][1]
    expected = row.expected(case, data)
    one_hot = np.eye(3)[data.labels]
    smoothed = expected
    if not row.jumps:  # Metrics that jump take the class of the largest share.
        # The mean of the scores of all labels, weighted by their shares.
        every_label = catalogue.Data(
            np.concatenate([data.labels, np.repeat([0, 1, 2], 40)]),
            np.tile(data.predictions, [4, 1]),
            np.repeat([0.85, 0.05, 0.05, 0.05], 40),
        )
        smoothed = row.expected(case, every_label, True)
    for labels, desired in (
        (data.labels[:, None], expected),
        (data.labels.astype(np.float32), expected),
        (one_hot, expected),
        (one_hot.astype(np.int64), expected),
        (0.85 * one_hot + 0.05, smoothed),
    ):
        metric = row.made(options)
        metric.update_state(labels, data.predictions)
        assert_close(row, read(metric), desired)
    for bad in ([1, 1, 0], [0, 0, 0], [2, -1, 0]):
        with pytest.raises(ValueError, match="y_true"):
            metric.update_state([bad, [0, 1, 0]], [[0.5, 0.2, 0.3]] * 2)


@pytest.mark.tensors
@every_reader
def test_labels_with_a_last_axis_of_one_and_images(row, options, rng):
    data = row.lattice(rng)
    expected = row.expected(row.metric_cases[0][1], data)
    images = data.predictions.reshape(2, 4, 5, *row.outputs)
    for labels, predictions in (
        (data.labels[:, None], data.predictions),
        (data.labels.reshape(2, 4, 5), images),
        (data.labels.reshape(2, 4, 5, 1), images),
    ):
        metric = row.made(options)
        metric.update_state(labels, predictions)
        assert_close(row, read(metric), expected)


@pytest.mark.tensors
@every_classifier
def test_logits_ignored_labels_and_images(row, options, rng):
    logits = row.logits(rng, [2, 3, 4])
    labels = rng.integers(0, 3, [2, 3, 4])
    labels[0, 1] = 255
    case = row.metric_cases[0][1]
    if not row.sketched:  # Few cells would join these logits.
        options = {k: v for k, v in options.items() if k != "sketch_bits"}
    metric = row.made(options, from_logits=True, ignore_index=255)
    metric.update_state(labels, logits, sample_weight=[1.0, 2.0])
    expected = row.expected_of(
        case,
        labels=labels,
        logits=logits,
        sample_weight=np.array([1.0, 2.0], np.float32),
        ignore_index=255,
    )
    assert_close(row, read(metric), expected, atol=1e-6)


@every_reader
def test_masked_predictions_are_left_out(row, options, rng):
    data = row.lattice(rng)
    shape = [8, 5]
    labels = tf.reshape(tf.constant(data.labels), shape)
    predictions = tf.reshape(tf.constant(data.predictions), [*shape, *row.outputs])
    mask = rng.uniform(size=shape) < 0.7
    mask[0, 0] = True
    predictions._keras_mask = tf.constant(mask)
    metric = row.made(options)
    metric.update_state(labels, predictions)
    masked = catalogue.Data(
        data.labels, data.predictions, mask.reshape(-1).astype(float)
    )
    assert_close(row, read(metric), row.expected(row.metric_cases[0][1], masked, True))


@every_row
def test_config_holds_the_arguments_of_the_constructor(row, options):
    metric = row.made(options, name="other", dtype="float64")
    config = metric.get_config()
    parameters = set(inspect.signature(type(metric).__init__).parameters)
    assert set(config) == parameters - {"self"}
    for key, option in options.items():
        assert config[key] == option
    serialized = keras.metrics.serialize(metric)
    for again in (
        type(metric).from_config(config),
        keras.metrics.deserialize(serialized),
    ):
        assert type(again) is type(metric)
        assert again.get_config() == config
        assert again.name == "other"
    assert tf.nest.flatten(again.result())[0].dtype == tf.float64


@keras.utils.register_keras_serializable("tests")
def constant_loss(y_true, y_pred):
    return 0 * tf.reduce_mean(tf.reshape(y_pred, [tf.shape(y_pred)[0], -1]), axis=-1)


def check_evaluation(rows, jit_compile, rng, path=None):
    """Checks metrics of the same data in one model; with a path, after a reload too."""

    def metrics(rows, name):
        return [
            make_for_graph(row, row.metric_cases[0][0], name=f"{name}{i}")
            for i, row in rows
        ]

    numbered = list(enumerate(rows))
    scalars = [(i, row) for i, row in numbered if row.metric != "BrierDecomposition"]
    row = rows[0]
    model = keras.Sequential(
        [
            keras.Input([4]),
            keras.layers.Dense(math.prod(row.outputs)),
            keras.layers.Reshape(row.outputs),
            keras.layers.Activation(row.activation or "linear"),
        ]
    )
    model.compile(
        "sgd",
        constant_loss,
        metrics=metrics(scalars[::4], "plain"),
        weighted_metrics=metrics(numbered, "weighted"),
        jit_compile=jit_compile,
    )
    features = rng.normal(size=[90, 4]).astype(np.float32)
    labels, weights = row.labels(rng, 90), rng.uniform(0.5, 2, 90)
    predictions = model.predict(features, verbose=0)
    if path is not None:
        model.save(path)
        model = keras.models.load_model(path)
        again = model.predict(features, verbose=0)
        np.testing.assert_array_equal(again, predictions)
    logs = model.evaluate(
        features,
        labels,
        sample_weight=weights,
        batch_size=32,
        verbose=0,
        return_dict=True,
    )

    def expected(row, *batch):
        metric = make_for_graph(row, row.metric_cases[0][0])
        metric.update_state(*batch)
        return metric.result()

    for i, row in numbered:
        result = expected(row, labels, predictions, weights)
        if isinstance(result, dict):  # Keras 3 puts the parts themselves in the logs.
            found = logs.get(f"weighted{i}", logs)
            for name, part in result.items():
                assert_close(row, float(found[name]), float(part), atol=1e-6)
        else:
            assert_close(row, logs[f"weighted{i}"], float(result), atol=1e-6)
    for i, row in scalars[::4]:
        result = expected(row, labels, predictions)
        assert_close(row, logs[f"plain{i}"], float(result), atol=1e-6)


def alike(row):
    """Returns a key that is equal for metrics that can share data and a model."""
    # The two decompositions have parts of equal names, and cannot share a model.
    exact = row.name == "brier_decomposition_exact"
    zeros = getattr(row, "zeros", True)
    return (type(row).__name__, row.outputs, row.activation, zeros, exact)


GROUPS = [
    list(group)
    for _, group in itertools.groupby(
        sorted(catalogue.METRICS, key=lambda row: str(alike(row))), alike
    )
]


def groups(of_all):
    """Parametrizes a test over lists of metrics that share data and a model.

    The default run has the first metric of each key `holder`; the exhaustive run has
    the first metric of each key `of_all`.
    """
    params, exhaustive = [], pytest.mark.exhaustive
    for name, each, marks in (("", holder, ()), ("-all", of_all, exhaustive)):
        firsts = [
            row for row, again in first_alike(catalogue.METRICS, each) if not again
        ]
        for group in GROUPS:
            if rows := [row for row in firsts if row in group]:
                param = pytest.param(rows, id=rows[0].metric + name, marks=marks)
                params.append(param)
    return pytest.mark.parametrize("rows", params)


@groups(of_all=id)
def test_in_compile_and_after_reload(rows, rng, tmp_path):
    check_evaluation(rows, False, rng, tmp_path / "model.keras")


@pytest.mark.thorough
@pytest.mark.first(1)
@pytest.mark.parametrize(
    "name", ["ExpectedCalibrationError", "BrierDecomposition", "CRPSSamples"]
)
def test_in_a_model_compiled_by_xla(name, rng):
    row = next(row for row in catalogue.METRICS if row.metric == name)
    check_evaluation([row], True, rng)


@pytest.mark.thorough
@pytest.mark.tensors  # test_distribution.py runs under tf_keras as well.
@groups(of_all=kernel)
@pytest.mark.first(1)
def test_two_replicas_give_the_value_of_one(rows, strategy, rng):
    data = rows[0].lattice(rng, n=41)
    assert strategy.num_replicas_in_sync == 2
    with strategy.scope():
        metrics = [make_for_graph(row, row.metric_cases[0][0]) for row in rows]
    dataset = tf.data.Dataset.from_tensor_slices(
        (data.labels, data.predictions, data.weights)
    ).batch(12)

    def update(*batch):
        for metric in metrics:
            metric.update_state(*batch)

    @tf.function
    def step(batch):
        strategy.run(update, args=batch)

    for batch in strategy.experimental_distribute_dataset(dataset):
        step(batch)

    @tf.function
    def results():
        return [tf.nest.flatten(in_order(metric.result())) for metric in metrics]

    inside = strategy.run(results)
    for row, metric, numbers in zip(rows, metrics, inside, strict=True):
        expected = row.expected(row.metric_cases[0][1], data, True)
        assert_close(row, read(metric), expected)
        local = map(strategy.experimental_local_results, numbers)
        for of_replica in zip(*local, strict=True):
            assert_close(row, value(of_replica), expected)
        metric.reset_state()
        assert not np.any(read(metric))


@pytest.mark.thorough
@every_reader
def test_mixed_precision_keeps_the_state(row, options, rng):
    data = row.lattice(rng)
    metric = row.made(options, dtype="bfloat16")
    for part in (slice(None, 9), slice(9, None)):
        predictions = tf.cast(data.predictions[part], tf.bfloat16)  # Not rounded.
        metric.update_state(data.labels[part], predictions)
    assert tf.nest.flatten(metric.result())[0].dtype == tf.float32
    half = np.asarray(tf.cast(data.predictions, tf.bfloat16))
    data = catalogue.Data(data.labels, half, data.weights)
    assert_close(row, read(metric), row.expected(row.metric_cases[0][1], data))


@pytest.mark.tensors
@every_reader
def test_bad_data_raises_and_keeps_the_state(row, options, rng):
    data = row.lattice(rng)
    metric, untouched = row.made(options), row.made(options)
    before = feed(metric, data)
    state = metric.get_state()
    for bad in (*row.keras_shapes, *row.metric_values()):
        arguments, word = row.bad_keras_data(bad)
        for each in (untouched, metric):
            with pytest.raises(ValueError, match=word) as raised:
                each.update_state(*arguments)
            assert "Received" in str(raised.value)
        for name, array in metric.get_state().arrays.items():
            assert array.tobytes() == state.arrays[name].tobytes(), (bad, name)
    np.testing.assert_array_equal(read(metric), before)
    np.testing.assert_array_equal(feed(untouched, data), before)


def test_swapped_probabilities_of_one_class_raise():
    metric = um.ExpectedCalibrationError()
    row = catalogue.CLASS_METRICS[0]
    (labels, predictions, _), word = row.bad_keras_data("swapped binary")
    with pytest.raises(ValueError, match=word):
        metric.update_state(labels, predictions)


@pytest.mark.tensors
@every_classifier
def test_probabilities_as_logits_raise(row, options, rng):
    data = row.lattice(rng)
    metric = make_for_graph(row, options, from_logits=True)
    message = "`y_pred` must be logits; for probabilities use `from_logits=False`"
    for dtype in (tf.float32, tf.bfloat16):
        with pytest.raises(ValueError, match=message):
            metric.update_state(data.labels, tf.cast(data.predictions, dtype))
    # These are accepted: one example alone, rows that do not sum to 1, and rows of
    # which only those of weight 0 are probabilities.
    wild = np.where(data.weights[:, None] > 0, np.nan, data.predictions)
    for predictions in (data.predictions[:1], data.predictions - 1e-3, wild):
        metric.update_state(
            data.labels[: len(predictions)],
            np.nan_to_num(predictions, nan=3.0).astype(np.float32),
            data.weights[: len(predictions)],
        )
    tf.function(metric.update_state)(data.labels, data.predictions)
    assert np.all(np.isnan(read(metric)))


@pytest.mark.tensors
@every_reader
def test_integer_predictions_work_and_text_labels_raise(row, options, rng):
    data = row.lattice(rng)
    whole = data.predictions > 0.5
    if row.activation == "softmax":
        whole = np.eye(3, dtype=bool)[np.argmax(data.predictions, axis=-1)]
    whole |= row.metric == "KnowledgeUncertainty"  # Concentrations are > 0.
    results = []
    for dtype in (np.float32, np.int64, bool):
        metric = row.made(options)
        metric.update_state(data.labels, whole.astype(dtype))
        results.append(read(metric))
    np.testing.assert_array_equal(results[1:], results[:1] * 2)
    text = np.full(data.labels.shape, "dog")
    with pytest.raises(ValueError, match=r"`y_true`.*um\.class_indices\(y_true"):
        metric.update_state(text, data.predictions)


@pytest.mark.tensors
@every_row
def test_bad_options_raise(row, options):
    for bad in row.bad_metric_options:
        with pytest.raises(ValueError, match=next(iter(bad))):
            row.made({**options, **bad})


@pytest.mark.parametrize("row", catalogue.MEANS, ids=lambda row: row.name)
def test_a_loss_equals_the_mean_of_its_metric(row, rng):
    of_metric = row.of_metric
    data = of_metric.lattice(rng)
    loss, metric = row.find(um)(**row.options), of_metric.made(row.options)
    metric.update_state(data.labels, data.predictions)
    mean = float(metric.result())
    assert_close(of_metric, float(loss(data.labels, data.predictions)), mean, 1e-6)
    weights = data.weights.astype(np.float32)
    metric.reset_state()
    metric.update_state(data.labels, data.predictions, weights)
    # Keras divides by the number of examples, not by the sum of weights.
    expected = float(metric.result()) * weights.mean()
    weighted = float(loss(data.labels, data.predictions, weights))
    assert_close(of_metric, weighted, expected, 1e-6)


@pytest.mark.parametrize("row", catalogue.KERAS_OBJECTS, ids=lambda row: row.name)
def test_other_objects_derive_from_keras_classes(row, rng):
    made = row.make(um, rng)
    kinds = (keras.metrics.Metric, keras.layers.Layer, keras.callbacks.Callback)
    assert isinstance(made, kinds)
    if hasattr(made, "get_config"):
        again = type(made).from_config(made.get_config())
        assert again.get_config() == made.get_config()
