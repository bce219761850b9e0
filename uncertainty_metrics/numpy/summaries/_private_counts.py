"""Differentially private summaries: noisy counts, and all else computed from them.

Scores are counted in bins of a width of 0.01, by outcome. An example is in one count of
answers, and in one of two classes, by P(class 1) and label. With K > 2 classes it is in
K + 1: one by confidence and whether the decision was right, and for each class one by
the probability and whether it is the label. So one example more changes the counts by
1, or by K + 1, in total, and discrete Laplace noise with the scale 1 / epsilon, or
(K + 1) / epsilon, makes all counts together epsilon-differentially private (Ghosh,
Roughgarden and Sundararajan 2009). What is computed from private counts is private.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.numpy.sketch._cell_sums import SketchSums
from uncertainty_metrics.numpy.summaries import (
    _discrete_laplace,
    _private_cells,
    _sums_by_class,
)
from uncertainty_metrics.numpy.summaries._private_cells import Blocks

_BINS = 100
_MIDDLES = (np.arange(_BINS) + 0.5) / _BINS
# Bins are joined to blocks of this many times the scale of the noise.
_LEAST_SCALES = 20


class Noised(NamedTuple):
    """The contents of the file of a summary."""

    sums: np.ndarray
    decided: Blocks
    others: Blocks | None


def checked_epsilon(value: Any) -> float:
    """Returns epsilon; raises ValueError unless it is a finite number > 0."""
    if isinstance(value, bool) or not 0 < _checks.number(value) < math.inf:
        raise _checks.error("private", "a finite number > 0", repr(value))
    return float(value)


def of_answers(sums: SketchSums, epsilon: float) -> Noised | None:
    """Returns private sums of answers without weights; None if they are too few."""
    bins = _bins_of_cells(_grid.default_bits(1))
    scale = 1 / Fraction(epsilon)
    wrong, right = _outcomes(sums, 1, len(bins))[:, 0]
    counts = _counts(bins, wrong, right, scale)
    starts = _starts(counts.sum(axis=0), scale)
    if starts is None:
        return None
    decided = _blocks(0, counts, starts, _MIDDLES)
    weights, of_true = decided.sums[0], decided.sums[2]
    labels = np.array([weights.sum() - of_true.sum(), of_true.sum()])
    squares = np.array(_of_outcomes(decided, lambda error: error**2))
    return Noised(
        _sums(
            *(decided, labels, squares),
            sum(_of_outcomes(decided, lambda error: error**4)),
            sum(_of_outcomes(decided, lambda error: -np.log1p(-error))),
            sum(_of_outcomes(decided, lambda error: np.log1p(-error) ** 2)),
        ),
        decided,
        None,
    )


def of_classes(
    tops: SketchSums,
    classes: SketchSums,
    size: int,
    bits: tuple[int, ...],
    epsilon: float,
) -> Noised | None:
    """Returns private sums of a classifier without weights; None if examples are too
    few.

    Args:
      tops: the scores of the decided classes; K groups, and an empty one.
      classes: the probabilities of all classes, K groups.
      size: the number of classes K.
      bits: arguments of their grid.
      epsilon: of the guarantee.
    """
    bins = _bins_of_cells(bits)
    wrong, right = _outcomes(tops, size + 1, len(bins))[:, :size]
    if size == 2:
        return _of_two_classes(bins, wrong, right, epsilon)
    scale = (size + 1) / Fraction(epsilon)
    counts = _counts(bins, wrong.sum(axis=0), right.sum(axis=0), scale)
    starts = _starts(counts.sum(axis=0), scale)
    if starts is None:
        return None
    decided = _blocks(size, counts, starts, _MIDDLES)
    parts = []
    of_others = zip(*_outcomes(classes, size, len(bins)), strict=True)
    for k, (false, true) in enumerate(of_others):
        counts = _counts(bins, false, true, scale)
        starts = _starts(counts.sum(axis=0), scale)
        if starts is None:
            return None
        parts.append(_blocks(k, counts, starts, _MIDDLES))
    # Each set of counts has its own noisy total; their mean has the least noise.
    totals = [block.sums[0].sum() for block in (decided, *parts)]
    total = np.rint(np.mean(totals))
    decided, *parts = (
        block._replace(sums=block.sums * (total / each))
        for block, each in zip((decided, *parts), totals, strict=True)
    )
    others = _private_cells.together(parts)
    labels = np.bincount(others.groups, others.sums[2], size)
    if not labels.sum() > 0:
        return None
    unit = total / labels.sum()
    brier = min(sum(_of_outcomes(others, lambda error: error**2)), 2 * total)
    likelihoods = [
        unit * _of_outcomes(others, function)[1]
        for function in (
            lambda error: -np.log1p(-error),
            lambda error: np.log1p(-error) ** 2,
        )
    ]
    # A score is at most 2, so this is an upper bound for the sum of squares.
    shares = labels / labels.sum()
    sums = _sums(decided, unit * labels, brier * shares, 2 * brier, *likelihoods)
    return Noised(sums, decided, others)


def _of_two_classes(
    bins: np.ndarray, wrong: np.ndarray, right: np.ndarray, epsilon: float
) -> Noised | None:
    """Returns private sums of two classes, from counts of wrong and of right decisions
    for each class, [2, cells].
    """
    scale = 1 / Fraction(epsilon)
    places = np.concatenate([_BINS - 1 - bins, bins])  # The bins of P(class 1).
    zeros, ones = (
        np.concatenate(pair) for pair in ((right[0], wrong[1]), (wrong[0], right[1]))
    )
    counts = _counts(places, zeros, ones, scale)
    starts = _starts(counts.sum(axis=0), scale)
    if starts is None:
        return None
    is_1 = _MIDDLES > 0.5
    of_decisions = np.where(is_1, counts, counts[::-1])
    confidences = np.where(is_1, _MIDDLES, 1 - _MIDDLES)
    decided = _blocks(2, of_decisions, starts, confidences)
    first = _blocks(1, counts, starts, _MIDDLES)
    ends = np.append(starts[1:], _BINS)
    mirrored = (_BINS - ends)[::-1]
    second = _blocks(0, counts[::-1, ::-1], mirrored, _MIDDLES)
    others = _private_cells.together([second, first])
    of_0, of_1 = (2 * each for each in _of_outcomes(first, lambda error: error**2))
    total, events = first.sums[0].sum(), first.sums[2].sum()
    sums = _sums(
        *(decided, np.array([total - events, events]), np.array([of_0, of_1])),
        4 * sum(_of_outcomes(first, lambda error: error**4)),
        sum(_of_outcomes(first, lambda error: -np.log1p(-error))),
        sum(_of_outcomes(first, lambda error: np.log1p(-error) ** 2)),
    )
    return Noised(sums, decided, others)


def _outcomes(sums: SketchSums, num_groups: int, num_cells: int) -> np.ndarray:
    """Returns the numbers of false and of true outcomes of all cells of all groups, [2,
    groups, cells].
    """
    weights, true = sums.weights.values, sums.outcome_sums.values
    numbers = np.zeros((2, num_groups * num_cells))
    numbers[:, sums.places] = weights - true, true
    return numbers.reshape(2, num_groups, num_cells)


def _bins_of_cells(bits: tuple[int, ...]) -> np.ndarray:
    """Returns the bin of each cell of a grid, which does not depend on the examples."""
    middles = np.mean(_grid.limits(*bits), axis=0)
    return np.minimum((middles * _BINS).astype(np.int64), _BINS - 1)


def _counts(
    bins: np.ndarray, false: np.ndarray, true: np.ndarray, scale: Fraction
) -> np.ndarray:
    """Returns noisy counts of false and of true outcomes, [2, bins]."""
    counts = np.stack([np.bincount(bins, each, _BINS) for each in (false, true)])
    return counts + _discrete_laplace.noise(scale, counts.shape)


def _starts(totals: np.ndarray, scale: Fraction) -> np.ndarray | None:
    """Returns where blocks of bins start whose counts are far above the noise; None if
    all bins together are not.
    """
    least = max(float(_LEAST_SCALES * scale), _private_cells.LEAST)
    starts, held = [0], 0.0
    for i, total in enumerate(totals.tolist()):
        held += total
        if held >= least:
            starts.append(i + 1)
            held = 0.0
    if starts[-1] == len(totals):
        starts.pop()
    while starts and totals[starts[-1] :].sum() < least:
        starts.pop()
    return np.array(starts) if starts else None


def _blocks(
    group: int, counts: np.ndarray, starts: np.ndarray, scores: np.ndarray
) -> Blocks:
    """Returns the blocks of noisy counts [2, bins] of bins with these scores."""
    totals = counts.sum(axis=0)
    weights, sums, true = (
        np.add.reduceat(row, starts) for row in (totals, totals * scores, counts[1])
    )
    # Counts below 0 may lead out of the bins.
    lowest, highest = (x.reduceat(scores, starts) for x in (np.minimum, np.maximum))
    sums = np.clip(sums, lowest * weights, highest * weights)
    true = np.clip(true, 0, weights)
    # As wide as the widest cell of a grid that may be in a bin by its middle.
    least = np.maximum(lowest - 1 / 8, 0.0)
    groups = np.full(len(starts), group)
    return Blocks(groups, np.stack([weights, sums, true, weights, true]), least)


def _of_outcomes(blocks: Blocks, function: Any) -> tuple[float, float]:
    """Returns the sums of a function of abs(outcome - score) over false and over true
    outcomes.
    """
    means = blocks.means
    weights, _, true = blocks.sums[:3]
    return (
        float((weights - true) @ function(means)),
        float(true @ function(1 - means)),
    )


def _sums(
    decided: Blocks,
    labels: np.ndarray,
    brier: np.ndarray,
    brier_squares: float,
    likelihood: float,
    likelihood_squares: float,
) -> np.ndarray:
    """Returns sums by class, float64 [sums, classes], whose totals are those given.

    Args:
      decided: blocks of the decisions.
      labels: numbers of the labels of each class.
      brier: sums of their Brier scores.
      brier_squares: sum of the squared Brier scores of all examples.
      likelihood: sum of the negative log-likelihoods of all examples.
      likelihood_squares: sum of their squares.
    """
    total = np.rint(decided.sums[0].sum())
    counts = np.rint(labels)
    counts[np.argmax(counts)] += total - counts.sum()
    shares = counts / total
    confidence, right = decided.sums[1].sum(), decided.sums[2].sum()
    gap = right - confidence
    values = {
        **dict.fromkeys(("examples", "w", "ww"), counts),
        **{"impossible": 0.0, "right": right, "confidence": confidence},
        **{"w_gap": gap, "ww_gap": gap},
        "ww_gap_gap": sum(_of_outcomes(decided, lambda error: error**2)),
        **{"w_b": brier.sum(), "ww_b": brier, "ww_b_b": brier_squares},
        **{"w_l": likelihood, "ww_l": likelihood, "ww_l_l": likelihood_squares},
    }
    rows = [np.asarray(values[name]) for name in _sums_by_class.SUMS]
    return np.stack([row if row.ndim else row * shares for row in rows])
