"""Leaves out the rows whose label says that they do not count, such as -100."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import Model, Predictions
from uncertainty_metrics._report.data._row_subsets import column_of
from uncertainty_metrics._report.data._suspicious_rows import note_on_axes
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics.numpy import class_names


def is_kept(labels: np.ndarray, ignored: int) -> np.ndarray:
    """Returns which labels, numbers or text [...], are not the one to ignore.

    Raises:
      ValueError: none is.
    """
    plain = class_names.text_array(labels)
    kept: np.ndarray = plain != (str(ignored) if plain.dtype.kind == "U" else ignored)
    if not np.any(kept):
        raise ValueError(
            f"some labels must not be the label to ignore. Received: {ignored} for "
            f"each of {labels.size} examples"
        )
    return kept


def counted_examples(
    labels: np.ndarray,
    kind: str,
    values: np.ndarray,
    ignored: int,
    others: Mapping[str, Any],
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Returns the n examples of a classifier that count.

    Args:
      labels: shape [...].
      kind: "probabilities" or "logits".
      values: shaped as in `Predictions`.
      ignored: the label of the examples to leave out.
      others: further fields of `Predictions`.

    Returns:
      The labels [n], the predictions [n], [n, K] or [n, M, K], and the fields.

    Raises:
      ValueError: no label counts, or shapes do not fit.
    """
    of_one_member = values
    if labels.ndim > 0 and np.ndim(values) == labels.ndim + 2:  # An ensemble.
        values = np.moveaxis(values, 1, labels.ndim)
        of_one_member = values[..., 0, :]
    _checks.layout(labels.shape, of_one_member.shape, kind)
    kept = is_kept(labels, ignored)

    def of_kept(name: str, value: Any) -> np.ndarray:
        array = column_of(value)
        shape = _checks.aligned_shape(name, array.shape, labels.shape)
        return np.broadcast_to(array.reshape(shape), labels.shape)[kept]

    found = dict(others)
    if others.get("sample_weight") is not None:
        found["sample_weight"] = of_kept("sample_weight", others["sample_weight"])
    if (clusters := others.get("clusters")) is not None:
        values_of = of_kept("clusters", clusters.values)
        found["clusters"] = clusters._replace(values=values_of)
    for field in ("groups", "features"):
        columns = others.get(field, {}).items()
        found[field] = {name: of_kept(name, column) for name, column in columns}
    notes = [note_on_ignored(labels.size - np.count_nonzero(kept), ignored)]
    if clusters is None and (on_axes := note_on_axes(labels.shape)):
        notes.append(on_axes)
    found["notes"] = (*others.get("notes", ()), *notes)
    return labels[kept], values[kept], found


def note_on_ignored(number: int, ignored: int) -> str:
    """Returns how many examples were left out, for the reader of the report."""
    examples = "1 example has" if number == 1 else f"{number:,} examples have"
    return f"{examples} the label {ignored}, and no number counts them."


class KeptRows:
    """The rows of a table that count."""

    def __init__(self, table: Table, ignored: int, label: str) -> None:
        self.header, self.others = table.header, table.others
        self.notes, self.cluster = table.notes, table.cluster
        self.percents = table.percents
        self._table = table
        self._rows = np.flatnonzero(is_kept(table.read(label, [])[0], ignored))

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the labels and the columns of numbers."""
        labels, numbers = self._table.read(label, names)
        return labels[self._rows], numbers[self._rows]

    def columns(self, names: Sequence[str]) -> list[list[Any]]:
        """Returns the values of columns."""
        rows = self._rows.tolist()
        return [[values[i] for i in rows] for values in self._table.columns(names)]

    def place(self, index: int) -> str:
        """Returns where in the file a row that counts is."""
        return self._table.place(int(self._rows[index]))


def refuse_ignored(choice: Choice) -> None:
    """Raises ValueError if the user ignores rows of what is no classifier."""
    is_other = choice.of_answers or choice.of_regression or choice.multilabel
    if choice.ignore_index is not None and (is_other or choice.horizon is not None):
        raise needs_classifier()


def kept_rows(table: Table, choice: Choice) -> Table:
    """Returns the table without the rows that the user wants to ignore."""
    if choice.ignore_index is None:
        return table
    refuse_ignored(choice)
    label = _column_names.label_of(table.header, choice)
    return KeptRows(table, choice.ignore_index, label)


def with_note_on_ignored(model: Model, before: int, choice: Choice) -> Model:
    """Returns a classifier with a note on how many of its rows were left out.

    Args:
      model: made of the rows that count.
      before: the number of all rows.
      choice: the options of the user.
    """
    if choice.ignore_index is None:
        return model
    if not isinstance(model, Predictions):
        raise needs_classifier()
    note = note_on_ignored(before - len(model.labels), choice.ignore_index)
    return dataclasses.replace(model, notes=(*model.notes, note))


def needs_classifier() -> ValueError:
    """Returns the error for what is no classifier."""
    return ValueError(
        "ignore_index (--ignore-index) needs a classifier with one label for each "
        "example: leave it out"
    )
