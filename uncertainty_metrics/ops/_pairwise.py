"""Half the mean distance between the samples of a row, by sorting: O(m log m).

On CPU `tf.sort` takes 6 times as long as a sorting network in a graph, and 20 times as
long in XLA, and so does JAX's sort. But the network is fast only where XLA fuses its
steps. So TensorFlow and PyTorch sort by NumPy in eager execution on CPU. Graphs of
TensorFlow, and JAX, call the network as a function that XLA compiles; in graphs of
TensorFlow a short network is inline. They sort, as PyTorch does on other devices,
inside a strategy, where such functions fail on CPU, and where rows are long or of
unknown length.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from uncertainty_metrics.numpy.scoring import _pairwise as np_pairwise
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _execution,
    _inputs,
    _search,
    to_numpy,
    xp,
)

# The longest row for a network, whose log2(m)^2 / 2 steps are all compiled.
MAX_NETWORK = 4096
# The longest row for a network inline: its steps are so few.
MAX_INLINE = 16


def pairwise_spread(
    samples: xp.Tensor, fair: bool, with_gradient: bool = False
) -> xp.Tensor:
    """Returns sum_{i<j} |x_i - x_j| / (m (m - 1)) if fair, else / m^2.

    The derivative in x_i is (2 r_i - m + 1) / divisor. The rank r_i, from 0, is the
    average rank of equal samples, so that the derivative is that of the sum over pairs
    with sign(0) = 0. The second derivatives are 0.

    Args:
      samples: float32 or float64 [..., m], m >= 1.
      fair: the unbiased divisor, with which m = 1 gives NaN; else the mean over all
        pairs.
      with_gradient: whether the derivatives will be taken. In graphs one sort then
        serves both, and takes 2.5 times as long as the sort for the value alone.

    Returns:
      Tensor [...]. The value and the derivatives are NaN where a row holds a NaN or
      infinity. Graphs may take samples below the smallest normal number for 0.
    """

    @_execution.custom_gradient
    def spread(x):
        if _inputs.through_numpy(x):
            value, weights = _numpy_spread(x, fair)
        else:
            m = x.shape[-1]
            rows = xp.reshape(x, [-1, xp.shape(x)[-1] if m is None else m])
            value, weights = _graph_spread(rows, fair, with_gradient)
            value = xp.reshape(value, xp.shape(x)[:-1])

        def gradient(upstream):
            return upstream[..., None] * _constant_in(x, weights)

        return value, gradient

    return spread(samples)


def weighted_spread(samples: xp.Tensor, weights: xp.Tensor) -> xp.Tensor:
    """Returns sum_{i<j} w_i w_j |x_i - x_j| of samples and weights [..., m].

    The sum is sum_i x_i slope_i, where slope_i = w_i (weight of smaller samples -
    weight of larger ones) is the derivative in x_i.
    """
    m = samples.shape[-1]
    shape = [-1, xp.shape(samples)[-1] if m is None else m]
    x, w = xp.reshape(samples, shape), xp.reshape(weights, shape)
    rows = xp.stop_gradient(x)
    order = xp.argsort(rows, axis=-1)
    ordered = xp.gather(rows, order, batch_dims=1)
    ordered_weights = xp.gather(w, order, batch_dims=1)
    smaller, larger = (
        xp.gather(
            xp.pad(xp.cumsum(ordered_weights, axis=1, reverse=end == 1), padding),
            _search.search_sorted(ordered, rows, side),
            batch_dims=1,
        )
        for end, (side, padding) in enumerate(
            (("left", [[0, 0], [1, 0]]), ("right", [[0, 0], [0, 1]]))
        )
    )
    slopes = w * (smaller - larger)
    # The slopes add up to 0, so that this changes the rounding only.
    centred = x - ordered[:, shape[1] // 2, None]
    return xp.reshape(xp.reduce_sum(centred * slopes, axis=1), xp.shape(samples)[:-1])


def _constant_in(x: xp.Tensor, value: Callable[[], xp.Tensor]) -> xp.Tensor:
    """Returns the value in the shape of x, as a function of x with derivatives of 0."""

    @_execution.custom_gradient
    def constant(x):
        return xp.reshape(value(), xp.shape(x)), lambda _: xp.zeros_like(x)

    return constant(x)


def _numpy_spread(
    x: xp.Tensor, fair: bool
) -> tuple[xp.Tensor, Callable[[], xp.Tensor]]:
    """Returns the spread of [..., m], and a function that returns derivatives."""
    samples = to_numpy(x)
    value = np_pairwise.spread_of_sorted(np.sort(samples, axis=-1), fair)
    return xp.constant(value), lambda: xp.constant(
        np_pairwise.spread_gradient(samples, fair)
    )


def _graph_spread(
    rows: xp.Tensor, fair: bool, with_gradient: bool
) -> tuple[xp.Tensor, Callable[[], xp.Tensor]]:
    """Returns the spread of rows [n, m], and a function that returns derivatives."""
    m = rows.shape[1]
    inline = IS_TENSORFLOW and m is not None and m <= MAX_INLINE
    compiled = not inline and not _execution.has_strategy()
    network = m is not None and m <= MAX_NETWORK and (inline or compiled)
    network = network and _execution.COMPILES
    packed = network and rows.dtype == xp.float32

    def run(function):
        with _execution.in_64_bits():
            wrap = _execution.with_xla if compiled else functools.partial
            return wrap(function, fair)(rows)

    def weights():
        if packed:
            return run(_network_spread_and_weights)[1]
        ordered = xp.sort(rows, axis=1)
        sides = ("left", "right")
        places = sum(_search.search_sorted(ordered, rows, side) for side in sides)
        return _weights(places - xp.shape(rows)[1], rows, fair)

    if packed and with_gradient:
        value, derivatives = run(_network_spread_and_weights)
        return value, lambda: derivatives
    if network:
        return run(_network_spread), weights
    columns = xp.transpose(xp.sort(rows, axis=1))
    return _spread_of_sorted(columns, rows, fair), weights


def _divisor(rows: xp.Tensor, fair: bool) -> xp.Tensor:
    m = xp.cast(xp.shape(rows)[1], rows.dtype)
    return m * (m - 1) if fair else m * m


def _not_finite(rows: xp.Tensor) -> xp.Tensor:
    return xp.reduce_any(~xp.math.is_finite(rows), axis=1)


def _weights(places: xp.Tensor, rows: xp.Tensor, fair: bool) -> xp.Tensor:
    """Returns the derivatives [n, m], given places: 2 r - m + 1 of each sample."""
    weights = xp.cast(places, rows.dtype) / _divisor(rows, fair)
    nan = xp.constant(math.nan, rows.dtype)
    return xp.where(_not_finite(rows)[:, None], nan, weights)


def _spread_of_sorted(ordered: xp.Tensor, rows: xp.Tensor, fair: bool) -> xp.Tensor:
    """Returns the spread of rows [n, m], given their columns [m, n] sorted.

    `numpy.scoring._pairwise.spread_of_sorted`, the twin, explains the arithmetic.
    """
    m = xp.shape(rows)[1]
    places = xp.cast(2 * xp.range(m) - m + 1, rows.dtype) / _divisor(rows, fair)
    centred = ordered - ordered[m // 2]
    # A sum, as accelerators compute a product of matrices in half the precision.
    spread = xp.reduce_sum(centred * places[:, None], axis=0)
    return xp.where(_not_finite(rows), xp.constant(math.nan, rows.dtype), spread)


def _network_spread(fair: bool, rows: xp.Tensor) -> xp.Tensor:
    """Returns the spread [n] of rows [n, m]."""
    ordered = _network_sort(xp.transpose(rows))
    return _spread_of_sorted(ordered, rows, fair)


def _network_spread_and_weights(
    fair: bool, rows: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns spread [n] and derivatives [n, m] of float32 rows [n, m], exactly.

    A float32 widened to float64 has zeros in its low bits. They take the place of the
    sample in its row, so that after the sort each number says where it came from.
    """
    n, m = xp.shape(rows)[0], rows.shape[1]
    columns = xp.transpose(rows)
    # Zeros of both signs, and numbers that XLA takes for 0, become one normal number.
    keys = xp.cast(columns, xp.float64)
    keys = xp.where(columns == 0, xp.constant(2.0**-200, xp.float64), keys)
    keys = xp.where(xp.math.is_finite(columns), keys, xp.ones_like(keys))
    bits = xp.bitcast(keys, xp.int64) | xp.range(m, dtype=xp.int64)[:, None]
    keys = _network_sort(xp.bitcast(bits, xp.float64))
    ordered = xp.cast(keys, xp.float32)
    source = xp.cast(xp.bitcast(keys, xp.int64) & (MAX_NETWORK - 1), xp.int32)
    # 2 r - m + 1 is the first place of equal samples, less their first place counted
    # from the other end.
    equal = ordered[1:] == ordered[:-1]
    places = _first_of_run(equal) - xp.reverse(_first_of_run(equal[::-1]), [0])
    target = source + m * xp.range(n)
    places = xp.scatter_nd(
        xp.reshape(target, [-1, 1]), xp.reshape(places, [-1]), [n * m]
    )
    value = _spread_of_sorted(ordered, rows, fair)
    return value, _weights(xp.reshape(places, [n, m]), rows, fair)


