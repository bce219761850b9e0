"""Parts of the work of a case alone: its result cannot take less time than they do.

They are the parts of the package itself, on the same threads and in the same blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from data import (
    Decisions,
    Logits,
    NormalsByVariance,
    QuantileForecasts,
    Samples,
    Scores,
)
from harness import GRAPH, JAX, Timed

from uncertainty_metrics.numpy import _row_math, _threads
from uncertainty_metrics.ops import IS_TENSORFLOW, _execution, _pairwise, xp


def sort(data: Samples, mode: str) -> Timed:
    """Sorts the samples of each forecast."""
    samples = data.predictive_samples

    def of_block(block: slice):
        np.sort(samples[block], axis=-1)

    return Timed(call=lambda: _threads.map_blocks(of_block, *samples.shape))


def network(data: Samples, mode: str, keys: bool = False) -> Timed:
    """Sorts the samples of each forecast by the network of compiled code.

    For a gradient it sorts float64 keys, which say where a sample came from.
    """
    columns = data.predictive_samples.T.copy()
    if keys:
        columns = columns.astype(np.float64)
    return _compiled(_pairwise._network_sort, columns, mode)


def sort_integers(data: Scores | Decisions, mode: str) -> Timed:
    """Sorts integers of score and outcome, the best first."""
    outcomes, scores = data
    integers = 2 * -scores.view(np.int32).astype(np.int64) + outcomes
    sort = _execution.stable_sort if IS_TENSORFLOW else xp.sort
    return _compiled(sort, integers, mode)


def _compiled(function: Callable, array: np.ndarray, mode: str) -> Timed:
    """A function that is compiled with XLA on its own, also inside of a graph."""
    run = _execution.compiled(function, with_xla=True)
    if mode == GRAPH:
        run = _execution.compiled(run)
    with _execution.in_64_bits():
        tensor = xp.constant(array)

    def call():
        with _execution.in_64_bits():
            result = run(tensor)
        if mode == JAX:
            result.block_until_ready()

    return Timed(call=call)


def pinball(data: QuantileForecasts, mode: str, level: float) -> Timed:
    """The difference, two products and the maximum, without checks."""

    def loss(labels, quantiles, out):
        np.subtract(labels, quantiles, out=quantiles)
        np.multiply(quantiles, level, out=out)
        np.multiply(quantiles, level - 1, out=quantiles)
        np.maximum(out, quantiles, out=out)

    return Timed(call=lambda: _row_math.in_double(loss, *data))


def gaussian(data: NormalsByVariance, mode: str) -> Timed:
    """The formula in float64, without checks."""

    def total(block: slice):
        mean, variances, errors = (array[block].astype(np.float64) for array in data)
        errors -= mean
        errors *= errors
        errors /= variances
        # Fewer logarithms: of products of four.
        products = variances[: len(variances) // 4 * 4].reshape(4, -1).prod(axis=0)
        return np.log(products).sum() + errors.sum()

    return Timed(call=lambda: sum(_threads.map_blocks(total, len(data.targets))))


def exponentials(data: Logits, mode: str) -> Timed:
    """The exponentials of all logits in float64."""

    def of_block(block: slice):
        values = data.logits[block].astype(np.float64)
        np.exp(values, out=values)

    return Timed(call=lambda: _threads.map_blocks(of_block, *data.logits.shape))
