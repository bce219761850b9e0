"""The calibration report of a regression as a document."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics.report._blocks import (
    Facts,
    Picture,
    Section,
    Table,
    Text,
    intervals_section,
    metrics_table,
    notes,
    number,
    significant,
)


def regression_sections(report: dict[str, Any]) -> list[Section]:
    """Returns the sections of one model."""
    return [
        _data(report),
        _calibration(report),
        _pit(report),
        _scoring_rules(report["scoring_rules"]),
        _sharpness(report),
        intervals_section(report["intervals"], significant),
        _recalibration(report["recalibration"]),
    ]


def _data(report: dict[str, Any]) -> Section:
    scores = report["scoring_rules"]["metrics"]
    facts = {
        "predictions": report["source"],
        "examples": report["data"]["examples"],
        "uncertainty as": report["data"]["predictions"],
        "rmse": significant(scores["rmse"]["value"]),
        "mean stddev": significant(
            report["sharpness"]["metrics"]["sharpness"]["value"]
        ),
    }
    return Section("Data", [Facts(facts), *notes(report)])


def _calibration(report: dict[str, Any]) -> Section:
    section = report["calibration"]
    levels = [
        (f"{row['level']:.0%}", number(row["coverage"]), significant(row["width"]))
        for row in section["levels"]
    ]
    return Section(
        "Calibration of intervals",
        [
            Text(section["verdict"]),
            Picture(
                "reliability_diagram.png",
                "Reliability diagram: observed coverage of central intervals against "
                f"their level. {section['verdict']}",
                "Above the diagonal the intervals are too wide (underconfident), below "
                "it too narrow (overconfident).",
            ),
            Table(
                "Central intervals",
                "interval",
                ("coverage", "mean width"),
                levels,
            ),
            metrics_table("Calibration errors", "metric", section["metrics"]),
        ],
    )


def _pit(report: dict[str, Any]) -> Section:
    section = report["pit"]
    return Section(
        "Probability integral transform",
        [
            Text(section["verdict"]),
            Picture(
                "pit_histogram.png",
                f"Histogram of the PIT values. {section['verdict']}",
                "Flat if calibrated; like a U where the predicted distributions are "
                "too narrow, like a hill where too wide, slanted where biased. "
                f"{_unweighted(report)}",
            ),
            metrics_table("PIT values", "metric", section["metrics"]),
        ],
    )


def _unweighted(report: dict[str, Any]) -> str:
    if report["data"]["weighted"]:
        return "Every example of positive weight counts once."
    return "Within the band, chance alone explains a bar."


def _scoring_rules(section: dict[str, Any]) -> Section:
    return Section(
        "Scoring rules",
        [
            metrics_table("Scores", "score", section["metrics"], significant),
            Text("Smaller is better for all."),
        ],
    )


def _sharpness(report: dict[str, Any]) -> Section:
    section = report["sharpness"]
    return Section(
        "Sharpness",
        [
            Text(section["verdict"]),
            Picture(
                "uncertainty_vs_error.png",
                "Absolute errors against predicted standard deviations. "
                f"{section['verdict']}",
                "Errors should grow with the standard deviation; of calibrated Normal "
                "forecasts two in three are below the diagonal.",
            ),
            metrics_table("Sharpness", "metric", section["metrics"], significant),
        ],
    )


def _recalibration(section: dict[str, Any]) -> Section:
    return Section(
        "Recalibration",
        [
            Text(section["verdict"]),
            metrics_table("Temperature", "metric", section["metrics"], significant),
        ],
    )
