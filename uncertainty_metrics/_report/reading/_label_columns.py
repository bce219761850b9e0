"""Finds several labels of each example, and makes a model of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics._report.data._predictions import (
    Clusters,
    ExampleError,
    Kind,
    MultiLabel,
)
from uncertainty_metrics._report.reading._checked_numbers import (
    refuse_nan,
    without_rounding,
)
from uncertainty_metrics._report.reading._column_names import (
    Choice,
    is_text,
    listed,
)
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics._report.reading._missing_labels import (
    LABEL,
    prefix_of_forecasts,
    renamed,
)
from uncertainty_metrics.numpy import class_names

_FORECAST = re.compile(
    r"(?P<kind>probability|probabilities|proba|prob|y_prob|p|y_logit|logit)[_ ]"
    r"(?P<key>.+)",
    re.I | re.S,
)
_FORMS = (
    "`label_NAME` (or `NAME`) with `prob_NAME` (or `p_NAME`, `logit_NAME`) for each "
    "label"
)
# More labels have no table of groups.
_MOST = 1000


class LabelColumns(NamedTuple):
    """The columns of several labels of each example, in one order.

    Attributes:
      names: of the labels.
      labels: the columns of their values.
      forecasts: the columns of their probabilities or logits.
      kind: "probabilities" or "logits".
    """

    names: list[str]
    labels: list[str]
    forecasts: list[str]
    kind: Kind


def label_columns_of(header: Sequence[str]) -> LabelColumns | None:
    """Returns the columns of labels with their forecasts; None if there are none.

    The column of the label NAME is `label_NAME`, or simply `NAME`, and that of its
    probability `prob_NAME`.

    Raises:
      ValueError: a label has no forecast, or the reverse.
    """
    forecasts: dict[str, str] = {}
    kinds: set[Kind] = set()
    for name in header:
        if match := _FORECAST.fullmatch(name):
            if match["key"] in forecasts:
                raise ValueError(
                    f"`{forecasts[match['key']]}` and `{name}` may both be the "
                    f"probability of `{match['key']}`: leave out one of them"
                )
            forecasts[match["key"]] = name
            is_logit = match["kind"].lower().endswith("logit")
            kinds.add("logits" if is_logit else "probabilities")
    labels: dict[str, str] = {}
    for name in header:
        match = LABEL.fullmatch(name)
        if match and name not in forecasts.values():
            labels[match["key"]] = name
    for key in forecasts:
        if key not in labels and key in header:
            labels[key] = key
    if not labels or not forecasts:
        return None
    if alone := [*(labels.keys() ^ forecasts.keys())]:
        columns = [{**labels, **forecasts}[key] for key in sorted(alone)]
        raise ValueError(
            f"with --multilabel the columns must be {_FORMS}. Without a partner: "
            f"{listed(columns)}"
        )
    if len(kinds) > 1:
        raise ValueError(
            "all labels must have probabilities, or all must have logits. Received: "
            f"{listed(forecasts.values())}"
        )
    names = [key for key in labels if key in forecasts]
    return LabelColumns(
        names,
        [labels[name] for name in names],
        [forecasts[name] for name in names],
        kinds.pop(),
    )


def check_choice(choice: Choice) -> None:
    """Raises ValueError if options do not fit to several labels of each example."""
    is_other = choice.of_answers or choice.of_survival or choice.of_regression
    if choice.of_classes or is_other or choice.groups or choice.searched:
        raise ValueError(
            "--multilabel takes no --label, --probabilities, --classes, "
            "--positive-class, --correct, --confidence, --percent, --group, --feature "
            "and no names of a survival model or a regression: make the report of a "
            "single label for these"
        )


def no_columns(header: Sequence[str]) -> ValueError:
    how = renamed(prefix_of_forecasts(header))
    return ValueError(
        f"with --multilabel the file must have the columns {_FORMS}"
        f"{how and f': {how}'}. Received: {listed(header)}"
    )


def multilabel_of(
    source: str,
    labels: Any,
    kind: Kind,
    values: Any,
    names: Sequence[str],
    *,
    sample_weight: np.ndarray | None = None,
    left_out: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    clusters: Clusters | None = None,
) -> MultiLabel:
    """Returns a model with several labels of each example.

    Args:
      source: name of the file.
      labels: 0 and 1, or booleans, [N, L].
      kind: "probabilities" or "logits".
      values: of the same shape.
      names: of the labels; empty for their numbers.
      sample_weight: [N], [N, 1] or a scalar; or None.
      left_out: as in `MultiLabel`.
      notes: as in `MultiLabel`.
      clusters: as in `MultiLabel`.

    Raises:
      ValueError: a shape or a label is wrong.
    """
    labels, values = np.asarray(labels), np.asarray(values)
    shape = labels.shape
    if labels.ndim != 2 or values.shape != shape or not shape[1] or not shape[0]:
        raise ValueError(
            "several labels of each example (multilabel) need labels [N, L] and "
            f"{kind} of the same shape. Received: shapes {list(shape)} and "
            f"{list(values.shape)}"
        )
    if shape[1] > _MOST:
        raise ValueError(
            f"there may be at most {_MOST} labels. Received: {shape[1]:,} columns"
        )
    if labels.dtype.kind not in "biuf" or not np.all((labels == 0) | (labels == 1)):
        wrong = np.argwhere(~np.isin(labels, [0, 1]))
        place = tuple(wrong[0].tolist()) if len(wrong) else (0, 0)
        raise ValueError(
            "each of several labels must be 0 or 1, or true or false. Received: "
            f"{labels[place]!s} at {list(place)}"
        )
    found = tuple(map(str, names)) or tuple(map(str, range(shape[1])))
    if len(found) != shape[1] or len({*found}) < len(found):
        raise ValueError(
            f"there must be {shape[1]} different names of labels. Received: "
            f"{listed(found)}"
        )
    if kind == "logits":
        values = special.expit(values.astype(np.float64))
    if sample_weight is not None:
        sample_weight = np.broadcast_to(
            np.asarray(sample_weight, np.float64).reshape(-1), shape[0]
        )
    return MultiLabel(
        source,
        labels.astype(np.int64),
        values,
        found,
        sample_weight,
        left_out,
        notes,
        clusters,
    )


def multilabel_in(
    source: str, table: Table, names: LabelColumns, weights: list[str], **others: Any
) -> MultiLabel:
    """Returns several labels of each example, which are numbers or booleans.

    Args:
      source: name of the file.
      table: holds them.
      names: of the columns of labels and forecasts.
      weights: name of the column of weights, or no name.
      **others: further arguments of `multilabel_of`.

    Raises:
      ValueError: a label is neither 0 nor 1.
    """
    read = [*names.forecasts, *weights]
    labels, numbers = _in_one_pass(table, names.labels, read) or (None, None)
    if numbers is None:
        _, numbers = table.read(names.labels[0], read)
    refuse_nan(table, read, numbers, bool(weights))
    if labels is None:
        labels = np.stack([_outcomes(table, name) for name in names.labels], axis=1)
    size = len(names.names)
    values = numbers[:, :size]
    return multilabel_of(
        source,
        labels,
        names.kind,
        without_rounding(values) if names.kind == "probabilities" else values,
        names.names,
        sample_weight=numbers[:, size] if weights else None,
        **others,
    )


def _in_one_pass(
    table: Table, labels: list[str], others: list[str]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns labels [N, L] and other numbers of a table that is read once; None if a
    label is anything but the number 0 or 1, or a cell is wrong.
    """
    try:
        _, numbers = table.read(labels[0], [*labels, *others])
    except ValueError:
        return None
    found, numbers = np.split(numbers, [len(labels)], axis=1)
    if {*labels} & {*table.percents} or not np.all((found == 0) | (found == 1)):
        return None
    return found, numbers


def _outcomes(table: Table, name: str) -> np.ndarray:
    """Returns a column of labels that are 0 or 1, or true or false, [N].

    Raises:
      ValueError: a label is something else.
    """
    column = class_names.text_array(table.read(name, [])[0], name)
    bad = ~np.isin(column, [0, 1])
    if is_text(column) or np.any(bad):
        index = int(np.argmax(bad))
        raise ExampleError(
            f"{table.place(index)}: `{name}` must be 0 or 1, or true or false. "
            f"Received: {column[index]}"
        )
    return column
