"""The section on the PIT values of forecasts by quantiles, which are intervals."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._pit_counts import pit_of
from uncertainty_metrics._report.data._predictions import QuantileForecasts
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics._report.data._row_clusters import (
    clusters_of,
    error_of_mean,
    quantile_of,
)
from uncertainty_metrics._report.sections._blocks import Block, Text, metrics_table
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._diagrams import panels
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import is_clear, shown_p_value
from uncertainty_metrics._report.sections._quantile_coverage import shares_of
from uncertainty_metrics._results import PITInterval


def _pit_of_all(
    model: QuantileForecasts,
) -> tuple[PITInterval, np.ndarray | None, np.ndarray | None]:
    """Returns PIT intervals, their weights, and of how many rows each is; None for
    weights of 1, and for one row each. Of a stream they are those of all rows.
    """
    if model.sums is not None:
        pit = model.sums.pit
        return pit.intervals, pit.weights, pit.counts
    return pit_of(model), quantiles_of(model).weights, None


def _draw(models: dict[str, QuantileForecasts], num_bins: int) -> Any:
    """Draws a histogram of the PIT intervals for each model."""

    def draw(model: QuantileForecasts, ax: Any, title: str) -> None:
        # `pit_diagram` takes a value for each row, and no counts of equal ones.
        from uncertainty_metrics.visualization.pit import draw_pit

        pit, _, counts = _pit_of_all(model)
        histogram = um.regression.pit_histogram(pit, num_bins, sample_weight=counts)
        band = None if _are_dependent(model) else INTERVAL_LEVEL
        draw_pit(histogram, ax, title, "steelblue", band)

    return panels(4.0, draw, models, "PIT histogram")


def _are_dependent(model: QuantileForecasts) -> bool:
    """Says whether the band of independent rows of equal weight does not hold."""
    return clusters_of(model) is not None or quantiles_of(model).weights is not None


PIT_OF_QUANTILES = ReportPicture(
    "pit_histogram.png",
    "histogram of the PIT intervals, flat if the forecasts are calibrated",
    _draw,
)


@dataclasses.dataclass(frozen=True)
class PitOfQuantiles(Section):
    """The PIT intervals, whose mass is spread evenly: uniform if quantiles are right.

    Attributes:
      verdict: a few sentences.
      metrics: mean, variance and calibration error of the spread mass.
      p_value: that of the quantile with the smallest p-value, times their number.
      histogram: the fields of what `um.regression.pit_histogram` returns.
    """

    name = "pit"
    heading = "Probability integral transform"
    tasks = ("quantiles",)
    pictures = (PIT_OF_QUANTILES,)

    verdict: str
    metrics: dict[str, Metric]
    p_value: float
    histogram: dict[str, list[float]]

    @classmethod
    def of(cls, report: ModelReport) -> PitOfQuantiles:
        rows, clusters = quantiles_of(report.model), clusters_of(report.model)
        pit, weights, _ = _pit_of_all(report.model)
        mean = float(np.average(_middle(pit), weights=weights))
        options: dict[str, Any] = {"sample_weight": weights}
        error = um.regression.pit_calibration_error(pit, report.num_bins, **options)
        histogram = um.regression.pit_histogram(pit, report.num_bins, **options)
        found = {
            "mean": (mean, "0.5 if calibrated; lower if forecasts are too high."),
            "variance": (
                float(np.average(_squares(pit, mean), weights=weights)),
                "0.0833 if calibrated; higher if intervals are too narrow.",
            ),
            "calibration_error": (
                error,
                "Mean distance of the coverage of central intervals from their level.",
            ),
        }
        tested = shares_of(report.model)
        p = min(1.0, len(tested) * min(each.p_value for each in tested))
        # Standard errors need rows, so that those of a stream are of its sample.
        of_rows = pit_of(report.model)
        middle = _middle(of_rows)
        squares = _squares(of_rows, float(np.average(middle, weights=rows.weights)))
        sides = [
            _side(values, target, rows.weights, clusters)
            for values, target in ((middle, 1 / 2), (squares, 1 / 12))
        ]
        return cls(
            _verdict(p, len(tested), *sides),
            metrics(found),
            p,
            {name: values.tolist() for name, values in histogram._asdict().items()},
        )

    def blocks(self, report: ModelReport) -> list[Block]:
        bars = "Chance alone explains a bar that ends within the band."
        if clusters_of(report.model) is not None:
            bars = "Chance moves the bars more than those of as many independent rows."
        elif quantiles_of(report.model).weights is not None:
            bars = "Every row of positive weight counts once."
        return [
            Text(self.verdict),
            PIT_OF_QUANTILES.block(
                f"Histogram of the PIT intervals. {self.verdict}",
                "Between two quantiles nothing is known, so the mass of a target is "
                "spread evenly over the levels between its neighbours: the histogram "
                "of right quantiles is flat, however few they are. It looks like a U "
                "if the forecasts are too narrow, like a hill if they are too wide, "
                f"and it is slanted if they are biased. {bars}",
            ),
            metrics_table("PIT values", "metric", self.metrics),
        ]


def _middle(pit: PITInterval) -> np.ndarray:
    """Returns the means of the spread masses of intervals."""
    return (pit.lower + pit.upper) / 2


def _squares(pit: PITInterval, mean: float) -> np.ndarray:
    """Returns the mean squared distances of the spread masses of intervals from a mean:
    the mass is spread evenly over an interval, which has a variance of its own.
    """
    return (_middle(pit) - mean) ** 2 + (pit.upper - pit.lower) ** 2 / 12


def _side(
    values: np.ndarray,
    target: float,
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> int:
    """Returns -1 if the mean of the values [n] is below the target beyond chance, 1 if
    it is above, else 0.
    """
    shares = np.ones(len(values)) if weights is None else weights
    shares = shares / shares.sum()
    off = float(shares @ values) - target
    half = quantile_of(INTERVAL_LEVEL, clusters) * error_of_mean(
        values, shares, clusters
    )
    return int(np.sign(off)) if abs(off) > half else 0


def _verdict(p: float, number: int, bias: int, spread: int) -> str:
    """Returns a few sentences.

    Args:
      p: p-value of all quantiles together.
      number: of quantiles.
      bias: the side of 1/2 on which the mean is.
      spread: the side of 1/12 on which the variance is.
    """
    verdict = (
        "The PIT values of calibrated forecasts are uniform. "
        f"{'These are not' if is_clear(p) else 'These may be'} "
        f"(p {shown_p_value(p)}, for the {number} levels together)."
    )
    if is_clear(p) and bias:
        verdict += f" The forecasts tend to be too {'high' if bias < 0 else 'low'}."
    if is_clear(p) and spread:
        verdict += f" They tend to be too {'narrow' if spread > 0 else 'wide'}."
    return verdict
