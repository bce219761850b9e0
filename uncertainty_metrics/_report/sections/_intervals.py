"""The section of intervals: how much the metrics vary from one sample to another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from uncertainty_metrics._report.data._predictions import (
    Regression,
    Stream,
    has_cluster_sums,
)
from uncertainty_metrics._report.data._risks import has_risks
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.data._sample_sizes import num_counted
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    intervals_table,
    number,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    intervals_of,
    is_drawn,
    options,
)
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_words import terms_for
from uncertainty_metrics._report.sections._forecast_numbers import forecast_numbers
from uncertainty_metrics._report.sections._mean_gap import interval_of_outcome
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval
from uncertainty_metrics._report.sections._model_report import ModelReport, Section

_ON_DRAWN_ERROR = (
    " Two are computed without the bootstrap: that of {outcome} is Wilson's, and "
    "calibration_error is the l2 error less its bias. The resamples of a bootstrap add "
    "noise, so its interval of this error would miss the 0 of a calibrated model."
)
_ON_ERROR = (
    " The interval of {outcome} is Wilson's. The calibration_error is the l2 error "
    "less its bias."
)
_ON_ERROR_OF_STREAM = " The calibration_error is the l2 error less its bias."
_ON_FORECASTS = " The interval of the ece is too high if the model is calibrated."


@dataclasses.dataclass(frozen=True)
class Intervals(Section):
    """Intervals of metrics.

    Attributes:
      level: of the intervals.
      num_resamples: of the bootstrap; 0 if the intervals are from standard errors.
      verdict: a few sentences.
      metrics: the metrics with their intervals.
    """

    name = "intervals"
    heading = "Intervals"
    tasks = ("classification", "confidences", "regression")

    level: float
    num_resamples: int
    verdict: str
    metrics: dict[str, Interval]

    @classmethod
    def of(cls, report: ModelReport) -> Intervals:
        model, num_bins = report.model, report.num_bins
        if isinstance(model, Regression):
            found, drawn = forecast_numbers(model, num_bins).intervals, True
            note = _ON_FORECASTS
        else:
            found, drawn = intervals_of(model, num_bins), is_drawn(model)
            note = _ON_DRAWN_ERROR if drawn else _ON_ERROR
            outcome = terms_for(model).key
            if isinstance(model, Stream):
                note = _ON_ERROR_OF_STREAM
            elif outcome in found:
                accuracy = report[Calibration].accuracy
                found = found | {outcome: interval_of_outcome(model, accuracy)}
            note = note.format(outcome=outcome)
            if has_risks(model) and "accuracy" in found:  # Of the decisions, so last.
                found["accuracy"] = found.pop("accuracy")
        size = num_counted(model)
        by = "by the bootstrap" if drawn else "from standard errors"
        units = "examples"
        if has_cluster_sums(model):
            units, by = "clusters", "from the sums over clusters"
            note += (
                " The mean_gap is the mean outcome less the mean score. Accuracy and "
                "scores have no interval: a summary does not have their sums over "
                "clusters."
            )
        if clusters_of(model) is not None:
            units, by = "clusters", f"{by} of whole clusters"
        verdict = (
            f"{INTERVAL_LEVEL:.0%} intervals {by}: they show how much the metrics "
            f"would vary if the {units} were other ones of the same kind.{note}"
        )
        if size == 1:
            verdict = "A single example gives no intervals."
        resamples = options(size)["num_resamples"] if drawn else 0
        return cls(INTERVAL_LEVEL, resamples, verdict, found)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        if self.metrics:
            show: Callable[[float | None], str] = number
            if isinstance(report.model, Regression):
                show = significant
            caption = "Metrics and their intervals"
            yield intervals_table(caption, "metric", self.metrics, show)
