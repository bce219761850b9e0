"""Every Keras metric through every sweep, in the Keras that is loaded."""

import dataclasses
import inspect
import itertools
import math

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue

keras = tf.keras
pytestmark = pytest.mark.keras

CASES = catalogue.metric_cases()
every_case = pytest.mark.parametrize(
    ("row", "options", "case"),
    [case[:3] for case in CASES],
    ids=[case[3] for case in CASES],
)


def again(row, seen):
    """Returns the marks of a row: `exhaustive` if its kernel was there before."""
    kernel = row.kernel or row.metric
    marks = [pytest.mark.exhaustive] if kernel in seen else []
    seen.add(kernel)
    return marks


def rows_with_options(rows, of_kernels=False):
    """Parametrizes over rows, by default perhaps the first of each kernel alone."""
    seen = set()
    return pytest.mark.parametrize(
        ("row", "options"),
        [
            pytest.param(
                row,
                row.metric_cases[0][0],
                id=f"{row.metric}-{row.name}",
                marks=again(row, seen) if of_kernels else (),
            )
            for row in rows
        ],
    )


def _compiled_cases():
    """Yields all cases in a graph, and by XLA: the first of each kernel by default."""
    seen = set()
    for row, options, case, name in CASES:
        yield pytest.param(row, options, case, False, id=f"{name}-graph")
        marks = again(row, seen)
        yield pytest.param(row, options, case, True, id=f"{name}-xla", marks=marks)


every_compiled_case = pytest.mark.parametrize(
    ("row", "options", "case", "jit_compile"), list(_compiled_cases())
)
every_row = rows_with_options(catalogue.METRICS)
# What a kernel does with any data; the exhaustive run has all its metrics.
every_kernel = rows_with_options(catalogue.METRICS, of_kernels=True)
every_classifier = rows_with_options(catalogue.CLASS_METRICS, of_kernels=True)


def make(row, options, **more):
    return row.made(options, **more)


def make_for_graph(row, options, **more):
    """Makes a metric whose state has its shape from the start, and few cells."""
    takes = inspect.signature(type(make(row, options))).parameters
    shape = {"num_classes": 3, **catalogue.FEW_CELLS}
    known = {name: shape[name] for name in shape if name in takes}
    return make(row, {**known, **options}, **more)


def value(result):
    """Returns a result, a scalar or a dict, as a flat array."""
    return np.array([float(part) for part in tf.nest.flatten(result, True)])


def in_order(result):
    return list(result.values()) if isinstance(result, dict) else result


def read(metric):
    return value(in_order(metric.result()))


def assert_close(row, result, expected, atol=3e-7):
    np.testing.assert_allclose(result, expected, rtol=0, atol=atol * row.scale)


def feed(metric, data, batches=3, weighted=False, update=None):
    for part in np.array_split(np.arange(len(data.labels)), batches):
        arguments = [data.labels[part], data.predictions[part]]
        if weighted:
            arguments.append(data.weights[part])
        (update or metric.update_state)(*arguments)
    return read(metric)


@pytest.mark.tensors
@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_equal_the_function_on_the_whole(row, options, case, weighted, rng):
    if not weighted and options != row.metric_cases[0][0]:
        pytest.skip("the options are run with weights")
    data = row.lattice(rng)
    expected = row.expected(case, data, weighted)
    for batches in (1, 3, 7):
        metric = make(row, options)
        result = feed(metric, data, batches, weighted)
        assert_close(row, result, expected)
        np.testing.assert_array_equal(read(metric), result)  # Reading changes nothing.
    metric.reset_state()
    assert not np.any(read(metric))
    assert_close(row, feed(metric, data, 1, weighted), expected)


@pytest.mark.tensors
@every_case
def test_weighted_and_unweighted_batches_mix(row, options, case, rng):
    data = row.lattice(rng)
    metric = make(row, options)
    metric.update_state(data.labels[:20], data.predictions[:20])
    metric.update_state(data.labels[20:], data.predictions[20:], data.weights[20:])
    weights = np.where(np.arange(40) < 20, 1.0, data.weights)
    data = catalogue.Data(data.labels, data.predictions, weights)
    assert_close(row, read(metric), row.expected(case, data, True))


