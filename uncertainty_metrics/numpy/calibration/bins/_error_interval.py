"""The interval of the l2 calibration error, from four sums over each bin.

For scores p and outcomes y, with U = y - p, these are the number n of examples and the
sums of U, U^2 and p (1 - p). NumPy and tensors use the same formulas. The last is the
variance of U of a calibrated model if outcomes are 0 and 1. Of outcomes between, only
the data tell it: there U^2 takes its place.
"""

from __future__ import annotations

import dataclasses
import statistics

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells

# The search for the lower end has this many rounds, each of this many places.
ROUNDS, PLACES = 5, 2**10
# A sixth of the skewness of the square of a Normal, which no sum of squares exceeds.
MAX_SKEW = 8**0.5 / 6
# Scores in float32 give the mean of a bin this relative error, and less.
NEGLIGIBLE = 1e-6


def quantile(level: float) -> float:
    """Returns z, such that a standard Normal is in [-z, z] with probability `level`."""
    return statistics.NormalDist().inv_cdf((1 + level) / 2)


def of_examples(examples: _examples.Examples, spec: CalibrationSpec) -> np.ndarray:
    """Returns the sums [4, non-empty bins] of one group of scores."""
    [(scores, outcomes, weights)] = _scores.scores_of_groups(examples, spec)
    return of_scores(scores, outcomes, weights, spec)[0]