def _first_of_run(equal: xp.Tensor) -> xp.Tensor:
    """Returns the first place [m, n] of the run of equal numbers around each number.

    Args:
      equal: boolean [m - 1, n], whether a number equals the one before.
    """
    m, n = equal.shape[0] + 1, xp.shape(equal)[1]
    equal = xp.pad(equal, [[1, 0], [0, 0]])
    first = xp.where(equal, -1, xp.range(m)[:, None])

    def step(distance, first):
        # Shifted down by `distance`.
        before = xp.pad(first, [[m, 0], [0, 0]], constant_values=-1)
        before = xp.slice(before, [m - distance, 0], [m, n])
        before = xp.ensure_shape(before, first.shape)
        return 2 * distance, xp.maximum(first, before)

    # There are as many steps as the length of the longest run has bits.
    return xp.while_loop(
        lambda _, first: xp.reduce_any(first < 0), step, [xp.constant(1), first]
    )[1]


def _network_sort(columns: xp.Tensor) -> xp.Tensor:
    """Returns each column of [m, n] in ascending order; anything for one with a NaN.

    This is Batcher's bitonic network: it compares whole rows, without branches.
    """
    m, n = columns.shape[0], xp.shape(columns)[1]
    size = 1 << (m - 1).bit_length()
    x = xp.pad(columns, [[0, size - m], [0, 0]], constant_values=math.inf)
    run = 2
    while run <= size:
        # Two sorted halves, the second of them backwards, are split into a low and a
        # high part. Each part is a bitonic sequence, and is split again.
        x = xp.reshape(x, [size // run, 2, run // 2, n])
        low, high = x[:, 0], xp.reverse(x[:, 1], [1])
        low, high = xp.minimum(low, high), xp.reverse(xp.maximum(low, high), [1])
        x = xp.stack([low, high], axis=1)
        half = run // 4
        while half:
            x = xp.reshape(x, [size // (2 * half), 2, half, n])
            low, high = x[:, 0], x[:, 1]
            x = xp.stack([xp.minimum(low, high), xp.maximum(low, high)], axis=1)
            half //= 2
        run *= 2
    return xp.reshape(x, [size, n])[:m]
