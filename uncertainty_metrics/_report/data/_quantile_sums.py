"""Sums over the rows of forecasts that are read part by part."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._pit_counts import PitCounts, counted, pit_of
from uncertainty_metrics._report.data._predictions import QuantileForecasts
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics._report.data._row_clusters import (
    quantile_of,
    quantile_of_clusters,
)
from uncertainty_metrics.numpy import _inputs

# More series are put together in so many groups. Groups of independent series are
# independent, too, and the intervals of so many are hardly longer.
MOST_SERIES = 2000
# Of more horizons there are no sums for each.
MOST_HORIZONS = 60


class SummedMean(NamedTuple):
    """A mean over rows, and how sure it is.

    Attributes:
      mean: of the rows.
      error: its standard error, of series if there are several.
      size: how many independent rows would tell the mean as well.
    """

    mean: float
    error: float
    size: float


@dataclasses.dataclass(eq=False)
class QuantileSums:
    """Sums of some columns of numbers, one for each row, by series and by horizon.

    Attributes:
      names: of the columns.
      counts: number of rows, by horizon, [H].
      series: number of each series, or group of series, by its id.
      are_groups: whether there are groups of series.
      horizons: number of each horizon; None where there are none, or too many.
      cells: sums of weight times number, then of the weights, by horizon and series,
        float64 [H, C, K + 1].
      trues: sums of the numbers themselves, [K].
      squares: sums of squared weight times number, then times its square, then of the
        squared weights, by horizon, [H, 2 K + 1].
      pit: counts of the PIT intervals.
    """

    names: tuple[Hashable, ...]
    counts: np.ndarray
    series: dict[Hashable, int]
    are_groups: bool
    horizons: dict[Hashable, int] | None
    cells: np.ndarray
    squares: np.ndarray
    trues: np.ndarray
    pit: PitCounts

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    def rows_of(self, horizon: Hashable) -> int:
        """Returns the number of rows of a horizon."""
        assert self.horizons is not None
        return int(self.counts[self.horizons[horizon]])

    @property
    def num_series(self) -> int | None:
        """The number of series, or groups of them; None if rows are independent."""
        return len(self.series) if len(self.series) > 1 else None

    @property
    def effective_rows(self) -> float:
        return float(self.cells[..., -1].sum() ** 2 / self.squares[:, -1].sum())

    def count(self, name: Hashable) -> int:
        """Returns in how many rows a column of booleans is true."""
        return int(self.trues[self.names.index(name)])

    def quantile(self, level: float) -> float:
        """Returns the quantile for an interval of this level of a mean."""
        if self.num_series is None:
            return quantile_of(level, None)
        return quantile_of_clusters(level, self.num_series)

    def mean(self, name: Hashable, horizon: Hashable | None = None) -> SummedMean:
        """Returns the mean of a column, over all rows or those of a horizon."""
        some = slice(None)
        if horizon is not None:
            assert self.horizons is not None
            number = self.horizons[horizon]
            some = slice(number, number + 1)
        k = self.names.index(name)
        sums = self.cells[some, :, k].sum(axis=0)
        weights = self.cells[some, :, -1].sum(axis=0)
        first, second = self.squares[some, k], self.squares[some, len(self.names) + k]
        total, squares = float(weights.sum()), float(self.squares[some, -1].sum())
        mean = float(sums.sum()) / total
        alone = second.sum() - 2 * mean * first.sum() + mean**2 * squares
        alone = math.sqrt(max(float(alone), 0.0)) / total
        size = total**2 / squares
        if self.num_series is None:
            return SummedMean(mean, alone, size)
        known = weights > 0
        number = int(known.sum())
        if number < 2:
            return SummedMean(mean, alone, 1.0)
        error = float(np.linalg.norm((sums - mean * weights)[known])) / total
        error *= math.sqrt(number / (number - 1))
        if alone == 0:  # As if all rows of a series were copies.
            return SummedMean(mean, error, min(size, number))
        # Fewer clusters have longer intervals.
        longer = quantile_of_clusters(0.95, number) / quantile_of(0.95, None)
        ratio = error / alone * longer
        return SummedMean(mean, error, max(min(size, size / ratio**2), 1.0))

    def add(self, other: QuantileSums) -> None:
        """Adds the sums over other rows."""
        first, second = self, other
        if self.horizons is not None and other.horizons is not None:
            if len({*self.horizons, *other.horizons}) > MOST_HORIZONS:
                first, second = first._at_no_horizon(), second._at_no_horizon()
        elif (self.horizons is None) != (other.horizons is None):
            first, second = first._at_no_horizon(), second._at_no_horizon()
        too_many = len({*self.series, *other.series}) > MOST_SERIES
        if self.are_groups or other.are_groups or too_many:
            first, second = first._in_groups(), second._in_groups()
        horizons = None
        places = np.zeros(1, int)
        if first.horizons is not None and second.horizons is not None:
            horizons, places = _united(first.horizons, second.horizons)
        series, columns = _united(first.series, second.series)
        shape = (len(horizons or [0]), len(series))
        cells = np.zeros((*shape, first.cells.shape[2]))
        cells[: first.cells.shape[0], : first.cells.shape[1]] = first.cells
        cells[np.ix_(places, columns)] += second.cells
        squares = np.zeros((shape[0], first.squares.shape[1]))
        squares[: len(first.squares)] = first.squares
        squares[places] += second.squares
        counts = np.zeros(shape[0], int)
        counts[: len(first.counts)] = first.counts
        counts[places] += second.counts
        self.counts, self.trues = counts, self.trues + other.trues
        self.series, self.are_groups = series, first.are_groups
        self.horizons, self.cells, self.squares = horizons, cells, squares
        self.pit = self.pit.plus(other.pit)

    def _at_no_horizon(self) -> QuantileSums:
        return dataclasses.replace(
            self,
            horizons=None,
            counts=self.counts.sum(keepdims=True),
            cells=self.cells.sum(axis=0, keepdims=True),
            squares=self.squares.sum(axis=0, keepdims=True),
        )

    def _in_groups(self) -> QuantileSums:
        if self.are_groups:
            return self
        series, groups = grouped(self.series)
        cells = np.zeros((len(self.cells), len(series), self.cells.shape[2]))
        for i, group in enumerate(groups.tolist()):
            cells[:, group] += self.cells[:, i]
        return dataclasses.replace(self, series=series, are_groups=True, cells=cells)


def sums_of_rows(model: QuantileForecasts) -> QuantileSums:
    """Returns the sums over the rows of a part of forecasts.

    Raises:
      ValueError: a value is not as it must be.
    """
    rows = quantiles_of(model)
    y, quantiles, levels = rows.target, rows.quantiles, rows.levels
    columns: dict[Hashable, np.ndarray] = {}
    losses = um.pinball_loss(y, quantiles, levels.tolist())
    crosses = quantiles[:, :-1] > quantiles[:, 1:]
    for i in range(len(levels)):
        columns["below", i] = y < quantiles[:, i]
        columns["at or below", i] = y <= quantiles[:, i]
        columns["loss", i], columns["error", i] = losses[:, i], y - quantiles[:, i]
    for i in range(len(levels) - 1):
        columns["crosses", i] = crosses[:, i]
    for _, i, j in rows.pairs:
        low, high = quantiles[:, i], quantiles[:, j]
        columns["inside", i, j] = (low < y) & (y < high)
        columns["inside or at an end", i, j] = (low <= y) & (y <= high)
    columns["crosses"] = np.any(crosses, axis=1)
    columns["crps"] = (
        2 * losses.mean(axis=1)
        if rows.samples is None
        else um.crps_score(y, rows.samples)
    )
    are_counted, weights = np.ones(np.shape(model.target), bool), np.ones(len(y))
    if model.sample_weight is not None:
        weights = _inputs.sample_weights(model.sample_weight, np.shape(model.target))
        are_counted = weights > 0
        weights = weights[are_counted].astype(np.float64)
    series = None
    if model.clusters is not None:
        series = np.asarray(model.clusters.values)[are_counted].tolist()
    pit = counted(pit_of(model), weights)
    return _sums_of_columns(columns, weights, series, rows.horizons, pit)


def _sums_of_columns(
    columns: dict[Hashable, np.ndarray],
    weights: np.ndarray,
    series: list[Hashable] | None,
    horizons: np.ndarray | None,
    pit: PitCounts,
) -> QuantileSums:
    """Returns the sums over the rows of a part.

    Args:
      columns: numbers of each row by the name of the column, each [n].
      weights: > 0, [n].
      series: id of the series of each row, [n], or None.
      horizons: of each row, [n], or None.
      pit: counts of the PIT intervals of the rows.
    """
    size = len(weights)
    ids: dict[Hashable, int] = {None: 0}
    codes, are_groups = np.zeros(size, int), False
    if series is not None:
        ids = {each: i for i, each in enumerate(dict.fromkeys(series))}
        codes = np.fromiter(map(ids.__getitem__, series), int, size)
        are_groups = len(ids) > MOST_SERIES
        if are_groups:
            ids, groups = grouped(ids)
            codes = groups[codes]
    known, ahead = None, np.zeros(size, int)
    if horizons is not None:
        found, inverse = np.unique(horizons, return_inverse=True)
        if len(found) <= MOST_HORIZONS:
            known = {value: i for i, value in enumerate(found.tolist())}
            ahead = inverse.reshape(-1)
    shape = (len(known or [0]), len(ids))
    cell = ahead * shape[1] + codes
    squared = weights**2

    def by_cell(values: np.ndarray) -> np.ndarray:
        return np.bincount(cell, values, shape[0] * shape[1]).reshape(shape)

    def by_horizon(values: np.ndarray) -> np.ndarray:
        return np.bincount(ahead, values, shape[0])

    cells = [by_cell(weights * each) for each in columns.values()]
    # Weights of 1, and numbers 0 and 1, are their own squares.
    are_ones = bool(np.all(weights == 1))
    first, second = [], []
    for each, in_cells in zip(columns.values(), cells, strict=True):
        sums = in_cells.sum(axis=1) if are_ones else by_horizon(squared * each)
        first.append(sums)
        second.append(sums if each.dtype == bool else by_horizon(squared * each**2))
    return QuantileSums(
        tuple(columns),
        np.bincount(ahead, minlength=shape[0]),
        ids,
        are_groups,
        known,
        np.stack([*cells, by_cell(weights)], axis=-1),
        np.stack([*first, *second, by_horizon(squared)], axis=-1),
        np.array([each.sum() for each in columns.values()], np.float64),
        pit,
    )


def grouped(ids: Iterable[Hashable]) -> tuple[dict[Hashable, int], np.ndarray]:
    """Returns the numbers of groups of series, and the group of each id, [C]. An id has
    the same group in every part.
    """
    groups = [zlib.crc32(str(each).encode()) % MOST_SERIES for each in ids]
    found: dict[Hashable, int] = {}
    return found, np.array([found.setdefault(each, len(found)) for each in groups])


def _united(
    first: dict[Hashable, int], second: dict[Hashable, int]
) -> tuple[dict[Hashable, int], np.ndarray]:
    """Returns the numbers of all keys, and those of the keys of the second, [C]."""
    found = dict(first)
    return found, np.array([found.setdefault(key, len(found)) for key in second])
