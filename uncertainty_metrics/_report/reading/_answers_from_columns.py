"""Makes answers with confidences of the columns of files, or of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    ExampleError,
    Questions,
)
from uncertainty_metrics._report.reading import _column_names, _option_likelihoods
from uncertainty_metrics._report.reading._answer_columns import GRADES
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.ensemble.sampled_answers import SampledAgreement

_BY_LIKELIHOODS = (
    "There are no confidences. The report takes the largest probability of an option, "
    "by the softmax of the log-likelihoods in "
    f"`{_option_likelihoods.LIKELIHOODS}`, as the confidence."
)
_BY_SAMPLES = (
    "There are no confidences. The report takes the share of the most frequent sampled "
    "answer as the confidence."
)


def answers_of(
    source: str,
    correct: tuple[str, np.ndarray],
    confidences: tuple[str, np.ndarray] | None,
    samples: tuple[str, Any] | None,
    place: Callable[[int], str],
    *,
    likelihoods: Sequence[Any] | None = None,
    percent: bool = False,
    sample_weight: np.ndarray | None = None,
    left_out: tuple[str, ...] = (),
    groups: Mapping[str, Any] | None = None,
    features: Mapping[str, Any] | None = None,
    questions: Questions | None = None,
    clusters: Clusters | None = None,
) -> Confidences:
    """Returns answers whose confidences are in [0, 1].

    Args:
      source: name of the file.
      correct: name and values of the column or array that says whether each answer is
        right.
      confidences: name and values of the one that says how sure each answer is; None
        if likelihoods or samples give the confidence.
      samples: name and values of the one with a list of several answers to each
        question; or None.
      place: returns the place of an answer in the file, for a message.
      likelihoods: the log-likelihoods of the options of each question, as
        lm-evaluation-harness writes them, or None.
      percent: whether confidences are percent.
      sample_weight: broadcastable to the answers, or None.
      left_out: as in `Confidences`.
      groups: as in `Confidences`.
      features: as in `Confidences`.
      questions: as in `Confidences`.
      clusters: as in `Confidences`.

    Raises:
      ValueError: a value is not valid.
    """
    shape = correct[1].shape
    if confidences is not None:
        _checks.paired(confidences[0], confidences[1].shape, correct[0], shape)
    counts = np.ones(correct[1].size, bool)
    if sample_weight is not None:
        sample_weight = _inputs.sample_weights(sample_weight, shape)
        counts = sample_weight > 0  # Answers of weight 0 may hold any value.
    right, are_graded = outcomes_of(*correct, counts, place)
    notes = _notes_on_outcomes(correct[0], are_graded)
    agreement = None
    if samples is not None:
        try:
            agreement = _agreement(*samples, len(right), place)
        except ValueError as wrong:
            if confidences is None and likelihoods is None:
                raise
            notes.append(f"Left out: {wrong}")
    if confidences is not None:
        values = _confidences(*confidences, counts, percent, place)
        small = int(np.sum((values > 0) & (values <= 0.01) & counts))
        if percent and small:
            notes.append(
                f"{small} of the confidences are above 0% and at most 1%: are they "
                "percent like the others?"
            )
        if are_graded:
            _check_not_swapped(correct[0], confidences[0], values[counts])
    elif percent:
        raise ValueError("--percent needs a column of confidences")
    elif likelihoods is not None:
        notes.append(_BY_LIKELIHOODS)
        values = _option_likelihoods.confidences_of(likelihoods, place)
    else:
        assert agreement is not None
        notes.append(_BY_SAMPLES)
        values = agreement.agreement
    return Confidences(
        source,
        right,
        values,
        sample_weight,
        left_out,
        tuple(notes),
        groups or {},
        agreement,
        questions,
        clusters,
        are_graded,
        features or {},
    )


def check_percent(largest: float) -> None:
    """Raises ValueError if confidences seem not to be the percent that they are taken
    for, by the largest of all, divided by 100.
    """
    if largest <= 0.01:
        raise ValueError(
            "the confidences are at most 1 everywhere, so they seem not to be percent: "
            "leave out --percent"
        )


def _refused(
    name: str, expected: str, bad: np.ndarray, values: Any, place: Callable[[int], str]
) -> ExampleError:
    """Returns the error for the first bad value, with the place of this value."""
    index = int(np.argmax(bad))
    return ExampleError(
        f"{place(index)}: `{name}` must be {expected}. Received: {values[index]}"
    )


def outcomes_of(
    name: str, values: np.ndarray, counts: np.ndarray, place: Callable[[int], str]
) -> tuple[np.ndarray, bool]:
    """Returns whether each answer is right, boolean [N], or its grade in [0, 1],
    float64 [N]; and whether they are grades: some are neither 0 nor 1.

    Args:
      name: name of the column or array.
      values: booleans, numbers, or text: true and false, or votes such as 3/5.
      counts: which answers count; the others may hold any value.
      place: returns the place of an answer in the file, for a message.
    """
    values = values.reshape(-1)
    grades = numbers_of(values)
    with np.errstate(invalid="ignore"):
        bad = ~((grades >= 0) & (grades <= 1)) & counts
    if np.any(bad):
        expected = "true or false, a number in [0, 1], or votes such as 3/5"
        known = grades[np.isfinite(grades) & counts]
        if len(known) and known.min() >= 0 and known.max() > 1:
            expected += " (divide grades by the highest possible grade)"
        raise _refused(name, expected, bad, values, place)
    grades = np.where(counts, grades, 0.0)
    is_right = grades == 1
    if np.all(is_right | (grades == 0)):
        return is_right, False
    return grades, True


def are_outcomes(values: np.ndarray) -> bool:
    """Says whether all values may be outcomes: true or false, in [0, 1], or votes."""
    numbers = numbers_of(values.reshape(-1))
    return bool(np.all((numbers >= 0) & (numbers <= 1)))


def numbers_of(values: np.ndarray) -> np.ndarray:
    """Returns outcomes as float64 [N]: true and 5/5 are 1; NaN for what is no outcome.

    Args:
      values: booleans, numbers or text, [N].
    """
    if not _column_names.is_text(values):
        if not _inputs.holds_numbers(values):
            return np.full(len(values), np.nan)
        return values.astype(np.float64)
    different, places = np.unique(values, return_inverse=True)
    return np.array([_number(text) for text in different.tolist()])[places]


def _number(text: str) -> float:
    text = text.strip().lower()
    if text in ("true", "false"):
        return float(text == "true")
    numerator, slash, denominator = text.partition("/")
    try:
        share = float(numerator)
        return share / float(denominator) if slash else share
    except (ValueError, ZeroDivisionError):
        return np.nan


def _notes_on_outcomes(name: str, are_graded: bool) -> list[str]:
    """Returns a note on how the outcomes are read, if their name leaves it open."""
    if not are_graded:
        if name.lower() not in GRADES:
            return []
        return [
            f"`{name}` is read as whether each answer is right, because it is 0 or 1 "
            "everywhere."
        ]
    return [f"`{name}` is read as the grade of each answer, from 0 (wrong) to 1."]


def _check_not_swapped(correct: str, confidence: str, values: np.ndarray) -> None:
    """Raises ValueError if the outcomes are between 0 and 1, and the confidences are
    both 0 and 1: then the two may be swapped.
    """
    if set(np.unique(values).tolist()) == {0.0, 1.0}:
        raise ValueError(
            f"`{correct}`, which says whether answers are right, holds numbers between "
            f"0 and 1, and `{confidence}`, which says how sure they are, only 0 and 1: "
            "are they swapped? For a file, --correct and --confidence name the columns"
        )


def _confidences(
    name: str,
    values: np.ndarray,
    counts: np.ndarray,
    percent: bool,
    place: Callable[[int], str],
) -> np.ndarray:
    """Returns confidences in [0, 1]; percent are divided by 100."""
    values = _inputs.native_floating(_inputs.as_array(name, values).reshape(-1))
    largest = 100 if percent else 1
    limit = largest * _inputs.upper_limit(values.dtype)
    bad = ~((values >= 0) & (values <= limit)) & counts
    if np.any(bad):
        raise _refused(name, _expected(values, percent), bad, values, place)
    return values / 100 if percent else values


def _expected(values: np.ndarray, percent: bool) -> str:
    """Returns the range that confidences must have, with a hint how to get there."""
    finite = values[np.isfinite(values)]
    if percent:
        return "in [0, 100]"
    if not np.all(np.isfinite(values)):
        return "a number in [0, 1]"
    if np.all((finite >= 0) & (finite <= 100)):
        return "in [0, 1] (divide percent by 100; for a file, --percent does)"
    if np.all(finite <= 0):
        return "in [0, 1] (take the exponential of log-probabilities)"
    return "in [0, 1]"


def _agreement(
    name: str, samples: Sequence[Any], size: int, place: Callable[[int], str]
) -> SampledAgreement:
    """Returns the agreement of the samples of each question.

    Raises:
      ValueError: the samples are not lists of equally many answers.
    """
    expected = f"`{name}` must hold a list of equally many answers to each question"
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in samples]
    for index, row in enumerate(rows):
        received = ""
        if not isinstance(row, list | tuple) or not row:
            received = "no list" if row is not None else "nothing"
        elif len(row) != len(rows[0]):
            received = f"{len(row)} answers, but {len(rows[0])} to the first question"
        if received:
            raise ExampleError(f"{place(index)}: {expected}. Received: {received}")
    if len(rows) != size:
        raise ValueError(
            f"{expected}. Received: {len(rows)} lists for {size} questions"
        )
    try:
        return um.sampled_agreement(rows)
    except (TypeError, ValueError) as wrong:
        raise ValueError(str(wrong).replace("`answers`", f"`{name}`")) from None
