"""The section on the scores of forecasts by quantiles."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

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
    metrics_table,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    interval_of_mean,
)
from uncertainty_metrics._report.sections._constant_forecast import (
    GainOverConstant,
    against_constant,
    tile_of_gain,
)
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    Metric,
    interval,
    metrics,
)
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._quantile_numbers import (
    quantile_scores,
    summed_parts,
)

_MEANINGS = {
    "spread": "Part of the CRPS: the widths of the intervals.",
    "overprediction": "Part of the CRPS: targets below the forecasts.",
    "underprediction": "Part of the CRPS: targets above the forecasts.",
}


@dataclasses.dataclass(frozen=True)
class Crossing:
    """Rows whose quantiles do not ascend.

    Attributes:
      rows: their number.
      share: of all rows.
      levels: of the two neighbours that cross in most rows, or None.
      most: the number of rows where these cross.
    """

    rows: int
    share: float
    levels: tuple[float, float] | None
    most: int

    def sentence(self) -> str:
        if self.levels is None:
            return "The quantiles ascend with their level in every row."
        low, high = self.levels
        return (
            f"The quantiles cross in {self.rows:,} row{'s' if self.rows > 1 else ''} "
            f"({self.share:.2%}): most often, in {self.most:,}, that of level "
            f"{low:g} is above that of level {high:g}. "
            "Sorting the quantiles of each row corrects this, and never makes the CRPS "
            "larger."
        )


@dataclasses.dataclass(frozen=True)
class QuantileScoring(Section):
    """Scores of forecasts by quantiles; smaller is better.

    Attributes:
      metrics: the CRPS and its parts.
      crps: with its interval; None of a single row.
      skill: the share of the CRPS of the constant forecast that the model saves; None
        if that is 0.
      constant: the CRPS against that of a constant forecast.
      levels: mean pinball loss at each level.
      crossing: rows whose quantiles do not ascend.
    """

    name = "scoring_rules"
    heading = "Scores"
    tasks = ("quantiles",)

    metrics: dict[str, Metric]
    crps: Interval | None
    skill: float | None
    constant: GainOverConstant
    levels: dict[str, float]
    crossing: Crossing

    @classmethod
    def of(cls, report: ModelReport) -> QuantileScoring:
        rows, scores = quantiles_of(report.model), quantile_scores(report.model)
        clusters, weights = clusters_of(report.model), rows.weights
        meaning = "Twice the mean pinball loss of the quantiles."
        if rows.samples is not None:
            meaning = "Of the samples, with the estimator `fair` of `crps_score`."
        found = {"crps": (scores.crps, meaning)}
        found |= {name: (each, _MEANINGS[name]) for name, each in scores.parts.items()}
        constant = against_constant(scores.crps, scores.constant, weights, clusters)
        ends = None
        if len(scores.crps) > 1:
            ends = interval(*interval_of_mean(scores.crps, weights, clusters))
        return cls(
            metrics(
                {
                    name: (np.average(each, weights=weights), text)
                    for name, (each, text) in found.items()
                }
            ),
            ends,
            constant.gain / constant.constant if constant.constant > 0 else None,
            constant,
            {
                f"{level:g}": float(loss)
                for level, loss in zip(rows.levels, scores.levels, strict=True)
            },
            _crossing(rows),
        ).of_all_rows(report.model)

    def of_all_rows(self, model: QuantileForecasts) -> QuantileScoring:
        """Returns the section with the numbers that sums over all rows have, if there
        are any; the constant forecast is that of the rows of the sample.
        """
        sums, rows = model.sums, quantiles_of(model)
        if sums is None:
            return self
        crps = sums.mean("crps")
        half = crps.error * sums.quantile(INTERVAL_LEVEL)
        means = {"crps": crps.mean}
        if len(self.metrics) > 1:
            means |= summed_parts(rows, sums)
        return dataclasses.replace(
            self,
            metrics={
                name: dataclasses.replace(each, value=means[name])
                for name, each in self.metrics.items()
            },
            crps=interval(crps.mean - half, crps.mean, crps.mean + half),
            levels={
                f"{level:g}": sums.mean(("loss", i)).mean
                for i, level in enumerate(rows.levels)
            },
            crossing=_summed_crossing(rows, sums),
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        forecast = _constant_forecast(report)
        yield tile_of_gain(self.constant, "CRPS", forecast, significant)
        if self.crossing.levels is not None:
            yield Tile(
                "Crossing quantiles",
                f"{self.crossing.share:.1%} of the rows",
                self.crossing.sentence(),
                "bad" if self.crossing.share >= 0.01 else "unclear",
            )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        constant = self.constant
        text = f"The CRPS is {significant(self.metrics['crps'].value)}"
        if self.crps is not None:
            text += (
                f" ({INTERVAL_LEVEL:.0%} interval {significant(self.crps.low)} to "
                f"{significant(self.crps.high)})"
            )
        text += (
            f". Always forecasting {_constant_forecast(report)} of this file gives "
            f"{significant(constant.constant)}"
        )
        if self.skill is not None:
            text += f": the skill, the share that the model saves, is {self.skill:.1%}"
        yield Text(f"{text}.")
        yield metrics_table("Scores", "score", self.metrics, significant)
        words = "Smaller is better for all, in the unit of the targets."
        if len(self.metrics) > 1:
            words += (
                " The CRPS of these quantiles is also their weighted interval score "
                "(WIS), the sum of the three parts."
            )
        yield Text(words)
        yield Table(
            "Pinball loss of each quantile",
            "level",
            ("mean pinball loss",),
            [(level, significant(loss)) for level, loss in self.levels.items()],
        )
        if report.model.samples is None:
            yield Text(self.crossing.sentence())


def _constant_forecast(report: ModelReport) -> str:
    if report.model.samples is None:
        return "the quantiles of all targets"
    return "the distribution of all targets"


def _crossing(rows: QuantileRows) -> Crossing:
    crosses = rows.quantiles[:, :-1] > rows.quantiles[:, 1:]
    number = int(np.any(crosses, axis=1).sum())
    if not number:
        return Crossing(0, 0.0, None, 0)
    of_pairs = crosses.sum(axis=0)
    most = int(np.argmax(of_pairs))
    levels = (float(rows.levels[most]), float(rows.levels[most + 1]))
    share = number / len(rows.target)
    return Crossing(number, share, levels, int(of_pairs[most]))


def _summed_crossing(rows: QuantileRows, sums: QuantileSums) -> Crossing:
    """Returns what `_crossing` does, of all rows, each of which counts once."""
    number = sums.count("crosses")
    if not number:
        return Crossing(0, 0.0, None, 0)
    of_pairs = [sums.count(("crosses", i)) for i in range(len(rows.levels) - 1)]
    most = int(np.argmax(of_pairs))
    levels = (float(rows.levels[most]), float(rows.levels[most + 1]))
    return Crossing(number, number / sums.rows, levels, of_pairs[most])
