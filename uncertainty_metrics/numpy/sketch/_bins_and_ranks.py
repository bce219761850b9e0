"""Bins and ranks from the cells of a sketch; no cell is divided."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.conformal import quantile
from uncertainty_metrics.numpy.selective import _sorted_outcomes
from uncertainty_metrics.numpy.sketch import _grid


class IsotonicMap(NamedTuple):
    """A recalibration map of probabilities p: `np.interp(p, *isotonic_map)`.

    The map is constant before the first knot and after the last, linear in between.

    Attributes:
      scores: knots, ascending, in [0, 1], shape [knots].
      values: recalibrated probabilities at the knots, never descending, in [0, 1].
    """

    scores: np.ndarray
    values: np.ndarray


def isotonic(cells: Cells) -> IsotonicMap:
    """Returns the knots at both ends of each run of equal values."""
    scores, values = cells.scores, _pooled_errors.isotonic(cells)
    same = values[1:] == values[:-1]
    inside = np.append(False, same) & np.append(same, False)
    return IsotonicMap(scores[~inside], values[~inside])


def _rounded_scores(cells: Cells) -> np.ndarray:
    """Returns the mean scores in float32.

    If a cell has one score only, its mean then equals the score in comparisons.
    """
    return cells.scores.astype(np.float32)


def with_rounded_scores(cells: Cells) -> Cells:
    """Returns the cells with mean scores in float32, to compare with thresholds."""
    return dataclasses.replace(cells, score_sums=cells.weights * _rounded_scores(cells))


def _above(cells: Cells, threshold: float) -> Cells:
    """Returns the cells with mean scores above the threshold."""
    if threshold == 0:
        return cells
    is_above = _rounded_scores(cells) > np.float32(threshold)
    rows = cells.weights, cells.score_sums, cells.outcome_sums
    return Cells(*(row[is_above] for row in rows))


def bin_statistics(
    groups: list[Cells], spec: CalibrationSpec
) -> _binning.BinStatistics:
    """Returns the statistics of the bins that `spec` describes."""
    groups = [_above(cells, spec.threshold) for cells in groups]
    if spec.binning_scheme == "adaptive":
        return _binning.adaptive_statistics(
            (
                (cells.scores, cells.outcome_sums / cells.weights, cells.weights)
                for cells in groups
            ),
            dataclasses.replace(spec, threshold=0.0),
        )
    bins = spec.num_bins
    sums = np.zeros((3, len(groups), bins))
    for group, cells in enumerate(groups):
        index = _binning.even_index(_rounded_scores(cells), bins)
        rows = cells.weights, cells.score_sums, cells.outcome_sums
        for row, values in zip(sums, rows, strict=True):
            row[group] = np.bincount(index, values, bins)
    edges = np.broadcast_to(_binning.even_edges(bins), (len(groups), bins + 1))
    return _binning.BinStatistics(edges, *sums)


def decisions(cells: Cells, bits: tuple[int, ...]) -> Cells:
    """Returns the cells of the decided class of two, given those of P(class 1).

    At 1/2 the decision is class 0, as in all ties.
    """
    is_0 = cells.scores <= 0.5
    scores = np.where(is_0, 1 - cells.scores, cells.scores)
    hits = np.where(is_0, cells.weights - cells.outcome_sums, cells.outcome_sums)
    # p and 1 - p have the same confidence, and share a cell.
    index = _grid.index(scores.astype(np.float32), *bits)
    _, place = np.unique(index, return_inverse=True)
    rows = cells.weights, cells.weights * scores, hits
    return Cells(*(np.bincount(place, row) for row in rows))


def ranking(cells: Cells, unit: float) -> _sorted_outcomes.Groups:
    """Returns the cells as groups of equal scores, the largest score first.

    `unit` is the number of examples in a weight of 1.
    """
    # Weights are scaled by a power of two, so that no product overflows.
    exponent = np.frexp(cells.weights.max())[1] - 1

    def running(masses: np.ndarray) -> np.ndarray:
        return np.append(0.0, np.cumsum(np.ldexp(masses[::-1], -exponent)))

    misses = cells.weights - cells.outcome_sums
    hits = running(cells.outcome_sums)
    return _sorted_outcomes.Groups(hits, running(misses), np.ldexp(unit, exponent))


def conformal_quantile(
    groups: list[Cells],
    least: np.ndarray,
    largest: np.ndarray,
    both: bool,
    alpha: float,
) -> float:
    """Returns the conformal quantile of 1 - p of the labels, or a little more.

    Args:
      groups: cells of P(class k), one group for each class or one group of all classes.
      least: the least number of each of these cells, all groups in turn.
      largest: the largest number of each cell, [cells].
      both: whether the only group is class 1 of two, so that false outcomes are labels
        of class 0.
      alpha: in (0, 1).
    """
    ends, masses = [1 - least], [cells.outcome_sums for cells in groups]
    if both:
        # By the place of a cell: by rounding, its mean may seem to be in the next cell.
        for cells in groups:
            ends.append(largest[cells.places])
            masses.append(cells.weights - cells.outcome_sums)
    scores, numbers = np.concatenate(ends), np.concatenate(masses)
    order = np.argsort(scores, kind="stable")
    up_to = np.cumsum(numbers[order])
    place = np.searchsorted(up_to, quantile.rank(up_to[-1], alpha))
    return float(scores[order[place]]) if place < len(order) else np.inf
