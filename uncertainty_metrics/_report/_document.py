"""The calibration report as a document: chapters of texts, tables and pictures.

It reads the dict of a report, and computes nothing. What shows the document, as text or
as a page, knows of blocks only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from uncertainty_metrics._report import _picture_table
from uncertainty_metrics._report._blocks import (
    SIDES,
    Block,
    Chapter,
    Code,
    Facts,
    Table,
    Text,
    data_chapter,
    intervals_chapter,
    intervals_table,
    metrics_table,
    model,
    number,
    significant,
)
from uncertainty_metrics._report._document_regression import regression_chapters


def chapters(report: dict[str, Any]) -> list[Chapter]:
    """Returns the chapters of a report."""
    if report["task"] == "regression":
        chapters_of_task = regression_chapters(report)
    else:
        chapters_of_task = _classifier_chapters(report)
    if "comparison" in report:
        chapters_of_task.append(
            Chapter("Comparison of two models", [*_comparison(report)])
        )
    return chapters_of_task


def _classifier_chapters(report: dict[str, Any]) -> list[Chapter]:
    chapters_of_task = [
        _calibration(report),
        _posterior(report),
        _scoring_rules(report["scoring_rules"]),
        intervals_chapter(report["intervals"]),
        _mending(report),
        _selective_prediction(report),
    ]
    if "ensemble" in report:
        chapters_of_task.append(_ensemble(report))
    return [*chapters_of_task, _data(report)]


def _data(report: dict[str, Any]) -> Chapter:
    calibration = report["calibration"]
    facts = {
        "classes": report["data"]["classes"],
        "accuracy": number(calibration["accuracy"]),
        "mean confidence": number(calibration["mean_confidence"]),
    }
    return data_chapter(report, facts)


def _calibration(report: dict[str, Any]) -> Chapter:
    section, num_bins = report["calibration"], report["options"]["num_bins"]
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_table.RELIABILITY.block(report),
        metrics_table("Calibration errors", "metric", section["metrics"]),
        Text(
            f"All are in [0, 1], 0 is best; {num_bins} bins. Bins of few examples "
            "tend to make them too large."
        ),
    ]
    if section["classes"]:
        columns = ("share", "sce", "ace")
        rows = [
            (name, *(number(row[column]) for column in columns))
            for name, row in section["classes"].items()
        ]
        blocks += [
            Text("Of the probability of each class, and its share of the labels:"),
            Table("Errors of single classes", "class", columns, rows),
        ]
    return Chapter("Calibration", blocks)


def _posterior(report: dict[str, Any]) -> Chapter:
    verdict = Text(report["bayesian_ece"]["verdict"])
    picture = _picture_table.POSTERIORS.block(report)
    return Chapter("Posterior of the ECE", [verdict, picture])


def _scoring_rules(section: dict[str, Any]) -> Chapter:
    parts = [
        (f"{row['sign']} {name}", number(row["value"]), row["meaning"])
        for name, row in section["brier_parts"].items()
    ]
    total = ("= brier_score", number(section["sum_of_brier_parts"]), "")
    columns = ("value", "meaning")
    return Chapter(
        "Scoring rules",
        [
            metrics_table("Proper scoring rules", "score", section["metrics"]),
            Text("The Brier score is made up of:"),
            Table("Parts of the Brier score", "part", columns, [*parts, total]),
        ],
    )


def _selective_prediction(report: dict[str, Any]) -> Chapter:
    section = report["selective_prediction"]
    table = metrics_table("Selective prediction", "metric", section["metrics"])
    promise = section["promise"]
    rows = promise["metrics"]
    title = "At a promised risk"
    promised = [metrics_table(title, "threshold", rows)] if rows else []
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_table.RISK_COVERAGE.block(report),
        table,
        Text(promise["verdict"]),
        *promised,
    ]
    return Chapter("Selective prediction", blocks)


def _mending(report: dict[str, Any]) -> Chapter:
    section = report["mending"]
    blocks: list[Any] = [Text(section["verdict"])]
    if section["best"] is not None:
        blocks.append(_picture_table.MENDED.block(report))
    if section["scores"]:
        columns = ("negative_log_likelihood", "brier_score_zero_based", "ece")
        rows = [
            (name, *(number(row[column]) for column in columns))
            for name, row in section["scores"].items()
        ]
        blocks += [
            Text(
                "Negative log-likelihood (NLL), brier_score_zero_based and ece of "
                f"{section['examples']} examples, cross-validated: a map is fitted to "
                f"all of {section['folds']} folds but that of the example."
            ),
            Table("Before and after", "forecasts", ("NLL", "Brier", "ECE"), rows),
        ]
    if section["gains"]:
        blocks += [
            Text(
                f"What each map takes off {section['criterion']}, less and plus two "
                "standard errors:"
            ),
            intervals_table("What maps gain", "gain", section["gains"]),
        ]
    if section["code"]:
        mean = ""
        if report["data"]["members"] > 1:
            mean = ", of the mean of the probabilities of the members"
        blocks += [
            Text(
                f"The code of the best one{mean}. Fit it on data that is neither "
                "trained nor tested on:"
            ),
            Code(section["code"]),
        ]
    blocks += [Text(f"Note: {note}") for note in section["notes"]]
    sets = section["sets"]
    if sets["metrics"]:
        table = metrics_table("Conformal sets", "sets", sets["metrics"])
        blocks += [Text(sets["verdict"]), table]
    return Chapter("What mending would give", blocks)


def _ensemble(report: dict[str, Any]) -> Chapter:
    section = report["ensemble"]
    columns = ("mean", "lowest", "highest", "ensemble")
    rows = [
        (name, *(number(row.get(column, "")) for column in columns))
        for name, row in section["metrics"].items()
    ]
    title = f"of {section['members']} members"
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_table.ENSEMBLE.block(report),
        Table("The ensemble and its members", title, columns, rows),
        metrics_table("Mean uncertainty", "uncertainty", section["uncertainty"]),
    ]
    return Chapter("Ensemble", blocks)


def _comparison(report: dict[str, Any]) -> Iterator[Text | Facts | Table]:
    section = report["comparison"]
    show = significant if report["task"] == "regression" else number
    models = (model(report), model(section["other"]))
    yield Facts(dict(zip(SIDES, models, strict=True)))
    yield Text(section["examples"])
    for note in section["other"]["notes"]:
        yield Text(f"Note on the second: {note}")
    rows = dict(section["numbers"])
    if "probability_of_lower_calibration_error" in section:
        rows["P(lower ece)"] = section["probability_of_lower_calibration_error"]
    yield Table(
        "Both models",
        "metric",
        SIDES,
        [(name, *(show(row[side]) for side in SIDES)) for name, row in rows.items()],
    )
    yield Text(f"{section['verdict']} {section['quality']}")
    if section["differences"]:
        yield Text(
            "The first less the second, with intervals by the bootstrap of the same "
            "examples for both. Where one holds 0, either may be better."
        )
        yield intervals_table(
            "The differences", "first - second", section["differences"], show
        )
