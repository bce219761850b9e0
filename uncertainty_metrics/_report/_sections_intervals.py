"""The section of intervals: what other examples might have given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.resampling import bootstrap, bootstrap_difference

INTERVAL_LEVEL = 0.95
_Metrics = dict[str, tuple[Callable[..., Any], dict[str, Any]]]
_METRICS: _Metrics = {
    "accuracy": (um.accuracy, {}),
    "brier_score_zero_based": (um.brier_score, {"zero_based": True}),
    "negative_log_likelihood": (um.negative_log_likelihood, {}),
}
TOO_HIGH = " That of the ece is too high if the model is calibrated"
# Fewer resamples where each takes longer, as there are more examples.
_MAX_RESAMPLES, _MIN_RESAMPLES, _MAX_RESAMPLED = 1000, 200, 20_000_000
# Of more examples means are Normal, as near as resamples can tell.
_MOST_DRAWN = 50_000
_SEED = 0  # Every report draws alike.


_OF_ERROR = (
    " That of calibration_error, the l2 error less its bias, is not: resamples of a "
    "calibrated model show an error, and no bootstrap would hold its 0."
)


def with_small_weights(examples: _inputs.Examples) -> _inputs.Examples:
    """Returns the examples with weights of at most 1."""
    weights = examples.weights
    return examples.weighted(None if weights is None else weights / weights.max())


def scores_of(examples: _inputs.Examples) -> dict[str, np.ndarray]:
    """Returns the scores [N] of single examples, whose means are the metrics."""
    given: Any = examples.weighted(None)
    return {
        name: metric(given, **options, aggregate=False)
        if metric is not um.accuracy
        else examples.decided[0] == examples.labels
        for name, (metric, options) in _METRICS.items()
    }


def intervals(
    examples: _inputs.Examples, scores: dict[str, np.ndarray], num_bins: int
) -> dict[str, Any]:
    """Returns the section.

    Args:
      examples: labels, predictions and weights.
      scores: of the examples, by the names of the metrics.
      num_bins: number of bins of the calibration error.
    """
    scaled: Any = with_small_weights(examples)
    size = len(examples.labels)
    if size > _MOST_DRAWN:
        # What the bootstrap of so many gives, without drawing them.
        rows = {
            name: row(*_of_mean(each, scaled.weights)) for name, each in scores.items()
        }
    else:
        draw = functools.partial(bootstrap, **_arrays(scaled))
        rows = _each_metric(draw, size, _METRICS)
    if size > 1:
        ends = um.calibration_error_interval(
            scaled, level=INTERVAL_LEVEL, num_bins=num_bins
        )
        rows = {"calibration_error": row(*ends), **rows}
    return section(rows, size, _OF_ERROR)


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
    from scipy import special

    z = special.ndtri((1 + INTERVAL_LEVEL) / 2)
    return mean - z * error, mean, mean + z * error


def section(metrics: dict[str, Any], size: int, note: str) -> dict[str, Any]:
    """Returns the section of these intervals, of so many examples."""
    verdict = (
        f"{INTERVAL_LEVEL:.0%} intervals by the bootstrap: what other examples of the "
        f"same kind might have given.{note}"
    )
    return {
        "level": INTERVAL_LEVEL,
        "num_resamples": options(size)["num_resamples"],
        "verdict": "One example alone has no intervals." if size == 1 else verdict,
        "metrics": metrics,
    }


def differences(
    first: _inputs.Examples, second: _inputs.Examples, num_bins: int
) -> dict[str, dict[str, Any]]:
    """Returns the metrics of a model less those of another, of the same examples.

    Args:
      first: labels, predictions and weights. An example of weight 0 is none, and is not
        drawn.
      second: those of the other model.
      num_bins: number of bins of the ECE.
    """
    both = [_arrays(with_small_weights(examples)) for examples in (first, second)]

    def difference(metric: Callable[..., float], **options: Any) -> Any:
        with np.errstate(invalid="ignore"):  # Infinite less infinite is not defined.
            return bootstrap_difference(metric, *both, **options)

    metrics: _Metrics = {"ece": (um.ece, {"num_bins": num_bins}), **_METRICS}
    return _each_metric(difference, len(first.labels), metrics)


def _arrays(examples: _inputs.Examples) -> dict[str, Any]:
    """Returns what examples are made of, by the names of arguments."""
    return {
        "labels": examples.labels,
        examples.name: examples.predictions,
        "sample_weight": examples.weights,
    }


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
        name: row(*interval(metric, **of_metric, **options(size)))
        for name, (metric, of_metric) in metrics.items()
        if size > 1
    }


def row(low: float, estimate: float, high: float) -> dict[str, float | None]:
    """Returns an interval; None is what is not defined."""
    ends = {"low": low, "estimate": estimate, "high": high}
    return {name: None if np.isnan(end) else float(end) for name, end in ends.items()}
