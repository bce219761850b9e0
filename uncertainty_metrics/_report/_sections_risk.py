"""The section on risks: what a person who validates a risk model asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report._predictions import Predictions, Stream
from uncertainty_metrics._report._risks import (
    Risks,
    has_risks,
    name_of_event,
    risks_of,
)
from uncertainty_metrics._report._sections_intervals import INTERVAL_LEVEL, row
from uncertainty_metrics._report._sections_rows import shown_p_value

# Intervals of fewer events, or of fewer examples without one, tend to be too short.
_FEW_EVENTS = 20
THRESHOLDS = np.arange(1, 100) / 100
MEANINGS: dict[str, str] = {
    "observed_expected_ratio": "Events/expected; 1 is calibrated.",
    "calibration_intercept": "In log-odds; 0 is calibrated.",
    "calibration_slope": "1 is calibrated; < 1 too extreme.",
    "auroc": "P(an event has the higher risk).",
    "ici": "Mean distance of the risks from the curve.",
    "e50": "Median of these distances.",
    "e90": "90th percentile of these distances.",
    "brier_score": "Mean of (event - risk)^2; smaller is better.",
    "scaled_brier_score": "1 - Brier score / that of the share of events.",
}


def risk(model: Predictions | Stream) -> dict[str, Any]:
    """Returns the section of a model that gives risks."""
    data = risks_of(model)
    of_events = {
        "observed_expected_ratio": um.observed_expected_ratio,
        "calibration_intercept": um.calibration_intercept,
        "calibration_slope": um.calibration_slope,
    }
    found = {
        name: _if_defined(function, **data.arguments, level=INTERVAL_LEVEL)
        for name, function in of_events.items()
    }
    found["auroc"] = _if_defined(
        um.auroc_interval,
        data.labels,
        data.scores,
        sample_weight=data.weights,
        level=INTERVAL_LEVEL,
    )
    intervals = {
        name: row(*(ends[:3] if ends is not None else 3 * (np.nan,)))
        for name, ends in found.items()
    }
    p_values = {
        name: float(found[name].p_value)
        for name in ("calibration_intercept", "calibration_slope")
        if found[name] is not None
    }
    event = name_of_event(model)
    section = common(data, f"The event ({event}) came", intervals)
    return {"event": event, **section, **_tested(intervals, p_values)}


def common(
    data: Risks, came: str, intervals: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Returns what the section has of a classifier and of a survival model alike; the
    verdict begins with `came`.
    """
    curve = um.net_benefit(**data.arguments, thresholds=THRESHOLDS)
    return {
        "examples": len(data.labels),
        "total_weight": data.total,
        "events": data.events,
        "expected_events": data.expected,
        "level": INTERVAL_LEVEL,
        "verdict": _verdict(data, came, intervals, curve),
        "intervals": intervals,
        "metrics": _metrics(data),
        "decision_curve": {
            "thresholds": THRESHOLDS.tolist(),
            **{name: values.tolist() for name, values in curve._asdict().items()},
        },
    }


