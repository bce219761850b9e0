"""The calibration report of a regression as a document."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics._report.page import _picture_list
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Chapter,
    Table,
    Text,
    data_chapter,
    intervals_chapter,
    metrics_table,
    number,
    significant,
)


def regression_chapters(report: dict[str, Any]) -> list[Chapter]:
    """Returns the chapters of one model."""
    return [
        _calibration(report),
        _pit(report),
        _scoring_rules(report["scoring_rules"]),
        _sharpness(report),
        intervals_chapter(report["intervals"], significant),
        _recalibration(report["recalibration"]),
        _data(report),
    ]


def _data(report: dict[str, Any]) -> Chapter:
    scores, sharpness = report["scoring_rules"], report["sharpness"]
    facts = {
        "uncertainty as": report["data"]["predictions"],
        "rmse": significant(scores["metrics"]["rmse"]["value"]),
        "mean stddev": significant(sharpness["metrics"]["sharpness"]["value"]),
    }
    return data_chapter(report, facts)


def _calibration(report: dict[str, Any]) -> Chapter:
    section = report["calibration"]
    levels = [
        (f"{row['level']:.0%}", number(row["coverage"]), significant(row["width"]))
        for row in section["levels"]
    ]
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_list.COVERAGE.block(report),
        Table("Central intervals", "interval", ("coverage", "mean width"), levels),
        metrics_table("Calibration errors", "metric", section["metrics"]),
    ]
    return Chapter("Calibration of intervals", blocks)


def _pit(report: dict[str, Any]) -> Chapter:
    section = report["pit"]
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_list.PIT_HISTOGRAM.block(report),
        metrics_table("PIT values", "metric", section["metrics"]),
    ]
    return Chapter("Probability integral transform", blocks)


def _scoring_rules(section: dict[str, Any]) -> Chapter:
    table = metrics_table("Scores", "score", section["metrics"], significant)
    return Chapter("Scoring rules", [table, Text("Smaller is better for all.")])


def _sharpness(report: dict[str, Any]) -> Chapter:
    section = report["sharpness"]
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_list.ERRORS.block(report),
        metrics_table("Sharpness", "metric", section["metrics"], significant),
    ]
    return Chapter("Sharpness", blocks)


def _recalibration(section: dict[str, Any]) -> Chapter:
    table = metrics_table("Temperature", "metric", section["metrics"], significant)
    return Chapter("Recalibration", [Text(section["verdict"]), table])
