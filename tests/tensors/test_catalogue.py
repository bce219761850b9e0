"""Sweeps over all rows: TensorFlow agrees with NumPy, eager and compiled."""

import copy
import operator
import warnings

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue, references
from tests.catalogue import (
    each,
    each_with,
    every_case,
    every_row,
    every_twin,
    first_of_kernel,
)
from tests.fuzz import functions, outcomes
from tests.numpy.test_catalogue import contents, objects
from uncertainty_metrics.ops import _inputs

ATOL = {np.float32: 3e-7, np.float64: 1e-12}


def assert_close(row, value, expected, atol):
    np.testing.assert_allclose(value, expected, rtol=0, atol=atol * row.scale)


def numpy_value(row, case, **arguments):
    return row.array(row.find(um_np)(**arguments, **case))


def tensorflow_value(row, case, **arguments):
    return row.array(row.find(um)(**arguments, **case))


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_eager_equals_numpy(row, case, dtype, weighted, rng):
    arguments = row.data(rng, dtype=dtype).arguments(weighted)
    assert_close(
        row,
        tensorflow_value(row, case, **arguments),
        numpy_value(row, case, **arguments),
        atol=ATOL[dtype],
    )


@every_row
def test_shortcut_through_numpy_gives_the_values_of_tensors(row, rng, monkeypatch):
    case = row.cases[-1]
    for dtype, weighted in ((np.float32, True), (np.float64, False)):
        arguments = row.data(rng, dtype=dtype).arguments(weighted)
        expected = tensorflow_value(row, case, **arguments)
        with monkeypatch.context() as patch:
            patch.setattr(_inputs, "SHORTCUT", True)
            value = tensorflow_value(row, case, **arguments)
        assert_close(row, value, expected, atol=ATOL[dtype])


@every_twin
def test_functions_left_to_numpy_have_the_results_of_tensors(row, monkeypatch):
    monkeypatch.setattr(_inputs, "SHORTCUT", True)
    assert functions.check_good(row, 0, np.float32, graph=False) is None


@every_twin
def test_halves_agree_in_every_form_of_the_arguments(row, request):
    """XLA runs float32 cases below."""
    seed = request.config.getoption("--seed") * 1000
    assert functions.check_good(row, seed, np.float64, graph=True) is None


@every_twin
@pytest.mark.parametrize(
    ("dtype", "count"),
    [
        pytest.param(np.float64, 2, marks=pytest.mark.thorough),
        pytest.param(np.float32, 40, marks=pytest.mark.exhaustive),
        pytest.param(np.float64, 40, marks=pytest.mark.exhaustive),
    ],
)
def test_halves_agree_in_many_calls(row, dtype, count, request):
    first = request.config.getoption("--seed") * 1000 + 1
    for seed in range(first, first + count):
        problem = functions.check_good(row, seed, dtype, graph=seed % 10 == 0)
        assert problem is None, seed


@pytest.mark.filterwarnings("ignore:.* for which the estimate is unreliable")
@each(row for row in catalogue.CALLABLES if row.half != "numpy")
def test_results_are_structures_of_tensors(row, rng):
    result = row.find(um)(**row.draw(rng, (12,)))
    for tree in (tf.nest, keras.tree):
        parts = tree.flatten(result)
        assert all(map(tf.is_tensor, parts))
        again = tree.pack_sequence_as(result, parts)
        assert type(again) is type(result)
        np.testing.assert_array_equal(outcomes.flat(again), outcomes.flat(result))


@pytest.mark.thorough
@first_of_kernel(
    # XLA draws other numbers.
    row
    for row in catalogue.FUNCTION_ROWS
    if row.half is None and not row.random
)
def test_other_functions_compiled_by_xla_equal_numpy(row):
    problem = functions.check_good(row, 0, np.float32, graph=True, jit_compile=True)
    assert problem is None


@every_row
def test_result_has_the_dtype_of_the_predictions(row, rng):
    case = row.cases[-1]

    def leaf(result):
        if isinstance(result, dict):
            return next(iter(result.values()))
        if isinstance(result, tuple):
            return result[0]
        return getattr(result, "confidences", result)

    for dtype, expected in (("float16", "float32"), ("float64", "float64")):
        arguments = row.data(rng, dtype=dtype).arguments()
        result = row.find(um)(**arguments, **case)
        assert leaf(result).dtype == expected


