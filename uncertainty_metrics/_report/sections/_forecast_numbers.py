"""The metrics of a regression's forecasts, and their intervals."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._normal_forecasts import (
    forecasts_of,
    normal_arguments,
)
from uncertainty_metrics._report.data._predictions import Regression, remembered
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._bootstrap_intervals import options
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    interval,
)
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy.regression import _forecasts, _levels


@dataclasses.dataclass(frozen=True, eq=False)
class ForecastNumbers:
    """What the sections on a regression share.

    Attributes:
      data: arguments of the metrics.
      crps: the CRPS of each example, [n].
      values: the metrics that have intervals.
      intervals: their intervals; empty if there is one example.
    """

    data: dict[str, Any]
    crps: np.ndarray
    values: dict[str, float]
    intervals: dict[str, Interval]


@remembered
def forecast_numbers(model: Regression, num_bins: int) -> ForecastNumbers:
    """Returns what the sections on a regression share."""
    forecasts = forecasts_of(model)
    _check_size(forecasts)
    data = normal_arguments(forecasts)
    scores = _scores(forecasts, num_bins)
    return ForecastNumbers(
        data,
        scores[:, 1],
        _values(scores, data["sample_weight"], num_bins),
        _intervals(um.bootstrap, forecasts, num_bins, clusters_of(model)),
    )


def _check_size(forecasts: _forecasts.Forecasts) -> None:
    """Raises ValueError if numbers are too large or too small for the intervals.

    The intervals need sixth powers of these numbers.
    """
    stddevs = np.sqrt(forecasts.variances)
    sizes = (forecasts.errors, stddevs, 1 / stddevs, forecasts.errors / stddevs)
    if not all(np.abs(size).max() <= 1e50 for size in sizes):
        raise ValueError(
            "errors, standard deviations, inverse standard deviations, and errors "
            "divided by standard deviations must be at most 1e50. Received: errors up "
            f"to {np.abs(sizes[0]).max():.4g}, "
            f"standard deviations in [{stddevs.min():.4g}, {stddevs.max():.4g}]"
        )


def _scores(forecasts: _forecasts.Forecasts, num_bins: int) -> np.ndarray:
    """Returns the numbers from which `_values` computes the metrics, [n, 5].

    The last column is the index of the first level whose interval holds the target.
    """
    errors, variances, _ = forecasts
    z = forecasts.z
    limits = _levels.normal_limits(_levels.curve_levels(num_bins))
    columns = (
        errors**2,
        um.crps_normal_score(errors, np.zeros_like(errors), np.sqrt(variances)),
        0.5 * (np.log(2 * np.pi * variances) + z**2),
        z**2,
        np.searchsorted(limits, np.abs(z)),
    )
    return np.stack(columns, axis=-1)


def _values(
    scores: np.ndarray, weights: np.ndarray | None, num_bins: int
) -> dict[str, float]:
    """Returns all metrics that have intervals, in one pass for each resample."""
    squares, crps, nll, temperature, _ = np.average(scores, axis=0, weights=weights)
    levels = _levels.curve_levels(num_bins)
    counts = np.bincount(scores[:, -1].astype(np.intp), weights, num_bins + 1)
    coverages = np.cumsum(counts)[:-1] / counts.sum()
    return {
        "rmse": float(squares**0.5),
        "crps": float(crps),
        "negative_log_likelihood": float(nll),
        "ece": float(np.abs(coverages - levels).mean()),
        "temperature": float(temperature),
    }


def _intervals(
    bootstrap: Callable[..., ConfidenceInterval],
    forecasts: _forecasts.Forecasts,
    num_bins: int,
    clusters: np.ndarray | None,
) -> dict[str, Interval]:
    """Returns the interval of each metric; no interval if there is one example."""
    size = len(forecasts.errors)
    if size == 1:
        return {}

    def metrics(scores: np.ndarray, sample_weight: np.ndarray | None) -> Any:
        return _values(scores, sample_weight, num_bins)

    with warnings.catch_warnings():
        # The interval of the ECE may miss the ECE of a calibrated model: the report
        # says so itself.
        warnings.filterwarnings("ignore", "The estimate is not in", UserWarning)
        ends = bootstrap(
            metrics,
            scores=_scores(forecasts, num_bins),
            sample_weight=normal_arguments(forecasts)["sample_weight"],
            **options(size),
            clusters=clusters,
        )
    return {name: interval(*(end[name] for end in ends)) for name in ends.estimate}


def differences_of_forecasts(
    first: Regression, second: Regression, num_bins: int
) -> dict[str, Interval]:
    """Returns the intervals of the differences between two models on the same examples.

    Each difference is a metric of the first model less this metric of the second.
    """
    of_second = {"scores": _scores(forecasts_of(second), num_bins)}

    def difference(metric: Any, scores: np.ndarray, **others: Any) -> Any:
        return um.bootstrap_difference(metric, {"scores": scores}, of_second, **others)

    return _intervals(difference, forecasts_of(first), num_bins, clusters_of(first))


def weighted_mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    return float(np.average(values, weights=weights))
