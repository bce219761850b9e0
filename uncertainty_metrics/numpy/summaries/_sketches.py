"""The sketches of a summary: of the decisions, and of the probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.sketch import _cell_sums, _cluster_sums
from uncertainty_metrics.numpy.sketch._cell_sums import SketchSums
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch


class Sketches(NamedTuple):
    """Sums over cells: of `decisions`, of the decisions for each class, and of
    `classes`. The latter two are None for answers.
    """

    decisions: ScoreSketch
    tops: SketchSums | None
    classes: ScoreSketch | None

    def plus(self, other: Sketches) -> Sketches:
        tops = None
        if self.tops is not None and other.tops is not None:
            tops = self.tops + other.tops
        classes = None
        if self.classes is not None and other.classes is not None:
            classes = self.classes + other.classes
        return Sketches(self.decisions + other.decisions, tops, classes)


def empty_of_classes() -> ScoreSketch:
    """Returns an empty sketch with a group for each class."""
    return ScoreSketch(positive_class=False, max_prob=False, class_conditional=True)


def sums_in(sketch: ScoreSketch) -> SketchSums:
    """Returns the sums of a sketch that has examples."""
    return cast(SketchSums, sketch._content.sums)


def of_examples(
    examples: _examples.Examples,
    right: np.ndarray,
    confidences: np.ndarray,
    decided: np.ndarray | None,
) -> Sketches:
    """Returns the sketches of checked examples; without `decided`, of answers. With
    clusters that of two classes has the sums of P(class 1).

    The sketch of the decisions is the one that `update` makes of `correct` and
    `confidences`.
    """
    empty = ScoreSketch(positive_class=False)
    scores, outcomes, weights = confidences[:, None], right[:, None], examples.weights
    sums = _cell_sums.of_scores(scores, outcomes, None, weights, 1, empty._bits(2))
    clusters, of_clusters = examples.clusters, None
    if clusters is not None:
        of_clusters = _cluster_sums.of_scores(confidences, right, weights, clusters)
    decisions = ScoreSketch._with_content(empty.config, 2, sums, clusters=of_clusters)
    if decided is None:
        return Sketches(decisions, None, None)
    classes = empty_of_classes()
    classes.update(cast(Any, examples))
    size = examples.num_classes
    if clusters is not None and size == 2:
        of_events = _cluster_sums.of_scores(
            examples.probabilities[:, 1], examples.labels == 1, weights, clusters
        )
        classes._content = classes._content._replace(clusters=of_events)
    tops = _cell_sums.of_scores(
        *(scores, outcomes, decided[:, None], weights),
        *(size + 1, classes._bits(size)),
    )
    return Sketches(decisions, tops, classes)
