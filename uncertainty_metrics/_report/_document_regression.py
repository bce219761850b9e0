"""The calibration report of a regression as a document."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics._report import _picture_table
from uncertainty_metrics._report._blocks import (
    Block,
    Section,
    Table,
    Text,
    data_section,
    intervals_section,
    metrics_table,
    number,
    significant,
)


def regression_sections(report: dict[str, Any]) -> list[Section]:
    """Returns the sections of one model."""
    return [
        _calibration(report),
        _pit(report),
        _scoring_rules(report["scoring_rules"]),
        _sharpness(report),
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


def _calibration(report: dict[str, Any]) -> Section:
    section = report["calibration"]
    levels = [
        (f"{row['level']:.0%}", number(row["coverage"]), significant(row["width"]))
        for row in section["levels"]
    ]
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_table.COVERAGE.block(report),
        Table("Central intervals", "interval", ("coverage", "mean width"), levels),
        metrics_table("Calibration errors", "metric", section["metrics"]),
    ]
    return Section("Calibration of intervals", blocks)


def _pit(report: dict[str, Any]) -> Section:
    section = report["pit"]
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_table.PIT_HISTOGRAM.block(report),
        metrics_table("PIT values", "metric", section["metrics"]),
    ]
    return Section("Probability integral transform", blocks)


def _scoring_rules(section: dict[str, Any]) -> Section:
    table = metrics_table("Scores", "score", section["metrics"], significant)
    return Section("Scoring rules", [table, Text("Smaller is better for all.")])


def _sharpness(report: dict[str, Any]) -> Section:
    section = report["sharpness"]
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_table.ERRORS.block(report),
        metrics_table("Sharpness", "metric", section["metrics"], significant),
    ]
    return Section("Sharpness", blocks)


def _recalibration(section: dict[str, Any]) -> Section:
    table = metrics_table("Temperature", "metric", section["metrics"], significant)
    return Section("Recalibration", [Text(section["verdict"]), table])
