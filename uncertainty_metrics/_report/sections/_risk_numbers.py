"""The numbers of risks: calibration, ranking and the use of a decision, with words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import remembered
from uncertainty_metrics._report.data._risks import (
    TOO_FEW,
    Risks,
    is_too_few,
    risks_of,
)
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval, Metric
from uncertainty_metrics._report.sections._model_report import SEED
from uncertainty_metrics._report.sections._p_values import (
    is_borderline,
    is_clear,
    shown_p_value,
)
from uncertainty_metrics.numpy.scoring import scoring_rules

THRESHOLDS = np.arange(1, 100) / 100
MEANINGS: dict[str, str] = {
    "observed_expected_ratio": "Events/expected; 1 is calibrated.",
    "calibration_intercept": "In log-odds; 0 is calibrated.",
    "calibration_slope": "1 is calibrated; < 1 too extreme.",
    "auroc": "P(an event has the higher risk).",
    "ici": "Mean distance of the risks from the curve.",
    "e50": "Median of these distances.",
    "e90": "90th percentile of these distances.",
    "brier_score": "Mean of (event - risk)^2: 0 (best) to 1.",
    "scaled_brier_score": "1 - this score / that of the share of events.",
}


@dataclasses.dataclass(frozen=True)
class DecisionCurve:
    """Net benefits at thresholds, with a band that holds at all of them together.

    Attributes:
      thresholds: the thresholds.
      net_benefit: net benefit of acting on the risks.
      treat_all: that of acting on every example.
      treat_none: that of never acting.
      over_all_lower: lower end of the gain over acting on every example.
      over_all_upper: upper end of it.
      over_none_lower: lower end of the gain over never acting.
      over_none_upper: upper end of it.
    """

    thresholds: list[float]
    net_benefit: list[float]
    treat_all: list[float]
    treat_none: list[float]
    over_all_lower: list[float]
    over_all_upper: list[float]
    over_none_lower: list[float]
    over_none_upper: list[float]

    def sentence(self) -> str:
        """Says at which thresholds it helps to act on the risks."""
        useful = [
            threshold
            for threshold, over_all, over_none in zip(
                self.thresholds, self.over_all_lower, self.over_none_lower, strict=True
            )
            if over_all > 0 and over_none > 0
        ]
        if not useful:
            return (
                "At no threshold is acting on the risks better than acting on all or "
                "on none beyond chance (the band of the decision curve)."
            )
        first, last = (f"{end:.0%}" for end in (useful[0], useful[-1]))
        where = f"at a threshold of {first}"
        if first != last:
            where = f"at thresholds between {first} and {last}"
            holes = round((useful[-1] - useful[0]) * 100) + 1 > len(useful)
            where += ", though not at each," if holes else ""
        return (
            f"Acting on the risks is better than acting on all or on none {where}, "
            "beyond chance at all thresholds together (the band of the decision curve)."
        )


def if_defined(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Returns what a metric gives; None if it is not defined for these data, as the
    slope of risks that are all the same.
    """
    try:
        return function(*values, **options)
    except ValueError:
        return None


@remembered
def net_benefit_of(model: Any) -> Any:
    """Returns the `NetBenefitBand` of acting on the risks of a model."""
    return um.net_benefit(
        **risks_of(model).arguments,
        thresholds=THRESHOLDS,
        level=INTERVAL_LEVEL,
        clusters=clusters_of(model),
        seed=SEED,
    )


def decision_curve_of(model: Any) -> DecisionCurve:
    """Returns the net benefit of acting on the risks of a model, by threshold."""
    curve = net_benefit_of(model)
    return DecisionCurve(THRESHOLDS.tolist(), *(each.tolist() for each in curve))


def metrics_of(data: Risks) -> dict[str, Metric]:
    """Returns the metrics that have no interval."""
    index = um.integrated_calibration_index(**data.arguments)
    values = {
        "ici": index.ici,
        "e50": index.e50,
        "e90": index.e90,
        "brier_score": scoring_rules.of_one_outcome(
            um.brier_score(**data.arguments, zero_based=True), has_two_classes=True
        ),
        "scaled_brier_score": if_defined(um.scaled_brier_score, **data.arguments),
    }
    return {
        name: Metric(None if value is None else float(value), MEANINGS[name])
        for name, value in values.items()
    }