def of_scores(
    scores: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    spec: CalibrationSpec,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the sums [4, non-empty bins] of scores, and the largest score of each of
    these bins.
    """
    edges = _binning.even_edges(spec.num_bins, scores.dtype)[1:-1]
    if scores.dtype.itemsize < 4:
        scores, edges = scores.astype(np.float32), edges.astype(np.float32)
    is_binary = outcomes.dtype.kind != "f"
    scores, outcomes, weights = _binning.sorted_scores(scores, outcomes, weights)
    if spec.binning_scheme == "even":
        inner = np.searchsorted(scores, edges, "right")
        starts = np.concatenate([[0], inner, [len(scores)]])
    else:
        masses = None
        if weights is not None:
            masses = _binning.integer_masses(weights, spec.num_bins)
        starts = _binning.adaptive_starts(scores, spec.num_bins, masses)
    filled = starts[:-1] < starts[1:]
    first, largest = starts[:-1][filled], scores[starts[1:][filled] - 1]
    scores = scores.astype(np.float64)
    residuals = outcomes - scores
    squares = residuals**2
    of_forecasts = scores * (1 - scores) if is_binary else squares
    values = [np.ones_like(scores), residuals, squares, of_forecasts]
    if weights is not None:
        values = [weights * value for value in values]
    return np.stack([np.add.reduceat(value, first) for value in values]), largest


def of_cells(cells: Cells) -> np.ndarray:
    """Returns the sums [4, J] of cells, as if all scores of a cell were their mean."""
    weights, hits, scores = cells.weights, cells.outcome_sums, cells.scores
    squares = hits * (1 - scores) ** 2 + (weights - hits) * scores**2
    of_forecasts = weights * scores * (1 - scores)
    if cells.spread_sums is not None:
        squares = np.maximum(squares - cells.spread_sums, 0.0)
        of_forecasts = squares
    return np.stack([weights, hits - cells.score_sums, squares, of_forecasts])


def grouped(sums: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns the sums of bins of equal mass, made of whole cells."""
    index = bins_of_mass(sums[0], num_bins)
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    return np.add.reduceat(sums, starts, axis=1)


def bins_of_mass(weights: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns the bin of equal mass of each cell, ascending, given their weights."""
    masses = _binning.integer_masses(weights, num_bins)
    below = np.cumsum(masses) - masses
    return num_bins * (2 * below + masses) // (2 * masses.sum())


@dataclasses.dataclass(frozen=True)
class Moments:
    """What the interval needs to know of the estimate T of the squared error.

    The cumulants of T are linear in the true squared error. Each array of them holds
    the variance where the true squared error is 0, and how much it grows with the true
    squared error; then both for the third cumulant.

    Attributes:
      square: T, or 0 if it is negative.
      share: share of the examples that are in bins which count in T.
      spread: the part of the variance that comes from the sizes of the bins.
      of_upper: cumulants for the upper end.
      of_forecasts: cumulants if the outcomes have the variance of the forecasts.
      of_data: cumulants if they have the variance of the data.
    """

    square: float
    share: float
    spread: float
    of_upper: np.ndarray
    of_forecasts: np.ndarray
    of_data: np.ndarray

    def design_effect(self, independent: Moments) -> float | None:
        """Returns how many times fewer independent examples would give the estimate as
        much variance as here: the variance at 0 falls with the square of their number,
        the others with their number. None if there is no variance.
        """
        at_zero, slope = independent.of_data[:2]
        linear = slope * independent.square + independent.spread
        variance = self.of_data[0] + self.of_data[1] * self.square + self.spread
        if at_zero + linear <= 0:
            return None
        root = np.sqrt(linear**2 + 4 * at_zero * variance)
        return float(2 * variance / (linear + root)) if variance > 0 else None


def interval(sums: np.ndarray, unit: float, level: float) -> ConfidenceInterval:
    """Returns the interval; `calibration_error_interval` has the formulas.

    Args:
      sums: float64 [4, bins], for non-empty bins.
      unit: number of examples in a weight of 1.
      level: in (0, 1).
    """
    z = quantile(level)
    moments = moments_of_sums(sums, unit, z)
    return interval_of_moments(moments, z)


def moments_of_sums(sums: np.ndarray, unit: float, z: float) -> Moments | None:
    """Returns the moments for independent examples, and None if no bin has two."""
    counts = sums[0] * unit
    several = counts > 1.5
    if not np.any(several):
        return None
    total = counts.sum()
    residuals, squares, forecast = sums[1:, several] / sums[0, several]
    counts = counts[several]
    shares, freedom = counts / total, counts / (counts - 1)
    variances = np.maximum(squares - residuals**2, 0.0) * freedom
    means = residuals**2 - variances / counts
    square = max(float(np.sum(shares * means)), 0.0)
    positive, mean = positive_parts(shares, means, residuals)
    parts = shares * positive / mean if mean > 0 else shares
    spread = np.sum(shares * (positive - mean) ** 2) / total
    spread *= (square / mean) ** 2 if mean > 0 else 0.0
    scale = (1 / total) ** np.array([2, 1, 3, 2])

    def cumulants(variances: np.ndarray) -> np.ndarray:
        return scale * [
            2 * np.sum(freedom * variances**2),
            4 * np.sum(parts * variances),
            8 * np.sum(freedom**2 * variances**3),
            24 * np.sum(parts * variances**2),
        ]

    enlarged = (counts - 1) * variances + z**2 * forecast + shares
    return Moments(
        square=square,
        share=float(shares.sum()),
        spread=float(spread),
        of_upper=cumulants(enlarged / (counts - 1 + z**2)),
        of_forecasts=cumulants(forecast),
        of_data=cumulants(variances),
    )


def positive_parts(
    shares: np.ndarray, means: np.ndarray, residuals: np.ndarray
) -> tuple[np.ndarray, float]:
    """Returns the debiased squared means of the bins, clipped at 0, and their mean."""
    # A mean that is 0 but for rounding would otherwise take the whole of the error.
    positive = np.where(means > NEGLIGIBLE * residuals**2, means, 0.0)
    return positive, float(np.sum(shares * positive))


def interval_of_moments(moments: Moments | None, z: float) -> ConfidenceInterval:
    """Returns the interval, which is (0, 0, 1) without moments."""
    if moments is None:
        return ConfidenceInterval(0.0, 0.0, 1.0)
    square, spread = moments.square, moments.spread
    at_zero, slope, _, _ = moments.of_upper
    half = z**2 * slope / 2
    root = half**2 + 2 * half * square + z**2 * (at_zero + spread)
    upper = (square + half + np.sqrt(root)) / moments.share

    low, high = 0.0, 1.0
    for _ in range(ROUNDS if square > 0 else 0):
        places = low + (high - low) * np.linspace(0.0, 1.0, PLACES + 1)
        truth = places**2 * square
        at_zero, slope, third_at_zero, third_slope = (
            (1 - places) * of_forecasts + places * of_data
            for of_forecasts, of_data in zip(
                moments.of_forecasts, moments.of_data, strict=True
            )
        )
        variance = at_zero + slope * truth + spread
        third = third_at_zero + third_slope * truth
        # This may be the first place, 0: then chance alone explains the estimate.
        first = np.argmax(square - truth <= _reach(variance, third, z))
        low, high = places[max(first - 1, 0)], places[first]
    estimate = np.sqrt(square)
    return ConfidenceInterval(
        float(high * estimate), float(estimate), float(np.sqrt(min(upper, 1.0)))
    )


def _reach(variance: np.ndarray, third: np.ndarray, z: float) -> np.ndarray:
    """Returns how far the upper quantile is above the mean, for a distribution with
    this variance and this third cumulant (Wilson and Hilferty).
    """
    deviation = np.sqrt(variance)
    q = np.minimum(third / np.where(variance > 0, 6 * deviation**3, 1.0), MAX_SKEW)
    x = z - q
    # For levels near 0 the quantile is below the mean.
    return np.maximum(deviation * (x + q * x**2 + q**2 * x**3 / 3), 0.0)
