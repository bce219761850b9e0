"""Parts of the work of a case alone: its result cannot take less time than they do."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from data import (
    Decisions,
    Logits,
    NormalsByVariance,
    QuantileForecasts,
    Samples,
    Scores,
)
from harness import NUMPY, XLA, Timed


def sort(data: Scores | Decisions | Samples, mode: str) -> Timed:
    """Sorts the scores of all examples, or the samples of each forecast."""
    values = data[-1]
    if mode == NUMPY:
        return Timed(call=lambda: np.sort(values, axis=-1))
    tensor = tf.constant(values)
    function = tf.function(tf.sort, jit_compile=mode == XLA)
    return Timed(call=lambda: function(tensor))


def pinball(data: QuantileForecasts, mode: str, level: float) -> Timed:
    """The difference, two products and the maximum, into memory that is there."""
    labels, predictions = data
    errors, above, below = np.empty([3, len(labels)])

    def call():
        np.subtract(labels, predictions, out=errors)
        np.multiply(errors, level, out=above)
        np.multiply(errors, level - 1, out=below)
        return np.maximum(above, below, out=below)

    return Timed(call=call)


def gaussian(data: NormalsByVariance, mode: str) -> Timed:
    """The formula in float64, without checks."""

    def call():
        var = data.var.astype(np.float64)
        errors = data.targets - data.mean
        return np.mean(np.log(var) + errors * errors / var)

    return Timed(call=call)


def exponentials(data: Logits, mode: str) -> Timed:
    """The exponentials of all logits in float64, a block in the cache at a time."""
    block = np.empty([64, data.logits.shape[1]])

    def call():
        for start in range(0, len(data.logits), 64):
            rows = data.logits[start : start + 64]
            np.exp(rows, out=block[: len(rows)])

    return Timed(call=call)
