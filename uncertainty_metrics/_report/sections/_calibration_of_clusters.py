"""The section that judges the calibration of a summary of clusters, by its sums."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from uncertainty_metrics._report.data._predictions import (
    Stream,
    has_cluster_sums,
    has_grades,
)
from uncertainty_metrics._report.sections._blocks import Block, Text, Tile, number
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    intervals_of,
)
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_of_grades import (
    left_out_of,
)
from uncertainty_metrics._report.sections._calibration_words import capitalized
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval
from uncertainty_metrics._report.sections._model_report import ModelReport, Section

_LEFT_OUT = (
    "Left out, because a summary does not tell which of its examples are of one "
    "cluster: the posterior of the ECE and its p-value, error bars, what recalibration "
    "would gain, and the intervals of accuracy, scores and AUROC. A report of the "
    "predictions themselves, with `clusters`, has them."
)


@dataclasses.dataclass(frozen=True)
class CalibrationOfClusters(Section):
    """Whether chance alone may explain the calibration error of a summary of clusters.

    Attributes:
      calibration_error: the l2 error less its bias, with its interval by clusters.
      clusters: number of clusters.
      verdict: a sentence or two.
      left_out: a sentence on what the report does not show.
    """

    name = "calibration_of_clusters"
    heading = "Could it be chance?"
    tasks = ("classification", "confidences")

    calibration_error: Interval
    clusters: int
    verdict: str
    left_out: str = _LEFT_OUT

    @classmethod
    def of(cls, report: ModelReport) -> CalibrationOfClusters | None:
        model = report.model
        if not isinstance(model, Stream) or not has_cluster_sums(model):
            return None
        error = intervals_of(model, report.num_bins)["calibration_error"]
        clusters = int(model.summary.num_clusters or 0)
        ends = f"{number(error.low)} to {number(error.high)}"
        otherwise = "so chance alone may explain it"
        if error.low > 0:
            otherwise = "so it is more than chance"
        return cls(
            error,
            clusters,
            f"By the sums over {clusters:,} clusters the calibration error (l2) less "
            f"its bias is {number(error.estimate)}, with the {INTERVAL_LEVEL:.0%} "
            f"interval {ends}, {otherwise}.",
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        value, level = "May be calibrated", "good"
        if self.calibration_error.low > 0:
            direction = report[Calibration].direction
            value = capitalized(direction) if direction else "Miscalibrated"
            level = "bad"
        yield Tile("Calibration", value, self.verdict, level)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        yield Text(self.left_out)
        if has_grades(report.model):
            yield Text(left_out_of(report.model))


def verdict_on_clusters(first: ModelReport, second: ModelReport) -> str:
    """Returns what both summaries of clusters say; "" for other models."""
    sections = [each.get(CalibrationOfClusters) for each in (first, second)]
    return " ".join(
        f"The {side} model: {section.verdict}"
        for side, section in zip(("first", "second"), sections, strict=True)
        if section is not None
    )
