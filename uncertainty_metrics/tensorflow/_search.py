"""Where numbers stand among sorted ones, in memory of their own size."""

from __future__ import annotations

import tensorflow as tf


def search_sorted(ordered: tf.Tensor, values: tf.Tensor, side: str) -> tf.Tensor:
    """Returns `tf.searchsorted`, which XLA takes for a comparison of all with all.

    Args:
      ordered: ascending, shape [length] or [n, length].
      values: shape [m] or [n, m], of the type and rank of `ordered`.
      side: "left", the number of smaller ones, or "right", of those that are not
        larger.

    Returns:
      int32, shape of the values.
    """
    length = ordered.shape[-1]
    if length is None:  # Not in XLA.
        return tf.searchsorted(ordered, values, side)
    below = tf.less if side == "left" else tf.less_equal
    count = tf.zeros_like(values, tf.int32)
    for bit in reversed(range(length.bit_length())):
        longer = count + 2**bit
        last = tf.minimum(longer, length) - 1
        element = tf.gather(ordered, last, batch_dims=ordered.shape.rank - 1)
        count = tf.where((longer <= length) & below(element, values), longer, count)
    return count
