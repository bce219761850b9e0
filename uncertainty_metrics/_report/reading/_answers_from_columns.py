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
    right = _right(*correct, counts, place)
    notes: list[str] = []
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


def _right(
    name: str, values: np.ndarray, counts: np.ndarray, place: Callable[[int], str]
) -> np.ndarray:
    """Returns whether each answer is right, from booleans, 0 and 1, or text."""
    values = values.reshape(-1)
    if _column_names.is_text(values):
        lower = np.char.lower(values)
        right, bad = lower == "true", ~np.isin(lower, ["true", "false"])
    else:
        right, bad = values == 1, (values != 0) & (values != 1)
    if np.any(bad & counts):
        expected = "true or false, or 1 and 0"
        raise _refused(name, expected, bad & counts, values, place)
    return right


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
