"""The section of intervals: what other examples might have given."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report._decisions import decisions_of, examples_of
from uncertainty_metrics._report._predictions import (
    Confidences,
    Decided,
    Stream,
    remembered,
)
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy.resampling import bootstrap, bootstrap_difference

INTERVAL_LEVEL = 0.95
Z = statistics.NormalDist().inv_cdf((1 + INTERVAL_LEVEL) / 2)
_Metrics = dict[str, tuple[Callable[..., Any], dict[str, Any]]]
_METRICS: _Metrics = {
    "accuracy": (um.accuracy, {}),
    "brier_score_zero_based": (um.brier_score, {"zero_based": True}),
    "negative_log_likelihood": (um.negative_log_likelihood, {}),
}
TOO_HIGH = " The interval of the ece is too high if the model is calibrated"
# Fewer resamples where each takes longer, as there are more examples.
_MAX_RESAMPLES, _MIN_RESAMPLES, _MAX_RESAMPLED = 1000, 200, 20_000_000
# Of more examples means are Normal, as near as resamples can tell.
_MOST_DRAWN = 50_000
_SEED = 0  # Every report draws alike.
_OF_ERROR = (
    " Only the interval of calibration_error, the l2 error less its bias, is computed "
    "without the bootstrap, whose resamples add noise: it would miss the 0 of a "
    "calibrated model."
)
_OF_ERROR_ALONE = " The calibration_error is the l2 error less its bias."


@remembered
def scores_of(model: Decided) -> dict[str, np.ndarray]:
    """Returns the scores [n] of single examples, whose means are the metrics."""
    if isinstance(model, Confidences):
        decisions = decisions_of(model)
        return scores_of_answers(decisions.correct, decisions.confidences)
    given = examples_of(model).weighted(None)
    return {
        name: metric(given, **options, aggregate=False)
        if metric is not um.accuracy
        else decisions_of(model).correct
        for name, (metric, options) in _METRICS.items()
    }


def scores_of_answers(
    correct: np.ndarray, confidences: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns the scores [n] of confidences as probabilities of being right."""
    brier = um.brier_score(correct, confidences, zero_based=True, aggregate=False)
    return {
        "accuracy": correct.astype(np.float64),
        "brier_score": np.asarray(brier) / 2,  # That of one of the two classes.
        "negative_log_likelihood": np.asarray(
            um.negative_log_likelihood(correct, confidences, aggregate=False)
        ),
    }


def intervals(model: Decided, num_bins: int) -> dict[str, Any]:
    """Returns the section, with this number of bins of the calibration error."""
    if isinstance(model, Stream):
        return _of_stream(model, num_bins)
    decisions = decisions_of(model).with_small_weights()
    size = len(decisions.correct)
    if size > _MOST_DRAWN:
        # What the bootstrap of so many gives, without drawing them.
        rows = {
            name: row(*_of_mean(each, decisions.weights))
            for name, each in scores_of(model).items()
        }
    else:
        rows = _each_metric(bootstrap, size, _metrics(model))
    if size > 1:
        ends = um.calibration_error_interval(
            **decisions.arguments, level=INTERVAL_LEVEL, num_bins=num_bins
        )
        rows = {"calibration_error": row(*ends), **rows}
    return section(rows, size, _OF_ERROR, is_drawn=size <= _MOST_DRAWN)


def _of_stream(model: Stream, num_bins: int) -> dict[str, Any]:
    """Returns the section of all rows of a stream, with the intervals of means."""
    means = model.summary.means()
    brier = "brier_score" if model.summary.of_answers else "brier_score_zero_based"
    names = {"accuracy": "accuracy", brier: "brier_score"}
    names["negative_log_likelihood"] = "negative_log_likelihood"
    size = model.summary.num_examples
    rows = {
        name: row(*means[key].interval(Z)) for name, key in names.items() if size > 1
    }
    if size > 1:
        ends = model.summary.decisions.calibration_error_interval(
            level=INTERVAL_LEVEL, num_bins=num_bins
        )
        rows = {"calibration_error": row(*ends), **rows}
    return section(rows, size, is_drawn=False)


