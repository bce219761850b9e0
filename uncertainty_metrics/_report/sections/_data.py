"""The section on the data: how many examples, and what the file is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._decided import decisions_of, examples_of
from uncertainty_metrics._report.data._normal_forecasts import forecasts_of
from uncertainty_metrics._report.data._predictions import (
    TASKS,
    Clusters,
    Confidences,
    Decided,
    MultiLabel,
    QuantileForecasts,
    Regression,
    Stream,
    Survival,
)
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics._report.data._row_clusters import num_clusters
from uncertainty_metrics._report.data._sample_sizes import (
    effective_examples,
    num_examples,
)
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Facts,
    number,
    significant,
)
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_words import terms_of
from uncertainty_metrics._report.sections._forecast_scores import ForecastScores
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._sharpness import Sharpness


@dataclasses.dataclass(frozen=True, kw_only=True)
class Data(Section):
    """The data of a model of any task.

    Attributes:
      examples: number of examples.
      total_weight: their total weight.
      effective_examples: Kish's effective number of examples.
      clusters: number of clusters of examples that depend on each other, or None.
    """

    name = "data"
    heading = "Data"
    tasks = TASKS

    examples: int
    total_weight: float | None = None
    effective_examples: float
    clusters: int | None = None

    @classmethod
    def of(cls, report: ModelReport) -> Data:
        model = report.model
        if isinstance(model, Regression):
            return _of_regression(model)
        if isinstance(model, QuantileForecasts):
            return _of_quantiles(model)
        if isinstance(model, Survival):
            return _of_survival(model)
        if isinstance(model, MultiLabel):
            return DataOfLabels(
                examples=num_examples(model),
                effective_examples=effective_examples(model),
                clusters=num_clusters(model),
                labels=len(model.names),
            )
        if isinstance(model, Confidences):
            return DataOfAnswers(
                **_of_decisions(model),
                distinct_confidences=len(np.unique(decisions_of(model).confidences)),
                questions=model.questions and model.questions.name,
            )
        if isinstance(model, Stream):
            return DataOfClassifier(
                **_of_decisions(model),
                classes=None if model.summary.of_answers else model.summary.num_classes,
            )
        return DataOfClassifier(
            **_of_decisions(model),
            classes=examples_of(model).num_classes,
            members=model.members,
            predictions=model.kind,
        )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        known: dict[str, str | int] = {
            "predictions": report.title,
            "examples": self.examples,
        }
        if self.clusters is not None:
            named = getattr(report.model, "clusters", Clusters("", ())).name
            known["clusters"] = f"{self.clusters:,}{f' of {named}' if named else ''}"
        facts = {**known, **self.facts(report)}
        yield Facts({name: _with_commas(fact) for name, fact in facts.items()})

    def facts(self, report: ModelReport) -> Mapping[str, str | int]:
        """Returns the facts that only models of one kind have."""
        raise NotImplementedError


def _with_commas(fact: str | int) -> str:
    return f"{fact:,}" if isinstance(fact, int) else fact


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOfClassifier(Data):
    """The data of a classifier, or of answers in a stream.

    Attributes:
      classes: number of classes.
      members: number of members of an ensemble; 1 for a single model.
      predictions: "probabilities" or "logits".
    """

    classes: int | None = None
    members: int | None = None
    predictions: str | None = None

    def facts(self, report: ModelReport) -> Mapping[str, str | int]:
        facts: dict[str, str | int] = {}
        if self.classes is not None:
            facts["classes"] = self.classes
        return {**facts, **_means(report)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOfLabels(Data):
    """The data of a model with several labels of each example.

    Attributes:
      labels: number of labels of each example.
    """

    labels: int

    def facts(self, report: ModelReport) -> Mapping[str, str | int]:
        return {"labels": self.labels}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOfAnswers(Data):
    """The data of answers with confidences.

    Attributes:
      distinct_confidences: number of different confidences.
      questions: name of the column that tells questions apart, or None.
    """

    distinct_confidences: int
    questions: str | None

    def facts(self, report: ModelReport) -> Mapping[str, str | int]:
        facts: dict[str, str | int] = {
            "distinct confidences": self.distinct_confidences
        }
        if self.questions is not None:
            facts["questions by"] = self.questions
        return {**facts, **_means(report)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOfRegression(Data):
    """The data of a regression.

    Attributes:
      predictions: "variance" or "stddev".
      weighted: whether the examples have weights.
    """

    predictions: str
    weighted: bool

    def facts(self, report: ModelReport) -> Mapping[str, str | int]:
        return {
            "uncertainty as": self.predictions,
            "rmse": significant(report[ForecastScores].metrics["rmse"].value),
            "mean stddev": significant(report[Sharpness].metrics["sharpness"].value),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOfQuantiles(Data):
    """The data of forecasts by quantiles or samples.

    Attributes:
      levels: of the quantiles.
      horizons: number of different horizons, or None.
      samples: number of samples of each forecast; None of forecasts by quantiles.
    """

    levels: list[float]
    horizons: int | None = None
    samples: int | None = None

    def facts(self, report: ModelReport) -> Mapping[str, str | int]:
        facts: dict[str, str | int] = {}
        if self.samples is not None:
            facts["samples of each forecast"] = self.samples
        facts["levels of the quantiles"] = ", ".join(f"{x:g}" for x in self.levels)
        if self.horizons is not None:
            facts["horizons"] = self.horizons
        return facts


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOfSurvival(Data):
    """The data of a survival model.

    Attributes:
      horizon: the time by which the event is predicted.
      events_by_horizon: number of events by then.
      lost_by_horizon: number of examples that were censored by then.
      weighted: whether the examples have weights.
    """

    horizon: float
    events_by_horizon: int
    lost_by_horizon: int
    weighted: bool

    def facts(self, report: ModelReport) -> Mapping[str, str | int]:
        return {
            "horizon": f"{self.horizon:g}",
            "events by then": self.events_by_horizon,
            "censored by then": self.lost_by_horizon,
            "effective examples": f"{self.effective_examples:.1f}",
        }


def _of_decisions(model: Decided) -> dict[str, Any]:
    weights = decisions_of(model).weights
    total = len(decisions_of(model).correct) if weights is None else weights.sum()
    return {
        "examples": num_examples(model),
        "total_weight": float(total),
        "effective_examples": effective_examples(model),
        "clusters": num_clusters(model),
    }


def _of_regression(model: Regression) -> DataOfRegression:
    weights, size = forecasts_of(model).weights, len(forecasts_of(model).errors)
    return DataOfRegression(
        examples=num_examples(model),
        predictions=model.kind,
        weighted=weights is not None,
        total_weight=float(size if weights is None else weights.sum()),
        effective_examples=effective_examples(model),
        clusters=num_clusters(model),
    )


def _of_quantiles(model: QuantileForecasts) -> DataOfQuantiles:
    rows = quantiles_of(model)
    weights = model.sample_weight
    total = len(rows.target) if weights is None else np.sum(weights)
    if model.sums is not None:
        total = model.sums.cells[..., -1].sum()
    return DataOfQuantiles(
        examples=num_examples(model),
        total_weight=float(total),
        effective_examples=effective_examples(model),
        clusters=num_clusters(model),
        levels=rows.levels.tolist(),
        horizons=None if rows.horizons is None else len(np.unique(rows.horizons)),
        samples=None if rows.samples is None else rows.samples.shape[1],
    )


def _of_survival(model: Survival) -> DataOfSurvival:
    times, came = np.ravel(model.times), np.ravel(model.event) == 1
    return DataOfSurvival(
        examples=num_examples(model),
        horizon=model.at,
        events_by_horizon=int(np.sum(came & (times <= model.at))),
        lost_by_horizon=int(np.sum(~came & (times <= model.at))),
        weighted=model.sample_weight is not None,
        effective_examples=effective_examples(model),
    )


def _means(report: ModelReport) -> dict[str, str]:
    """Returns facts on the means of scores and outcomes."""
    calibration, facts = report[Calibration], {}
    if isinstance(report.model, Stream) and report.model.sample_size:
        facts["rows of the sample"] = f"{report.model.sample_size:,}"
    if calibration.event is not None:
        terms = terms_of(calibration.event)
        facts[terms.outcome] = number(calibration.share)
        facts[f"mean {terms.score}"] = number(calibration.mean_probability)
    facts[calibration.outcome] = number(calibration.accuracy)
    facts["mean confidence"] = number(calibration.mean_confidence)
    return facts


@dataclasses.dataclass(frozen=True)
class Basis(Section):
    """Of a stream: on how many rows the numbers are based.

    Attributes:
      rows: number of all rows.
      sample: number of rows of the sample that some sections use.
    """

    name = "basis"
    heading = ""
    tasks = ("classification", "confidences")

    rows: int
    sample: int

    @classmethod
    def of(cls, report: ModelReport) -> Basis | None:
        model = report.model
        if not isinstance(model, Stream):
            return None
        return cls(model.summary.num_examples, model.sample_size)
