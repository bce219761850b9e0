"""The difference between the squared l2 errors of two models on the same examples, and
its variance, by a jackknife over the units that are independent: examples or clusters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy import _clusters

# So many examples with the variance of the forecasts are added to each bin, as in
# Wilson's interval of 95%: the square of the Normal quantile.
ADDED = 1.959963984540054**2
# Variances that are smaller than others by this ratio are rounding.
ROUNDING = 1e-12


class Binned(NamedTuple):
    """The scores of one model in bins.

    Attributes:
      bins: the bin of each example, integers [N] in [0, num_bins).
      num_bins: number of bins.
      residuals: outcome less score, float64 [N].
      outcomes: whether the outcome came, boolean [N]; or numbers in [0, 1].
      forecast_variances: variances of the residuals of a calibrated model, float64 [N]:
        p (1 - p) of the scores p, or squared residuals of outcomes between 0 and 1.
    """

    bins: np.ndarray
    num_bins: int
    residuals: np.ndarray
    outcomes: np.ndarray
    forecast_variances: np.ndarray


class Units(NamedTuple):
    """What is independent of each other.

    Attributes:
      codes: the unit of each example, integers [N] in [0, number).
      number: number of units.
      weights: weight of each example within its unit, float64 [N].
      copies: how many independent copies each unit stands for, float64 [number].
    """

    codes: np.ndarray
    number: int
    weights: np.ndarray
    copies: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Total weight of each unit, float64 [number]."""
        return np.bincount(self.codes, self.weights, self.number)

    @property
    def effective(self) -> float:
        """The number of units of equal size that are worth as much."""
        return float((self.copies @ self.sizes) ** 2 / (self.copies @ self.sizes**2))


def units(
    weights: np.ndarray | None, size: int, clusters: _clusters.Clusters | None
) -> Units:
    """Returns the units of examples with these weights, [size] or None."""
    ones = np.ones(size)
    if clusters is None:
        copies = ones if weights is None else weights
        return Units(np.arange(size), size, ones, copies)
    weights = ones if weights is None else weights
    return Units(clusters.codes, clusters.number, weights, np.ones(clusters.number))


class _Cells(NamedTuple):
    """Sums over the examples that a unit has in a bin.

    Attributes:
      units: the unit of each cell, integers [cells].
      bins: the bin of each cell, integers [cells].
      sums: sum of the residuals, float64 [cells].
      sizes: sum of the weights, float64 [cells].
    """

    units: np.ndarray
    bins: np.ndarray
    sums: np.ndarray
    sizes: np.ndarray


def _cells(model: Binned, of: Units) -> _Cells:
    if of.number == len(of.codes):  # One example a unit.
        order = of.codes
        return _Cells(order, model.bins, of.weights * model.residuals, of.weights)
    present, cell = _clusters.distinct_integers(of.codes * model.num_bins + model.bins)
    sums = np.bincount(cell, of.weights * model.residuals)
    return _Cells(
        *np.divmod(present, model.num_bins), sums, np.bincount(cell, of.weights)
    )


def _terms(
    sums: np.ndarray, sizes: np.ndarray, squares: np.ndarray, own_pairs: np.ndarray
) -> np.ndarray:
    """Returns n_b m_b of bins, with m_b the mean product of the residuals of two
    different units; 0 for a bin with fewer than 1.5 units.

    Args:
      sums: sum of the residuals.
      sizes: number of examples.
      squares: sum over units of the squares of their sums.
      own_pairs: sum over units of the squares of their sizes.
    """
    several = sizes**2 > 1.5 * own_pairs
    pairs = np.where(several, sizes**2 - own_pairs, 1.0)
    return np.where(several, sizes * (sums**2 - squares) / pairs, 0.0)


