"""Reads new predictions without labels, in the same columns as those of a report."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Model,
    Predictions,
    ReportError,
    Unlabelled,
    silent,
)
from uncertainty_metrics._report.reading._checked_numbers import without_rounding
from uncertainty_metrics._report.reading._column_names import (
    Choice,
    existing,
    weights_in,
)
from uncertainty_metrics._report.reading._column_plans import plan_of
from uncertainty_metrics._report.reading._files import (
    TABLES,
    errors_of,
    kind_of,
    prediction_arrays,
    source_of,
)
from uncertainty_metrics._report.reading._ignored_rows import kept_rows
from uncertainty_metrics.numpy import _archive


def with_unlabelled(model: Model, new: Unlabelled) -> Predictions:
    """Returns a classifier with new predictions that have no labels.

    Raises:
      ReportError: the model is no classifier whose rows are known, or is an ensemble.
    """
    if not isinstance(model, Predictions) or model.is_ensemble:
        raise ReportError(
            "unlabelled predictions need a single classifier with labels, whose rows "
            "are in one file or in arrays"
        )
    own, given = np.shape(model.values)[1:], np.shape(new.values)[1:]
    if own != given:
        raise ReportError(
            f"{new.source or 'unlabelled'}: the predictions must have the shape of the "
            f"others, {[len(new.values), *own]}. Received: {[len(new.values), *given]}"
        )
    return dataclasses.replace(model, unlabelled=new)


def read_unlabelled(path: str, labelled: str, choice: Choice) -> Unlabelled:
    """Returns the predictions of a file, in the columns that another file has.

    Raises:
      ReportError: the file cannot be read, or a column is missing.
    """
    source = source_of(pathlib.Path(path))
    with errors_of(source), open(path, "rb") as file:
        kind = kind_of(pathlib.Path(path))
        if kind == "npz":
            archive = _archive.Archive(file)
            (name,) = prediction_arrays(list(archive.names), choice, False)
            names = [name, *weights_in(archive.names)]
            values, *weights = archive.read(names).values()
            if "logit" not in name.lower():
                values = without_rounding(values)
            return Unlabelled(source, values, *weights)
        return _of_table(source, TABLES[kind](file, silent), labelled, choice)


def _of_table(source: str, table: Any, labelled: str, choice: Choice) -> Unlabelled:
    kind = kind_of(pathlib.Path(labelled))
    if kind not in TABLES:
        raise ValueError("both files must be tables, or both .npz")
    with open(labelled, "rb") as file:
        columns = plan_of(kept_rows(TABLES[kind](file, silent), choice), choice).columns
    if columns is None:
        raise ValueError("--unlabelled needs a classifier")
    first, *others = (existing(name, table.header, "column") for name in columns.names)
    # There are no labels: the first column of predictions is read in their place.
    of_weights = weights_in(table.header)
    values, numbers = table.read(first, [*others, *of_weights])
    if values.dtype.kind not in "biuf":
        raise ValueError(f"`{first}` must hold numbers. Received: text")
    weights = numbers[:, -1] if of_weights else None
    values = values.astype(np.float64)
    if not columns.alone:
        rest = numbers[:, : len(others)]
        values = np.concatenate([values[:, None], rest], axis=1)
    if columns.kind == "probabilities":
        values = without_rounding(values)
    return Unlabelled(source, values, weights)
