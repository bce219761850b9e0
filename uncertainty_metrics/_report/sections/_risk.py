"""The section on risks: what a person who validates a risk model asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import name_of_event
from uncertainty_metrics._report.data._predictions import Predictions, Stream
from uncertainty_metrics._report.data._risks import (
    TOO_FEW,
    Risks,
    has_risks,
    is_too_few,
    risks_of,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    row,
)
from uncertainty_metrics._report.sections._p_values import (
    is_borderline,
    is_clear,
    shown_p_value,
)
from uncertainty_metrics.numpy.calibration.risk import risk_calibration

# With fewer examples of either outcome a note says that estimates are rough (Vergouwe
# et al., 2005; Collins et al., 2016).
_FEW = 100
THRESHOLDS = np.arange(1, 100) / 100
_ON_ACTIONS = (
    "The decision curve shows the net benefit of acting on the risks on these data. It "
    "has no interval: by chance the curve of risks without any information often lies "
    "above both others somewhere."
)
MEANINGS: dict[str, str] = {
    "observed_expected_ratio": "Events/expected; 1 is calibrated.",
    "calibration_intercept": "In log-odds; 0 is calibrated.",
    "calibration_slope": "1 is calibrated; < 1 too extreme.",
    "auroc": "P(an event has the higher risk).",
    "ici": "Mean distance of the risks from the curve.",
    "e50": "Median of these distances.",
    "e90": "90th percentile of these distances.",
    "brier_score_of_event": "Mean of (event - risk)^2: 0 (best) to 1.",
    "scaled_brier_score": "1 - this score / that of the share of events.",
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
        name: if_defined(function, **data.arguments, level=INTERVAL_LEVEL)
        for name, function in of_events.items()
    }
    found["auroc"] = if_defined(
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
    event, tested = name_of_event(model), _tested(data, intervals, p_values)
    came = f"The event ({event}) came"
    section = common(data, came, intervals, tested["p_value"])
    return {"event": event, **section, **tested}


def common(
    data: Risks,
    came: str,
    intervals: dict[str, dict[str, Any]],
    p: float | None = None,
) -> dict[str, Any]:
    """Returns what the section has of a classifier and of a survival model alike.

    Args:
      data: the risks.
      came: the first words of the verdict.
      intervals: the numbers with their intervals.
      p: the p-value of intercept and slope together; None if only intervals judge.
    """
    curve = um.net_benefit(**data.arguments, thresholds=THRESHOLDS)
    return {
        "examples": len(data.labels),
        "total_weight": data.total,
        "events": data.events,
        "expected_events": data.expected,
        "smaller_class": data.smaller_class,
        "level": INTERVAL_LEVEL,
        "verdict": _verdict(data, came, intervals, p),
        "intervals": intervals,
        "metrics": _metrics(data),
        "decision_curve": {
            "thresholds": THRESHOLDS.tolist(),
            **{name: values.tolist() for name, values in curve._asdict().items()},
        },
    }


def if_defined(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
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
        "brier_score_of_event": (um.brier_score(**data.arguments, zero_based=True) / 2),
        "scaled_brier_score": if_defined(um.scaled_brier_score, **data.arguments),
    }
    return {
        name: {
            "value": None if value is None else float(value),
            "meaning": MEANINGS[name],
        }
        for name, value in values.items()
    }


def _tested(
    data: Risks,
    intervals: Mapping[str, dict[str, Any]],
    p_values: Mapping[str, float],
) -> dict[str, Any]:
    """Returns the p-values of intercept and slope, and of both together, and in words
    what the clearer of the two finds: nothing if there are too few examples.

    Risks that are all the same have no slope; then the intercept alone is tested.
    """
    name = min(p_values, key=lambda key: p_values[key])
    joint = if_defined(risk_calibration.joint_p_value, **data.arguments)
    found = finding(name, float(intervals[name]["estimate"]))
    return {
        "p_values": dict(p_values),
        "p_value": p_values[name] if joint is None else joint,
        "finding": None if is_too_few(data.smaller_class) else found,
    }


def notes_on(data: Risks) -> list[str]:
    """Returns a note if there are few examples with the event, or without it."""
    if data.smaller_class >= _FEW:
        return []
    others, events = data.class_sizes
    some = events <= others
    number = data.events if some else data.total - data.events
    effective = ""
    if data.weights is not None:
        effective = f", in effect {data.smaller_class:.1f} because of the weights"
    return [
        f"Only {amount(number)} of {amount(data.total)} examples "
        f"{'had' if some else 'did not have'} the event{effective}. With fewer than "
        f"{_FEW} examples with the event, or without it, the calibration curve and "
        "the numbers of the risks are rough."
    ]


def finding(name: str, estimate: float) -> str:
    """Returns in words what an intercept or a slope says of the risks."""
    if name == "calibration_slope":
        return "too extreme" if estimate < 1 else "too close together"
    return "too low" if estimate > 0 else "too high"


def _verdict(
    data: Risks, came: str, intervals: Mapping[str, dict[str, Any]], p: float | None
) -> str:
    """Says what the numbers say, where the data show it."""
    counts = (
        f"{came} {amount(data.events)} times in {amount(data.total)} examples, and "
        f"the risks expect {amount(data.expected)}."
    )
    ratio, slope = (
        intervals[name] for name in ("observed_expected_ratio", "calibration_slope")
    )
    if is_too_few(data.smaller_class):
        undefined = [
            _of_level(ratio) if ratio["estimate"] is None else "",
            _of_spread(data, slope) if slope["estimate"] is None else "",
        ]
        sentences = [
            f"Too few to say: {_uncapitalized(counts)} A verdict needs at least "
            f"{TOO_FEW} examples with the event and {TOO_FEW} without it.",
            *undefined,
        ]
    else:
        of_numbers = [_of_level(ratio), _of_spread(data, slope)]
        if p is not None and not is_clear(p) and slope["estimate"] is not None:
            # Each interval by itself would find too much.
            found = "is borderline" if is_borderline(p) else "may be chance"
            of_numbers = [
                f"O/E is {_ends(ratio)}, and the slope is {_ends(slope)}: what the "
                f"intercept and the slope show {found} (p {shown_p_value(p)} for both)."
            ]
        sentences = [counts, *of_numbers, _of_ranking(intervals["auroc"]), _ON_ACTIONS]
    return " ".join(filter(None, sentences))


def _uncapitalized(words: str) -> str:
    return words[:1].lower() + words[1:]


def amount(number: float) -> str:
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


def difference(first: Any, second: Any) -> dict[str, Any]:
    """Returns the difference of the AUROCs of two models of the same examples that give
    risks of the same event; empty if there is none.
    """
    if not (has_risks(first) and has_risks(second)):
        return {}
    one, other = risks_of(first), risks_of(second)
    if not np.array_equal(one.labels, other.labels):
        return {}
    found = if_defined(
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
