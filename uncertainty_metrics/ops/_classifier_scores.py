"""Scores of classifiers, one for each example, and the parts of the Brier score.

The public functions, the Keras metrics and the losses call them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._results import (
    BrierParts,
    ExactBrierParts,
    GroupValues,
    ImageMean,
)
from uncertainty_metrics.numpy._examples import Partition
from uncertainty_metrics.numpy.scoring import _group_values
from uncertainty_metrics.ops import (
    IS_JAX,
    IS_TENSORFLOW,
    _decisions,
    _execution,
    _inputs,
    _ranges,
    _sums,
    _validity,
    xp,
)


def worst_of(values: xp.Tensor, largest: bool = True) -> xp.Tensor:
    """Returns the largest of values [num_groups], or the smallest, without those that
    are NaN; NaN if all are.
    """
    empty = xp.math.is_nan(values)
    limit = xp.constant(-np.inf if largest else np.inf, values.dtype)
    bounded = xp.where(empty, limit, values)
    worst = xp.reduce_max(bounded) if largest else xp.reduce_min(bounded)
    return xp.where(xp.reduce_all(empty), xp.constant(np.nan, values.dtype), worst)


def of_groups(
    values: xp.Tensor, weights: xp.Tensor, groups: Partition, largest: bool = True
) -> GroupValues | ImageMean:
    """Returns `GroupValues` of values [num_groups], which are NaN for empty groups; or
    their mean, if the groups are images.
    """
    if groups.are_images:
        return _image_mean(values, groups.number)
    return GroupValues(values, worst_of(values, largest), weights)


def _image_mean(values: xp.Tensor, number: int) -> ImageMean:
    """Returns the mean of values [number] without those that are NaN."""
    from scipy import special

    dtype, empty = values.dtype, xp.math.is_nan(values)
    n = number - xp.math.count_nonzero(empty)
    count = xp.cast(n, dtype)
    held = xp.where(empty, xp.zeros_like(values), values)
    mean = xp.reduce_sum(held) / count  # NaN for no image.
    deviations = xp.where(empty, xp.zeros_like(values), held - mean)
    variance = xp.math.divide_no_nan(xp.reduce_sum(xp.square(deviations)), count - 1)
    # The quantile of each number of images; an interval needs two of them.
    quantiles = np.full(number + 1, np.nan)
    quantiles[2:] = special.stdtrit(
        np.arange(1, number), (1 + _group_values.IMAGE_LEVEL) / 2
    )
    half = xp.gather(xp.constant(quantiles, dtype), n) * xp.sqrt(variance / count)
    return ImageMean(mean - half, mean, mean + half, values)


def group_pair(groups: Partition, values: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the sums of float [N, columns] over each group as pairs [columns,
    num_groups]; infinite values make infinite sums.
    """
    is_finite = xp.math.is_finite(values)
    zeros = xp.zeros_like(values)
    number = groups.number
    finite = xp.where(is_finite, values, zeros)
    hi, lo = _sums.segment_pair(finite, groups.index, number)
    infinite = xp.where(is_finite, zeros, values)
    infinite = xp.math.unsorted_segment_sum(infinite, groups.index, number)
    return hi + xp.transpose(infinite), lo


def _group_sums(groups: Partition, values: xp.Tensor) -> xp.Tensor:
    """Returns the sum of values [N] over each group, [num_groups]."""
    hi, lo = group_pair(groups, values[:, None])
    return (hi + lo)[0]


def group_weights(groups: Partition, examples: _inputs.Examples) -> xp.Tensor:
    """Returns the weight of each group, [num_groups]."""
    if examples.weights is not None:
        return _group_sums(groups, examples.weights)
    ones = xp.ones_like(groups.index)
    counts = xp.math.unsorted_segment_sum(ones, groups.index, groups.number)
    return xp.cast(counts, examples.dtype)


def _group_means(
    groups: Partition, scores: xp.Tensor, weights: xp.Tensor | None, total: xp.Tensor
) -> xp.Tensor:
    """Returns the weighted mean of scores [N] of each group, 0 where the group is
    empty; `total` [num_groups] holds the sums of the weights.
    """
    if weights is None:
        weights = xp.ones_like(scores)

    @_execution.custom_gradient
    def exact(scores, weights):
        sums = _group_sums(groups, xp.math.multiply_no_nan(scores, weights))
        means = xp.math.divide_no_nan(sums, total)

        def gradient(upstream):
            share = xp.math.divide_no_nan(upstream, total)
            share = xp.gather(share, groups.index)
            return share * weights, share * (scores - xp.gather(means, groups.index))

        return means, gradient

    return exact(scores, weights)


