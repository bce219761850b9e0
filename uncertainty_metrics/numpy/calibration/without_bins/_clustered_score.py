"""The score test of examples in clusters."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics._results import SpiegelhalterTest
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    Rows,
)


class Score(NamedTuple):
    """A sum of scores of examples that is 0 on average, with what its variance needs.

    Examples of different clusters are independent. If few events are expected, the sums
    of the clusters may all be alike by chance, so that their squares are far too small.
    So the variance is at least that of independent examples by the model, times the
    ratio of the squares of clusters and of examples.

    Attributes:
      sums: sum of the scores of each cluster, float64 [C].
      squares: sum of the squared scores of the examples.
      model: variance of the sum if the examples are independent.
      leverages: the share of each cluster in the information about parameters that were
        fitted, float64 [C]; 1 / C if none were.
    """

    sums: np.ndarray
    squares: float
    model: float
    leverages: np.ndarray | float

    @property
    def variance(self) -> float:
        """The variance of the sum."""
        number = len(self.sums)
        kept = np.maximum(1 - self.leverages, np.finfo(np.float64).tiny)
        sandwich = float(np.sum((self.sums / kept) ** 2)) * (number - 1) / number
        if not self.squares > 0:
            return sandwich
        ratio = float(self.sums @ self.sums) / self.squares
        return max(sandwich, ratio * self.model)

    @property
    def z(self) -> float:
        """The sum, divided by its standard error."""
        total, variance = float(self.sums.sum()), self.variance
        if variance == 0:
            return math.copysign(math.inf, total) if total else 0.0
        return total / math.sqrt(variance)

    @property
    def design_effect(self) -> float | None:
        """The variance of the sum, divided by that of independent examples; None if
        that is 0.
        """
        return self.variance / self.model if self.model > 0 else None

    @property
    def p_value(self) -> float:
        """The p-value of a mean of 0, by Student's distribution."""
        return 2 * float(special.stdtr(len(self.sums) - 1, -abs(self.z)))

    def quantile(self, level: float) -> float:
        """Returns the largest abs(z) of an interval of this level."""
        return float(special.stdtrit(len(self.sums) - 1, (1 + level) / 2))


def spiegelhalter(cells: Cells, rows: Rows) -> SpiegelhalterTest:
    """Returns the test of examples in clusters; z is NaN where all scores are 0, 1/2 or
    1.
    """
    variance, _ = _pooled_errors.spiegelhalter_moments(cells)
    if not variance > 0:
        return SpiegelhalterTest(math.nan, math.nan)
    scores = (rows.outcomes - rows.scores) * (1 - 2 * rows.scores)
    squares = float((rows.weights * scores) @ scores)
    score = Score(rows.sums(scores), squares, variance, 1 / rows.clusters.number)
    test = SpiegelhalterTest(
        score.z, max(score.p_value, _p_value_of_copies(rows, float(score.sums.sum())))
    )
    test.design_effect = score.design_effect
    return test


def _p_value_of_copies(rows: Rows, total: float) -> float:
    """Returns the p-value of the sum of the scores if all surprises of a cluster come
    together; 0 if many such clusters are expected, for then the data show what comes
    together.
    """
    squares = (1 - 2 * rows.scores) ** 2
    variances = squares * rows.scores * (1 - rows.scores)
    variance = float(np.sum(rows.sums(np.sqrt(variances)) ** 2))
    third = float(np.sum(rows.sums(np.cbrt(squares * variances)) ** 3))
    expected = variance * (variance / third) ** 2
    if not expected < _pooled_errors.FEW_SURPRISES:
        return 0.0
    z = total / math.sqrt(variance)
    normal = math.erfc(abs(z) / math.sqrt(2))
    return max(normal, _pooled_errors.p_value_of_surprises(z, expected))
