"""How much the clusters of examples change the test of drift: sums over clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy.sketch._cluster_sums import Joined


class Clustered(NamedTuple):
    """Both periods of examples in clusters.

    Attributes:
      sums: over clusters, in the bins.
      numbers: numbers of clusters.
    """

    sums: tuple[Joined, Joined]
    numbers: tuple[int, int]

    def at(self, starts: np.ndarray) -> Clustered:
        """Returns the periods in the runs of bins that start at `starts`."""
        first, second = (sums.at(starts) for sums in self.sums)
        return self._replace(sums=(first, second))

    @property
    def effective_numbers(self) -> np.ndarray:
        """So many clusters of equal size would say as much in each bin, [2, bins]."""
        return np.stack(
            [sums.masses**2 / np.diag(sums.of_masses) for sums in self.sums]
        )

    def covariances(self) -> np.ndarray:
        """Returns the covariances of the sums of U in bins, [2, bins, bins]."""
        return np.stack(
            [
                sums.squares_about(sums.gaps / sums.masses) * (number / (number - 1))
                for sums, number in zip(self.sums, self.numbers, strict=True)
            ]
        )

    def effects(self, squares: np.ndarray, accuracies: np.ndarray) -> np.ndarray:
        """Returns the design effects of the gaps, at least 1, [2, bins].

        By chance the sums of the clusters of a bin may be alike, above all where events
        are few. So the effect is at least the one that follows from the correlation of
        two examples of a cluster, over all bins of both periods.

        Args:
          squares: sums of squared weights, [2, bins].
          accuracies: mean outcomes, [2, bins].
        """
        masses = np.stack([sums.masses for sums in self.sums])
        pairs = np.stack([np.diag(sums.of_masses) for sums in self.sums]) - squares
        least = 0.5 * squares / masses**2
        q = np.clip(accuracies, least, 1 - least)
        alone = q * (1 - q) * squares
        found = np.diagonal(self.covariances(), axis1=1, axis2=2)
        of_pairs = float(np.sum(q * (1 - q) * pairs))
        excess = float(np.sum(found - alone))
        correlation = max(excess / of_pairs, 0.0) if of_pairs > 0 else 0.0
        return np.maximum(found / alone, 1 + correlation * pairs / squares)


def degrees(variances: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Returns the degrees of freedom of the sum of the variances of both periods, [2,
    ...], from so many clusters (Welch).
    """
    freedom = np.maximum(numbers - 1, 1.0)
    return np.sum(variances, axis=0) ** 2 / np.sum(variances**2 / freedom, axis=0)


def of_dependent_bins(
    p_value: float, clusters: Clustered, variances: np.ndarray, chosen: np.ndarray
) -> float:
    """Returns the p-value of D if a cluster may have examples in several bins.

    With correlations r between the z of m bins the sum of z^2 has the variance of m / f
    times a chi-squared with f = m^2 / sum r^2 degrees of freedom (Satterthwaite). The
    variances are those of the clusters, so F takes the place of chi-squared.

    Args:
      p_value: for independent bins.
      clusters: sums in the bins.
      variances: of the changes of the gaps, [bins].
      chosen: the bins in D, boolean [bins].
    """
    from scipy import special

    shares = np.stack([1 / sums.masses for sums in clusters.sums])[:, chosen]
    covariances = clusters.covariances()[:, chosen][:, :, chosen]
    total = np.einsum("ib,ibc,ic->bc", shares, covariances, shares)
    errors = np.sqrt(variances[chosen])
    correlations = total / (errors[:, None] * errors)
    np.fill_diagonal(correlations, 1.0)
    number = int(chosen.sum())
    freedom = number**2 / float(np.sum(correlations**2))
    if p_value <= 0:
        return 0.0
    numbers = [sums.masses.sum() ** 2 / sums.of_masses.sum() for sums in clusters.sums]
    of_gap = clusters.covariances().sum(axis=(1, 2))
    of_gap /= [sums.masses.sum() ** 2 for sums in clusters.sums]
    others = degrees(of_gap, np.array(numbers)) if np.any(of_gap > 0) else np.inf
    statistic = special.chdtri(number, p_value)
    return float(special.fdtrc(freedom, others, statistic / number))


def design_effect(clusters: Clustered, rows: np.ndarray) -> float | None:
    """Returns the design effect of the change of the mean gap, from the sums of counts,
    scores, outcomes and squared weights in bins, [4, 2, bins].
    """
    totals, accuracies = rows[0].sum(axis=1), rows[2] / rows[0]
    found = clusters.covariances().sum(axis=(1, 2))
    alone = np.sum(accuracies * (1 - accuracies) * rows[3], axis=1)
    variance, independent = (float(np.sum(row / totals**2)) for row in (found, alone))
    return variance / independent if independent > 0 else None
