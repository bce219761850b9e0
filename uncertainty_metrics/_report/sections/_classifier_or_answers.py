"""All sections of the report on a classifier, or on answers with confidences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uncertainty_metrics._report.data._decided import decisions_of, event_of
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Predictions,
    Stream,
    rows_of,
)
from uncertainty_metrics._report.data._risks import has_risks, risks_of
from uncertainty_metrics._report.data._suspicious_rows import notes_on_rows
from uncertainty_metrics._report.sections import _answers, _classifier, _stream
from uncertainty_metrics._report.sections._bootstrap_intervals import intervals
from uncertainty_metrics._report.sections._calibration_errors import means_in_words
from uncertainty_metrics._report.sections._ensemble import ensemble
from uncertainty_metrics._report.sections._groups import groups
from uncertainty_metrics._report.sections._p_values import is_clear
from uncertainty_metrics._report.sections._posterior import bayesian_ece, num_draws
from uncertainty_metrics._report.sections._recalibration import recalibrated
from uncertainty_metrics._report.sections._risk import notes_on, risk
from uncertainty_metrics._report.sections._selective_prediction import (
    SELECTIVE_OPTIONS,
    selective_prediction,
)

# What a report says of its data, before the sections.
_FIRST = ("data", "notes", "basis")


def options(num_bins: int) -> dict[str, Any]:
    """Returns the parameters of the metrics, which the report lists."""
    return {"num_ece_samples": num_draws(num_bins), **SELECTIVE_OPTIONS}


def sections(
    model: Decided, num_bins: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Returns the sections of the report on one model; `tell` gets the progress."""
    tell("checks the predictions")
    decisions = decisions_of(model)
    tell("computes calibration errors and scoring rules")
    rows = rows_of(model)
    if isinstance(model, Stream):
        report = _stream.own_sections(model, num_bins)
    elif isinstance(model, Confidences):
        report = _answers.own_sections(model, num_bins)
    else:
        report = _classifier.own_sections(model, num_bins)
    if rows is not None:
        report["notes"] += notes_on_rows(rows)
    weights = decisions.weights
    total = float(len(decisions.correct) if weights is None else weights.sum())
    is_weighted = weights is not None
    if isinstance(model, Stream):
        is_weighted = model.summary.is_weighted
    report["data"] |= {
        "total_weight": total,
        "effective_examples": decisions.sample_size,
    }
    if is_weighted:
        report["notes"].append(
            "The posterior of the ECE takes a weight w as w examples, here "
            f"{total:.6g} in all; weights of another scale change its width."
        )
    ece = report["calibration"]["metrics"]["ece"]["value"]
    report["bayesian_ece"] = bayesian_ece(model, ece, num_bins)
    tell("computes intervals")
    report["intervals"] = intervals(model, num_bins)
    if rows is not None:
        tell("fits maps that recalibrate the predictions")
        report["recalibration"] = recalibrated(rows, num_bins).section
    tell("computes selective prediction")
    report["selective_prediction"] = selective_prediction(model)
    if not isinstance(model, Confidences) and has_risks(model):
        tell("computes what is asked of risks")
        report["risk"] = risk(model)
        report["notes"] += notes_on(risks_of(model))
    if rows is not None and rows.groups:
        tell("computes the calibration of groups")
        report["groups"] = groups(rows)
    if isinstance(model, Predictions) and model.members > 1:
        chance = report["bayesian_ece"]["ece_by_chance"]
        report["ensemble"] = ensemble(model, ece, chance, num_bins, event_of(model))
    if isinstance(model, Confidences) and model.samples is not None:
        report["sampled_answers"] = _answers.sampled_answers(model)
    return report if "risk" not in report else _risk_first(report)


def _risk_first(report: dict[str, Any]) -> dict[str, Any]:
    """Returns the sections in the order for risks: what is of decisions comes last.

    On average the risks are called too high or too low only if a test of calibration
    finds something.
    """
    tests = (report["risk"], report["bayesian_ece"])
    calibration = report["calibration"]
    found = any(is_clear(test["p_value"]) for test in tests)
    if calibration["direction"] and (report["risk"]["finding"] is None or not found):
        calibration |= {"direction": "", "verdict": means_in_words(calibration)}
    for section in (report["calibration"], report["intervals"]["metrics"]):
        for name in ("accuracy", "mean_confidence"):
            if name in section:
                section[name] = section.pop(name)
    first = [name for name in (*_FIRST, "risk") if name in report]
    last = [name for name in ("selective_prediction", "ensemble") if name in report]
    between = [name for name in report if name not in (*first, *last)]
    return {name: report[name] for name in (*first, *between, *last)}
