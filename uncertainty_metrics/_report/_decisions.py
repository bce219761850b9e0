"""How sure a model was of each decision or answer, and whether it was right.

A classifier decides for its most probable class; its confidence is the probability of
this class. Of answers both are given. The sections on calibration, on mending and on
selective prediction ask for nothing else, so they are the same for both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._report._predictions import Confidences, Decided, remembered
from uncertainty_metrics._report._sections_ensemble import averaged
from uncertainty_metrics.numpy import _inputs


class Words(NamedTuple):
    """What a report calls the decisions of a classifier, or answers.

    Attributes:
      one: a single one.
      do: the verb.
      doing: the same as a participle.
      done: of examples for which the model did.
      came: the truth that the probabilities are of.
    """

    one: str
    do: str
    doing: str
    done: str
    came: str


_OF_DECISIONS = Words("decision", "decide", "deciding", "decided", "labels")
_OF_ANSWERS = Words("answer", "answer", "answering", "answered", "outcomes")


class Decisions(NamedTuple):
    """Decisions or answers of positive weight.

    Attributes:
      correct: whether each is right, boolean [n].
      confidences: the probability that it is right, [n].
      weights: positive [n], or None.
    """

    correct: np.ndarray
    confidences: np.ndarray
    weights: np.ndarray | None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by which functions take them."""
        return {
            "correct": self.correct,
            "confidences": self.confidences,
            "sample_weight": self.weights,
        }

    @property
    def sample_size(self) -> float:
        """Their number, or Kish's effective number of weighted ones."""
        if self.weights is None:
            return float(len(self.correct))
        weights = self.weights / self.weights.max()
        return float(weights.sum() ** 2 / (weights @ weights))

    def with_small_weights(self) -> Decisions:
        """Returns the same with weights of at most 1."""
        weights = self.weights
        small = None if weights is None else weights / weights.max()
        return self._replace(weights=small)


@remembered
def examples_of(model: Decided) -> Any:
    """Returns the checked examples, of one model. Functions take them as labels, and
    find decisions and probabilities but once.

    Answers are examples of two classes, of which class 1 is right.
    """
    if isinstance(model, Confidences):
        data = ClassifierData(
            correct=model.correct,
            confidences=model.confidences,
            sample_weight=model.sample_weight,
        )
        return _inputs.examples_of(data)
    return _inputs.examples(**{**model.arguments, model.kind: averaged(model)})


@remembered
def decisions_of(model: Decided) -> Decisions:
    """Returns the decisions of a classifier, or the answers."""
    examples = examples_of(model)
    if isinstance(model, Confidences):
        right, confidences = examples.labels == 1, examples.probabilities[:, 1]
    else:
        decided, confidences = examples.decided
        right = decided == examples.labels
    return Decisions(right, confidences, examples.weights)


def words_of(model: Decided) -> Words:
    """Returns what the report of a model calls its decisions."""
    return _OF_ANSWERS if isinstance(model, Confidences) else _OF_DECISIONS