@pytest.mark.tensors
@every_case
def test_weight_is_repetition(row, options, case, rng):
    data = row.lattice(rng)
    weights = rng.integers(0, 4, len(data.labels))
    times = np.repeat(np.arange(len(weights)), weights)
    weighted, repeated = make(row, options), make(row, options)
    weighted.update_state(data.labels, data.predictions, weights)
    repeated.update_state(data.labels[times], data.predictions[times])
    assert_close(row, read(weighted), read(repeated))


@pytest.mark.tensors
@every_compiled_case
def test_compiled_equals_eager(row, options, case, jit_compile, rng):
    if jit_compile and row.random:
        pytest.skip("XLA draws other numbers")
    data = row.lattice(rng)
    metric = make_for_graph(row, options)

    @tf.function(jit_compile=jit_compile, reduce_retracing=True)
    def update(labels, predictions, weights):
        metric.update_state(labels, predictions, weights)

    def call(*arrays):
        update(*(tf.constant(array) for array in arrays))

    feed(metric, data, 2, True, call)
    result = tf.function(metric.result, jit_compile=jit_compile)()
    if isinstance(result, dict):  # A graph sorts the keys.
        result = {name: result[name] for name in metric.result()}
    assert_close(row, value(in_order(result)), row.expected(case, data, True))


@every_classifier
def test_labels_as_keras_users_pass_them(row, options, rng):
    data = row.lattice(rng)
    case = row.metric_cases[0][1]
    expected = row.expected(case, data)
    for labels in (
        data.labels[:, None],
        data.labels.astype(np.float32),
        np.eye(3)[data.labels],
        np.eye(3, dtype=np.int64)[data.labels],
    ):
        metric = make(row, options)
        metric.update_state(labels, data.predictions)
        assert_close(row, read(metric), expected)


@pytest.mark.tensors
@every_classifier
def test_smoothed_labels(row, options, rng):
    data = row.lattice(rng)
    case = row.metric_cases[0][1]
    expected = row.expected(case, data)
    if row.metric in ("BrierScore", "NegativeLogLikelihood"):
        # The mean score under the smoothed labels.
        every_label = [
            row.expected(case, dataclasses.replace(data, labels=np.full(40, k)))
            for k in range(3)
        ]
        expected = 0.85 * expected + 0.05 * sum(every_label)
    metric = make(row, options)
    labels = 0.85 * np.eye(3)[data.labels] + 0.05
    metric.update_state(labels, data.predictions)
    assert_close(row, read(metric), expected)


@pytest.mark.tensors
@every_kernel
def test_labels_with_a_last_axis_of_one_and_images(row, options, rng):
    data = row.lattice(rng)
    expected = row.expected(row.metric_cases[0][1], data)
    images = data.predictions.reshape(2, 4, 5, *row.outputs)
    for labels, predictions in (
        (data.labels[:, None], data.predictions),
        (data.labels.reshape(2, 4, 5), images),
        (data.labels.reshape(2, 4, 5, 1), images),
    ):
        metric = make(row, options)
        metric.update_state(labels, predictions)
        assert_close(row, read(metric), expected)


@pytest.mark.tensors
@every_classifier
def test_logits_ignored_labels_and_images(row, options, rng):
    logits = row.logits(rng, [2, 3, 4])
    labels = rng.integers(0, 3, [2, 3, 4])
    labels[0, 1] = 255
    case = row.metric_cases[0][1]
    if not row.sketched:  # Few cells do not tell any logits apart.
        options = {k: v for k, v in options.items() if k != "sketch_bits"}
    metric = make(row, options, from_logits=True, ignore_index=255)
    metric.update_state(labels, logits, sample_weight=[1.0, 2.0])
    expected = row.expected_of(
        case,
        labels=labels,
        logits=logits,
        sample_weight=np.array([1.0, 2.0], np.float32),
        ignore_index=255,
    )
    assert_close(row, read(metric), expected, atol=1e-6)


