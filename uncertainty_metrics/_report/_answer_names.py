"""What names of columns and arrays say of answers with confidences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from uncertainty_metrics._report import _names, _option_likelihoods
from uncertainty_metrics._report._names import Choice, among, existing, listed

CORRECT = ("correct", "is_correct", "accuracy", "acc", "exact_match")
# A score may be of another kind: it says what is right if all values are 0 or 1.
_SCORE = "score"
_SURE = ("confidence", "confidences", "conf", "certainty")
# In a file with labels "probability" is that of class 1 of two.
CONFIDENCES = (*_SURE, "probability")
_SAMPLES = ("answers",)
_QUESTIONS = ("question_id", "doc_id", "id", "question", "prompt")


class AnswerNames(NamedTuple):
    """The columns or arrays of answers.

    Attributes:
      correct: which one says whether answers are right.
      confidence: how sure they are; None where samples or likelihoods tell it.
      samples: several answers to each question, or None.
      likelihoods: the log-likelihoods of the options of each question, or None.
      questions: what tells the questions apart, or None.
    """

    correct: str
    confidence: str | None
    samples: str | None
    likelihoods: str | None
    questions: str | None


def names_of(
    header: Sequence[str],
    choice: Choice,
    kind: str,
    is_binary: Callable[[str], bool],
) -> AnswerNames | None:
    """Returns the names of answers; None where a file holds something else.

    Args:
      header: all names.
      choice: what the user says.
      kind: "column" or "array".
      is_binary: says if all values of a column or array are 0 or 1.

    Raises:
      ValueError: names leave open what is meant, or one is missing.
    """
    if choice.of_classes:
        if choice.of_answers:
            raise ValueError(
                "--correct, --confidence and --percent are of answers, and --label, "
                "--probabilities, --classes and --positive-class of a classifier: "
                "leave out the ones or the others"
            )
        return None
    labels = among(header, _names.LABELS)
    right, sure = among(header, CORRECT), among(header, CONFIDENCES)
    scores = among(header, (_SCORE,))
    if not right and (sure or choice.of_answers) and len(scores) == 1:
        right = scores if is_binary(scores[0]) else []
    samples = next(iter(among(header, _SAMPLES)), None)
    likelihoods = None
    if not sure and choice.confidence is None:
        likelihoods = _likelihoods(header, choice, kind)
    if likelihoods:
        right = [_option_likelihoods.CORRECT]
    if not choice.of_answers:
        if labels and not (right and (sure or samples or likelihoods)):
            return None
        if not right and not among(header, _SURE):
            return None
        if right and (rivals := _rivals(header, labels, sure)):
            raise ValueError(
                f"these may be answers, by {listed([*right, *sure])}, or predictions, "
                f"by {listed(rivals)}: choose with --correct and --confidence, or with "
                "--label and --probabilities"
            )
    correct = _one(
        "whether each answer is right", "correct", CORRECT, header, right, choice, kind
    )
    confidence = None
    if choice.confidence or sure or not (samples or likelihoods):
        confidence = _one(
            "how sure each answer is", "confidence", CONFIDENCES, header, sure, choice,
            kind,
        )  # fmt: skip
    questions = [name for known in _QUESTIONS for name in among(header, (known,))]
    return AnswerNames(
        correct, confidence, samples, likelihoods, next(iter(questions), None)
    )


def _likelihoods(header: Sequence[str], choice: Choice, kind: str) -> str | None:
    """Returns the name of the log-likelihoods of options, if there are any.

    Raises:
      ValueError: they are not of the answers that the user means.
    """
    name, of_them = _option_likelihoods.LIKELIHOODS, _option_likelihoods.CORRECT
    if kind != "column" or name not in header:
        return None
    if of_them not in header or choice.correct not in (None, of_them):
        raise ValueError(
            f"`{name}` tells how sure the answers are that `{of_them}` is about, those "
            "of multiple-choice tasks: for other answers, name a column of confidences "
            f"with --confidence. Received: {listed(header)}"
        )
    return name


def _rivals(
    header: Sequence[str], labels: list[str], sure: list[str]
) -> list[str] | None:
    """Returns the names by which a file may as well hold labels and predictions."""
    if not labels:
        return None
    if regression := _names.regression_of(header):
        return [labels[0], *regression]
    try:
        columns = _names.columns_of(header, labels[0], Choice())
    except ValueError:  # There are several.
        return labels
    return [labels[0], *columns.names] if columns else None


def _one(
    meaning: str,
    option: str,
    known: Sequence[str],
    header: Sequence[str],
    found: list[str],
    choice: Choice,
    kind: str,
) -> str:
    """Returns the name that the user says, or the only one that is known."""
    chosen: str | None = getattr(choice, option)
    if chosen is not None:
        return existing(chosen, header, kind)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"each of {listed(found)} may say {meaning}: choose the {kind} with "
            f"--{option}"
        )
    raise ValueError(
        f"one {kind} must say {meaning}: call it one of {', '.join(known)}, or name it "
        f"with --{option}. Received: {listed(header)}"
    )
