"""Sweeps over every function of the NumPy half."""

import contextlib
import copy
import functools
import inspect
import operator
import pickle
import warnings

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from tests.catalogue import (
    SHAPES,
    VALUES,
    cases_that_take,
    each,
    each_with,
    every_bad,
    every_case,
    every_real_case,
    every_row,
)
from tests.fuzz import outcomes

CALLABLES = [row for row in catalogue.CALLABLES if row.half != "tensors"]
every_other = each(row for row in CALLABLES if row not in catalogue.FUNCTIONS)
# With folds, each example is in a random fold, so repetition matters.
WEIGHTED = [
    row
    for row in catalogue.FUNCTION_ROWS
    if row.takes("sample_weight") and not (row.random or row.takes("folds"))
]


def objects(half):
    return [row for row in catalogue.OBJECTS if row.make and half in row.halves]


def contents(value):
    """Returns the content of an object, as dicts, lists and arrays."""
    if isinstance(value, tuple):
        return [contents(part) for part in value]
    if hasattr(value, "__dict__"):
        return {name: contents(part) for name, part in vars(value).items()}
    return np.asarray(value) if hasattr(value, "shape") else value


def check_copies(made):
    for again in (
        copy.copy(made),
        copy.deepcopy(made),
        pickle.loads(pickle.dumps(made)),
    ):
        assert type(again) is type(made)
        np.testing.assert_equal(contents(again), contents(made))


def call(row, case, **arguments):
    return row.array(row.find(um)(**arguments, **case))


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_naive_reference(row, case, dtype, weighted, rng):
    arguments = row.data(rng, dtype=dtype).arguments(weighted)
    expected = row.array(row.reference(**arguments, **case))
    np.testing.assert_allclose(call(row, case, **arguments), expected, atol=1e-12)


@every_real_case
def test_scores_of_forecasts_equal_the_naive_reference(row, case, rng):
    arguments = row.arguments(rng)
    expected = row.reference(**arguments, **case)
    result = row.find(um)(**arguments, **case)
    np.testing.assert_allclose(result, expected, atol=1e-11)


@every_case
def test_order_of_examples_does_not_matter(row, case, rng):
    data = row.data(rng)
    order = rng.permutation(len(data.labels))
    shuffled = catalogue.Data(
        data.labels[order], data.predictions[order], data.weights[order]
    )
    np.testing.assert_allclose(
        call(row, case, **shuffled.arguments(True)),
        call(row, case, **data.arguments(True)),
        atol=1e-12,
    )


@every_case
def test_weights_count_as_repeated_examples(row, case, rng):
    data = row.data(rng)
    weights = rng.integers(0, 4, len(data.labels))
    times = np.repeat(np.arange(len(data.labels)), weights)
    np.testing.assert_allclose(
        call(row, case, **data.arguments(), sample_weight=weights),
        call(
            row,
            case,
            labels=data.labels[times],
            probabilities=data.predictions[times],
        ),
        atol=1e-12,
    )


# With `datapoints_per_bin` the bins depend on the total weight.
every_scaled_case = each_with(
    "case",
    lambda row: [case for case in row.cases if "datapoints_per_bin" not in case],
)


def check_equal_weights(row, case, rng, weight):
    arguments = row.data(rng).arguments()
    weights = np.full(len(arguments["labels"]), weight)
    np.testing.assert_allclose(
        call(row, case, **arguments, sample_weight=weights),
        call(row, case, **arguments),
        atol=1e-12,
    )


@every_scaled_case
def test_scale_of_equal_weights_does_not_matter(row, case, rng):
    for weight in (0.1, 1e-12):
        check_equal_weights(row, case, rng, weight)


@every_scaled_case
def test_large_equal_weights_do_not_matter(row, case, rng):
    check_equal_weights(row, case, rng, 1e12)


