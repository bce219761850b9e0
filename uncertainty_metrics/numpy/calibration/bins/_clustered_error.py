"""The l2 calibration error of examples in clusters, and the moments of its interval.

S_cb is the sum of U = y - p over the examples of cluster c in bin b, and N_cb is their
number; S_b and N_b are the sums over clusters. Pairs of different clusters give the
unbiased estimate

  theta_b = (S_b^2 - sum_c S_cb^2) / (N_b^2 - sum_c N_cb^2)

of the squared gap of bin b. With a cluster for each example these are the formulas of
independent examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._clusters import (
    Clusters,
    cluster_sums,
    distinct_integers,
)
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _error_interval,
    _scores,
    _simulated_bins,
)
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.calibration.bins._error_interval import (
    Moments,
    positive_parts,
)

# The interval holds matrices [bins, bins].
MAX_BINS = 1000
# The size of the largest temporary arrays.
_BLOCK = 2**22
_SMALL_BLOCK = 2**14
# As many examples as a bin must have at least, in units of its largest clusters.
_SEVERAL = 1.5


def check_bins(num_bins: int) -> None:
    """Raises ValueError for more bins than the interval can have with clusters."""
    if num_bins > MAX_BINS:
        expected = f"at most {MAX_BINS} with `clusters`"
        raise _checks.error("num_bins", expected, num_bins)


def has_several(effective: np.ndarray) -> np.ndarray:
    """Says which bins have several clusters, given their effective numbers [bins]."""
    return effective > _SEVERAL


def debiased_square(
    examples: _examples.Examples,
    clusters: Clusters,
    spec: CalibrationSpec,
    statistics: BinStatistics,
) -> float:
    """Returns the squared l2 error from pairs of different clusters, averaged over
    groups of scores; a bin without such pairs counts 0.
    """
    is_plain = spec.has_one_score and spec.threshold == 0
    is_plain &= spec.datapoints_per_bin is None and len(statistics.counts) == 1
    if is_plain and spec.num_bins <= MAX_BINS:  # A sort of all pairs takes longer.
        [(scores, outcomes, weights)] = _scores.scores_of_groups(examples, spec)
        (filled,) = np.nonzero(statistics.counts[0])
        if spec.binning_scheme == "even":
            filled = np.arange(spec.num_bins)
            bins = _binning.even_index(scores, spec.num_bins)
        else:
            uppers = statistics.edges[0, filled[:-1] + 1]
            bins = _binning.index_between(uppers, scores)
        parts = _Parts(scores, outcomes, weights, clusters, bins, len(filled))
        own, own_masses = parts.squares()
        gaps = statistics.outcome_sums - statistics.score_sums
        return mean_square(
            *(statistics.counts[:, filled], gaps[:, filled]),
            *(own[None], own_masses[None]),
        )
    scored = _simulated_bins.entries(examples, spec, statistics)
    cells = scored.cells
    masses = np.ones(cells.shape)
    if examples.weights is not None:
        masses *= examples.weights[:, None]
    residuals = masses * (scored.outcomes - scored.scores)
    codes = np.broadcast_to(clusters.codes[:, None], cells.shape)
    # The cells of a cluster that hold examples, in one column for all clusters.
    pairs, part = distinct_integers(
        codes.reshape(-1) * (scored.num_cells + 1) + cells.reshape(-1)
    )
    bins = pairs % (scored.num_cells + 1)

    def squares(values: np.ndarray) -> np.ndarray:
        of_parts = cluster_sums(values.reshape(-1), part, len(pairs))
        return np.bincount(bins, of_parts**2, scored.num_cells + 1)[:-1]

    shape = statistics.counts.shape
    own, own_masses = (squares(v).reshape(shape) for v in (residuals, masses))
    gaps = statistics.outcome_sums - statistics.score_sums
    return mean_square(statistics.counts, gaps, own, own_masses)


def mean_square(
    counts: np.ndarray, gaps: np.ndarray, own: np.ndarray, own_masses: np.ndarray
) -> float:
    """Returns the squared error, from N_b, S_b and the sums over clusters of S_cb^2 and
    of N_cb^2, each [groups, bins].
    """
    several = counts**2 > _SEVERAL * own_masses
    theta = (gaps**2 - own) / np.where(several, counts**2 - own_masses, 1.0)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(totals > 0, totals, 1.0)
    return float(np.mean(np.sum(np.where(several, shares * theta, 0.0), axis=1)))


class _Parts:
    """The sums S_cb and N_cb of the parts of clusters in bins, in blocks of clusters.

    Args:
      scores: [N].
      outcomes: boolean [N].
      weights: float64 [N], or None for ones.
      clusters: the cluster of each example.
      bins: the bin of each example, integers [N].
      num_bins: number of bins.
    """

    def __init__(
        self,
        scores: np.ndarray,
        outcomes: np.ndarray,
        weights: np.ndarray | None,
        clusters: Clusters,
        bins: np.ndarray,
        num_bins: int,
    ) -> None:
        residuals = outcomes - scores.astype(np.float64, copy=False)
        self._residuals = residuals if weights is None else weights * residuals
        self._masses = weights
        self._clusters = clusters
        self._bins, self._num_bins = bins, num_bins
        self._whole: tuple[np.ndarray, np.ndarray] | None = None

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sums over clusters of S_cb^2 and of N_cb^2, each [bins]."""
        own, own_masses = np.zeros((2, self._num_bins))
        for sums, sizes in self.blocks():
            own += np.einsum("cb,cb->b", sums, sums)
            own_masses += np.einsum("cb,cb->b", sizes, sizes)
        return own, own_masses

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields S_cb and N_cb of blocks of clusters, each float64 [clusters, bins]."""
        number, bins = self._clusters.number, self._num_bins
        at_once, step = max(1, _BLOCK // bins), max(1, _SMALL_BLOCK // bins)
        for start in range(0, number, at_once):
            sums, sizes = self._whole or self._block(
                start, min(start + at_once, number)
            )
            if number <= at_once:
                self._whole = sums, sizes
            for small in range(0, len(sums), step):  # Small blocks stay in the cache.
                rows = slice(small, small + step)
                # Sizes are integers without weights.
                yield sums[rows], sizes[rows].astype(np.float64, copy=False)

    def _block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        codes, masses = self._clusters.codes, self._masses
        bins, residuals = self._bins, self._residuals
        if stop - start < self._clusters.number:
            rows = (codes >= start) & (codes < stop)
            codes, bins, residuals = codes[rows] - start, bins[rows], residuals[rows]
            masses = None if masses is None else masses[rows]
        shape = stop - start, self._num_bins
        cells = codes * shape[1]
        cells += bins
        sums, sizes = (
            np.bincount(cells, values, shape[0] * shape[1]).reshape(shape)
            for values in (residuals, masses)
        )
        return sums, sizes


def moments(
    examples: _examples.Examples,
    clusters: Clusters,
    spec: CalibrationSpec,
    z: float,
    level: float,
) -> tuple[Moments | None, np.ndarray]:
    """Returns the moments of the estimate, and the sums [4, bins] for independent
    examples. The moments are None if no bin has pairs of different clusters.

    The means of U in the bins have the covariance matrix W, which is that of the sums
    of clusters. `_error_interval.moments_of_sums` has the diagonal of W alone.
    """
    [(scores, outcomes, weights)] = _scores.scores_of_groups(examples, spec)
    all_sums, largest = _error_interval.of_scores(scores, outcomes, weights, spec)
    if scores.dtype.itemsize < 4:
        scores = scores.astype(np.float32)
    bins = _binning.index_between(largest[:-1], scores)
    parts = _Parts(scores, outcomes, weights, clusters, bins, len(largest))

    def products(several: np.ndarray, gaps: np.ndarray, excess: np.ndarray) -> Products:
        chosen = slice(None) if np.all(several) else several  # A slice copies nothing.
        covariance, fourth = np.zeros((2, len(gaps), len(gaps)))
        spread = squares_of_sizes = 0.0
        for sums, sizes in parts.blocks():
            sizes_of_bins = sizes[:, chosen]
            centred = sums[:, chosen] - sizes_of_bins * gaps
            covariance += centred.T @ centred
            centred **= 2
            fourth += centred.T @ centred
            spread += float(np.sum((sizes_of_bins @ excess) ** 2))
            squares_of_sizes += float(np.sum(sizes.sum(axis=1) ** 2))
        return Products(covariance, fourth, spread, squares_of_sizes)

    found = moments_of_sums(all_sums, *parts.squares(), products, z, level)
    return found, all_sums


class Products(NamedTuple):
    """Sums over clusters of products, for gaps g of k bins.

    Attributes:
      covariance: of (S_cb - g_b N_cb) (S_cd - g_d N_cd), [k, k].
      fourth: of their squares, [k, k]; 0 if they are not known, which makes intervals
        longer.
      spread: of (sum_b e_b N_cb)^2, for given e.
      squares_of_sizes: of N_c^2, with N_c the size of a cluster in all bins.
    """

    covariance: np.ndarray
    fourth: np.ndarray
    spread: float
    squares_of_sizes: float


def moments_of_sums(
    all_sums: np.ndarray,
    own: np.ndarray,
    own_masses: np.ndarray,
    products: Callable[[np.ndarray, np.ndarray, np.ndarray], Products],
    z: float,
    level: float,
) -> Moments | None:
    """Returns the moments of `moments` from sums over clusters.

    Args:
      all_sums: those for independent examples, [4, bins].
      own: sums over clusters of S_cb^2, [bins].
      own_masses: sums of N_cb^2, [bins].
      products: the products for the chosen of the bins, boolean [bins], for gaps [k]
        and for e [k].
      z: Normal quantile of the level.
      level: level of the interval.
    """
    all_masses, all_residuals, all_squares, all_forecasts = all_sums
    # So many clusters of equal size would give the mean of a bin the same variance.
    effective = all_masses**2 / np.where(own_masses > 0, own_masses, 1.0)
    several = has_several(effective)
    if not np.any(several):
        return None
    effective, masses = effective[several], all_masses[several]
    total = all_masses.sum()
    shares, freedom = masses / total, effective / (effective - 1)
    residuals = all_residuals[several] / masses
    uncentred = own[several] / masses**2
    means = residuals**2 - (uncentred - residuals**2 / effective) * freedom
    square = max(float(np.sum(shares * means)), 0.0)
    positive, mean = positive_parts(shares, means, residuals)

    covariance, fourth, spread, squares_of_sizes = products(
        several, residuals, (positive - mean) / total
    )
    scale = np.outer(masses, masses)
    covariance, fourth = covariance / scale, fourth / scale**2
    squares_of_sizes /= total**2
    spread *= (square / mean) ** 2 if mean > 0 else 0.0
    variances = np.diag(covariance) * freedom
    deviations = np.sqrt(np.diag(covariance))
    scale = np.outer(*2 * [np.where(deviations > 0, deviations, 1.0)])
    correlations = covariance / scale
    np.fill_diagonal(correlations, 0.0)
    # Squares of noisy correlations are too large: pairs of different clusters are not.
    squared = correlations**2 - fourth / scale**2
    np.fill_diagonal(squared, 0.0)
    enlargement = _enlargement(1 / squares_of_sizes, z, level)
    # How T changes with the mean of each bin, for a squared error of 1.
    change = shares * np.where(residuals < 0, -1.0, 1.0)
    change *= np.sqrt(positive / mean) if mean > 0 else 1.0

    def cumulants(variances: np.ndarray) -> np.ndarray:
        """Returns the cumulants for these variances of the means of bins, with the
        correlations of the data.
        """
        deviations = np.sqrt(variances)
        shared = shares * variances
        at_zero = np.sum(freedom * shared**2) + max(shared @ squared @ shared, 0.0)
        steps, even_steps = change * deviations, shares * deviations
        # Where the gaps are noise, their signs say little: the gaps of all bins may
        # have the same sign, in which the variance is largest.
        between = max(*(float(s @ correlations @ s) for s in (steps, even_steps)), 0.0)
        slope = np.sum(steps**2) + between * enlargement
        scaled = np.sqrt(shared) * freedom ** (1 / 3)
        product = correlations * np.outer(scaled, scaled)
        product[np.diag_indices_from(product)] = scaled**2
        third = np.einsum("ij,ji->", product @ product, product)
        through = steps + correlations @ steps
        third_slope = np.sum(through**2 * shared)
        return np.array([2 * at_zero, 4 * slope, 8 * third, 24 * third_slope])

    # The variance of the forecasts knows nothing of clusters; the data do.
    apart = float(all_squares[several].sum())
    together = float(own[several].sum()) / apart if apart > 0 else 1.0
    forecasts = together * all_forecasts[several] / masses**2
    enlarged = (effective - 1) * variances + z**2 * forecasts + shares / effective
    return Moments(
        square=square,
        share=float(shares.sum()),
        spread=spread,
        of_upper=cumulants(enlarged / (effective - 1 + z**2)),
        of_forecasts=cumulants(forecasts),
        of_data=cumulants(variances),
    )


def _enlargement(num_clusters: float, z: float, level: float) -> float:
    """Returns by how much a variance from so many clusters of equal size is enlarged:
    one degree of freedom goes to the mean, and t takes the place of z.
    """
    from scipy import special

    freedom = max(num_clusters - 1, 1.0)
    t = float(special.stdtrit(freedom, (1 + level) / 2))
    return num_clusters / freedom * (t / z) ** 2
