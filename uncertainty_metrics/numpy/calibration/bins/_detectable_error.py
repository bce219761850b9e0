"""The smallest l2 calibration error that forecasts in bins would show: of independent
examples, and of examples in clusters.

Within a cluster the residuals U_i = y_i - p_i of two examples are taken to have the
covariance rho s_i s_j, where s_i^2 = p_i (1 - p_i), and rho is the intraclass
correlation.

Outcomes whose probabilities are nearer to 1/2 than the forecasts have a larger variance
than the forecasts say. So an error is harder to see in forecasts that are too sure than
in others, and the smallest error is that of the former.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special

from uncertainty_metrics.numpy._clusters import Clusters, distinct_integers
from uncertainty_metrics.numpy.calibration.bins import (
    _clustered_error,
    _error_interval,
)


class Bins(NamedTuple):
    """The bins of forecasts, without labels.

    Attributes:
      shares: share of the examples in each bin, float64 [bins].
      variances: mean p (1 - p) of each bin, float64 [bins].
      means: mean p of each bin, float64 [bins].
    """

    shares: np.ndarray
    variances: np.ndarray
    means: np.ndarray

    def detectable(self, n: float, power: float, level: float) -> float:
        """Returns the smallest squared error that n examples show; inf if none."""
        counts = n * self.shares
        several = counts > 1.5
        if not np.any(several):
            return math.inf
        counts, forecast = counts[several], self.variances[several]
        means = self.means[several]
        freedom, share = counts / (counts - 1), float(counts.sum()) / n

        def cumulants(error: float) -> tuple[float, float]:
            """Returns the variance and third cumulant of the estimate."""
            variances = _if_too_sure(forecast, means, error)
            variance = 2 * np.sum(freedom * variances**2)
            variance += 4 * error * np.sum(counts * variances)
            third = 8 * np.sum(freedom**2 * variances**3)
            third += 24 * error * np.sum(counts * variances**2)
            return float(variance) / n**2, float(third) / n**3

        limit = _quantile(*cumulants(0.0), _error_interval.quantile(level))
        return _smallest_shown(cumulants, share, power, lambda _: limit)


class ClusteredBins(NamedTuple):
    """The bins of forecasts in clusters, of a sample of `num_examples`.

    A_cb, V_cb and N_cb are the sums of s_i, of s_i^2 and of 1 over the examples of
    cluster c in bin b. The covariance matrix of the sums of U of cluster c in the bins
    is G_c = rho A_c A_c' + (1 - rho) diag(V_c).

    Attributes:
      num_examples: the number of examples.
      counts: sum_c N_cb, float64 [bins].
      own_counts: sum_c N_cb^2, [bins].
      variances: sum_c V_cb, [bins].
      scores: sum of p, [bins].
      covariance: sum_c G_c, [bins, bins].
      own_squares: sum_c G_c^2, elementwise, [bins, bins].
      products: sum_c diag(G_c) diag(G_c)', [bins, bins].
    """

    num_examples: int
    counts: np.ndarray
    own_counts: np.ndarray
    variances: np.ndarray
    scores: np.ndarray
    covariance: np.ndarray
    own_squares: np.ndarray
    products: np.ndarray

    def detectable(self, n: float, power: float, level: float) -> float:
        """Returns the smallest squared error that n examples in clusters like these
        show; inf if none.
        """
        times = n / self.num_examples
        counts, own_counts, variances, scores, covariance, own_squares, products = (
            times * each for each in self[1:]
        )
        effective = counts**2 / own_counts
        several = _clustered_error.has_several(effective)
        if not np.any(several):
            return math.inf
        counts, own_counts, variances, scores, effective = (
            each[several] for each in (counts, own_counts, variances, scores, effective)
        )
        rows = np.ix_(several, several)
        covariance, own_squares = covariance[rows], own_squares[rows]
        shares, freedom = counts / n, effective / (effective - 1)
        weights = shares / (counts**2 - own_counts)
        pairs = np.maximum(covariance**2 - own_squares, 0.0)
        of_means = covariance / np.outer(counts, counts)
        forecast, means = variances / counts, scores / counts
        safe = np.where(forecast > 0, forecast, 1.0)

        def cumulants(error: float) -> tuple[float, float]:
            """Returns those of `Bins`, if the gaps of all bins are equal."""
            growth = np.sqrt(_if_too_sure(forecast, means, error) / safe)
            growth = np.where(forecast > 0, growth, 1.0)
            grown = of_means * np.outer(growth, growth)
            squared = weights * growth**2
            variance = 2 * squared @ pairs @ squared + 4 * error * (
                shares @ grown @ shares
            )
            third = 8 * _cube(shares * freedom ** (2 / 3), grown)
            third += 24 * error * np.sum((grown @ shares) ** 2 * shares)
            return float(variance), float(third)

        own = np.diag(covariance)
        deviations = np.sqrt(np.where(own > 0, own, 1.0))
        correlations = covariance / np.outer(deviations, deviations)
        squared = pairs / np.outer(deviations, deviations) ** 2
        # The squares of the correlations of the data are larger, by their noise.
        noise = products[rows] / np.outer(deviations, deviations) ** 2
        np.fill_diagonal(noise, 0.0)
        np.fill_diagonal(correlations, 1.0)
        np.fill_diagonal(squared, 0.0)
        z = _error_interval.quantile(level)

        def limit(error: float) -> float:
            """Returns which estimate the interval takes for chance.

            It takes the variances from the forecasts, enlarged as the data are by their
            clusters. These are the data's squared sums, in which the error is, too.
            """
            apart = float(np.sum(variances + error * counts))
            together = float(np.sum(own + error * own_counts)) / apart if apart else 1.0
            assumed = together * variances / counts**2
            shared = shares * assumed
            variance = 2 * (np.sum(freedom * shared**2) + shared @ squared @ shared)
            roots = np.sqrt(assumed)
            scaled = shares * freedom ** (2 / 3)
            third = 8 * _cube(scaled, correlations * np.outer(roots, roots))
            scaled = scaled * assumed
            third += 24 * scaled**2 @ noise @ scaled
            return _quantile(float(variance), third, z)

        return _smallest_shown(cumulants, float(shares.sum()), power, limit)


def _cube(shares: np.ndarray, covariance: np.ndarray) -> float:
    """Returns the trace of the third power of diag(shares) times the covariance."""
    product = shares[:, None] * covariance
    return float(np.einsum("ij,ji->", product @ product, product))


def _if_too_sure(variances: np.ndarray, means: np.ndarray, error: float) -> np.ndarray:
    """Returns the variances of outcomes [bins] whose probabilities are nearer to 1/2
    than the forecasts, by the root of a squared error.
    """
    nearer = math.sqrt(error) * np.abs(1 - 2 * means)
    return np.minimum(variances + nearer, 0.25)


def _smallest_shown(
    cumulants: Callable[[float], tuple[float, float]],
    share: float,
    power: float,
    limit: Callable[[float], float],
) -> float:
    """Returns the smallest squared error whose estimate is above the limit with this
    power; inf if there is none up to 1.

    Args:
      cumulants: variance and third cumulant of the estimate, given the squared error.
      share: share of the examples in bins that count.
      power: in (0, 1).
      limit: the largest estimate that chance explains, given the squared error.
    """
    z = float(special.ndtri(power))

    def excess(error: float) -> float:
        """Returns how far above the limit the estimate is with this power."""
        return share * error + _quantile(*cumulants(error), -z) - limit(error)

    if excess(0.0) >= 0:  # All forecasts are certain, or the power is tiny.
        return 0.0
    if excess(1.0) < 0:
        return math.inf
    return float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-15))


def _quantile(variance: float, third: float, z: float) -> float:
    """Returns how far the quantile of the Normal's z is from the mean, for a
    distribution with this variance and third cumulant (Wilson and Hilferty).
    """
    if variance <= 0:
        return 0.0
    deviation = math.sqrt(variance)
    q = min(third / (6 * deviation**3), _error_interval.MAX_SKEW)
    x = z - q
    return deviation * (x + q * x**2 + q**2 * x**3 / 3)


class ClusterTable:
    """Sums over the examples of each cluster in each bin.

    Args:
      clusters: the cluster of each example.
      bins: the bin of each example, integers [N].
      num_bins: the number of bins.
    """

    def __init__(self, clusters: Clusters, bins: np.ndarray, num_bins: int) -> None:
        self.clusters = clusters
        self._shape = clusters.number, num_bins
        # The parts of clusters in bins that hold examples, in the order of clusters.
        parts, self._part = distinct_integers(clusters.codes * num_bins + bins)
        self._columns = parts % num_bins
        self._starts = np.searchsorted(
            parts, num_bins * np.arange(clusters.number + 1), "left"
        )

    def sums(self, values: np.ndarray | None = None) -> Any:
        """Returns the sums of values [N], or of ones, a sparse array [C, bins]."""
        from scipy import sparse

        sums = np.bincount(self._part, values, len(self._columns)).astype(np.float64)
        return sparse.csr_array((sums, self._columns, self._starts), self._shape)


def clustered_bins(
    table: ClusterTable, scores: np.ndarray, correlation: float
) -> ClusteredBins:
    """Returns the bins of forecasts in clusters.

    Args:
      table: the cluster and the bin of each example.
      scores: the forecasts, float64 [N].
      correlation: the intraclass correlation, in [0, 1].
    """
    own = scores * (1 - scores)
    roots, variances, counts = (
        table.sums(values) for values in (np.sqrt(own), own, None)
    )
    apart = 1 - correlation
    sums = np.asarray(variances.sum(axis=0))
    covariance = correlation * (roots.T @ roots).toarray() + np.diag(apart * sums)
    squares = roots.multiply(roots).tocsr()
    own_variances = correlation * squares + apart * variances
    products = (own_variances.T @ own_variances).toarray()
    own_squares = correlation**2 * (squares.T @ squares).toarray()
    np.fill_diagonal(own_squares, np.diag(products))
    return ClusteredBins(
        len(scores),
        np.asarray(counts.sum(axis=0)),
        np.asarray(counts.multiply(counts).sum(axis=0)),
        sums,
        np.asarray(table.sums(scores).sum(axis=0)),
        covariance,
        own_squares,
        products,
    )


def intraclass_correlation(
    table: ClusterTable, scores: np.ndarray, outcomes: np.ndarray
) -> float:
    """Returns the intraclass correlation of y - p that a sample shows, in [0, 1].

    The products of U of two examples of a cluster have the mean rho s_i s_j + d_a d_b,
    where d are the gaps of the bins. Pairs of different clusters tell d_a d_b.

    Args:
      table: the cluster and the bin of each example.
      scores: the forecasts, float64 [N].
      outcomes: in [0, 1], [N].
    """
    residuals, own = outcomes - scores, scores * (1 - scores)
    sums, counts, roots = (table.sums(each) for each in (residuals, None, np.sqrt(own)))
    products, pairs = ((each.T @ each).toarray() for each in (sums, counts))
    totals, sizes = (np.asarray(each.sum(axis=0)) for each in (sums, counts))
    others = np.outer(sizes, sizes) - pairs
    gaps = (np.outer(totals, totals) - products) / np.where(others > 0, others, 1.0)
    gaps[others <= 0] = 0.0
    together = np.sum(products - pairs * gaps)
    together -= np.sum(residuals**2) - sizes @ np.diag(gaps)
    possible = float(np.sum(np.asarray(roots.sum(axis=1)) ** 2) - np.sum(own))
    return min(max(float(together) / possible, 0.0), 1.0) if possible > 0 else 0.0