def jackknife(model: Binned, of: Units) -> tuple[float, np.ndarray, bool]:
    """Returns the squared error of a model, the same without each unit, [number], and
    whether a bin has several units, without which there is no estimate.

    A unit of several copies loses one of them.
    """
    cells = _cells(model, of)
    copies = of.copies[cells.units]
    left_out = np.minimum(copies, 1.0)
    rows = np.stack([cells.sums, cells.sizes, cells.sums**2, cells.sizes**2])
    totals = np.stack(
        [np.bincount(cells.bins, copies * row, model.num_bins) for row in rows]
    )
    terms = _terms(*totals)
    without = _terms(*(totals[:, cells.bins] - left_out * rows))
    change = np.bincount(cells.units, without - terms[cells.bins], of.number)
    size = totals[1].sum()
    rest = size - np.minimum(of.copies, 1.0) * of.sizes
    values = (terms.sum() + change) / np.where(rest > 0, rest, 1.0)
    several = bool(np.any(totals[1] ** 2 > 1.5 * totals[3]))
    return float(terms.sum() / size), values, several


def variance(values: np.ndarray, of: Units) -> float:
    """Returns the jackknife's variance of an estimate, from its values without each
    unit, [number].
    """
    times = np.maximum(of.copies, 1.0)
    number = times.sum()
    deviations = values - times @ values / number
    return float((number - 1) / number * (times @ deviations**2))


def skewness(first: Binned, second: Binned, without: np.ndarray, of: Units) -> float:
    """Returns how fast the variance of the difference grows with the difference, as the
    skewness of a mean with such a variance, in [-1, 1].

    One part is the skewness of the values without each unit. The other is that an error
    is a mean of squared gaps: gaps that are too large by chance make the error and its
    variance too large.
    """
    times = np.maximum(of.copies, 1.0)
    number = times.sum()
    deviations = times @ without / number - without
    spread = float(times @ deviations**2)
    if spread <= 0:
        return 0.0
    skew = float(times @ deviations**3) / spread**1.5
    for sign, model in ((1.0, first), (-1.0, second)):
        cells = _cells(model, of)
        masses = of.copies[cells.units] * cells.sizes
        counts = np.bincount(cells.bins, masses, model.num_bins)
        filled = np.where(counts > 0, counts, 1.0)
        sums = np.bincount(
            cells.bins, of.copies[cells.units] * cells.sums, model.num_bins
        )
        gaps = cells.sums - cells.sizes * (sums / filled)[cells.bins]
        shared = of.copies[cells.units] * deviations[cells.units] * gaps
        # The covariance of the difference with the mean residual of each bin.
        with_mean = np.bincount(cells.bins, shared, model.num_bins) / filled
        grows = 4 * float(counts @ with_mean**2) / counts.sum()
        skew += sign * 1.5 * grows / spread**1.5
    return float(np.clip(skew, -1.0, 1.0))


class _Spread(NamedTuple):
    """What is known of the variance of the residuals in the bins of a model, [bins].

    Attributes:
      sizes: effective number of examples.
      means: mean residual.
      seen: variance of the residuals.
      possible: the same, not smaller, after adding a few examples with the variance of
        the forecasts, and a part of one that contradicts its forecast.
    """

    sizes: np.ndarray
    means: np.ndarray
    seen: np.ndarray
    possible: np.ndarray


def _spread(model: Binned, of: Units) -> _Spread:
    cells = _cells(model, of)
    copies = of.copies[cells.units]
    masses = copies * cells.sizes

    def per_bin(values: np.ndarray) -> np.ndarray:
        return np.bincount(cells.bins, values, model.num_bins)

    count = per_bin(masses)
    filled = np.where(count > 0, count, 1.0)
    sizes = of.effective / count.sum() * count
    means = per_bin(copies * cells.sums) / filled
    gaps = cells.sums / cells.sizes - means[cells.bins]
    freedom = np.where(sizes > 1.5, sizes - 1, 1.0)
    seen = per_bin(masses * gaps**2) / filled
    seen *= np.where(sizes > 1.5, sizes / freedom, 1.0)
    mass = of.weights * of.copies[of.codes]
    forecast = np.bincount(model.bins, mass * model.forecast_variances, model.num_bins)
    added = ADDED * (forecast / filled + count / count.sum() / 2)
    possible = (freedom * seen + added) / (freedom + ADDED)
    return _Spread(sizes, means, seen, np.maximum(possible, seen))


