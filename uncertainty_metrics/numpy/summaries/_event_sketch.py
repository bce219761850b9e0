"""The sketch of P(class 1), out of the sketch of both classes of a `Summary`."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from uncertainty_metrics.numpy.sketch import _cell_sums, _older_grids
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch


def of_two_classes(
    classes: ScoreSketch, num_examples: int, like: ScoreSketch | None = None
) -> ScoreSketch:
    """Returns a sketch of P(class 1) and whether the label is 1.

    The cells of two groups are wider than those of one. Each lies where its mean score
    is.

    Args:
      classes: a sketch with a group for each of two classes, of at least one example.
      num_examples: number of examples of positive weight.
      like: the sketch whose mean scores say where the cells lie, if another one.
    """
    events = ScoreSketch(positive_class=True, num_classes=classes.num_classes)
    of_class_1 = _of_class_1(classes)
    places = of_class_1 if like is None else _of_class_1(like)
    weights, scores = (places[name].values for name in ("weights", "score_sums"))
    means = scores / np.where(weights > 0, weights, 1)
    cells = _older_grids.cells_of(means, events._bits(2))
    rows = [
        _older_grids.moved_sums(row, cells, events._num_cells(2))
        for row in of_class_1.values()
    ]
    events = ScoreSketch._with_content(
        events.config, 2, _cell_sums.of_rows(rows, num_examples)
    )
    events._is_moved = True
    return events


def _of_class_1(classes: ScoreSketch) -> dict[str, Any]:
    """Returns the sums of the cells of class 1, by their names."""
    sums = classes._content.sums
    assert sums is not None
    return {
        name: dataclasses.replace(row, digits=np.split(row.digits, 2, axis=1)[1])
        for name, row in sums.rows.items()
    }
