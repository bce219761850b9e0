"""The section that tests the calibration of answers with grades."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from uncertainty_metrics._report.data._decided import words_of
from uncertainty_metrics._report.data._predictions import (
    Decided,
    has_cluster_sums,
    has_grades,
    votes_of,
)
from uncertainty_metrics._report.sections._blocks import Block, Text, Tile
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_errors import ece_of
from uncertainty_metrics._report.sections._calibration_words import terms_for
from uncertainty_metrics._report.sections._ece_test import ece_by_chance, p_value_of
from uncertainty_metrics._report.sections._findings import calibrated
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._p_values import (
    decimals,
    shown_p_value,
    verdict_on_chance,
)

_LEFT_OUT = (
    "Left out, because they count right and wrong {one}s and {outcomes} lie between: "
    "the posterior of the ECE, the AUROC, the threshold that promises a risk, the "
    "error that would go unnoticed, and Venn-Abers calibration. {how}, the report has "
    "them."
)
_BY_THRESHOLD = "With right and wrong from a threshold, as in `correct=grades >= 0.7`"
_BY_LABELS = "With one label for each example, as in `labels=shares.argmax(axis=-1)`"


def left_out_of(model: Decided) -> str:
    """Says what a report leaves out of decisions or answers with grades."""
    words = words_of(model)
    how = _BY_THRESHOLD if votes_of(model) is None else _BY_LABELS
    return _LEFT_OUT.format(one=words.one, outcomes=words.outcomes, how=how)


@dataclasses.dataclass(frozen=True)
class CalibrationOfGrades(Section):
    """Whether chance alone may explain the calibration error of answers with grades.

    Attributes:
      ece: the calibration error.
      ece_by_chance: an ECE that a calibrated model rarely exceeds.
      p_value: the probability that a calibrated model has an ECE as large.
      verdict: a sentence or two.
      left_out: a sentence on what the report does not show of grades.
    """

    name = "calibration_of_grades"
    heading = "Could it be chance?"
    tasks = ("confidences",)

    ece: float
    ece_by_chance: float
    p_value: float
    verdict: str
    left_out: str

    @classmethod
    def of(cls, report: ModelReport) -> CalibrationOfGrades | None:
        model, num_bins = report.model, report.num_bins
        if not has_grades(model) or has_cluster_sums(model):
            return None
        ece, chance = ece_of(model, num_bins), ece_by_chance(model, num_bins)
        p = p_value_of(model, ece, num_bins)
        return cls(
            ece,
            chance,
            p,
            f"The ECE of the data is {ece:.4f}. By chance alone a calibrated model "
            f"would show up to about {chance:.4f} on such data; {verdict_on_chance(p)}"
            f". The confidences do not tell how much {words_of(model).outcomes} vary, "
            f"so the test flips the signs of the differences of "
            f"{terms_for(model).grade} and confidence.",
            left_out_of(model),
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        value, level = calibrated(self.p_value, report[Calibration].direction)
        digits = decimals(self.ece_by_chance / 100) - 1
        yield Tile(
            "Calibration",
            value,
            f"Calibration error (ECE) {self.ece:.{digits}f}. A calibrated model would "
            f"show up to {self.ece_by_chance:.{digits}f} here; p "
            f"{shown_p_value(self.p_value)} for this value.",
            level,
        )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        yield Text(self.left_out)
