"""The calibration report as a document: chapters of texts, tables and pictures.

This module reads the dict of a report and computes nothing. The modules that show the
document, as text or as a page, know only its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from uncertainty_metrics._report.page import _picture_list
from uncertainty_metrics._report.page._document_regression import regression_chapters
from uncertainty_metrics._report.page._document_risk import (
    comparison_of_risks,
    risk_chapter,
    survival_chapters,
)
from uncertainty_metrics._report.sections._blocks import (
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
from uncertainty_metrics._report.sections._calibration_words import (
    capitalized,
    terms_in,
)
from uncertainty_metrics._report.sections._p_values import of_sample

# If there are more groups, the table shows the groups with the smallest p-values.
_SHOWN_GROUPS = 40
_OF_GROUPS = ("lower", "upper", "mean_score", "mean_outcome")
_ON_MULTIPLICITY = (
    "Many groups are many chances to find something. The p-values are adjusted for the "
    "number of groups that are tested, here {tested} (Holm): a calibrated model has a "
    "finding in at most 5% of data sets, however the groups overlap. Each interval is "
    "for one group by itself. A group without a finding may still be miscalibrated, by "
    "less than its interval shows; and a group that was chosen after a look at the "
    "outcomes has no such guarantee."
)


def chapters(report: dict[str, Any]) -> list[Chapter]:
    """Returns the chapters of a report."""
    if report["task"] == "regression":
        shown = regression_chapters(report)
    elif report["task"] == "survival":
        shown = survival_chapters(report)
    else:
        shown = _chapters_of_decisions(report)
    if "comparison" in report:
        shown.append(Chapter("Comparison of two models", [*_comparison(report)]))
    return shown


def _chapters_of_decisions(report: dict[str, Any]) -> list[Chapter]:
    """Returns the chapters on a classifier, or on answers with confidences."""
    shown = [
        _calibration(report),
        _posterior(report),
        _scoring_rules(report),
        intervals_chapter(report["intervals"]),
        *([_recalibration(report)] if "recalibration" in report else []),
    ]
    of_decisions, of_groups = [_selective_prediction(report)], []
    if "groups" in report:
        of_groups.append(_groups(report))
    if "risk" in report:  # What is of decisions comes last.
        of_risk = risk_chapter(report, _sampled(report))
        shown = [of_risk, *shown, *of_groups, *of_decisions]
    else:
        shown += [*of_decisions, *of_groups]
    if "sampled_answers" in report:
        shown.append(_sampled_answers(report["sampled_answers"]))
    if "ensemble" in report:
        shown.append(_ensemble(report))
    return [*shown, _data(report)]


def _data(report: dict[str, Any]) -> Chapter:
    calibration, data = report["calibration"], report["data"]
    facts = {}
    if "classes" in data:
        facts["classes"] = data["classes"]
    elif "distinct_confidences" in data:
        facts["distinct confidences"] = data["distinct_confidences"]
        if data["questions"] is not None:
            facts["questions by"] = data["questions"]
    if "basis" in report and report["basis"]["sample"]:  # A summary has no rows.
        facts["rows of the sample"] = f"{report['basis']['sample']:,}"
    if calibration["event"] is not None:
        terms = terms_in(report)
        facts |= {
            terms.outcome: number(calibration["share"]),
            f"mean {terms.score}": number(calibration["mean_probability"]),
        }
    facts |= {
        "accuracy": number(calibration["accuracy"]),
        "mean confidence": number(calibration["mean_confidence"]),
    }
    return data_chapter(report, facts)


def _calibration(report: dict[str, Any]) -> Chapter:
    section, num_bins = report["calibration"], report["options"]["num_bins"]
    means: list[Block] = []
    if "means" in section:
        caption = "How often the model is right, and how sure it is"
        means.append(intervals_table(caption, "mean", section["means"]))
    blocks: list[Block] = [
        Text(section["verdict"]),
        *means,
        _picture_list.RELIABILITY.block(report),
        metrics_table("Calibration errors", "metric", section["metrics"]),
        Text(
            f"All errors are in [0, 1], 0 is best; {num_bins} bins. Bins of few "
            "examples tend to make the errors too large."
        ),
    ]
    if section["event"] is not None:
        terms = terms_in(report)
        blocks.append(
            Text(
                f"ece, mce and rmsce compare {terms.score} with the {terms.outcome}. "
                "The confidence of decisions would hide a probability that is too low "
                "everywhere."
            )
        )
    if section["classes"]:
        columns = ("share", "sce", "ace")
        rows = [
            (name, *(number(row[column]) for column in columns))
            for name, row in section["classes"].items()
        ]
        blocks += [
            Text("The errors of the probability of each class, and its share:"),
            Table("Errors of single classes", "class", columns, rows),
        ]
    return Chapter("Calibration", blocks)


def _posterior(report: dict[str, Any]) -> Chapter:
    verdict = Text(report["bayesian_ece"]["verdict"])
    picture = _picture_list.POSTERIORS.block(report)
    return Chapter("Posterior of the ECE", [verdict, picture])


def _scoring_rules(report: dict[str, Any]) -> Chapter:
    section = report["scoring_rules"]
    parts = [
        (f"{row['sign']} {name}", number(row["value"]), row["meaning"])
        for name, row in section["brier_parts"].items()
    ]
    total = ("= brier_score", number(section["sum_of_brier_parts"]), "")
    columns = ("value", "meaning")
    blocks: list[Block] = [
        metrics_table("Proper scoring rules", "score", section["metrics"])
    ]
    if report["calibration"]["event"] is not None:
        blocks.append(
            Text(
                "The Brier score of the event, the mean of (event - probability)^2 "
                "from 0 to 1, is half of brier_score_zero_based."
            )
        )
    if parts:
        blocks += [
            Text("The Brier score is made up of:"),
            Table("Parts of the Brier score", "part", columns, [*parts, total]),
        ]
    return Chapter("Scoring rules", blocks)


def _selective_prediction(report: dict[str, Any]) -> Chapter:
    section = report["selective_prediction"]
    table = metrics_table("Selective prediction", "metric", section["metrics"])
    promise = section["promise"]
    rows = promise["metrics"]
    caption = "At a promised risk"
    blocks: list[Block] = [
        Text(section["verdict"]),
        _picture_list.RISK_COVERAGE.block(report),
        table,
    ]
    if promise["verdict"]:
        blocks.append(Text(promise["verdict"]))
    if rows:
        blocks.append(metrics_table(caption, "threshold", rows))
    title = "Selective prediction"
    if report["task"] == "confidences":
        title = "Answering and abstaining"
    return Chapter(title, blocks)


def _recalibration(report: dict[str, Any]) -> Chapter:
    section = report["recalibration"]
    blocks: list[Any] = [*_sampled(report), Text(section["verdict"])]
    if section["best"] is not None:
        blocks.append(_picture_list.RECALIBRATED.block(report))
    if section["scores"]:
        rows = [
            (name, *map(number, row.values()))
            for name, row in section["scores"].items()
        ]
        _, brier, _ = next(iter(section["scores"].values()))
        blocks += [
            Text(
                f"Negative log-likelihood (NLL), {brier} and ece of "
                f"{section['examples']} examples, cross-validated: the map that "
                "recalibrates an example was fitted to the other "
                f"{section['folds'] - 1} of {section['folds']} folds."
            ),
            Table("Before and after", "forecasts", ("NLL", "Brier", "ECE"), rows),
        ]
    if section["gains"]:
        blocks += [
            Text(
                f"How much each map lowers {section['criterion']}, with two standard "
                "errors to each side:"
            ),
            intervals_table("Gains of the maps", "gain", section["gains"]),
        ]
    if section["code"]:
        mean = ""
        if report["data"].get("members", 1) > 1:
            mean = ", for the mean of the probabilities of the members"
        blocks += [
            Text(
                f"The code of the best map{mean}. Fit the map on data that were used "
                "neither to train nor to test the model:"
            ),
            Code(section["code"]),
        ]
    blocks += [Text(f"Note: {note}") for note in section["notes"]]
    sets = section["sets"]
    if sets["metrics"]:
        table = metrics_table("Conformal sets", "sets", sets["metrics"])
        blocks += [Text(sets["verdict"]), table]
    return Chapter("What recalibration would give", blocks)


def _sampled(report: dict[str, Any]) -> list[Text]:
    """Returns a sentence for chapters that are about a sample of a stream."""
    if "basis" not in report:
        return []
    return [Text(f"This section is {of_sample(report['basis']['sample'])}.")]


def _groups(report: dict[str, Any]) -> Chapter:
    section, terms = report["groups"], terms_in(report)
    of_means = ("confidence", "accuracy")
    if report["calibration"]["event"] is not None:
        of_means = ("probability", "share")
    rows = [
        (
            row["name"],
            f"{row['gap']:.3f}",
            _p_value(row["adjusted_p_value"]),
            *(f"{row[key]:.3f}" for key in _OF_GROUPS),
            f"{row['size']:.6g}",
        )
        for row in section["rows"][:_SHOWN_GROUPS]
    ]
    blocks: list[Block] = [
        *_sampled(report),
        Text(section["verdict"]),
        _picture_list.GROUPS.block(report),
        Table(
            f"{capitalized(terms.gap)} of each group",
            "group",
            ("gap", "p (Holm)", "from", "to", *of_means, "size"),
            rows,
        ),
    ]
    more = len(section["rows"]) - len(rows)
    if more:
        blocks.append(Text(f"{more} more groups are in report.json."))
    if section["tested"]:
        blocks.append(Text(_ON_MULTIPLICITY.format(**section)))
    return Chapter("Groups", blocks)


def _p_value(p: float | None) -> str:
    if p is None:
        return "too small"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _sampled_answers(section: dict[str, Any]) -> Chapter:
    columns = ("auroc", "aurc", "ece")
    rows = [
        (name, *(number(row[column]) for column in columns))
        for name, row in section["signals"].items()
    ]
    table = Table("Signs of a right answer", "sign", columns, rows)
    return Chapter("Sampled answers", [Text(section["verdict"]), table])


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
        _picture_list.ENSEMBLE.block(report),
        Table("The ensemble and its members", title, columns, rows),
        metrics_table("Mean uncertainty", "uncertainty", section["uncertainty"]),
    ]
    return Chapter("Ensemble", blocks)


def _comparison(report: dict[str, Any]) -> Iterator[Block]:
    section = report["comparison"]
    show = significant if report["task"] == "regression" else number
    models = (model(report), model(section["other"]))
    yield Facts(dict(zip(SIDES, models, strict=True)))
    yield Text(section["examples"])
    for note in section["other"]["notes"]:
        yield Text(f"Note on the second model: {note}")
    yield Table(
        "Both models",
        "metric",
        SIDES,
        [
            (name, *(show(row[side]) for side in SIDES))
            for name, row in section["numbers"].items()
        ],
    )
    if report["task"] == "classification":
        yield from comparison_of_risks(report)
    if "drift" in section:
        yield from _drift(report)
    yield Text(f"{section['verdict']} {section['quality']}")
    if section["differences"]:
        yield Text(
            "Each number is a metric of the first model less the same metric of the "
            "second. The bootstrap draws the same examples for both models. If an "
            "interval holds 0, either model may be better."
        )
        yield intervals_table(
            "The differences", "first - second", section["differences"], show
        )
    if "groups" in report and "groups" in section["other"]:
        gap = terms_in(report).gap
        yield _groups_of_two(report["groups"], section["other"]["groups"], gap)


def _drift(report: dict[str, Any]) -> Iterator[Block]:
    section, terms = report["comparison"]["drift"], terms_in(report)
    yield Text(section["verdict"])
    yield _picture_list.DRIFT.block(report)
    yield Table(
        f"{capitalized(terms.gap)} in each bin",
        terms.score,
        ("first", "second", "z"),
        [
            (
                f"{row['from']:.3f} to {row['to']:.3f}",
                f"{row['first']:+.4f}",
                f"{row['second']:+.4f}",
                "-" if row["z"] is None else f"{row['z']:.1f}",
            )
            for row in section["bins"]
        ],
    )


def _groups_of_two(first: dict[str, Any], second: dict[str, Any], gap: str) -> Table:
    """Returns a table of the gaps of the groups that both models have."""
    others = {row["name"]: row for row in second["rows"]}
    pairs = [
        (row, others[row["name"]]) for row in first["rows"] if row["name"] in others
    ]
    return Table(
        f"{capitalized(gap)} of each group, and p (Holm)",
        "group",
        ("first", "p", "second", "p"),
        [
            (
                pair[0]["name"],
                *(
                    cell
                    for row in pair
                    for cell in (f"{row['gap']:.3f}", _p_value(row["adjusted_p_value"]))
                ),
            )
            for pair in pairs[:_SHOWN_GROUPS]
        ],
    )
