"""The section on the calibration of a regression: coverage of its intervals."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._normal_forecasts import (
    forecasts_of,
    normal_arguments,
)
from uncertainty_metrics._report.data._predictions import Regression
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    metrics_table,
    number,
    significant,
)
from uncertainty_metrics._report.sections._diagrams import drawn
from uncertainty_metrics._report.sections._findings import calibrated
from uncertainty_metrics._report.sections._forecast_numbers import forecast_numbers
from uncertainty_metrics._report.sections._forecast_scores import ForecastScores
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import (
    p_value,
    shown_p_value,
    verdict_on_chance,
)
from uncertainty_metrics._report.sections._temperature import Temperature, direction_of

_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
_NUM_DRAWS = 2000  # Draws of the error of a calibrated model.


def _draw(models: dict[str, Regression], num_bins: int) -> Any:
    """Draws one diagram with the coverage of intervals of all models."""
    data = {name: normal_arguments(forecasts_of(it)) for name, it in models.items()}
    return drawn(5.4, _draw_curves, data=data, num_bins=num_bins)


def _draw_curves(ax: Any, data: dict[str, dict[str, Any]], num_bins: int) -> None:
    from uncertainty_metrics.visualization import _series, regression

    for i, (name, arguments) in enumerate(data.items()):
        curve = um.regression.compute_calibration_curve(**arguments, n_bins=num_bins)
        error = um.regression.expected_calibration_error(**arguments, n_bins=num_bins)
        regression.draw_curve(
            ax,
            curve,
            color=_series.color(i),
            marker=_series.marker(i),
            label=_series.label(name, f"ECE = {error:.3f}"),
        )
    regression.label_coverages(ax)
    _series.finish(ax, True, "Coverage of intervals")


COVERAGE = ReportPicture(
    "reliability_diagram.png", "coverage of intervals against their level", _draw
)

ON_CLUSTERS = (
    " What chance alone gives is for one example a cluster, as if all examples of a "
    "cluster were one."
)


@dataclasses.dataclass(frozen=True)
class LevelCoverage:
    """Coverage and mean width of the central intervals of a level."""

    level: float
    coverage: float
    width: float


@dataclasses.dataclass(frozen=True)
class CoverageCurve:
    """Coverage of central intervals at even levels."""

    levels: list[float]
    coverages: list[float]


@dataclasses.dataclass(frozen=True)
class Coverage(Section):
    """Coverage of central intervals against their level.

    Attributes:
      verdict: a few sentences.
      metrics: ECE and ENCE.
      ece_by_chance: an ECE that a calibrated model rarely exceeds.
      p_value: the probability that a calibrated model has an ECE as large.
      levels: coverage and width at some levels.
      curve: coverage at even levels.
    """

    name = "calibration"
    heading = "Calibration of intervals"
    tasks = ("regression",)
    pictures = (COVERAGE,)

    verdict: str
    metrics: dict[str, Metric]
    ece_by_chance: float
    p_value: float
    levels: list[LevelCoverage]
    curve: CoverageCurve

    @classmethod
    def of(cls, report: ModelReport) -> Coverage:
        model, num_bins = report.model, report.num_bins
        data = forecast_numbers(model, num_bins).data
        curve = um.regression.compute_calibration_curve(**data, n_bins=num_bins)
        error = um.regression.expected_calibration_error(**data, n_bins=num_bins)
        size = max(int(effective_examples(model)), 1)
        draws = _drawn_errors(tuple(curve["expected_coverage"].tolist()), size)
        chance, p = float(np.quantile(draws, 0.95)), p_value(draws, error)
        found = {
            "ece": (error, f"Mean of |coverage - level| over {num_bins} levels."),
            "ence": (
                um.regression.ence(**data, n_bins=num_bins),
                "Compares predicted variances with squared errors; 0 is best.",
            ),
        }
        _, verdict = direction_of(report)
        if clusters_of(model) is not None:
            verdict += ON_CLUSTERS
        return cls(
            f"{verdict} Coverage and level of the intervals differ by "
            f"{100 * error:.1f} percentage points on average. By chance alone a "
            f"calibrated model would show up to about {100 * chance:.1f} on such data; "
            f"{verdict_on_chance(p)}.",
            metrics(found),
            chance,
            p,
            _levels_of(data),
            CoverageCurve(
                curve["expected_coverage"].tolist(), curve["observed_coverage"].tolist()
            ),
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        yield report[ForecastScores].error_tile(report)
        temperature, p = report[Temperature], self.p_value
        factor = temperature.metrics["stddev_factor"].value
        direction = temperature.direction
        value, level = calibrated(p, direction and f"{direction}confident")
        least, most = (bound**0.5 for bound in temperature.temperature_by_chance)
        yield Tile(
            "Calibration",
            value,
            "Coverage and level of the intervals differ by "
            f"{self.metrics['ece'].value:.3f} on average; a calibrated model would "
            f"show up to {self.ece_by_chance:.3f} here; p {shown_p_value(p)} for this "
            f"value. Errors are {factor:.3g} times as large as predicted; chance alone "
            f"gives {least:.3g} to {most:.3g} times.",
            level,
        )

    def blocks(self, report: ModelReport) -> list[Block]:
        levels = [
            (f"{row.level:.0%}", number(row.coverage), significant(row.width))
            for row in self.levels
        ]
        return [
            Text(self.verdict),
            COVERAGE.block(
                "Reliability diagram: observed coverage of central intervals against "
                f"their level. {self.verdict}",
                "Above the diagonal the intervals are too wide (underconfident); below "
                "the diagonal they are too narrow (overconfident).",
            ),
            Table("Central intervals", "interval", ("coverage", "mean width"), levels),
            metrics_table("Calibration errors", "metric", self.metrics),
        ]


def _levels_of(data: dict[str, Any]) -> list[LevelCoverage]:
    coverages = np.asarray(um.regression.interval_coverage(**data, level=_LEVELS))
    widths = np.asarray(
        um.regression.interval_width(
            data["uncertainties"], _LEVELS, sample_weight=data["sample_weight"]
        )
    )
    return [
        LevelCoverage(level, float(coverage), float(width))
        for level, coverage, width in zip(_LEVELS, coverages, widths, strict=True)
    ]


@functools.lru_cache(maxsize=2)
def _drawn_errors(levels: tuple[float, ...], size: int) -> np.ndarray:
    """Draws the mean |coverage - level| of a calibrated model."""
    edges = np.array([0.0, *levels, 1.0])
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(size, np.diff(edges), size=_NUM_DRAWS)
    coverages = np.cumsum(counts[:, :-1], axis=1) / size
    return np.abs(coverages - np.array(levels)).mean(axis=1)