def least_variances(first: Binned, second: Binned, of: Units) -> tuple[float, float]:
    """Returns two variances of the difference that the jackknife may not see.

    The first is that of the noise alone, if no bin has a gap. The second is how much
    larger the variance is if the residuals have the variances that are possible, and
    not those that are seen: where all outcomes of a bin are equal, none is seen.
    """
    spreads = _spread(first, of), _spread(second, of)
    a, b = first.bins, second.bins
    mass = of.weights * of.copies[of.codes]
    total = of.effective
    same = first.outcomes == second.outcomes
    gap_1, gap_2 = spreads[0].means[a], spreads[1].means[b]
    more_1, more_2 = ((s.possible - s.seen) for s in spreads)
    more_1, more_2 = more_1[a], more_2[b]
    # The noise of one outcome is in both residuals, and cancels where gaps are equal.
    linear = np.where(
        same,
        (gap_1 - gap_2) ** 2 * np.maximum(more_1, more_2),
        gap_1**2 * more_1 + gap_2**2 * more_2,
    )
    of_gaps = 4 * float(mass @ linear) / mass.sum() / total
    shared = np.bincount(
        a * second.num_bins + b, mass * same, first.num_bins * second.num_bins
    ).reshape(first.num_bins, second.num_bins)
    shared *= total / mass.sum()
    pairs = np.maximum(shared * (shared - 1), 0.0)
    freedoms = [np.where(s.sizes > 1.5, s.sizes - 1, np.inf) for s in spreads]

    def of_noise(variances: tuple[np.ndarray, np.ndarray]) -> float:
        """Returns the variance from pairs of examples, for residuals of these variances
        in the bins of the two models.
        """
        own = [
            float(np.sum(variance**2 * spread.sizes / freedom))
            for variance, spread, freedom in zip(
                variances, spreads, freedoms, strict=True
            )
        ]
        weights = [v / f for v, f in zip(variances, freedoms, strict=True)]
        both = float(weights[0] @ pairs @ weights[1])
        return max(2 * (sum(own) - 2 * both), 0.0) / total**2

    seen = of_noise((spreads[0].seen, spreads[1].seen))
    possible = of_noise((spreads[0].possible, spreads[1].possible))
    return seen, of_gaps + max(possible - seen, 0.0)


class Ends(NamedTuple):
    """An interval of a difference, and the p-value of 0."""

    lower: float
    upper: float
    p_value: float
    standard_error: float


def ends(
    first: Binned,
    second: Binned,
    of: Units,
    estimate: float,
    without: np.ndarray,
    level: float,
) -> Ends:
    """Returns the ends; `without` has the difference without each unit, [number]."""
    from scipy import special

    seen = variance(without, of)
    noise, more = least_variances(first, second, of)
    error = math.sqrt(max(seen, noise) + more)
    if error == 0:
        return Ends(estimate, estimate, float(estimate == 0), 0.0)
    freedom = float(np.maximum(of.copies, 1.0).sum()) - 1
    skew = skewness(first, second, without, of) if seen > ROUNDING * error**2 else 0.0
    z = float(special.stdtrit(freedom, (1 + level) / 2))

    def reach(skew: float) -> float:
        """Returns how many standard errors the end is away, never fewer than z."""
        return z + max(skew, 0.0) * (2 * z**2 + 1) / 6

    lower, upper = estimate - reach(-skew) * error, estimate + reach(skew) * error
    # The z at which the end on the side of 0 is 0, from reach(...) = distance.
    distance = abs(estimate) / error
    towards = max(-skew if estimate > 0 else skew, 0.0)
    if towards > 0:
        inner = 1 + 4 / 3 * towards * (distance - towards / 6)
        distance = (math.sqrt(max(inner, 1.0)) - 1) / (2 / 3 * towards)
    p_value = min(2 * float(special.stdtr(freedom, -distance)), 1.0)
    return Ends(max(lower, -1.0), min(upper, 1.0), p_value, error)
