"""Detection in TensorFlow: NumPy = eager = graph = XLA, and what is refused."""

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
    """Returns the values of both rooms."""
    return (
        getattr(um, row.name)(labels, scores, **case, **options),
        getattr(um_np, row.name)(labels, scores, **case, **options),
    )


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eager_equals_numpy(row, case, dtype, rng):
    labels, scores, weights = make(row, rng, dtype)
    known = labels != 255
    for result, expected in (
        both(row, case, labels[known], scores[known]),
        both(row, case, labels[known, None], scores[known]),
        both(row, case, labels, scores, ignore_index=255),
        both(row, case, labels, scores, ignore_index=255, sample_weight=weights),
    ):
        np.testing.assert_allclose(result, expected, rtol=0, atol=ATOL[dtype])
    assert both(row, case, labels[known], scores[known])[0].dtype == dtype


@every_case
def test_integers_keep_their_order(row, case, rng):
    labels, scores, _ = make(row, rng, np.float64)
    labels = labels == 1
    for wide in ((8 * scores).astype(np.int8), (8 * scores + 2**40).astype(np.int64)):
        result, expected = both(row, case, labels, wide)
        np.testing.assert_allclose(result, expected, rtol=0, atol=3e-7)


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_equals_numpy(row, case, dtype, jit_compile, rng):
    labels, scores, weights = make(row, rng, dtype)

    def value(labels, scores, weights):
        options = {"sample_weight": weights, "ignore_index": 255}
        return getattr(um, row.name)(labels, scores, **case, **options)

    signature = None
    if not jit_compile:
        signature = [tf.TensorSpec([None], array.dtype) for array in (labels, scores)]
        signature.append(tf.TensorSpec([None], tf.float64))
    run = tf.function(value, jit_compile=jit_compile, input_signature=signature)
    expected = getattr(um_np, row.name)(
        labels, scores, sample_weight=weights, ignore_index=255, **case
    )
    result = run(tf.constant(labels), tf.constant(scores), tf.constant(weights))
    np.testing.assert_allclose(result, expected, rtol=0, atol=ATOL[dtype])


def bad_values():
    labels, scores = np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.3, 0.2])
    wrong = np.array([0.1, np.nan, 0.3, 0.2])
    return {
        "label 2": ((labels + 1, scores), {}, "labels"),
        "label nan": ((np.where(labels, np.nan, 0), scores), {}, "labels"),
        "swapped": ((scores, labels), {}, "swapped"),
        "score nan": ((labels, wrong), {}, "scores"),
        "score infinite": ((labels, np.where(labels, np.inf, 0)), {}, "scores"),
        "weight": ((labels, scores), {"sample_weight": -scores}, "sample_weight"),
        "zero weights": ((labels, scores), {"sample_weight": 0 * scores}, "labels"),
        "no positive": ((0 * labels, scores), {}, "labels"),
        "all ignored": ((0 * labels, scores), {"ignore_index": 0}, "labels"),
    }


BAD_SHAPES = (
    (([0, 1, 1], [0.1, 0.2]), "scores"),
    (([], []), "labels"),
    (([[0], [1, 1]], [0.1, 0.2]), "labels"),
    (([0, 1], [[0.1, 0.9], [0.2, 0.8]]), "scores"),
)


@every_row
def test_bad_data_raises_alike(row):
    for name, (arguments, options, word) in bad_values().items():
        messages = []
        for room in (um, um_np):
            with pytest.raises(ValueError, match=word) as raised:
                getattr(room, row.name)(*arguments, **options)
            assert "Received" in str(raised.value)
            messages.append(str(raised.value))
        assert messages[0] == messages[1], name
    for arguments, word in BAD_SHAPES:
        for room in (um, um_np):
            with pytest.raises(ValueError, match=word):
                getattr(room, row.name)(*arguments)
    for room in (um, um_np):
        with pytest.raises(TypeError, match="scores"):
            getattr(room, row.name)([0, 1], ["a", "b"])


@every_row
def test_one_class_alone(row):
    arguments = ([1, 1, 1], [0.1, 0.2, 0.3])
    for room in (um, um_np):
        if row.name == "aupr":
            assert float(room.aupr(*arguments)) == 1.0
            continue
        with pytest.raises(ValueError, match="labels"):
            getattr(room, row.name)(*arguments)


@every_row
def test_bad_data_is_nan_in_a_graph(row):
    for name, (arguments, options, _) in bad_values().items():
        function = tf.function(getattr(um, row.name), autograph=False)
        tensors = [tf.constant(argument) for argument in arguments]
        assert np.isnan(function(*tensors, **options)), name
    for arguments, word in BAD_SHAPES:
        with pytest.raises(ValueError, match=word):
            tf.function(getattr(um, row.name), autograph=False)(*arguments)


@every_row
def test_bad_options_raise(row, rng):
    labels, scores, _ = make(row, rng, np.float64)
    for options, word in row.bad_options:
        for room in (um, um_np):
            with pytest.raises(ValueError, match=word):
                getattr(room, row.name)(labels % 2, scores, **options)
