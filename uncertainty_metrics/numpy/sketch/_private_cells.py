"""Joins cells and classes that hold so few examples that single scores would show."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy.sketch import _cell_sums, _older_grids
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch

LEAST = 5


def joined(sketch: ScoreSketch, like: ScoreSketch | None = None) -> ScoreSketch:
    """Returns a sketch whose cells hold at least `LEAST` examples, or all of a group.

    From the lowest score on, cells are joined until they hold so many; what is left at
    the end joins the last ones. A joined cell lies where its mean score is. Weighted
    examples are counted by their mean weight.

    Args:
      sketch: any sketch.
      like: a sketch of the same scores with other weights, whose cells are joined, and
        those of `sketch` in the same way; by default `sketch` itself.
    """
    classes, sums = sketch._content
    if sums is None:
        return sketch
    cells = _joined_cells(sketch if like is None else like)
    rows = [
        _older_grids.moved_sums(row, cells, len(cells)) for row in sums.rows.values()
    ]
    return ScoreSketch._with_content(
        sketch.config, classes, _cell_sums.of_rows(rows, sums.count)
    )


def _joined_cells(sketch: ScoreSketch) -> np.ndarray:
    """Returns the new cell of each cell of a sketch."""
    classes, sums = sketch._content
    assert sums is not None
    bits, groups = sketch._bits(classes or 2), sketch._spec.num_groups(classes or 2)
    weights, score_sums = sums.weights.values, sums.score_sums.values
    unit = weights.sum() / sums.count if sums.count else 1.0
    cells = np.arange(len(weights))
    for of_group in np.split(cells, groups):  # These are views, which are written to.
        filled = np.flatnonzero(weights[of_group] > 0)
        if not len(filled):
            continue
        old = of_group[filled]
        runs = _runs(weights[old] / unit)
        starts = np.flatnonzero(np.diff(runs, prepend=-1))
        means = np.add.reduceat(score_sums[old], starts)
        means = means / np.add.reduceat(weights[old], starts)
        of_group[filled] = of_group[0] + _older_grids.cells_of(means, bits)[runs]
    return cells


def _runs(counts: np.ndarray) -> np.ndarray:
    """Returns the number of the run of each cell. Runs hold at least `LEAST`."""
    runs = np.empty(len(counts), np.int64)
    run, held = 0, 0.0
    # Where a run begins depends on all runs before it.
    for i, count in enumerate(counts.tolist()):
        runs[i] = run
        held += count
        if held >= LEAST - 1e-6:
            run, held = run + 1, 0.0
    if held and run:
        runs[runs == run] = run - 1
    return runs


def joined_classes(
    sums: np.ndarray, counts: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Returns sums over classes, in which classes of fewer than `LEAST` examples are
    joined: each has its share, by weight, of what they have together.

    Args:
      sums: float64 [sums, classes].
      counts: number of examples of each class.
      weights: their total weight.
    """
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    enough = np.cumsum(counts[order]) >= LEAST
    few = int(np.count_nonzero(counts[order] < LEAST))
    if few:  # With the next larger class, if all of them are fewer than that.
        needed = int(np.argmax(enough)) + 1 if enough.any() else len(order)
        few = max(few, needed)
    joined = order[:few]
    sums = sums.copy()
    shares = weights[joined] / weights[joined].sum() if few else 0.0
    sums[:, joined] = sums[:, joined].sum(axis=1, keepdims=True) * shares
    return sums