@every_kernel
def test_masked_predictions_are_left_out(row, options, rng):
    data = row.lattice(rng)
    shape = [8, 5]
    labels = tf.reshape(tf.constant(data.labels), shape)
    predictions = tf.reshape(tf.constant(data.predictions), [*shape, *row.outputs])
    mask = rng.uniform(size=shape) < 0.7
    mask[0, 0] = True
    predictions._keras_mask = tf.constant(mask)
    metric = make(row, options)
    metric.update_state(labels, predictions)
    masked = catalogue.Data(
        data.labels, data.predictions, mask.reshape(-1).astype(float)
    )
    assert_close(row, read(metric), row.expected(row.metric_cases[0][1], masked, True))


@every_row
def test_config_holds_the_arguments_of_the_constructor(row, options):
    metric = make(row, options, name="other", dtype="float64")
    config = metric.get_config()
    parameters = set(inspect.signature(type(metric).__init__).parameters)
    assert set(config) == parameters - {"self"}
    for key, option in options.items():
        assert config[key] == option
    again = type(metric).from_config(config)
    assert again.get_config() == config
    assert again.name == "other"
    assert tf.nest.flatten(again.result())[0].dtype == tf.float64


@every_kernel
def test_merge_adds_the_states(row, options, rng):
    data = row.lattice(rng)
    whole, first, second = (make(row, options, name=name) for name in "abc")
    feed(whole, data, 1, True)
    feed(first, catalogue.Data(*(part[:15] for part in vars(data).values())), 1, True)
    feed(second, catalogue.Data(*(part[15:] for part in vars(data).values())), 1, True)
    merged = make(row, options)
    merged.merge_state([first, second, make(row, options)])
    assert_close(row, read(merged), read(whole))
    used = make(row, options)
    feed(used, catalogue.Data(*(part[:15] for part in vars(data).values())), 1, True)
    used.merge_state([second])  # Into what it has.
    assert_close(row, read(used), read(whole))
    state = merged.get_state()
    with pytest.raises(ValueError, match="same metric and options"):
        merged.merge_state([first, keras.metrics.Mean()])
    another = dataclasses.replace(state, config={**state.config, "an": "other"})
    with pytest.raises(ValueError, match="same metric and options"):
        merged.merge_state([second, another])
    assert merged.get_state() == state


@keras.utils.register_keras_serializable("tests")
def constant_loss(y_true, y_pred):
    return 0 * tf.reduce_mean(tf.reshape(y_pred, [tf.shape(y_pred)[0], -1]), axis=-1)


def check_evaluation(rows, jit_compile, rng, path=None):
    """Checks metrics of the same data in one model, saved and loaded with a path."""

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
            for part, value in result.items():
                assert_close(row, float(found[part]), float(value), atol=1e-6)
        else:
            assert_close(row, logs[f"weighted{i}"], float(result), atol=1e-6)
    for i, row in scalars[::4]:
        result = expected(row, labels, predictions)
        assert_close(row, logs[f"plain{i}"], float(result), atol=1e-6)


def alike(row):
    """Returns what metrics that share data and a model have in common."""
    exact = row.name == "brier_decomposition_exact"  # Its parts have the same names.
    zeros = getattr(row, "zeros", True)
    return (type(row).__name__, row.outputs, row.activation, zeros, exact)


GROUPS = [
    list(group)
    for _, group in itertools.groupby(
        sorted(catalogue.METRICS, key=lambda row: str(alike(row))), alike
    )
]


every_group = pytest.mark.parametrize("rows", GROUPS, ids=lambda rows: rows[0].metric)


@every_group
def test_in_compile_and_after_reload(rows, rng, tmp_path):
    check_evaluation(rows, False, rng, tmp_path / "model.keras")


@pytest.mark.parametrize(
    "name",
    [
        "ExpectedCalibrationError",
        "BrierDecomposition",
        "CRPSSamples",
    ][: None if hasattr(keras, "ops") else 1],
)
def test_in_a_model_compiled_by_xla(name, rng):
    row = next(row for row in catalogue.METRICS if row.metric == name)
    check_evaluation([row], True, rng)


@pytest.mark.tensors  # Of both Keras is test_distribution.py.
@every_group
def test_two_replicas_give_the_value_of_one(rows, strategy, rng):
    rows = list({row.kernel or row.metric: row for row in reversed(rows)}.values())
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
    for row, metric, parts in zip(rows, metrics, inside, strict=True):
        expected = row.expected(row.metric_cases[0][1], data, True)
        assert_close(row, read(metric), expected)
        parts = [strategy.experimental_local_results(part) for part in parts]
        for of_replica in zip(*parts, strict=True):
            assert_close(row, value(of_replica), expected)
        metric.reset_state()
        assert not np.any(read(metric))


