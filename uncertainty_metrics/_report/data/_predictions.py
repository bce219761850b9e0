"""The data of the calibration report: predictions and true outcomes, from a file."""

from __future__ import annotations

import dataclasses
import functools
import re
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.ensemble.sampled_answers import SampledAgreement
from uncertainty_metrics.numpy.summaries.summary import Summary

Kind: TypeAlias = Literal["probabilities", "logits"]
Spread: TypeAlias = Literal["variance", "stddev"]
TASKS = (
    *("classification", "multilabel", "confidences", "regression", "quantiles"),
    "survival",
)


def silent(text: str) -> None:
    """Reports no progress: for callers who do not want to be told."""


def visible(text: str) -> str:
    """Returns a text with invisible characters escaped as in Python."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


class ReportError(ValueError):
    """An error that the user can correct; the message is one line."""

    def __init__(self, message: object):
        super().__init__(visible(re.sub(r"[ \t\n]+", " ", str(message)).strip()))


class ExampleError(ValueError):
    """One example is wrong; the message says where it is in the file."""


class Clusters(NamedTuple):
    """The column that says which rows depend on each other.

    Attributes:
      name: name of the column; "" if it has none.
      values: ids, one for each row, equal for rows of one cluster.
    """

    name: str
    values: Any


class Unlabelled(NamedTuple):
    """New predictions without labels.

    Attributes:
      source: name of the file.
      values: predictions, shaped as those with labels.
      sample_weight: their weights, [M], or None.
    """

    source: str
    values: Any
    sample_weight: Any = None


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """The labels and the predictions of a classifier in a file.

    Attributes:
      source: name of the file.
      labels: shape [...].
      kind: "probabilities" or "logits".
      values: the predictions, shape [..., K], [..., 1] or [...]; or, for an ensemble of
        M members and labels [N, ...], shape [N, M, ..., K] or [N, M, ..., 1].
      sample_weight: weights that broadcast to the labels, or None.
      left_out: names of the arrays or columns that the report does not use.
      classes: names of the classes; empty if they are the numbers from 0.
      notes: sentences for the reader of the report.
      groups: attributes of the examples, each of the shape of the labels, by name.
      event_class: of two classes, the one whose probability is a risk; None where no
        class was named as it.
      clusters: which examples depend on each other; None if all are independent.
      features: of the examples, each of the shape of the labels, by name: the report
        searches for groups by them.
      unlabelled: new predictions without labels, or None.
    """

    source: str
    labels: np.ndarray
    kind: Kind
    values: np.ndarray
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    groups: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    event_class: int | None = None
    clusters: Clusters | None = None
    features: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unlabelled: Unlabelled | None = None

    @property
    def is_ensemble(self) -> bool:
        """Whether the predictions have an axis of members."""
        return np.ndim(self.values) == np.ndim(self.labels) + 2 > 2

    @property
    def members(self) -> int:
        """Number of models that made the predictions."""
        return self.values.shape[1] if self.is_ensemble else 1

    @property
    def arguments(self) -> dict[str, Any]:
        """The labels and predictions as arguments of a metric."""
        return {
            "labels": self.labels,
            self.kind: self.values,
            "sample_weight": self.sample_weight,
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Regression:
    """The targets and the predictions of a regression in a file.

    Attributes:
      source: name of the file.
      mean: predicted means, shape [...].
      kind: "variance" or "stddev".
      values: the predicted variances or standard deviations, shape [...].
      target: the observed values, shape [...].
      sample_weight: weights that broadcast to the targets, or None.
      left_out: names of the arrays or columns that the report does not use.
      notes: sentences for the reader of the report.
      clusters: which examples depend on each other; None if all are independent.
    """

    source: str
    mean: np.ndarray
    kind: Spread
    values: np.ndarray
    target: np.ndarray
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: Clusters | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class QuantileForecasts:
    """The targets of forecasts in a file, and their predicted quantiles or samples.

    Attributes:
      source: name of the file.
      quantiles: predicted quantiles, or those of the samples, [N, Q].
      levels: of the quantiles, in (0, 1) and ascending, Q of them.
      target: the observed values, [N].
      sample_weight: [N], or None.
      horizons: how far ahead each row forecasts, [N], or None.
      left_out: names of the arrays or columns that the report does not use.
      notes: sentences for the reader of the report.
      clusters: which rows depend on each other, as those of a series; None if all are
        independent.
      times: of each row, numbers or datetime64 that ascend in time, [N], or None.
      samples: of each forecast, [N, M]; None of forecasts by quantiles.
      sums: the `QuantileSums` over all rows, of which these are a uniform sample; None
        if these are all rows.
      series: the id of the series of each row, [N], or None.
      models: the name of the model of each row, [N]; None if all are of one.
      season: number of times of a season, or None.
    """

    source: str
    quantiles: np.ndarray
    levels: tuple[float, ...]
    target: np.ndarray
    sample_weight: np.ndarray | None = None
    horizons: np.ndarray | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: Clusters | None = None
    times: np.ndarray | None = None
    samples: np.ndarray | None = None
    sums: Any = None
    series: np.ndarray | None = None
    models: np.ndarray | None = None
    season: int | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Survival:
    """What a file says of times until an event, and of its risk by the horizon.

    Attributes:
      source: name of the file.
      times: of the event or of the censoring, whichever came first, [N].
      event: whether the event came at this time, [N].
      risks: predicted probability that the event comes by the horizon, [N].
      at: the horizon.
      sample_weight: [N], or None.
      left_out: names of the arrays or columns that mean nothing here.
      notes: what the reader should know.
    """

    source: str
    times: np.ndarray
    event: np.ndarray
    risks: np.ndarray
    at: float
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class MultiLabel:
    """Several labels of each example, each 0 or 1, and their probabilities.

    Attributes:
      source: name of the file.
      labels: [N, L].
      probabilities: that each label is 1, [N, L].
      names: of the labels, all different.
      sample_weight: [N], or None.
      left_out: names of the arrays or columns that the report does not use.
      notes: sentences for the reader of the report.
      clusters: which examples depend on each other; None if all are independent.
    """

    source: str
    labels: np.ndarray
    probabilities: np.ndarray
    names: tuple[str, ...]
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: Clusters | None = None


class Questions(NamedTuple):
    """The column that tells the questions of a file apart.

    Attributes:
      name: name of the column.
      values: the value of each question, in order.
    """

    name: str
    values: list[Any]


class Votes(NamedTuple):
    """Votes for classes, and the forecasts of a classifier.

    Attributes:
      shares: share of the votes for each class, float64 [N, K].
      kind: "probabilities" or "logits".
      values: the forecasts, [N, K].
      classes: names of the classes; empty if they are the numbers from 0.
    """

    shares: np.ndarray
    kind: Kind
    values: np.ndarray
    classes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Confidences:
    """The answers in a file: how sure each was, and whether it was right.

    Attributes:
      source: name of the file.
      correct: whether each answer is right, boolean [N]; or its grade in [0, 1],
        float64 [N].
      confidences: the probability that each answer is right, [N].
      sample_weight: [N], or None.
      left_out: names of the arrays or columns that the report does not use.
      notes: sentences for the reader of the report.
      groups: attributes of the answers, each [N], by name.
      samples: agreement and entropy of several sampled answers to each question, or
        None.
      questions: the questions, by which two files are compared, or None.
      clusters: which answers depend on each other; None if all are independent.
      are_graded: whether `correct` holds grades, which may be between 0 and 1.
      features: of the answers, each [N], by name: the report searches for groups by
        them.
      votes: if the answers are decisions of a classifier of which votes tell the truth,
        these votes. The grade of a decision is its share of them.
      are_detections: whether the answers are detections of objects in images.
    """

    source: str
    correct: np.ndarray
    confidences: np.ndarray
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    groups: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    samples: SampledAgreement | None = None
    questions: Questions | None = None
    clusters: Clusters | None = None
    are_graded: bool = False
    features: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    votes: Votes | None = None
    are_detections: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """Predictions of a classifier, or answers, that were read part by part.

    Attributes:
      source: name of the file, or files.
      summary: sums over all rows.
      sample: a uniform sample of the rows, for sections that need rows; None if only a
        summary is known.
      left_out: names of the columns that the report does not use.
    """

    source: str
    summary: Summary
    sample: Predictions | Confidences | None = None
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        clusters = self.summary.decisions._clusters
        if clusters is not None and not clusters.are_known:
            raise _checks.plain_error(
                "The file of a `Summary` has no sums over clusters, so nothing tells "
                "what may be chance. Make a report of the summary before it is saved, "
                "or of the predictions themselves.",
                f"a file of {clusters.number} clusters",
            )
        if clusters is not None and clusters.number < 2:
            raise _checks.error("clusters", "at least two ids", 1, verb="hold")

    @property
    def sample_size(self) -> int:
        """Number of rows in the sample."""
        if self.sample is None:
            return 0
        if isinstance(self.sample, Confidences):
            return len(self.sample.correct)
        return len(self.sample.labels)


Rows: TypeAlias = Predictions | Confidences
Decided: TypeAlias = Rows | Stream
Model: TypeAlias = Decided | Regression | QuantileForecasts | Survival | MultiLabel


def rows_of(model: Decided) -> Rows | None:
    """Returns the rows of a model; for a stream its sample, which may be None."""
    return model.sample if isinstance(model, Stream) else model


def is_of_answers(model: Decided) -> bool:
    """Says whether a model gives answers with confidences, rather than classes."""
    if isinstance(model, Stream):
        return bool(model.summary.of_answers)
    return isinstance(model, Confidences)


def has_grades(model: Model) -> bool:
    """Says whether the answers of a model have grades, instead of right and wrong."""
    if isinstance(model, Stream) and model.sample is None:
        return model.summary.decisions._has_grades
    rows = model.sample if isinstance(model, Stream) else model
    return isinstance(rows, Confidences) and rows.are_graded


def votes_of(model: Model) -> Votes | None:
    """Returns the votes for classes that tell the truth; None if there are none."""
    rows = model.sample if isinstance(model, Stream) else model
    return rows.votes if isinstance(rows, Confidences) else None


def has_cluster_sums(model: Any) -> bool:
    """Says whether the examples of a model come in clusters, and only sums over them
    are known.
    """
    return isinstance(model, Stream) and model.summary.num_clusters is not None


def task_of(model: Model) -> str:
    """Returns the task of a model, as the report names it."""
    if isinstance(model, Regression):
        return "regression"
    if isinstance(model, QuantileForecasts):
        return "quantiles"
    if isinstance(model, Survival):
        return "survival"
    if isinstance(model, MultiLabel):
        return "multilabel"
    return "confidences" if is_of_answers(model) else "classification"


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps the results of a function of a model for as long as the model exists.

    Sections and pictures share the results, so that each is computed once.
    """
    results: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = (
        weakref.WeakKeyDictionary()
    )

    @functools.wraps(function)
    def wrapped(model: Model, *arguments: Any) -> Any:
        of_model = results.setdefault(model, {})
        if arguments not in of_model:
            of_model[arguments] = function(model, *arguments)
        return of_model[arguments]

    return wrapped
