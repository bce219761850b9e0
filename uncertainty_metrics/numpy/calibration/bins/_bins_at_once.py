"""Adaptive bins of all groups at once, by one sort, for examples without weights.

`_binning.py` calls this for groups so small that calls take longer than sums.
"""

from __future__ import annotations

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.calibration.bins import _scores


def adaptive_sums(examples: _examples.Examples, spec: CalibrationSpec) -> np.ndarray:
    """Returns [4, groups, bins]: lower edges, counts, score sums and outcome sums."""
    num_groups, threshold = _scores.num_groups(examples, spec), spec.threshold
    if spec.has_one_score:
        scores, outcomes, groups = _scores.scored_rows(examples, spec)
        rows = _scores.above(scores, threshold) if threshold > 0 else scores >= 0
        sorted_rows = _sorted_by_group(
            scores[rows], outcomes[rows], groups[rows], num_groups
        )
    elif threshold > 0:
        scores, outcomes, _, columns = _scores.scores_above(examples, spec)
        sorted_rows = _sorted_by_group(scores, outcomes, columns, num_groups)
    else:
        sorted_rows = _sorted_columns(_scores.checked(examples, spec), examples.labels)
    return _sums_of_groups(*sorted_rows, num_groups, spec.num_bins)


def _sums_of_groups(
    scores: np.ndarray,
    outcomes: np.ndarray,
    groups: np.ndarray,
    num_groups: int,
    num_bins: int,
) -> np.ndarray:
    """Returns `adaptive_sums` of scores that are sorted by group, then by score."""
    sums = np.zeros((4, num_groups, num_bins))
    if len(scores) == 0:
        return sums
    new = (scores[1:] != scores[:-1]) | (groups[1:] != groups[:-1])
    runs = np.concatenate([[0], np.flatnonzero(new) + 1, [len(scores)]])
    ends = np.searchsorted(groups, np.arange(num_groups + 1))
    filled = np.flatnonzero(ends[:-1] < ends[1:])
    start, n = ends[filled, None], np.diff(ends)[filled, None]

    bins = np.arange(1, num_bins, dtype=np.int64)  # See `_binning.adaptive_starts`.
    run = np.searchsorted(runs, start + bins * n // num_bins, "right")
    left, right = runs[run - 1], runs[run]
    middle = left + right - 2 * start
    inner = np.where(num_bins * middle >= 2 * n * bins, left, right)
    starts = np.concatenate([start, inner, start + n], axis=1)
    firsts, counts = starts[:, :-1], np.diff(starts)
    is_filled = counts > 0

    def add(values: np.ndarray) -> np.ndarray:
        added = np.zeros(counts.shape)
        added[is_filled] = np.add.reduceat(values, firsts[is_filled], dtype=np.float64)
        return added

    edges = np.where(firsts > start, scores[firsts - 1], 0.0)
    sums[:, filled] = edges, counts, add(scores), add(outcomes)
    return sums


def _sorted_by_group(
    scores: np.ndarray, outcomes: np.ndarray, groups: np.ndarray, num_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns scores, outcomes and groups sorted by group, then by score."""
    if scores.dtype == np.float64:
        order = np.argsort(scores)
        by_group = _examples.Partition(groups[order], num_groups).rows()
        order = order[np.concatenate(by_group)]
        return scores[order], outcomes[order], groups[order]
    if scores.dtype != np.float32:
        scores = scores.astype(np.float32)
    packed = groups.astype(np.uint64) << 32  # See `_binning._sorted_as_integers`.
    packed |= scores.view(np.uint32) << 1 | outcomes
    packed.sort()
    scores = (packed.astype(np.uint32) >> 1).view(np.float32)
    return scores, packed & 1, (packed >> 32).astype(np.int64)


def _sorted_columns(
    probabilities: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns scores, outcomes and classes of all pairs of example and class, sorted by
    class, then by score.
    """
    if probabilities.dtype.itemsize < 4:
        probabilities = probabilities.astype(np.float32)
    n, classes = probabilities.shape
    scores = np.ascontiguousarray(probabilities.T)
    # See `_binning._sorted_as_integers`.
    packed = scores.view(f"u{scores.dtype.itemsize}") << 1
    packed[labels, np.arange(n)] |= 1
    packed.sort(axis=1)
    packed = packed.reshape(-1)
    groups = np.repeat(np.arange(classes), n)
    return (packed >> 1).view(scores.dtype), packed & 1, groups
