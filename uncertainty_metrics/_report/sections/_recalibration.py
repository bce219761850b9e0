"""The section on recalibration: the gain by each map, cross-validated on these data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._brier_scores import brier_title
from uncertainty_metrics._report.data._decided import decisions_of, examples_of
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Predictions,
    Rows,
    rows_of,
)
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Code,
    Table,
    Text,
    Tile,
    intervals_table,
    metrics_table,
    number,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import (
    capitalized,
    terms_for,
)
from uncertainty_metrics._report.sections._diagrams import (
    of_outcomes,
    panels,
    rows_of_each,
)
from uncertainty_metrics._report.sections._ece_test import ece_p_value
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    Metric,
    metrics,
)
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import is_clear
from uncertainty_metrics._report.sections._recalibrated_forecasts import (
    AS_IT_IS,
    FOLDS,
    LIKELIHOOD,
    MAPS,
    SET_ALPHA,
    BestMap,
    Recalibrated,
    recalibrated,
)
from uncertainty_metrics._report.sections._risk import Risk
from uncertainty_metrics._report.sections._sampled_rows import sentence_on_sample


def _draw(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws a diagram before and after the best map for each model that has a map."""
    each_rows = rows_of_each(models)
    of_maps = {name: recalibrated(rows, num_bins) for name, rows in each_rows.items()}
    figure = panels(
        6.0,
        lambda of_model, **options: um.reliability_diagram(
            **of_model.data,
            **{of_model.kind: of_model.drawn},
            clusters=of_model.clusters,
            num_bins=num_bins,
            consistency_band=INTERVAL_LEVEL,
            seed=SEED,
            positive_class=of_model.is_of_event,
            **options,
        ),
        {name: of_model for name, of_model in of_maps.items() if of_model.drawn},
        "Before and after recalibration",
    )
    return of_outcomes(figure, terms_for(next(iter(models.values()))))


def _has_map(models: Any, num_bins: int) -> bool:
    rows = rows_of(models[0])
    return rows is not None and bool(recalibrated(rows, num_bins).drawn)


RECALIBRATED = ReportPicture(
    "recalibrated_reliability_diagram.png",
    "before and after the best map, on examples that it was not fitted to",
    _draw,
    _has_map,
)