@every_kernel
def test_mixed_precision_keeps_the_state(row, options, rng):
    data = row.lattice(rng)
    metric = make(row, options, dtype="bfloat16")
    for part in (slice(None, 9), slice(9, None)):
        predictions = tf.cast(data.predictions[part], tf.bfloat16)  # Exact.
        metric.update_state(data.labels[part], predictions)
    assert tf.nest.flatten(metric.result())[0].dtype == tf.float32
    half = np.asarray(tf.cast(data.predictions, tf.bfloat16))
    data = catalogue.Data(data.labels, half, data.weights)
    assert_close(row, read(metric), row.expected(row.metric_cases[0][1], data))


@pytest.mark.tensors
@every_kernel
def test_bad_data_raises_and_keeps_the_state(row, options, rng):
    data = row.lattice(rng)
    metric = make(row, options)
    before = feed(metric, data)
    for bad in (*row.keras_shapes, *row.metric_values()):
        untouched = make(row, options)
        arguments, word = row.bad_keras_data(bad)
        state = metric.get_state()
        with pytest.raises(ValueError, match=word) as raised:
            untouched.update_state(*arguments)
        assert "Received" in str(raised.value)
        with pytest.raises(ValueError, match=word):
            metric.update_state(*arguments)
        np.testing.assert_array_equal(read(metric), before, err_msg=bad)
        for name, array in metric.get_state().arrays.items():
            assert array.tobytes() == state.arrays[name].tobytes(), (bad, name)
        np.testing.assert_array_equal(feed(untouched, data), before, err_msg=bad)


def test_swapped_probabilities_of_one_class_raise():
    metric = um.ExpectedCalibrationError()
    row = catalogue.CLASS_METRICS[0]
    (labels, predictions, _), word = row.bad_keras_data("swapped binary")
    with pytest.raises(ValueError, match=word):
        metric.update_state(labels, predictions)


@pytest.mark.tensors
@every_classifier
def test_bad_one_hot_rows_raise(row, options):
    for rows in (
        [[1, 1, 0], [0, 1, 0]],
        [[0, 0, 0], [0, 1, 0]],
        [[2, -1, 0], [0, 1, 0]],
    ):
        with pytest.raises(ValueError, match="y_true"):
            make(row, options).update_state(rows, [[0.5, 0.2, 0.3]] * 2)


@pytest.mark.tensors
@every_kernel
def test_bad_values_in_a_graph_make_the_result_nan(row, options, rng):
    data = row.lattice(rng)
    metric = make_for_graph(row, options)

    @tf.function
    def update(*batch):
        metric.update_state(*batch)

    for bad in row.metric_values():
        arguments, _ = row.bad_keras_data(bad)
        update(*(tf.constant(array) for array in arguments if array is not None))
        with pytest.warns(RuntimeWarning, match="1 batch"):
            assert np.all(np.isnan(read(metric))), bad
        if hasattr(metric, "counts"):
            assert np.all(np.isnan(metric.counts)), bad
        assert np.all(np.isnan(feed(metric, data))), bad
        metric.reset_state()
    expected = row.expected(row.metric_cases[0][1], data)
    assert_close(row, feed(metric, data), expected)


@pytest.mark.tensors
@every_classifier
def test_probabilities_are_no_logits(row, options, rng):
    data = row.lattice(rng)
    metric = make_for_graph(row, options, from_logits=True)
    message = "`y_pred` must be logits; for probabilities use `from_logits=False`"
    for dtype in (tf.float32, tf.bfloat16):
        with pytest.raises(ValueError, match=message):
            metric.update_state(data.labels, tf.cast(data.predictions, dtype))
    # They are not, but for examples that do not count.
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
@every_kernel
def test_whole_predictions_and_text(row, options, rng):
    data = row.lattice(rng)
    whole = data.predictions > 0.5
    if row.activation == "softmax":
        whole = np.eye(3, dtype=bool)[np.argmax(data.predictions, axis=-1)]
    whole |= row.metric == "KnowledgeUncertainty"  # Concentrations are > 0.
    results = []
    for dtype in (np.float32, np.int64, bool):
        metric = make(row, options)
        metric.update_state(data.labels, whole.astype(dtype))
        results.append(read(metric))
    np.testing.assert_array_equal(results[1:], results[:1] * 2)
    text = np.full(data.labels.shape, "dog")
    with pytest.raises(ValueError, match=r"`y_true`.*np\.unique\(y_true"):
        metric.update_state(text, data.predictions)


