"""Resamples of examples that may depend on each other, and the ends of intervals of the
bootstrap.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from uncertainty_metrics import _checks, _user_warnings
from uncertainty_metrics.numpy import _resampled_metrics, _threads
from uncertainty_metrics.numpy._clusters import FEW_CLUSTERS, Clusters, cluster_codes

# Values whose difference is at most this share of the largest value are ties.
TIE = 1e-12
# The number of groups of examples that the jackknife leaves out, one at a time.
_MAX_GROUPS = 200
# The most resamples that threads share, and the most numbers that these hold.
_SHARED, _SHARED_NUMBERS = 64, 2**19
# A metric takes about as long as this many passes over its examples.
_PASSES = 8


@dataclasses.dataclass(frozen=True)
class Dependence:
    """How examples depend on each other: not at all, in clusters, or in time.

    Attributes:
      clusters: the cluster of each example, or None.
      block: examples this far apart, or farther, are independent; 1 for all.
    """

    clusters: Clusters | None = None
    block: int = 1

    def draws(
        self, rng: np.random.Generator, n: int, number: int
    ) -> Iterator[np.ndarray]:
        """Yields how often each of n examples is in a resample, int64 [n], which draws
        examples, whole clusters, or blocks that start anywhere.
        """
        for _ in range(number):
            if self.clusters is not None and self.clusters.number < n:
                codes, units = self.clusters
                times = np.bincount(rng.integers(units, size=units), minlength=units)
                yield times[codes]
            elif self.block > 1:  # The first example follows the last one.
                starts = rng.integers(n, size=-(-n // self.block))
                rows = starts[:, None] + np.arange(self.block)
                yield np.bincount(rows.reshape(-1)[:n] % n, minlength=n)
            else:
                yield np.bincount(rng.integers(n, size=n), minlength=n)

    def jackknife(self, rng: np.random.Generator, n: int) -> Iterator[np.ndarray]:
        """Yields how often each of n examples is in a sample of the jackknife: once,
        but not at all in the group of clusters, blocks or examples that is left out.
        """
        units = n // self.block
        unit_of = np.arange(n) * units // n
        if self.clusters is not None and self.clusters.number < n:
            unit_of, units = self.clusters
        for group in np.array_split(rng.permutation(units), min(units, _MAX_GROUPS)):
            times = np.ones(units, np.int64)
            times[group] = 0
            yield times[unit_of]


def dependence(clusters: Any, block: Any, shape: int | tuple[int, ...]) -> Dependence:
    """Returns how examples depend on each other, from the arguments of a function.

    Args:
      clusters: ids, or None.
      block: number of consecutive examples that depend on each other.
      shape: the number of examples, or the shape of the labels.

    Raises:
      ValueError: an argument is not as described, or both are given.
    """
    block = _checks.positive_integer("block", block)
    if clusters is not None:
        if block > 1:
            message = "Give `clusters` or `block`, not both."
            raise _checks.combination_error(message, ("clusters", "block"))
        return Dependence(cluster_codes(clusters, shape))
    n = int(np.prod(shape))
    if block > 1:
        if 2 * block > n:
            expected = f"at most half the number of examples, {n}"
            raise _checks.error("block", expected, block)
        if n // block < FEW_CLUSTERS:
            _user_warnings.warn(
                f"There are {n // block} blocks. With fewer than {FEW_CLUSTERS}, "
                "intervals may be too short."
            )
    return Dependence(None, block)


def values_of(
    metric: _resampled_metrics.Metric, draws: Iterator[np.ndarray]
) -> np.ndarray:
    """Returns the numbers of the metric for each draw, [draws, S]; NaN for a number
    that is undefined or infinite.
    """
    size = len(_resampled_metrics.flat(metric.estimate))

    def row(times: np.ndarray) -> np.ndarray:
        try:
            values = metric.replicate(times)
        except ValueError:
            return np.full(size, np.nan)
        if len(values) != size:
            raise _checks.error(
                "metric",
                "a function whose result has one shape for all resamples",
                f"one that returns {size} numbers and {len(values)} numbers",
            )
        return values

    def rows_of(drawn: list[np.ndarray]) -> list[np.ndarray]:
        def of_part(part: slice) -> list[np.ndarray]:
            return [row(times) for times in drawn[part]]

        parts = _threads.map_rows(of_part, len(drawn), _PASSES * metric.n)
        return list(itertools.chain.from_iterable(parts))

    at_once = 1
    if metric.in_threads:
        at_once = max(1, min(_SHARED, _SHARED_NUMBERS // metric.n))
    rows: list[np.ndarray] = []
    while drawn := list(itertools.islice(draws, at_once)):
        rows += rows_of(drawn)
    values = np.array(rows)
    return np.where(np.isfinite(values), values, np.nan)


def _scaled(values: np.ndarray) -> np.ndarray:
    """Returns values [B, S], with each column divided by its largest absolute value."""
    top = np.nanmax(np.abs(values), axis=0, initial=0.0)
    return values / np.where(top > 0, top, 1.0)


def acceleration(jackknife: np.ndarray) -> np.ndarray:
    """Returns how fast the standard error changes with the metric, [S].

    Args:
      jackknife: the values of the metric without one group of examples, [groups, S].
    """
    # Scaling does not change the result; without it cubes and means might overflow.
    jackknife = _scaled(jackknife)
    gaps = _scaled(np.nanmean(jackknife, axis=0) - jackknife)
    squares = np.nansum(gaps**2, axis=0)
    cubes = np.nansum(gaps**3, axis=0)
    return cubes / (6 * np.where(squares > 0, squares, 1.0) ** 1.5)


def bca_levels(
    replicates: np.ndarray,
    estimate: np.ndarray,
    jackknife: np.ndarray,
    levels: np.ndarray,
) -> np.ndarray:
    """Returns the levels [2, S] of the quantiles of the replicates [B, S] that correct
    the bias and the change of the standard error (Efron, 1987).
    """
    from scipy import special

    scale = np.nanmax(np.abs(replicates), axis=0, initial=0.0)
    gaps = replicates - estimate
    ties = np.abs(gaps) <= TIE * scale
    below = np.nansum((gaps < 0) & ~ties, axis=0) + np.sum(ties, axis=0) / 2
    count = np.maximum(np.sum(~np.isnan(replicates), axis=0), 1)
    bias = special.ndtri(np.clip(below / count, 0.5 / count, 1 - 0.5 / count))
    z = bias + special.ndtri(levels)[:, None]
    slope = np.maximum(1 - acceleration(jackknife) * z, np.finfo(np.float64).tiny)
    return special.ndtr(bias + z / slope)


def quantiles(replicates: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the quantiles [2, S] of the replicates [B, S] that are not NaN, linear
    between the order statistics.
    """
    replicates = np.sort(replicates, axis=0)  # NaN last.
    last = np.maximum(np.sum(~np.isnan(replicates), axis=0) - 1, 0)
    position = levels * last
    index = np.minimum(position.astype(np.int64), np.maximum(last - 1, 0))
    low = np.take_along_axis(replicates, index, axis=0)
    high = np.take_along_axis(replicates, np.minimum(index + 1, last), axis=0)
    return low + (high - low) * (position - index)
