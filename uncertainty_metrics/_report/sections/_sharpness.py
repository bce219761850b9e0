"""The section on sharpness: how large the predicted standard deviations are."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._normal_forecasts import triples_of
from uncertainty_metrics._report.data._predictions import Regression
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    metrics_table,
    significant,
)
from uncertainty_metrics._report.sections._diagrams import panels
from uncertainty_metrics._report.sections._forecast_numbers import (
    forecast_numbers,
    weighted_mean,
)
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)


def _draw(models: dict[str, Regression], num_bins: int) -> Any:
    """Draws errors against predicted standard deviations, a panel for each model."""
    del num_bins
    return panels(
        4.4,
        lambda triple, **options: um.regression.uncertainty_error_diagram(
            *triple, **options
        ),
        triples_of(models),
        "Uncertainty and error",
    )


ERRORS = ReportPicture(
    "uncertainty_vs_error.png", "errors against predicted standard deviations", _draw
)


@dataclasses.dataclass(frozen=True)
class Sharpness(Section):
    """The size of the predicted standard deviations: a sentence, and the numbers."""

    name = "sharpness"
    heading = "Sharpness"
    tasks = ("regression",)
    pictures = (ERRORS,)

    verdict: str
    metrics: dict[str, Metric]

    @classmethod
    def of(cls, report: ModelReport) -> Sharpness:
        data = forecast_numbers(report.model, report.num_bins).data
        variances, weights = data["uncertainties"], data["sample_weight"]
        sharpness = um.regression.sharpness(variances, sample_weight=weights)
        error = weighted_mean(np.abs(data["targets"]), weights)
        lowest, highest = np.sqrt([variances.min(), variances.max()])
        found = {
            "sharpness": (sharpness, "Mean predicted standard deviation."),
            "lowest_stddev": (lowest, "Smallest predicted standard deviation."),
            "highest_stddev": (highest, "Largest predicted standard deviation."),
            "mean_absolute_error": (
                error,
                "Of the means; 0.798 times the sharpness if calibrated.",
            ),
        }
        verdict = "All examples have the same predicted standard deviation."
        if highest > lowest * (1 + 1e-6):
            verdict = (
                f"The predicted standard deviations are {sharpness:.4g} on average, "
                f"from {lowest:.4g} to {highest:.4g}. Small standard deviations are "
                "good only if they are right: compare the sharpness of calibrated "
                "models."
            )
        return cls(verdict, metrics(found))

    def blocks(self, report: ModelReport) -> list[Block]:
        return [
            Text(self.verdict),
            ERRORS.block(
                "Absolute errors against predicted standard deviations. "
                f"{self.verdict}",
                "Errors should grow with the standard deviation; for calibrated Normal "
                "forecasts two errors in three are below the diagonal.",
            ),
            metrics_table("Sharpness", "metric", self.metrics, significant),
        ]
