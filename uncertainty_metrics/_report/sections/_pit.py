"""The section on the probability integral transform of a regression."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._normal_forecasts import (
    forecasts_of,
    triples_of,
)
from uncertainty_metrics._report.data._predictions import Regression
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    metrics_table,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
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

# n uniform values exceed this Kolmogorov distance / sqrt(n) with probability 5%.
_KOLMOGOROV = 1.358


def _draw(models: dict[str, Regression], num_bins: int) -> Any:
    """Draws a histogram of the PIT values for each model."""
    return panels(
        4.0,
        lambda triple, **options: um.regression.pit_diagram(
            um.regression.probability_integral_transform(*triple),
            num_bins,
            consistency_band=INTERVAL_LEVEL,
            **options,
        ),
        triples_of(models),
        "PIT histogram",
    )


PIT_HISTOGRAM = ReportPicture(
    "pit_histogram.png",
    "histogram of the PIT values, flat if the model is calibrated",
    _draw,
)


@dataclasses.dataclass(frozen=True)
class Pit(Section):
    """The PIT values: uniform if the model is calibrated.

    Attributes:
      verdict: a few sentences.
      metrics: their mean, variance and distance from uniform.
      distance_by_chance: a distance that uniform values rarely exceed.
      histogram: the fields of what `um.regression.pit_histogram` returns.
    """

    name = "pit"
    heading = "Probability integral transform"
    tasks = ("regression",)
    pictures = (PIT_HISTOGRAM,)

    verdict: str
    metrics: dict[str, Metric]
    distance_by_chance: float
    histogram: dict[str, list[float]]

    @classmethod
    def of(cls, report: ModelReport) -> Pit:
        data = forecast_numbers(report.model, report.num_bins).data
        sample_size = effective_examples(report.model)
        *triple, weights = data.values()
        pit = um.regression.probability_integral_transform(*triple)
        histogram = um.regression.pit_histogram(
            pit, report.num_bins, sample_weight=weights
        )
        mean = weighted_mean(pit, weights)
        variance = weighted_mean((pit - mean) ** 2, weights)
        distance = _distance_from_uniform(pit, weights)
        chance = min(_KOLMOGOROV / sample_size**0.5, 1.0)
        found = {
            "mean": (mean, "0.5 if calibrated; lower if predictions are too high."),
            "variance": (
                variance,
                "0.0833 if calibrated; higher if intervals are too narrow.",
            ),
            "distance": (distance, "Kolmogorov's, from the uniform distribution."),
        }
        return cls(
            _verdict(mean, variance, distance, chance, sample_size),
            metrics(found),
            chance,
            {name: values.tolist() for name, values in histogram._asdict().items()},
        )

    def blocks(self, report: ModelReport) -> list[Block]:
        bars = (
            "Chance alone explains a bar that ends within the band."
            if forecasts_of(report.model).weights is None
            else "Every example of positive weight counts once."
        )
        return [
            Text(self.verdict),
            PIT_HISTOGRAM.block(
                f"Histogram of the PIT values. {self.verdict}",
                "The histogram is flat if the model is calibrated. It looks like a U "
                "if the predicted distributions are too narrow, like a hill if they "
                f"are too wide, and it is slanted if they are biased. {bars}",
            ),
            metrics_table("PIT values", "metric", self.metrics),
        ]


def _verdict(
    mean: float, variance: float, distance: float, chance: float, sample_size: float
) -> str:
    uniform = round(distance, 3) <= round(chance, 3)  # Rounded as in the report.
    verdict = (
        f"The PIT values {'may be' if uniform else 'are not'} uniform, as the PIT "
        "values of calibrated forecasts are: their largest distance from the uniform "
        f"distribution is {distance:.3f}; chance alone gives up to about {chance:.3f}."
    )
    if not uniform:
        # Two standard errors of the mean and of the variance of uniform values.
        if abs(mean - 0.5) > 2 * (1 / 12 / sample_size) ** 0.5:
            side = "high" if mean < 0.5 else "low"
            verdict += f" The predictions tend to be too {side}."
        if abs(variance - 1 / 12) > 2 * (1 / 180 / sample_size) ** 0.5:
            shape = "narrow" if variance > 1 / 12 else "wide"
            verdict += f" The predicted distributions tend to be too {shape}."
    return verdict


def _distance_from_uniform(pit: np.ndarray, weights: np.ndarray | None) -> float:
    order = np.argsort(pit)
    values = pit[order]
    mass = np.ones(len(pit)) if weights is None else weights[order]
    cdf = np.append(0.0, np.cumsum(mass) / mass.sum())
    return float(max(np.max(cdf[1:] - values), np.max(values - cdf[:-1])))
