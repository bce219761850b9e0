"""The sketch of P(class 1), out of the sketch of both classes of a `Summary`."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy.sketch import _cell_sums, _grid
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries import _sketches


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
    sums = _sketches.sums_in(classes)
    num_cells = classes._num_cells(2) // 2
    of_class_1 = np.flatnonzero(sums.places >= num_cells)
    of_means = sums if like is None else _sketches.sums_in(like)
    places = sums.places[of_class_1]
    scores = of_means.values_at("score_sums", places)
    means = scores / of_means.values_at("weights", places)
    scores = np.clip(means, 0, 1).astype(np.float32)
    cells = _grid.index(scores, *events._bits(2))
    rows = [
        row.at(of_class_1).moved(cells, events._num_cells(2))
        for row in sums.rows.values()
    ]
    events = ScoreSketch._with_content(
        *(events.config, 2, _cell_sums.of_rows(rows, num_examples)),
        clusters=classes._content.clusters,
    )
    events._is_moved = True
    return events