def _if_defined(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Returns what a metric gives; None if it is not defined for these data, as the
    slope of risks that are all the same.
    """
    try:
        return function(*values, **options)
    except ValueError:
        return None


def _metrics(data: Risks) -> dict[str, dict[str, Any]]:
    """Returns the metrics that have no interval."""
    index = um.integrated_calibration_index(**data.arguments)
    values = {
        "ici": index.ici,
        "e50": index.e50,
        "e90": index.e90,
        # Half of the sum over both classes.
        "brier_score": um.brier_score(**data.arguments, zero_based=True) / 2,
        "scaled_brier_score": _if_defined(um.scaled_brier_score, **data.arguments),
    }
    return {
        name: {
            "value": None if value is None else float(value),
            "meaning": MEANINGS[name],
        }
        for name, value in values.items()
    }


def _tested(
    intervals: Mapping[str, dict[str, Any]], p_values: Mapping[str, float]
) -> dict[str, Any]:
    """Returns the p-values of intercept and slope, one for both (Bonferroni's), and in
    words what the clearer of the two finds.
    """
    name = min(p_values, key=lambda key: p_values[key])
    return {
        "p_values": dict(p_values),
        "p_value": min(1.0, len(p_values) * p_values[name]),
        "finding": finding(name, float(intervals[name]["estimate"])),
    }


def finding(name: str, estimate: float) -> str:
    """Returns in words what an intercept or a slope says of the risks."""
    if name == "calibration_slope":
        return "too extreme" if estimate < 1 else "too close together"
    return "too low" if estimate > 0 else "too high"


def _verdict(
    data: Risks, came: str, intervals: Mapping[str, dict[str, Any]], curve: Any
) -> str:
    """Says what the numbers say, where the data show it."""
    sentences = [
        f"{came} {_amount(data.events)} times in {_amount(data.total)} examples, and "
        f"the risks expect {_amount(data.expected)}.",
        _of_level(intervals["observed_expected_ratio"]),
        _of_spread(data, intervals["calibration_slope"]),
        _of_ranking(intervals["auroc"]),
        _of_actions(curve),
    ]
    if min(data.events, data.total - data.events) < _FEW_EVENTS:
        sentences.append(
            f"There are fewer than {_FEW_EVENTS} examples with the event, or without "
            "it: the intervals of so few tend to be too short."
        )
    return " ".join(filter(None, sentences))


def _amount(number: float) -> str:
    """Returns a number of examples, which has a fraction if they are weighted."""
    whole = abs(number - round(number)) < 1e-6
    return f"{number:,.0f}" if whole else f"{number:,.1f}"


def _ends(interval: Mapping[str, Any]) -> str:
    """Returns an estimate with its interval, if there is one."""
    estimate, low, high = (interval[key] for key in ("estimate", "low", "high"))
    ends = "" if low is None or high is None else f", {low:.3g} to {high:.3g}"
    return f"{estimate:.3g}{ends}"


def _side_of(interval: Mapping[str, Any], value: float) -> int:
    """Returns 1 if an interval lies above a value, -1 if below it, else 0."""
    low, high = interval["low"], interval["high"]
    if low is None or high is None:
        return 0
    return int(low > value) - int(high < value)


def _of_level(interval: Mapping[str, Any]) -> str:
    if interval["estimate"] is None:
        return "All risks are 0, so there is no O/E."
    if interval["low"] is None:
        return f"O/E is {_ends(interval)}, and has no interval here."
    words = {
        1: "More events came than expected",
        -1: "Fewer events came than expected",
        0: "Up to chance, as many events came as expected",
    }
    return f"{words[_side_of(interval, 1)]} (O/E {_ends(interval)})."


def _of_spread(data: Risks, interval: Mapping[str, Any]) -> str:
    if interval["estimate"] is None:
        if data.labels.min() < data.labels.max():
            return "All risks are the same, so there is no slope."
        which = "All examples have" if data.labels[0] else "No example has"
        return f"{which} the event, so there is no slope and no AUROC."
    if interval["low"] is None:
        return f"The slope is {_ends(interval)}, and has no interval here."
    words = {
        1: "The risks are too close together",
        -1: "The risks are too extreme",
        0: "The risks are not clearly too extreme, nor too close together",
    }
    return f"{words[_side_of(interval, 1)]} (slope {_ends(interval)})."


def _of_ranking(interval: Mapping[str, Any]) -> str:
    if interval["estimate"] is None:
        return ""
    return (
        "Of two examples, one with the event and one without, the first has the higher "
        f"risk in {interval['estimate']:.1%} of pairs (AUROC {_ends(interval)})."
    )


def _of_actions(curve: Any) -> str:
    """Says where acting on the risks is better than to act on all or on none."""
    is_better = curve.net_benefit > np.maximum(curve.treat_all, curve.treat_none)
    edges = np.flatnonzero(np.diff(np.pad(is_better.astype(int), 1)))
    if not len(edges):
        return (
            "At no threshold from 1% to 99% is it better to act on the risks than to "
            "treat all or none."
        )
    starts, ends = edges[::2], edges[1::2] - 1
    longest = np.argmax(ends - starts)
    first, last = THRESHOLDS[starts[longest]], THRESHOLDS[ends[longest]]
    where = "the threshold" if first == last else "thresholds from"
    to = "" if first == last else f" to {last:.0%}"
    return (
        f"At {where} {first:.0%}{to} it is better on these data to act on the risks "
        "than to treat all or none."
    )


def difference(first: Any, second: Any) -> dict[str, Any]:
    """Returns the difference of the AUROCs of two models of the same examples that give
    risks of the same event; empty if there is none.
    """
    if not (has_risks(first) and has_risks(second)):
        return {}
    one, other = risks_of(first), risks_of(second)
    if not np.array_equal(one.labels, other.labels):
        return {}
    found = _if_defined(
        um.auroc_difference,
        one.labels,
        one.scores,
        other.scores,
        sample_weight=one.weights,
        level=INTERVAL_LEVEL,
    )
    if found is None:
        return {}
    *ends, p = found
    interval = row(*ends)
    words = {
        1: "The first ranks the risks better",
        -1: "The second ranks the risks better",
        0: "Neither clearly ranks the risks better",
    }
    return {
        "auroc_difference": {**interval, "p_value": float(p)},
        "verdict": (
            f"{words[_side_of(interval, 0)]}: the AUROC of the first less that of the "
            f"second is {_ends(interval)} (DeLong, p {shown_p_value(float(p))})."
        ),
    }