@every_case
def test_options_equal_numpy(row, case, rng):
    data = row.data(rng, n=24)
    labels = np.where(data.labels == 1, 255, data.labels)
    logits = rng.normal(size=[24, 3]) * 3  # No score is at an edge of a bin.
    logits[5, 1] = -np.inf
    shape = [2, 3, 4]
    predicted = rng.integers(0, 3, shape)
    arguments = {
        "labels": labels.reshape(shape),
        "logits": logits.reshape([*shape, 3]),
        "sample_weight": np.array([0.5, 2.0]),
        "ignore_index": 255,
    }
    if row.takes("labels_predicted"):
        arguments["labels_predicted"] = predicted
    assert_close(
        row,
        tensorflow_value(row, case, **arguments),
        numpy_value(row, case, **arguments),
        atol=1e-12,
    )


@every_case
def test_binary_forms_equal_numpy(row, case, rng):
    labels = rng.integers(0, 2, 20).astype(np.float32)
    p = np.round(rng.uniform(size=20), 1).astype(np.float32)
    forms = [{"probabilities": p[:, None]}, {"logits": rng.normal(size=20)}]
    if row.takes("positive_class"):
        forms.append({"probabilities": p, "positive_class": True})
    for form in forms:
        assert_close(
            row,
            tensorflow_value(row, case, labels=labels, **form),
            numpy_value(row, case, labels=labels, **form),
            atol=3e-7,
        )


@every_row
def test_half_precision_equals_numpy(row, rng):
    data, case = row.data(rng), row.cases[-1]
    data.predictions[0] = [0.3, 0.4, 0.3]  # Scores at a threshold.
    above = np.where(data.predictions == 1, np.float16(1.001), data.predictions)
    for predictions, dtype in (
        (data.predictions, tf.bfloat16),
        (data.predictions, tf.float16),
        (above, tf.float16),  # Above 1 by rounding.
    ):
        probabilities = tf.cast(predictions, dtype)
        arguments = {"labels": data.labels, "probabilities": probabilities}
        assert_close(
            row,
            tensorflow_value(row, case, **arguments),
            numpy_value(
                row, case, **{**arguments, "probabilities": np.asarray(probabilities)}
            ),
            atol=3e-7,
        )


def in_graph(row, cases, jit_compile=False, signature=None):
    """Returns a function of named tensors that runs all cases in one graph."""

    def function(tensors, options):
        results = [row.find(um)(**tensors, **options, **case) for case in cases]
        return [
            [result.counts, result.confidences, result.accuracies]
            if hasattr(result, "counts")
            else result
            for result in results
        ]

    run = tf.function(
        function, [signature, {}] if signature else None, False, jit_compile
    )
    return lambda tensors, **options: run(tensors, options)


def assert_equal_numpy(row, cases, results, arguments, atol=3e-7):
    for case, result in zip(cases, results, strict=True):
        if isinstance(result, list):
            held = (result[0] > 0) | tf.math.is_nan(result[0])
            value = np.concatenate([part[held].numpy() for part in result])
        else:
            value = row.array(result)
        assert_close(row, value, numpy_value(row, case, **arguments), atol)


def assert_nan(results):
    assert all(np.isnan(part).all() for part in tf.nest.flatten(results))


def bad_values(row, usual):
    """Yields data with wrong values, and options.

    The usual data are labels, rows of probabilities and weights, which one graph can
    take. All other data are not usual.
    """
    for bad in set(catalogue.VALUES) & set(row.bad_data()):
        data, _ = catalogue.bad_data(bad)
        options = {k: data.pop(k) for k in [*data] if isinstance(data[k], int)}
        rows = np.shape(data.get("probabilities")) == (4, 3)
        alike = rows and data["labels"].shape == (4,)
        alike &= not options and "labels_predicted" not in data
        if usual == (alike and data["labels"].dtype != np.uint64):
            yield data, options


FLOAT64 = pytest.param(np.float64, marks=pytest.mark.exhaustive)


