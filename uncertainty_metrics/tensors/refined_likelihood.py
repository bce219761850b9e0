"""The likelihood of a classifier after temperature scaling, on tensors.

Declared in `uncertainty_metrics.numpy.calibrators.temperature_scaling`. float64 logits
are computed in float64, all others in float32.
"""

from __future__ import annotations

import functools

import numpy as np

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy.calibrators import (
    temperature_scaling as np_temperature_scaling,
)
from uncertainty_metrics.ops import _execution, _inputs, _sums, _temperature, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = ["refined_negative_log_likelihood"]


def _mix(words: xp.Tensor) -> xp.Tensor:
    """Returns hashes of uint32 words, the same as in NumPy."""

    def shifted(words, bits):
        bits = xp.constant(bits, xp.uint32)
        return xp.bitwise.bitwise_xor(words, xp.bitwise.right_shift(words, bits))

    whole = xp.constant(0xFFFFFFFF, xp.uint32)  # PyTorch has int64 instead.
    for bits, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        words = shifted(words, bits) * xp.constant(factor, xp.uint32)
        words = xp.bitwise.bitwise_and(words, whole)
    return shifted(words, 16)


def _fold_numbers(index: xp.Tensor, folds: int, key: xp.Tensor) -> xp.Tensor:
    """Returns the folds of examples, by their int32 indexes, the same as in NumPy."""
    words = xp.bitwise.bitwise_xor(xp.cast(index // folds, xp.uint32), key)
    turn = xp.bitwise.right_shift(_mix(words), xp.constant(1, xp.uint32))
    return (index % folds + xp.cast(turn, xp.int32) % folds) % folds


@functools.partial(_execution.compiled, any_size=True)
def _refined_likelihood(
    rows: _temperature.Rows, weights: xp.Tensor | None, folds: int, keys: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the likelihood, and whether each fold has one; each repeat has a key."""
    repeats = xp.size(keys)
    if weights is None:
        weights = xp.ones_like(rows.at_label)
    counted = weights > 0
    index = xp.cumsum(xp.cast(counted, xp.int32)) - 1
    impossible = xp.reduce_any(counted & (rows.at_label == -np.inf))
    rows = rows._replace(at_label=xp.maximum(rows.at_label, -1))
    whole = _temperature.inverse_temperature(rows, weights)

    def add_fold(step, scores, valid):
        key = xp.gather(keys, step // folds)
        test = _fold_numbers(index, folds, key) == step % folds
        training = xp.where(test, xp.zeros_like(weights), weights)
        beta = _temperature.inverse_temperature(rows, training, whole)
        new = _temperature.moments(rows, beta)[0] - beta * rows.at_label
        return step + 1, xp.where(test, scores + new, scores), valid & (beta < np.inf)

    _, scores, valid = xp.while_loop(
        lambda step, *_: step < folds * repeats,
        add_fold,
        (xp.constant(0), xp.zeros_like(weights), xp.constant(True)),
    )
    score = _sums.mean(scores, weights) / xp.cast(repeats, scores.dtype)
    infinity = xp.constant(np.inf, score.dtype)
    enough = xp.reduce_max(index) >= folds - 1
    return xp.where(impossible, infinity, score), (valid | impossible) & enough


@twin(np_temperature_scaling.refined_negative_log_likelihood, data=ClassifierData)
def refined_negative_log_likelihood(data, folds, repeats, seed):
    count, keys = np_temperature_scaling.fold_keys(folds, repeats, seed)
    examples = _inputs.examples_of(data)
    values, in_range = _temperature.logits_of(examples)
    rows, _, valid = _temperature.rows_of(examples, values)
    score, possible = _refined_likelihood(
        rows, examples.weights, count, xp.constant(keys)
    )
    return score, valid & possible & in_range