def finding(name: str, estimate: float) -> str:
    """Returns in words what an intercept or a slope says of the risks."""
    if name == "calibration_slope":
        return "too extreme" if estimate < 1 else "too close together"
    return "too low" if estimate > 0 else "too high"


def verdict_of(
    data: Risks,
    came: str,
    intervals: Mapping[str, Interval],
    p: float | None = None,
    curve: DecisionCurve | None = None,
) -> str:
    """Says what the numbers say, where the data show it.

    Args:
      data: the risks.
      came: the first words.
      intervals: the numbers with their intervals.
      p: the p-value of intercept and slope together; None if only intervals judge.
      curve: the decision curve, or None.
    """
    counts = (
        f"{came} {amount(data.events)} times in {amount(data.total)} examples, and "
        f"the risks expect {amount(data.expected)}."
    )
    ratio, slope = (
        intervals[name] for name in ("observed_expected_ratio", "calibration_slope")
    )
    if is_too_few(data.smaller_class):
        undefined = [
            _of_level(ratio) if ratio.estimate is None else "",
            _of_spread(data, slope) if slope.estimate is None else "",
        ]
        sentences = [
            f"Too few to say: {_uncapitalized(counts)} A verdict needs at least "
            f"{TOO_FEW} examples with the event and {TOO_FEW} without it.",
            *undefined,
        ]
    else:
        of_numbers = [_of_level(ratio), _of_spread(data, slope)]
        if p is not None and not is_clear(p) and slope.estimate is not None:
            # Each interval by itself would find too much.
            found = "is borderline" if is_borderline(p) else "may be chance"
            of_numbers = [
                f"O/E is {ends_of(ratio)}, and the slope is {ends_of(slope)}: what the "
                f"intercept and the slope show {found} (p {shown_p_value(p)} for both)."
            ]
        sentences = [counts, *of_numbers, _of_ranking(intervals["auroc"])]
        if curve is not None:
            sentences.append(curve.sentence())
    return " ".join(filter(None, sentences))


def shown_intervals(intervals: Mapping[str, Interval]) -> str:
    """Returns a sentence with the numbers of calibration and ranking."""
    titles = {
        "observed_expected_ratio": "O/E",
        "calibration_intercept": "intercept",
        "calibration_slope": "slope",
        "auroc": "AUROC",
    }
    shown = [
        f"{title} {intervals[name].shown()}"
        for name, title in titles.items()
        if intervals[name].estimate is not None
    ]
    return f"{', '.join(shown)}."


def _uncapitalized(words: str) -> str:
    return words[:1].lower() + words[1:]


def amount(number: float) -> str:
    """Returns a number of examples, which has a fraction if they are weighted."""
    whole = abs(number - round(number)) < 1e-6
    return f"{number:,.0f}" if whole else f"{number:,.1f}"


def ends_of(interval: Interval) -> str:
    """Returns an estimate with its interval, if there is one."""
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.3g}"
    return f"{interval.estimate:.3g}, {interval.low:.3g} to {interval.high:.3g}"


def _of_level(interval: Interval) -> str:
    if interval.estimate is None:
        return "All risks are 0, so there is no O/E."
    if interval.low is None:
        return f"O/E is {ends_of(interval)}, and has no interval here."
    words = {
        1: "More events came than expected",
        -1: "Fewer events came than expected",
        0: "Up to chance, as many events came as expected",
    }
    return f"{words[interval.side_of(1)]} (O/E {ends_of(interval)})."


def _of_spread(data: Risks, interval: Interval) -> str:
    if interval.estimate is None:
        if data.labels.min() < data.labels.max():
            return "All risks are the same, so there is no slope."
        which = "All examples have" if data.labels[0] else "No example has"
        return f"{which} the event, so there is no slope and no AUROC."
    if interval.low is None:
        return f"The slope is {ends_of(interval)}, and has no interval here."
    words = {
        1: "The risks are too close together",
        -1: "The risks are too extreme",
        0: "The risks are not clearly too extreme, nor too close together",
    }
    return f"{words[interval.side_of(1)]} (slope {ends_of(interval)})."


def _of_ranking(interval: Interval) -> str:
    if interval.estimate is None:
        return ""
    return (
        "Of two examples, one with the event and one without, the first has the higher "
        f"risk in {interval.estimate:.1%} of pairs (AUROC {ends_of(interval)})."
    )
