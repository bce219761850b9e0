"""The share of examples within the interval of each level of coverage."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uncertainty_metrics.numpy.regression import _levels as np_levels
from uncertainty_metrics.ops import IS_TENSORFLOW, _search, _sums, xp

if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as tf

# Up to this many comparisons of all examples take less time than a search for each.
_FEW = 32


def masses(
    cell: xp.Tensor, weights: xp.Tensor | None, num_cells: int, dtype: xp.DType
) -> xp.Tensor:
    """Returns the weight in each cell."""
    if weights is None and IS_TENSORFLOW:  # Ten times as fast as a sum of segments.
        # `tf.math.bincount` would compute the number of cells, which XLA must know.
        numbers = tf.raw_ops.DenseBincount(
            input=cell, size=num_cells, weights=tf.constant([], tf.int32)
        )
        return xp.cast(numbers, dtype)
    if weights is None:
        ones = xp.ones_like(cell)
        return xp.cast(xp.math.unsorted_segment_sum(ones, cell, num_cells), dtype)
    hi, lo = _sums.segment_pair(weights[:, None], cell, num_cells)
    return (hi + lo)[0]


def coverage(
    distances: xp.Tensor, limits: np.ndarray, weights: xp.Tensor | None
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the share of distances <= each limit, and the weight of all examples.

    Args:
      distances: [N].
      limits: [L].
      weights: [N], or None for ones.
    """
    limits, place = np.unique(limits, return_inverse=True)
    edges = xp.constant(limits, distances.dtype)
    if len(limits) <= _FEW:
        above = [xp.cast(distances > edge, xp.int32) for edge in xp.unstack(edges)]
        cell = functools.reduce(operator.add, above)  # Compilers fuse the additions.
    else:
        cell = _search.search_sorted(edges, distances, "left")
    mass = xp.cumsum(masses(cell, weights, len(limits) + 1, distances.dtype))
    return xp.gather(mass, place) / mass[-1], mass[-1]


def level_coverage(
    z: xp.Tensor, weights: xp.Tensor | None, levels: float | tuple[float, ...]
) -> xp.Tensor:
    """Returns the coverage of Normal intervals, [L], or a scalar for a single level."""
    limits = np_levels.normal_limits(np.atleast_1d(levels))
    return of_level(coverage(xp.abs(z), limits, weights)[0], levels)


def of_level(values: xp.Tensor, levels: float | tuple[float, ...]) -> xp.Tensor:
    """Returns values [L], or a scalar for a single level."""
    return values if isinstance(levels, tuple) else values[0]


def curve(
    distances: xp.Tensor,
    limits: np.ndarray,
    levels: np.ndarray,
    weights: xp.Tensor | None,
) -> dict[str, xp.Tensor]:
    """Returns the calibration curve of distances whose limits have these levels."""
    return of_coverage(levels, *coverage(distances, limits, weights))


def of_coverage(
    levels: np.ndarray, observed: xp.Tensor, total: xp.Tensor
) -> dict[str, xp.Tensor]:
    """Returns the calibration curve of an observed coverage, [L], of all the weight."""
    return {
        "expected_coverage": xp.constant(levels, observed.dtype),
        "observed_coverage": observed,
        "bin_counts": xp.fill([len(levels)], total),
    }


def normal_curve(
    z: xp.Tensor, weights: xp.Tensor | None, n_bins: int
) -> dict[str, xp.Tensor]:
    """Returns the calibration curve of Normal intervals, given z = error / stddev."""
    levels = np_levels.curve_levels(n_bins)
    return curve(xp.abs(z), np_levels.normal_limits(levels), levels, weights)


def curve_error(curve: dict[str, xp.Tensor]) -> xp.Tensor:
    """Returns the mean distance between observed and expected coverage."""
    gaps = xp.abs(curve["observed_coverage"] - curve["expected_coverage"])
    return xp.reduce_mean(gaps)


def spread_masses(
    ends: Sequence[xp.Tensor],
    cells: Sequence[xp.Tensor],
    edges: np.ndarray,
    weights: xp.Tensor | None,
) -> xp.Tensor:
    """Returns the weight in each cell, where the weight of an example is spread evenly
    from its lower to its upper end; the NumPy twin explains the arithmetic.

    Args:
      ends: lower and upper ends, [N] each.
      cells: int32, the cells of these ends, [N] each.
      edges: of the cells, [cells + 1].
      weights: [N], or None for ones.
    """
    (lower, upper), (first, last) = ends, cells
    dtype, n = lower.dtype, len(edges) - 1
    bounds = xp.constant(edges, dtype)
    whole = xp.ones_like(lower) if weights is None else weights
    one = xp.ones_like(lower)
    width = xp.where(first < last, upper - lower, one)
    start = xp.where(first < last, (xp.gather(bounds, first + 1) - lower) / width, one)
    end = xp.where(first < last, (upper - xp.gather(bounds, last)) / width, 0 * one)
    slope = xp.where(last - first > 1, whole / width, 0 * one)

    def add(values, others, places, size):
        column = xp.concat([values, others], axis=0)[:, None]
        hi, lo = _sums.segment_pair(column, xp.concat(places, axis=0), size)
        return (hi + lo)[0]

    total = add(start * whole, end * whole, [first, last], n)
    steps = add(slope, -slope, [first + 1, last], n + 1)
    return total + xp.maximum(xp.cumsum(steps[:-1]), 0) * (bounds[1:] - bounds[:-1])


def ring_masses(
    ends: Sequence[xp.Tensor], limits: np.ndarray, weights: xp.Tensor | None
) -> xp.Tensor:
    """Returns the weight between the limits [L] of |2 PIT - 1|, shape [L + 1], where
    the weight of an example is spread evenly from its lower to its upper 2 PIT - 1.
    """
    edges = np_levels.interval_edges(limits)
    inner = xp.constant(edges[1:-1], ends[0].dtype)
    cells = [_search.search_sorted(inner, values, "left") for values in ends]
    total = spread_masses(ends, cells, edges, weights)
    below, middle, above = xp.split(total, [len(limits), 1, len(limits)])
    return xp.concat([middle, below[::-1] + above], axis=0)
