"""The blocks that the file of a summary has of its sketches, and sketches of blocks."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.numpy.sketch._cluster_sums import ClusterSums
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries import (
    _private_cells,
    _private_counts,
    _sketches,
)
from uncertainty_metrics.numpy.summaries._private_cells import Blocks
from uncertainty_metrics.numpy.summaries._private_counts import Noised
from uncertainty_metrics.numpy.summaries._sketches import Sketches
from uncertainty_metrics.numpy.summaries._summary_files import Content


def blocks_of(
    sketches: Sketches, squares: Sketches | None
) -> tuple[Blocks, Blocks | None]:
    """Returns blocks of the decisions, and of the other probabilities.

    Args:
      sketches: of a summary that has examples.
      squares: the same with the squares of the weights; None without weights.
    """
    if sketches.classes is None or sketches.tops is None:
        sums = _sketches.sums_in(sketches.decisions)
        of_squares = None if squares is None else _sketches.sums_in(squares.decisions)
        return _private_cells.of_answers(sums, of_squares), None
    classes = sketches.classes
    size = classes._content.classes or 2
    view = _private_cells.View(
        tops=sketches.tops,
        top_squares=None,
        classes=_sketches.sums_in(classes),
        class_squares=None,
        known=None if classes._content.least is None else classes._least_at,
        num_classes=size,
        bits=classes._bits(size),
    )
    if squares is not None and squares.classes is not None:
        of_squares = _sketches.sums_in(squares.classes)
        view = view._replace(top_squares=squares.tops, class_squares=of_squares)
    return _private_cells.of_classes(view)


def noised(sketches: Sketches, epsilon: float) -> Noised | None:
    """Returns differentially private sums and blocks; None if they are too few.

    Args:
      sketches: of a summary of examples without weights.
      epsilon: of the guarantee, > 0.
    """
    if sketches.classes is None or sketches.tops is None:
        sums = _sketches.sums_in(sketches.decisions)
        return _private_counts.of_answers(sums, epsilon)
    size = sketches.classes._content.classes or 2
    bits = sketches.classes._bits(size)
    classes = _sketches.sums_in(sketches.classes)
    return _private_counts.of_classes(sketches.tops, classes, size, bits, epsilon)


def sketches_of(content: Content, count: int) -> tuple[Sketches, Sketches]:
    """Returns the sketches of a file, and those with the squares of the weights.

    Args:
      content: of the file.
      count: number of examples of positive weight.
    """
    size, decided, others = content.num_classes, content.decided, content.others
    known = None if content.clusters is None else ClusterSums(content.clusters)
    empty = ScoreSketch(positive_class=False)
    of_all = decided._replace(groups=np.zeros_like(decided.groups))
    sums, squares, _ = _private_cells.sketch_sums(of_all, empty._bits(2), count)
    decisions, of_decisions = (
        ScoreSketch._with_content(empty.config, 2, each, clusters=known)
        for each in (sums, squares)
    )
    if others is None:
        return Sketches(decisions, None, None), Sketches(of_decisions, None, None)
    empty = _sketches.empty_of_classes()
    bits = empty._bits(size)
    tops, of_tops, _ = _private_cells.sketch_sums(decided, bits, count)
    of_one = decided.chosen(decided.groups < size)
    of_one = _private_cells.together([of_one, others])
    sums, squares, cells = _private_cells.sketch_sums(of_one, bits, count * size)
    lower_ends, _ = _grid.rounded_limits(*bits)
    least = lower_ends[sums.places % len(lower_ends)]
    np.minimum.at(least, np.searchsorted(sums.places, cells), of_one.least)
    classes, of_classes = (
        ScoreSketch._with_content(empty.config, size, each, least, known)
        for each in (sums, squares)
    )
    return (
        Sketches(decisions, tops, classes),
        Sketches(of_decisions, of_tops, of_classes),
    )
