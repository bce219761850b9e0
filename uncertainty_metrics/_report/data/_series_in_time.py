"""Forecasts of series in time: the seasonal naive forecast, and the scale of series."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import (
    Model,
    QuantileForecasts,
    ReportError,
    remembered,
)
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics.numpy import _inputs


class SeriesInTime(NamedTuple):
    """Where the rows of positive weight are in their series.

    Attributes:
      names: of the series, [S]; "" for a single one without a name.
      codes: number of the series of each row, [n].
      times: of each row, [n].
      ranks: place of the time of each row among all times, [n].
      targets: of each series at each time, NaN where the file has none, [S, T].
    """

    names: list[str]
    codes: np.ndarray
    times: np.ndarray
    ranks: np.ndarray
    targets: np.ndarray

    def scales(self, season: int) -> np.ndarray:
        """Returns the mean absolute difference between targets so many times apart, of
        each series; NaN where no two are, [S].
        """
        found = np.full(len(self.targets), np.nan)
        if season < self.targets.shape[1]:
            pairs = self.targets[:, season:] - self.targets[:, :-season]
            known = ~np.all(np.isnan(pairs), axis=1)
            if np.any(known):
                history = self.targets[known]
                found[known] = um.regression.seasonal_error(history, season)
        return found


@remembered
def series_in_time(model: QuantileForecasts) -> SeriesInTime | None:
    """Returns where the rows are in their series; None if they have no times, are a
    sample of all rows, or differ in the target of one time of a series.
    """
    if model.times is None or model.sums is not None:
        return None
    target = quantiles_of(model).target
    counted = np.ones(np.shape(model.target), bool)
    if model.sample_weight is not None:
        counted = _inputs.sample_weights(model.sample_weight, counted.shape) > 0
    times = np.asarray(model.times)[counted]
    names, codes = [""], np.zeros(len(target), np.int64)
    if model.series is not None:
        texts = np.array([str(name) for name in np.asarray(model.series)[counted]])
        found, codes = np.unique(texts, return_inverse=True)
        names = found.tolist()
    distinct, ranks = np.unique(times, return_inverse=True)
    targets = np.full((len(names), len(distinct)), np.nan)
    targets[codes, ranks] = target
    if np.any(targets[codes, ranks] != target):
        return None
    return SeriesInTime(names, codes, times, ranks, targets)


def with_season(model: Model, season: int, name: str) -> Model:
    """Returns forecasts with the number of times of a season.

    Args:
      model: the forecasts.
      season: at least 1.
      name: of the argument or option that says the season.

    Raises:
      ReportError: the model does not have forecasts by quantiles or samples.
    """
    if not isinstance(model, QuantileForecasts):
        raise ReportError(
            f"{name} needs forecasts by quantiles or samples, of series in time"
        )
    return dataclasses.replace(model, season=season)
