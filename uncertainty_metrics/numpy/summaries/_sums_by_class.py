"""Sums over the examples of each class, from which the means of scores are read."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.scoring.scoring_rules import (
    brier_score,
    negative_log_likelihood,
)
from uncertainty_metrics.numpy.summaries import _private_cells

# The sums over the examples of a class, w the weight of an example: numbers, then
# products of w with whether the decision was right, the confidence, the Brier score b
# and the negative log-likelihood l, which is left out where it is infinite.
OF_LABELS = ("examples", "w", "ww")
SUMS = (
    *OF_LABELS,
    *("impossible", "right", "confidence"),
    *("w_gap", "ww_gap", "ww_gap_gap"),
    *("w_b", "ww_b", "ww_b_b", "w_l", "ww_l", "ww_l_l"),
)

# Those whose sums by class are needed; of the others, those over all examples are.
_OF_CLASSES = (*OF_LABELS, "ww_b")


def named(sums: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the rows of sums, float64 [sums, classes], by their names."""
    return dict(zip(SUMS, sums, strict=True))


def for_files(sums: np.ndarray) -> np.ndarray:
    """Returns sums as files have them, float64 [sums, classes].

    Only the Brier scores are kept by class, and classes of fewer than five examples
    are joined there, from the rarest on: each has its share of what they have together.
    Of the other scores each class has its share, by weight, of the sum.
    """
    sums = sums.copy()
    rows = named(sums)
    w, ww, of_b = rows["w"], rows["ww"], rows["ww_b"]
    for name, row in rows.items():
        if name not in _OF_CLASSES:
            row[:] = row.sum() * (w / w.sum())
    are_enough = _private_cells.are_enough(w, ww)
    order = np.lexsort((w, are_enough))
    order = order[w[order] > 0]
    few = int(np.count_nonzero(~are_enough[order]))
    if few:
        up_to = np.cumsum([w[order], ww[order]], axis=1)
        enough = _private_cells.are_enough(*up_to) & (np.arange(len(order)) >= few - 1)
        joined = order[: np.argmax(enough) + 1] if enough.any() else order
        of_b[joined] = of_b[joined].sum() * (ww[joined] / ww[joined].sum())
    return sums


def sums_of(
    examples: _examples.Examples,
    right: np.ndarray,
    confidences: np.ndarray,
    of_answers: bool,
) -> np.ndarray:
    """Returns the sums of a batch, float64 [sums, classes]."""
    given: Any = examples.weighted(None)
    b = np.asarray(brier_score(given, zero_based=True, aggregate=False), np.float64)
    if of_answers:
        b = b / 2  # The share of one of the two classes.
    nll = np.asarray(negative_log_likelihood(given, aggregate=False), np.float64)
    impossible = np.flatnonzero(np.isinf(nll))
    nll[impossible] = 0.0
    sure = confidences.astype(np.float64)
    gap = right - sure
    labels, size, weights = examples.labels, examples.num_classes, examples.weights
    total = _TotalsByClass(labels, size)
    impossibles = np.bincount(labels[impossible], None, size)
    if weights is None:  # Then w and w^2 are 1.
        # A count is faster than a sum of booleans: of wrong decisions, then of right.
        by_outcome = np.bincount(labels + size * right, minlength=2 * size)
        by_outcome = by_outcome.reshape(2, size)
        counts = by_outcome.sum(axis=0)
        found = [total(each) for each in (gap, b, nll)]
        squares = [total(each * each) for each in (gap, b, nll)]
        pairs = zip(found, found, squares, strict=True)
        rows = [counts, counts, counts, impossibles, by_outcome[1], total(sure)]
        sums = np.stack([*rows, *itertools.chain(*pairs)]).astype(np.float64)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # Refused below.
            w, ww = weights, weights * weights
            counts = np.bincount(labels, minlength=size)
            rows = [counts, total(w), total(ww), impossibles]
            rows += [total(w * right), total(w * sure)]
            for each in (gap, b, nll):
                rows += [total(w * each), total(ww * each), total(ww * each * each)]
        sums = np.stack(rows)
    if not np.all(np.isfinite(sums)):
        raise _checks.error(
            "sample_weight", "small enough to be squared", "an infinite sum"
        )
    return sums


class _TotalsByClass:
    """Sums of the values of the examples of each class.

    An addition to a sum waits for the addition before it. So that few classes do not
    slow the additions down, every eighth example adds to the same sum.

    Args:
      labels: the class of each example, integers [N].
      size: number of classes.
    """

    def __init__(self, labels: np.ndarray, size: int):
        self._size, self._parts = size, 8 if size <= 100 else 1
        self._places = labels + size * (np.arange(len(labels)) & (self._parts - 1))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        sums = np.bincount(self._places, values, self._parts * self._size)
        return sums.reshape(self._parts, self._size).sum(axis=0)
