"""The likelihood of a classifier after temperature scaling, on tensors.

Declared in `uncertainty_metrics.numpy.recalibration`, in the precision of the logits:
float64, or float32 for all narrower types.
"""

from __future__ import annotations

import functools

import numpy as np
import tensorflow as tf

from uncertainty_metrics.numpy import recalibration as declared
from uncertainty_metrics.tensorflow import _inputs, _sums, _temperature
from uncertainty_metrics.tensorflow._twin import twin

__all__ = ["calibrated_negative_log_likelihood"]


def _mix(words: tf.Tensor) -> tf.Tensor:
    """Returns the hashes of uint32 words, those of the NumPy twin."""

    def shifted(words, bits):
        bits = tf.constant(bits, tf.uint32)
        return tf.bitwise.bitwise_xor(words, tf.bitwise.right_shift(words, bits))

    words = shifted(words, 16) * tf.constant(0x7FEB352D, tf.uint32)
    words = shifted(words, 15) * tf.constant(0x846CA68B, tf.uint32)
    return shifted(words, 16)


def _fold_numbers(index: tf.Tensor, folds: int, key: tf.Tensor) -> tf.Tensor:
    """Returns the folds of the examples of int32 indexes, those of the NumPy twin."""
    words = tf.bitwise.bitwise_xor(tf.cast(index // folds, tf.uint32), key)
    turn = tf.bitwise.right_shift(_mix(words), tf.constant(1, tf.uint32))
    return (index % folds + tf.cast(turn, tf.int32) % folds) % folds


@functools.partial(tf.function, autograph=False, reduce_retracing=True)
def _calibrated_likelihood(
    rows: _temperature.Rows, weights: tf.Tensor | None, folds: int, keys: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the likelihood and whether every fold had one; a key for each repeat."""
    repeats = tf.size(keys)
    if weights is None:
        weights = tf.ones_like(rows.at_label)
    live = weights > 0
    index = tf.cumsum(tf.cast(live, tf.int32)) - 1
    impossible = tf.reduce_any(live & (rows.at_label == -np.inf))
    rows = rows._replace(at_label=tf.maximum(rows.at_label, -1))
    whole = _temperature.inverse_temperature(rows, weights)

    def add_fold(step, scores, valid):
        key = tf.gather(keys, step // folds)
        test = _fold_numbers(index, folds, key) == step % folds
        training = tf.where(test, tf.zeros_like(weights), weights)
        beta = _temperature.inverse_temperature(rows, training, whole)
        new = _temperature.moments(rows, beta)[0] - beta * rows.at_label
        return step + 1, tf.where(test, scores + new, scores), valid & (beta < np.inf)

    _, scores, valid = tf.while_loop(
        lambda step, *_: step < folds * repeats,
        add_fold,
        (tf.constant(0), tf.zeros_like(weights), tf.constant(True)),
    )
    score = _sums.mean(scores, weights) / tf.cast(repeats, scores.dtype)
    infinity = tf.constant(np.inf, score.dtype)
    enough = tf.reduce_max(index) >= folds - 1
    return tf.where(impossible, infinity, score), (valid | impossible) & enough


@twin(declared.calibrated_negative_log_likelihood)
def calibrated_negative_log_likelihood(**data):
    splits = (data.pop(name) for name in ("folds", "repeats", "seed"))
    count, keys = declared.fold_keys(*splits)
    examples = _inputs.examples(**data)
    values = tf.cast(examples.predictions, examples.dtype)
    in_range = tf.constant(True)
    if not examples.from_logits:
        right = _inputs.rows_in_range(examples.predictions)
        in_range = _inputs.live_rows(examples.weights, right)
        # Equal probabilities are equal so: TensorFlow's logarithm of the same number
        # depends on its place.
        values = tf.math.log(values / tf.reduce_max(values, axis=-1, keepdims=True))
    rows, _, valid = _temperature.rows_of(examples, values)
    score, possible = _calibrated_likelihood(
        rows, examples.weights, count, tf.constant(keys)
    )
    return score, valid & possible & in_range
