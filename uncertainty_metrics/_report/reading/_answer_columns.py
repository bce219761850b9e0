"""Finds answers and confidences of a file by the names of its columns and arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from uncertainty_metrics._report.reading import _column_names, _option_likelihoods
from uncertainty_metrics._report.reading._column_names import (
    Choice,
    among,
    existing,
    listed,
)
from uncertainty_metrics._report.reading._missing_labels import (
    may_be_right,
    may_be_sure,
)
from uncertainty_metrics._report.reading._typed_commands import typed, typed_each

CORRECT = ("correct", "is_correct", "accuracy", "acc", "exact_match")
# Such a column may hold other numbers: it says whether answers are right, or their
# grades, only if all its values are 0, 1, or between.
GRADES = ("grade", "grades", "votes", "score")
_SURE = ("confidence", "confidences", "conf", "certainty")
# In a file with labels, "probability" is the probability of class 1 instead.
CONFIDENCES = (*_SURE, "probability")
_SAMPLES = ("answers",)
IDS = ("question_id", "doc_id", "custom_id", "id", "question", "prompt")
# The column of what a chat model has replied.
REPLY = "reply"
# MLflow calls the scores of a metric `exact_match/score`, or `exact_match/v1/score`.
_END_OF_SCORES = re.compile(r"(/v[0-9]+)?/score")


class AnswerNames(NamedTuple):
    """The names of the columns or arrays of answers.

    Attributes:
      correct: the one that says whether each answer is right.
      confidence: the one that says how sure each answer is; None if samples or
        likelihoods give the confidence.
      samples: the one with several answers to each question, or None.
      likelihoods: the one with the log-likelihoods of the options of each question, or
        None.
      questions: the one that tells the questions apart, or None.
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
    are_outcomes: Callable[[str], bool],
) -> AnswerNames | None:
    """Returns the names of answers; None if the file holds something else.

    Args:
      header: all names of columns or arrays.
      choice: the options of the user.
      kind: "column" or "array".
      are_outcomes: says whether all values of a column or array may say whether an
        answer is right: true, false, numbers in [0, 1], or votes such as 3/5.

    Raises:
      ValueError: the names are ambiguous, or a name is missing.
    """
    if choice.of_classes or choice.of_regression:
        of_classes = choice.probabilities or choice.classes or choice.positive_class
        if choice.of_answers or (choice.of_regression and of_classes is not None):
            raise ValueError(
                "--correct, --confidence and --percent are for answers; --label, "
                "--probabilities, --classes and --positive-class are for a classifier; "
                "--mean, --stddev and --variance for a regression: use options of one "
                "kind only"
            )
        return None
    labels = among(header, _column_names.LABELS)
    right, sure = saying_right(header), among(header, CONFIDENCES)
    if sure or choice.of_answers:
        right += _grades(header, choice, right, are_outcomes)
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
        if right and (rivals := _rivals(header, labels)):
            raise ValueError(
                f"the file may hold answers ({listed([*right, *sure])}) or predictions "
                f"({listed(rivals)}): choose with --correct and --confidence, or with "
                "--label and --probabilities"
            )
    hint = ""
    if choice.correct is None and not right and kind == "column":
        known = {*sure, choice.confidence, *among(header, IDS)}
        hint = _hint_of_grades(header, known, choice, are_outcomes)
        if REPLY in header:
            hint += (
                "; a log of replies does not say it: add a field `correct`, true or "
                "false, to each line"
            )
    correct = _one(
        "whether each answer is right", "correct", CORRECT, header, right, choice, kind,
        hint,
    )  # fmt: skip
    confidence = None
    if choice.confidence or sure or not (samples or likelihoods):
        confidence = _one(
            "how sure each answer is", "confidence", CONFIDENCES, header, sure, choice,
            kind,
        )  # fmt: skip
    questions = [name for known in IDS for name in among(header, (known,))]
    return AnswerNames(
        correct, confidence, samples, likelihoods, next(iter(questions), None)
    )


def saying_right(header: Sequence[str]) -> list[str]:
    """Returns the names of columns that say whether answers are right."""
    plain = {name: _END_OF_SCORES.sub("", name.lower()) for name in header}
    return [name for name in header if plain[name] in CORRECT]


def _grades(
    header: Sequence[str],
    choice: Choice,
    right: list[str],
    are_outcomes: Callable[[str], bool],
) -> list[str]:
    """Returns the names of columns of grades. One called `score`, which may be many
    things, is left out beside a column that says whether answers are right.
    """
    if choice.correct is not None:
        return []
    names = [name for name in among(header, GRADES) if name != choice.confidence]
    if right:
        names = [name for name in names if name.lower() not in ("score", "votes")]
    return [name for name in names if are_outcomes(name)]


def _hint_of_grades(
    header: Sequence[str],
    known: Collection[str | None],
    choice: Choice,
    are_outcomes: Callable[[str], bool],
) -> str:
    """Returns what to type if a column of another name may hold grades."""
    names = [name for name in header if name not in known and are_outcomes(name)]
    if graded := among(header, GRADES) or ([] if names else may_be_right(header)):
        return (
            f"; `{graded[0]}` holds no grades, which are numbers in [0, 1] or votes "
            "such as 3/5: divide by the highest possible grade"
        )
    if not names:
        return ""
    likely = [name for name in may_be_right(header) if name in names]
    commands = typed_each(choice, "correct", [*dict.fromkeys([*likely, *names])])
    return f"; if it is there under another name, type {commands}"


def _likelihoods(header: Sequence[str], choice: Choice, kind: str) -> str | None:
    """Returns the name of the log-likelihoods of options; None if there is none.

    Raises:
      ValueError: the log-likelihoods belong to other answers than the user means.
    """
    name, of_them = _option_likelihoods.LIKELIHOODS, _option_likelihoods.CORRECT
    if kind != "column" or name not in header:
        return None
    if of_them not in header or choice.correct not in (None, of_them):
        raise ValueError(
            f"`{name}` gives the confidence only of multiple-choice answers, whose "
            f"column `{of_them}` says whether they are right: for other answers, name "
            f"a column of confidences with --confidence. Received: {listed(header)}"
        )
    return name


def _rivals(header: Sequence[str], labels: list[str]) -> list[str] | None:
    """Returns names of labels and predictions, if the file may hold these instead."""
    if not labels:
        return None
    if regression := _column_names.regression_of(header):
        return [labels[0], *regression]
    try:
        columns = _column_names.columns_of(header, labels[0], Choice())
    except ValueError:  # Several sets of columns may be the predictions.
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
    hint: str = "",
) -> str:
    """Returns the name that the user chose, or the only name that is known.

    Raises:
      ValueError: no name is known, or several are.
    """
    chosen: str | None = getattr(choice, option)
    if chosen is not None:
        return existing(chosen, header, kind)
    if len(found) == 1:
        return found[0]
    if found:
        commands = typed_each(choice, option, found)
        raise ValueError(
            f"each of {listed(found)} may say {meaning}: choose the {kind} with "
            f"--{option}, as in {commands}"
        )
    if option == "confidence":
        rest = [name for name in header if name != choice.correct]
        for name in [*may_be_sure(rest), *among(rest, ("score",))][:1]:
            hint = f"; if `{name}` is it, type {typed(choice, confidence=name)}"
    grades = f" (or of grades {', '.join(GRADES)})" if option == "correct" else ""
    raise ValueError(
        f"one {kind} must say {meaning}: call it one of {', '.join(known)}{grades}, or "
        f"name it with --{option}{hint}. Received: {listed(header)}"
    )
