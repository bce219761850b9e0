"""Notes on rows that may not be what the report takes them for."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._decided import examples_of
from uncertainty_metrics._report.data._predictions import Confidences, Predictions, Rows
from uncertainty_metrics._report.data._row_clusters import QUESTIONS

# With fewer examples, or fewer different rows, chance may be the reason.
_MANY, _DISTINCT = 10, 20
# Two rows that agree in this many predictions are taken for equal.
_COMPARED = 8
_DEPEND = (
    "Rows of one question, one patient or one example depend on each other, but "
    "intervals and tests take all rows as independent: they are too sure."
)


def notes_on_rows(model: Rows) -> list[str]:
    """Returns notes on rows that repeat, and on predictions that are decisions."""
    notes = _on_decisions(model)
    if model.clusters is not None:
        return notes
    if isinstance(model, Predictions) and (on_axes := note_on_axes(model.labels.shape)):
        return [*notes, on_axes]
    questions = model.questions if isinstance(model, Confidences) else None
    on_questions = questions and note_on_repeats(questions.name, questions.values)
    if on_questions:
        notes.append(on_questions)
    elif (times := _repetition(model)) > 1:
        size = len(examples_of(model).labels)
        notes.append(
            f"Equal rows come in multiples of {times}: the {size:,} rows may be "
            f"{size // times:,} examples in {times} epochs. {_DEPEND} Name a column "
            "that is equal for rows of one example with --cluster (clusters= in "
            "Python)."
        )
    return notes


def note_on_axes(shape: tuple[int, ...]) -> str | None:
    """Returns a note on labels of several axes, such as pixels, without clusters."""
    if len(shape) < 2 or shape[0] in (1, math.prod(shape)):
        return None
    return (
        f"The labels have shape {list(shape)}. Pixels of one image, or words of one "
        "text, depend on each other, but intervals and tests take all as independent: "
        f"they are too sure. Pass clusters=np.arange({shape[0]}); for a file, name an "
        f"array of {shape[0]} ids with --cluster."
    )


def note_on_repeats(name: str, values: Sequence[Any]) -> str | None:
    """Returns a note if the values of a column that tells rows apart repeat."""
    given = [str(value) for value in values if value is not None]
    different = len(set(given))
    if different == len(given):
        return None
    number = f"{different:,} values of `{name}`"
    if name.lower() in QUESTIONS:
        number = f"{different:,} questions"
    return (
        f"{number}, {len(given):,} rows: name the column with --cluster {name} "
        f"(clusters= in Python). {_DEPEND}"
    )


def _on_decisions(model: Rows) -> list[str]:
    examples = examples_of(model)
    if len(examples.labels) < _MANY or examples.name == "logits":
        return []
    probabilities = examples.probabilities
    if not np.all((probabilities == 0) | (probabilities == 1)):
        return []
    what = "confidences" if isinstance(model, Confidences) else "probabilities"
    return [
        f"All {what} are 0 or 1: they seem to be decisions. Pass the {what} "
        "themselves, as `predict_proba` of scikit-learn returns them."
    ]


def _repetition(model: Rows) -> int:
    """Returns how often every row occurs: the largest number by which all counts of
    equal rows can be divided, or 1 if there are few different rows.
    """
    examples = examples_of(model)
    labels, predictions = examples.labels, examples.predictions
    if len(labels) < 2 * _DISTINCT:
        return 1
    columns = np.linspace(0, predictions.shape[1] - 1, _COMPARED).round().astype(int)
    some = predictions[:, np.unique(columns)].astype(np.float64)
    # Most predictions have many digits, and the first row is the only one of its kind.
    if np.sum(np.all(some == some[0], axis=1) & (labels == labels[0])) < 2:
        return 1
    outcomes = [labels] if examples.shares is None else [labels, *examples.shares.T]
    rows = np.ascontiguousarray(np.column_stack([*outcomes, some]))
    as_bytes = rows.view([("", rows.dtype)] * rows.shape[1]).reshape(-1)
    _, counts = np.unique(as_bytes, return_counts=True)
    if len(counts) < _DISTINCT:
        return 1
    return functools.reduce(math.gcd, counts.tolist())
