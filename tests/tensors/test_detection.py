"""Detection metrics on tensors: equal to NumPy, eager and compiled; bad data."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

every_case = pytest.mark.parametrize(
    ("row", "case"),
    [
        pytest.param(row, case, id=f"{row.name}-{i}")
        for row in catalogue.DETECTION_ROWS
        for i, case in enumerate(row.cases)
    ],
)
every_row = pytest.mark.parametrize(
    "row", catalogue.DETECTION_ROWS, ids=lambda row: row.name
)

ATOL = {np.float32: 3e-7, np.float64: 1e-12}


def make(row, rng, dtype, n=50):
    """Makes data with ties, weights and a label to ignore."""
    data = row.arguments(rng, [n])
    labels = np.where(rng.uniform(size=n) < 0.2, 255, data["labels"]).astype(int)
    labels[:2] = 0, 1
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    weights[:2] = 1.0
    return labels, data["scores"].astype(dtype), weights


def both(row, case, labels, scores, **options):
    """Returns the values of both halves."""
    return (
        row.find(um)(labels, scores, **case, **options),
        row.find(um_np)(labels, scores, **case, **options),
    )


@every_case
def test_integer_scores_equal_numpy(row, case, rng):
    labels, scores, _ = make(row, rng, np.float64)
    labels = labels == 1
    for wide in ((8 * scores).astype(np.int8), (8 * scores + 2**40).astype(np.int64)):
        result, expected = both(row, case, labels, wide)
        np.testing.assert_allclose(result, expected, rtol=0, atol=3e-7)


@every_case
@pytest.mark.parametrize(
    ("dtype", "jit_compile"),
    [
        (np.float64, False),
        pytest.param(np.float32, True, marks=pytest.mark.thorough),
        pytest.param(np.float32, False, marks=pytest.mark.exhaustive),
        pytest.param(np.float64, True, marks=pytest.mark.exhaustive),
    ],
)
def test_tensors_equal_numpy(row, case, dtype, jit_compile, rng):
    labels, scores, weights = make(row, rng, dtype)
    known = labels != 255
    for result, expected in (
        both(row, case, labels[known], scores[known]),
        both(row, case, labels[known, None], scores[known]),
        both(row, case, labels, scores, ignore_index=255),
        both(row, case, labels, scores, ignore_index=255, sample_weight=weights),
    ):
        np.testing.assert_allclose(result, expected, rtol=0, atol=ATOL[dtype])
        assert result.dtype == dtype
    if jit_compile and case is not row.cases[0]:
        return  # The graphs are the same, and compiling is slow.

    def value(labels, scores, weights):
        options = {"sample_weight": weights, "ignore_index": 255}
        return row.find(um)(labels, scores, **case, **options)

    types = (labels.dtype, dtype, np.float64)
    signature = None if jit_compile else [tf.TensorSpec([None], t) for t in types]
    run = tf.function(value, jit_compile=jit_compile, input_signature=signature)
    result = run(tf.constant(labels), tf.constant(scores), tf.constant(weights))
    np.testing.assert_allclose(result, expected, rtol=0, atol=ATOL[dtype])


def bad_values():
    labels, scores = np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.3, 0.2])
    binary = "`labels` must be 0 or 1"
    absent = "`labels` must be 1 for at least one"
    for wrong in (2, -1, 0.5, np.nan):
        yield [[0, 1, wrong, 0], scores], {}, rf"{binary}.* Received: .* at \[2\]"
    yield [scores, labels], {}, "swapped"
    for wrong in (np.nan, np.inf, -np.inf):
        bad = [0.1, wrong, 0.3, 0.2]
        yield [labels, bad], {}, rf"`scores` must be finite. Received: {wrong} at"
    for wrong in np.array([[1.0, -1.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0]]):
        yield [labels, scores], {"sample_weight": wrong}, "`sample_weight` must be fin"
    no_example = "`labels` must hold at least one example of"
    yield [labels, scores], {"sample_weight": 0 * scores}, no_example
    yield [0 * labels, scores], {"ignore_index": 0}, no_example
    yield [0 * labels, scores], {}, absent
    yield [labels, scores], {"sample_weight": 1.0 - labels}, absent


BAD_SHAPES = (
    (([0, 1, 1], [0.1, 0.3]), r"`scores` must be of the shape of `labels`, \[3\]"),
    (([0, 1, 1], 0.1), "`scores` must be of the shape"),
    (([0, 1, 1], [[0.1, 0.2, 0.3]]), "`scores` must be of the shape"),
    (([0, 1], [[0.1, 0.9], [0.2, 0.8]]), "`scores` must be of the shape"),
    (([], []), "`labels` must hold at least one example"),
    (([[0], [1, 1]], [0.1, 0.2]), "`labels` must be a rectangular"),
    ((["a", "b"], [0.1, 0.2]), r"`labels` must be .*um\.class_indices"),
)


@every_row
def test_bad_data_raises_the_same_message_in_both_halves(row):
    shapes = [(arguments, {}, word) for arguments, word in BAD_SHAPES]
    for arguments, options, word in (*bad_values(), *shapes):
        messages = []
        for room in (um, um_np):
            with pytest.raises(ValueError, match=word) as raised:
                row.find(room)(*arguments, **options)
            assert "Received" in str(raised.value)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
    for room in (um, um_np):
        with pytest.raises(ValueError, match="sample_weight"):
            row.find(room)([0, 1, 1], [0.1, 0.2, 0.3], sample_weight=[1, 1])
        with pytest.raises(TypeError, match="scores"):
            row.find(room)([0, 1], ["a", "b"])


@every_row
def test_labels_of_one_class_raise_except_for_aupr(row):
    arguments = ([1, 1, 1], [0.1, 0.2, 0.3])
    for room in (um, um_np):
        if row.name == "aupr":
            assert float(room.aupr(*arguments)) == 1.0
            continue
        with pytest.raises(ValueError, match="`labels` must be 0 for at least one"):
            row.find(room)(*arguments)


@pytest.mark.thorough
@every_row
def test_bad_data_is_nan_in_a_graph(row):
    function = tf.function(row.find(um), autograph=False)
    for arguments, options, word in bad_values():
        tensors = [tf.constant(argument, tf.float64) for argument in arguments]
        options = {
            name: tf.constant(value) if name == "sample_weight" else value
            for name, value in options.items()
        }
        assert np.isnan(function(*tensors, **options)), word
    for arguments, word in BAD_SHAPES:
        with pytest.raises(ValueError, match=word):
            tf.function(row.find(um), autograph=False)(*arguments)


@pytest.mark.parametrize("average", ["macro", None])
@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize(
    "dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.thorough)]
)
def test_the_auroc_of_classes_and_labels_equals_numpy(dtype, multilabel, average, rng):
    scores = np.round(4 * rng.normal(size=(60, 3))).astype(dtype)
    shape = (60, 3) if multilabel else (60,)
    labels = rng.integers(0, 2 if multilabel else 3, shape)
    labels[:3] = [[0], [1], [0]] if multilabel else [0, 1, 2]
    labels[3:][rng.random((57, *shape[1:])) < 0.2] = 255
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], 60)
    weights[:3] = 1.0
    options = {"multilabel": multilabel, "average": average, "ignore_index": 255}

    def value(labels, scores, weights):
        return um.auroc(labels, scores, sample_weight=weights, **options)

    graph = tf.function(value, autograph=False)
    for given in (None, weights):
        expected = um_np.auroc(labels, scores, sample_weight=given, **options)
        for function in (value, graph):
            of_tensors = None if given is None else tf.constant(given, dtype)
            found = function(tf.constant(labels), tf.constant(scores), of_tensors)
            np.testing.assert_allclose(found, expected, rtol=0, atol=ATOL[dtype])
            assert found.dtype == dtype
    bad = graph(tf.zeros_like(labels), tf.constant(scores), None)
    assert np.isnan(bad).all()
