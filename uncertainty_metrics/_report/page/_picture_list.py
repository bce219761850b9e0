"""The table of the pictures of the calibration report.

A row holds all that is known about a picture. `_picture_files` draws the picture,
`_document` shows it, the help of the command lists it, and a test compares the table
with docs/report.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from uncertainty_metrics._report.data._predictions import Predictions, rows_of
from uncertainty_metrics._report.data._risks import has_risks
from uncertainty_metrics._report.page import _drawings
from uncertainty_metrics._report.sections import _blocks
from uncertainty_metrics._report.sections._blocks import number
from uncertainty_metrics._report.sections._calibration_words import (
    capitalized,
    terms_in,
)
from uncertainty_metrics._report.sections._comparison import drifts
from uncertainty_metrics._report.sections._recalibration import recalibrated


class ReportPicture(NamedTuple):
    """A picture of the report.

    Attributes:
      file: the name of the file.
      shows: the content of the picture, for the help of the command and the guide.
      draw: a function of models by name and a number of bins that returns the figure.
      alt: a function of the dict of a report that returns a description of the picture
        for readers who cannot see it.
      caption: a function of the dict of a report that returns how to read the picture.
      is_drawn: a function of models and a number of bins that says whether these have
        the picture; the report is about the first model.
    """

    file: str
    shows: str
    draw: Callable[[dict[str, Any], int], Any]
    alt: Callable[[dict[str, Any]], str]
    caption: Callable[[dict[str, Any]], str]
    is_drawn: Callable[[Sequence[Any], int], bool] = lambda models, num_bins: True

    def block(self, report: dict[str, Any]) -> _blocks.Picture:
        """Returns the picture as a block of the document of a report."""
        return _blocks.Picture(self.file, self.alt(report), self.caption(report))


def _has_map(rows: Any, num_bins: int) -> bool:
    return rows is not None and bool(recalibrated(rows, num_bins).drawn)


def _has_groups(rows: Any) -> bool:
    return rows is not None and bool(rows.groups)


def _compares(report: dict[str, Any]) -> bool:
    return "comparison" in report


def _both(report: dict[str, Any]) -> str:
    """Returns a sentence for the caption, if the report compares two models."""
    return " Both models are drawn." if _compares(report) else ""


def _against(report: dict[str, Any]) -> str:
    terms = terms_in(report)
    return f"{capitalized(terms.outcome)} against {terms.score}"


def _caption_of_reliability(report: dict[str, Any]) -> str:
    other = report["comparison"]["other"] if _compares(report) else {}
    is_streamed = "basis" in report or "basis" in other  # Not all rows are in memory.
    marks = "Points" if _compares(report) and not is_streamed else "Bars"
    terms = terms_in(report)
    sides = (
        f"{marks} below the diagonal are {terms.over}, {marks.lower()} above it "
        f"{terms.under}."
    )
    if terms.of_event:
        sides = "Below the diagonal probabilities are too high, above it too low."
    if is_streamed:
        return f"{sides} The error bars tell how sure each bar is."
    return (
        f"{sides} The band shows where chance alone puts a calibrated model; the error "
        f"bars show how uncertain each {marks.lower()[:-1]} is.{_both(report)}"
    )


RELIABILITY = ReportPicture(
    "reliability_diagram.png",
    "accuracy against confidence, of two classes the share of the event against its "
    "probability, with error bars, and a band for a calibrated model",
    _drawings.draw_reliability,
    alt=lambda report: (
        f"Reliability diagram: {terms_in(report).outcome} against "
        f"{terms_in(report).score} in "
        f"{report['options']['num_bins']} bins. {report['calibration']['verdict']}"
    ),
    caption=_caption_of_reliability,
)

RISK_COVERAGE = ReportPicture(
    "risk_coverage_diagram.png",
    "the error of the most confident examples, against their share",
    lambda models, num_bins: _drawings.draw_risk_coverage(models),
    alt=lambda report: (
        f"Risk-coverage diagram. {report['selective_prediction']['verdict']}"
    ),
    caption=lambda report: (
        "The error of the most confident examples, against their share: the lower, the "
        f"better.{_both(report)}"
    ),
)


def _alt_of_posteriors(report: dict[str, Any]) -> str:
    section = report["bayesian_ece"]
    return (
        f"Posterior of the ECE: mean {number(section['mean'])}, "
        f"median {number(section['median'])}, {section['interval']['level']:.0%} "
        f"from {number(section['interval']['low'])} "
        f"to {number(section['interval']['high'])}."
    )


def _caption_of_posteriors(report: dict[str, Any]) -> str:
    caption = "Where the ECE of the model may lie, given the data."
    if _compares(report):
        caption += (
            " The curves do not tell which model is better calibrated: noise raises "
            "the curve of a model that fills more bins, or has fewer examples."
        )
    return caption


POSTERIORS = ReportPicture(
    "posteriors.png",
    "the posterior of the ECE",
    _drawings.draw_posteriors,
    alt=_alt_of_posteriors,
    caption=_caption_of_posteriors,
)

RECALIBRATED = ReportPicture(
    "recalibrated_reliability_diagram.png",
    "before and after the best map, on examples that it was not fitted to",
    _drawings.draw_recalibrated,
    alt=lambda report: (
        "Reliability diagram of the model as it is and recalibrated. "
        f"{report['recalibration']['verdict']}"
    ),
    caption=lambda report: (
        f"{_against(report)}, before and after, on examples that the map was "
        "not fitted to. The band shows where chance alone puts a calibrated model."
    ),
    is_drawn=lambda models, num_bins: _has_map(rows_of(models[0]), num_bins),
)

GROUPS = ReportPicture(
    "calibration_by_group_diagram.png",
    "accuracy less confidence in each group, of two classes the share of the event "
    "less its probability, with its interval",
    lambda models, num_bins: _drawings.draw_groups(models),
    alt=lambda report: (
        f"{capitalized(terms_in(report).gap)} of each group, with its interval. "
        f"{report['groups']['verdict']}"
    ),
    caption=lambda report: (
        f"In a group left of 0 the model is {terms_in(report).over}. Groups in color "
        "are miscalibrated by more than chance, although many groups are "
        "tested. Each interval is for one group by itself."
    ),
    is_drawn=lambda models, num_bins: _has_groups(rows_of(models[0])),
)

ENSEMBLE = ReportPicture(
    "ensemble_calibration_diagram.png",
    "accuracy less confidence of an ensemble and of its members",
    _drawings.draw_ensembles,
    alt=lambda report: (
        "Accuracy less confidence in each bin, of the ensemble and of its members. "
        f"{report['ensemble']['verdict']}"
    ),
    caption=lambda report: (
        "Confidence and accuracy of the decisions, and the ECE of these: points above "
        "0 are underconfident, points below 0 overconfident. Averaging lowers "
        "confidence: this helps members below 0 and harms members above 0."
    ),
    is_drawn=lambda models, num_bins: (
        isinstance(models[0], Predictions) and models[0].members > 1
    ),
)

DRIFT = ReportPicture(
    "drift_diagram.png",
    "if the second file has other examples, the bins where calibration differs",
    _drawings.draw_drift,
    alt=lambda report: (
        f"{_against(report)} in both files, with intervals. "
        f"{report['comparison']['drift']['verdict']}"
    ),
    caption=lambda report: (
        f"{_against(report)}, with intervals, for both sets of examples. The "
        "shaded bins differ by more than chance."
    ),
    is_drawn=lambda models, num_bins: len(models) > 1 and drifts(models[0], models[1]),
)


def _caption_of_risk_curve(report: dict[str, Any]) -> str:
    caption = (
        "How often the event came, against its risk: a logistic regression on a "
        "spline of the risk, with its 95% band. Above the diagonal risks are too low, "
        "below it too high. The hollow points are ten groups of equal size, by risk, "
        "with 95% intervals of how often the event came."
    )
    if _compares(report):
        return f"{caption}{_both(report)}"
    caption += (
        " At the top, upwards, the risks of the examples with the event, and downwards "
        "those of the others."
    )
    if report["task"] == "survival":
        caption += " The band is that of the effective number of examples."
    return caption


RISK_CURVE = ReportPicture(
    "risk_calibration_curve.png",
    "of risks, how often the event came against its risk, with a band, and the risks "
    "by outcome",
    _drawings.draw_risk_curve,
    alt=lambda report: f"Calibration curve of the risks. {report['risk']['verdict']}",
    caption=_caption_of_risk_curve,
    is_drawn=lambda models, num_bins: has_risks(models[0]),
)

DECISIONS = ReportPicture(
    "decision_curve.png",
    "of risks, the net benefit of acting on them, against the threshold",
    lambda models, num_bins: _drawings.draw_decision_curve(models),
    alt=lambda report: (
        "Decision curve: the net benefit of acting on the risks, of treating all and "
        "of treating none, against the threshold."
    ),
    caption=lambda report: (
        "Net benefit, in true positives for each example, of treating where the risk "
        "is at least the threshold. On these examples, acting on the risks had the "
        "larger net benefit where its curve is above both others; there is no interval "
        "that tells this from chance. Choose the threshold by the harm of a needless "
        "and of a missed treatment, before you look at the curve."
        f"{_both(report)}"
    ),
    is_drawn=lambda models, num_bins: has_risks(models[0]),
)

COVERAGE = ReportPicture(
    "reliability_diagram.png",
    "coverage of intervals against their level",
    _drawings.draw_coverages,
    alt=lambda report: (
        "Reliability diagram: observed coverage of central intervals against their "
        f"level. {report['calibration']['verdict']}"
    ),
    caption=lambda report: (
        "Above the diagonal the intervals are too wide (underconfident); below the "
        "diagonal they are too narrow (overconfident)."
    ),
)


def _caption_of_pit(report: dict[str, Any]) -> str:
    bars = (
        "Every example of positive weight counts once."
        if report["data"]["weighted"]
        else "Chance alone explains a bar that ends within the band."
    )
    return (
        "The histogram is flat if the model is calibrated. It looks like a U if the "
        "predicted distributions are too narrow, like a hill if they are too wide, and "
        f"it is slanted if they are biased. {bars}"
    )


PIT_HISTOGRAM = ReportPicture(
    "pit_histogram.png",
    "histogram of the PIT values, flat if the model is calibrated",
    _drawings.draw_pit_histograms,
    alt=lambda report: f"Histogram of the PIT values. {report['pit']['verdict']}",
    caption=_caption_of_pit,
)

ERRORS = ReportPicture(
    "uncertainty_vs_error.png",
    "errors against predicted standard deviations",
    lambda models, num_bins: _drawings.draw_errors(models),
    alt=lambda report: (
        "Absolute errors against predicted standard deviations. "
        f"{report['sharpness']['verdict']}"
    ),
    caption=lambda report: (
        "Errors should grow with the standard deviation; for calibrated Normal "
        "forecasts two errors in three are below the diagonal."
    ),
)

# The pictures of each task, in the order of the files.
PICTURES: dict[str, tuple[ReportPicture, ...]] = {
    "classification": (
        *(RELIABILITY, RISK_COVERAGE, POSTERIORS, RECALIBRATED, RISK_CURVE, DECISIONS),
        *(GROUPS, ENSEMBLE, DRIFT),
    ),
    "confidences": (
        *(RELIABILITY, RISK_COVERAGE, POSTERIORS, RECALIBRATED),
        *(GROUPS, DRIFT),
    ),
    "regression": (COVERAGE, PIT_HISTOGRAM, ERRORS),
    "survival": (RISK_CURVE, DECISIONS),
}