def _of_mean(
    scores: np.ndarray, weights: np.ndarray | None
) -> tuple[float, float, float]:
    """Returns the Normal interval of the mean of scores [N], around the mean."""
    shares = np.full(len(scores), 1 / len(scores))
    if weights is not None:
        shares = weights / weights.sum()
    with np.errstate(invalid="ignore"):  # Infinite less infinite is not defined.
        mean = float(shares @ scores)
        error = float(np.linalg.norm(shares * (scores - mean)))
    return mean - Z * error, mean, mean + Z * error


def section(
    metrics: dict[str, Any], size: int, note: str = "", is_drawn: bool = True
) -> dict[str, Any]:
    """Returns the section of these intervals, of so many examples.

    Args:
      metrics: the interval of each metric.
      size: number of examples.
      note: what to say of the bootstrap.
      is_drawn: whether the intervals are from the bootstrap, not from standard errors.
    """
    by = "by the bootstrap" if is_drawn else "from standard errors"
    verdict = (
        f"{INTERVAL_LEVEL:.0%} intervals {by}: what other examples of the same kind "
        f"might have given.{note if is_drawn else _OF_ERROR_ALONE}"
    )
    return {
        "level": INTERVAL_LEVEL,
        "num_resamples": options(size)["num_resamples"] if is_drawn else 0,
        "verdict": "One example alone has no intervals." if size == 1 else verdict,
        "metrics": metrics,
    }


def differences(
    first: Decided, second: Decided, num_bins: int
) -> dict[str, dict[str, Any]]:
    """Returns the metrics of a model less those of another, of the same examples, with
    this number of bins of the ECE.
    """
    metrics = _compared_metrics(first, num_bins)
    of_second = _compared_metrics(second, num_bins)
    both = {
        name: (metric, {"first": arguments, "second": of_second[name][1]})
        for name, (metric, arguments) in metrics.items()
    }
    with np.errstate(invalid="ignore"):  # Infinite less infinite is not defined.
        return _each_metric(
            bootstrap_difference, len(decisions_of(first).correct), both
        )


def _compared_metrics(model: Decided, num_bins: int) -> _Metrics:
    """Returns the metrics of a model that a comparison shows, and their arguments."""
    decisions = decisions_of(model).with_small_weights()
    as_two_classes = {
        "labels": decisions.correct,
        "probabilities": decisions.confidences,
        "sample_weight": decisions.weights,
        "positive_class": True,
        "num_bins": num_bins,
    }
    rows: _Metrics = {"ece": (um.ece, as_two_classes), **_metrics(model)}
    if isinstance(model, Confidences):
        rows["aurc"] = um.aurc, decisions.arguments
    return rows


def _metrics(model: Decided) -> _Metrics:
    """Returns the metrics that are means over examples, and their arguments.

    An example of weight 0 is none, and is not drawn.
    """
    weights = decisions_of(model).with_small_weights().weights
    if isinstance(model, Confidences):
        return {
            name: (_mean, {"scores": scores, "sample_weight": weights})
            for name, scores in scores_of(model).items()
        }
    examples = examples_of(model)
    data = {
        "labels": examples.labels,
        examples.name: examples.predictions,
        "sample_weight": weights,
    }
    return {
        name: (metric, {**data, **options})
        for name, (metric, options) in _METRICS.items()
    }


def _mean(scores: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return float(np.average(scores, weights=sample_weight))


def options(size: int) -> dict[str, Any]:
    """Returns the options of the bootstrap of some examples."""
    resamples = max(_MIN_RESAMPLES, min(_MAX_RESAMPLES, _MAX_RESAMPLED // size))
    return {
        "num_resamples": resamples,
        "alpha": 1 - INTERVAL_LEVEL,
        "seed": _SEED,
    }


def _each_metric(
    interval: Callable[..., ConfidenceInterval],
    size: int,
    metrics: _Metrics,
) -> dict[str, dict[str, Any]]:
    """Returns the interval of each metric; of one example, none."""
    return {
        name: row(*interval(metric, **arguments, **options(size)))
        for name, (metric, arguments) in metrics.items()
        if size > 1
    }


def row(low: float, estimate: float, high: float) -> dict[str, float | None]:
    """Returns an interval; None is what is not defined."""
    ends = {"low": low, "estimate": estimate, "high": high}
    return {name: None if np.isnan(end) else float(end) for name, end in ends.items()}
