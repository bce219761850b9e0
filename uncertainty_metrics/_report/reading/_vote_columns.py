"""Finds the columns with the votes of each example for the classes, and reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._report.data._predictions import Confidences, ExampleError
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._answer_columns import (
    CONFIDENCES,
    saying_right,
)
from uncertainty_metrics._report.reading._classifier_from_columns import check_values
from uncertainty_metrics._report.reading._column_names import (
    VOTES,
    Choice,
    Columns,
    among,
    listed,
)
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics._report.reading._typed_commands import typed
from uncertainty_metrics._report.reading._votes import decisions_on_votes

_VOTES = re.compile(rf"{VOTES}(?:[_ .](?P<key>.+)|(?P<number>[0-9]+))", re.I | re.S)


class VoteColumns(NamedTuple):
    """The columns of votes, and those of the predictions.

    Attributes:
      names: the column of the votes for each class, in the order of the classes.
      predictions: the columns of the predictions.
      classes: names of the classes; empty if they are the numbers from 0.
    """

    names: list[str]
    predictions: Columns
    classes: tuple[str, ...]

    def checked(
        self, names: Sequence[str], header: Sequence[str], is_json: bool
    ) -> list[str]:
        """Returns which names a further part must have.

        Raises:
          ValueError: the part has votes for other classes.
        """
        found = [name for name in header if _VOTES.fullmatch(name)]
        _refuse_other_classes(found, self.names)
        return [n for n in names if not is_json or n not in self.names]


def vote_columns_of(
    header: Sequence[str], choice: Choice, is_json: bool
) -> VoteColumns | None:
    """Returns the columns of votes and of predictions; None if the file has no votes.

    Args:
      header: names of all columns.
      choice: the options of the user. Of a file with labels and votes, the label
        "votes" chooses the votes.
      is_json: whether the votes of a record may be an object that leaves out the
        classes without votes.

    Raises:
      ValueError: the file has labels, too; or the columns of votes and of predictions
        do not fit each other.
    """
    votes = _by_class(header)
    of_votes = {*votes.values()}
    others = [name for name in header if name not in of_votes]
    is_chosen = choice.label == VOTES and VOTES not in header
    is_other = choice.of_answers or choice.of_regression or saying_right(header)
    if not votes or is_other or (choice.label is not None and not is_chosen):
        return None
    labels = [] if is_chosen else among(others, _column_names.LABELS)
    if labels:
        if {*votes} <= {*_column_names.keys_of(others)}:
            raise ValueError(
                f"the file has labels (`{labels[0]}`) and votes "
                f"({listed(votes.values())}): choose with --label, as in "
                f"{typed(choice, label=labels[0])} or {typed(choice, label=VOTES)}"
            )
        return None
    if choice.multilabel or choice.ignore_index is not None:
        raise ValueError(
            "votes for classes take no --multilabel and no --ignore-index: leave out "
            "the rows that do not count"
        )
    columns = _column_names.columns_of(others, "", choice, lambda: list(votes))
    if columns is None:
        if among(others, CONFIDENCES) and not is_chosen:
            return None
        first = next(iter(votes))
        raise ValueError(
            f"the votes {listed(votes.values())} need a column of predictions for "
            f"each class, such as `p_{first}`; or choose the columns with "
            f"--probabilities. Received: {listed(others)}"
        )
    classes = _classes_of_one(votes, choice) if columns.alone else columns.classes
    if choice.positive_class is not None and not columns.alone:
        raise ValueError(
            "--positive-class needs labels, or predictions of one class alone: leave "
            "it out"
        )
    size = 2 if columns.alone else len(columns.names)
    keys = classes or tuple(map(str, range(size)))
    if {*votes} == {*map(str, range(size))} and not any(map(str.isdecimal, keys)):
        keys = tuple(map(str, range(size)))  # The votes are in the order of classes.
    names = [votes.get(key, f"{VOTES}.{key}") for key in keys]
    _refuse_other_classes([*votes.values()], names)
    absent = [key for key in keys if key not in votes]
    if absent and not (is_json and all("." in name for name in votes.values())):
        raise ValueError(
            f"there must be a column of votes for each of the classes {listed(keys)}. "
            f"Received: {listed(votes.values())}"
        )
    return VoteColumns(names, columns, classes)


def _by_class(header: Sequence[str]) -> dict[str, str]:
    """Returns the columns of votes by the names of the classes.

    Raises:
      ValueError: two columns are of the same class.
    """
    found: dict[str, str] = {}
    for name in header:
        if match := _VOTES.fullmatch(name):
            key = match["key"] or match["number"]
            if key in found:
                raise ValueError(
                    f"`{found[key]}` and `{name}` may both hold the votes for {key}: "
                    "rename or remove one of them"
                )
            found[key] = name
    return found


def _refuse_other_classes(votes: Sequence[str], known: Sequence[str]) -> None:
    expected = {*known}
    if unknown := [name for name in votes if name not in expected]:
        raise ValueError(
            f"`{unknown[0]}` has votes for a class without predictions: add its "
            f"predictions, or rename the column. The others are {listed(known)}"
        )


def _classes_of_one(votes: dict[str, str], choice: Choice) -> tuple[str, ...]:
    """Returns the names of two classes, of which one column predicts the second.

    Raises:
      ValueError: nothing says which class the column predicts.
    """
    if choice.classes and len(choice.classes) == 2:
        return choice.classes
    positive = choice.positive_class
    if positive is None and {*votes} <= {"0", "1"}:
        return ()
    others = [key for key in votes if key != positive]
    if positive in votes and len(others) == 1:
        return (others[0], str(positive))
    raise ValueError(
        "one column of predictions needs votes for two classes: say with "
        "--positive-class which of them it predicts. Received: votes for "
        f"{listed(votes)}"
    )


def decisions_in(
    source: str,
    table: Table,
    columns: VoteColumns,
    predictions: np.ndarray,
    numbers: np.ndarray,
    *,
    sample_weight: np.ndarray | None,
    **others: Any,
) -> Confidences:
    """Returns the decisions of a classifier, whose grades are their shares of votes.

    Args:
      source: name of the file.
      table: says where an example is.
      columns: what the numbers are.
      predictions: [N, K], or [N] for class 1 of two.
      numbers: those of the predictions, of the votes, and perhaps others, [N, columns].
      sample_weight: weights of the examples, or None.
      **others: `groups`, `features` and `clusters`, as in `Confidences`.

    Raises:
      ValueError: a value is not as it must be.
    """
    kind, start = columns.predictions.kind, len(columns.predictions.names)
    check_values(kind, predictions)
    votes = numbers[:, start : start + len(columns.names)]
    shares = _shares(table, columns.names, votes, sample_weight)
    return decisions_on_votes(
        source,
        None,
        {"label_distributions": shares, kind: predictions},
        sample_weight,
        columns.classes or None,
        **others,
    )


def _shares(
    table: Table,
    names: Sequence[str],
    votes: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Returns the shares of the votes for the classes, [N, K], of counts or shares.

    Raises:
      ExampleError: an example that counts has no vote, or a number of votes below 0.
    """
    counted = np.ones(len(votes), bool) if weights is None else weights != 0
    bad = ~((votes >= 0) & np.isfinite(votes)) & counted[:, None]
    if np.any(bad):
        row, column = np.argwhere(bad)[0].tolist()
        raise ExampleError(
            f"{table.place(row)}, column `{names[column]}` must be a number of votes, "
            f">= 0. Received: {votes[row, column]:g}"
        )
    sums = votes.sum(axis=1, keepdims=True)
    empty = (sums[:, 0] == 0) & counted
    if np.any(empty):
        row = int(np.argmax(empty))
        raise ExampleError(
            f"{table.place(row)}: the example has no vote for any of {listed(names)}; "
            "remove it, or give it the weight 0"
        )
    return np.divide(votes, sums, out=np.zeros_like(votes), where=sums > 0)
