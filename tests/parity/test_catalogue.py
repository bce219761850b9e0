"""NumPy and TensorFlow agree, row by row, eager and compiled."""

import copy
import operator

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue, references
from tests.catalogue import (
    every_bad,
    every_case,
    every_row,
    every_twin,
    first_of_kernel,
)
from tests.fuzz import functions
from tests.np.test_catalogue import contents, objects
from uncertainty_metrics.tensorflow import _inputs

ATOL = {np.float32: 3e-7, np.float64: 1e-12}


def assert_close(row, value, expected, atol):
    np.testing.assert_allclose(value, expected, rtol=0, atol=atol * row.scale)


def numpy_value(row, case, **arguments):
    return row.array(getattr(um_np, row.name)(**arguments, **case))


def tensorflow_value(row, case, **arguments):
    return row.array(getattr(um, row.name)(**arguments, **case))


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


@every_case
def test_shortcut_through_numpy_has_the_values_of_tensors(row, case, rng, monkeypatch):
    for dtype, weighted in ((np.float32, True), (np.float64, False)):
        arguments = row.data(rng, dtype=dtype).arguments(weighted)
        expected = tensorflow_value(row, case, **arguments)
        with monkeypatch.context() as patch:
            patch.setattr(_inputs, "SHORTCUT", True)
            value = tensorflow_value(row, case, **arguments)
        assert_close(row, value, expected, atol=ATOL[dtype])


# So many cases of each function; the exhaustive run has more.
GOOD = [(3, ()), (40, pytest.mark.exhaustive)]


@every_twin
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [pytest.param(n, marks=marks) for n, marks in GOOD])
def test_halves_agree_in_every_form_of_the_arguments(row, dtype, count, request):
    first = request.config.getoption("--seed") * 1000
    count = 1 if getattr(row, "slow", False) else count
    for seed in range(first, first + count):
        problem = functions.check_good(row, seed, dtype, graph=seed % 10 == first % 10)
        assert problem is None, seed


@first_of_kernel(catalogue.FUNCTION_ROWS)
def test_other_functions_compiled_by_xla(row):
    if row.half is not None or row.random:
        pytest.skip("has no twin, or XLA draws other numbers")
    problem = functions.check_good(row, 0, np.float32, graph=True, jit_compile=True)
    assert problem is None


@every_case
def test_result_has_the_precision_of_the_predictions(row, case, rng):
    def leaf(result):
        if isinstance(result, dict):
            return next(iter(result.values()))
        if isinstance(result, tuple):
            return result[0]
        return getattr(result, "confidences", result)

    for dtype, expected in (("float16", "float32"), ("float64", "float64")):
        arguments = row.data(rng, dtype=dtype).arguments()
        result = getattr(um, row.name)(**arguments, **case)
        assert leaf(result).dtype == expected


@every_case
def test_options_equal_numpy(row, case, rng):
    data = row.data(rng, n=24)
    labels = np.where(data.labels == 1, 255, data.labels)
    logits = rng.normal(size=[24, 3]) * 3  # Not on edges, where rounding decides.
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
def test_binary_equals_numpy(row, case, rng):
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


@every_case
def test_half_precision_bins_agree(row, case, rng):
    data = row.data(rng)
    for dtype in (tf.bfloat16, tf.float16):
        probabilities = tf.cast(data.predictions, dtype)
        arguments = {"labels": data.labels, "probabilities": probabilities}
        assert_close(
            row,
            tensorflow_value(row, case, **arguments),
            numpy_value(
                row, case, **{**arguments, "probabilities": np.asarray(probabilities)}
            ),
            atol=3e-7,
        )


def compiled(row, cases, arguments, jit_compile, weighted):
    """Runs the function in a graph with a batch size unknown to it, or under XLA; once
    for each case, all compiled at once.
    """
    names = ["labels", "probabilities"] + ["sample_weight"] * weighted

    def function(*tensors):
        data = dict(zip(names, tensors, strict=True))
        results = [getattr(um, row.name)(**data, **case) for case in cases]
        return [
            [result.counts, result.confidences, result.accuracies]
            if hasattr(result, "counts")
            else result
            for result in results
        ]

    tensors = [tf.constant(arguments[name]) for name in names]
    signature = None
    if not jit_compile:
        signature = [tf.TensorSpec([None, *t.shape[1:]], t.dtype) for t in tensors]
    run = tf.function(function, jit_compile=jit_compile, input_signature=signature)
    for result in run(*tensors):
        if isinstance(result, list):
            held = (result[0] > 0) | tf.math.is_nan(result[0])
            yield np.concatenate([part[held].numpy() for part in result])
        else:
            yield row.array(result)


@every_row
@pytest.mark.parametrize(
    ("dtype", "weighted"),
    [
        (np.float32, True),
        # `test_halves_agree_in_every_form_of_the_arguments` has graphs of float64 too.
        pytest.param(np.float64, False, marks=pytest.mark.exhaustive),
        pytest.param(np.float32, False, marks=pytest.mark.exhaustive),
        pytest.param(np.float64, True, marks=pytest.mark.exhaustive),
    ],
)
def test_graph_equals_numpy(row, dtype, weighted, rng):
    arguments = row.data(rng, dtype=dtype).arguments(weighted)
    results = compiled(row, row.cases, arguments, False, weighted)
    for case, result in zip(row.cases, results, strict=True):
        expected = numpy_value(row, case, **arguments)
        assert_close(row, result, expected, atol=ATOL[dtype])


