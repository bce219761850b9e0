"""The share of examples within the interval of each level of coverage, on tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from uncertainty_metrics.numpy.regression import _levels as declared
from uncertainty_metrics.tensorflow import _search, _sums


def masses(
    cell: tf.Tensor, weights: tf.Tensor | None, num_cells: int, dtype: tf.DType
) -> tf.Tensor:
    """Returns the weight in each cell."""
    if weights is None:
        ones = tf.ones_like(cell)
        return tf.cast(tf.math.unsorted_segment_sum(ones, cell, num_cells), dtype)
    hi, lo = _sums.segment_pair(weights[:, None], cell, num_cells)
    return (hi + lo)[0]


def coverage(
    distances: tf.Tensor, limits: np.ndarray, weights: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the share of distances <= each limit, and the weight of all."""
    limits, place = np.unique(limits, return_inverse=True)
    edges = tf.constant(limits, distances.dtype)
    cell = _search.search_sorted(edges, distances, "left")
    mass = tf.cumsum(masses(cell, weights, len(limits) + 1, distances.dtype))
    return tf.gather(mass, place) / mass[-1], mass[-1]


def level_coverage(
    z: tf.Tensor, weights: tf.Tensor | None, levels: float | tuple[float, ...]
) -> tf.Tensor:
    """Returns the coverage of Normal intervals, a scalar where the level is one."""
    limits = declared.normal_limits(np.atleast_1d(levels))
    return of_level(coverage(tf.abs(z), limits, weights)[0], levels)


def of_level(values: tf.Tensor, levels: float | tuple[float, ...]) -> tf.Tensor:
    """Returns values [L] as a scalar where the level is one."""
    return values if isinstance(levels, tuple) else values[0]


def curve(
    distances: tf.Tensor,
    limits: np.ndarray,
    levels: np.ndarray,
    weights: tf.Tensor | None,
) -> dict[str, tf.Tensor]:
    return of_coverage(levels, *coverage(distances, limits, weights))


def of_coverage(
    levels: np.ndarray, observed: tf.Tensor, total: tf.Tensor
) -> dict[str, tf.Tensor]:
    return {
        "expected_coverage": tf.constant(levels, observed.dtype),
        "observed_coverage": observed,
        "bin_counts": tf.fill([len(levels)], total),
    }


def normal_curve(
    z: tf.Tensor, weights: tf.Tensor | None, n_bins: int
) -> dict[str, tf.Tensor]:
    levels = declared.curve_levels(n_bins)
    return curve(tf.abs(z), declared.normal_limits(levels), levels, weights)


def curve_error(curve: dict[str, tf.Tensor]) -> tf.Tensor:
    gaps = tf.abs(curve["observed_coverage"] - curve["expected_coverage"])
    return tf.reduce_mean(gaps)


def spread_masses(
    ends: Sequence[tf.Tensor],
    cells: Sequence[tf.Tensor],
    edges: np.ndarray,
    weights: tf.Tensor | None,
) -> tf.Tensor:
    """Returns the weight in each cell, that of an example being spread evenly from its
    lower to its upper end; the twin of NumPy's, says why there.
    """
    (lower, upper), (first, last) = ends, cells
    dtype, n = lower.dtype, len(edges) - 1
    bounds = tf.constant(edges, dtype)
    whole = tf.ones_like(lower) if weights is None else weights
    one = tf.ones_like(lower)
    width = tf.where(first < last, upper - lower, one)
    start = tf.where(first < last, (tf.gather(bounds, first + 1) - lower) / width, one)
    end = tf.where(first < last, (upper - tf.gather(bounds, last)) / width, 0 * one)
    slope = tf.where(last - first > 1, whole / width, 0 * one)

    def add(values, others, places, size):
        column = tf.concat([values, others], axis=0)[:, None]
        hi, lo = _sums.segment_pair(column, tf.concat(places, axis=0), size)
        return (hi + lo)[0]

    total = add(start * whole, end * whole, [first, last], n)
    steps = add(slope, -slope, [first + 1, last], n + 1)
    return total + tf.maximum(tf.cumsum(steps[:-1]), 0) * (bounds[1:] - bounds[:-1])


def ring_masses(
    ends: Sequence[tf.Tensor], limits: np.ndarray, weights: tf.Tensor | None
) -> tf.Tensor:
    """Returns the weight where |2 PIT - 1| is between limits [L], shape [L + 1], that
    of an example being spread evenly from its lower to its upper 2 PIT - 1.
    """
    edges = declared.interval_edges(limits)
    inner = tf.constant(edges[1:-1], ends[0].dtype)
    cells = [_search.search_sorted(inner, values, "left") for values in ends]
    total = spread_masses(ends, cells, edges, weights)
    below, middle, above = tf.split(total, [len(limits), 1, len(limits)])
    return tf.concat([middle, below[::-1] + above], axis=0)
