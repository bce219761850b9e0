"""Arithmetic of short rows by columns has the bits of NumPy's arithmetic of rows."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _inputs, _row_math


def rows_of(shape, dtype, rng):
    return (5 * rng.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("classes", range(1, _row_math.FEW_COLUMNS + 1))
def test_sums_of_columns_have_the_bits_of_sums_of_rows(classes, rng):
    rows = rows_of((1000, classes), np.float64, rng)
    columns = _row_math.as_columns(rows)
    np.testing.assert_array_equal(
        _row_math.sum_of_columns(columns), rows.sum(axis=1), strict=True
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("classes", [1, 2, 7, 8, 10, 15, 16, 20])
@pytest.mark.parametrize("leading", [(), (0,), (1,), (300,), (6, 5)])
def test_softmax_has_the_bits_of_the_formula(dtype, classes, leading, rng):
    logits = rows_of((*leading, classes), dtype, rng)
    if len(logits) >= 6 and leading:  # Wrong numbers spoil their own row only.
        logits[1, 0], logits[3, 0], logits[5, 0] = -np.inf, np.nan, np.inf
    z = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        z = np.exp(z - z.max(axis=-1, keepdims=True))
        softmax = _row_math.softmax(logits)
        np.testing.assert_array_equal(
            softmax, z / z.sum(axis=-1, keepdims=True), strict=True
        )
    assert softmax.flags.c_contiguous


@pytest.mark.parametrize("classes", [2, 3, 10, 15, 16])
@pytest.mark.parametrize("scale", [1, 300, 1e4])
def test_likelihoods_are_those_of_a_loop(classes, scale, rng):
    logits = scale * rng.normal(size=(200, classes))
    labels = rng.integers(0, classes, 200)
    logits[0, (labels[0] + 1) % classes] = -np.inf
    expected = [
        np.logaddexp.reduce(row) - row[label]
        for row, label in zip(logits, labels, strict=True)
    ]
    scores = um.negative_log_likelihood(labels, logits=logits, aggregate=False)
    np.testing.assert_allclose(scores, expected, rtol=1e-13, atol=1e-13 * scale)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 10])
def test_large_logits_are_right_although_their_sum_overflows(dtype, classes):
    logits = np.full((50, classes), np.finfo(dtype).max, dtype)
    logits[::2] = np.finfo(dtype).min
    _inputs.check_logits(logits)
    _inputs.check_logits(np.abs(logits))
    logits[:, 0] = -np.inf
    _inputs.check_logits(logits)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [(70000, 2), (40, 3, 10), (4,)])
def test_one_wrong_logit_of_many_is_found(wrong, shape):
    logits = np.zeros(shape, np.float32)
    logits.reshape(-1)[0], logits.reshape(-1)[-1] = -np.inf, wrong
    with pytest.raises(ValueError, match=f"Received: {wrong}"):
        _inputs.check_logits(logits)
