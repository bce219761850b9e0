"""The PIT intervals of forecasts by quantiles or samples, and counts of equal ones.

The ends of an interval are levels of quantiles, or ranks among samples. So there are
few different intervals, whose counts hold all that a histogram of any bins needs.
"""

from __future__ import annotations

import dataclasses

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import QuantileForecasts, remembered
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics._results import PITInterval


@remembered
def pit_of(model: QuantileForecasts) -> PITInterval:
    """Returns the PIT interval of each row. Quantiles that cross are sorted first."""
    rows = quantiles_of(model)
    if rows.samples is not None:
        return um.regression.sample_pit(rows.samples, rows.target)
    if len(rows.levels) > 1:
        ordered = np.sort(rows.quantiles, axis=1)
        return um.regression.quantile_pit(ordered, rows.levels, rows.target)
    # `quantile_pit` needs two levels; of one, a target is on either side.
    above = rows.target > rows.quantiles[:, 0]
    level = rows.levels[0]
    return PITInterval(np.where(above, level, 0.0), np.where(above, 1.0, level))


@dataclasses.dataclass(frozen=True, eq=False)
class PitCounts:
    """Different PIT intervals of rows.

    Attributes:
      intervals: the intervals, [P].
      counts: number of rows of each, [P].
      weights: sum of the weights of its rows, [P].
    """

    intervals: PITInterval
    counts: np.ndarray
    weights: np.ndarray

    def plus(self, other: PitCounts) -> PitCounts:
        """Returns the counts of the rows of both."""
        lower, upper = (
            np.concatenate(ends)
            for ends in zip(self.intervals, other.intervals, strict=True)
        )
        return counted(
            PITInterval(lower, upper),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.counts, other.counts]),
        )


def counted(
    pit: PITInterval, weights: np.ndarray, counts: np.ndarray | None = None
) -> PitCounts:
    """Returns the counts of intervals [n], of these weights; each stands for one row,
    or for `counts` rows.
    """
    lower, upper = (np.asarray(end, np.float64) for end in pit)
    # Complex numbers are sorted by their two parts.
    different, places = np.unique(lower + 1j * upper, return_inverse=True)
    places, size = places.reshape(-1), len(different)
    return PitCounts(
        PITInterval(different.real.copy(), different.imag.copy()),
        np.bincount(places, counts, size),
        np.bincount(places, weights, size),
    )