@every_case
def test_ignored_label_is_removed(row, case, rng):
    data = row.data(rng)
    kept = data.labels != 1
    labels = np.where(kept, data.labels, 255)
    probabilities = np.where(kept[:, None], data.predictions, np.nan)
    np.testing.assert_allclose(
        call(row, case, labels=labels, probabilities=probabilities, ignore_index=255),
        call(row, case, labels=data.labels[kept], probabilities=data.predictions[kept]),
        atol=1e-12,
    )


@every_case
def test_logits_equal_probabilities(row, case, rng):
    labels = rng.integers(0, 4, 30)
    logits = rng.normal(size=[30, 4]) * 3
    logits[3, 2] = -np.inf
    np.testing.assert_allclose(
        call(row, case, labels=labels, logits=logits + 7),
        call(row, case, labels=labels, probabilities=references.softmax(logits)),
        atol=1e-12,
    )


@every_case
def test_binary_forms_are_the_same(row, case, rng):
    labels = rng.integers(0, 2, 30)
    p = rng.uniform(size=30)
    pairs = np.stack([1 - p, p], axis=1)
    if row.takes("positive_class"):  # The forms have different conventions.
        case = {"positive_class": False, **case}
    expected = call(row, case, labels=labels, probabilities=pairs)
    name = "probs" if row.takes("probs") else "probabilities"
    for arguments in (
        {"labels": labels, "probabilities": p},
        {"labels": labels[:, None], "probabilities": p[:, None]},
        {"labels": labels, name: p[:, None]},
        {"labels": labels.astype(float), "logits": np.log(p) - np.log1p(-p)},
        {"labels": labels.reshape(5, 6), "probabilities": p.reshape(5, 6)},
        {"labels": labels.tolist(), "probabilities": pairs.tolist()},
    ):
        np.testing.assert_allclose(call(row, case, **arguments), expected, atol=1e-9)


@every_case
def test_leading_axes_are_flattened(row, case, rng):
    data = row.data(rng, n=24)
    images = {
        "labels": data.labels.reshape(2, 3, 4),
        "probabilities": data.predictions.reshape(2, 3, 4, 3),
    }
    per_image = np.array([1.0, 3.0])
    np.testing.assert_allclose(
        call(row, case, **images, sample_weight=per_image),
        call(row, case, **data.arguments(), sample_weight=np.repeat(per_image, 12)),
        atol=1e-12,
    )


@cases_that_take("labels_predicted")
def test_given_decisions_replace_the_argmax(row, case, rng):
    data = row.data(rng)
    predicted = rng.integers(0, 3, len(data.labels))
    arguments = {**data.arguments(), "labels_predicted": predicted}
    expected = row.array(row.reference(**arguments, **case))
    np.testing.assert_allclose(call(row, case, **arguments), expected, atol=1e-12)
    argmax = np.argmax(data.predictions, axis=1)
    np.testing.assert_array_equal(
        call(row, case, **data.arguments(), labels_predicted=argmax),
        call(row, case, **data.arguments()),
    )


@cases_that_take("positive_class")
def test_positive_class_equals_the_reference(row, case, rng):
    labels = rng.integers(0, 2, 40)
    p = np.round(rng.uniform(size=40), 1)
    expected = row.array(row.reference(labels, p, **case, positive_class=True))
    arguments = {"labels": labels, "probabilities": p, "positive_class": True}
    np.testing.assert_allclose(call(row, case, **arguments), expected, atol=1e-12)
    with pytest.raises(ValueError, match="positive_class"):
        call(row, case, **row.data(rng).arguments(), positive_class=True)


@every_case
def test_corner_data_equal_the_reference(row, case):
    for labels, probabilities in (
        ([1], [[0.2, 0.8]]),  # One example.
        ([0, 0, 0], [[1.0, 0.0]] * 3),  # All right, certain, one class absent.
        ([1, 1, 1], [[1.0, 0.0]] * 3),  # All wrong, certain.
        ([0, 1], [[-0.0, 1.0], [1.0, -0.0]]),  # Negative zeros are zeros.
        ([0, 1, 0, 1], [[0.5, 0.5]] * 4),  # Nothing but ties.
    ):
        labels, probabilities = np.array(labels), np.array(probabilities)
        expected = row.array(row.reference(labels, probabilities + 0.0, **case))
        result = call(row, case, labels=labels, probabilities=probabilities)
        np.testing.assert_allclose(result, expected, atol=1e-12)


