"""Leaves out the rows whose label says that they do not count, such as -100."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import Model, Predictions
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
            f"some labels must not be --ignore-index. Received: {ignored} in each of "
            f"{labels.size} labels"
        )
    return kept


def kept_values(array: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Returns the values of an array [...] or [..., K] at the labels that count, where
    one value of an image is that of each of its pixels; and another array as it is.

    Args:
      array: any array of a file.
      kept: which labels count, boolean [...].
    """
    shared = min(array.ndim, kept.ndim)
    if not shared or array.shape[:shared] != kept.shape[:shared]:
        return array
    missing = (1,) * (kept.ndim - shared)
    whole = np.broadcast_to(
        array.reshape(array.shape + missing), kept.shape + array.shape[kept.ndim :]
    )
    return whole[kept]


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


def with_note_on_ignored(model: Model, shape: tuple[int, ...], choice: Choice) -> Model:
    """Returns a classifier with a note on how many of its rows were left out.

    Args:
      model: made of the rows that count.
      shape: that of all labels.
      choice: the options of the user.
    """
    if choice.ignore_index is None:
        return model
    if not isinstance(model, Predictions):
        raise needs_classifier()
    number = math.prod(shape) - len(model.labels)
    row = "row" if len(shape) == 1 else "example"
    rows = f"1 {row} has" if number == 1 else f"{number:,} {row}s have"
    note = f"{rows} the label {choice.ignore_index}, and no number counts them."
    notes = [note]
    if choice.cluster is None and (on_axes := note_on_axes(shape)):
        notes.append(on_axes)
    return dataclasses.replace(model, notes=(*model.notes, *notes))


def needs_classifier() -> ValueError:
    """Returns the error for what is no classifier."""
    return ValueError(
        "--ignore-index needs a classifier with one label for each row: leave it out"
    )
