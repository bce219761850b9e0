"""The section of intervals: what other examples might have given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._statistics import ConfidenceInterval
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


def intervals(data: dict[str, Any], num_bins: int) -> dict[str, Any]:
    """Returns the section.

    Args:
      data: labels, predictions and weights, by the names of the arguments.
      num_bins: number of bins of the calibration error.
    """
    data = _examples(data)
    size = len(data["labels"])
    if size > _MOST_DRAWN:
        found = _of_means(data)
    else:
        found = _each_metric(functools.partial(bootstrap, **data), size, _METRICS)
    if size > 1:
        ends = um.calibration_error_interval(
            **data, level=INTERVAL_LEVEL, num_bins=num_bins
        )
        found = {"calibration_error": row(*ends), **found}
    return section(found, size, _OF_ERROR)


def _of_means(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the intervals of the means of many examples: what the bootstrap of so
    many gives, without drawing them.
    """
    weights = data["sample_weight"]
    given = {name: data[name] for name in data if name != "sample_weight"}
    (kind,) = given.keys() - {"labels"}
    decided, _ = _inputs.decisions(
        _inputs.softmax(given[kind]) if kind == "logits" else given[kind], kind
    )
    scores = {
        name: decided == given["labels"]
        if metric is um.accuracy
        else metric(**given, **options, aggregate=False)
        for name, (metric, options) in _METRICS.items()
    }
    return {name: row(*_of_mean(each, weights)) for name, each in scores.items()}


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
    first: dict[str, Any], second: dict[str, Any], num_bins: int
) -> dict[str, dict[str, Any]]:
    """Returns the metrics of a model less those of another, of the same examples.

    Args:
      first: labels, predictions and weights, by the names of the arguments.
      second: those of the other model.
      num_bins: number of bins of the ECE.
    """
    first, second = _examples(first), _examples(second)

    def difference(metric: Callable[..., float], **options: Any) -> Any:
        with np.errstate(invalid="ignore"):  # Infinite less infinite is not defined.
            return bootstrap_difference(metric, first, second, **options)

    metrics: _Metrics = {"ece": (um.ece, {"num_bins": num_bins}), **_METRICS}
    return _each_metric(difference, len(first["labels"]), metrics)


def _examples(data: dict[str, Any]) -> dict[str, Any]:
    """Returns labels [N], predictions [N, K] and weights [N], at most 1, or None.

    An example of weight 0 is none, and is not drawn.
    """
    examples = _inputs.examples(**data)
    weights = examples.weights
    return {
        "labels": examples.labels,
        examples.name: examples.predictions,
        "sample_weight": None if weights is None else weights / weights.max(),
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
