"""The band of a decision curve, which holds at all thresholds together."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy import _shares
from uncertainty_metrics.numpy._clusters import Clusters

# Draws in a block, times thresholds: few enough to stay in a cache.
_BLOCK = 2**16


def ends(
    probabilities: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    clusters: Clusters | None,
    thresholds: np.ndarray,
    level: float,
    num_draws: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns the ends of the gains over acting on all, and over acting on none, [T].

    Args:
      probabilities: P(class 1), floating [N].
      outcomes: whether the class is 1, boolean [N].
      weights: [N], or None.
      clusters: the cluster of each example, or None.
      thresholds: [T], in [0, 1).
      level: level at which all ends hold.
      num_draws: number of draws for the quantile.
      rng: random generator.
    """
    order = np.argsort(thresholds, kind="stable")
    points = thresholds[order]
    # The number of thresholds that each probability reaches.
    place = np.searchsorted(points.astype(probabilities.dtype), probabilities, "right")
    mass = np.ones(len(place)) if weights is None else weights
    size = len(points) + 1
    masses = np.bincount(place, mass, size)
    squares = np.bincount(place, mass**2, size)
    quantile = _largest(squares, level, num_draws, rng)
    found = np.empty((2, 2, len(points)))
    for side in range(2):
        # Row 0 is of the examples below each threshold, row 1 of those that reach it.
        totals = _sums(masses, side)
        if clusters is None:
            events = _sums(np.bincount(place, mass * outcomes, size), side)
            some = totals > 0
            with np.errstate(invalid="ignore", divide="ignore"):
                share = np.clip(events / totals, 0.0, 1.0)
                sizes = totals**2 / _sums(squares, side)
            lower, upper = np.full((2, len(points)), np.nan)
            lower[some], upper[some] = _exact_interval(
                share[some], sizes[some], quantile
            )
        else:
            lower, upper = _of_clusters(
                place, outcomes, weights, clusters, side, len(points), quantile
            )
        with np.errstate(invalid="ignore"):
            part = totals / masses.sum() / (1 - points)
            gains = (points - upper, points - lower)
            if side == 1:
                gains = (lower - points, upper - points)
            found[side] = np.where(totals > 0, part * np.stack(gains), 0.0)
    back = np.argsort(order, kind="stable")
    (all_lower, all_upper), (none_lower, none_upper) = found[:, :, back]
    return all_lower, all_upper, none_lower, none_upper


def _sums(cells: np.ndarray, side: int) -> np.ndarray:
    """Returns the sums of cells [..., T + 1] below each threshold, or from it on."""
    if side == 0:
        return np.cumsum(cells, axis=-1)[..., :-1]
    return np.cumsum(cells[..., ::-1], axis=-1)[..., -2::-1]


def _largest(
    squares: np.ndarray, level: float, num_draws: int, rng: np.random.Generator
) -> float:
    """Returns the level of a single interval at which all intervals hold together."""
    from scipy import special

    largest = np.empty(num_draws)
    step = max(1, _BLOCK // len(squares))
    errors = [np.sqrt(_sums(squares, side)) for side in range(2)]
    for start in range(0, num_draws, step):
        rows = largest[start : start + step]
        cells = rng.normal(size=(len(rows), len(squares))) * np.sqrt(squares)
        rows[:] = 0.0
        for side, error in enumerate(errors):
            some = error > 0
            if np.any(some):
                z = np.abs(_sums(cells, side)[:, some]) / error[some]
                np.maximum(rows, z.max(axis=1), out=rows)
    return float(2 * special.ndtr(np.quantile(largest, level)) - 1)


def _exact_interval(
    shares: np.ndarray, sizes: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of the intervals of Clopper and Pearson of observed shares. At
    the levels that many thresholds need, Wilson's leave out a small share too often.
    """
    from scipy import special

    tail = (1 - level) / 2
    hits = shares * sizes
    rest = sizes - hits
    with np.errstate(invalid="ignore"):
        lower = np.where(hits > 0, special.betaincinv(hits, rest + 1, tail), 0.0)
        upper = np.where(rest > 0, special.betainccinv(hits + 1, rest, tail), 1.0)
    return np.minimum(lower, shares), np.maximum(upper, shares)


def _of_clusters(
    place: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    clusters: Clusters,
    side: int,
    number: int,
    level: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of the intervals of the shares of class 1, [T]; NaN of none."""
    lower, upper = np.full((2, number), np.nan)
    for index in range(number):  # Each threshold has its own examples.
        members = (place > index) == bool(side)
        if not np.any(members):
            continue
        ids, codes = np.unique(clusters.codes[members], return_inverse=True)
        if len(ids) < 2:
            lower[index], upper[index] = 0.0, 1.0
            continue
        found = _shares.interval(
            outcomes[members],
            None if weights is None else weights[members],
            Clusters(codes, len(ids)),
            level,
        )
        lower[index], upper[index] = found.lower, found.upper
    return lower, upper
