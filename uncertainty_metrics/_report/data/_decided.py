"""How sure a model was of each decision or answer, and whether it was right.

A classifier decides for its most probable class, and its confidence is the probability
of this class. For answers, the user gives correctness and confidence. The sections on
calibration, on recalibration and on selective prediction need only these two, so they
are the same for classifiers and for answers.

The calibration of two classes is judged by the probability of one of them, the event: a
decision does not show that this probability is too low everywhere (`judged_of`).
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._report.data._averaged_members import averaged
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Predictions,
    Rows,
    Stream,
    has_grades,
    is_of_answers,
    remembered,
    rows_of,
    votes_of,
)
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells

# Scores in the same of so many intervals are taken for similar.
_SIMILAR = 100


class Words(NamedTuple):
    """The words of a report for the decisions of a classifier, or for answers.

    Attributes:
      one: the noun for a single decision or answer.
      do: the verb.
      doing: the present participle of the verb.
      done: the past participle of the verb.
      outcomes: the noun for the true values that the model predicts.
    """

    one: str
    do: str
    doing: str
    done: str
    outcomes: str


_OF_DECISIONS = Words("decision", "decide", "deciding", "decided", "labels")
_OF_ANSWERS = Words("answer", "answer", "answering", "answered", "outcomes")
_OF_DETECTIONS = Words("detection", "keep", "keeping", "kept", "outcomes")
_OF_GRADES = _OF_ANSWERS._replace(outcomes="grades")
_OF_VOTES = _OF_DECISIONS._replace(outcomes="shares of votes")


class Decisions(NamedTuple):
    """Decisions or answers of positive weight; or, as `judged_of` returns them, the
    forecasts of an event.

    Attributes:
      correct: whether each decision is right, or the event came, boolean [n]; or the
        grade of each answer, float64 [n].
      confidences: the probability of this, [n].
      weights: positive [n], or None.
      squares: the sum of the squared weights of the examples that each decision stands
        for, [n]; None if each stands for one example.
    """

    correct: np.ndarray
    confidences: np.ndarray
    weights: np.ndarray | None
    squares: np.ndarray | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The decisions as arguments of a metric."""
        return {
            "correct": self.correct,
            "confidences": self.confidences,
            "sample_weight": self.weights,
        }

    @property
    def sample_size(self) -> float:
        """The number of decisions; with weights, Kish's effective number."""
        if self.weights is None:
            return float(len(self.correct))
        scale = self.weights.max()
        squares = self.squared_weights / scale**2
        return float((self.weights / scale).sum() ** 2 / squares.sum())

    @property
    def squared_weights(self) -> np.ndarray:
        """The squares of the weights, or `squares` if they are given."""
        if self.squares is not None:
            return self.squares
        return np.ones(len(self.correct)) if self.weights is None else self.weights**2

    def with_small_weights(self) -> Decisions:
        """Returns the same decisions with weights of at most 1."""
        if self.weights is None:
            return self
        scale = self.weights.max()
        squares = None if self.squares is None else self.squares / scale**2
        return self._replace(weights=self.weights / scale, squares=squares)


@remembered
def examples_of(model: Rows) -> Any:
    """Returns the checked examples of a model.

    The metrics take them in the place of labels, so that decisions and probabilities
    are computed only once. Answers become examples of two classes, and class 1 means
    right; its share is the grade.
    """
    if isinstance(model, Confidences):
        data = ClassifierData(
            correct=model.correct,
            confidences=model.confidences,
            sample_weight=model.sample_weight,
        )
        return _examples.examples_of(data)
    return _examples.examples(**{**model.arguments, model.kind: averaged(model)})


@remembered
def decisions_of(model: Decided) -> Decisions:
    """Returns the decisions of a classifier, or the answers."""
    if isinstance(model, Stream):
        return _decisions_of_stream(model)
    examples = examples_of(model)
    if isinstance(model, Confidences):
        right, confidences = examples.came(1), examples.probabilities[:, 1]
        if model.are_graded:  # They may all be 0 or 1.
            right = right.astype(np.float64)
    else:
        decided, confidences = examples.decided
        right = decided == examples.labels
    return Decisions(right, confidences, examples.weights)


def _decisions_of_stream(model: Stream) -> Decisions:
    """Returns a right and a wrong decision for each cell of the sketch.

    The weight of each is the sum of the weights of all decisions that it stands for.
    """
    if has_grades(model):
        return _grades_of_stream(model)
    scores, wrong, right = model.summary.decision_cells()
    weights = np.concatenate([wrong, right])
    squares = model.summary.squared_weights()
    some = weights > 0
    return Decisions(
        np.repeat([False, True], len(scores))[some],
        np.tile(scores, 2)[some],
        weights[some],
        weights[some] if squares is None else squares.reshape(-1)[some],
    )


def _grades_of_stream(model: Stream) -> Decisions:
    """Returns three answers for each cell of the sketch: of the mean grade m, of 1 and
    of 0, with weights that keep the sums of y and of y (1 - y).
    """
    sketch = model.summary.decisions
    (cells,) = sketch._groups()
    means = cells.outcome_sums / cells.weights
    variance = means * (1 - means)  # That of 0 and 1.
    spreads = np.zeros(len(means)) if cells.spread_sums is None else cells.spread_sums
    within = np.clip(variance - spreads / cells.weights, 0, variance)
    binary = np.where(variance > 0, within / np.where(variance > 0, variance, 1), 0)
    parts = np.stack([1 - binary, binary * means, binary * (1 - means)])
    grades = np.stack([means, np.ones(len(means)), np.zeros(len(means))])
    of_squares = cells.weights
    if sketch._squared is not None:
        (of_both,) = sketch._squared._groups()
        of_squares = of_both.weights
    weights, squares = parts * cells.weights, parts * of_squares
    some = weights > 0
    scores = np.broadcast_to(cells.scores, some.shape)
    return Decisions(grades[some], scores[some], weights[some], squares[some])


