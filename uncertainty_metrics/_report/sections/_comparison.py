"""The section that compares two models."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._brier_scores import brier_title
from uncertainty_metrics._report.data._predictions import has_grades
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections import _same_examples
from uncertainty_metrics._report.sections._better_calibrated import (
    BetterCalibrated,
    better_calibrated,
)
from uncertainty_metrics._report.sections._blocks import (
    SIDES,
    Block,
    Facts,
    Table,
    Text,
    Tile,
    intervals_table,
    number,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    differences,
)
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_of_clusters import (
    verdict_on_clusters,
)
from uncertainty_metrics._report.sections._calibration_words import terms_for
from uncertainty_metrics._report.sections._comparison_words import (
    OUTCOMES,
    OfBoth,
    quality,
    quality_of_confidences,
    quality_of_regressions,
    verdict_of_regressions,
    verdict_of_two,
    which_ranks_better,
)
from uncertainty_metrics._report.sections._coverage import Coverage
from uncertainty_metrics._report.sections._data import Data, DataOfClassifier
from uncertainty_metrics._report.sections._drift import (
    DRIFT_FILE,
    Drift,
    can_drift,
    draw_drift,
    drift_between,
)
from uncertainty_metrics._report.sections._ece_test import ece_p_value
from uncertainty_metrics._report.sections._findings import graded, unless_few
from uncertainty_metrics._report.sections._forecast_numbers import (
    differences_of_forecasts,
)
from uncertainty_metrics._report.sections._forecast_scores import ForecastScores
from uncertainty_metrics._report.sections._groups import Groups, table_of_two
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval, Metric
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._posterior import Posterior, ece_draws
from uncertainty_metrics._report.sections._risk import (
    RankingOfTwo,
    Risk,
    ranking_of_two,
)
from uncertainty_metrics._report.sections._scoring_rules import ScoringRules
from uncertainty_metrics._report.sections._selective_prediction import (
    SelectivePrediction,
)
from uncertainty_metrics._report.sections._sharpness import Sharpness
from uncertainty_metrics._report.sections._survival import (
    SurvivalRisk,
    differences_of_survival,
)
from uncertainty_metrics._report.sections._temperature import Temperature

DRIFT = ReportPicture(
    DRIFT_FILE,
    "if the second file has other examples, the bins where calibration differs",
    draw_drift,
    lambda models, num_bins: (
        len(models) > 1 and _same_examples.drifts(models[0], models[1])
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison(Section):
    """Two models side by side, and the intervals of their differences.

    Attributes:
      same_examples: whether both are about the same examples.
      examples: a sentence on it.
      numbers: some numbers of each.
      verdict: a sentence or two.
      differences: metrics of the first less those of the second; empty for other
        examples.
      quality: a sentence on the scores.
      other: the report on the second model.
    """

    name = "comparison"
    heading = "Comparison of two models"
    tasks = ("regression", "survival")

    same_examples: bool
    examples: str
    numbers: dict[str, OfBoth]
    verdict: str
    differences: dict[str, Interval]
    quality: str
    other: ModelReport

    @classmethod
    def of(cls, report: ModelReport) -> Comparison | None:
        other = report.other
        if other is None:
            return None
        same, examples = _same_examples.same_examples(report.model, other.model)
        if not same and clusters_of(report.model) is not None:
            examples += (
                " Whether the calibration has changed is not tested: the test is for "
                "independent examples, not for clusters."
            )
        compared = {
            "classification": _of_classifiers,
            "confidences": _of_answers,
            "regression": _of_regressions,
            "survival": _of_survival_models,
        }[report.task]
        return compared(report, other, {"same_examples": same, "examples": examples})

    def tiles(self, report: ModelReport) -> list[Tile]:
        title = f"Compared with {self.other.model.source}"
        return [self._tile_of_scores(report, title)]

    def _tile_of_scores(self, report: ModelReport, title: str) -> Tile:
        # The score that the tile compares, its name, and how it is shown.
        score, name, show = "crps", "CRPS", significant
        if report.task != "regression":
            score, name, show = "brier_score", brier_title(report.model), number
        ends = self.differences.get(score)
        if ends is None or ends.low is None:
            detail = f"{self.examples} {self.verdict}"
            return Tile(title, "Not comparable", detail, "unclear")
        value, level = "No clear difference", "unclear"
        if ends.side_of(0):
            better, level = ("second", "bad") if ends.low > 0 else ("first", "good")
            value = f"The {better} predicts better"
        first, second = (self.numbers[score][side] for side in SIDES)
        tile = Tile(
            title,
            value,
            f"{name} {show(first)} for the first model and {show(second)} for the "
            f"second, a difference of {show(ends.low)} to {show(ends.high)} with "
            f"{INTERVAL_LEVEL:.0%} confidence; smaller is better. {self.verdict}",
            level,
        )
        return unless_few(tile, effective_examples(self.other.model))

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        other = self.other
        show = significant if report.task == "regression" else number
        yield Facts(dict(zip(SIDES, (report.title, other.title), strict=True)))
        yield Text(self.examples)
        for note in other.notes:
            yield Text(f"Note on the second model: {note}")
        yield Table(
            "Both models",
            "metric",
            SIDES,
            [
                (name, *(show(row[side]) for side in SIDES))
                for name, row in self.numbers.items()
            ],
        )
        yield from self.blocks_of_decisions(report)
        yield Text(f"{self.verdict} {self.quality}")
        if self.differences:
            yield Text(
                "Each number is a metric of the first model less the same metric of "
                "the second. The bootstrap draws the same examples for both models. If "
                "an interval holds 0, either model may be better."
            )
            yield intervals_table(
                "The differences", "first - second", self.differences, show
            )
        yield from self.table_of_groups(report)

    def blocks_of_decisions(self, report: ModelReport) -> Iterable[Block]:
        """Returns what is shown of risks and of drift."""
        return ()

    def table_of_groups(self, report: ModelReport) -> Iterable[Block]:
        """Returns a table of the groups of both models, if both have some."""
        return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparisonOfDecisions(Comparison):
    """Two classifiers, or two models that answer.

    Attributes:
      probability_of_lower_calibration_error: by the posteriors of the ECE; None for
        grades, which have none.
      calibration: which model is better calibrated; None for other examples.
      risk: which model ranks the risks better, if both give risks.
      drift: whether calibration differs between both sets of examples, if these differ.
    """

    tasks = ("classification", "confidences")
    pictures = (DRIFT,)

    probability_of_lower_calibration_error: OfBoth | None = None
    calibration: BetterCalibrated | None = None
    risk: RankingOfTwo | None = None
    drift: Drift | None = None

    def tiles(self, report: ModelReport) -> list[Tile]:
        if self.drift is None:
            return super().tiles(report)
        finding, otherwise = "Calibration has changed", "No clear change"
        value, level = graded(self.drift.p_value, finding, otherwise)
        title = f"Compared with {self.other.model.source}"
        return [Tile(title, value, self.drift.verdict, level)]

    def blocks_of_decisions(self, report: ModelReport) -> Iterator[Block]:
        yield from self._blocks_of_risks(report)
        if self.calibration is not None:
            yield Text(self.calibration.verdict)
            yield intervals_table(
                "Squared calibration errors (l2, without bias)",
                "first - second",
                {"squared error": self.calibration.difference},
            )
        if self.drift is not None:
            yield from self.drift.blocks(terms_for(report.model))

    def table_of_groups(self, report: ModelReport) -> Iterator[Block]:
        first, second = report.get(Groups), self.other.get(Groups)
        if first is not None and second is not None:
            yield table_of_two(first, second, terms_for(report.model).gap)

    def _blocks_of_risks(self, report: ModelReport) -> Iterator[Block]:
        """Yields what compares two classifiers that give risks."""
        first, second = report.get(Risk), self.other.get(Risk)
        if first is None or second is None:
            return
        rows = [
            (name, number(ends.estimate), number(second.intervals[name].estimate))
            for name, ends in first.intervals.items()
        ] + [
            (name, number(metric.value), number(second.metrics[name].value))
            for name, metric in first.metrics.items()
        ]
        yield Table("Both as risks", "metric", SIDES, rows)
        if self.risk is not None:
            yield Text(self.risk.verdict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparisonOfAnswers(ComparisonOfDecisions):
    """Two models that answer.

    Attributes:
      more_often_right: the model that is clearly right more often, or has the larger
        mean grade; or None.
    """

    more_often_right: str | None

    def _tile_of_scores(self, report: ModelReport, title: str) -> Tile:
        """Returns the tile of two models that say how sure they are.

        A model that is never right and says so has the best Brier score, so the tile
        does not show it.
        """
        better = self.more_often_right
        outcomes, is_better = OUTCOMES[terms_for(report.model).key]
        value, level = f"No clear difference in {outcomes}", "unclear"
        if better is not None:
            value = f"The {better} {is_better}"
            level = "good" if better == "first" else "bad"
        tile = Tile(title, value, f"{self.quality} {self.verdict}", level)
        return unless_few(tile, effective_examples(self.other.model))


# The numbers that a comparison shows of each model.


def _of_both(
    numbers_of: Callable[[ModelReport], Mapping[str, Any]],
    first: ModelReport,
    second: ModelReport,
) -> dict[str, OfBoth]:
    of_first, of_second = numbers_of(first), numbers_of(second)
    return {
        name: {"first": value, "second": of_second[name]}
        for name, value in of_first.items()
    }


def _values(metrics: Mapping[str, Metric], *names: str) -> dict[str, float | None]:
    return {name: metrics[name].value for name in names}


def _of_decisions(report: ModelReport) -> dict[str, Any]:
    calibration, posterior = report[Calibration], report.get(Posterior)
    found = {
        terms_for(report.model).key: calibration.accuracy,
        "mean_confidence": calibration.mean_confidence,
        **_values(calibration.metrics, "ece"),
    }
    if posterior is not None:
        found["bayesian_ece_mean"] = posterior.mean
        found["bayesian_ece_low"] = posterior.interval.low
        found["bayesian_ece_high"] = posterior.interval.high
    return found


def _numbers_of_classifier(report: ModelReport) -> dict[str, Any]:
    scores, selective = report[ScoringRules], report[SelectivePrediction]
    names = ("brier_score", "negative_log_likelihood")
    return {
        "examples": report[Data].examples,
        "classes": report[DataOfClassifier].classes,
        **_of_decisions(report),
        **_values(scores.metrics, *names),
        **_values(selective.metrics, "aurc", "coverage_at_risk"),
    }


def _numbers_of_answers(report: ModelReport) -> dict[str, Any]:
    scores, selective = report[ScoringRules], report[SelectivePrediction]
    names = ("aurc", "excess_aurc", "coverage_at_risk")
    return {
        "examples": report[Data].examples,
        **_of_decisions(report),
        **_values(scores.metrics, "brier_score", "negative_log_likelihood"),
        **_values(selective.metrics, *(n for n in names if n in selective.metrics)),
    }


def _numbers_of_regression(report: ModelReport) -> dict[str, Any]:
    return {
        "examples": report[Data].examples,
        **_values(report[Coverage].metrics, "ece", "ence"),
        **_values(
            report[ForecastScores].metrics, "rmse", "crps", "negative_log_likelihood"
        ),
        **_values(report[Sharpness].metrics, "sharpness"),
        **_values(report[Temperature].metrics, "temperature"),
    }


def _numbers_of_survival(report: ModelReport) -> dict[str, Any]:
    intervals = report[SurvivalRisk].intervals
    return {name: ends.estimate for name, ends in intervals.items()}


# The comparison of each task. `examples` has the fields on the examples.


def _of_classifiers(
    report: ModelReport, other: ModelReport, examples: dict[str, Any]
) -> Comparison:
    same, models = examples["same_examples"], (report.model, other.model)
    numbers = _of_both(_numbers_of_classifier, report, other)
    return ComparisonOfDecisions(
        **examples,
        numbers=numbers,
        **_of_posteriors(report, other),
        calibration=better_calibrated(*models, report.num_bins) if same else None,
        differences=differences(*models) if same else {},
        quality=quality(numbers, same),
        risk=ranking_of_two(*models) if same else None,
        drift=_drift(report, other, same),
        other=other,
    )


def _of_answers(
    report: ModelReport, other: ModelReport, examples: dict[str, Any]
) -> Comparison:
    same, models = examples["same_examples"], (report.model, other.model)
    numbers = _of_both(_numbers_of_answers, report, other)
    found = differences(*models) if same else {}
    return ComparisonOfAnswers(
        **examples,
        numbers=numbers,
        **_of_posteriors(report, other),
        calibration=better_calibrated(*models, report.num_bins) if same else None,
        differences=found,
        more_often_right=_more_often_right(found.get(terms_for(report.model).key)),
        quality=quality_of_confidences(numbers, found),
        drift=_drift(report, other, same),
        other=other,
    )


def _drift(report: ModelReport, other: ModelReport, same: bool) -> Drift | None:
    if same or not can_drift(report.model, other.model):
        return None
    return drift_between(report.model, other.model, report.num_bins)


def _of_posteriors(report: ModelReport, other: ModelReport) -> dict[str, Any]:
    """Returns the probability that the posterior of each model gives it the lower
    calibration error, and the verdict.

    The posteriors of two calibrated models differ by noise alone, so the verdict does
    not say which model is better calibrated: `better_calibrated` does.
    """
    if verdict := verdict_on_clusters(report, other):
        return {"verdict": verdict}
    p_values = {
        side: ece_p_value(each.model, each.num_bins)
        for side, each in zip(SIDES, (report, other), strict=True)
    }
    if has_grades(report.model):
        return {"verdict": verdict_of_two(p_values)}
    draws = [ece_draws(each.model, each.num_bins) for each in (report, other)]
    return {
        "probability_of_lower_calibration_error": {
            "first": um.probability_of_lower_calibration_error(*draws),
            "second": um.probability_of_lower_calibration_error(*draws[::-1]),
        },
        "verdict": verdict_of_two(p_values),
    }


def _of_regressions(
    report: ModelReport, other: ModelReport, examples: dict[str, Any]
) -> Comparison:
    numbers = _of_both(_numbers_of_regression, report, other)
    found = {}
    if examples["same_examples"]:
        found = differences_of_forecasts(report.model, other.model, report.num_bins)
    p_values = {"first": report[Coverage].p_value, "second": other[Coverage].p_value}
    return Comparison(
        **examples,
        numbers=numbers,
        differences=found,
        verdict=verdict_of_regressions(numbers["ece"], p_values, found),
        quality=quality_of_regressions(found),
        other=other,
    )


def _of_survival_models(
    report: ModelReport, other: ModelReport, examples: dict[str, Any]
) -> Comparison:
    found = {}
    verdict = "They are not compared further, as their examples differ."
    if examples["same_examples"]:
        found = differences_of_survival(report.model, other.model)
        verdict = which_ranks_better(found.get("auroc"))
    return Comparison(
        **examples,
        numbers=_of_both(_numbers_of_survival, report, other),
        differences=found,
        verdict=verdict,
        quality="Larger is better for AUROC and C, smaller for the Brier score.",
        other=other,
    )


def _more_often_right(interval: Interval | None) -> str | None:
    """Returns the model that is clearly right more often, or None."""
    if interval is None or interval.holds_zero:
        return None
    return SIDES[interval.estimate < 0]
