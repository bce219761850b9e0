"""Intervals of an observed share, of independent examples or of clusters."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy import _wilson
from uncertainty_metrics.numpy._clusters import (
    Clusters,
    cluster_sums,
    distinct_integers,
    one_example_each,
)


def interval(
    hits: np.ndarray,
    weights: np.ndarray | None,
    clusters: Clusters | None,
    level: float,
) -> ConfidenceInterval:
    """Returns the share of hits and its interval, which is Wilson's without clusters.

    With clusters, S_c is the mass of the hits of cluster c of mass M_c, and M that of
    all examples. The share is a ratio of sums, A = sum S_c / M, of variance

      V = C / (C - 1) sum (S_c - A M_c)^2 / M^2

    V is too small by chance if few clusters have an example of the rarer kind (a hit if
    A <= 1/2, else a miss). With w of these clusters, V is drawn towards the variance U
    that whole clusters of equal outcomes would have, which has the weight of one
    cluster:

      V / (A (1 - A)) = D,  sum M_c^2 / M^2 = U
      1 / N = max(D, (w D + U) / (w + 1)), and U if A is 0 or 1

    The ends are those of Wilson's interval of a share of N with Student's quantile for
    C - 1 degrees of freedom.

    Args:
      hits: boolean [n], n >= 1.
      weights: weight of each example, a number of examples, float64 [n]; None for ones.
      clusters: the cluster of each example; None for independent examples.
      level: level of the interval, in (0, 1).
    """
    number, design_effect = None, None
    if clusters is not None:
        number = clusters.number
        first = one_example_each(clusters, weights, hits)
        if first is not None:
            hits, weights, clusters, design_effect = hits[first], None, None, 1.0
    weights = np.ones(len(hits)) if weights is None else weights
    mass = float(weights.sum())
    share = float(weights[hits].sum()) / mass
    if clusters is None:
        ends = _wilson.interval(np.array(share), np.array(mass), level)
    else:
        masses = cluster_sums(weights, *clusters)
        hits_of = cluster_sums(weights * hits, *clusters)
        inverse = float(np.sum((masses / mass) ** 2))
        if 0 < share < 1:
            excess = (hits_of - share * masses) / mass
            variance = clusters.number / (clusters.number - 1) * float(excess @ excess)
            own = variance / (share * (1 - share))
            rare = hits_of if share <= 0.5 else masses - hits_of
            with_rare = np.count_nonzero(rare > 0)
            drawn = (with_rare * own + inverse) / (with_rare + 1)
            inverse, design_effect = max(own, drawn), own * mass
        ends = _student_ends(share, inverse, clusters.number - 1, level)
    found = ConfidenceInterval(float(ends[0]), share, float(ends[1]))
    found.num_clusters, found.design_effect = number, design_effect
    return found


def intervals_of_bins(
    outcomes: np.ndarray,
    weights: np.ndarray,
    clusters: Clusters,
    bins: np.ndarray,
    num_bins: int,
    level: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the ends of the intervals of the mean outcomes of bins, as `interval`
    does for the clusters that have examples in the bin, and the effective number of
    examples of each: so many independent examples would tell the mean as well. The ends
    are NaN for an empty bin. For a single cluster they have one degree of freedom.

    Args:
      outcomes: in [0, 1], [n].
      weights: a number of examples each, float64 [n].
      clusters: the cluster of each example.
      bins: the bin of each example, integers [n].
      num_bins: the number of bins.
      level: level of the intervals, in (0, 1).
    """
    from scipy import special

    # The parts of clusters in bins.
    parts, part = distinct_integers(clusters.codes * num_bins + bins)
    bin_of = parts % num_bins

    def of_bins(values: np.ndarray) -> np.ndarray:
        return np.bincount(bin_of, values, num_bins)

    masses = cluster_sums(weights, part, len(parts))
    hits = cluster_sums(weights * outcomes, part, len(parts))
    numbers = of_bins(np.ones(len(parts)))
    totals = np.where(numbers > 0, of_bins(masses), np.nan)
    means = np.clip(of_bins(hits) / totals, 0.0, 1.0)
    whole = of_bins(masses**2) / totals**2
    excess = of_bins((hits - means[bin_of] * masses) ** 2) / totals**2
    possible = means * (1 - means)
    own = excess * numbers / np.maximum(numbers - 1, 1)
    own = own / np.where(possible > 0, possible, 1.0)
    is_rare = np.where(means[bin_of] <= 0.5, hits, masses - hits) > 0
    with_rare = of_bins(is_rare.astype(np.float64))
    inverse = np.maximum(own, (with_rare * own + whole) / (with_rare + 1))
    z = special.ndtri((1 + level) / 2)
    t = special.stdtrit(np.maximum(numbers - 1, 1), (1 + level) / 2)
    lower, upper = _wilson.interval(means, (z / t) ** 2 / inverse, level)
    return lower, upper, np.where(numbers > 0, 1 / inverse, 0.0)


def _student_ends(
    share: float, inverse: float, freedom: int, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of Wilson's interval of a share of 1 / `inverse` examples, with
    the quantile of Student's distribution.
    """
    from scipy import special

    z, t = special.ndtri((1 + level) / 2), special.stdtrit(freedom, (1 + level) / 2)
    return _wilson.interval(np.array(share), np.array((z / t) ** 2 / inverse), level)
