"""The sections of the report on a survival model: its risks of an event by the horizon.

An example that was censored by the horizon has weight 0, and the others have weights
that stand for it. The intervals come from a bootstrap that draws examples and finds the
weights again: functions of weighted data would take a weight as a number of examples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import Survival
from uncertainty_metrics._report.data._risks import risks_of
from uncertainty_metrics._report.sections import _risk
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    row,
)
from uncertainty_metrics._results import ConfidenceInterval

_NUM_RESAMPLES, _SEED = 200, 0  # Every report draws alike.
_OF_RISKS: dict[str, Callable[..., Any]] = {
    "observed_expected_ratio": um.observed_expected_ratio,
    "calibration_intercept": um.calibration_intercept,
    "calibration_slope": um.calibration_slope,
}
# Above this size C's interval would take minutes; it is left out.
_MOST_WITH_C = 5000
# What a comparison shows.
_COMPARED = ("auroc", "harrell_c", "uno_c", "brier_score")
MEANINGS: dict[str, str] = {
    **_risk.MEANINGS,
    "brier_score": "Of (event - risk)^2; 0 is best.",
    "auroc": "P(an event by then ranks higher).",
    "harrell_c": "Harrell's; depends on censoring.",
    "uno_c": "Uno's, of events before then.",
}


def sections(model: Survival) -> dict[str, Any]:
    """Returns what the report says of one model."""
    data, arguments = risks_of(model), _arguments(model)
    values = _values(**{**arguments, "with_c": True})
    # Where all or none had the event, each resample would say the same.
    has_both = data.labels.min() < data.labels.max()
    ends = _bootstrapped(um.bootstrap, arguments) if has_both else {}
    intervals = {
        name: {
            **_of_length(ends.get(name, row(np.nan, np.nan, np.nan))),
            "estimate": None if np.isnan(value) else float(value),
        }
        for name, value in values.items()
    }
    of_brier = intervals.pop("brier_score")
    came = f"By time {model.at:g}, with weights for censoring, the event came"
    risk = _risk.common(data, came, intervals)
    risk["intervals"]["brier_score"] = of_brier
    del risk["metrics"]["brier_score_of_event"]
    times, event_came = np.ravel(model.times), np.ravel(model.event) == 1
    return {
        "data": {
            "examples": int(np.size(model.times)),
            "horizon": model.at,
            "events_by_horizon": int(np.sum(event_came & (times <= model.at))),
            "lost_by_horizon": int(np.sum(~event_came & (times <= model.at))),
            "weighted": model.sample_weight is not None,
            "effective_examples": data.sample_size,
        },
        "notes": _risk.notes_on(data),
        "risk": risk,
    }


def _arguments(model: Survival) -> dict[str, Any]:
    """Returns the arguments of `_values`."""
    return {
        "times": np.ravel(model.times),
        "event": np.ravel(model.event),
        "risks": np.ravel(model.risks),
        "at": float(model.at),
        "sample_weight": model.sample_weight,
        "with_c": np.size(model.times) <= _MOST_WITH_C,
    }


def _values(
    times: np.ndarray,
    event: np.ndarray,
    risks: np.ndarray,
    at: float,
    sample_weight: np.ndarray | None,
    with_c: bool,
) -> dict[str, float]:
    """Returns the metrics at the horizon; NaN is what is not defined."""
    found = dict.fromkeys((*_OF_RISKS, *_COMPARED), np.nan)
    given = {"sample_weight": sample_weight}
    try:
        labels, weights = um.survival_at(times, event, at, sample_weight=sample_weight)
    except ValueError:  # A resample without an example that was followed so long.
        return found
    at_horizon = (labels, risks), {"sample_weight": weights}
    for name, function in _OF_RISKS.items():
        found[name] = _or_nan(function, *at_horizon)
    found["auroc"] = _or_nan(um.auroc, *at_horizon)
    if with_c:
        found["harrell_c"] = _or_nan(um.concordance_index, (times, event, risks), given)
        found["uno_c"] = _or_nan(
            um.concordance_index,
            (times, event, risks),
            {"ipcw": True, "at": at, **given},
        )
    found["brier_score"] = _or_nan(
        um.ipcw_brier_score, (times, event, 1 - risks, at), given
    )
    return found


def _or_nan(
    metric: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> float:
    """Returns what a metric, or its interval, gives as the estimate; NaN if it is not
    defined for these data.
    """
    try:
        found = metric(*arguments, **options)
    except ValueError:
        return np.nan
    return float(getattr(found, "estimate", found))


def _bootstrapped(
    bootstrap: Callable[..., ConfidenceInterval], arguments: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Returns the interval of each metric, as far as the data allow it."""
    with warnings.catch_warnings():
        # Resamples in which a metric is not defined are left out.
        warnings.simplefilter("ignore", UserWarning)
        try:
            ends = bootstrap(
                _values,
                **arguments,
                num_resamples=_NUM_RESAMPLES,
                level=INTERVAL_LEVEL,
                method="percentile",
                seed=_SEED,
            )
        except ValueError:  # A single example, or most resamples say nothing.
            return {}
    return {name: row(*(end[name] for end in ends)) for name in ends.estimate}


def _of_length(interval: dict[str, Any]) -> dict[str, Any]:
    """Returns an interval without its ends if these are equal: the bootstrap sees no
    chance where the risks separate the examples, or are all the same.
    """
    if interval["low"] == interval["high"]:
        return {**interval, "low": None, "high": None}
    return interval


def differences(first: Survival, second: Survival) -> dict[str, dict[str, Any]]:
    """Returns the metrics of a model less those of another, of the same examples."""
    one, other = _arguments(first), _arguments(second)
    models = {"risks": one.pop("risks")}, {"risks": other["risks"]}

    def difference(metric: Any, **options: Any) -> Any:
        return um.bootstrap_difference(metric, *models, **options)

    found = _bootstrapped(difference, one)
    return {name: found[name] for name in _COMPARED if name in found}
