"""Rows of predictions: some of them, and parts joined to a whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    MultiLabel,
    Predictions,
    QuantileForecasts,
    Questions,
    Regression,
    Survival,
)
from uncertainty_metrics.numpy.ensemble.sampled_answers import SampledAgreement

RowModel = TypeVar(
    "RowModel",
    Predictions,
    Confidences,
    Regression,
    QuantileForecasts,
    Survival,
    MultiLabel,
)
# The attributes that have a value for each row.
_BY_ROW = (
    *("labels", "probabilities", "values", "correct", "confidences", "mean", "target"),
    *("times", "event", "risks", "quantiles", "horizons", "sample_weight"),
)


def _columns_of(model: Any) -> tuple[str, ...]:
    """Returns the names of the attributes that have a value for each row."""
    # The samples of answers are kept in another form.
    if isinstance(model, QuantileForecasts):
        return (*_BY_ROW, "samples", "series", "models")
    return _BY_ROW


def num_rows(model: Any) -> int:
    """Returns the number of rows: of examples, along the first axis."""
    names = ("correct", "target", "values", "times", "labels")
    return len(next(getattr(model, name) for name in names if hasattr(model, name)))


def taken(model: RowModel, rows: Any) -> RowModel:
    """Returns the rows of a model that a slice or an array of integers chooses."""
    changed: dict[str, Any] = {}
    for name in _columns_of(model):
        values = getattr(model, name, None)
        if values is not None:
            # Weights may have one value for many rows.
            alone = name == "sample_weight" and np.ndim(values) == 0
            changed[name] = values if alone else values[rows]
    if isinstance(model, Predictions | Confidences):
        for kind in ("groups", "features"):
            columns = getattr(model, kind).items()
            changed[kind] = {name: column_of(values)[rows] for name, values in columns}
    if not isinstance(model, Survival) and model.clusters is not None:
        column, ids = model.clusters
        changed["clusters"] = Clusters(column, column_of(ids)[rows])
    if isinstance(model, Confidences):
        if model.votes is not None:
            shares, forecasts = model.votes.shares[rows], model.votes.values[rows]
            changed["votes"] = model.votes._replace(shares=shares, values=forecasts)
        if model.samples is not None:
            fields = (values[rows] for values in model.samples)
            changed["samples"] = SampledAgreement(*fields)
        if model.questions is not None:
            name, values = model.questions
            chosen = np.arange(len(values))[rows].tolist()
            changed["questions"] = Questions(name, [values[i] for i in chosen])
    return dataclasses.replace(model, **changed)


def column_of(values: Any) -> np.ndarray:
    """Returns the values of an attribute as an array.

    In an array of text each value would be as wide as the longest one.
    """
    is_list = isinstance(values, list | tuple)
    return np.asarray(values, object if is_list else None)


def joined(models: Sequence[RowModel]) -> RowModel:
    """Returns one model with the rows of all, and else the attributes of the first."""
    first = models[0]
    changed: dict[str, Any] = {}
    for name in _columns_of(first):
        parts = [getattr(model, name, None) for model in models]
        if any(part is not None for part in parts):
            ones = (np.ones(num_rows(model)) for model in models)
            changed[name] = np.concatenate(
                [
                    one if part is None else part
                    for part, one in zip(parts, ones, strict=True)
                ]
            )
    if isinstance(first, Predictions | Confidences):
        for kind in ("groups", "features"):
            each = [getattr(model, kind) for model in models]
            changed[kind] = {
                name: np.concatenate([column_of(columns[name]) for columns in each])
                for name in each[0]
            }
    if isinstance(first, QuantileForecasts) and first.clusters is not None:
        series = [m.clusters for m in models if isinstance(m, QuantileForecasts)]
        ids = np.concatenate([column_of(each.values) for each in series if each])
        changed["clusters"] = Clusters(first.clusters.name, ids)
    if isinstance(first, Confidences):
        answers = [model for model in models if isinstance(model, Confidences)]
        if named := [each.clusters.name for each in answers if each.clusters]:
            ids_of_parts = [
                [f"{k} {i}" for i in range(num_rows(each))]  # Each row is one.
                if each.clusters is None
                else each.clusters.values
                for k, each in enumerate(answers)
            ]
            ids = np.concatenate([column_of(part) for part in ids_of_parts])
            changed["clusters"] = Clusters(named[0], ids)
        graded = [each for each in answers if each.are_graded]
        if graded:  # The others happen to hold only the grades 0 and 1.
            changed |= {"are_graded": True, "notes": graded[0].notes}
        samples = [each.samples for each in answers if each.samples is not None]
        if len(samples) == len(models):
            changed["samples"] = SampledAgreement(
                *(np.concatenate(fields) for fields in zip(*samples, strict=True))
            )
        else:  # A part without them has a note that says why.
            notes = (note for each in answers for note in each.notes)
            changed |= {"samples": None, "notes": tuple(dict.fromkeys(notes))}
        votes = [each.votes for each in answers if each.votes is not None]
        if votes:
            changed["votes"] = votes[0]._replace(
                shares=np.concatenate([each.shares for each in votes]),
                values=np.concatenate([each.values for each in votes]),
            )
        questions = [each.questions for each in answers if each.questions]
        if questions:
            values = [value for asked in questions for value in asked.values]
            changed["questions"] = Questions(questions[0].name, values)
    return dataclasses.replace(first, **changed)
