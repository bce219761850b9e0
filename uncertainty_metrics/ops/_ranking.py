"""Groups of equal scores, best first, and the areas and rates that follow from them.

Risk-coverage curves and ROC curves are sums over such groups. Exact functions make the
groups by sorting, and streaming metrics have them as the cells of a sketch; the
arithmetic is the same. Sizes are static: groups without weight change nothing.

An outcome is a hit (the decision was right, or the label is positive) or a miss. A
value that is not defined, for lack of weight, of hits or of misses, is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncertainty_metrics.ops import _execution, _sums, numpy_dtype, xp


class Ranking(NamedTuple):
    """Groups of equal scores: a group with a better score is before the others.

    Rankings of several columns of scores have one more axis, [columns, G], and totals
    of the shape [columns, 1].

    Weights count examples. With losses, an example is a miss to the part that its loss
    is of `unit`, and a hit to the rest.

    Attributes:
      hits: float [G], weight of the hits of each group.
      misses: float [G], weight of the misses of each group.
      hits_before: float [G], weight of the hits of the groups before each group.
      misses_before: float [G], weight of the misses of the groups before each group.
      total_hits: float scalar, weight of all hits.
      total_misses: float scalar, weight of all misses.
      unit: the loss of a miss.
    """

    hits: xp.Tensor
    misses: xp.Tensor
    hits_before: xp.Tensor
    misses_before: xp.Tensor
    total_hits: xp.Tensor
    total_misses: xp.Tensor
    unit: xp.Tensor | float = 1.0

    @property
    def mass(self) -> xp.Tensor:
        return self.hits + self.misses

    @property
    def mass_before(self) -> xp.Tensor:
        return self.hits_before + self.misses_before

    @property
    def total(self) -> xp.Tensor:
        return self.total_hits + self.total_misses

    @property
    def coverages(self) -> xp.Tensor:
        """Share of the weight in each group and those before it."""
        return ratio(self.mass_before + self.mass, self.total)

    @property
    def risks(self) -> xp.Tensor:
        """Mean loss of each group and those before it."""
        covered = self.mass_before + self.mass
        return ratio(self.misses_before + self.misses, covered) * self.unit

    @property
    def risk(self) -> xp.Tensor:
        """Mean loss of all examples."""
        return ratio(self.total_misses, self.total) * self.unit


ratio = xp.math.divide_no_nan


def from_integers(
    mass: xp.Tensor,
    hits: xp.Tensor,
    unit: xp.Tensor,
    examples: xp.Tensor,
    worst_first: bool = False,
) -> Ranking:
    """Returns the ranking of the masses of groups.

    Args:
      mass: int64 [G], the masses of groups; or [columns, G].
      hits: of the same shape, the masses of their hits.
      unit: float scalar, the weight of a mass of 1.
      examples: the number of examples of positive weight, of each column [columns, 1].
        If all the weight is less, it is scaled to this number.
      worst_first: whether a group with a worse score is before the others, both in
        the masses and in the result.
    """
    # Sums of integers do not depend on the order, and neither drift nor cancel. Each
    # part is computed by itself, so that graphs omit the parts that a metric ignores.
    rows = hits, mass - hits
    columns = len(mass.shape) > 1
    totals = [xp.reduce_sum(row, axis=-1, keepdims=columns) for row in rows]
    up_to = [xp.cumsum(row, axis=-1) for row in rows]
    pairs = zip(up_to, totals if worst_first else rows, strict=True)
    before = [
        last - running if worst_first else running - last for running, last in pairs
    ]
    total = xp.cast(totals[0] + totals[1], unit.dtype) * unit
    unit = unit * xp.maximum(ratio(xp.cast(examples, unit.dtype), total), 1)
    return Ranking(
        *(xp.cast(part, unit.dtype) * unit for part in (*rows, *before, *totals))
    )


def from_sums(
    sums: _sums.Sums,
    cells: slice,
    examples: xp.Tensor,
    dtype: xp.DType,
    turned: bool = False,
) -> Ranking:
    """Returns the ranking of the cells of a sketch, the worst first.

    Args:
      sums: the weights of cells and of their hits, [2, all cells].
      cells: the cells that are groups of the ranking.
      examples: the number of examples of positive weight.
      dtype: of the ranking.
      turned: whether to take misses for hits, and the first cell for the best.
    """
    units, unit = _integers(sums, cells, dtype)
    mass, hits = xp.unstack(units)
    if turned:
        hits = mass - hits
    return from_integers(mass, hits, unit, examples, worst_first=not turned)


def from_column_sums(sums: _sums.Sums, columns: int, dtype: xp.DType) -> Ranking:
    """Returns the rankings of several columns, each of which has a sketch.

    Args:
      sums: the weights of cells and of their hits, [2, columns * (cells + 1)]: the
        cells of each column, the worst first, and at the end the number of examples of
        positive weight of each.
      columns: the number of columns.
      dtype: of the rankings.
    """
    counts = _sums.totals(_sums.of_cells(sums, slice(-columns, None)), dtype)
    units, unit = _integers(sums, slice(-columns), dtype)
    mass, hits = xp.unstack(xp.reshape(units, [2, columns, -1]))
    return from_integers(mass, hits, unit, counts[0][:, None], worst_first=True)


def _integers(
    sums: _sums.Sums, cells: slice, dtype: xp.DType
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the weights of some of the cells, and of their hits, as int64 multiples
    [2, cells] of a unit; and the unit.
    """

    def weighted() -> tuple[xp.Tensor, xp.Tensor]:
        return _sums.integers(_sums.totals(_sums.of_cells(sums, cells), dtype), 1)

    return xp.cond(
        _sums.has_pair(sums),
        _execution.rarely(weighted),
        lambda: (sums.units[:, cells], xp.ones([], dtype)),
    )