@every_case
def test_inputs_are_not_changed(row, case, rng):
    arguments = row.data(rng).arguments(True)
    before = {name: value.copy() for name, value in arguments.items()}
    for value in arguments.values():
        value.flags.writeable = False
    call(row, case, **arguments)
    for name, value in arguments.items():
        np.testing.assert_array_equal(value, before[name])


@every_bad
def test_bad_data_raises(row, bad):
    arguments, word = catalogue.bad_data(bad)
    with pytest.raises(ValueError, match=word) as raised:
        call(row, row.cases[0], **arguments)
    assert "Received" in str(raised.value)


@cases_that_take("num_bins")
def test_number_of_bins_is_bounded(row, case):
    for number in (10**6 + 1, 10**15):  # Raises before the bad data do.
        with pytest.raises(ValueError, match=r"`num_bins` must be .* at most 1000000"):
            call(row, {**case, "num_bins": number}, labels=[0, 1], probabilities=[7])


EXTREME = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308)


def extremes(array):
    """Yields arrays with one and with many extreme entries."""
    for value in EXTREME:
        one = np.array(array, np.float64)
        one.reshape(-1)[1] = value
        yield one
        yield np.full(array.shape, value) * (-1) ** np.arange(array.size).reshape(
            array.shape
        )


def silently(function, *data, **options):
    with warnings.catch_warnings():
        # Some functions warn of a large variance of logp.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        with contextlib.suppress(ValueError, RuntimeError):  # Or a fit does not end.
            function(*data, **options)


@every_row
def test_extreme_numbers_do_not_warn(row, rng):
    arguments = row.data(rng, n=8).arguments(True)
    arguments["logits"] = rng.normal(size=[8, 3])
    for name, array in arguments.items():
        given = dict(arguments)
        del given["probabilities" if name == "logits" else "logits"]
        for case in row.cases:
            for extreme in extremes(array):
                silently(call, row, case, **{**given, name: extreme})


def arrays(arguments):
    return {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}


@every_other
def test_extreme_arguments_of_other_functions_do_not_warn(row, rng):
    arguments = row.draw(rng, (6,))
    for name, array in arrays(arguments).items():
        for extreme in extremes(array):
            silently(row.find(um), **{**arguments, name: extreme})


@every_other
def test_inputs_of_other_functions_are_not_changed(row, rng):
    arguments = row.draw(rng, (20,))
    before = {name: value.copy() for name, value in arrays(arguments).items()}
    for name in before:
        arguments[name].flags.writeable = False
    values = [call_flat(row, arguments) for _ in range(1 if row.random else 2)]
    np.testing.assert_array_equal(values[0], values[-1])
    for name, value in before.items():
        np.testing.assert_array_equal(arguments[name], value)


def call_flat(row, arguments):
    with warnings.catch_warnings():
        # Some functions warn of too few data.
        warnings.simplefilter("ignore", UserWarning)
        return outcomes.flat(row.find(um)(**arguments))


@each(WEIGHTED)
def test_weights_and_masks_of_other_functions_count_as_repeated_examples(row, rng):
    left_out = ("sample_weight", "test_weight", "mask", "aggregate")
    arguments = {k: v for k, v in row.draw(rng, (24,)).items() if k not in left_out}
    weights = rng.integers(0, 4, 24)
    times = np.repeat(np.arange(24), weights)

    def taken(index):
        return arguments | {k: v[index] for k, v in arrays(arguments).items()}

    new_weight = {"test_weight": 1.0} if row.takes("test_weight") else {}
    np.testing.assert_allclose(
        call_flat(row, {**arguments, **new_weight, "sample_weight": weights}),
        call_flat(row, taken(times)),
        atol=1e-12,
    )
    if row.takes("mask"):
        np.testing.assert_allclose(
            call_flat(row, {**arguments, "mask": weights > 1}),
            call_flat(row, taken(weights > 1)),
            atol=1e-12,
        )


