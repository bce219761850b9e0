"""Means of scores of examples that may depend on each other, and their intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uncertainty_metrics._results import TestedInterval
from uncertainty_metrics.numpy._clusters import cluster_sums
from uncertainty_metrics.numpy._resamples import Dependence


class Mean(NamedTuple):
    """A mean with its standard error.

    Attributes:
      mean: the mean.
      error: its standard error.
      freedom: degrees of freedom of Student's distribution.
    """

    mean: float
    error: float
    freedom: float

    def interval(self, level: float) -> TestedInterval:
        """Returns Student's interval, and the p-value of a mean of 0."""
        from scipy import special

        if not math.isfinite(self.mean):
            return TestedInterval(self.mean, self.mean, self.mean, 0.0)
        half = self.error * float(special.stdtrit(self.freedom, (1 + level) / 2))
        p_value = float(self.mean == 0)
        if self.error > 0:
            distance = abs(self.mean) / self.error
            p_value = 2 * float(special.stdtr(self.freedom, -distance))
        return TestedInterval(self.mean - half, self.mean, self.mean + half, p_value)


def mean(
    values: np.ndarray, dependence: Dependence, counts: np.ndarray | None = None
) -> Mean:
    """Returns the mean of values [n] with its standard error.

    With counts it is the sum of the values over the sum of the counts. In time the
    error is that of Diebold and Mariano (1995), with the factor of Harvey, Leybourne
    and Newbold (1997).

    Args:
      values: a score of each example, or the sum of several.
      dependence: how the examples depend on each other.
      counts: how many scores are in each sum, [n]; None for ones.
    """
    if counts is None:
        counts = np.ones(len(values))
    elif dependence.clusters is None and dependence.block == 1:
        values, counts = values[counts > 0], counts[counts > 0]
    n = len(values)
    average = float(values.sum() / counts.sum())
    if not math.isfinite(average):
        return Mean(average, math.nan, math.inf)
    deviations = (values - average * counts) * (n / counts.sum())
    if dependence.clusters is not None:
        codes, number = dependence.clusters
        sums = cluster_sums(deviations, codes, number)
        variance = float(sums @ sums) / n**2 * number / (number - 1)
        return Mean(average, math.sqrt(variance), number - 1)
    h = dependence.block
    variance = _long_run_variance(deviations, h) / n
    factor = (n + 1 - 2 * h + h * (h - 1) / n) / n
    return Mean(average, math.sqrt(variance / factor), n - 1)


def _long_run_variance(deviations: np.ndarray, block: int) -> float:
    """Returns the variance of a mean of n values, times n, if values that are `block`
    apart are independent.
    """
    n = len(deviations)
    # A loop over the lags, each of which is a product of two parts of the series.
    products = [
        float(deviations[lag:] @ deviations[: n - lag]) / n for lag in range(block)
    ]
    variance = products[0] + 2 * sum(products[1:])
    if variance > 0 or block == 1:
        return variance
    # The sum may be negative by chance; with Bartlett's weights it is not.
    weights = 1 - np.arange(block) / block
    return products[0] + 2 * float(weights[1:] @ np.array(products[1:]))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Returns p-values [n] adjusted by Holm's method for n tests."""
    order = np.argsort(p_values, kind="stable")
    steps = (len(p_values) - np.arange(len(p_values))) * p_values[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