# The length of the rows in which long vectors are added up.
_ROW = 1024


def _total(values: xp.Tensor) -> xp.Tensor:
    """Returns the sum of [G], or the sums of [columns, G], in rows: one long float32
    sum would drift, and TPUs have no float64.
    """
    if len(values.shape) > 1:
        values = xp.pad(values, [[0, 0], [0, -values.shape[1] % _ROW]])
        rows = xp.reshape(values, [values.shape[0], -1, _ROW])
        return xp.reduce_sum(xp.reduce_sum(rows, axis=2), axis=1)
    values = xp.pad(values, [[0, -xp.size(values) % _ROW]])
    sums = xp.reduce_sum(xp.reshape(values, [-1, _ROW]), axis=1)
    # With a zero between them, XLA does not make one long sum of the two.
    return xp.reduce_sum(xp.pad(sums, [[0, 1]]))


# digamma(x + 1/2) = log(x) + c_1 / x^2 + c_2 / x^4 + ...
_SERIES = (1 / 24, -7 / 960, 31 / 8064, -127 / 30720)


def _harmonic(before: xp.Tensor, mass: xp.Tensor) -> xp.Tensor:
    """Returns `1 / (before + 1) + ... + 1 / (before + mass)`, for real numbers too: the
    difference of two digammas, without cancellation.
    """
    # After this many terms the series is exact enough.
    terms = 16 if before.dtype == xp.float64 else 3
    total = xp.zeros_like(before)
    for i in range(1, terms + 1):
        total = total + (mass / ((before + i) * (before + mass + i)))
    x = before + (terms + 0.5)

    def series(x):
        inverse_square = 1 / (x * x)
        value = xp.zeros_like(x)
        for coefficient in reversed(_SERIES):
            value = (value + coefficient) * inverse_square
        return value

    return total + xp.math.log1p(mass / x) + series(x + mass) - series(x)


def risk_coverage_area(ranking: Ranking) -> xp.Tensor:
    """Returns the mean over k = 1, 2, ... of the expected risk of the k best examples,
    where the order within a group is random.
    """
    rate = ratio(ranking.misses, ranking.mass)
    excess = ranking.misses_before - rate * ranking.mass_before
    sums = ranking.misses + excess * _harmonic(ranking.mass_before, ranking.mass)
    return ratio(_total(sums), ranking.total) * ranking.unit


def least_risk_coverage_area(ranking: Ranking) -> xp.Tensor:
    """Returns the risk-coverage area of the perfect order, hits first."""
    hits, misses = ranking.total_hits, ranking.total_misses
    return ratio(misses - hits * _harmonic(hits, misses), ranking.total)


