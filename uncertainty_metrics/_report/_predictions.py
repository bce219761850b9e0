"""What files hold for the calibration report: predictions and what came."""

from __future__ import annotations

import dataclasses
import functools
import re
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from uncertainty_metrics.numpy.ensemble.sampled_answers import SampledAgreement
from uncertainty_metrics.numpy.sketch.summary import Summary

Kind: TypeAlias = Literal["probabilities", "logits"]
Spread: TypeAlias = Literal["variance", "stddev"]


def silent(text: str) -> None:
    """Tells nobody how far the work is."""


def visible(value: Any) -> Any:
    """Returns a text, or all texts of a dict or a list, without what is not seen.

    Names of files and columns may hold characters that steer a terminal or turn the
    direction of writing. They are escaped as Python does.
    """
    if isinstance(value, str):
        return "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in value
        )
    if isinstance(value, dict):
        return {visible(key): visible(item) for key, item in value.items()}
    return [visible(item) for item in value] if isinstance(value, list) else value


class ReportError(ValueError):
    """Something the user can put right; the message is one line."""

    def __init__(self, message: object):
        super().__init__(visible(re.sub(r"[ \t\n]+", " ", str(message)).strip()))


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """What a file holds.

    Attributes:
      source: name of the file.
      labels: shape [...].
      kind: "probabilities" or "logits".
      values: the predictions, shape [..., K], [..., 1] or [...]; or, of an ensemble,
        [N, M, ..., K] or [N, M, ..., 1] of M members for labels [N, ...].
      sample_weight: or None.
      left_out: names of the arrays or columns that mean nothing here.
      classes: names of the classes; none where they are the numbers from 0.
      notes: what the reader should know.
      groups: attributes of the examples, each of the shape of the labels, by name.
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

    @property
    def is_ensemble(self) -> bool:
        """Says if the predictions have an axis of members."""
        return np.ndim(self.values) == np.ndim(self.labels) + 2 > 2

    @property
    def members(self) -> int:
        """Number of models that the predictions are of."""
        return self.values.shape[1] if self.is_ensemble else 1

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by which functions take what the file holds."""
        return {
            "labels": self.labels,
            self.kind: self.values,
            "sample_weight": self.sample_weight,
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Regression:
    """What a file of real-valued predictions holds.

    Attributes:
      source: name of the file.
      mean: predicted means, shape [...].
      kind: "variance" or "stddev".
      values: the predicted variances or standard deviations, shape [...].
      target: what came, shape [...].
      sample_weight: or None.
      left_out: names of the arrays or columns that mean nothing here.
      notes: what the reader should know.
    """

    source: str
    mean: np.ndarray
    kind: Spread
    values: np.ndarray
    target: np.ndarray
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Questions(NamedTuple):
    """What tells the questions of a file from each other.

    Attributes:
      name: of the column.
      values: of the questions in their order.
    """

    name: str
    values: list[Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Confidences:
    """What a file says of answers: how sure each was, and whether it was right.

    Attributes:
      source: name of the file.
      correct: whether each answer is right, boolean [N].
      confidences: the probability that it is right, [N].
      sample_weight: [N], or None.
      left_out: names of the arrays or columns that mean nothing here.
      notes: what the reader should know.
      groups: attributes of the answers, each [N], by name.
      samples: agreement and entropy of several sampled answers to each question, or
        None.
      questions: of the answers, or None.
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


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """Predictions of a classifier, or answers, that were read part by part.

    Attributes:
      source: name of the file, or files.
      summary: sums over all rows.
      sample: a uniform sample of the rows, for what needs rows; None where there is
        nothing but a summary.
      left_out: names of the columns that mean nothing here.
    """

    source: str
    summary: Summary
    sample: Predictions | Confidences | None = None
    left_out: tuple[str, ...] = ()

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
Model: TypeAlias = Decided | Regression


def rows_of(model: Decided) -> Rows | None:
    """Returns predictions row by row: of a stream its sample, if there is one."""
    return model.sample if isinstance(model, Stream) else model


def is_of_answers(model: Decided) -> bool:
    """Says if a model gives answers with confidences, rather than classes."""
    if isinstance(model, Stream):
        return bool(model.summary.of_answers)
    return isinstance(model, Confidences)


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps what a function returns of a model for as long as the model lives.

    Sections and pictures share it.
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