@pytest.mark.tensors
@every_kernel
def test_sizes_that_are_static_in_some_arguments(row, options, rng):
    data = row.lattice(rng, n=6)
    arrays = [data.labels, data.predictions.astype(np.float32), data.weights]
    for dynamic in ((0,), (1,)):
        metric = make_for_graph(row, options)
        signature = [
            tf.TensorSpec([None if i in dynamic else 6, *array.shape[1:]], array.dtype)
            for i, array in enumerate(arrays)
        ]
        tf.function(metric.update_state, input_signature=signature)(*arrays)
        expected = row.expected(row.metric_cases[0][1], data, weighted=True)
        assert_close(row, read(metric), expected)


@pytest.mark.tensors
@every_kernel
def test_nothing_to_count_counts_nothing(row, options, rng):
    data = row.lattice(rng)
    metric = make(row, options)
    before = feed(metric, data)
    metric.update_state(data.labels, data.predictions, np.zeros(len(data.labels)))
    np.testing.assert_array_equal(read(metric), before)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], data.labels.dtype),
            tf.TensorSpec([None, *row.outputs]),
        ]
    )
    def update(labels, predictions):
        metric.update_state(labels, predictions)

    # A replica may get an empty shard of the last batch.
    update(data.labels[:0], data.predictions[:0])

    @tf.function
    def update_by_none():  # Of a size that the graph knows.
        none = (data.labels[:0], data.predictions[:0])
        metric.update_state(*map(tf.constant, none))

    update_by_none()
    np.testing.assert_array_equal(read(metric), before)


@pytest.mark.tensors
@every_kernel
def test_examples_of_weight_zero_may_hold_anything(row, options, rng):
    data = row.lattice(rng)
    dropped = data.weights == 0
    labels = np.where(dropped, -7, data.labels)
    predictions = data.predictions.copy()
    predictions[dropped] = np.nan
    metric = make(row, options)
    metric.update_state(labels, predictions, data.weights)
    assert_close(row, read(metric), row.expected(row.metric_cases[0][1], data, True))


@pytest.mark.tensors
@every_row
def test_bad_options_raise(row, options):
    for bad in row.bad_metric_options:
        with pytest.raises(ValueError, match=next(iter(bad))):
            make(row, {**options, **bad})


@pytest.mark.parametrize("row", catalogue.LOSSES, ids=lambda row: row.name)
def test_a_loss_has_the_mean_of_its_metric(row, rng):
    of_metric = row.of_metric
    data = of_metric.lattice(rng)
    loss, metric = row.find(um)(**row.options), of_metric.made(row.options)
    metric.update_state(data.labels, data.predictions)
    mean = float(metric.result())
    assert_close(of_metric, float(loss(data.labels, data.predictions)), mean, 1e-6)
    weights = data.weights.astype(np.float32)
    metric.reset_state()
    metric.update_state(data.labels, data.predictions, weights)
    expected = float(metric.result()) * weights.mean()  # Keras divides by the number.
    weighted = float(loss(data.labels, data.predictions, weights))
    assert_close(of_metric, weighted, expected, 1e-6)
    again = type(loss).from_config(loss.get_config())
    assert again.get_config() == loss.get_config()
    for option, value in row.options.items():
        assert np.all(loss.get_config()[option] == value)


@pytest.mark.parametrize("row", catalogue.KERAS_OBJECTS, ids=lambda row: row.name)
def test_what_else_keras_takes_is_its_own(row, tmp_path):
    made = row.make(tmp_path)
    kinds = (keras.metrics.Metric, keras.layers.Layer, keras.callbacks.Callback)
    assert isinstance(made, kinds)
    if hasattr(made, "get_config"):
        again = type(made).from_config(made.get_config())
        assert again.get_config() == made.get_config()
