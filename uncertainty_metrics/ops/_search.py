"""How many numbers of a sorted row are below others, in memory of the size of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncertainty_metrics.ops import IS_TENSORFLOW, xp

if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as tf


def search_sorted(ordered: xp.Tensor, values: xp.Tensor, side: str) -> xp.Tensor:
    """Returns `tf.searchsorted`, by bisection: XLA would compare all with all.

    Args:
      ordered: ascending, shape [length] or [n, length].
      values: shape [m] or [n, m], of the type and rank of `ordered`.
      side: "left" counts the numbers that are smaller than a value, "right" those that
        are not larger.

    Returns:
      int32, shape of the values.
    """
    length = ordered.shape[-1]
    if length is None:  # Only a graph of TensorFlow, without XLA, does not know it.
        return tf.searchsorted(ordered, values, side)
    below = xp.less if side == "left" else xp.less_equal
    count = xp.zeros_like(values, xp.int32)
    for bit in reversed(range(length.bit_length())):
        longer = count + 2**bit
        last = xp.minimum(longer, length) - 1
        element = xp.gather(ordered, last, batch_dims=len(ordered.shape) - 1)
        count = xp.where((longer <= length) & below(element, values), longer, count)
    return count


def number_below(ordered: xp.Tensor, values: xp.Tensor) -> xp.Tensor:
    """Returns how many of [n, length] are less than each of few values [n, m], int32.

    It is one operation, for steps in which an operation costs more than a comparison of
    all with all.
    """
    if IS_TENSORFLOW:
        return tf.searchsorted(ordered, values)
    below = ordered[:, None, :] < values[:, :, None]
    return xp.cast(xp.reduce_sum(xp.cast(below, xp.int32), axis=2), xp.int32)
