"""Metrics for Inspect: does the model know which of its answers are right?

    from uncertainty_metrics.inspect import brier, calibration_loss, ece

Inspect also finds them by name, such as "uncertainty_metrics/ece", once the package is
installed. A score needs a confidence in its metadata, or in that of its sample.

All epochs of a sample count, and errors are clustered: answers to one question are not
independent. No other module of the package needs or imports Inspect.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _checks, _optional, _user_warnings
from uncertainty_metrics.numpy import _paired_scores
from uncertainty_metrics.numpy._clusters import codes_of_batch
from uncertainty_metrics.numpy._resamples import Dependence

if not TYPE_CHECKING:
    _optional.require("inspect_ai")

from inspect_ai.scorer import Metric, SampleScore, Value, metric, value_to_float

__all__ = ["aurc", "brier", "calibration_loss", "coverage_at_risk", "ece"]

# A Normal variable is within one standard deviation of its mean with this probability.
_ONE_STDDEV = 0.682689


class _Answers(NamedTuple):
    """What the metrics read of the scores, [n] each."""

    correct: np.ndarray
    confidences: np.ndarray
    samples: list[str]


_Made = TypeVar("_Made", bound=Callable[..., Metric])


def _registered(make: _Made) -> _Made:
    """Registers a metric that gets each epoch by itself; it keeps its docstring."""
    registered = functools.wraps(make)(metric(scores="unreduced")(make))
    return cast(_Made, registered)


@_registered
def ece(confidence: str = "confidence", num_bins: int = 15) -> Metric:
    """Expected calibration error: mean distance of confidence and share right, in bins.

    The noise of few samples alone makes it larger than 0. `calibration_loss` has no
    such bias.

    Args:
      confidence: the key of P(right) in the metadata of the score or of its sample.
      num_bins: number of bins.

    Returns:
      A metric with the values `ece`, in [0, 1], and `ece_stderr`. Smaller is better.

    Raises:
      ValueError: a score has no confidence, or one that is not in [0, 1].

    Example:
      >>> from inspect_ai.scorer import SampleScore, Score
      >>> from uncertainty_metrics.inspect import ece
      >>> answers = [("C", 0.9), ("I", 0.8), ("C", 0.9), ("C", 0.6)]
      >>> scores = [
      ...     SampleScore(score=Score(value=value, metadata={"confidence": p}))
      ...     for value, p in answers
      ... ]
      >>> round(ece()(scores)["ece"], 6)
      0.35
    """

    def of_scores(scores: list[SampleScore]) -> Value:
        answers = _read(scores, confidence)
        return _with_stderr(
            *("ece", um.ece, answers.samples),
            correct=answers.correct,
            confidences=answers.confidences,
            num_bins=num_bins,
        )

    return of_scores


@_registered
def brier(confidence: str = "confidence") -> Metric:
    """Brier score: mean of (correct - confidence)^2, a proper score.

    Args:
      confidence: the key of P(right) in the metadata of the score or of its sample.

    Returns:
      A metric with the values `brier`, in [0, 1], and `brier_stderr`, the clustered
      standard error of a mean, as of Inspect's `stderr`. Smaller is better.

    Raises:
      ValueError: a score has no confidence, or one that is not in [0, 1].

    Example:
      >>> from inspect_ai.scorer import SampleScore, Score
      >>> from uncertainty_metrics.inspect import brier
      >>> scores = [SampleScore(score=Score(value="C", metadata={"confidence": 0.9}))]
      >>> round(brier()(scores)["brier"], 6)
      0.01
    """

    def of_scores(scores: list[SampleScore]) -> Value:
        answers = _read(scores, confidence)
        squares = (answers.correct - answers.confidences) ** 2
        clusters = codes_of_batch(answers.samples, len(squares))
        if clusters.number < 2:
            return {"brier": float(np.mean(squares))}
        found = _paired_scores.mean(squares, Dependence(clusters))
        return {"brier": found.mean, "brier_stderr": found.error}

    return of_scores


@_registered
def calibration_loss(confidence: str = "confidence") -> Metric:
    """Calibration loss: how much recalibration would lower the Brier score.

    The map is cross-validated, with all epochs of a sample in one fold, so that the
    value is at most 0 on average for a calibrated model.

    Args:
      confidence: the key of P(right) in the metadata of the score or of its sample.

    Returns:
      A metric with the values `calibration_loss` and the ends of its 95% interval,
      `calibration_loss_lower` and `calibration_loss_upper`. Smaller is better. Of too
      few samples, or if all are right, it is NaN, with a warning.

    Raises:
      ValueError: a score has no confidence, or one that is not in [0, 1].

    Example:
      >>> from inspect_ai.scorer import SampleScore, Score
      >>> from uncertainty_metrics.inspect import calibration_loss
      >>> scores = [
      ...     SampleScore(score=Score(value="CCI"[i % 3], metadata={"confidence": p}))
      ...     for i, p in enumerate([0.99, 0.9] * 150)
      ... ]
      >>> round(calibration_loss()(scores)["calibration_loss"], 2)
      0.08
    """

    def of_scores(scores: list[SampleScore]) -> Value:
        answers = _read(scores, confidence)
        try:
            found = um.calibration_loss(
                correct=answers.correct,
                confidences=answers.confidences,
                score="brier",
                clusters=answers.samples,
            )
        except (ValueError, RuntimeError) as error:  # An evaluation should not end.
            _user_warnings.warn(f"The calibration loss is not defined: {error}")
            return {"calibration_loss": float("nan")}
        return {
            "calibration_loss": found.difference,
            "calibration_loss_lower": found.lower,
            "calibration_loss_upper": found.upper,
        }

    return of_scores


@_registered
def aurc(confidence: str = "confidence") -> Metric:
    """Area under the risk-coverage curve: the mean risk over all shares answered.

    Args:
      confidence: the key of P(right) in the metadata of the score or of its sample.

    Returns:
      A metric with the values `aurc`, in [0, 1], and `aurc_stderr`. Smaller is better;
      it is the share of wrong answers if the confidences say nothing.

    Raises:
      ValueError: a score has no confidence, or one that is not in [0, 1].

    Example:
      >>> from inspect_ai.scorer import SampleScore, Score
      >>> from uncertainty_metrics.inspect import aurc
      >>> answers = [("C", 0.9), ("I", 0.8), ("C", 0.7), ("C", 0.6)]
      >>> scores = [
      ...     SampleScore(score=Score(value=value, metadata={"confidence": p}))
      ...     for value, p in answers
      ... ]
      >>> round(aurc()(scores)["aurc"], 6)
      0.270833
    """

    def of_scores(scores: list[SampleScore]) -> Value:
        answers = _read(scores, confidence)
        return _with_stderr(
            *("aurc", um.aurc, answers.samples),
            confidences=answers.confidences,
            losses=1 - answers.correct,  # Also of answers that are partly right.
        )

    return of_scores


@_registered
def coverage_at_risk(confidence: str = "confidence", risk: float = 0.05) -> Metric:
    """Largest share of answers of which at most the share `risk` is wrong.

    The most confident answers come first.

    Args:
      confidence: the key of P(right) in the metadata of the score or of its sample.
      risk: largest share of wrong answers, in [0, 1].

    Returns:
      A metric with the values `coverage_at_risk`, in [0, 1], and
      `coverage_at_risk_stderr`. Larger is better.

    Raises:
      ValueError: a score has no confidence, or one that is not in [0, 1]; or an answer
        is neither right nor wrong.

    Example:
      >>> from inspect_ai.scorer import SampleScore, Score
      >>> from uncertainty_metrics.inspect import coverage_at_risk
      >>> answers = [("C", 0.9), ("C", 0.8), ("I", 0.7), ("C", 0.6)]
      >>> scores = [
      ...     SampleScore(score=Score(value=value, metadata={"confidence": p}))
      ...     for value, p in answers
      ... ]
      >>> coverage_at_risk()(scores)["coverage_at_risk"]
      0.5
    """

    def of_scores(scores: list[SampleScore]) -> Value:
        answers = _read(scores, confidence)
        return _with_stderr(
            *("coverage_at_risk", um.coverage_at_risk, answers.samples),
            confidences=answers.confidences,
            correct=answers.correct,
            risk=risk,
        )

    return of_scores


def _read(scores: list[SampleScore], key: str) -> _Answers:
    """Returns the answers. Inspect reads "C", "I", "P" and "N" as 1, 0, 0.5 and 0.

    Raises:
      ValueError: there are no scores, or a value or confidence is not in [0, 1].
    """
    if not scores:
        raise _checks.error("scores", "scores of at least one sample", 0, verb="hold")
    to_float = value_to_float()
    correct = np.array([to_float(each.score.value) for each in scores])
    confidences = np.array([_confidence(each, key) for each in scores])
    for name, values in (("value", correct), (key, confidences)):
        wrong = ~((values >= 0) & (values <= 1))
        if np.any(wrong):
            first = int(np.argmax(wrong))
            raise _wrong(name, f"{values[first]:g}", scores[first])
    # A score that was made by hand may lack the sample: it is then one of its own.
    samples = [
        f"score {i}" if each.sample_id is None else f"sample {each.sample_id}"
        for i, each in enumerate(scores)
    ]
    return _Answers(correct, confidences, samples)


def _confidence(score: SampleScore, key: str) -> float:
    for metadata in (score.score.metadata, score.sample_metadata):
        if metadata and metadata.get(key) is not None:
            try:
                return float(metadata[key])
            except (TypeError, ValueError):
                raise _wrong(key, metadata[key], score) from None
    raise _checks.error(
        "metadata",
        f'a confidence under "{key}", of each score or of its sample; a scorer may '
        "return the value NaN for a sample to leave out",
        f"no confidence of sample {score.sample_id}",
        verb="hold",
    )


def _wrong(name: str, value: object, score: SampleScore) -> ValueError:
    received = f"{value}, of sample {score.sample_id}"
    return _checks.error(name, "a number in [0, 1]", received)


def _with_stderr(
    name: str, function: Callable[..., Any], samples: list[str], **data: Any
) -> dict[str, float]:
    """Returns the value of a function and its standard error, by the bootstrap of whole
    samples; of a single sample only the value.
    """
    if len(set(samples)) < 2:
        return {name: float(function(**data))}
    with warnings.catch_warnings():
        # These are about intervals that hold the truth. A standard error does not.
        warnings.simplefilter("ignore", UserWarning)
        lower, value, upper = um.bootstrap(
            function,
            clusters=samples,
            level=_ONE_STDDEV,
            method="percentile",
            seed=0,
            **data,
        )
    return {name: float(value), f"{name}_stderr": float((upper - lower) / 2)}