@each(CALLABLES)
def test_aliases_are_the_same_object(row):
    for alias in row.aliases:
        assert operator.attrgetter(alias)(um) is row.find(um)


@every_row
def test_error_for_text_labels_says_how_to_encode_them(row):
    for text in (["a", "b"], np.array(["a", "b"], object), np.array([b"a", b"b"])):
        said = r"`labels`.*um\.class_indices\(labels"
        with pytest.raises(ValueError, match=said) as raised:
            call(row, row.cases[0], labels=text, probabilities=[[0.5, 0.5]] * 2)
        assert "Received" in str(raised.value)
    with pytest.raises(TypeError, match="`probabilities` must hold numbers"):
        call(row, row.cases[0], labels=[0, 1], probabilities=[["a", "b"]] * 2)


def averaged(result, n):
    """Returns the numbers of a result; scores of n examples become their means."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, tuple):
        return np.concatenate([averaged(part, n) for part in result])
    if isinstance(result, np.ndarray) and len(result) == n:
        result = result.mean(axis=0)
    return np.ravel(np.asarray(result, float))


def shapes_to_resample(row):
    """Returns good shapes of the examples of a function, in a random order of kinds."""
    takes_images = not {"event", "hyperparam_range", "samples_a"} & {*row.parameters}
    return [(23,), *([(23, 2)] if takes_images else [])]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("row", "shape"),
    [
        pytest.param(
            *(row, shape),
            id=f"{row.name}-{'flat' if len(shape) == 1 else 'images'}-{i}",
            marks=[pytest.mark.exhaustive] * (i > 1),
        )
        for row in CALLABLES
        for i in range(8)
        for shape in shapes_to_resample(row)
    ],
)
def test_bootstrap_equals_calls_with_resampled_arguments(row, shape, rng):
    n, data = shape[0], row.draw(rng, shape)
    own = inspect.signature(um.bootstrap).parameters
    bound = {name: data.pop(name) for name in [*data] if name in own}
    metric = functools.partial(row.find(um), **bound)
    estimate = averaged(metric(**data), n)

    def value(index):
        drawn = {
            k: np.take(v, index, int(k == "probs" and row.takes("num_models")))
            for k, v in arrays(data).items()
        }
        return averaged(metric(**{**data, **drawn}), n)

    draws = np.random.default_rng(5)
    # Sorted, since functions assign folds by position.
    values = [value(np.sort(draws.integers(n, size=n))) for _ in range(3)]
    interval = um.bootstrap(
        metric, **data, num_resamples=3, level=0.5, method="percentile", seed=5
    )
    found = [averaged(part, None) for part in interval]
    finite = np.isfinite(values).all(axis=0) & np.isfinite(estimate)
    lower, upper = np.quantile(np.array(values)[:, finite], [0.25, 0.75], axis=0)
    np.testing.assert_allclose(found[1], estimate)
    np.testing.assert_allclose(found[0][finite], lower, atol=1e-12)
    np.testing.assert_allclose(found[2][finite], upper, atol=1e-12)


@each(objects("numpy"))
def test_objects_can_be_copied_and_pickled(row, rng):
    check_copies(row.make(um, rng))


@each_with(
    "bad",
    lambda row: [
        b for b in VALUES + SHAPES if row.takes("sample_weight") or "weight" not in b
    ],
    [
        row
        for row in (*catalogue.FUNCTION_ROWS, *catalogue.PLOTS)
        if row.takes("labels_predicted")
    ],
)
def test_other_functions_of_predictions_refuse_bad_data(row, bad):
    arguments, word = catalogue.bad_data(bad)
    if row.takes("labels_true"):
        arguments = {"num_bins": 5, "labels_true": arguments.pop("labels"), **arguments}
        word = word.replace("`labels`", "`labels_true`")
    with pytest.raises(ValueError, match=word) as raised:
        row.find(um)(**arguments)
    assert "Received" in str(raised.value)
