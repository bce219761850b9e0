"""Arithmetic of rows [..., K], such as the logits of an example, in float64."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from uncertainty_metrics.numpy import _threads

# With this few columns, work on whole columns takes less time than on rows. NumPy adds
# eight numbers or more several at once, and fewer one after the other, so the sums of
# whole columns have the same bits.
_FEW_MAXIMA, _FEW_SUMS, _FEW_PRODUCTS = 16, 7, 4
# NumPy adds the numbers of a row in eight parts, where there are as many; and the rest
# one after the other, where it has fewer than eight.
_PARTS = 8
FEW_COLUMNS = 2 * _PARTS - 1


def largest(rows: np.ndarray) -> np.ndarray:
    """Returns the largest number of each row, [...]; -inf for K = 0."""
    if 0 < rows.shape[-1] <= _FEW_MAXIMA:
        return functools.reduce(np.maximum, np.moveaxis(rows, -1, 0))
    return rows.max(axis=-1, initial=-np.inf)


def argmax(rows: np.ndarray) -> np.ndarray:
    """Returns where the largest number of each row is, float64 [...], the first of
    ties.

    NumPy copies an array that may not be written, such as that of a tensor. The copy of
    a block of rows is small, and stays in the cache.
    """
    return in_blocks(lambda block: block.argmax(axis=-1), rows)


def sums(rows: np.ndarray) -> np.ndarray:
    """Returns the sum of each row, [...]."""
    if 0 < rows.shape[-1] <= _FEW_SUMS:
        return functools.reduce(np.add, np.moveaxis(rows, -1, 0))
    return rows.sum(axis=-1)


def as_columns(rows: np.ndarray) -> np.ndarray:
    """Returns a float64 copy of rows [..., K] as contiguous columns, [K, n].

    NumPy takes more time for each short row than for its numbers.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    columns = np.empty(flat.shape[::-1])
    columns[...] = flat.T
    return columns


def sum_of_columns(columns: np.ndarray) -> np.ndarray:
    """Returns the sum [n] of at most `FEW_COLUMNS` columns [K, n], with the bits of the
    sums of rows [n, K].
    """
    if len(columns) < _PARTS:
        return functools.reduce(np.add, columns)
    parts = columns[:_PARTS]
    while len(parts) > 1:
        parts = parts[::2] + parts[1::2]
    return functools.reduce(np.add, columns[_PARTS:], parts[0])


def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Returns the sums of x * y over the last axis, without an array of products."""
    if 0 < x.shape[-1] <= _FEW_PRODUCTS:
        columns = zip(np.moveaxis(x, -1, 0), np.moveaxis(y, -1, 0), strict=True)
        return functools.reduce(np.add, (a * b for a, b in columns))
    return np.matmul(x[..., None, :], y[..., None])[..., 0, 0]


def below_maximum(logits: np.ndarray) -> np.ndarray:
    """Returns float64 logits [..., K] minus the largest of their row."""
    below = logits.astype(np.float64)
    with np.errstate(over="ignore"):  # A difference may be -inf.
        below -= largest(below)[..., None]
    return below


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns float64 probabilities of logits [..., K]; -inf is probability 0."""
    if 0 < logits.shape[-1] <= FEW_COLUMNS:
        return _softmax_by_columns(logits)
    exponentials = below_maximum(logits)
    np.exp(exponentials, out=exponentials)
    exponentials /= sums(exponentials)[..., None]
    return exponentials


def _softmax_by_columns(logits: np.ndarray) -> np.ndarray:
    """Returns `softmax` of a few classes, with the same bits."""
    columns = as_columns(logits)
    with np.errstate(over="ignore"):  # A difference may be -inf.
        columns -= columns.max(axis=0)
    np.exp(columns, out=columns)
    columns /= sum_of_columns(columns)
    return np.ascontiguousarray(columns.T).reshape(logits.shape)


def in_blocks(
    function: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, *shape: int
) -> np.ndarray:
    """Returns a function of all rows [..., K] of a large array, float64 [..., *shape].

    Args:
      function: maps the rows of a block, [n, K], to results [n, *shape].
      rows: the array.
      *shape: the shape of the result of a row.
    """
    out = np.empty(rows.shape[:-1] + shape)
    n, size = math.prod(rows.shape[:-1]), rows.shape[-1]
    flat = rows.reshape(n, size)
    results = out.reshape(n, *shape)
    _threads.fill_rows(results, lambda block: function(flat[block]), size)
    return out[()]


def in_double(function: Callable[..., None], *arrays: np.ndarray) -> np.ndarray:
    """Returns an elementwise function of arrays [...] or [..., Q], in float64.

    Args:
      function: takes float64 copies of a block of each array, [n, 1] or [n, Q], which
        it may overwrite, and writes its results to one more array, of the shape of the
        last block.
      *arrays: floating; the first is [...], with or without a last axis of 1.
    """
    out = np.empty(arrays[-1].shape)
    n = arrays[0].size
    *inputs, results = (
        array.reshape(n, array.size // max(n, 1)) for array in (*arrays, out)
    )
    # Three or four arrays of a block share the cache, so it is half as long.
    step = _threads.rows_of_block(2 * results.shape[1])

    def fill(rows: slice) -> None:
        copies = [np.empty((min(step, n), array.shape[1])) for array in inputs]
        for block in _threads.blocks(rows, step):
            used = [copy[: block.stop - block.start] for copy in copies]
            for copy, array in zip(used, inputs, strict=True):
                copy[...] = array[block]
            function(*used, results[block])

    _threads.map_rows(fill, n, results.shape[1], step)
    return out[()]


def of_samples(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    labels: np.ndarray,
    samples: np.ndarray,
) -> np.ndarray:
    """Returns a function of labels [...] and samples [..., m], float64 [...].

    The function is called for blocks of rows, [n] and [n, m]. It must not change its
    arguments.
    """
    out = np.empty(labels.shape)
    flat, rows = labels.reshape(-1), samples.reshape(labels.size, samples.shape[-1])

    def of_block(block: slice) -> np.ndarray:
        return function(flat[block], rows[block])

    _threads.fill_rows(out.reshape(-1), of_block, samples.shape[-1])
    return out[()]
