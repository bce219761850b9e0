"""Groups of equal scores, best first, and the areas and rates that follow from them.

Risk-coverage curves and ROC curves are sums over such groups. Exact functions make the
groups by sorting, and streaming metrics have them as the cells of a sketch; the
arithmetic is the same. Sizes are static: groups without weight change nothing.

An outcome is a hit (the decision was right, or the label is positive) or a miss. A
value that is not defined, for lack of weight, of hits or of misses, is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.ops import (
    _decisions,
    _inputs,
    _sizes,
    _sums,
    _validity,
    is_floating,
    numpy_dtype,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


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
        return _ratio(self.mass_before + self.mass, self.total)

    @property
    def risks(self) -> xp.Tensor:
        """Mean loss of each group and those before it."""
        covered = self.mass_before + self.mass
        return _ratio(self.misses_before + self.misses, covered) * self.unit

    @property
    def risk(self) -> xp.Tensor:
        """Mean loss of all examples."""
        return _ratio(self.total_misses, self.total) * self.unit


_ratio = xp.math.divide_no_nan


def _from_integers(
    masses: xp.Tensor, unit: xp.Tensor, examples: xp.Tensor, worst_first: bool = False
) -> Ranking:
    """Returns the ranking of the masses of groups.

    Args:
      masses: int64 [2, G], the masses of groups and of their hits; or [2, columns, G].
      unit: float scalar, the weight of a mass of 1.
      examples: the number of examples of positive weight, of each column [columns, 1].
        If all the weight is less, it is scaled to this number.
      worst_first: whether a group with a worse score is before the others, both in
        `masses` and in the result.
    """
    # Sums of integers do not depend on the order, and neither drift nor cancel. Each
    # part is computed by itself, so that graphs omit the parts that a metric ignores.
    mass, hits = xp.unstack(masses)
    rows = hits, mass - hits
    columns = len(masses.shape) > 2
    totals = [xp.reduce_sum(row, axis=-1, keepdims=columns) for row in rows]
    up_to = [xp.cumsum(row, axis=-1) for row in rows]
    pairs = zip(up_to, totals if worst_first else rows, strict=True)
    before = [
        last - running if worst_first else running - last for running, last in pairs
    ]
    total = xp.cast(totals[0] + totals[1], unit.dtype) * unit
    unit = unit * xp.maximum(_ratio(xp.cast(examples, unit.dtype), total), 1)
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
    if turned:
        units = _turned(units)
    return _from_integers(units, unit, examples, worst_first=not turned)


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
    units = xp.reshape(units, [2, columns, -1])
    return _from_integers(units, unit, counts[0][:, None], worst_first=True)


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
        weighted,
        lambda: (sums.units[:, cells], xp.ones([], dtype)),
    )


def _turned(masses: xp.Tensor) -> xp.Tensor:
    """Returns the masses of groups and of their misses, [2, G], given the masses of
    groups and of their hits.
    """
    mass, hits = xp.unstack(masses)
    return xp.stack([mass, mass - hits])


class Ranked(NamedTuple):
    """Examples to rank.

    Attributes:
      scores: float [N], finite.
      hits: boolean [N].
      weights: float [N], 0 for examples that are left out, or None for ones.
      valid: boolean scalar, False if an example of positive weight was wrong.
      losses: float [N], >= 0, of the type of the scores; None where a miss has a loss
        of 1 and a hit has none.
    """

    scores: xp.Tensor
    hits: xp.Tensor
    weights: xp.Tensor | None
    valid: xp.Tensor
    losses: xp.Tensor | None = None

    def ranking(self) -> Ranking:
        """Returns the ranking, of weights that are at least 1 on average."""
        if self.losses is not None:
            return _from_losses(self.scores, self.losses, self.weights)
        return _from_scores(*self[:3])


def _from_scores(
    scores: xp.Tensor, hits: xp.Tensor, weights: xp.Tensor | None
) -> Ranking:
    """Returns the ranking of N examples as N groups, of which the last may be empty."""
    dtype = _inputs.sum_dtype(scores)
    if weights is None and scores.dtype == xp.float32:
        hits, group = _sorted_hits(scores, hits)
        masses, unit = xp.stack([xp.ones_like(hits), hits], axis=1), xp.ones([], dtype)
        examples = xp.size(scores)
    else:
        masses, unit, examples, group = _weighted(scores, xp.cast(hits, dtype), weights)
    masses = xp.math.unsorted_segment_sum(masses, group, xp.size(scores))
    return _from_integers(xp.transpose(masses), unit, examples)


def _weighted(
    scores: xp.Tensor, parts: xp.Tensor, weights: xp.Tensor | None
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns examples, the best first, as integers.

    Args:
      scores: [N].
      parts: float [N] in [0, 1], the part of each example that is a hit, say.
      weights: [N], or None for ones.

    Returns:
      int64 masses of the examples and of their parts, [N, 2]; the weight of a unit of
      mass; the number of examples of positive weight; and the group of each example.
    """
    order, group = _sorted(scores)
    parts = xp.gather(parts, order)
    if weights is None:
        weights = xp.ones_like(parts)
    else:
        weights = xp.cast(xp.gather(weights, order), parts.dtype)
    masses, unit = _sums.integers(xp.stack([weights, weights * parts], axis=1), 1)
    return masses, unit, xp.math.count_nonzero(weights), group


