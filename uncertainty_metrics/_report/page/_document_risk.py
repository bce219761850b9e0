"""What the report says of risks as a document, and the report of a survival model."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics._report.page import _picture_list
from uncertainty_metrics._report.sections import _risk, _survival
from uncertainty_metrics._report.sections._blocks import (
    SIDES,
    Block,
    Chapter,
    Table,
    Text,
    data_chapter,
    metrics_table,
    number,
)

_ON_WEIGHTS = (
    "An example that was censored by the horizon has weight 0, and the others have "
    "weights that stand for it. The intervals come from a bootstrap of the examples "
    "that finds the weights again in each resample."
)


def risk_chapter(report: dict[str, Any], before: list[Text]) -> Chapter:
    """Returns the chapter of a model that gives risks, with a text before it."""
    section = report["risk"]
    is_survival = report["task"] == "survival"
    meanings = (_survival if is_survival else _risk).MEANINGS
    keys = ("estimate", "low", "high")
    rows = [
        (name, *(number(ends[key]) for key in keys), meanings[name])
        for name, ends in section["intervals"].items()
        if ends["estimate"] is not None
    ]
    scores = {
        name: row
        for name, row in section["metrics"].items()
        if row["value"] is not None
    }
    blocks: list[Block] = [
        *before,
        Text(section["verdict"]),
        _picture_list.RISK_CURVE.block(report),
        Table(
            f"Calibration and ranking, with {section['level']:.0%} intervals",
            "metric",
            ("value", "from", "to", "meaning"),
            rows,
        ),
        metrics_table("Distances and scores", "metric", scores),
        _picture_list.DECISIONS.block(report),
    ]
    return Chapter("As a risk", blocks)


def comparison_of_risks(report: dict[str, Any]) -> list[Block]:
    """Returns what a comparison says of two classifiers that give risks."""
    other = report["comparison"]["other"]
    if "risk" not in report or "risk" not in other:
        return []
    found = [each["risk"] for each in (report, other)]
    rows = [
        (name, *(number(each["intervals"][name]["estimate"]) for each in found))
        for name in found[0]["intervals"]
        if name in found[1]["intervals"]
    ] + [
        (name, *(number(each["metrics"][name]["value"]) for each in found))
        for name in found[0]["metrics"]
    ]
    verdict = report["comparison"].get("risk", {}).get("verdict")
    return [
        Table("Both as risks", "metric", SIDES, rows),
        *([Text(verdict)] if verdict else []),
    ]


def survival_chapters(report: dict[str, Any]) -> list[Chapter]:
    """Returns the chapters of a survival model."""
    data = report["data"]
    facts = {
        "horizon": f"{data['horizon']:g}",
        "events by then": data["events_by_horizon"],
        "censored by then": data["lost_by_horizon"],
        "effective examples": f"{data['effective_examples']:.1f}",
    }
    return [risk_chapter(report, [Text(_ON_WEIGHTS)]), data_chapter(report, facts)]
