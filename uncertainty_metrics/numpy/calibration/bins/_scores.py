"""Scores of examples and their outcomes: what the bins of calibration errors count."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples, _inputs, _threads

# The size of a block [rows, classes] that stays in the cache.
BLOCK = 2**18
# The number of classes that are copied out of a matrix [N, K] at a time, and the number
# of rows that are copied so that they are in the cache for the next class.
CLASS_TILE, _TILE_ROWS = 16, 256


def above(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Says which scores are above the threshold, rounded to their type as edges are."""
    return scores > np.asarray(threshold, scores.dtype)


def checked(examples: _examples.Examples, spec: CalibrationSpec) -> np.ndarray:
    """Returns the probabilities [N, K], checked.

    Raises:
      ValueError: one is not in [0, 1], or `spec` needs another number of classes.
    """
    spec.check_classes(examples.num_classes)
    return _inputs.check_probabilities(
        examples.probabilities, examples.name, examples.place
    )


def scored(
    examples: _examples.Examples, spec: CalibrationSpec
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, outcomes and groups [N]; None as groups if there is only one."""
    labels = examples.labels
    if spec.scores_class_1:
        places = examples.places if spec.class_conditional else None
        scores = checked(examples, spec)[:, 1]
        return (
            scores,
            examples.came(1),
            _joint_groups(examples, places and places.index),
        )
    if examples.predicted is None:
        predicted, scores = examples.decided
    else:
        predicted = examples.predicted
        scores = checked(examples, spec)[np.arange(len(labels)), predicted]
    groups = _joint_groups(examples, predicted if spec.class_conditional else None)
    return scores, examples.came(predicted), groups


def _joint_groups(
    examples: _examples.Examples, classes: np.ndarray | None
) -> np.ndarray | None:
    """Returns the group of each score: by group of examples, then by class, if any."""
    if examples.groups is None:
        return classes
    groups = examples.groups.index
    return groups if classes is None else groups * examples.num_classes + classes


def num_groups(examples: _examples.Examples, spec: CalibrationSpec) -> int:
    """Returns the number of groups of scores that are binned separately."""
    num_of_classes = spec.num_groups(examples.num_classes)
    return num_of_classes * (1 if examples.groups is None else examples.groups.number)


def scored_rows(
    examples: _examples.Examples, spec: CalibrationSpec
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns scores, outcomes and groups [N, C], with C scores for each example."""
    if spec.has_one_score:
        scores, outcomes, groups = scored(examples, spec)
        groups = np.zeros(len(scores), np.int64) if groups is None else groups
        return scores[:, None], outcomes[:, None], groups[:, None]
    scores = checked(examples, spec)
    classes = np.arange(scores.shape[1])
    shares = examples.shares
    outcomes = classes == examples.labels[:, None] if shares is None else shares
    groups = classes if spec.class_conditional else np.zeros_like(classes)
    return scores, outcomes, np.broadcast_to(groups, scores.shape)


def scores_above(
    examples: _examples.Examples, spec: CalibrationSpec
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns score, outcome, row and class of the few scores above the threshold."""
    probabilities, threshold = checked(examples, spec), spec.threshold
    n, classes = probabilities.shape

    def places_of(block: slice) -> np.ndarray:
        places = np.flatnonzero(above(probabilities[block], threshold))
        return places + block.start * classes

    step = max(1, BLOCK // classes)
    places = np.concatenate(_threads.map_blocks(places_of, n, classes, step))
    rows, columns = np.divmod(places, classes)
    if examples.shares is None:
        outcomes = examples.labels[rows] == columns
    else:
        outcomes = examples.shares[rows, columns]
    return probabilities.reshape(-1)[places], outcomes, rows, columns


def scores_of_classes(probabilities: np.ndarray, classes: slice) -> np.ndarray:
    """Returns a contiguous copy of the columns of some classes, [classes, N]."""
    n = len(probabilities)
    scores = np.empty((classes.stop - classes.start, n), probabilities.dtype)
    for block in _threads.blocks(slice(0, n), _TILE_ROWS):
        scores[:, block] = probabilities[block, classes].T
    return scores


def scores_of_groups(
    examples: _examples.Examples, spec: CalibrationSpec
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yields the scores, outcomes and weights of each group."""
    labels, weights = examples.labels, examples.weights
    outcomes: Any

    def weights_at(rows: Any) -> np.ndarray | None:
        return None if weights is None else weights[rows]

    if spec.has_one_score:
        scores, outcomes, groups = scored(examples, spec)
        if groups is None:
            yield scores, outcomes, weights
            return
        partition = _examples.Partition(groups, num_groups(examples, spec))
        for rows in partition.rows():  # A loop, since each group has bins of its own.
            yield scores[rows], outcomes[rows], weights_at(rows)
        return
    probabilities = checked(examples, spec)
    n, classes = probabilities.shape
    if not spec.class_conditional:
        outcomes = examples.shares
        if outcomes is None:
            outcomes = np.zeros(probabilities.shape, bool)
            outcomes[np.arange(n), labels] = True
        repeated = None if weights is None else np.repeat(weights, classes)
        yield probabilities.reshape(-1), outcomes.reshape(-1), repeated
    elif spec.threshold > 0:
        scores, outcomes, rows, columns = scores_above(examples, spec)
        order = np.argsort(columns, kind="stable")
        scores, outcomes, rows = scores[order], outcomes[order], rows[order]
        ends = np.searchsorted(columns[order], np.arange(classes + 1))
        for start, end in itertools.pairwise(ends):
            yield scores[start:end], outcomes[start:end], weights_at(rows[start:end])
    else:
        for tile in _threads.blocks(slice(0, classes), CLASS_TILE):
            tile_scores = scores_of_classes(probabilities, tile)
            for k, scores in enumerate(tile_scores, tile.start):  # Each has own bins.
                yield scores, examples.came(k), weights
