"""Sums over clusters in fixed bins: what a sketch knows of examples that depend on each
other.

S_cb is the sum of U = y - p over the examples of cluster c in bin b, and N_cb is their
number, or weight. Sums over c of the products of S_cb and N_cb of two bins give the
squares of larger bins, which are made of whole ones, and the covariances of the mean
gaps. A cluster cannot be continued: nothing here tells which cluster an example is of.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._clusters import Clusters, warn_of_few
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _clustered_error,
    _error_interval,
)
from uncertainty_metrics.numpy.calibration.bins._error_interval import Moments

# The numbers of even bins that are made of whole fixed bins are the divisors of 30. The
# first and the last bin are halved 4 times, since there scores of networks pile up.
_EVEN, _HALVINGS = 30, 4
_SMALL = 2.0 ** -np.arange(1, _HALVINGS + 1) / _EVEN
_INNER = np.concatenate([_SMALL, np.arange(1, _EVEN) / _EVEN, 1 - _SMALL])
EDGES = np.concatenate([[0.0], np.sort(_INNER), [1.0]])
NUM_BINS = len(EDGES) - 1
# The number of entries of a temporary array.
_BLOCK = 2**23


class Joined(NamedTuple):
    """Sums over clusters in larger bins.

    Attributes:
      gaps: S_b, the sums of S_cb, float64 [bins].
      masses: N_b, the sums of N_cb, [bins].
      of_gaps: sums of S_cb S_cd, [bins, bins].
      of_both: sums of S_cb N_cd, [bins, bins].
      of_masses: sums of N_cb N_cd, [bins, bins].
    """

    gaps: np.ndarray
    masses: np.ndarray
    of_gaps: np.ndarray
    of_both: np.ndarray
    of_masses: np.ndarray

    def weighted(self, factor: float) -> Joined:
        """Returns the sums if all weights are multiplied by a factor."""
        gaps, masses, *products = self
        return Joined(
            factor * gaps, factor * masses, *(factor**2 * row for row in products)
        )

    def at(self, starts: np.ndarray) -> Joined:
        """Returns the sums of the runs of bins that start at `starts`."""

        def runs(row: np.ndarray) -> np.ndarray:
            for axis in range(row.ndim):
                row = np.add.reduceat(row, starts, axis=axis)
            return row

        return Joined(*map(runs, self))

    def squares_about(self, gaps: np.ndarray) -> np.ndarray:
        """Returns the sums of (S_cb - g_b N_cb) (S_cd - g_d N_cd), [bins, bins], for
        gaps g [bins].
        """
        crossed = self.of_both * gaps
        return (
            self.of_gaps - crossed - crossed.T + gaps[:, None] * self.of_masses * gaps
        )

    def moments(self, sums: np.ndarray, z: float, level: float) -> Moments | None:
        """Returns the moments of the interval of the error, for the sums [4, bins] for
        independent examples. The bins must not be empty.
        """

        def products(
            several: np.ndarray, gaps: np.ndarray, excess: np.ndarray
        ) -> _clustered_error.Products:
            all_gaps, rows = np.zeros(len(self.masses)), np.ix_(several, several)
            all_gaps[several] = gaps
            return _clustered_error.Products(
                self.squares_about(all_gaps)[rows],
                np.zeros((len(gaps), len(gaps))),
                float(excess @ self.of_masses[rows] @ excess),
                float(self.of_masses.sum()),
            )

        own, own_masses = np.diag(self.of_gaps), np.diag(self.of_masses)
        return _clustered_error.moments_of_sums(
            sums, own, own_masses, products, z, level
        )

    def debiased_square(self) -> float:
        """Returns the squared l2 error from pairs of different clusters; a bin without
        such pairs counts 0.
        """
        own, own_masses = np.diag(self.of_gaps), np.diag(self.of_masses)
        rows = self.masses, self.gaps, own, own_masses
        return _clustered_error.mean_square(*(row[None] for row in rows))


@dataclasses.dataclass(frozen=True, eq=False)
class ClusterSums:
    """Sums over clusters.

    Attributes:
      number: number of clusters.
      sums: the sums of S_cb, then of N_cb, float64 [2 bins]; of length 0 if they are
        not known, as of all classes, or from the file of a `Summary`.
      products: sums of the products of pairs of (S_c, N_c), [2 bins, 2 bins].
    """

    number: int
    sums: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    products: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def are_known(self) -> bool:
        """Whether there are sums, and not only the number of the clusters."""
        return len(self.sums) > 0

    def __add__(self, other: ClusterSums) -> ClusterSums:
        number = self.number + other.number
        if not (self.are_known and other.are_known):
            return ClusterSums(number)
        return ClusterSums(
            number, self.sums + other.sums, self.products + other.products
        )

    def equals(self, other: ClusterSums) -> bool:
        """Says if all sums are the same, to the bit."""
        return (
            self.number == other.number
            and np.array_equal(self.sums, other.sums)
            and np.array_equal(self.products, other.products)
        )

    def check_number(self) -> None:
        """Warns of few clusters; raises ValueError for fewer than two."""
        if self.number < 2:
            raise _checks.error(
                "clusters", "at least two ids", self.number, verb="hold"
            )
        warn_of_few(self.number)

    def _joined(self, index: np.ndarray, num_bins: int) -> Joined:
        """Returns the sums of larger bins, given that of each fixed bin."""
        whole = np.zeros((NUM_BINS, num_bins))
        whole[np.arange(NUM_BINS), index] = 1.0
        gaps, masses = (row @ whole for row in np.split(self.sums, 2))
        above, below = np.split(self.products, 2)
        (of_gaps, of_both), (_, of_masses) = (
            [whole.T @ part @ whole for part in np.split(row, 2, axis=1)]
            for row in (above, below)
        )
        return Joined(gaps, masses, of_gaps, of_both, of_masses)

    def even(self, num_bins: int) -> Joined:
        """Returns the sums of even bins.

        Raises:
          ValueError: the bins are not made of whole fixed bins.
        """
        if _EVEN % num_bins:
            expected = f"a divisor of {_EVEN} with `clusters`"
            raise _checks.error("num_bins", expected, num_bins)
        middles = (EDGES[:-1] + EDGES[1:]) / 2
        return self._joined((middles * num_bins).astype(np.int64), num_bins)

    def adaptive(self, num_bins: int) -> Joined:
        """Returns the sums of bins of about equal mass, made of whole fixed bins."""
        index = self.adaptive_index(num_bins)
        return self._joined(index, int(index.max()) + 1)

    def adaptive_index(self, num_bins: int) -> np.ndarray:
        """Returns the bin of about equal mass of each fixed bin."""
        masses = self.sums[NUM_BINS:]
        filled = masses > 0
        bins = np.zeros(NUM_BINS, np.int64)
        bins[filled] = _error_interval.bins_of_mass(masses[filled], num_bins)
        _, index = np.unique(bins, return_inverse=True)  # Some may be empty.
        return index.reshape(-1)


def fixed_bins(scores: np.ndarray) -> np.ndarray:
    """Returns the fixed bin of each score, integers [N]."""
    edges = EDGES[1:-1].astype(np.float32)
    return _binning.index_between(edges, scores.astype(np.float32))


def of_scores(
    scores: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    clusters: Clusters,
) -> ClusterSums:
    """Returns the sums over examples.

    Args:
      scores: one of each example, in [0, 1], [N].
      outcomes: boolean [N].
      weights: float64 [N], or None for ones.
      clusters: the cluster of each example.
    """
    bins = fixed_bins(scores)
    residuals = outcomes - scores.astype(np.float64)
    if weights is not None:
        residuals *= weights
    # Decisions fill half of the bins, and a product of a quarter of the size.
    is_filled = np.bincount(bins, minlength=NUM_BINS) > 0
    filled, place = np.flatnonzero(is_filled), np.cumsum(is_filled) - 1
    width, cells = len(filled), place[bins]
    sums, products = np.zeros(2 * width), np.zeros((2 * width, 2 * width))
    step = max(1, _BLOCK // (2 * width))
    for start in range(0, clusters.number, step):
        size = min(step, clusters.number - start)
        part: Any = slice(None)
        if size < clusters.number:
            part = (clusters.codes >= start) & (clusters.codes < start + size)
        index = (clusters.codes[part] - start) * width + cells[part]
        masses = None if weights is None else weights[part]
        block = np.concatenate(
            [
                np.bincount(index, values, size * width).reshape(size, width)
                for values in (residuals[part], masses)
            ],
            axis=1,
        )
        sums += block.sum(axis=0)
        products += block.T @ block
    places = np.concatenate([filled, NUM_BINS + filled])
    all_sums = np.zeros(2 * NUM_BINS)
    all_sums[places] = sums
    all_products = np.zeros((2 * NUM_BINS, 2 * NUM_BINS))
    all_products[np.ix_(places, places)] = products
    return ClusterSums(clusters.number, all_sums, all_products)


def checked(
    number: Any, count: int | None, arrays: dict[str, np.ndarray]
) -> ClusterSums | None:
    """Returns the sums of a file; raises ValueError if they are not valid.

    Args:
      number: of clusters, from the header; None without clusters.
      count: number of examples.
      arrays: `cluster_sums` and `cluster_products`, or none.
    """
    if number is None:
        if arrays:
            raise _checks.error("clusters", "a number of clusters", "None")
        return None
    number = _checks.positive_integer("clusters", number)
    if count is not None and number > count:
        raise _checks.error("clusters", f"at most {count}, one an example", number)
    if not arrays:
        return ClusterSums(number)
    found = ClusterSums(number, arrays["cluster_sums"], arrays["cluster_products"])
    size = 2 * NUM_BINS
    for array, shape in ((found.sums, (size,)), (found.products, (size, size))):
        if array.dtype != np.float64 or array.shape != shape:
            expected = f"float64 {list(shape)}"
            received = f"{array.dtype} {list(array.shape)}"
            raise _checks.error("clusters", expected, received)
    masses, squares = found.sums[NUM_BINS:], np.diag(found.products)
    if not (
        np.all(np.isfinite(found.sums)) and np.all(np.isfinite(found.products))
    ) or np.any(found.products != found.products.T):
        raise _checks.error("clusters", "sums that are finite", "others", verb="hold")
    # |S_cb| <= N_cb, and the sum of squares is at most the square of the sum.
    most = np.tile(masses**2, 2) * (1 + 1e-6)
    if np.any(masses < 0) or np.any(squares < 0) or np.any(squares > most):
        raise _checks.error("clusters", "sums of examples", "others", verb="hold")
    return found