@dataclasses.dataclass(frozen=True)
class ConformalSets:
    """Sets of classes that hold the label: a sentence, and their numbers."""

    verdict: str
    metrics: dict[str, Metric]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recalibration(Section):
    """How much each map would gain.

    Attributes:
      folds: of the cross-validation.
      examples: number of examples; 0 if they are too few.
      best: name of the best map, or None.
      scores: of the model as it is and of each map.
      gains: how much each map lowers the score `criterion`.
      code: lines of code that fit the best map.
      sets: conformal sets.
      notes: sentences for the reader.
      criterion: the score that compares the maps.
      needs_recalibration: whether the best map clearly gains.
      verdict: a sentence or two.
    """

    name = "recalibration"
    heading = "What recalibration would give"
    tasks = ("classification", "confidences")
    pictures = (RECALIBRATED,)

    folds: int = FOLDS
    examples: int
    best: str | None
    scores: dict[str, dict[str, float]]
    gains: dict[str, Interval]
    code: list[str]
    sets: ConformalSets
    notes: tuple[str, ...]
    criterion: str | None = None
    needs_recalibration: bool | None = None
    verdict: str

    @classmethod
    def of(cls, report: ModelReport) -> Recalibration | None:
        rows = rows_of(report.model)
        if rows is None:
            return None
        found = recalibrated(rows, report.num_bins)
        best = found.best
        return cls(
            examples=0 if found.too_few else len(found.forecasts[AS_IT_IS]),
            best=best and best.name,
            scores=dict(found.scores),
            gains={} if best is None else best.gains,
            code=[] if best is None else _code(best.name, rows),
            sets=_conformal_sets(found),
            notes=found.notes,
            criterion=best and best.criterion,
            needs_recalibration=None if best is None else best.is_clear,
            verdict=_verdict(found, best, rows),
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        title = "Recalibration"
        if self.best is None or self.criterion is None:
            yield Tile(title, TOO_FEW_TO_SAY, self.verdict, "unclear")
            return
        value, level = "Would help", "bad"
        if not self.needs_recalibration:
            # A model may be miscalibrated, for example for some groups, and yet no map
            # of its confidences makes it calibrated.
            value, level = "Not clearly needed", "good"
            if is_clear(_p_value(report)):
                value, level = "No map clearly helps", "unclear"
        before, after = (
            self.scores[name][self.criterion] for name in (AS_IT_IS, self.best)
        )
        gain = self.gains[self.best]
        yield Tile(
            title,
            value,
            f"The best of {len(self.gains)} maps, {MAPS[self.best][1]}, takes the "
            f"{_spelled(self.criterion, report.model)} from {number(before)} to "
            f"{number(after)} on {_sample(self.examples, report.model)} that it was "
            "not fitted to; within two standard errors, the gain is "
            f"{number(gain.low)} to {number(gain.high)}.",
            level,
        )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield from sentence_on_sample(report.model)
        yield Text(self.verdict)
        if self.best is not None:
            terms = terms_for(report.model)
            yield RECALIBRATED.block(
                "Reliability diagram of the model as it is and recalibrated. "
                f"{self.verdict}",
                f"{capitalized(terms.outcome)} against {terms.score}, before and "
                "after, on examples that the map was not fitted to. The band shows "
                "where chance alone puts a calibrated model.",
            )
        if self.scores:
            brier = brier_title(report.model)
            yield Text(
                f"Negative log-likelihood (NLL), {brier} and ECE of {self.examples:,} "
                "examples, cross-validated: the map that recalibrates an example was "
                f"fitted to the other {self.folds - 1} of {self.folds} folds."
                f"{_on_folds(report)}"
            )
            yield Table(
                "Before and after",
                "forecasts",
                ("NLL", "Brier", "ECE"),
                [
                    (name, *map(number, row.values()))
                    for name, row in self.scores.items()
                ],
            )
        if self.gains and self.criterion is not None:
            yield Text(
                f"How much each map lowers the "
                f"{_spelled(self.criterion, report.model)}, with two standard errors "
                "to each side:"
            )
            yield intervals_table("Gains of the maps", "gain", self.gains)
        if self.code:
            mean, model = "", report.model
            if isinstance(model, Predictions) and model.members > 1:
                mean = ", for the mean of the probabilities of the members"
            yield Text(
                f"The code of the best map{mean}. Fit the map on data that were used "
                "neither to train nor to test the model:"
            )
            yield Code(self.code)
        for note in self.notes:
            yield Text(f"Note: {note}")
        if self.sets.metrics:
            yield Text(self.sets.verdict)
            yield metrics_table("Conformal sets", "sets", self.sets.metrics)


def _sample(size: int, model: Decided) -> str:
    """Returns the examples that compare the maps, in words."""
    rows = rows_of(model)
    if rows is None or size == len(decisions_of(rows).correct):
        return "examples"
    return f"{size:,} examples drawn at random"


def _on_folds(report: ModelReport) -> str:
    clustered = clusters_of(report.model) is not None
    return " All examples of a cluster are in one fold." if clustered else ""


def _p_value(report: ModelReport) -> float:
    """Returns the smallest p-value of the tests of calibration."""
    p, risk = ece_p_value(report.model, report.num_bins), report.get(Risk)
    return p if risk is None else min(p, risk.p_value)


def _spelled(criterion: str, model: Rows) -> str:
    return "negative log-likelihood" if criterion == LIKELIHOOD else brier_title(model)


def _verdict(found: Recalibrated, best: BestMap | None, model: Rows) -> str:
    if found.too_few:
        return f"Too few to say: {found.too_few}."
    if best is None:
        return "No map can be fitted to these examples."
    title, score = MAPS[best.name][1], _spelled(best.criterion, model)
    before, after = (
        found.scores[name][best.criterion] for name in (AS_IT_IS, best.name)
    )
    examples = _sample(len(found.forecasts[AS_IT_IS]), model)
    if best.is_clear:
        verdict = (
            f"Recalibration would help: {title} lowers the {score} from {before:.4f} "
            f"to {after:.4f} on {examples} that it was not fitted to"
        )
    else:
        verdict = (
            f"No map clearly helps: the best one, {title}, takes the {score} "
            f"from {before:.4f} to {after:.4f} on {examples} that it was not fitted "
            "to, and chance alone may do the same"
        )
    return f"{verdict}.{best.why}"


def _code(best: str, model: Rows) -> list[str]:
    """Returns lines of code that recalibrate, with the names of a file's arrays.

    An ensemble's forecasts, the mean of the probabilities, are no array of the file, so
    the code calls them `mean`.
    """
    kind = examples_of(model).name
    labels, name = "labels", kind
    before = []
    if isinstance(model, Confidences):
        labels, name = "correct", "confidences"
        if model.are_graded:
            labels = "label_distributions=shares"
            before = ["shares = np.stack([1 - grades, grades], axis=1)"]
        if model.votes is not None:
            before = [*_GRADES_OF_VOTES, *before]
    elif model.members > 1:
        kind, name = "probabilities", "mean"
    calibrator = MAPS[best][0]
    fit = f"scaling = um.{getattr(calibrator, '__name__', '')}().fit("
    data = f"{labels}, {kind}={name}"
    weights = ", sample_weight=sample_weight"
    weighted = model.sample_weight is not None
    return [
        *(["import numpy as np"] if before else []),
        "import uncertainty_metrics.numpy as um",
        *before,
        *([fit, f"    {data}{weights}", ")"] if weighted else [f"{fit}{data})"]),
        f"recalibrated = scaling.transform({kind}=new_{name})",
    ]


# How the decisions of a classifier become answers with grades; `votes` are the shares
# of the votes for the classes.
_GRADES_OF_VOTES = (
    "decided = probabilities.argmax(axis=1)[:, None]",
    "confidences = np.take_along_axis(probabilities, decided, axis=1)[:, 0]",
    "grades = np.take_along_axis(votes, decided, axis=1)[:, 0]",
)


def _conformal_sets(found: Recalibrated) -> ConformalSets:
    if found.sets is None:
        return ConformalSets("", {})
    coverage, size, empty = found.sets
    some = f" {empty:.1%} of the sets are empty." if empty else ""
    return ConformalSets(
        "If a decision may be several classes: sets of classes that hold the label "
        f"with probability {1 - SET_ALPHA:.0%}, however good the model is, by "
        "um.conformal.ConformalClassifier.",
        metrics(
            {
                "coverage": (coverage, "Share of the sets that hold the label."),
                "mean_set_size": (size, f"Mean number of classes in a set.{some}"),
            }
        ),
    )