def reduced(
    examples: _inputs.Examples,
    scores: xp.Tensor,
    right: xp.Tensor,
    aggregate: bool,
    largest: bool = True,
) -> tuple[xp.Tensor | GroupValues | ImageMean, xp.Tensor]:
    """Returns the mean of scores, or all of them, and whether to trust them.

    Args:
      examples: with weights, and perhaps with groups.
      scores: [N].
      right: boolean [N], whether each forecast was right.
      aggregate: whether to return the weighted mean, of each group if there are groups,
        instead of the weighted scores in the shape of the labels.
      largest: whether the group with the largest mean is the worst.
    """
    if examples.groups is not None:
        _checks.check_aggregate(aggregate)
    weights = examples.weights
    valid = examples.valid & _validity.counted_are_right(right, weights)
    scores = xp.where(right, scores, xp.zeros_like(scores))
    if aggregate:
        valid = valid & (xp.size(scores) > 0)
        if weights is not None:
            valid = valid & xp.reduce_any(weights > 0)
        if examples.groups is not None:
            total = group_weights(examples.groups, examples)
            means = _group_means(examples.groups, scores, weights, total)
            means = xp.where(total > 0, means, xp.constant(np.nan, means.dtype))
            return of_groups(means, total, examples.groups, largest), valid
        return _sums.mean(scores, weights), valid
    if weights is not None:
        scores = xp.math.multiply_no_nan(scores, weights)
    return xp.reshape(scores, examples.shape), valid


def _expected(values: xp.Tensor, labels: xp.Tensor) -> xp.Tensor:
    """Returns the value [N] of [N, K] at labels [N], or its mean under labels [N, K],
    distributions over the classes.
    """
    if len(labels.shape) == 1:
        return _inputs.take(values, labels)
    return xp.reduce_sum(xp.math.multiply_no_nan(values, labels), axis=-1)


# `_squares` adds up a row of `_WIDE` numbers or more in `_PARTS` parts.
_PARTS = 8
_WIDE = 64


@_execution.custom_gradient
def _squares(
    values: xp.Tensor,
) -> tuple[xp.Tensor, Callable[[xp.Tensor], xp.Tensor]]:
    """Returns the sums of the squares of [N, K] over K."""
    classes = values.shape[1]
    if IS_JAX or classes < _WIDE:
        total = xp.reduce_sum(values * values, axis=-1)
    elif _execution.is_eager():  # No squares in memory; XLA has no such operation.
        total = xp.square(xp.math.reduce_euclidean_norm(values, axis=-1))
    else:
        # A part at a time takes less memory, and access to memory takes as long as the
        # arithmetic. TensorFlow's XLA on CPU makes vector code for parts, but not for
        # whole rows; JAX's makes it for these.
        width = classes // _PARTS
        starts = range(0, _PARTS * width, width)
        parts = [values[:, start : start + width] for start in starts]
        rest = values[:, _PARTS * width :]
        total = xp.reduce_sum(xp.add_n([part * part for part in parts]), axis=-1)
        total = total + xp.reduce_sum(rest * rest, axis=-1)
    return total, lambda upstream: 2 * upstream[:, None] * values