def _from_losses(
    scores: xp.Tensor, losses: xp.Tensor, weights: xp.Tensor | None
) -> Ranking:
    """Returns the ranking of N examples as N groups; a miss has the largest loss."""
    if weights is not None:
        losses = xp.where(weights > 0, losses, xp.zeros_like(losses))
    largest = xp.reduce_max(losses)
    masses, unit, examples, group = _weighted(scores, _ratio(losses, largest), weights)
    masses = xp.math.unsorted_segment_sum(masses, group, xp.size(scores))
    ranking = _from_integers(_turned(xp.transpose(masses)), unit, examples)
    return ranking._replace(unit=largest)


def _sorted_hits(scores: xp.Tensor, hits: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the int64 hits of float32 scores [N], best first, and their groups.

    Integers that hold score and hit are sorted in two thirds of the time of an argsort,
    and then nothing needs to be gathered.
    """
    bits = xp.cast(xp.bitcast(scores, xp.int32), xp.int64)
    ascending = xp.where(bits < 0, -(2**31) - bits, bits)  # -0.0 is 0.
    keys = xp.sort(2 * ascending + xp.cast(hits, xp.int64), direction="DESCENDING")
    one = xp.constant(1, xp.int64)
    return xp.bitwise.bitwise_and(keys, one), _groups(xp.bitwise.right_shift(keys, one))


def _sorted(scores: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the order that sorts scores [N], best first, and the group of each score
    in that order.
    """
    order = xp.argsort(scores, direction="DESCENDING")
    return order, _groups(xp.gather(scores, order))


def _groups(ordered: xp.Tensor) -> xp.Tensor:
    """Returns the number of the group of equal values around each of [N], from 0 on."""
    differs = xp.cast(ordered[1:] != ordered[:-1], xp.int32)
    first = xp.zeros_like(ordered[:1], xp.int32)
    return xp.cumsum(xp.concat([first, differs], axis=0))


def ranked(
    labels: TensorLike,
    scores: TensorLike,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
    names: tuple[str, str] = ("labels", "scores"),
) -> Ranked:
    """Returns the examples, to rank by score; a hit is a positive label."""
    outcomes, values = _paired(names, labels, scores)
    dtype = _inputs.sum_dtype(values)
    weights, usable = _inputs.weights_and_ignored(
        sample_weight, outcomes, ignore_index, dtype
    )
    flat = [xp.reshape(outcomes, [-1]), xp.reshape(values, [-1]), weights]
    (outcomes, values, weights), same = _sizes.of_equal_number(flat)
    outcomes, right = _inputs.integer_labels(outcomes, 2)
    values, finite = _finite(values, dtype)
    valid = usable & same & _validity.counted_are_right(right & finite, weights)
    return Ranked(values, outcomes == 1, weights, valid)


def shapes(
    labels: TensorLike, scores: TensorLike
) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    """Returns the static shapes of labels and scores."""
    tensors = _inputs.as_tensor("labels", labels), _inputs.as_tensor("scores", scores)
    return tuple(tensors[0].shape), tuple(tensors[1].shape)


def ranked_columns(
    labels: TensorLike,
    scores: TensorLike,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
    *,
    columns: int,
    multilabel: bool,
) -> Ranked:
    """Returns the examples of each class of scores [..., K], whose other classes are
    negative; or of each label of labels [..., L]. All but `valid` have the shape [N,
    columns].
    """
    if multilabel:
        every = ranked(labels, scores, sample_weight, ignore_index)
        shape, weights = [-1, columns], every.weights
        return Ranked(
            xp.reshape(every.scores, shape),
            xp.reshape(every.hits, shape),
            weights if weights is None else xp.reshape(weights, shape),
            every.valid,
        )
    classes = _inputs.as_tensor("labels", labels)
    values = _floating(_inputs.as_tensor("scores", scores))
    dtype = _inputs.sum_dtype(values)
    weights, usable = _inputs.weights_and_ignored(
        sample_weight, classes, ignore_index, dtype
    )
    flat = [xp.reshape(classes, [-1]), xp.reshape(values, [-1, columns]), weights]
    (classes, values, weights), same = _sizes.of_equal_number(flat)
    classes, right = _inputs.integer_labels(classes, columns)
    values, finite = _finite(values, dtype)
    right = right & xp.reduce_all(finite, axis=-1)
    valid = usable & same & _validity.counted_are_right(right, weights)
    if weights is not None:
        weights = xp.broadcast_to(weights[:, None], xp.shape(values))
    hits = classes[:, None] == xp.range(columns)
    return Ranked(values, hits, weights, valid)


def of_column(every: Ranked, column: int) -> Ranked:
    """Returns the examples of one column of `ranked_columns`."""
    weights = None if every.weights is None else every.weights[:, column]
    return Ranked(every.scores[:, column], every.hits[:, column], weights, every.valid)


def ranked_losses(
    losses: TensorLike, confidences: TensorLike, sample_weight: TensorLike | None
) -> Ranked:
    """Returns the examples, to rank by confidence."""
    costs, values = _paired(("losses", "confidences"), losses, confidences)
    dtype = _inputs.predictions_dtype(costs, values)
    weights, usable = _inputs.weights_and_ignored(sample_weight, costs, None, dtype)
    flat = [xp.reshape(costs, [-1]), xp.reshape(values, [-1]), weights]
    (costs, values, weights), same = _sizes.of_equal_number(flat)
    costs, right = _finite(costs, dtype)
    values, finite = _finite(values, dtype)
    valid = (
        usable
        & same
        & _validity.counted_are_right(right & finite & (costs >= 0), weights)
    )
    return Ranked(values, costs == 0, weights, valid, costs)


def _paired(
    names: tuple[str, str], outcomes: TensorLike, scores: TensorLike
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns outcomes and scores as tensors of one shape, the scores as floats."""
    tensors = _inputs.as_tensor(names[0], outcomes), _inputs.as_tensor(names[1], scores)
    _checks.paired(names[1], tensors[1].shape, names[0], tensors[0].shape)
    return tensors[0], _floating(tensors[1])


def _floating(values: xp.Tensor) -> xp.Tensor:
    """Returns the values as floats that tell all of them apart."""
    if is_floating(values):
        return values
    # float32 holds integers of up to 24 bits.
    is_long = numpy_dtype(values).itemsize > 2
    return xp.cast(values, xp.float64 if is_long else xp.float32)


def _finite(values: xp.Tensor, dtype: xp.DType) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns values [N], 0 where they are not finite, and whether each is finite."""
    values = xp.cast(values, dtype)
    finite = xp.math.is_finite(values)
    return xp.where(finite, values, xp.zeros_like(values)), finite


def _margins(logits: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the argmax of logits [N, K], its margin, and whether the row was right;
    [N] each.

    The margin is the logit of the probability, which itself is 1.0 in float32 for a
    margin of 17 or more.
    """
    rows = xp.shape(logits)[0]
    if logits.dtype == xp.float64:
        # TensorFlow computes float64 log and exp of the last few numbers of a tensor in
        # another way, but equal rows must stay equal.
        logits = xp.pad(logits, [[0, -rows % 16], [0, 0]])
    index = xp.argmax(logits, axis=-1, output_type=xp.int32)
    top = _inputs.take(logits, index)
    is_top = xp.one_hot(index, logits.shape[1], True, False, dtype=xp.bool)
    others = xp.where(is_top, xp.constant(-np.inf, logits.dtype), logits)
    second = xp.reduce_max(others, axis=-1)
    reference = xp.where(second > -np.inf, second, xp.zeros_like(second))
    total = xp.reduce_sum(xp.exp(others - reference[:, None]), axis=-1)
    margin = (top - reference) - xp.math.log(total)
    right = xp.math.is_finite(top) & ~xp.math.is_nan(margin)
    limits = np.finfo(numpy_dtype(logits))
    margin = xp.clip_by_value(margin, limits.min, limits.max)
    margin = xp.where(right, margin, xp.zeros_like(margin))
    return index[:rows], margin[:rows], right[:rows]


def ranked_decisions(examples: _inputs.Examples) -> Ranked:
    """Returns the examples of a classifier, to rank by confidence; a hit is a right
    decision.
    """
    if examples.from_logits:
        decisions, scores, right = _margins(examples.predictions)
    else:
        decisions, scores, right = _decisions.decisions(examples.predictions)
        scores = xp.where(right, scores, xp.zeros_like(scores))
        scores = xp.cast(scores, examples.dtype)
    valid = examples.valid & _validity.counted_are_right(right, examples.weights)
    return Ranked(scores, decisions == examples.labels, examples.weights, valid)


def settled(batch: Ranked) -> Ranked:
    """Returns the batch, examples of weight 0 with the worst score of the others."""
    return batch._replace(scores=_settled(batch.scores, batch.weights))


def _settled(values: xp.Tensor, weights: xp.Tensor | None) -> xp.Tensor:
    """Returns values [N], where those of weight 0 are the least of the others."""
    if weights is None:
        return values
    counted, largest = weights > 0, np.finfo(numpy_dtype(values)).max
    least = xp.reduce_min(xp.where(counted, values, largest))
    return xp.where(counted, values, least)


def group_scores(scores: xp.Tensor) -> xp.Tensor:
    """Returns the score of each of N groups, for empty groups the worst."""
    order, group = _sorted(scores)
    scores = xp.gather(scores, order)
    groups = xp.minimum(xp.range(xp.size(scores)), xp.reduce_max(group))
    scores = xp.math.unsorted_segment_max(scores, group, xp.size(scores))
    return xp.gather(scores, groups)


# The length of the rows in which long vectors are added up.
_ROW = 1024


def _total(values: xp.Tensor) -> xp.Tensor:
    """Returns the sum of [G], or the sums of [columns, G], in rows: one long float32
    sum would drift.
    """
    if len(values.shape) > 1:
        values = xp.pad(values, [[0, 0], [0, -values.shape[1] % _ROW]])
        rows = xp.reshape(values, [values.shape[0], -1, _ROW])
        return xp.reduce_sum(xp.reduce_sum(rows, axis=2), axis=1)
    values = xp.pad(values, [[0, -xp.size(values) % _ROW]])
    return xp.reduce_sum(xp.reduce_sum(xp.reshape(values, [-1, _ROW]), axis=1))


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
    rate = _ratio(ranking.misses, ranking.mass)
    excess = ranking.misses_before - rate * ranking.mass_before
    sums = ranking.misses + excess * _harmonic(ranking.mass_before, ranking.mass)
    return _ratio(_total(sums), ranking.total) * ranking.unit


def least_risk_coverage_area(ranking: Ranking) -> xp.Tensor:
    """Returns the risk-coverage area of the perfect order, hits first."""
    hits, misses = ranking.total_hits, ranking.total_misses
    return _ratio(misses - hits * _harmonic(hits, misses), ranking.total)


def excess_risk_coverage_area(ranking: Ranking) -> xp.Tensor:
    """Returns the risk-coverage area less that of the perfect order."""
    best = least_risk_coverage_area(ranking)
    return xp.maximum(risk_coverage_area(ranking) - best, 0)


def compared_areas(batch: Ranked) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the risk-coverage areas of the order of the scores, of the perfect order,
    and of a random order. The smallest loss is subtracted from all losses.

    They are float64, as their differences may be small.
    """
    scores = xp.cast(batch.scores, xp.float64)
    weights = None if batch.weights is None else xp.cast(batch.weights, xp.float64)
    batch = batch._replace(scores=scores, weights=weights)
    if batch.losses is None:
        ranking = batch.ranking()
        best = least_risk_coverage_area(ranking)
    else:
        losses = _settled(xp.cast(batch.losses, xp.float64), weights)
        batch = batch._replace(losses=losses - xp.reduce_min(losses))
        ranking = batch.ranking()
        best = risk_coverage_area(batch._replace(scores=-losses).ranking())
    return risk_coverage_area(ranking), best, ranking.risk


def generalized_risk_coverage_area(ranking: Ranking) -> xp.Tensor:
    """Returns the area under the misses as a share of all examples, over coverage."""
    misses = ranking.misses_before + ranking.misses / 2
    return _total(_ratio(ranking.mass, ranking.total) * _ratio(misses, ranking.total))


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
    share = xp.clip_by_value(_ratio(decided - ranking.mass_before, ranking.mass), 0, 1)
    misses = _total(share * ranking.misses)
    return _ratio(ranking.total - misses, ranking.total)


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
        _ratio(ranking.hits, ranking.total_hits) * _ratio(after, ranking.total_misses)
    )


def average_precision(ranking: Ranking) -> xp.Tensor:
    """Returns the mean, over hits, of the share of hits in their group and before."""
    covered = ranking.mass_before + ranking.mass
    precisions = _ratio(ranking.hits_before + ranking.hits, covered)
    return _total(_ratio(ranking.hits, ranking.total_hits) * precisions)


def miss_rate_at_hit_rate(ranking: Ranking, hit_rate: float) -> xp.Tensor:
    """Returns the least share of the misses that comes before or with the share
    `hit_rate` of the hits.
    """
    hits = _ratio(ranking.hits_before + ranking.hits, ranking.total_hits)
    misses = _ratio(ranking.misses_before + ranking.misses, ranking.total_misses)
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
    hits = _ratio(ranking.hits, ranking.total_hits)
    return _total(hits * _ratio(ranking.misses, ranking.total_misses)) / 2
