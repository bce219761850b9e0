"""Whether two models are about the same examples, in words."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Model,
    Predictions,
    Regression,
    Stream,
    Survival,
)
from uncertainty_metrics._report.sections._drift import can_drift


def same_examples(predictions: Model, other: Model) -> tuple[bool, str]:
    """Says whether two files have the same examples, by true outcomes and weights."""
    if isinstance(predictions, Survival) and isinstance(other, Survival):
        return _followed(predictions, other)
    if isinstance(predictions, Stream) or isinstance(other, Stream):
        return False, (
            "The examples are taken for different ones, because not all rows are in "
            "memory."
        )
    if isinstance(predictions, Confidences) and isinstance(other, Confidences):
        return _questions(predictions, other)
    key = "target" if isinstance(predictions, Regression) else "labels"
    first, second = (np.ravel(getattr(model, key)) for model in (predictions, other))
    if isinstance(predictions, Predictions) and isinstance(other, Predictions):
        names = predictions.classes, other.classes
        if names[0] != names[1] and set(names[0]) == set(names[1]):
            first, second = np.array(names[0])[first], np.array(names[1])[second]
    name = key.removesuffix("s") + "s"
    if first.size != second.size:
        return False, (
            f"Different examples: {first.size} in the first file and {second.size} in "
            "the second."
        )
    different = int(np.sum(first != second))
    if different:
        return False, (
            f"Equally many examples, but {different} of the {first.size} {name} "
            "differ: the examples are different, or in another order."
        )
    if not _same_weights(predictions.sample_weight, other.sample_weight):
        return False, f"The same {name} in the same order, but other weights."
    return (
        True,
        f"The same examples: both files hold the same {name} in the same order.",
    )


def drifts(first: Model, second: Model) -> bool:
    """Says whether to test if calibration has changed, which needs other examples."""
    return not same_examples(first, second)[0] and can_drift(first, second)


def _followed(first: Survival, second: Survival) -> tuple[bool, str]:
    """Returns whether two files are of the same examples, and a sentence on it."""
    if first.at != second.at:
        return False, f"Other horizons: {first.at:g} and {second.at:g}."
    pairs = ((first.times, second.times), (first.event, second.event))
    same = all(np.array_equal(np.ravel(x), np.ravel(y)) for x, y in pairs)
    if not same or not _same_weights(first.sample_weight, second.sample_weight):
        return False, "Other examples, or in another order, or with other weights."
    return True, (
        "The same examples: both files hold the same times and events in the same "
        "order."
    )


def _questions(first: Confidences, second: Confidences) -> tuple[bool, str]:
    """Says whether two files hold answers to the same questions.

    Whether answers are right differs between models, so only a column that tells the
    questions apart can show it.
    """
    votes = [each.votes.shares for each in (first, second) if each.votes is not None]
    alike = _same_weights(first.sample_weight, second.sample_weight)
    if alike and len(votes) == 2 and np.array_equal(votes[0], votes[1]):
        return True, "The same examples: the same votes in the same order."
    sizes = len(first.correct), len(second.correct)
    if sizes[0] != sizes[1]:
        return False, (
            f"Different questions: {sizes[0]} in the first file and {sizes[1]} in the "
            "second."
        )
    if not alike:
        return False, "Equally many questions, but other weights."
    asked = {each.questions and each.questions.name.lower() for each in (first, second)}
    if first.questions is None or second.questions is None or len(asked) > 1:
        return True, (
            "Equally many answers, which are taken for answers to the same questions "
            "in the same order: the files have no common column that names the "
            "questions."
        )
    name = first.questions.name
    pairs = zip(first.questions.values, second.questions.values, strict=True)
    different = sum(one != other for one, other in pairs)
    if different:
        return False, (
            f"Equally many questions, but {different} of the {sizes[0]} values of "
            f"`{name}` differ: the questions are different, or in another order."
        )
    return True, (
        f"The same questions: both files hold the same `{name}` in the same order."
    )


def _same_weights(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    first, second = (np.ravel(1.0 if w is None else w) for w in (first, second))
    if len({first.size, second.size} - {1}) > 1:
        return False
    return bool(np.all(first == second))  # A single weight holds for every example.