def brier_scores(
    examples: _inputs.Examples, zero_based: bool, targets: xp.Tensor | None = None
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the Brier score of each example [N] and whether its forecast was right.

    `targets` [N, K] are distributions over the classes instead of labels.
    """
    p = xp.cast(examples.probabilities, examples.dtype)
    labels = examples.labels if targets is None else targets
    if zero_based:  # Differences, which do not round as numbers near 1 do.
        if targets is None:
            targets = xp.one_hot(labels, examples.num_classes, dtype=p.dtype)
        scores = _squares(p - targets)
        scores = scores + (1 - xp.reduce_sum(targets * targets, axis=-1))
    else:
        scores = _squares(p) - 2 * _expected(p, labels)
    if examples.from_logits:
        return scores, ~xp.math.is_nan(scores)
    return scores, _ranges.rows_in_range(examples.predictions, scores)


def _cross_entropy(labels: xp.Tensor, logits: xp.Tensor) -> xp.Tensor:
    """Returns the cross-entropy by parts, as `_squares`: TensorFlow's XLA makes code of
    it that takes a third of the time of the operation.
    """
    top = xp.stop_gradient(xp.reduce_max(logits, axis=-1))
    width = logits.shape[1] // _PARTS
    starts = range(0, _PARTS * width, width or 1)
    parts = [
        xp.exp(logits[:, start : start + width] - top[:, None]) for start in starts
    ]
    rest = xp.exp(logits[:, _PARTS * width :] - top[:, None])
    total = xp.reduce_sum(rest, axis=-1)
    if parts:
        total = total + xp.reduce_sum(xp.add_n(parts), axis=-1)
    return xp.math.log(total) - (_inputs.take(logits, labels) - top)


def likelihood_scores(
    examples: _inputs.Examples, targets: xp.Tensor | None = None
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the negative log-likelihood of each example [N] and whether its forecast
    was right; `targets` [N, K] as in `brier_scores`.
    """
    predictions = xp.cast(examples.predictions, examples.dtype)
    labels = examples.labels if targets is None else targets
    if not examples.from_logits:
        if targets is None:  # Other classes may have probability 0.
            scores = -xp.math.log(_inputs.take(predictions, labels))
        else:
            scores = -_expected(xp.math.log(predictions), labels)
        # A probability that rounding put above 1 would have a score below 0.
        return xp.maximum(scores, 0), _ranges.rows_in_range(examples.predictions)
    if targets is None:
        cross_entropy = xp.nn.sparse_softmax_cross_entropy_with_logits
        if _execution.is_worth_compiling(predictions):
            # TensorFlow's operation also computes the gradient, as large as the logits.
            cross_entropy = _execution.with_xla(
                _cross_entropy if IS_TENSORFLOW else cross_entropy
            )
        scores = cross_entropy(labels, predictions)
    else:
        scores = -_expected(xp.nn.log_softmax(predictions), labels)
    return scores, ~xp.math.is_nan(scores)


def ranked_scores(
    examples: _inputs.Examples, targets: xp.Tensor | None = None
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the ranked probability score of each example [N] and whether its forecast
    was right; `targets` [N, K] as in `brier_scores`.
    """
    p = xp.cast(examples.probabilities, examples.dtype)
    below = xp.cumsum(p, axis=1)
    if examples.from_logits:  # Sums, which do not round as numbers near 1 do.
        above = xp.cumsum(p, axis=1, exclusive=True, reverse=True)
    else:
        above = 1 - below
    if targets is None:
        happened = examples.labels[:, None] <= xp.range(examples.num_classes)
        errors = xp.where(happened, above, below)
        scores = xp.reduce_sum(errors * errors, axis=-1)
    else:  # The mean of the squares under the target.
        happened = xp.cumsum(targets, axis=1)
        squares = happened * above * above + (1 - happened) * below * below
        scores = xp.reduce_sum(squares, axis=-1)
    total = scores + below[:, -1]  # NaN where any probability of the row is.
    if examples.from_logits:
        return scores, ~xp.math.is_nan(total)
    return scores, _ranges.rows_in_range(examples.predictions, total)


# The square of a larger number is no int32.
_MOST_CLASSES = 46340
# With fewer classes there is a row for each decision, whether it occurs or not.
_MANY_CLASSES = 64


def _occurring(
    decisions: xp.Tensor, classes: int, n: int | xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns n different classes, the classes of decisions [N] before others, and the
    place of each decision among them.
    """
    counts = xp.math.unsorted_segment_sum(xp.ones_like(decisions), decisions, classes)
    before = xp.cumsum(xp.minimum(counts, 1), exclusive=True)
    labels = xp.range(classes)
    rest = xp.reduce_sum(xp.minimum(counts, 1)) + labels - before
    places = xp.where(counts > 0, before, rest)
    ordered = xp.scatter_nd(places[:, None], labels, [classes])
    return ordered[:n], xp.gather(places, decisions)


def _squares_and_strays(
    n: int | xp.Tensor, p: xp.Tensor, weighted: xp.Tensor, decisions: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the sums of the squares of p [N, K] over K, and the sums of the weighted
    p of each of n decisions [n, K].
    """
    # In the sum of the parts the sums off the diagonal cancel: float32 is exact enough.
    return _squares(p), xp.math.unsorted_segment_sum(weighted, decisions, n)


def decomposition_sums(
    examples: _inputs.Examples, occurring: bool = False
) -> tuple[_sums.Sums, xp.Tensor, xp.Tensor]:
    """Returns the sums from which the parts of the Brier score follow.

    A row holds sums over the examples whose decision is the class k: the outcomes
    (columns 0 to K - 1), p - e_k (K columns), |p - e_k|^2, and p - e_k at the label.
    The forecasts are close to the vertex e_k, 1 at k and 0 elsewhere; subtracting it
    makes the numbers small, so that less is rounded.

    Args:
      examples: the examples to add up.
      occurring: whether the caller needs no row of a class that is no decision here.
        There may be more classes than `_MOST_CLASSES` then, with fewer examples.

    Returns:
      the sums of weights, [decisions, 2K + 2]; whether all examples were right, a
      boolean scalar; and the vertex of the decision of each row, boolean
      [decisions, K].
    """
    classes, dtype = examples.num_classes, examples.dtype
    labels, weights = examples.labels, examples.weights
    decisions, scores, right = _decisions.decisions(examples.probabilities)
    valid = examples.valid & _validity.counted_are_right(right, weights)
    p = xp.cast(examples.probabilities, dtype)
    scores = xp.cast(scores, dtype)
    if examples.shares is None:
        at_label = _inputs.take(p, labels) - xp.cast(decisions == labels, dtype)
    else:
        shares = xp.cast(examples.shares, dtype)
        at_label = xp.reduce_sum(p * shares, axis=1) - _inputs.take(shares, decisions)
    places, n = xp.range(classes), decisions.shape[0]
    if classes > _MOST_CLASSES and not (occurring and (n or classes) < classes):
        expected = f"at most {_MOST_CLASSES}, for sums of all their pairs"
        raise _checks.error("num_classes", expected, classes)
    if classes < _MANY_CLASSES or n == 0 or (n or 0) >= classes:
        n = classes
    else:
        n = n or xp.minimum(xp.size(decisions), classes)
        places, decisions = _occurring(decisions, classes, n)
    vertices = places[:, None] == xp.range(classes)
    weighted = p
    if weights is not None:
        counted = (right & (weights > 0))[:, None]
        weighted = xp.where(counted, p * weights[:, None], xp.zeros_like(p))
    add_up = _execution.with_xla_if_large(p, _squares_and_strays, n)
    squares, strays = add_up(p, weighted, decisions)
    columns = xp.stack(
        [
            xp.ones_like(scores),
            scores - 1,
            squares - 2 * scores + 1,
            at_label,
        ],
        axis=1,
    )
    if weights is not None:
        columns = xp.where(counted, columns * weights[:, None], xp.zeros_like(columns))
    if examples.shares is None:
        cells = decisions * classes + labels
        outcomes = _sums.segment_pair(columns[:, :1], cells, n * classes)
    else:
        pair = _sums.segment_pair(columns[:, :1] * shares, decisions, n)
        outcomes = tuple(xp.transpose(part) for part in pair)
    moments = _sums.segment_pair(columns[:, 1:], decisions, n)
    hi, lo = (
        xp.concat(
            [
                xp.reshape(outcome, [-1, classes]),
                xp.where(vertices, moment[0][:, None], stray),
                xp.transpose(moment[1:]),
            ],
            axis=1,
        )
        for outcome, stray, moment in zip(
            outcomes, (strays, xp.zeros_like(strays)), moments, strict=True
        )
    )
    return _sums.Sums(None, hi, lo, places), valid, vertices


def decomposition_parts(
    totals: xp.Tensor, vertices: xp.Tensor
) -> tuple[BrierParts, ExactBrierParts]:
    """Returns the parts of the Brier score, given `decomposition_sums` as numbers, and
    the vertices.
    """
    classes = vertices.shape[1]
    counts, strays = totals[:, :classes], totals[:, classes : 2 * classes]
    masses = xp.reduce_sum(counts, axis=1, keepdims=True)
    total = xp.reduce_sum(masses)

    def share(values):
        return xp.math.divide_no_nan(values, total)

    dbar = xp.math.divide_no_nan(counts, masses)
    fbar = xp.math.divide_no_nan(strays, masses)  # Less the vertex.
    gaps = fbar - (dbar - xp.cast(vertices, totals.dtype))
    gaps = xp.where(masses > 0, gaps, xp.zeros_like(gaps))
    pbar = share(xp.reduce_sum(counts, axis=0))

    def mean(columns):
        of_decision = xp.reduce_sum(columns, axis=1, keepdims=True)
        return xp.reduce_sum(share(masses) * of_decision)

    uncertainty = -xp.reduce_sum(pbar * pbar)
    resolution = mean(xp.math.squared_difference(dbar, pbar))
    reliability = mean(gaps * gaps)
    variance = share(xp.reduce_sum(totals[:, -2])) - mean(fbar * fbar)
    variance = xp.maximum(variance, 0)
    covariance = 2 * (share(xp.reduce_sum(totals[:, -1])) - mean(fbar * dbar))
    return (
        BrierParts(uncertainty, resolution, reliability + variance),
        ExactBrierParts(uncertainty, resolution, reliability, variance, covariance),
    )
