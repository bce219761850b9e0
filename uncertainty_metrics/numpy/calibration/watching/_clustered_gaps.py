"""Intervals and p-values of the gaps of groups whose examples are in clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy import _wilson
from uncertainty_metrics.numpy._clusters import (
    Clusters,
    cluster_sums,
    distinct_integers,
)
from uncertainty_metrics.numpy.calibration.watching import _outcome_counts

# Groups whose number of outcomes has a smaller variance are tested exactly.
EXACT_BELOW = 100.0


class Scored(NamedTuple):
    """Scores, outcomes and weights of the examples, float64 [N], and their clusters;
    None for independent examples.
    """

    scores: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray
    clusters: Clusters | None

    @property
    def residuals(self) -> np.ndarray:
        """Weighted (outcome - score) of each example."""
        return self.weights * (self.outcomes - self.scores)

    def taken(self, rows: np.ndarray) -> Scored:
        """Returns some examples, by their numbers or by booleans."""
        scores, outcomes, weights, clusters = self
        if clusters is not None:
            clusters = clusters._replace(codes=clusters.codes[rows])
        return Scored(scores[rows], outcomes[rows], weights[rows], clusters)


def design_effect(scored: Scored) -> float:
    """Returns the design effect of the mean of (outcome - score) of all examples."""
    residuals = scored.residuals
    apart = float(residuals @ residuals)
    if apart == 0:
        return 1.0
    assert scored.clusters is not None
    return float(np.sum(cluster_sums(residuals, *scored.clusters) ** 2)) / apart


def intervals_and_p_values(
    index: np.ndarray,
    scored: Scored,
    tested: np.ndarray,
    level: float,
    are_binary: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the ends of the intervals of the gaps, and the p-values, [groups].

    Args:
      index: the group of each example, integers [N].
      scored: examples in clusters.
      tested: boolean [groups]: the others have NaN as p-value.
      level: level of the intervals, in (0, 1).
      are_binary: whether the outcomes are 0 and 1.
    """
    from scipy import special

    assert scored.clusters is not None
    number = len(tested)
    # A part is the examples of a cluster in a group.
    parts, of_part = distinct_integers(
        index * scored.clusters.number + scored.clusters.codes
    )
    group = parts // scored.clusters.number
    residuals, weights = scored.residuals, scored.weights
    sums = cluster_sums(residuals, of_part, len(parts))
    sizes = cluster_sums(weights, of_part, len(parts))

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(group, values, number)

    num_clusters = np.bincount(group, minlength=number)
    mass, excess = total(sizes), total(sums)
    freedom = np.maximum(num_clusters - 1, 1)
    factor = num_clusters / freedom
    spread = factor * total(sums**2)
    t = np.abs(excess) / np.sqrt(np.where(spread > 0, spread, 1.0))
    p_values = 2 * special.stdtr(freedom, -t)
    p_values[~tested | (num_clusters < 2)] = np.nan

    # The gaps g with (excess - g mass)^2 <= t^2 factor sum (sums - g sizes)^2.
    squared = special.stdtrit(freedom, (1 + level) / 2) ** 2 * factor
    a = mass**2 - squared * total(sizes**2)
    b = mass * excess - squared * total(sums * sizes)
    c = excess**2 - squared * total(sums**2)
    is_bounded = (a > 1e-12 * mass**2) & (num_clusters > 1)
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    divisor = np.where(is_bounded, a, 1.0)
    lower = np.where(is_bounded, (b - root) / divisor, -1.0)
    upper = np.where(is_bounded, (b + root) / divisor, 1.0)

    # How many independent examples are worth as much as those of each group.
    apart = np.bincount(index, residuals**2, number)
    kish = mass**2 / np.bincount(index, weights**2, number)
    effect = total(sums**2) / np.where(apart > 0, apart, 1.0)
    worth = kish / np.maximum(effect, 1.0)
    score = np.bincount(index, weights * scored.scores, number) / mass
    outcome = np.clip(score + excess / mass, 0.0, 1.0)
    if not are_binary:
        squares = np.bincount(index, residuals**2 / weights, number) / mass
        variance = np.maximum(squares - (excess / mass) ** 2, 0.0)
        worth = _wilson.size_of_grades(outcome, variance, worth)
    low, high = _wilson.interval(outcome, worth, level)
    lower = np.maximum(np.minimum(lower, low - score), -score)
    upper = np.minimum(np.maximum(upper, high - score), 1 - score)

    if not are_binary:
        return lower, upper, p_values
    variance = np.bincount(index, weights * scored.scores * (1 - scored.scores), number)
    exact = ~np.isnan(p_values) & (variance > 0)
    exact &= worth * variance / mass < EXACT_BELOW
    for i in np.flatnonzero(exact):  # The laws of sums have no common array.
        rows = index == i
        scores, places = np.unique(scored.scores[rows], return_inverse=True)
        masses = np.bincount(places.reshape(-1), weights[rows])
        p = _outcome_counts.p_of_effective(
            scores, masses, worth[i], excess[i] / mass[i]
        )
        p_values[i] = max(p_values[i], p)
    return lower, upper, p_values