def excess_risk_coverage_area(ranking: Ranking) -> xp.Tensor:
    """Returns the risk-coverage area less that of the perfect order."""
    best = least_risk_coverage_area(ranking)
    return xp.maximum(risk_coverage_area(ranking) - best, 0)


def generalized_risk_coverage_area(ranking: Ranking) -> xp.Tensor:
    """Returns the area under the misses as a share of all examples, over coverage."""
    misses = ranking.misses_before + ranking.misses / 2
    return _total(ratio(ranking.mass, ranking.total) * ratio(misses, ranking.total))


def coverage_at_risk(ranking: Ranking, risk: float) -> xp.Tensor:
    """Returns the largest coverage whose risk is at most `risk`; 0 if none is."""
    coverages = ranking.coverages
    within = ranking.risks <= risk * _round_up(coverages)
    return xp.reduce_max(xp.where(within, coverages, xp.zeros_like(coverages)))


def risk_at_coverage(ranking: Ranking, coverage: float) -> xp.Tensor:
    """Returns the risk at the smallest coverage that is at least `coverage`."""
    coverages, risks = ranking.coverages, ranking.risks
    reached = coverages * _round_up(coverages) >= coverage
    # Coverages ascend; empty groups have the coverage and risk of those before them.
    least = xp.reduce_min(xp.where(reached, coverages, 2.0 * xp.ones_like(coverages)))
    return xp.reduce_max(xp.where(coverages == least, risks, xp.zeros_like(risks)))


def collaborative_accuracy(ranking: Ranking, fraction: float) -> xp.Tensor:
    """Returns the share of hits, counting all of the worst `fraction` as hits."""
    decided = (1 - fraction) * ranking.total
    share = xp.clip_by_value(ratio(decided - ranking.mass_before, ranking.mass), 0, 1)
    misses = _total(share * ranking.misses)
    return ratio(ranking.total - misses, ranking.total)


def has_hits(ranking: Ranking) -> xp.Tensor:
    """Returns whether there is a hit."""
    return ranking.total_hits > 0


def has_both(ranking: Ranking) -> xp.Tensor:
    """Returns whether there are hits and misses."""
    return (ranking.total_hits > 0) & (ranking.total_misses > 0)


def roc_area(ranking: Ranking) -> xp.Tensor:
    """Returns the probability that a hit is before a miss, 1/2 within a group."""
    after = ranking.total_misses - ranking.misses_before - ranking.misses / 2
    return _total(
        ratio(ranking.hits, ranking.total_hits) * ratio(after, ranking.total_misses)
    )


def average_precision(ranking: Ranking) -> xp.Tensor:
    """Returns the mean, over hits, of the share of hits in their group and before."""
    covered = ranking.mass_before + ranking.mass
    precisions = ratio(ranking.hits_before + ranking.hits, covered)
    return _total(ratio(ranking.hits, ranking.total_hits) * precisions)


def miss_rate_at_hit_rate(ranking: Ranking, hit_rate: float) -> xp.Tensor:
    """Returns the least share of the misses that comes before or with the share
    `hit_rate` of the hits.
    """
    hits = ratio(ranking.hits_before + ranking.hits, ranking.total_hits)
    misses = ratio(ranking.misses_before + ranking.misses, ranking.total_misses)
    reached = hits * _round_up(hits) >= hit_rate
    least = xp.reduce_min(xp.where(reached, misses, 2.0 * xp.ones_like(misses)))
    return xp.where(xp.reduce_any(reached), least, xp.zeros_like(least))


def _round_up(values: xp.Tensor) -> float:
    """Returns a factor for a share, so that it reaches a limit that it misses only by
    rounding.
    """
    return 1 + 4 * float(np.finfo(numpy_dtype(values)).eps)


def roc_area_within_groups(ranking: Ranking) -> xp.Tensor:
    """Returns the largest error of the ROC area without the order within groups."""
    hits = ratio(ranking.hits, ranking.total_hits)
    return _total(hits * ratio(ranking.misses, ranking.total_misses)) / 2
