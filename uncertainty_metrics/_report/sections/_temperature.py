"""The section on the one factor that makes the variances of a regression right."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    Tile,
    metrics_table,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._findings import graded
from uncertainty_metrics._report.sections._forecast_numbers import forecast_numbers
from uncertainty_metrics._report.sections._forecast_scores import ForecastScores
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    Metric,
    metrics,
)
from uncertainty_metrics._report.sections._model_report import ModelReport, Section


@dataclasses.dataclass(frozen=True)
class Temperature(Section):
    """The one factor that makes the variances right on average.

    Attributes:
      direction: in which direction the error bars are clearly wrong: "over" for
        overconfident, "under" for underconfident, or "".
      verdict: how to use the factor.
      metrics: the factor, and what it gives.
      temperature_by_chance: the range of the factor for a calibrated model.
    """

    name = "recalibration"
    heading = "Recalibration"
    tasks = ("regression",)

    direction: str
    verdict: str
    metrics: dict[str, Metric]
    temperature_by_chance: tuple[float, float]

    @classmethod
    def of(cls, report: ModelReport) -> Temperature:
        numbers = forecast_numbers(report.model, report.num_bins)
        temperature = numbers.values["temperature"]
        found = {
            "temperature": (
                temperature,
                "Best factor of the variances, on these data.",
            ),
            "stddev_factor": (
                temperature**0.5,
                "Its square root: the factor of the error bars.",
            ),
        }
        if temperature > 0:
            found["recalibrated_nll"] = (
                _likelihood(numbers.data, temperature),
                "Negative log-likelihood with this factor, same data.",
            )
        direction, _ = direction_of(report)
        return cls(
            direction,
            "One factor for all variances, the temperature, corrects error bars that "
            "are too wide or too narrow everywhere alike. Fit the temperature with "
            "um.regression.TemperatureScaling, on data that were used neither to train "
            "nor to test the model.",
            metrics(found),
            _by_chance(effective_examples(report.model)),
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        from scipy import special

        factor = self.metrics["stddev_factor"].value
        # n T of calibrated Normal forecasts is chi-squared with n degrees of freedom.
        n = effective_examples(report.model)
        tails = (f(n, n * factor**2) for f in (special.chdtr, special.chdtrc))
        p = 2 * min(tails) if self.direction else 1.0
        value, level = graded(p, "Would help", "Not clearly needed")
        likelihood = ""
        if after := self.metrics.get("recalibrated_nll"):
            before = report[ForecastScores].metrics["negative_log_likelihood"]
            likelihood = (
                " This factor takes the negative log-likelihood from "
                f"{significant(before.value)} to {significant(after.value)} on the "
                "same data."
            )
        yield Tile(
            "Recalibration",
            value,
            f"The best factor of all standard deviations is {significant(factor)}."
            f"{likelihood}",
            level,
        )

    def blocks(self, report: ModelReport) -> list[Block]:
        table = metrics_table("Temperature", "metric", self.metrics, significant)
        return [Text(self.verdict), table]


def direction_of(report: ModelReport) -> tuple[str, str]:
    """Returns in which direction the error bars are clearly wrong, and a sentence."""
    numbers = forecast_numbers(report.model, report.num_bins)
    return _direction(
        numbers.values["temperature"],
        _by_chance(effective_examples(report.model)),
        numbers.intervals.get("temperature"),
    )


def _by_chance(sample_size: float) -> tuple[float, float]:
    """Returns the range by chance of the temperature T of calibrated Normal forecasts.

    n T is chi-squared with n degrees of freedom.
    """
    from scipy import special

    half, tail = sample_size / 2, (1 - INTERVAL_LEVEL) / 2
    low, high = special.gammaincinv(half, [tail, 1 - tail]) / half
    return float(low), float(high)


def _likelihood(data: dict[str, Any], factor: float) -> float:
    """Returns the negative log-likelihood with variances times a factor."""
    return um.regression.negative_log_likelihood(
        data["predictions"],
        factor * data["uncertainties"],
        data["targets"],
        sample_weight=data["sample_weight"],
    )


def _direction(
    temperature: float, by_chance: tuple[float, float], interval: Interval | None
) -> tuple[str, str]:
    """Returns in which direction the error bars are clearly wrong, and a sentence.

    The direction is "over" for overconfident, "under" for underconfident, and "" if the
    data do not show either.
    """
    factor, least, most = (f"{t**0.5:.3g}" for t in (temperature, *by_chance))
    # Errors with heavy tails vary more than chi-squared allows; the bootstrap does not
    # assume Normal errors, so both must agree.
    holds_one = interval is None or interval.low <= 1 <= interval.high
    # Rounded as in the report.
    if float(least) <= float(factor) <= float(most) or holds_one:
        return "", (
            "Neither clearly overconfident nor underconfident: the errors are "
            f"{factor} times as large as the predicted standard deviations say; chance "
            f"alone gives {least} to {most} times if the errors are Normal."
        )
    side = "over" if temperature > 1 else "under"
    return side, (
        f"{side.capitalize()}confident: the errors are {factor} times as large as the "
        f"predicted standard deviations say; chance alone gives {least} to {most} "
        "times."
    )