def event_of(model: Decided) -> int | None:
    """Returns the class by whose probability the calibration of two classes is judged:
    the event that the user names, or class 1. None for more classes, and for answers.
    """
    if is_of_answers(model):
        return None
    rows = rows_of(model)
    if isinstance(model, Stream):
        classes = model.summary.num_classes
    else:
        classes = examples_of(model).num_classes
    if classes != 2:
        return None
    event: int | None = getattr(rows, "event_class", None)
    return 1 if event is None else event


def name_of_event(model: Decided) -> str | None:
    """Returns what a report calls the class of `event_of`; None if there is none."""
    event = event_of(model)
    if event is None:
        return None
    names = getattr(rows_of(model), "classes", ())
    if isinstance(model, Stream):
        names = model.summary.class_names
    return str(names[event]) if names else f"class {event}"


def examples_of_event(model: Rows) -> Any:
    """Returns the examples of two classes with the event as class 1."""
    examples = examples_of(model)
    if event_of(model) != 0:
        return examples
    return dataclasses.replace(
        examples,
        labels=1 - examples.labels,
        predictions=np.ascontiguousarray(examples.predictions[:, ::-1]),
    )


@remembered
def judged_of(model: Decided, event: int | None = None) -> Decisions:
    """Returns the forecasts by which calibration is judged: for two classes the
    probabilities of the event, else decisions or answers. Of two classes, `event` may
    be another one than that of the model.
    """
    own = event_of(model)
    if own is None:
        return decisions_of(model)
    event = own if event is None else event
    if isinstance(model, Stream):
        return _events_of_stream(model, event)
    examples = examples_of(model)
    probabilities = examples.checked().probabilities[:, event]
    return Decisions(examples.labels == event, probabilities, examples.weights)


def event_cells(model: Stream, event: int) -> Cells:
    """Returns the cells of the probability of the event, for two classes."""
    classes = model.summary.classes
    assert classes is not None
    return classes._groups()[event]


def _events_of_stream(model: Stream, event: int) -> Decisions:
    """Returns an example with the event and one without for each cell of the sketch."""
    cells, summary = event_cells(model, event), model.summary
    weights = np.stack([cells.weights - cells.outcome_sums, cells.outcome_sums])
    squares = weights
    if summary.is_weighted:
        of_labels = summary.squared_weights_by_label()[[1 - event, event], None]
        squares = weights * _mean_weights(model, event, cells.scores, of_labels)
        # The sum of the squares of each label is known.
        totals = squares.sum(axis=1, keepdims=True)
        known = of_labels * weights.sum(axis=1, keepdims=True)
        squares = squares * known / np.where(totals > 0, totals, 1.0)
    some = weights.reshape(-1) > 0
    return Decisions(
        np.repeat([False, True], len(cells.scores))[some],
        np.tile(cells.scores, 2)[some],
        weights.reshape(-1)[some],
        squares.reshape(-1)[some],
    )


def _mean_weights(
    model: Stream, event: int, scores: np.ndarray, of_labels: np.ndarray
) -> np.ndarray:
    """Returns the sum of squared weights over the sum of weights, without the event and
    with it, at each score, float64 [2, scores].

    A summary knows it for each label only, [2, 1]. If there is a sample of the rows,
    that of the rows with similar scores is taken.
    """
    rows = model.sample
    if rows is None or (sample := judged_of(rows, event)).weights is None:
        return of_labels
    bins = 2 * (sample.confidences * _SIMILAR).astype(np.int64) + sample.correct
    size = 2 * (_SIMILAR + 1)
    sums, squares = (
        np.bincount(bins, values, size).reshape(-1, 2).T
        for values in (sample.weights, sample.weights**2)
    )
    means = np.where(sums > 0, squares / np.where(sums > 0, sums, 1.0), of_labels)
    return means[:, (scores * _SIMILAR).astype(np.int64)]


def words_of(model: Decided) -> Words:
    """Returns the words of a report for the decisions of a model."""
    if votes_of(model) is not None:
        return _OF_VOTES
    if has_grades(model):
        return _OF_GRADES
    if isinstance(model, Confidences) and model.are_detections:
        return _OF_DETECTIONS
    return _OF_ANSWERS if is_of_answers(model) else _OF_DECISIONS


def noun_of_rows(model: Decided) -> str:
    """Returns what the rows of a model are called: answers, detections or examples."""
    if is_of_answers(model) and votes_of(model) is None:
        return f"{words_of(model).one}s"
    return "examples"


def class_shares(model: Predictions) -> np.ndarray:
    """Returns the share of each class in the labels, [K]."""
    examples = examples_of(model)
    weights = decisions_of(model).with_small_weights().weights
    counts = np.bincount(examples.labels, weights, examples.num_classes)
    return counts / counts.sum()


def largest_share(model: Predictions | Stream) -> float:
    """Returns the share of the most frequent class in the labels."""
    if isinstance(model, Stream):
        return float(model.summary.shares.max())
    return float(class_shares(model).max())
