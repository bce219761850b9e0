"""The section that shows the forecasts of three series as fans."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import QuantileForecasts, remembered
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics._report.data._series_in_time import (
    SeriesInTime,
    series_in_time,
)
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    significant,
)
from uncertainty_metrics._report.sections._diagrams import on_own_scales
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)

_MOST = 120  # Times of a fan: more cannot be told apart.


class _Fans(NamedTuple):
    """The forecasts that can be drawn as fans.

    Attributes:
      rows: the rows of each fan, in the order of time.
      series: the number of the series of each.
      scores: mean CRPS of each, over the scale of its series.
      are_scaled: whether the series have scales.
    """

    rows: list[np.ndarray]
    series: list[int]
    scores: np.ndarray
    are_scaled: bool


@remembered
def _fans(model: QuantileForecasts) -> _Fans | None:
    """Returns a fan of each series, or of each time at which it was forecast; None if
    the times do not say what follows what.
    """
    found = series_in_time(model)
    fan = None if found is None else _fan_of_rows(model, found)
    if found is None or fan is None:
        return None
    rows = quantiles_of(model)
    crps = um.crps_quantile_score(rows.target, rows.quantiles, rows.levels)
    order = np.lexsort([found.ranks, fan])
    parts = np.split(order, np.flatnonzero(np.diff(fan[order])) + 1)
    parts = [part[-_MOST:] for part in parts if len(part) > 1]
    scales = found.scales(model.season or 1)
    of_parts = scales[[found.codes[part[0]] for part in parts]]
    known = of_parts > 0
    are_scaled = bool(np.any(known))
    if are_scaled:
        parts = [part for part, keep in zip(parts, known, strict=True) if keep]
        of_parts = of_parts[known]
    else:
        of_parts = np.ones(len(parts))
    if not parts:
        return None
    scores = np.array([crps[part].mean() for part in parts]) / of_parts
    series = [int(found.codes[part[0]]) for part in parts]
    return _Fans(parts, series, scores, are_scaled)


def _fan_of_rows(model: QuantileForecasts, found: SeriesInTime) -> np.ndarray | None:
    """Returns the number of the fan of each row, [n].

    If a series has several rows for a time, they were forecast at different times: the
    place of the time less the horizon tells them apart.
    """
    places = found.codes * found.targets.shape[1] + found.ranks
    if len(np.unique(places)) == len(places):
        return found.codes
    horizons = quantiles_of(model).horizons
    if horizons is None or horizons.dtype.kind not in "iuf":
        return None
    made = found.ranks - horizons
    if np.any(made != np.floor(made)):
        return None
    made = (made - made.min()).astype(np.int64)
    fan = found.codes * (made.max() + 1) + made
    pairs = np.stack([fan, found.ranks])
    is_clear = len(np.unique(pairs, axis=1).T) == len(places)
    return fan if is_clear else None


def _chosen(fans: _Fans) -> dict[str, int]:
    """Returns the numbers of the best fan, of a typical one, and of the worst."""
    order = np.argsort(fans.scores, kind="stable")
    last = len(order) - 1
    places = {"best": 0, "typical": last // 2, "worst": last}
    if last < 2:
        places = {"best": 0, "worst": last} if last else {"only": 0}
    return {name: int(order[place]) for name, place in places.items()}


def _draw(models: dict[str, QuantileForecasts], num_bins: int) -> Any:
    """Draws the fans of the first model, one below the other."""
    del num_bins
    model = next(iter(models.values()))
    fans, found = _fans(model), series_in_time(model)
    assert fans is not None
    assert found is not None
    panels = {}
    for which, number in _chosen(fans).items():
        name = found.names[fans.series[number]]
        title = f"{which.capitalize()}: {name}" if name else which.capitalize()
        panels[title] = fans.rows[number]
    return on_own_scales(
        2.6,
        lambda rows, **options: _draw_fan(model, found, rows, **options),
        panels,
    )


def _draw_fan(
    model: QuantileForecasts, found: SeriesInTime, chosen: np.ndarray, ax: Any
) -> None:
    from uncertainty_metrics.visualization import _series

    rows = quantiles_of(model)
    times, quantiles = found.times[chosen], rows.quantiles[chosen]
    for level, low, high in rows.pairs:
        ax.fill_between(
            times,
            quantiles[:, low],
            quantiles[:, high],
            color=_series.color(0),
            alpha=0.8 / (len(rows.pairs) + 1),
            linewidth=0,
            label="intervals" if level == rows.pairs[0][0] else None,
        )
    middle = np.flatnonzero(np.isclose(rows.levels, 0.5, rtol=0, atol=1e-9))
    for place in middle:
        ax.plot(times, quantiles[:, place], color=_series.color(0), label="median")
    (points,) = ax.plot(
        times,
        rows.target[chosen],
        linestyle="none",
        marker="o",
        markersize=4,
        color="black",
        label="observed",
    )
    _series.set_tips(
        points,
        *(
            f"{_shown(time)}: {value:.4g}"
            for time, value in zip(times, rows.target[chosen], strict=True)
        ),
    )


def _shown(time: Any) -> str:
    text = str(time) if isinstance(time, np.datetime64) else f"{time:g}"
    return text.removesuffix("T00:00:00.000000").removesuffix(".000000")


FANS = ReportPicture(
    "fans.png",
    "with times, the quantiles and the targets of the best, a typical and the worst "
    "series",
    _draw,
    lambda models, num_bins: _fans(models[0]) is not None,
)


@dataclasses.dataclass(frozen=True)
class Fan:
    """A series that is drawn.

    Attributes:
      which: "best", "typical" or "worst" of all; "only" if there is no other one.
      series: its name.
      start: its first time.
      end: its last time.
      crps: mean CRPS, over the mean absolute difference between the targets of its
        series if there are such differences.
    """

    which: str
    series: str
    start: str
    end: str
    crps: float


@dataclasses.dataclass(frozen=True)
class Fans(Section):
    """Three series with their forecasts.

    Attributes:
      rule: how they were chosen, a sentence.
      fans: these series.
    """

    name = "fans"
    heading = "Forecasts as fans"
    tasks = ("quantiles",)
    pictures = (FANS,)

    rule: str
    fans: list[Fan]

    @classmethod
    def of(cls, report: ModelReport) -> Fans | None:
        fans, found = _fans(report.model), series_in_time(report.model)
        if fans is None or found is None:
            return None
        chosen = []
        for which, number in _chosen(fans).items():
            times = found.times[fans.rows[number]]
            chosen.append(
                Fan(
                    which,
                    found.names[fans.series[number]],
                    _shown(times[0]),
                    _shown(times[-1]),
                    float(fans.scores[number]),
                )
            )
        return cls(_rule(report.model, fans), chosen)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.rule)
        yield FANS.block(
            f"Forecasts as fans. {self.rule}",
            "Each shade is a central interval, the line is the median, and the dots "
            "are what was observed. The panels have scales of their own.",
        )
        yield Table(
            "The series of the picture",
            "series",
            ("from", "to", "CRPS"),
            [
                (
                    f"{each.which} {each.series}".strip(),
                    *(each.start, each.end, significant(each.crps)),
                )
                for each in self.fans
            ],
        )


def _rule(model: QuantileForecasts, fans: _Fans) -> str:
    number = len(fans.rows)
    unit = "series" if len({*fans.series}) == number else "forecasts of one time"
    score = "mean CRPS"
    if fans.are_scaled:
        ago = "one time" if (model.season or 1) == 1 else f"{model.season} times"
        score += (
            f" divided by the mean absolute difference of the targets {ago} apart in "
            "the series"
        )
    if number == 1:
        return f"The one series of the file; its {score}."
    return (
        f"Of {number:,} {unit} these have the smallest, the median and the largest "
        f"{score}."
    )
