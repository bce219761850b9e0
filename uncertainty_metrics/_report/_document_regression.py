"""The calibration report of a regression as a document."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics._report._blocks import (
    Section,
    Table,
    Text,
    data_section,
    intervals_section,
    metrics_table,
    number,
    significant,
    told,
)


def regression_sections(report: dict[str, Any]) -> list[Section]:
    """Returns the sections of one model."""
    return [
        _calibration(report["calibration"]),
        _pit(report["pit"], report["data"]["weighted"]),
        _scoring_rules(report["scoring_rules"]),
        _sharpness(report["sharpness"]),
        intervals_section(report["intervals"], significant),
        _recalibration(report["recalibration"]),
        _data(report),
    ]


def _data(report: dict[str, Any]) -> Section:
    scores, sharpness = report["scoring_rules"], report["sharpness"]
    facts = {
        "uncertainty as": report["data"]["predictions"],
        "rmse": significant(scores["metrics"]["rmse"]["value"]),
        "mean stddev": significant(sharpness["metrics"]["sharpness"]["value"]),
    }
    return data_section(report, facts)


def _calibration(section: dict[str, Any]) -> Section:
    blocks = told(
        section,
        "reliability_diagram",
        "Reliability diagram: observed coverage of central intervals against their "
        "level.",
        "Above the diagonal the intervals are too wide (underconfident), below it too "
        "narrow (overconfident).",
    )
    levels = [
        (f"{row['level']:.0%}", number(row["coverage"]), significant(row["width"]))
        for row in section["levels"]
    ]
    blocks += [
        Table("Central intervals", "interval", ("coverage", "mean width"), levels),
        metrics_table("Calibration errors", "metric", section["metrics"]),
    ]
    return Section("Calibration of intervals", blocks)


def _pit(section: dict[str, Any], weighted: bool) -> Section:
    bars = (
        "Every example of positive weight counts once."
        if weighted
        else "Within the band, chance alone explains a bar."
    )
    blocks = told(
        section,
        "pit_histogram",
        "Histogram of the PIT values.",
        "Flat if calibrated; like a U where the predicted distributions are too "
        f"narrow, like a hill where too wide, slanted where biased. {bars}",
    )
    table = metrics_table("PIT values", "metric", section["metrics"])
    return Section("Probability integral transform", [*blocks, table])


def _scoring_rules(section: dict[str, Any]) -> Section:
    table = metrics_table("Scores", "score", section["metrics"], significant)
    return Section("Scoring rules", [table, Text("Smaller is better for all.")])


def _sharpness(section: dict[str, Any]) -> Section:
    blocks = told(
        section,
        "uncertainty_vs_error",
        "Absolute errors against predicted standard deviations.",
        "Errors should grow with the standard deviation; of calibrated Normal "
        "forecasts two in three are below the diagonal.",
    )
    table = metrics_table("Sharpness", "metric", section["metrics"], significant)
    return Section("Sharpness", [*blocks, table])


def _recalibration(section: dict[str, Any]) -> Section:
    table = metrics_table("Temperature", "metric", section["metrics"], significant)
    return Section("Recalibration", [Text(section["verdict"]), table])
