"""The sentences of the section that compares two models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from uncertainty_metrics._report.sections._blocks import SIDES
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval
from uncertainty_metrics._report.sections._p_values import (
    is_borderline,
    is_clear,
    shown_p_value,
)

# A number of each model, by "first" and "second".
OfBoth: TypeAlias = dict[str, Any]
_SPELLED = {
    "accuracy": "accuracy",
    "mean_grade": "mean grade",
    "mean_share_of_votes": "mean share of votes",
    "aurc": "AURC",
}
# By the name of the mean outcome: what it is a mean of, and what is said of the model
# for which it is larger.
OUTCOMES = {
    "accuracy": ("accuracy", "is right more often"),
    "mean_grade": ("grades", "has better grades"),
    "mean_share_of_votes": ("votes", "has more votes"),
}
_UNKNOWN = "The data cannot tell which model has the lower calibration error"
_NO_BETTER = "A lower calibration error does not make a better model: "


def which_ranks_better(interval: Interval | None) -> str:
    if interval is None or interval.holds_zero:
        return "Neither clearly has the larger AUROC at the horizon."
    better = SIDES[interval.estimate < 0]
    return f"The {better} model has the larger AUROC at the horizon."


def verdict_of_two(p_values: Mapping[str, float]) -> str:
    """Says what the test of calibration finds for each of two models."""
    found = []
    for side, p in p_values.items():
        what = "is borderline" if is_borderline(p) else "may be calibrated"
        if is_clear(p):
            what = "is miscalibrated"
        found.append(f"the {side} model {what} (p {shown_p_value(p)})")
    return f"By the test of its calibration error, {' and '.join(found)}."


def _lower_for(second: bool) -> str:
    return f"lower for the {SIDES[second]}"


def _scores(name: str, first: str, nll: str) -> str:
    """Returns a sentence on a score and the likelihood, from a phrase for each."""
    if first == nll:
        return f"{name} and negative log-likelihood are {nll}."
    return f"the {name} is {first}, the negative log-likelihood {nll}."


def quality(numbers: dict[str, OfBoth], same_examples: bool) -> str:
    """Returns a sentence on the scoring rules of two models."""
    if not same_examples:
        return (
            f"{_NO_BETTER}compare Brier score and negative log-likelihood on the same "
            "examples, because scores also depend on the examples."
        )
    said = []
    for name in ("brier_score", "negative_log_likelihood"):
        first, second = (float(numbers[name][side]) for side in SIDES)
        equal = first == second
        said.append("the same for both" if equal else _lower_for(first > second))
    return f"{_NO_BETTER}on these examples {_scores('Brier score', *said)}"


def quality_of_confidences(
    numbers: dict[str, OfBoth], of_differences: dict[str, Interval]
) -> str:
    """Says whether the data show which of two models is better in other respects.

    These are how often a model is right, and how well it ranks its answers.
    """
    name = next(name for name in OUTCOMES if name in numbers)
    if not of_differences:
        return (
            f"{_NO_BETTER}compare {_SPELLED[name]} and AURC on the same questions, "
            "because both also depend on the questions."
        )
    accuracy = _which(OUTCOMES[name][1], name, -1, numbers, of_differences)
    aurc = _which("errs less where it is surest", "aurc", 1, numbers, of_differences)
    return f"{_NO_BETTER}{accuracy}, and {aurc}."


def _which(
    predicate: str,
    name: str,
    sign: int,
    numbers: dict[str, OfBoth],
    of_differences: dict[str, Interval],
) -> str:
    """Says which model is better by a metric; if the sign is 1, smaller is better."""
    values = " and ".join(f"{float(numbers[name][side]):.4f}" for side in SIDES)
    said = f"({_SPELLED[name]} {values})"
    if of_differences[name].holds_zero:
        return f"neither model clearly {predicate} {said}"
    better = SIDES[sign * of_differences[name].estimate > 0]
    return f"the {better} model {predicate} {said}"


def verdict_of_regressions(
    errors: OfBoth,
    p_values: OfBoth,
    of_differences: dict[str, Interval],
) -> str:
    """Says which of two models has the lower calibration error, if the data show it."""
    better, worse = sorted(SIDES, key=lambda side: errors[side])
    if not of_differences:
        return f"{_UNKNOWN}: the models do not have the same examples."
    if not is_clear(p_values[worse]):
        return f"{_UNKNOWN}: chance alone gives calibrated models such errors."
    if of_differences["ece"].holds_zero:
        return f"{_UNKNOWN}: the interval of the difference holds 0."
    return f"The {better} model has the lower calibration error."


def quality_of_regressions(of_differences: dict[str, Interval]) -> str:
    """Returns a sentence on the scoring rules of two models."""
    if not of_differences:
        return (
            f"{_NO_BETTER}compare CRPS and negative log-likelihood on the same "
            "examples."
        )
    said = (
        "not clearly different"
        if of_differences[name].holds_zero
        else _lower_for(of_differences[name].estimate >= 0)
        for name in ("crps", "negative_log_likelihood")
    )
    return f"{_NO_BETTER}{_scores('CRPS', *said)}"
