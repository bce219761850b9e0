"""The sums of a summary of two classes without weights, in one pass over the examples.

The decisions for each class are put into the fine cells of the sketch of the decisions;
the cells of `classes` are made of whole ones. So each example has two cells: of the
probability of the decided class, and of that of the other one.
"""

from __future__ import annotations

import functools

import numpy as np

from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy.sketch import _cell_sums, _grid
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries import _sketches, _sums_by_class
from uncertainty_metrics.numpy.summaries._sketches import Sketches

# The number of examples at a time, so that temporary arrays stay in the cache.
_BLOCK = 2**16
# Arguments of the grid of the decisions, and of that of the classes.
_FINE, _WIDE = _grid.default_bits(1), _grid.default_bits(2)


def are_simple(examples: _examples.Examples) -> bool:
    """Says if examples of two classes have no weights, clusters or shares of votes."""
    others = examples.weights, examples.shares, examples.clusters
    is_given = examples.name != "logits" and examples.num_classes == 2
    return is_given and all(each is None for each in others)


def sums_and_sketches(examples: _examples.Examples) -> tuple[np.ndarray, Sketches]:
    """Returns the sums by class, float64 [sums, classes], and the sketches of simple
    examples, of at least one.

    Raises:
      ValueError: a probability is not in [0, 1].
    """
    predictions = examples.checked().probabilities
    sums = np.zeros((len(_sums_by_class.SUMS), 2))
    decided, others = _Scores(_FINE), _Scores(_WIDE)
    for label in range(2):
        rows = np.flatnonzero(examples.labels == label)
        for start in range(0, len(rows), _BLOCK):
            block = predictions.take(rows[start : start + _BLOCK], axis=0)
            both = np.ascontiguousarray(block.T)
            p, other = both[label], both[1 - label]
            right = p > other if label else p >= other  # Ties are class 0.
            top, low = np.maximum(p, other), np.minimum(p, other)
            decided.add(top, right, label)
            others.add(low, ~right, label)
            sums[:, label] += _sums_of(p, other, right, top)
    count = len(predictions)
    empty = ScoreSketch(positive_class=False)
    of_class = _cell_sums.of_rows(decided.rows(), count)
    size = _grid.num_cells(*_FINE)
    of_all = of_class.moved(of_class.places % size, size)
    wide = _wide_cells()
    tops = of_class.moved(wide[of_class.places], 1 + int(wide[-1]))
    classes = tops + _cell_sums.of_rows(others.rows(), count)
    of_classes = _sketches.empty_of_classes()
    return sums, Sketches(
        ScoreSketch._with_content(empty.config, 2, of_all),
        tops,
        ScoreSketch._with_content(of_classes.config, 2, classes),
    )


class _Scores:
    """Sums over scores of two classes in the cells of a grid for each class.

    Args:
      bits: arguments of the grid.
    """

    def __init__(self, bits: tuple[int, ...]):
        self._bits, self._size = bits, _grid.num_cells(*bits)
        # By class and outcome.
        self._counts = np.zeros((2, 2, self._size), np.int64)
        self._scores = Total(ExactSums.zeros(2 * self._size))

    def add(self, scores: np.ndarray, outcomes: np.ndarray, label: int) -> None:
        """Adds scores of examples with one label. Each is that of the label if the
        outcome is true, or else that of the other class.
        """
        cells = _grid.index(scores.astype(np.float32), *self._bits).astype(np.int64)
        # The outcome of class 0 is false where the label is 1, and so on.
        both = np.bincount(cells + self._size * outcomes, minlength=2 * self._size)
        of_other, of_label = both.reshape(2, -1)
        self._counts[label, 1] += of_label
        self._counts[1 - label, 0] += of_other
        cells += self._size * (outcomes == label)
        self._scores.add_fractions(_cell_sums.rounded(scores), cells)

    def rows(self) -> list[ExactSums]:
        """Returns the numbers of scores, the sums of the scores and of the outcomes."""
        numbers, outcomes = (Total(ExactSums.zeros(2 * self._size)) for _ in range(2))
        numbers.add_counts(self._counts.sum(axis=1).reshape(-1))
        outcomes.add_counts(self._counts[:, 1].reshape(-1))
        return [numbers.sums(), self._scores.sums(), outcomes.sums()]


def _sums_of(
    p: np.ndarray, other: np.ndarray, right: np.ndarray, top: np.ndarray
) -> np.ndarray:
    """Returns the sums of `_sums_by_class.SUMS` over examples with one label.

    Args:
      p: probability of the label.
      other: probability of the other class.
      right: whether the label is decided.
      top: probability of the decided class.
    """
    p, other, top = (each.astype(np.float64, copy=False) for each in (p, other, top))
    error = 1 - p
    gap, b = right - top, error * error + other * other
    with np.errstate(divide="ignore"):
        nll = -np.log(p)
    impossible = np.flatnonzero(p == 0)
    nll[impossible] = 0.0
    pairs = [(each.sum(), (each * each).sum()) for each in (gap, b, nll)]
    return np.array(
        [
            *(len(p), len(p), len(p), len(impossible)),
            *(np.count_nonzero(right), top.sum()),
            *(total for mean, square in pairs for total in (mean, mean, square)),
        ]
    )


@functools.cache
def _wide_cells() -> np.ndarray:
    """Returns the cell of the sketch of both classes for each fine cell of either."""
    cells = _grid.index(_grid.upper_edges(*_FINE), *_WIDE)
    return np.concatenate([cells, cells + _grid.num_cells(*_WIDE)])
