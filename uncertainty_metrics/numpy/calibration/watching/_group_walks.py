"""Sums of (outcome - score) within groups, along the scores.

In each group the examples are sorted by their scores. The sums of U = w (y - p) of the
examples up to a score are a walk. The gap of the group is where the walk ends; its
range, the Kuiper statistic, also tells scores that are too high for some of the members
and too low for others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy._clusters import cluster_sums, distinct_integers
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored

Statistic = Literal["gap", "kuiper"]
# The walk is near its limit from this variance, in units of one outcome, and this
# number of equal steps on, and up to this skewness.
_LEAST_VARIANCE, _LEAST_STEPS, _MOST_SKEW = 25.0, 100.0, 0.1
# The walks are cut into at least so many pieces.
_PIECES = 512


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


class _Sums(NamedTuple):
    """Sums over the examples of each group, float64 [groups].

    Attributes:
      weights: of w.
      weights_squared: of w^2.
      variances: of the variances v = w^2 p (1 - p).
      variances_squared: of v^2.
      skews: of the third cumulants of the outcomes, without their signs.
    """

    weights: np.ndarray
    weights_squared: np.ndarray
    variances: np.ndarray
    variances_squared: np.ndarray
    skews: np.ndarray


@dataclasses.dataclass(frozen=True)
class Walks:
    """The walks of groups, which may overlap.

    Attributes:
      scored: the examples.
      statistic: "gap" or "kuiper".
      rows: the examples of each group by ascending score, group after group, integers
        [M].
      starts: where each group starts in `rows`, [groups].
      is_end: whether an example is the last of its score in its group, boolean [M];
        None if all are.
      sums: over the examples of each group.
      length: number of steps of each piece of a walk.
      are_binary: whether all outcomes are 0 or 1. Others have a cluster each, at least,
        because only the data tell their variance.
    """

    scored: Scored
    statistic: Statistic
    rows: np.ndarray
    starts: np.ndarray
    is_end: np.ndarray | None
    sums: _Sums
    length: int
    are_binary: bool = True

    @classmethod
    def of(
        cls,
        scored: Scored,
        statistic: Statistic,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        are_binary: bool = True,
        length: int | None = None,
    ) -> Walks:
        """Returns the walks of the chosen groups of several partitions, in their order.

        Args:
          scored: the examples.
          statistic: "gap" or "kuiper".
          partitions: the group of each example, integers [N], and which groups are
            chosen, boolean [groups].
          are_binary: whether all outcomes are 0 or 1.
          length: number of steps of each piece; by default a good one for these walks.
        """
        rows, sizes, sums = [], [], []
        scores, columns = scored.scores, _columns(scored)
        steps = np.diff(scores)
        is_sorted = statistic == "gap" or not np.any(steps < 0)
        by_score = None if is_sorted else np.argsort(scores, kind="stable")
        for index, chosen in partitions:
            codes = small_codes(index, len(chosen))
            of_part = index.astype(np.intp, copy=False)
            size = np.bincount(of_part, minlength=len(chosen))[chosen]
            sizes.append(size)
            sums.append(
                [
                    size
                    if column is None
                    else np.bincount(of_part, column, len(chosen))[chosen]
                    for column in columns
                ]
            )
            among = by_score
            if not np.all(chosen):
                is_among = chosen[codes]
                among = np.flatnonzero(is_among)
                if by_score is not None:
                    among = by_score[is_among[by_score]]
            if among is None:
                rows.append(np.argsort(codes, kind="stable"))
            else:
                rows.append(among[np.argsort(codes[among], kind="stable")])
        every, size = np.concatenate(rows), np.concatenate(sizes)
        starts = np.cumsum(size) - size
        is_end = None
        if statistic == "kuiper" and not (is_sorted and np.all(steps > 0)):
            walked = scores[every]
            is_end = np.append(walked[1:] != walked[:-1], True)
            is_end[starts[1:] - 1] = True
        if length is None:
            length = length_of_pieces(len(every), len(size))
        total = _Sums(*np.concatenate(sums, axis=1).astype(np.float64))
        return cls(scored, statistic, every, starts, is_end, total, length, are_binary)

    @property
    def _sizes(self) -> np.ndarray:
        """The number of examples of each group, integers [groups]."""
        return np.diff(self.starts, append=len(self.rows))

    @property
    def observed(self) -> np.ndarray:
        """The statistic of each group for its outcomes, not divided by anything,
        float64 [groups].
        """
        steps, found = self.scored.residuals[self.rows], np.zeros(len(self.starts))
        if self.statistic == "gap":
            return np.abs(np.add.reduceat(steps, self.starts)) if len(found) else found
        # Sums that go on over all groups would be rounded as the sums of all groups.
        for i, (start, size) in enumerate(zip(self.starts, self._sizes, strict=True)):
            walk = np.cumsum(steps[start : start + size])
            if self.is_end is not None:
                walk = walk[self.is_end[start : start + size]]
            found[i] = max(walk.max(), 0.0) - min(walk.min(), 0.0)
        return found

    @lazy_property
    def _pieces(self) -> _Pieces:
        sizes, length = self._sizes, self.length
        of_group = -(-sizes // length)
        starts = np.cumsum(of_group) - of_group
        group = np.repeat(np.arange(len(sizes)), of_group)
        first = self.starts[group] + length * (np.arange(len(group)) - starts[group])
        places = first + np.arange(length)[:, None]
        is_inside = places < (self.starts + sizes)[group]
        places = np.where(is_inside, places, 0)
        rows = np.where(is_inside, self.rows[places], len(self.scored.scores))
        is_end = None
        if self.is_end is not None:
            is_end = is_inside & self.is_end[places]
        return _Pieces(rows, is_end, starts, of_group)

    def sizes_of_walks(self, steps: np.ndarray) -> np.ndarray:
        """Returns the statistic of each group, not divided by anything, [draws, groups]
        for the steps of `steps_of`.
        """
        rows, is_end, starts, of_group = self._pieces
        if len(starts) == 0:
            return np.zeros((steps.shape[1], 0))
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
        # Where each piece starts, by sums within its group: the rounding of a walk
        # does not depend on the other walks.
        before = np.zeros(shape)
        for place in range(1, of_group.max(initial=0)):
            pieces = starts[of_group > place] + place
            before[pieces] = before[pieces - 1] + walk[pieces - 1]
        highest = np.maximum.reduceat(highest + before, starts, axis=0)
        lowest = np.minimum.reduceat(lowest + before, starts, axis=0)
        return (np.maximum(highest, 0.0) - np.minimum(lowest, 0.0)).T

    @property
    def deviations(self) -> np.ndarray:
        """The standard deviation of the gap of each group if the model is calibrated;
        float64 [groups].
        """
        return np.sqrt(self.variances) / self.sums.weights

    @property
    def variances(self) -> np.ndarray:
        """The variance of the end of each walk if the model is calibrated; [groups].

        With clusters that of the sums of clusters, or of independent outcomes if this
        is larger: few outcomes may by chance show no variance at all. Outcomes between
        0 and 1 have that of the clusters.
        """
        if not self.are_binary:
            return self._variances_of_clusters
        return np.maximum(self.sums.variances, self._variances_of_clusters)

    @property
    def variances_if_redrawn(self) -> np.ndarray:
        """The variance of the end of each walk with redrawn outcomes, or with flipped
        signs, which do not change the squares of sums of clusters; float64 [groups].
        """
        if self.scored.clusters is None:
            return self.sums.variances
        return self._variances_of_clusters

    @lazy_property
    def _variances_of_clusters(self) -> np.ndarray:
        clusters = self.scored.clusters
        if clusters is None:
            return np.zeros(len(self.starts))
        group = np.repeat(np.arange(len(self.starts)), self._sizes)
        parts, of_part = distinct_integers(
            group * clusters.number + clusters.codes[self.rows]
        )
        sums = cluster_sums(self.scored.residuals[self.rows], of_part, len(parts))
        return np.bincount(parts // clusters.number, sums**2, len(self.starts))

    @property
    def near_the_limit(self) -> np.ndarray:
        """Whether the walk of each group is known to be nearly a Brownian motion
        [groups]. Nobody knows the distribution of clusters.
        """
        if self.statistic == "gap" or self.scored.clusters is not None:
            return np.zeros(len(self.starts), bool)
        _, weights, total, squares, skews = self.sums
        steps = total**2 / np.where(squares > 0, squares, np.inf)
        # Weights of any size are as good as ones.
        unit = weights / self._sizes
        return (
            (total >= _LEAST_VARIANCE * unit)
            & (steps >= _LEAST_STEPS)
            & (skews <= _MOST_SKEW * total**1.5)
        )

    @property
    def skews(self) -> np.ndarray:
        """Sums of the third cumulants of the outcomes, without their signs [groups]."""
        return self.sums.skews


def _columns(scored: Scored) -> tuple[np.ndarray | None, ...]:
    """Returns the columns of `_Sums` of examples, float64 [N]; None for ones."""
    scores, _, weights, _ = scored
    variances = scores * (1 - scores)
    skews = variances * np.abs(1 - 2 * scores)
    if np.all(weights == 1):
        return None, None, variances, variances**2, skews
    squares = weights**2
    variances *= squares
    return weights, squares, variances, variances**2, weights * squares * skews


def small_codes(codes: np.ndarray, number: int) -> np.ndarray:
    """Returns codes in [0, number) as integers that take less time to sort and read."""
    return codes.astype(np.uint16, copy=False) if number <= 2**16 else codes


def length_of_pieces(steps: int, walks: int) -> int:
    """Returns the number of steps of each piece of walks of so many steps together.

    Walks of the mean size have no piece that is mostly empty.
    """
    return max(1, steps // max(_PIECES, walks))


def steps_of(values: np.ndarray, shift: np.ndarray | float = 0.0) -> np.ndarray:
    """Returns values + shift for values [N, draws] and a shift [N], and a last row of 0
    for pieces whose group has no example left, float64 [N + 1, draws].
    """
    steps = np.zeros((len(values) + 1, values.shape[1]))
    np.add(values, np.reshape(shift, (-1, 1)), out=steps[:-1])
    return steps
