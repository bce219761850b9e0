"""The models in a file of forecasts whose rows are of several models."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Model,
    QuantileForecasts,
    ReportError,
)
from uncertainty_metrics._report.data._row_subsets import taken
from uncertainty_metrics._report.data._time_blocks import in_blocks_of_time


def each_model(models: Sequence[Model]) -> list[Model]:
    """Returns the models, those of one file one by one, in the order of their rows.

    Raises:
      ReportError: a file of several models was read part by part.
    """
    return [part for model in models for part in _parts(model)]


def _parts(model: Model) -> list[Model]:
    if not isinstance(model, QuantileForecasts) or model.models is None:
        return [model]
    of_rows = np.array([str(name) for name in model.models])
    names = list(dict.fromkeys(of_rows.tolist()))
    if len(names) == 1:
        return [in_blocks_of_time(dataclasses.replace(model, models=None))]
    shown = ", ".join(names[:10]) + (" and others" if len(names) > 10 else "")
    if model.sums is not None:
        raise ReportError(
            f"{model.source}: the rows are of several models, {shown}, and too "
            "many to be kept: write a file for each model, or choose the columns of "
            "one with --probabilities"
        )
    note = f"{model.source} has the forecasts of {len(names)} models: {shown}."
    return [
        in_blocks_of_time(
            dataclasses.replace(
                taken(model, np.flatnonzero(of_rows == name)),
                source=name,
                models=None,
                notes=(note, *model.notes),
            )
        )
        for name in names
    ]
