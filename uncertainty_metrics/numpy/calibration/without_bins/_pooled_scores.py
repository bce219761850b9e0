"""Cells: the pooled scores of a group, from which errors without bins are computed.

Exact functions have a cell for every distinct score, and a sketch has a cell for every
cell of its grid that holds a score. So the same arithmetic serves both.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import PRESETS, CalibrationSpec
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._clusters import (
    Clusters,
    cluster_sums,
    one_example_each,
)
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores

_CLASS_1 = dataclasses.replace(
    PRESETS["expected_calibration_error"], positive_class=True
)


@dataclasses.dataclass(frozen=True)
class Cells:
    """The non-empty cells of a group, in ascending order of their scores.

    Attributes:
      weights: total weight of each cell, > 0, float64 [J]; J is 0 for an empty group.
      score_sums: weighted sum of the scores, float64 [J].
      outcome_sums: weighted sum of the outcomes y, float64 [J].
      own_scores: the score of each cell, float64 [J]; None if the scores of a cell may
        differ.
      places: index of each cell in the grid of a sketch, integers [J], or None.
      spread_sums: weighted sum of y (1 - y), float64 [J]; None if all outcomes are 0
        and 1, or if nobody asks for it.
    """

    weights: np.ndarray
    score_sums: np.ndarray
    outcome_sums: np.ndarray
    own_scores: np.ndarray | None = None
    places: np.ndarray | None = None
    spread_sums: np.ndarray | None = None

    @property
    def scores(self) -> np.ndarray:
        """Mean score of each cell, in [0, 1]."""
        if self.own_scores is not None:
            return self.own_scores
        return np.clip(self.score_sums / self.weights, 0.0, 1.0)

    @property
    def residuals(self) -> np.ndarray:
        """Weighted sum of (outcome - score) of each cell over the total weight."""
        return (self.outcome_sums - self.score_sums) / self.weights.sum()


def pooled(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
) -> Cells:
    """Returns a cell for every distinct score.

    Args:
      scores: floating [N], in [0, 1].
      outcomes: boolean [N].
      weights: float64 [N], > 0; None for ones.
    """
    if len(scores) == 0:
        return Cells(*np.zeros((3, 0)))
    if scores.dtype.itemsize < 4:
        scores = scores.astype(np.float32)
    scores, outcomes, weights = _binning.sorted_scores(scores, outcomes, weights)
    first = np.flatnonzero(np.diff(scores, prepend=np.float32(-1.0)))
    if weights is None:
        masses = np.diff(first, append=len(scores)).astype(np.float64)
        hits = np.add.reduceat(outcomes, first, dtype=np.float64)
    else:
        masses = np.add.reduceat(weights, first)
        hits = np.add.reduceat(weights * outcomes, first)
    own_scores = scores[first].astype(np.float64)
    return Cells(masses, masses * own_scores, hits, own_scores)


def mapped(cells: Cells, scores: np.ndarray) -> Cells:
    """Returns the cells with other scores, which must not decrease, [J]."""
    return Cells(
        cells.weights, cells.weights * scores, cells.outcome_sums, own_scores=scores
    )


def of_examples(examples: _examples.Examples, spec: CalibrationSpec) -> list[Cells]:
    """Returns the cells of each group of scores that `spec` describes."""
    return [pooled(*group) for group in _scores.scores_of_groups(examples, spec)]


def examples_of_class_1(data: ClassifierData) -> _examples.Examples:
    """Returns the examples of one event.

    Raises:
      ValueError: an argument is not as described, or there are not two classes.
    """
    examples = _examples.examples_of(data)
    if examples.num_classes != 2:
        expected = "forecasts of one event, of shape [...], [..., 1] or [..., 2]"
        received = f"{examples.num_classes} classes"
        raise _checks.error(examples.name, expected, received)
    return examples


def of_class_1(data: ClassifierData) -> tuple[Cells, np.dtype]:
    """Returns the examples pooled by P(class 1), and the dtype of the forecasts; raises
    the errors of `examples_of_class_1`.
    """
    examples = examples_of_class_1(data)
    return cells_of_class_1(examples), examples.probabilities.dtype


def cells_of_class_1(examples: _examples.Examples) -> Cells:
    """Returns the examples of one event pooled by P(class 1)."""
    (cells,) = of_examples(examples, _CLASS_1)
    return cells


class Rows(NamedTuple):
    """The scores of examples in clusters, in the order of the examples.

    Attributes:
      scores: float64 [N], in [0, 1].
      outcomes: float64 [N].
      weights: float64 [N], > 0.
      clusters: the cluster of each example.
    """

    scores: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray
    clusters: Clusters

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Returns the weighted sums of values [N] over the clusters, [C]."""
        return cluster_sums(self.weights * values, *self.clusters)


def in_clusters(
    examples: _examples.Examples, clusters: Clusters, spec: CalibrationSpec = _CLASS_1
) -> tuple[Cells, Rows | None]:
    """Returns cells and rows. The rows are None if every cluster holds one example, or
    equally many copies of one; the cells are then those of the independent examples,
    one of each cluster.

    Args:
      examples: examples with one score each.
      clusters: the cluster of each example.
      spec: which score that is.
    """
    ((scores, outcomes, weights),) = _scores.scores_of_groups(examples, spec)
    first = one_example_each(clusters, weights, scores, outcomes)
    if first is not None:
        return pooled(scores[first], outcomes[first], None), None
    cells = pooled(scores, outcomes, weights)
    weights = np.ones(len(scores)) if weights is None else weights
    scores, outcomes = scores.astype(np.float64), outcomes.astype(np.float64)
    return cells, Rows(scores, outcomes, weights, clusters)