@pytest.mark.thorough
@first_of_kernel(catalogue.FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, FLOAT64])
def test_graph_equals_numpy_and_is_nan_where_values_are_wrong(row, dtype, rng):
    arguments = row.data(rng, dtype=dtype).arguments(True)
    # With float labels, which can have wrong values, and any batch size, one trace is
    # enough.
    types = dict(zip(arguments, ([None], [None, 3], [None]), strict=True))
    types = {
        name: tf.TensorSpec(shape, dtype if name == "probabilities" else tf.float64)
        for name, shape in types.items()
    }

    def tensors(data):
        return {k: tf.constant(data[k], spec.dtype) for k, spec in types.items()}

    run = in_graph(row, row.cases, signature=types)
    assert_equal_numpy(
        row, row.cases, run(tensors(arguments)), arguments, atol=ATOL[dtype]
    )
    for wrong, _ in bad_values(row, usual=True):
        assert_nan(run(tensors({"sample_weight": np.ones(4), **wrong})))
    # One label would broadcast to all rows.
    single = {k: v if k == "probabilities" else v[:1] for k, v in arguments.items()}
    try:
        results = run(tensors(single))
    except tf.errors.InvalidArgumentError:
        return
    assert_nan(results)


def test_shapes_that_do_not_fit_are_nan_where_the_number_of_classes_is_unknown():
    @tf.function(
        input_signature=[
            tf.TensorSpec([1, None], tf.int32),
            tf.TensorSpec([None, None], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def accuracy(labels, probabilities, labels_predicted):
        return um.accuracy(labels, probabilities, labels_predicted=labels_predicted)

    # As three probabilities of class 1, which one label does not fit.
    assert np.isnan(accuracy([[1]], [[0.2, 0.5, 0.3]], [1]))


@pytest.mark.thorough
@first_of_kernel(catalogue.FUNCTIONS)
def test_xla_equals_numpy_and_is_nan_where_a_label_is_wrong(row, rng):
    # One case of each row is enough: compiling is slow, and the graphs are the same.
    arguments = row.data(rng, dtype=np.float32).arguments(True)
    labels = arguments["labels"].astype(float)
    cases = row.cases[:1]
    run = in_graph(row, cases, jit_compile=True)
    tensors = {k: tf.constant(v) for k, v in {**arguments, "labels": labels}.items()}
    assert_equal_numpy(row, cases, run(tensors), arguments)
    labels[np.argmax(arguments["sample_weight"])] = np.nan
    assert_nan(run({**tensors, "labels": tf.constant(labels)}))


@pytest.mark.thorough
@first_of_kernel(catalogue.FUNCTIONS)
@pytest.mark.first(4)
def test_bad_values_of_other_arguments_are_nan_in_a_graph(row):
    run = in_graph(row, row.cases[:1])
    for wrong, options in bad_values(row, usual=False):
        assert_nan(run({k: tf.constant(v) for k, v in wrong.items()}, **options))


@pytest.mark.thorough
@pytest.mark.parametrize("dynamic", [(0,), (1,), (0, 2)])
@first_of_kernel(catalogue.FUNCTIONS)
@pytest.mark.first(6)
def test_sizes_may_be_static_in_some_arguments_only(row, dynamic, rng):
    arguments = row.data(rng, n=6, dtype=np.float32).arguments(True)
    tensors = {name: tf.constant(value) for name, value in arguments.items()}
    signature = {
        name: tf.TensorSpec([None if i in dynamic else 6, *v.shape[1:]], v.dtype)
        for i, (name, v) in enumerate(tensors.items())
    }
    cases = row.cases[:1]
    results = in_graph(row, cases, signature=signature)(tensors)
    assert_equal_numpy(row, cases, results, arguments)


@first_of_kernel(catalogue.FUNCTIONS)
def test_bad_data_raises_in_eager_execution(row):
    for bad in row.bad_data():
        arguments, word = catalogue.bad_data(bad)
        with pytest.raises(ValueError, match=word) as raised:
            tensorflow_value(row, row.cases[0], **arguments)
        with pytest.raises(ValueError, match=word) as in_numpy:
            numpy_value(row, row.cases[0], **arguments)
        assert "Received" in str(raised.value)
        if bad in catalogue.VALUES:
            assert str(raised.value) == str(in_numpy.value)


@every_row
def test_bad_shapes_raise_while_a_graph_is_built(row):
    for bad in ("rank", "lengths", "both", "neither", "swapped", "empty"):
        arguments, word = catalogue.bad_data(bad)

        def function(arguments=arguments):
            return row.array(row.find(um)(**arguments, **row.cases[0]))

        with pytest.raises(ValueError, match=word):
            tf.function(function, autograph=False)()


class Foreign:
    """A tensor of another framework that cannot be converted to NumPy."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *args, **kwargs):
        raise self.error


@every_row
def test_errors_for_foreign_tensors_and_text_name_the_argument(row):
    good = {"labels": [0, 1], "probabilities": [[0.5, 0.5]] * 2}
    for error in (RuntimeError("call detach()"), TypeError("unsupported BFloat16")):
        for name in good:
            for value in (numpy_value, tensorflow_value):
                with pytest.raises(TypeError, match=f"`{name}`.*{error.args[0][:6]}"):
                    value(row, row.cases[0], **{**good, name: Foreign(error)})
    for text in (["a", "b"], tf.constant(["a", "b"])):
        with pytest.raises(ValueError, match=r"`labels`.*um\.class_indices"):
            tensorflow_value(row, row.cases[0], **{**good, "labels": text})


@each_with(
    "name",
    # TensorFlow has other rules for seeds.
    lambda row: [k for k in row.bad_options if not (row.random and k == "seed")],
    catalogue.TWINS,
)
def test_bad_options_raise_the_message_of_numpy(row, name, rng):
    arguments = row.draw(rng, (8,))
    for bad in row.wrong_values(name):
        messages = []
        for room in (um_np, um):
            with pytest.raises(ValueError, match=f"`{name}`") as raised:
                row.find(room)(**{**arguments, name: bad})
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
        assert "Received" in messages[0]


@every_row
def test_values_of_removed_examples_do_not_matter(row, rng):
    data = row.data(rng)
    kept = data.weights > 0
    labels = np.where(kept, data.labels, -7)
    probabilities = np.where(kept[:, None], data.predictions, np.nan)
    case = row.cases[0]
    assert_close(
        row,
        tensorflow_value(
            row,
            case,
            labels=labels,
            probabilities=probabilities,
            sample_weight=data.weights,
        ),
        numpy_value(
            row,
            case,
            labels=data.labels[kept],
            probabilities=data.predictions[kept],
            sample_weight=data.weights[kept],
        ),
        atol=1e-12,
    )


@every_twin
def test_aliases_are_the_same_object(row):
    for alias in row.aliases:
        assert operator.attrgetter(alias)(um) is row.find(um)


@pytest.mark.parametrize(
    "row",
    [row for row in catalogue.FUNCTIONS if row.differentiable],
    ids=lambda row: row.name,
)
@pytest.mark.parametrize("name", ["probabilities", "logits"])
def test_gradient_equals_finite_differences(row, name, rng):
    labels = rng.integers(0, 3, 6)
    predictions = rng.dirichlet(np.ones(3), 6)  # Without ties, where decisions jump.
    data = {"labels": labels, "sample_weight": rng.uniform(0.5, 2, 6)}
    if name == "logits":
        predictions = 3 * np.log(predictions)
    for case in row.cases:

        def value(predictions, case=case):
            result = row.find(um)(**data, **{name: predictions}, **case)
            return tf.reduce_sum([tf.sin(part) for part in tf.nest.flatten(result)])

        variable = tf.constant(predictions)
        with tf.GradientTape() as tape:
            tape.watch(variable)
            total = value(variable)
        gradient = tape.gradient(total, variable)
        expected = references.slopes(value, predictions)
        np.testing.assert_allclose(gradient, expected, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("row", objects("tensors"), ids=lambda row: row.name)
def test_objects_can_be_copied(row, rng):
    made = row.make(um, rng)
    again = copy.deepcopy(made)
    assert type(again) is type(made)
    np.testing.assert_equal(contents(again), contents(made))


def with_nan(row, arguments):
    """Returns arguments by the name of the float array that is replaced by NaN."""
    given = {
        name: {**arguments, name: np.full(array.shape, np.nan)}
        for name, array in arguments.items()
        if isinstance(array, np.ndarray) and array.dtype.kind == "f"
    }
    if row.takes("logits") and "probabilities" in given:
        rest = {k: v for k, v in arguments.items() if k != "probabilities"}
        given["logits"] = {**rest, "logits": given["probabilities"]["probabilities"]}
    return given


@pytest.mark.thorough
@each(catalogue.CALLABLES)
def test_nan_in_16_bits_raises_without_a_warning(row, rng):
    arguments = row.draw(rng, (8,))
    rooms = {"numpy": [um_np], "tensors": [um], None: [um_np, um]}[row.half]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for name, given in with_nan(row, arguments).items():
            for dtype in (np.float16, ml_dtypes.bfloat16):
                half = given[name].astype(dtype)
                for room in rooms:
                    for value in [half, tf.constant(half)][: 1 + (room is um)]:
                        with pytest.raises(ValueError, match="Received"):
                            row.find(room)(**{**given, name: value})
