"""The section on the coverage of forecasts by quantiles."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import QuantileForecasts
from uncertainty_metrics._report.data._quantile_rows import QuantileRows, quantiles_of
from uncertainty_metrics._report.data._quantile_sums import QuantileSums
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    number,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._diagrams import drawn
from uncertainty_metrics._report.sections._findings import graded
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import is_clear, shown_p_value
from uncertainty_metrics._report.sections._quantile_numbers import (
    TestedShare,
    share_from,
    tested_share,
)


def _draw(models: dict[str, QuantileForecasts], num_bins: int) -> Any:
    """Draws the share of targets at or below each quantile, of all models."""
    del num_bins
    return drawn(5.4, _draw_shares, models=models)


def _draw_shares(ax: Any, models: dict[str, QuantileForecasts]) -> None:
    from uncertainty_metrics.visualization import _series

    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=1)
    for i, (name, model) in enumerate(models.items()):
        rows, found = quantiles_of(model), shares_of(model)
        shares = np.array([each.share for each in found])
        ends = np.array([(each.low, each.high) for each in found]).T
        errors = np.abs(ends - shares)
        ax.errorbar(
            rows.levels, shares, errors, fmt="none", color=_series.color(i), zorder=2
        )
        (points,) = ax.plot(
            rows.levels,
            shares,
            linestyle="none",
            marker=_series.marker(i),
            color=_series.color(i),
            label=_series.label(name, "share of targets, with 95% interval"),
        )
        _series.set_tips(
            points,
            *(
                f"level {level:g}: {each.share:.1%} of the targets at or below "
                f"({each.low:.1%} to {each.high:.1%})"
                for level, each in zip(rows.levels, found, strict=True)
            ),
        )
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel="Level of the quantile", ylabel="Share of targets at or below it")
    _series.finish(ax, True, "Targets below the quantiles")


SHARES = ReportPicture(
    "reliability_diagram.png",
    "share of the targets at or below each quantile, against its level",
    _draw,
)


def shares_of_quantiles(
    rows: QuantileRows, clusters: np.ndarray | None
) -> list[TestedShare]:
    """Returns the share of the targets at or below the quantile of each level."""
    return [
        tested_share(
            rows.target < rows.quantiles[:, i],
            rows.target <= rows.quantiles[:, i],
            float(level),
            rows.weights,
            clusters,
        )
        for i, level in enumerate(rows.levels)
    ]


@dataclasses.dataclass(frozen=True)
class CentralInterval:
    """The coverage of the central intervals of a level, and their mean width."""

    level: float
    coverage: TestedShare
    width: float


def central_intervals(
    rows: QuantileRows, clusters: np.ndarray | None
) -> list[CentralInterval]:
    """Returns the coverage of each pair of quantiles, the widest interval first."""
    found = []
    for level, i, j in rows.pairs:
        low, high, y = rows.quantiles[:, i], rows.quantiles[:, j], rows.target
        coverage = tested_share(
            (low < y) & (y < high),
            (low <= y) & (y <= high),
            level,
            rows.weights,
            clusters,
        )
        width = float(np.average(high - low, weights=rows.weights))
        found.append(CentralInterval(level, coverage, width))
    return found


def summed_intervals(
    rows: QuantileRows, sums: QuantileSums, horizon: Hashable | None = None
) -> list[CentralInterval]:
    """Returns what `central_intervals` does, from the sums over all rows, or over those
    of a horizon; `rows` are some of them.
    """
    found = []
    for level, i, j in rows.pairs:
        coverage = _summed_share(
            sums, ("inside", i, j), ("inside or at an end", i, j), level, horizon
        )
        low, high = (sums.mean(("error", k), horizon).mean for k in (i, j))
        found.append(CentralInterval(level, coverage, low - high))
    return found


def _summed_share(
    sums: QuantileSums,
    strictly: Hashable,
    at_most: Hashable,
    level: float,
    horizon: Hashable | None = None,
) -> TestedShare:
    first, second = (sums.mean(name, horizon) for name in (strictly, at_most))
    return share_from((first.mean, first.size), (second.mean, second.size), level)


def intervals_of(model: QuantileForecasts) -> list[CentralInterval]:
    rows = quantiles_of(model)
    if model.sums is not None:
        return summed_intervals(rows, model.sums)
    return central_intervals(rows, clusters_of(model))


def shares_of(model: QuantileForecasts) -> list[TestedShare]:
    rows = quantiles_of(model)
    if model.sums is None:
        return shares_of_quantiles(rows, clusters_of(model))
    return [
        _summed_share(model.sums, ("below", i), ("at or below", i), float(level))
        for i, level in enumerate(rows.levels)
    ]


@dataclasses.dataclass(frozen=True)
class SharesBelow:
    """The share of the targets at or below the quantile of a level."""

    level: float
    below: TestedShare


@dataclasses.dataclass(frozen=True)
class QuantileCoverage(Section):
    """How often the intervals of forecasts hold what came.

    Attributes:
      verdict: a few sentences.
      intervals: the central intervals, the widest first.
      quantiles: the share of targets at or below each quantile.
      p_value: the smallest of all, times the number of tests.
      finding: what the test with the smallest p-value found, in a few words.
    """

    name = "calibration"
    heading = "Coverage"
    tasks = ("quantiles",)
    pictures = (SHARES,)

    verdict: str
    intervals: list[CentralInterval]
    quantiles: list[SharesBelow]
    p_value: float
    finding: str

    @classmethod
    def of(cls, report: ModelReport) -> QuantileCoverage:
        model = report.model
        intervals, levels = intervals_of(model), quantiles_of(model).levels
        below = [
            SharesBelow(float(level), share)
            for level, share in zip(levels, shares_of(model), strict=True)
        ]
        tested = [
            *(
                (each.coverage, _of_interval(each), ("too narrow", "too wide"))
                for each in intervals
            ),
            *(
                (each.below, _of_quantile(each), ("too low", "too high"))
                for each in below
            ),
        ]
        # The first has the smallest p-value, or of equal ones is of an interval.
        share, sentence, words = min(tested, key=lambda each: each[0].p_value)
        p = min(1.0, share.p_value * len(tested))
        what = "Intervals" if words[0] == "too narrow" else "Quantiles"
        word = words[share.side > 0]
        finding = f"{what} {word}"
        if is_clear(p):
            end = (
                f"The {what.lower()} are {word}: chance alone would not explain this "
                f"(p {shown_p_value(p)}"
            )
        else:
            end = (
                f"Chance may explain what differs from the levels (p {shown_p_value(p)}"
            )
        verdict = f"{sentence} {end}, for all {len(tested)} tests together)."
        return cls(verdict, intervals, below, p, finding)

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        value, level = graded(self.p_value, self.finding, "May be right")
        yield Tile("Coverage", value, self.verdict, level)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        yield SHARES.block(
            f"The share of the targets at or below each quantile. {self.verdict}",
            "Of right forecasts the points lie on the diagonal. Below it, "
            "quantiles are too low; above it, too high.",
        )
        if self.intervals:
            yield Table(
                "Central intervals",
                "interval",
                ("coverage", "from", "to", "p", "mean width"),
                [
                    (
                        f"{each.level:.4g}",
                        *_cells(each.coverage),
                        significant(each.width),
                    )
                    for each in self.intervals
                ],
            )
        yield Table(
            "Targets at or below each quantile",
            "level",
            ("share", "from", "to", "p"),
            [(f"{each.level:g}", *_cells(each.below)) for each in self.quantiles],
        )
        by = "rows"
        if clusters_of(report.model) is not None:
            name = report.model.clusters.name
            by = f"clusters (`{name}`)" if name else "clusters"
        yield Text(
            f"The {INTERVAL_LEVEL:.0%} intervals take the {by} as independent of each "
            "other. A target that is equal to a quantile counts as at or below it; the "
            "p-values let it count on either side."
        )


def _cells(share: TestedShare) -> tuple[str, ...]:
    numbers = (share.share, share.low, share.high)
    return (*map(number, numbers), shown_p_value(share.p_value).removeprefix("= "))


def _of_interval(each: CentralInterval) -> str:
    found = each.coverage
    return (
        f"The {100 * each.level:.4g}% intervals hold {found.share:.1%} of the targets "
        f"({INTERVAL_LEVEL:.0%} interval {found.low:.1%} to {found.high:.1%})."
    )


def _of_quantile(each: SharesBelow) -> str:
    found = each.below
    return (
        f"{found.share:.1%} of the targets are at or below the quantile of level "
        f"{each.level:g} ({INTERVAL_LEVEL:.0%} interval {found.low:.1%} to "
        f"{found.high:.1%})."
    )
