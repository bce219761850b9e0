"""Half the mean distance between the samples of a row, by sorting: O(m log m).

On CPU `tf.sort` takes 6 times as long as a sorting network in a graph and 20 times in
XLA, while the network is of use only where XLA fuses its steps. So eager execution
sorts by NumPy, and graphs hold the network in a compiled function of their own (short
ones as they are). Inside a strategy, where such functions fail on CPU, and for rows
that are too long or of unknown length they hold `tf.sort`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics.numpy import _pairwise as _numpy
from uncertainty_metrics.tensorflow import _inputs, _search

# The steps of a network, log2(m)^2 / 2 of them, are all compiled.
MAX_NETWORK = 4096
# Up to here there are so few steps that they need not be compiled apart.
MAX_INLINE = 16


def pairwise_spread(
    samples: tf.Tensor, fair: bool, with_gradient: bool = False
) -> tf.Tensor:
    """Returns sum_{i<j} |x_i - x_j| / (m (m - 1)) if fair, else / m^2.

    The derivative in x_i is (2 r_i - m + 1) / divisor, r_i the average rank among equal
    samples, as from the sum over pairs with sign(0) = 0. The second derivatives are 0.

    Args:
      samples: float32 or float64 [..., m], m >= 1.
      fair: the unbiased divisor, NaN for m = 1; else the plain mean over all pairs.
      with_gradient: whether the derivatives are sure to be taken. In graphs one sort
        then serves both, which takes 2.5 times as long as that for the value alone.

    Returns:
      Tensor [...]. NaN, as are the derivatives, where a row holds a NaN or infinity.
      Graphs may take samples below the smallest normal number for 0.
    """

    @tf.custom_gradient
    def spread(x):
        if _inputs.through_numpy():
            value, weights = _numpy_spread(x, fair)
        else:
            m = x.shape[-1]
            rows = tf.reshape(x, [-1, tf.shape(x)[-1] if m is None else m])
            value, weights = _graph_spread(rows, fair, with_gradient)
            value = tf.reshape(value, tf.shape(x)[:-1])

        def gradient(upstream):
            return upstream[..., None] * _constant_in(x, weights)

        return value, gradient

    return spread(samples)


def _constant_in(x: tf.Tensor, value: Callable[[], tf.Tensor]) -> tf.Tensor:
    """Returns the value in the shape of x, with derivatives in x that are 0."""

    @tf.custom_gradient
    def constant(x):
        return tf.reshape(value(), tf.shape(x)), lambda _: tf.zeros_like(x)

    return constant(x)


def _numpy_spread(
    x: tf.Tensor, fair: bool
) -> tuple[tf.Tensor, Callable[[], tf.Tensor]]:
    """Returns the spread, and a function that computes its derivatives."""
    samples = x.numpy()
    value = _numpy.spread_of_sorted(np.sort(samples, axis=-1), fair)
    return tf.constant(value), lambda: tf.constant(
        _numpy.spread_gradient(samples, fair)
    )


def _graph_spread(
    rows: tf.Tensor, fair: bool, with_gradient: bool
) -> tuple[tf.Tensor, Callable[[], tf.Tensor]]:
    """Returns the spread of rows [n, m], and a function that gives its derivatives."""
    m = rows.shape[1]
    inline = m is not None and m <= MAX_INLINE
    compiled = not inline and not tf.distribute.has_strategy()
    network = m is not None and m <= MAX_NETWORK and (inline or compiled)
    packed = network and rows.dtype == tf.float32

    def run(function):
        return (_compiled(function) if compiled else function)(rows, fair)

    def weights():
        if packed:
            return run(_network_spread_and_weights)[1]
        ordered = tf.sort(rows, axis=1)
        sides = ("left", "right")
        places = sum(_search.search_sorted(ordered, rows, side) for side in sides)
        return _weights(places - tf.shape(rows)[1], rows, fair)

    if packed and with_gradient:
        value, known = run(_network_spread_and_weights)
        return value, lambda: known
    if network:
        return run(_network_spread), weights
    columns = tf.transpose(tf.sort(rows, axis=1))
    return _spread_of_sorted(columns, rows, fair), weights


@functools.lru_cache(maxsize=4)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return tf.function(function, jit_compile=True, autograph=False)


def _divisor(rows: tf.Tensor, fair: bool) -> tf.Tensor:
    m = tf.cast(tf.shape(rows)[1], rows.dtype)
    return m * (m - 1) if fair else m * m


def _not_finite(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_any(~tf.math.is_finite(rows), axis=1)


def _weights(places: tf.Tensor, rows: tf.Tensor, fair: bool) -> tf.Tensor:
    """Returns the derivatives, given 2 r - m + 1 for each sample."""
    weights = tf.cast(places, rows.dtype) / _divisor(rows, fair)
    nan = tf.constant(math.nan, rows.dtype)
    return tf.where(_not_finite(rows)[:, None], nan, weights)


def _spread_of_sorted(ordered: tf.Tensor, rows: tf.Tensor, fair: bool) -> tf.Tensor:
    """Returns the spread of rows [n, m], given [m, n] sorted.

    The twin of `numpy._pairwise.spread_of_sorted`; says why there.
    """
    m = tf.shape(rows)[1]
    places = tf.cast(2 * tf.range(m) - m + 1, rows.dtype) / _divisor(rows, fair)
    centred = ordered - ordered[m // 2]
    # No product of matrices, which accelerators compute in half the precision.
    spread = tf.reduce_sum(centred * places[:, None], axis=0)
    return tf.where(_not_finite(rows), tf.constant(math.nan, rows.dtype), spread)


def _network_spread(rows: tf.Tensor, fair: bool) -> tf.Tensor:
    ordered = _network_sort(tf.transpose(rows))
    return _spread_of_sorted(ordered, rows, fair)


def _network_spread_and_weights(
    rows: tf.Tensor, fair: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns spread [n] and derivatives [n, m] of float32 rows [n, m], exactly.

    A float32 widened to float64 has zeros in its low bits, which take the place of the
    sample in its row, so that a sort of numbers tells where each came from.
    """
    n, m = tf.shape(rows)[0], rows.shape[1]
    columns = tf.transpose(rows)
    # Zeros of both signs, and what XLA takes for zero, become one normal number.
    keys = tf.cast(columns, tf.float64)
    keys = tf.where(columns == 0, tf.constant(2.0**-200, tf.float64), keys)
    keys = tf.where(tf.math.is_finite(columns), keys, tf.ones_like(keys))
    bits = tf.bitcast(keys, tf.int64) | tf.range(m, dtype=tf.int64)[:, None]
    keys = _network_sort(tf.bitcast(bits, tf.float64))
    ordered = tf.cast(keys, tf.float32)
    source = tf.cast(tf.bitcast(keys, tf.int64) & (MAX_NETWORK - 1), tf.int32)
    # The average of the first and the last place among equal samples, from either end.
    equal = ordered[1:] == ordered[:-1]
    places = _first_of_run(equal) - tf.reverse(_first_of_run(equal[::-1]), [0])
    target = source + m * tf.range(n)
    places = tf.scatter_nd(
        tf.reshape(target, [-1, 1]), tf.reshape(places, [-1]), [n * m]
    )
    value = _spread_of_sorted(ordered, rows, fair)
    return value, _weights(tf.reshape(places, [n, m]), rows, fair)


