"""Half the mean distance between the samples of a row, by sorting: O(m log m).

On CPU `tf.sort` takes 6 times as long as a sorting network in a graph and 20 times in
XLA, as JAX's does, while the network is of use only where XLA fuses its steps. So
TensorFlow sorts by NumPy where it is eager, and graphs, as JAX, hold the network in a
compiled function of their own (short ones as they are). Inside a strategy, where such
functions fail on CPU, and for rows that are too long or of unknown length they sort, as
PyTorch does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from uncertainty_metrics.numpy.scoring import _pairwise as _numpy
from uncertainty_metrics.ops import IS_TENSORFLOW, _execution, _inputs, _search, xp

# The steps of a network, log2(m)^2 / 2 of them, are all compiled.
MAX_NETWORK = 4096
# Up to here there are so few steps that they need not be compiled apart.
MAX_INLINE = 16


def pairwise_spread(
    samples: xp.Tensor, fair: bool, with_gradient: bool = False
) -> xp.Tensor:
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

    @_execution.custom_gradient
    def spread(x):
        if _inputs.through_numpy():
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

    It is sum_i x_i slope_i, the derivative in x_i being w_i times the weight of smaller
    samples less that of larger ones.
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
    # Which changes nothing but the rounding, as the slopes add up to 0.
    centred = x - ordered[:, shape[1] // 2, None]
    return xp.reshape(xp.reduce_sum(centred * slopes, axis=1), xp.shape(samples)[:-1])


def _constant_in(x: xp.Tensor, value: Callable[[], xp.Tensor]) -> xp.Tensor:
    """Returns the value in the shape of x, with derivatives in x that are 0."""

    @_execution.custom_gradient
    def constant(x):
        return xp.reshape(value(), xp.shape(x)), lambda _: xp.zeros_like(x)

    return constant(x)


def _numpy_spread(
    x: xp.Tensor, fair: bool
) -> tuple[xp.Tensor, Callable[[], xp.Tensor]]:
    """Returns the spread, and a function that computes its derivatives."""
    samples = x.numpy()
    value = _numpy.spread_of_sorted(np.sort(samples, axis=-1), fair)
    return xp.constant(value), lambda: xp.constant(
        _numpy.spread_gradient(samples, fair)
    )


def _graph_spread(
    rows: xp.Tensor, fair: bool, with_gradient: bool
) -> tuple[xp.Tensor, Callable[[], xp.Tensor]]:
    """Returns the spread of rows [n, m], and a function that gives its derivatives."""
    m = rows.shape[1]
    inline = IS_TENSORFLOW and m is not None and m <= MAX_INLINE
    compiled = not inline and not _execution.has_strategy()
    network = m is not None and m <= MAX_NETWORK and (inline or compiled)
    network = network and _execution.COMPILES
    packed = network and rows.dtype == xp.float32

    def run(function):
        with _execution.in_64_bits():
            return (_compiled if compiled else functools.partial)(function, fair)(rows)

    def weights():
        if packed:
            return run(_network_spread_and_weights)[1]
        ordered = xp.sort(rows, axis=1)
        sides = ("left", "right")
        places = sum(_search.search_sorted(ordered, rows, side) for side in sides)
        return _weights(places - xp.shape(rows)[1], rows, fair)

    if packed and with_gradient:
        value, known = run(_network_spread_and_weights)
        return value, lambda: known
    if network:
        return run(_network_spread), weights
    columns = xp.transpose(xp.sort(rows, axis=1))
    return _spread_of_sorted(columns, rows, fair), weights


@functools.lru_cache(maxsize=4)
def _compiled(function: Callable[..., Any], fair: bool) -> Callable[..., Any]:
    return _execution.compiled(functools.partial(function, fair), with_xla=True)


def _divisor(rows: xp.Tensor, fair: bool) -> xp.Tensor:
    m = xp.cast(xp.shape(rows)[1], rows.dtype)
    return m * (m - 1) if fair else m * m


def _not_finite(rows: xp.Tensor) -> xp.Tensor:
    return xp.reduce_any(~xp.math.is_finite(rows), axis=1)


def _weights(places: xp.Tensor, rows: xp.Tensor, fair: bool) -> xp.Tensor:
    """Returns the derivatives, given 2 r - m + 1 for each sample."""
    weights = xp.cast(places, rows.dtype) / _divisor(rows, fair)
    nan = xp.constant(math.nan, rows.dtype)
    return xp.where(_not_finite(rows)[:, None], nan, weights)


def _spread_of_sorted(ordered: xp.Tensor, rows: xp.Tensor, fair: bool) -> xp.Tensor:
    """Returns the spread of rows [n, m], given [m, n] sorted.

    The twin of `numpy._pairwise.spread_of_sorted`; says why there.
    """
    m = xp.shape(rows)[1]
    places = xp.cast(2 * xp.range(m) - m + 1, rows.dtype) / _divisor(rows, fair)
    centred = ordered - ordered[m // 2]
    # No product of matrices, which accelerators compute in half the precision.
    spread = xp.reduce_sum(centred * places[:, None], axis=0)
    return xp.where(_not_finite(rows), xp.constant(math.nan, rows.dtype), spread)


def _network_spread(fair: bool, rows: xp.Tensor) -> xp.Tensor:
    ordered = _network_sort(xp.transpose(rows))
    return _spread_of_sorted(ordered, rows, fair)


def _network_spread_and_weights(
    fair: bool, rows: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns spread [n] and derivatives [n, m] of float32 rows [n, m], exactly.

    A float32 widened to float64 has zeros in its low bits, which take the place of the
    sample in its row, so that a sort of numbers tells where each came from.
    """
    n, m = xp.shape(rows)[0], rows.shape[1]
    columns = xp.transpose(rows)
    # Zeros of both signs, and what XLA takes for zero, become one normal number.
    keys = xp.cast(columns, xp.float64)
    keys = xp.where(columns == 0, xp.constant(2.0**-200, xp.float64), keys)
    keys = xp.where(xp.math.is_finite(columns), keys, xp.ones_like(keys))
    bits = xp.bitcast(keys, xp.int64) | xp.range(m, dtype=xp.int64)[:, None]
    keys = _network_sort(xp.bitcast(bits, xp.float64))
    ordered = xp.cast(keys, xp.float32)
    source = xp.cast(xp.bitcast(keys, xp.int64) & (MAX_NETWORK - 1), xp.int32)
    # The average of the first and the last place among equal samples, from either end.
    equal = ordered[1:] == ordered[:-1]
    places = _first_of_run(equal) - xp.reverse(_first_of_run(equal[::-1]), [0])
    target = source + m * xp.range(n)
    places = xp.scatter_nd(
        xp.reshape(target, [-1, 1]), xp.reshape(places, [-1]), [n * m]
    )
    value = _spread_of_sorted(ordered, rows, fair)
    return value, _weights(xp.reshape(places, [n, m]), rows, fair)


def _first_of_run(equal: xp.Tensor) -> xp.Tensor:
    """Returns the first place [m, n] of the run of equal numbers that each is in.

    Args:
      equal: bool [m - 1, n], whether a number equals the one before.
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

    # As many steps as the longest run has bits.
    return xp.while_loop(
        lambda _, first: xp.reduce_any(first < 0), step, [xp.constant(1), first]
    )[1]


def _network_sort(columns: xp.Tensor) -> xp.Tensor:
    """Returns each column of [m, n], free of NaN or all garbage, sorted upwards.

    Batcher's bitonic network: whole rows are compared, hence no branches.
    """
    m, n = columns.shape[0], xp.shape(columns)[1]
    size = 1 << (m - 1).bit_length()
    x = xp.pad(columns, [[0, size - m], [0, 0]], constant_values=math.inf)
    run = 2
    while run <= size:
        # Two sorted halves, the second read backwards, are split into low and high;
        # then each part is a bitonic sequence, to be split again.
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
