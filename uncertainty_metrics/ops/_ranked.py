"""Examples to rank by a score, read from arguments of users, and sorted into groups."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.ops import (
    _decisions,
    _execution,
    _inputs,
    _ranking,
    _sizes,
    _sums,
    _validity,
    is_floating,
    numpy_dtype,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


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

    def ranking(self) -> _ranking.Ranking:
        """Returns the ranking, of weights that are at least 1 on average: N groups, of
        which the last may be empty.
        """
        scores, hits, weights, _, losses = self
        if losses is None:
            return _ranking.from_integers(*_masses(scores, hits, weights))
        if weights is not None:
            losses = xp.where(weights > 0, losses, xp.zeros_like(losses))
        # A miss has the largest loss.
        largest = xp.reduce_max(losses)
        parts = _ranking.ratio(losses, largest)
        mass, misses, unit, examples = _masses(scores, parts, weights)
        ranking = _ranking.from_integers(mass, mass - misses, unit, examples)
        return ranking._replace(unit=largest)


Masses = tuple[xp.Tensor, xp.Tensor, xp.Tensor, xp.Tensor]
Sort = Callable[[xp.Tensor], xp.Tensor]


def _masses(scores: xp.Tensor, parts: xp.Tensor, weights: xp.Tensor | None) -> Masses:
    """Returns the groups of equal scores, the best first.

    Args:
      scores: [N].
      parts: [N], the part of each example that is a hit, say: boolean, or in [0, 1].
      weights: [N], or None for ones.

    Returns:
      int64 masses of the groups and of their parts, [N] each; the weight of a unit of
      mass; and the number of examples of positive weight.
    """
    counts = weights is None and parts.dtype == xp.bool and scores.dtype == xp.float32
    function = _counts if counts else _weighted_masses
    if _execution.is_worth_fast_sort(scores):
        function = _execution.with_xla(function, _execution.stable_sort)
    else:
        function = functools.partial(function, xp.sort)
    return function(scores, parts, weights)


def _counts(sort: Sort, scores: xp.Tensor, hits: xp.Tensor, weights: None) -> Masses:
    """Returns `_masses` of float32 scores whose weights are ones.

    The integers that are sorted hold score and hit, so that nothing is gathered.
    """
    keys = sort(2 * _descending(scores) + xp.cast(hits, xp.int64))
    one = xp.constant(1, xp.int64)
    group = _groups(xp.bitwise.right_shift(keys, one))
    # Hits and examples are added up at once, in the two halves of a number.
    both = 2**32 * xp.bitwise.bitwise_and(keys, one) + one
    both = xp.math.unsorted_segment_sum(both, group, xp.size(scores))
    hits, mass = _halves(both)
    return mass, hits, xp.ones([], scores.dtype), xp.size(scores)


def _halves(numbers: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the upper 32 bits of int64 numbers, with the sign, and the lower 32."""
    low = xp.bitwise.bitwise_and(numbers, xp.constant(2**32 - 1, xp.int64))
    return xp.bitwise.right_shift(numbers, xp.constant(32, xp.int64)), low


def _weighted_masses(
    sort: Sort, scores: xp.Tensor, parts: xp.Tensor, weights: xp.Tensor | None
) -> Masses:
    """Returns `_masses`."""
    order, group = _order(sort, scores)
    parts = xp.gather(xp.cast(parts, scores.dtype), order)
    if weights is None:
        examples, weights = xp.size(scores), xp.ones_like(parts)
    else:
        examples = xp.math.count_nonzero(weights)
        weights = xp.cast(xp.gather(weights, order), parts.dtype)
    masses, unit = _sums.integers(xp.stack([weights, weights * parts]), 1)
    size = xp.size(group)
    # XLA takes longer for one tensor of both sums.
    mass, parts = (
        xp.math.unsorted_segment_sum(row, group, size) for row in xp.unstack(masses)
    )
    return mass, parts, unit, examples


def _descending(scores: xp.Tensor) -> xp.Tensor:
    """Returns int64 of 32 bits that sort float32 scores, the best first; -0.0 is 0."""
    bits = xp.cast(xp.bitcast(scores, xp.int32), xp.int64)
    return xp.where(bits < 0, bits + 2**31, -bits)


def _order(sort: Sort, scores: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the order that sorts scores [N], best first, and the group of each score
    in that order.
    """
    if scores.dtype != xp.float32:
        order = xp.argsort(scores, direction="DESCENDING")
        return order, _groups(xp.gather(scores, order))
    # The low bits of a key say where a score came from.
    places = xp.cast(xp.range(xp.size(scores)), xp.int64)
    keys = sort(2**32 * _descending(scores) + places)
    ordered, order = _halves(keys)
    return xp.cast(order, xp.int32), _groups(ordered)


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
    order, group = _order(xp.sort, scores)
    scores = xp.gather(scores, order)
    groups = xp.minimum(xp.range(xp.size(scores)), xp.reduce_max(group))
    scores = xp.math.unsorted_segment_max(scores, group, xp.size(scores))
    return xp.gather(scores, groups)


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
        best = _ranking.least_risk_coverage_area(ranking)
    else:
        losses = _settled(xp.cast(batch.losses, xp.float64), weights)
        batch = batch._replace(losses=losses - xp.reduce_min(losses))
        ranking = batch.ranking()
        best = _ranking.risk_coverage_area(batch._replace(scores=-losses).ranking())
    return _ranking.risk_coverage_area(ranking), best, ranking.risk
