"""Sums of (outcome - score) within groups, along the scores, and their distribution.

In each group the examples are sorted by their scores. The sums of U = w (y - p) of the
examples up to a score are a walk. The gap of the group is where the walk ends; its
range, the Kuiper statistic, also tells scores that are too high for some of the members
and too low for others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy._clusters import cluster_sums, flipped_signs
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_tests

Statistic = Literal["gap", "kuiper"]
# Redrawn data sets: the p-values are at least one in a thousand.
NUM_DRAWS = 999
# By Holm's method a p-value must be far smaller, but not at any price.
_MOST_DRAWS = 10_000
# The walk is near its limit from this variance, in units of one outcome, and this
# number of equal steps on, and up to this skewness.
_LEAST_VARIANCE, _LEAST_STEPS, _MOST_SKEW = 25.0, 100.0, 0.1
# Redrawn data sets are walked side by side: so many outcomes, or this many data sets.
_BLOCK, _LEAST_DRAWS, _MOST_AT_ONCE = 2**21, 8, 64
# The walks are cut into at least so many pieces.
_PIECES = 512
# Equal statistics of different data sets differ by rounding.
_ROUNDING = 1e-9


class Found(NamedTuple):
    """How surprising the statistics of groups are.

    Attributes:
      p_values: of each group by itself, float64 [groups].
      of_largest: p-values for the largest statistic of all groups that are not more
        surprising, float64 [groups], and the largest statistic, in standard errors,
        that is found at the level; None if nobody asked.
    """

    p_values: np.ndarray
    of_largest: tuple[np.ndarray, float] | None


class _Pieces(NamedTuple):
    """Pieces of walks, of equal length, so that all of them take a step at a time.

    Attributes:
      rows: the example of each step of each piece, integers [length, pieces]; N where
        the group has no example left.
      is_end: whether the walk is looked at after the step, [length, pieces]; None if
        always.
      starts: the first piece of each group, [groups].
      of_group: number of pieces of each group, [groups].
    """

    rows: np.ndarray
    is_end: np.ndarray | None
    starts: np.ndarray
    of_group: np.ndarray


@dataclasses.dataclass(frozen=True)
class Walks:
    """The walks of groups, which may overlap.

    Attributes:
      scored: the examples.
      statistic: "gap" or "kuiper".
      rows: the examples of each group by ascending score, group after group, integers
        [M].
      starts: where each group starts in `rows`, [groups].
      is_end: whether an example is the last of its score in its group, boolean [M].
      are_binary: whether all outcomes are 0 or 1. Others have a cluster each, at least,
        because only the data tell their variance.
    """

    scored: Scored
    statistic: Statistic
    rows: np.ndarray
    starts: np.ndarray
    is_end: np.ndarray
    are_binary: bool = True

    @classmethod
    def of(
        cls,
        scored: Scored,
        statistic: Statistic,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        are_binary: bool = True,
    ) -> Walks:
        """Returns the walks of the chosen groups of several partitions, in their order.

        Args:
          scored: the examples.
          statistic: "gap" or "kuiper".
          partitions: the group of each example, integers [N], and which groups are
            chosen, boolean [groups].
          are_binary: whether all outcomes are 0 or 1.
        """
        by_score = np.arange(len(scored.scores))
        if statistic == "kuiper":
            by_score = np.argsort(scored.scores, kind="stable")
        rows, sizes = [], []
        for index, chosen in partitions:
            among = by_score[chosen[index[by_score]]]
            codes = index[among]
            if len(chosen) <= 2**16:  # Sorting 16-bit integers takes less time.
                codes = codes.astype(np.uint16)
            rows.append(among[np.argsort(codes, kind="stable")])
            sizes.append(np.bincount(index, minlength=len(chosen))[chosen])
        every, size = np.concatenate(rows), np.concatenate(sizes)
        starts = np.cumsum(size) - size
        scores = scored.scores[every]
        is_end = np.append(scores[1:] != scores[:-1], True)
        is_end[starts[1:] - 1] = True
        return cls(scored, statistic, every, starts, is_end, are_binary)

    @property
    def _sizes(self) -> np.ndarray:
        """The number of examples of each group, integers [groups]."""
        return np.diff(self.starts, append=len(self.rows))

    @lazy_property
    def _pieces(self) -> _Pieces:
        sizes = self._sizes
        # Groups of the mean size have no piece that is mostly empty.
        length = max(1, len(self.rows) // max(_PIECES, len(sizes)))
        of_group = -(-sizes // length)
        starts = np.cumsum(of_group) - of_group
        group = np.repeat(np.arange(len(sizes)), of_group)
        first = self.starts[group] + length * (np.arange(len(group)) - starts[group])
        places = first + np.arange(length)[:, None]
        is_inside = places < (self.starts + sizes)[group]
        places = np.where(is_inside, places, 0)
        rows = np.where(is_inside, self.rows[places], len(self.scored.scores))
        is_end = None
        if self.statistic == "kuiper" and not np.all(self.is_end):
            is_end = is_inside & self.is_end[places]
        return _Pieces(rows, is_end, starts, of_group)

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Returns the sums over groups of values [N], float64 [groups]."""
        if len(self.starts) == 0:
            return np.zeros(0)
        return np.add.reduceat(values[self.rows], self.starts)

    def sizes_of_walks(self, steps: np.ndarray) -> np.ndarray:
        """Returns the statistic of each group, not divided by anything, [draws, groups]
        for the steps of `steps_of`.
        """
        rows, is_end, starts, of_group = self._pieces
        shape = rows.shape[1], steps.shape[1]
        walk, step = np.zeros(shape), np.empty(shape)
        highest, lowest = np.full(shape, -np.inf), np.full(shape, np.inf)
        # One sum after another takes far longer than the same step of many walks.
        for place, of_pieces in enumerate(rows):
            np.take(steps, of_pieces, axis=0, out=step, mode="clip")
            walk += step
            if self.statistic == "kuiper":
                where = True if is_end is None else is_end[place, :, None]
                np.maximum(highest, walk, out=highest, where=where)
                np.minimum(lowest, walk, out=lowest, where=where)
        if self.statistic == "gap":
            return np.abs(np.add.reduceat(walk, starts, axis=0)).T
        before = np.cumsum(walk, axis=0) - walk
        before -= np.repeat(before[starts], of_group, axis=0)
        highest = np.maximum.reduceat(highest + before, starts, axis=0)
        lowest = np.minimum.reduceat(lowest + before, starts, axis=0)
        return (np.maximum(highest, 0.0) - np.minimum(lowest, 0.0)).T

    @property
    def deviations(self) -> np.ndarray:
        """The standard deviation of the gap of each group if the model is calibrated;
        float64 [groups].
        """
        return np.sqrt(self.variances) / self._sums(self.scored.weights)

    @property
    def variances(self) -> np.ndarray:
        """The variance of the end of each walk if the model is calibrated; [groups].

        With clusters that of the sums of clusters, or of independent outcomes if this
        is larger: few outcomes may by chance show no variance at all. Outcomes between
        0 and 1 have that of the clusters.
        """
        if not self.are_binary:
            return self._variances_of_clusters
        return np.maximum(self._variances_of_outcomes, self._variances_of_clusters)

    @property
    def _variances_of_outcomes(self) -> np.ndarray:
        scores, _, weights, _ = self.scored
        return self._sums(weights**2 * scores * (1 - scores))

    @property
    def _variances_of_clusters(self) -> np.ndarray:
        clusters = self.scored.clusters
        if clusters is None:
            return np.zeros(len(self.starts))
        group = np.repeat(np.arange(len(self.starts)), self._sizes)
        parts, of_part = np.unique(
            group * clusters.number + clusters.codes[self.rows], return_inverse=True
        )
        sums = cluster_sums(
            self.scored.residuals[self.rows], of_part.reshape(-1), len(parts)
        )
        return np.bincount(parts // clusters.number, sums**2, len(self.starts))

    def found(
        self, rng: np.random.Generator, level: float, with_largest: bool
    ) -> Found:
        """Returns the p-values of the groups.

        Args:
          rng: of the redrawn data sets.
          level: one less the level of the tests.
          with_largest: whether to compare with the largest statistic of all groups.
        """
        number = len(self.starts)
        if number == 0:
            empty = np.zeros(0)
            return Found(empty, (empty, np.nan))
        observed = self.sizes_of_walks(steps_of(self.scored.residuals[:, None]))[0]
        deviations = np.sqrt(self.variances)
        p_values, is_known = np.ones(number), np.zeros(number, bool)
        if self.statistic == "kuiper" and self.scored.clusters is None:
            is_known = self._near_the_limit
        for i in np.flatnonzero(is_known):  # A series of its own for each.
            p_values[i] = _pooled_tests.p_of_range(observed[i] / deviations[i])
        if with_largest:
            drawn = np.concatenate(list(self._drawn(rng, NUM_DRAWS)))
            standardized = self._standardized(observed[None], deviations)[0]
            p_values = np.where(is_known, p_values, _shares(drawn, standardized))
            return Found(p_values, _p_of_largest(standardized, drawn, level))
        if not np.all(is_known):
            few = self._only(~is_known)
            draws = int(np.clip(2 * number / (1 - level), NUM_DRAWS, _MOST_DRAWS))
            drawn = np.concatenate(list(few._drawn(rng, draws)))
            standardized = self._standardized(observed[None], deviations)[0]
            p_values[~is_known] = _shares(drawn, standardized[~is_known])
        return Found(p_values, None)

    @property
    def _near_the_limit(self) -> np.ndarray:
        """Whether the walk of each group is nearly a Brownian motion [groups]."""
        scores, _, weights, _ = self.scored
        variance = weights**2 * scores * (1 - scores)
        total = self._sums(variance)
        squares = self._sums(variance**2)
        steps = total**2 / np.where(squares > 0, squares, np.inf)
        # Weights of any size are as good as ones.
        unit = self._sums(weights**2) / self._sums(np.ones(len(weights)))
        return (
            (total >= _LEAST_VARIANCE * unit)
            & (steps >= _LEAST_STEPS)
            & (self._skews <= _MOST_SKEW * total**1.5)
        )

    @property
    def _skews(self) -> np.ndarray:
        """Sums of the third cumulants of the outcomes, without their signs [groups]."""
        scores, _, weights, _ = self.scored
        return self._sums(weights**3 * scores * (1 - scores) * np.abs(1 - 2 * scores))

    def _standardized(self, walks: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Returns walks [draws, groups] in standard errors.

        Few expected outcomes have a long tail, and one group of them would hide all the
        others. With the variance V and the third cumulant k, a walk x is divided by
        sqrt(V + x k / (3 V)): the first term of the root of the likelihood ratio.
        """
        variances = deviations**2
        safe = np.where(variances > 0, variances, 1.0)
        spread = safe
        if self.scored.clusters is None:
            spread = safe + walks * self._skews / (3 * safe)
        return np.where(
            variances > 0,
            walks / np.sqrt(spread),
            np.where(walks > _ROUNDING, np.inf, 0.0),
        )

    def _only(self, chosen: np.ndarray) -> Walks:
        """Returns the walks of some groups, of their examples alone."""
        sizes = self._sizes
        kept = np.repeat(chosen, sizes)
        scores, outcomes, weights, clusters = self.scored
        is_used = np.zeros(len(scores), bool)
        is_used[self.rows[kept]] = True
        if clusters is not None:
            clusters = clusters._replace(codes=clusters.codes[is_used])
        return dataclasses.replace(
            self,
            scored=Scored(
                scores[is_used], outcomes[is_used], weights[is_used], clusters
            ),
            rows=(np.cumsum(is_used) - 1)[self.rows[kept]],
            starts=np.cumsum(sizes[chosen]) - sizes[chosen],
            is_end=self.is_end[kept],
        )

    def _drawn(self, rng: np.random.Generator, num_draws: int) -> Iterator[np.ndarray]:
        """Yields statistics of calibrated models in standard errors, [draws, groups],
        in blocks: their outcomes come with the probabilities that the scores say, or
        the signs of (outcome - score) of whole clusters are flipped.
        """
        scores, _, weights, clusters = self.scored
        block = int(np.clip(_BLOCK // len(scores), _LEAST_DRAWS, _MOST_AT_ONCE))
        if clusters is None:
            deviations = np.sqrt(self._variances_of_outcomes)
            for start in range(0, num_draws, block):
                outcomes = _outcomes(rng, scores, min(block, num_draws - start))
                steps = steps_of(outcomes, -scores)
                steps[:-1] *= weights[:, None]
                yield self._standardized(self.sizes_of_walks(steps), deviations)
            return
        # Signs do not change the squares of sums of clusters.
        deviations = np.sqrt(self._variances_of_clusters)
        residuals = self.scored.residuals[:, None]
        for signs in flipped_signs(rng, clusters.number, num_draws):
            for start in range(0, len(signs), block):
                some = np.ascontiguousarray(signs[start : start + block].T)
                steps = steps_of(some[clusters.codes])
                steps[:-1] *= residuals
                yield self._standardized(self.sizes_of_walks(steps), deviations)


def steps_of(values: np.ndarray, shift: np.ndarray | float = 0.0) -> np.ndarray:
    """Returns values + shift for values [N, draws] and a shift [N], and a last row of 0
    for pieces whose group has no example left, float64 [N + 1, draws].
    """
    steps = np.zeros((len(values) + 1, values.shape[1]))
    np.add(values, np.reshape(shift, (-1, 1)), out=steps[:-1])
    return steps


def _outcomes(rng: np.random.Generator, scores: np.ndarray, draws: int) -> np.ndarray:
    """Returns outcomes that come with these probabilities, boolean [N, draws].

    16 random bits decide all outcomes but one in 65,536, for which more are drawn.
    """
    shape = len(scores), draws
    words = rng.integers(2**64, size=-(-len(scores) * draws // 4), dtype=np.uint64)
    bits = words.view(np.uint16)[: len(scores) * draws].reshape(shape)
    scaled = 2**16 * scores
    whole = np.minimum(scaled, 2**16 - 1).astype(np.uint16)
    outcomes = bits < whole[:, None]
    undecided = np.flatnonzero(bits == whole[:, None])
    left = (scaled - whole)[undecided // draws]
    outcomes.reshape(-1)[undecided] = rng.random(len(undecided)) < left
    return outcomes


def _shares(drawn: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Returns the p-values of statistics [groups] among those drawn [draws, groups]."""
    return (1 + np.sum(drawn >= observed - _ROUNDING, axis=0)) / (1 + len(drawn))


def _p_of_largest(
    observed: np.ndarray, drawn: np.ndarray, level: float
) -> tuple[np.ndarray, float]:
    """Returns step-down p-values, as Holm's are, and the critical value of the first.

    The largest statistic is compared with the largest of all groups, the second with
    the largest of all groups but the first, and so on.
    """
    order = np.argsort(observed, kind="stable")
    largest = np.maximum.accumulate(drawn[:, order], axis=1)
    p_values = np.empty(len(observed))
    steps = _shares(largest, observed[order])
    p_values[order] = np.maximum.accumulate(steps[::-1])[::-1]
    critical = float(np.quantile(largest[:, -1], level, method="higher"))
    return p_values, critical