def _first_of_run(equal: tf.Tensor) -> tf.Tensor:
    """Returns the first place [m, n] of the run of equal numbers that each is in.

    Args:
      equal: bool [m - 1, n], whether a number equals the one before.
    """
    m, n = equal.shape[0] + 1, tf.shape(equal)[1]
    equal = tf.pad(equal, [[1, 0], [0, 0]])
    first = tf.where(equal, -1, tf.range(m)[:, None])

    def step(distance, first):
        # Shifted down by `distance`.
        before = tf.pad(first, [[m, 0], [0, 0]], constant_values=-1)
        before = tf.slice(before, [m - distance, 0], [m, n])
        before.set_shape(first.shape)
        return 2 * distance, tf.maximum(first, before)

    # As many steps as the longest run has bits.
    return tf.while_loop(
        lambda _, first: tf.reduce_any(first < 0), step, [tf.constant(1), first]
    )[1]


def _network_sort(columns: tf.Tensor) -> tf.Tensor:
    """Returns each column of [m, n], free of NaN or all garbage, sorted upwards.

    Batcher's bitonic network: whole rows are compared, hence no branches.
    """
    m, n = columns.shape[0], tf.shape(columns)[1]
    size = 1 << (m - 1).bit_length()
    x = tf.pad(columns, [[0, size - m], [0, 0]], constant_values=math.inf)
    run = 2
    while run <= size:
        # Two sorted halves, the second read backwards, are split into low and high;
        # then each part is a bitonic sequence, to be split again.
        x = tf.reshape(x, [size // run, 2, run // 2, n])
        low, high = x[:, 0], tf.reverse(x[:, 1], [1])
        low, high = tf.minimum(low, high), tf.reverse(tf.maximum(low, high), [1])
        x = tf.stack([low, high], axis=1)
        half = run // 4
        while half:
            x = tf.reshape(x, [size // (2 * half), 2, half, n])
            low, high = x[:, 0], x[:, 1]
            x = tf.stack([tf.minimum(low, high), tf.maximum(low, high)], axis=1)
            half //= 2
        run *= 2
    return tf.reshape(x, [size, n])[:m]
