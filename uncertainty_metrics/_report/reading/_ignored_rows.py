"""Leaves out the rows whose label says that they do not count, such as -100."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import Model, Predictions
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics.numpy import class_names


def is_kept(labels: np.ndarray, ignored: int) -> np.ndarray:
    """Returns which labels, numbers or text [N], are not the one to ignore.

    Raises:
      ValueError: none is, or there is not one label for each row.
    """
    if labels.ndim != 1:
        raise ValueError(
            "--ignore-index needs one label for each row: in Python choose the labels "
            "and predictions that count, and say with `clusters` which image each is "
            f"of. Received: labels of shape {list(labels.shape)}"
        )
    plain = class_names.text_array(labels)
    kept: np.ndarray = plain != (str(ignored) if plain.dtype.kind == "U" else ignored)
    if not np.any(kept):
        raise ValueError(
            f"some labels must not be --ignore-index. Received: {ignored} in each of "
            f"{len(labels)} rows"
        )
    return kept


class KeptRows:
    """The rows of a table that count."""

    def __init__(self, table: Table, ignored: int, label: str) -> None:
        self.header, self.others = table.header, table.others
        self.notes, self.cluster = table.notes, table.cluster
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
    number = before - len(model.labels)
    rows = "1 row has" if number == 1 else f"{number:,} rows have"
    note = f"{rows} the label {choice.ignore_index}, and no number counts them."
    return dataclasses.replace(model, notes=(*model.notes, note))


def needs_classifier() -> ValueError:
    """Returns the error for what is no classifier."""
    return ValueError(
        "--ignore-index needs a classifier with one label for each row: leave it out"
    )
