"""How surprising the walks of groups are, in memory that many groups do not fill."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy._clusters import flipped_signs
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored
from uncertainty_metrics.numpy.calibration.watching._group_walks import (
    Statistic,
    Walks,
    length_of_pieces,
    small_codes,
    steps_of,
)
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_tests

# Redrawn data sets: the p-values are at least one in a thousand.
NUM_DRAWS = 999
# By Holm's method a p-value must be far smaller, but not at any price.
_MOST_DRAWS = 10_000
# Redrawn data sets are walked side by side: so many outcomes, or this many data sets.
_BLOCK, _LEAST_DRAWS, _MOST_AT_ONCE = 2**21, 8, 64
# Walks of so many steps are in memory at once. If there are more, so many outcomes are
# drawn before the walks are made again.
_STEPS_AT_ONCE, _OUTCOMES_AT_ONCE = 2**24, 2**26
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


class TestedGroups(NamedTuple):
    """The groups of a partition that are tested.

    Attributes:
      codes: returns the group of each example, integers [N]. All partitions together
        may not fit into the memory.
      chosen: which groups are tested, boolean [groups].
      sizes: the number of examples of each group, integers [groups].
    """

    codes: Callable[[], np.ndarray]
    chosen: np.ndarray
    sizes: np.ndarray


class _Numbers(NamedTuple):
    """Numbers of the walks of all groups, each [groups].

    Attributes:
      observed: the statistic, not divided by anything.
      variances: of the end of the walk if the model is calibrated.
      deviations: of the gap if the model is calibrated.
      redrawn: the variances of the ends of redrawn walks.
      skews: sums of the third cumulants of the outcomes.
      near_the_limit: whether the walk is nearly a Brownian motion.
    """

    observed: np.ndarray
    variances: np.ndarray
    deviations: np.ndarray
    redrawn: np.ndarray
    skews: np.ndarray
    near_the_limit: np.ndarray


@dataclasses.dataclass(frozen=True)
class WalkTests:
    """Tests of the groups of several partitions, in their order.

    Attributes:
      scored: the examples.
      statistic: "gap" or "kuiper".
      partitions: the groups that are tested.
      are_binary: whether all outcomes are 0 or 1.
    """

    scored: Scored
    statistic: Statistic
    partitions: Sequence[TestedGroups]
    are_binary: bool = True

    @lazy_property
    def _order(self) -> np.ndarray:
        """The examples by ascending score if the statistic needs it, integers [N]."""
        if self.statistic == "gap":
            return np.arange(len(self.scored.scores))
        return np.argsort(self.scored.scores, kind="stable")

    @lazy_property
    def _sorted(self) -> Scored:
        """The examples in this order, in which reading those of a group is faster."""
        return self.scored.taken(self._order)

    @lazy_property
    def _lengths(self) -> list[int]:
        """The number of steps of the walks of each partition."""
        return [int(part.sizes[part.chosen].sum()) for part in self.partitions]

    @property
    def _fits(self) -> bool:
        """Whether all walks are in memory at once."""
        return sum(self._lengths) <= _STEPS_AT_ONCE

    def _made(self, partitions: Sequence[TestedGroups]) -> Walks:
        number = sum(int(part.chosen.sum()) for part in self.partitions)
        return Walks.of(
            self._sorted,
            self.statistic,
            [
                (small_codes(part.codes(), len(part.chosen))[self._order], part.chosen)
                for part in partitions
            ],
            self.are_binary,
            length_of_pieces(sum(self._lengths), number),
        )

    @lazy_property
    def _whole(self) -> Walks:
        return self._made(self.partitions)

    def _walks(self) -> Iterator[Walks]:
        """Yields the walks, those of as many partitions at a time as fit into memory.

        They have the same pieces, and so the same rounding, wherever they are cut.
        """
        if self._fits:
            yield self._whole
            return
        some: list[TestedGroups] = []
        size = 0
        for part, length in zip(self.partitions, self._lengths, strict=True):
            if some and size + length > _STEPS_AT_ONCE:
                yield self._made(some)
                some, size = [], 0
            some.append(part)
            size += length
        yield self._made(some)

    @lazy_property
    def _numbers(self) -> _Numbers:
        found = [
            _Numbers(
                walks.observed,
                walks.variances,
                walks.deviations,
                walks.variances_if_redrawn,
                walks.skews,
                walks.near_the_limit,
            )
            for walks in self._walks()
        ]
        return _Numbers(*map(np.concatenate, zip(*found, strict=True)))

    @property
    def deviations(self) -> np.ndarray:
        """The standard deviation of the gap of each group if the model is calibrated;
        float64 [groups].
        """
        return self._numbers.deviations

    def found(
        self, rng: np.random.Generator, level: float, with_largest: bool
    ) -> Found:
        """Returns the p-values of the groups.

        Args:
          rng: of the redrawn data sets.
          level: one less the level of the tests.
          with_largest: whether to compare with the largest statistic of all groups.
        """
        numbers = self._numbers
        number = len(numbers.observed)
        if number == 0:
            empty = np.zeros(0)
            return Found(empty, (empty, np.nan))
        p_values, is_known = np.ones(number), numbers.near_the_limit
        if np.any(is_known):
            known = numbers.observed[is_known], numbers.variances[is_known]
            p_values[is_known] = _pooled_tests.p_of_range(known[0] / np.sqrt(known[1]))
        if not with_largest and np.all(is_known):
            return Found(p_values, None)
        standardized = self._standardized(numbers.observed[None], numbers.variances)[0]
        if with_largest:
            drawn = self._drawn(rng, NUM_DRAWS)
            counted, of_largest = _p_of_each_and_largest(standardized, drawn, level)
            return Found(np.where(is_known, p_values, counted), of_largest)
        draws = int(np.clip(2 * number / (1 - level), NUM_DRAWS, _MOST_DRAWS))
        drawn = self._only(~is_known)._drawn(rng, draws)
        p_values[~is_known] = _shares(drawn, standardized[~is_known])
        return Found(p_values, None)

    def _standardized(self, walks: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Returns walks [draws, groups] in standard errors.

        Few expected outcomes have a long tail, and one group of them would hide all the
        others. With the variance V and the third cumulant k, a walk x is divided by
        sqrt(V + x k / (3 V)): the first term of the root of the likelihood ratio.
        """
        safe = np.where(variances > 0, variances, 1.0)
        spread = safe
        if self.scored.clusters is None:
            spread = safe + walks * self._numbers.skews / (3 * safe)
        return np.where(
            variances > 0,
            walks / np.sqrt(spread),
            np.where(walks > _ROUNDING, np.inf, 0.0),
        )

    def _only(self, chosen: np.ndarray) -> WalkTests:
        """Returns the tests of some groups, with their examples alone."""
        counts = np.cumsum([part.chosen.sum() for part in self.partitions])
        of_part = np.split(chosen, counts[:-1])
        is_used = np.zeros(len(self.scored.scores), bool)
        kept = []
        for part, some in zip(self.partitions, of_part, strict=True):
            if not np.any(some):
                continue
            still = part.chosen.copy()
            still[part.chosen] = some
            is_used |= still[part.codes()]
            kept.append(part._replace(chosen=still))

        def of_used(part: TestedGroups) -> TestedGroups:
            return part._replace(codes=lambda: part.codes()[is_used])

        return dataclasses.replace(
            self,
            scored=self.scored.taken(is_used),
            partitions=[of_used(part) for part in kept],
        )

    def _drawn(self, rng: np.random.Generator, num_draws: int) -> Iterator[np.ndarray]:
        """Yields statistics of calibrated models in standard errors, [draws, groups],
        in blocks: their outcomes come with the probabilities that the scores say, or
        the signs of (outcome - score) of whole clusters are flipped.
        """
        block = int(
            np.clip(_BLOCK // len(self.scored.scores), _LEAST_DRAWS, _MOST_AT_ONCE)
        )
        blocks = self._redrawn(rng, num_draws, block)
        at_once = 1
        if not self._fits:
            at_once = max(1, _OUTCOMES_AT_ONCE // (block * len(self.scored.scores)))
        while some := list(itertools.islice(blocks, at_once)):
            sizes = [
                [walks.sizes_of_walks(self._steps(redrawn)) for redrawn in some]
                for walks in self._walks()
            ]
            for of_block in zip(*sizes, strict=True):
                walked = np.concatenate(of_block, axis=1)
                yield self._standardized(walked, self._numbers.redrawn)

    def _redrawn(
        self, rng: np.random.Generator, num_draws: int, block: int
    ) -> Iterator[np.ndarray]:
        """Yields outcomes of the sorted examples, boolean [N, draws], or the signs of
        clusters, float64 [C, draws], in blocks.
        """
        scores, _, _, clusters = self.scored
        if clusters is None:
            for start in range(0, num_draws, block):
                outcomes = _outcomes(rng, scores, min(block, num_draws - start))
                yield outcomes[self._order]
            return
        for signs in flipped_signs(rng, clusters.number, num_draws):
            for start in range(0, len(signs), block):
                yield np.ascontiguousarray(signs[start : start + block].T)

    def _steps(self, redrawn: np.ndarray) -> np.ndarray:
        """Returns the steps of walks, as `steps_of` does, with redrawn outcomes or
        signs.
        """
        scores, _, weights, clusters = self._sorted
        if clusters is None:
            steps = steps_of(redrawn, -scores)
            steps[:-1] *= weights[:, None]
            return steps
        steps = steps_of(redrawn[clusters.codes])
        steps[:-1] *= self._sorted.residuals[:, None]
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


def _shares(drawn: Iterator[np.ndarray], observed: np.ndarray) -> np.ndarray:
    """Returns the p-values of statistics [groups] among those drawn, which come in
    blocks [draws, groups].
    """
    number, above = 0, np.zeros(len(observed), np.int64)
    for block in drawn:
        number += len(block)
        above += np.sum(block >= observed - _ROUNDING, axis=0)
    return (1 + above) / (1 + number)


def _p_of_each_and_largest(
    observed: np.ndarray, drawn: Iterator[np.ndarray], level: float
) -> tuple[np.ndarray, tuple[np.ndarray, float]]:
    """Returns the p-value of each statistic [groups] by itself; and step-down p-values,
    as Holm's are, with the critical value of the first.

    The largest statistic is compared with the largest of all groups, the second with
    the largest of all groups but the first, and so on.
    """
    order = np.argsort(observed, kind="stable")
    largest: list[np.ndarray] = []

    def with_largest() -> Iterator[np.ndarray]:
        """Yields the statistics, and beside them the largest up to each."""
        for block in drawn:
            up_to = np.maximum.accumulate(block[:, order], axis=1)
            largest.append(up_to[:, -1])
            yield np.concatenate([block, up_to], axis=1)

    both = _shares(with_largest(), np.concatenate([observed, observed[order]]))
    alone, steps = np.split(both, 2)
    p_values = np.empty(len(observed))
    p_values[order] = np.maximum.accumulate(steps[::-1])[::-1]
    critical = float(np.quantile(np.concatenate(largest), level, method="higher"))
    return alone, (p_values, critical)