@first_of_kernel(catalogue.FUNCTIONS)
def test_xla_equals_numpy(row, rng):
    # One weighted case of each row: compiling is slow, and the graphs are the same.
    arguments = row.data(rng, dtype=np.float32).arguments(True)
    cases = row.cases[-1:] if row.slow else (row.cases[-1], row.cases[0])
    results = compiled(row, cases, arguments, True, True)
    for case, result in zip(cases, results, strict=True):
        assert_close(row, result, numpy_value(row, case, **arguments), atol=3e-7)


@every_bad
def test_bad_data_raises_in_eager_execution(row, bad):
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
            return row.array(getattr(um, row.name)(**arguments, **row.cases[0]))

        with pytest.raises(ValueError, match=word):
            tf.function(function, autograph=False)()


@first_of_kernel(catalogue.FUNCTIONS)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_bad_values_are_nan_in_a_graph(row, jit_compile):
    def flat(arguments, options):
        result = getattr(um, row.name)(**arguments, **options, **row.cases[0])
        if hasattr(result, "counts"):
            return tf.concat([result.counts, result.confidences, result.accuracies], 0)
        return tf.stack(tf.nest.flatten(result))

    function = tf.function(flat, autograph=False, jit_compile=jit_compile)
    for bad in catalogue.VALUES:
        if bad not in row.bad_data():
            continue
        arguments, _ = catalogue.bad_data(bad)
        if (jit_compile or row.slow) and bad != "label nan":
            continue  # Compiling is slow; the graphs differ in nothing else.
        options = {k: v for k, v in arguments.items() if isinstance(v, int)}
        tensors = {k: tf.constant(v) for k, v in arguments.items() if k not in options}
        assert np.all(np.isnan(function(tensors, options))), bad


class Foreign:
    """A tensor of another framework that does not convert to NumPy."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *args, **kwargs):
        raise self.error


@every_row
def test_foreign_tensors_and_text_name_the_argument(row):
    good = {"labels": [0, 1], "probabilities": [[0.5, 0.5]] * 2}
    for error in (RuntimeError("call detach()"), TypeError("unsupported BFloat16")):
        for name in good:
            for value in (numpy_value, tensorflow_value):
                with pytest.raises(TypeError, match=f"`{name}`.*{error.args[0][:6]}"):
                    value(row, row.cases[0], **{**good, name: Foreign(error)})
    for text in (["a", "b"], tf.constant(["a", "b"])):
        with pytest.raises(ValueError, match=r"`labels`.*np\.unique"):
            tensorflow_value(row, row.cases[0], **{**good, "labels": text})


@first_of_kernel(catalogue.FUNCTIONS)
def test_sizes_that_are_static_in_some_arguments(row, rng):
    arguments = row.data(rng, n=6, dtype=np.float32).arguments(True)
    case = row.cases[0]
    expected = numpy_value(row, case, **arguments)
    for dynamic in ((0,), (1,), (0, 2)):
        signature = [
            tf.TensorSpec([None if i in dynamic else 6, *array.shape[1:]], array.dtype)
            for i, array in enumerate(map(tf.constant, arguments.values()))
        ]

        @tf.function(input_signature=signature, autograph=False)
        def function(labels, probabilities, sample_weight):
            result = getattr(um, row.name)(
                labels, probabilities, sample_weight=sample_weight, **case
            )
            if hasattr(result, "counts"):
                return [result.counts, result.confidences, result.accuracies]
            return result

        result = function(*arguments.values())
        if isinstance(result, list):
            held = result[0] > 0
            result = np.concatenate([part[held].numpy() for part in result])
        else:
            result = row.array(result)
        assert_close(row, result, expected, atol=3e-7)


@every_row
def test_bad_options_raise(row, rng):
    arguments = row.data(rng).arguments()
    for options, word in row.bad_options:
        with pytest.raises(ValueError, match=word):
            tensorflow_value(row, options, **arguments)


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
    predictions = rng.dirichlet(np.ones(3), 6)  # No ties, where decisions change.
    data = {"labels": labels, "sample_weight": rng.uniform(0.5, 2, 6)}
    if name == "logits":
        predictions = 3 * np.log(predictions)
    for case in row.cases:

        def value(predictions, case=case):
            result = getattr(um, row.name)(**data, **{name: predictions}, **case)
            return tf.reduce_sum([tf.sin(part) for part in tf.nest.flatten(result)])

        variable = tf.constant(predictions)
        with tf.GradientTape() as tape:
            tape.watch(variable)
            total = value(variable)
        gradient = tape.gradient(total, variable)
        expected = references.slopes(value, predictions)
        np.testing.assert_allclose(gradient, expected, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("row", objects("tensorflow"), ids=lambda row: row.name)
def test_objects_can_be_copied(row, rng):
    made = row.make(um, rng)
    again = copy.deepcopy(made)
    assert type(again) is type(made)
    np.testing.assert_equal(contents(again), contents(made))
