"""The section that compares forecasts with the seasonal naive forecast."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import QuantileForecasts
from uncertainty_metrics._report.data._quantile_rows import QuantileRows, quantiles_of
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.data._series_in_time import (
    SeriesInTime,
    series_in_time,
)
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    Tile,
    significant,
)
from uncertainty_metrics._report.sections._constant_forecast import (
    GainOverConstant,
    against_constant,
    tile_of_gain,
)
from uncertainty_metrics._report.sections._metrics_and_intervals import Number
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._p_values import shown_p_value
from uncertainty_metrics._report.sections._quantile_numbers import weighted_quantiles

_CANNOT = "The skill against the seasonal naive forecast is not known: "


class _Naive(NamedTuple):
    """The seasonal naive forecast of the rows that have one.

    Attributes:
      rows: these rows, [m].
      quantiles: [m, Q].
    """

    rows: np.ndarray
    quantiles: np.ndarray


@dataclasses.dataclass(frozen=True)
class SeasonalSkill(Section):
    """The CRPS against that of the seasonal naive forecast.

    Attributes:
      season: number of times of a season.
      verdict: a few sentences.
      rows: number of rows that have a seasonal naive forecast.
      gain: the CRPS of these rows against that of the seasonal naive forecast; None if
        no row has one.
      skill: the share of the CRPS that the model saves.
      scaled_crps: mean over the rows of the CRPS over the mean absolute seasonal
        difference of the series; None if no series has one.
    """

    name = "season"
    heading = "Against the seasonal naive forecast"
    tasks = ("quantiles",)

    season: int
    verdict: str
    rows: int = 0
    gain: GainOverConstant | None = None
    skill: Number = None
    scaled_crps: Number = None

    @classmethod
    def of(cls, report: ModelReport) -> SeasonalSkill | None:
        model, season = report.model, report.model.season
        if season is None:
            return None
        found, rows = series_in_time(model), quantiles_of(model)
        if found is None:
            return cls(season, f"{_CANNOT}{_why_no_series(model)}.")
        crps = um.crps_quantile_score(rows.target, rows.quantiles, rows.levels)
        scales = found.scales(season)[found.codes]
        scaled = _scaled(crps, scales, rows.weights)
        naive = _seasonal_naive(rows, found, scales, season)
        if isinstance(naive, str):
            return cls(season, f"{_CANNOT}{naive}.", scaled_crps=scaled)
        chosen, clusters = naive.rows, clusters_of(model)
        weights = None if rows.weights is None else rows.weights[chosen]
        if clusters is not None:
            clusters = np.unique(clusters[chosen], return_inverse=True)[1]
            if clusters.max() == 0:
                clusters = None
        of_naive = um.crps_quantile_score(
            rows.target[chosen], naive.quantiles, rows.levels
        )
        gain = against_constant(crps[chosen], of_naive, weights, clusters)
        skill = gain.gain / gain.constant if gain.constant > 0 else None
        verdict = _verdict(gain, skill, len(chosen), len(crps))
        return cls(season, verdict, len(chosen), gain, skill, scaled)

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        if self.gain is None:
            yield Tile(self.heading, "Not known", self.verdict, "unclear")
            return
        forecast = (
            "the target of the season before, with the spread of such differences,"
        )
        tile = tile_of_gain(self.gain, "CRPS", forecast, significant)
        yield tile._replace(title=self.heading)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        if self.gain is not None:
            yield Text(
                "The seasonal naive forecast is the target one season before, of "
                f"{self.season} times, or as many seasons before as were known when "
                "the forecast was made. Its quantiles have the spread of such "
                "differences, in proportion to their mean absolute size in the series. "
                "It knows this spread from the same rows, so it is a little better "
                "than in practice. A time is a step from one time of the file to the "
                "next; without horizons all forecasts are taken as made within a "
                "season."
            )
        if self.scaled_crps is not None:
            yield Text(
                f"The scaled CRPS is {significant(self.scaled_crps)}: the CRPS of each "
                "row over the mean absolute difference between targets of its series "
                "one season apart, so that series of any unit count alike."
            )


def _why_no_series(model: QuantileForecasts) -> str:
    if model.times is None:
        return "no column says the time of a row (time, ds, timestamp or date)"
    if model.sums is not None:
        return "the rows are a sample, which lacks the targets of the season before"
    return "a series has different targets at one time"


def _scaled(
    crps: np.ndarray, scales: np.ndarray, weights: np.ndarray | None
) -> float | None:
    known = scales > 0
    if weights is not None:
        known &= weights > 0
    if not np.any(known):
        return None
    shares = None if weights is None else weights[known]
    return float(np.average(crps[known] / scales[known], weights=shares))


def _seasonal_naive(
    rows: QuantileRows, found: SeriesInTime, scales: np.ndarray, season: int
) -> _Naive | str:
    """Returns the seasonal naive forecast, or why there is none.

    Args:
      rows: the rows.
      found: where they are in their series.
      scales: mean absolute seasonal difference of the series of each row, [n].
      season: number of times of a season.
    """
    horizons = np.ones(len(scales)) if rows.horizons is None else rows.horizons
    if horizons.dtype.kind not in "iuf" or np.any(horizons <= 0):
        return "the horizons are not numbers of times > 0"
    back = season * np.ceil(horizons / season).astype(np.int64)
    places = found.ranks - back
    last = np.where(
        places >= 0, found.targets[found.codes, np.maximum(places, 0)], np.nan
    )
    chosen = np.flatnonzero(np.isfinite(last) & (scales > 0))
    if not len(chosen):
        return (
            "the file does not hold the targets of the season before any forecast was "
            f"made, {season} times or more earlier in the same series"
        )
    last, scales, back = last[chosen], scales[chosen], back[chosen]
    errors = (rows.target[chosen] - last) / scales
    weights = scales if rows.weights is None else scales * rows.weights[chosen]
    quantiles = np.empty((len(chosen), len(rows.levels)))
    for each in np.unique(back):  # The more seasons ago, the wider.
        some = back == each
        steps = weighted_quantiles(errors[some], weights[some], rows.levels)
        quantiles[some] = last[some, None] + scales[some, None] * steps
    return _Naive(chosen, quantiles)


def _verdict(gain: GainOverConstant, skill: Number, some: int, size: int) -> str:
    of_rows = ""
    if some < size:
        of_rows = (
            f" on the {some:,} of {size:,} rows for which the file holds the target of "
            "the season before"
        )
    text = (
        f"The CRPS is {significant(gain.model)}, and that of the seasonal naive "
        f"forecast {significant(gain.constant)}{of_rows}"
    )
    if skill is None:
        return f"{text}."
    return (
        f"{text}: the skill, the share that the model saves, is {skill:.1%} "
        f"(p {shown_p_value(gain.p_value)})."
    )
