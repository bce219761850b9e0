"""The section on the scores of a regression's forecasts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import Regression
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    Tile,
    metrics_table,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._constant_forecast import (
    GainOverConstant,
    against_constant,
    tile_of_gain,
)
from uncertainty_metrics._report.sections._forecast_numbers import (
    forecast_numbers,
    weighted_mean,
)
from uncertainty_metrics._report.sections._intervals import Intervals
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics.numpy.regression import _forecasts

_MEANINGS = {
    "rmse": "Root mean squared error of the means.",
    "crps": "Like absolute error, for the whole distribution.",
    "negative_log_likelihood": "In nats, of the density, so it may be negative.",
}


@dataclasses.dataclass(frozen=True)
class ForecastScores(Section):
    """Scores of the forecasts; smaller is better.

    Attributes:
      metrics: the scores.
      constant: the CRPS against that of a constant forecast.
    """

    name = "scoring_rules"
    heading = "Scoring rules"
    tasks = ("regression",)

    metrics: dict[str, Metric]
    constant: GainOverConstant

    @classmethod
    def of(cls, report: ModelReport) -> ForecastScores:
        numbers = forecast_numbers(report.model, report.num_bins)
        found = {name: (numbers.values[name], text) for name, text in _MEANINGS.items()}
        weights = numbers.data["sample_weight"]
        return cls(metrics(found), _gain(report.model, numbers.crps, weights))

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        forecast = "mean and standard deviation of the targets"
        yield tile_of_gain(self.constant, "CRPS", forecast, significant)

    def error_tile(self, report: ModelReport) -> Tile:
        """Returns the tile on the error of the means, which comes first."""
        rmse, constant = self.metrics["rmse"].value, self.constant.stddev
        ends = report[Intervals].metrics.get("rmse")
        interval, level = "", "unclear"
        if ends:
            side = ends.side_of(constant)
            level = {-1: "good", 0: "unclear", 1: "bad"}[side]
            interval = (
                f" {INTERVAL_LEVEL:.0%} interval {significant(ends.low)} to "
                f"{significant(ends.high)}."
            )
        return Tile(
            "Error",
            significant(rmse),
            f"Root mean squared error.{interval} Always predicting the mean of the "
            f"targets: {significant(constant)}.",
            level,
        )

    def blocks(self, report: ModelReport) -> list[Block]:
        table = metrics_table("Scores", "score", self.metrics, significant)
        return [table, Text("Smaller is better for all.")]


def _gain(
    model: Regression, crps: np.ndarray, weights: np.ndarray | None
) -> GainOverConstant:
    """Compares the model with a constant forecast.

    The constant forecast is Normal, with the mean and the standard deviation of the
    targets.
    """
    (targets,), _ = _forecasts.included(
        {"targets": model.target}, sample_weight=model.sample_weight
    )
    targets = targets.astype(np.float64)
    mean = weighted_mean(targets, weights)
    stddev = weighted_mean((targets - mean) ** 2, weights) ** 0.5
    scores = um.crps_normal_score(targets, mean, stddev)
    found = against_constant(crps, scores, weights, clusters_of(model))
    return dataclasses.replace(found, stddev=stddev)
