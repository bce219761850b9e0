"""The section that compares two models."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Model,
    Predictions,
    Regression,
    Stream,
    Survival,
    is_of_answers,
)
from uncertainty_metrics._report.sections import _regression, _risk, _survival
from uncertainty_metrics._report.sections._blocks import SIDES
from uncertainty_metrics._report.sections._bootstrap_intervals import differences
from uncertainty_metrics._report.sections._drift import can_drift, drift
from uncertainty_metrics._report.sections._p_values import (
    is_borderline,
    is_clear,
    shown_p_value,
)
from uncertainty_metrics._report.sections._posterior import ece_draws

# The numbers of each model that a comparison shows, with their place in its report: the
# section of a metric, or a path.
_OF_DECISIONS: dict[str, str | tuple[str, ...]] = {
    "accuracy": ("calibration", "accuracy"),
    "mean_confidence": ("calibration", "mean_confidence"),
    "ece": "calibration",
    "bayesian_ece_mean": ("bayesian_ece", "mean"),
    "bayesian_ece_low": ("bayesian_ece", "interval", "low"),
    "bayesian_ece_high": ("bayesian_ece", "interval", "high"),
}
_OF_CLASSIFIERS = {
    "examples": ("data", "examples"),
    "classes": ("data", "classes"),
    **_OF_DECISIONS,
    "brier_score_zero_based": "scoring_rules",
    "negative_log_likelihood": "scoring_rules",
    "aurc": "selective_prediction",
    "coverage_at_risk": "selective_prediction",
}
_OF_CONFIDENCES = {
    "examples": ("data", "examples"),
    **_OF_DECISIONS,
    "brier_score": "scoring_rules",
    "negative_log_likelihood": "scoring_rules",
    "aurc": "selective_prediction",
    "excess_aurc": "selective_prediction",
    "coverage_at_risk": "selective_prediction",
}
_OF_REGRESSIONS = {
    "examples": ("data", "examples"),
    "ece": "calibration",
    "ence": "calibration",
    "rmse": "scoring_rules",
    "crps": "scoring_rules",
    "negative_log_likelihood": "scoring_rules",
    "sharpness": "sharpness",
    "temperature": "recalibration",
}
_SPELLED = {"accuracy": "accuracy", "aurc": "AURC"}
_UNKNOWN = "The data cannot tell which model has the lower calibration error"
_NO_BETTER = "A lower calibration error does not make a better model: "


def _number(model: dict[str, Any], name: str, place: str | tuple[str, ...]) -> Any:
    """Returns a number from the report on a model."""
    path = (place, "metrics", name, "value") if isinstance(place, str) else place
    return functools.reduce(operator.getitem, path, model)


def comparison(
    predictions: Model, other: Model, models: dict[str, dict[str, Any]], num_bins: int
) -> dict[str, Any]:
    """Returns the section; `models` holds the reports on the two, of one task."""
    if isinstance(predictions, Survival):
        assert isinstance(other, Survival)
        return _of_survival(predictions, other, models)
    places, tested, compared = _of_task(predictions)
    numbers = {
        name: {side: _number(model, name, place) for side, model in models.items()}
        for name, place in places.items()
    }
    same_examples, examples = _examples(predictions, other)
    drifted = {}
    if not same_examples and can_drift(predictions, other):
        drifted["drift"] = drift((predictions, other), num_bins)
    tests = {side: model[tested] for side, model in models.items()}
    return {
        "same_examples": same_examples,
        "examples": examples,
        "numbers": numbers,
        **compared((predictions, other), numbers, tests, same_examples, num_bins),
        **drifted,
        "other": models["second"],
    }


def _of_survival(
    first: Survival, second: Survival, models: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Returns the section of two survival models."""
    same_examples, examples = _followed(first, second)
    found = _survival.differences(first, second) if same_examples else {}
    names = models["first"]["risk"]["intervals"]
    verdict = "They are not compared further, as their examples differ."
    if same_examples:
        verdict = _which_ranks_better(found.get("auroc"))
    return {
        "same_examples": same_examples,
        "examples": examples,
        "numbers": {
            name: {
                side: model["risk"]["intervals"][name]["estimate"]
                for side, model in models.items()
            }
            for name in names
        },
        "differences": found,
        "verdict": verdict,
        "quality": "Larger is better for AUROC and C, smaller for the Brier score.",
        "other": models["second"],
    }


def _which_ranks_better(interval: dict[str, Any] | None) -> str:
    if interval is None or _holds_zero(interval):
        return "Neither clearly has the larger AUROC at the horizon."
    better = SIDES[interval["estimate"] < 0]
    return f"The {better} model has the larger AUROC at the horizon."


def _followed(first: Survival, second: Survival) -> tuple[bool, str]:
    """Returns whether two files are of the same examples, and a sentence on it."""
    if first.at != second.at:
        return False, f"Other horizons: {first.at:g} and {second.at:g}."
    pairs = ((first.times, second.times), (first.event, second.event))
    same = all(np.array_equal(np.ravel(x), np.ravel(y)) for x, y in pairs)
    if not same or not _same_weights(first.sample_weight, second.sample_weight):
        return False, "Other examples, or in another order, or with other weights."
    return True, (
        "The same examples: both files hold the same times and events in the same "
        "order."
    )


def _of_task(
    model: Decided | Regression,
) -> tuple[dict[str, Any], str, Callable[..., dict[str, Any]]]:
    """Returns the parts of a comparison that depend on the task.

    These are the places of the numbers to compare, the section with the p-value of the
    test of calibration, and the function that compares two models.
    """
    if isinstance(model, Regression):
        return _OF_REGRESSIONS, "calibration", _compared_regressions
    if is_of_answers(model):
        return _OF_CONFIDENCES, "bayesian_ece", _compared_confidences
    return _OF_CLASSIFIERS, "bayesian_ece", _compared_classifiers


def _compared_classifiers(
    models: tuple[Predictions, Predictions],
    numbers: dict[str, dict[str, Any]],
    tests: dict[str, dict[str, Any]],
    same_examples: bool,
    num_bins: int,
) -> dict[str, Any]:
    of_risks = _risk.difference(*models) if same_examples else {}
    return {
        **_posteriors_of_two(models, tests, num_bins),
        "differences": differences(*models, num_bins) if same_examples else {},
        "quality": _quality(numbers, same_examples),
        **({"risk": of_risks} if of_risks else {}),
    }


def _compared_confidences(
    models: tuple[Confidences, Confidences],
    numbers: dict[str, dict[str, Any]],
    tests: dict[str, dict[str, Any]],
    same_examples: bool,
    num_bins: int,
) -> dict[str, Any]:
    of_differences = differences(*models, num_bins) if same_examples else {}
    return {
        **_posteriors_of_two(models, tests, num_bins),
        "differences": of_differences,
        "more_often_right": _more_often_right(of_differences),
        "quality": _quality_of_confidences(numbers, of_differences),
    }


def _posteriors_of_two(
    models: tuple[Decided, Decided], tests: dict[str, dict[str, Any]], num_bins: int
) -> dict[str, Any]:
    """Returns the probability that the posterior of each model gives it the lower
    calibration error, as a part of the section, and the verdict.

    The posteriors of two calibrated models differ by noise alone, so the verdict does
    not say which model is better calibrated.
    """
    draws = [ece_draws(model, num_bins) for model in models]
    return {
        "probability_of_lower_calibration_error": {
            "first": um.probability_of_lower_calibration_error(*draws),
            "second": um.probability_of_lower_calibration_error(*draws[::-1]),
        },
        "verdict": _verdict_of_two(tests),
    }


def _compared_regressions(
    models: tuple[Regression, Regression],
    numbers: dict[str, dict[str, Any]],
    tests: dict[str, dict[str, Any]],
    same_examples: bool,
    num_bins: int,
) -> dict[str, Any]:
    of_differences = {}
    if same_examples:
        of_differences = _regression.differences(*models, num_bins)
    return {
        "differences": of_differences,
        "verdict": _verdict_of_regressions(numbers["ece"], tests, of_differences),
        "quality": _quality_of_regressions(of_differences),
    }


def _examples(predictions: Model, other: Model) -> tuple[bool, str]:
    """Says whether two files have the same examples, by true outcomes and weights."""
    if isinstance(predictions, Stream) or isinstance(other, Stream):
        return False, (
            "The examples are taken for different ones, because not all rows are in "
            "memory."
        )
    if isinstance(predictions, Confidences) and isinstance(other, Confidences):
        return _questions(predictions, other)
    key = "target" if isinstance(predictions, Regression) else "labels"
    first, second = (np.ravel(getattr(model, key)) for model in (predictions, other))
    if isinstance(predictions, Predictions) and isinstance(other, Predictions):
        names = predictions.classes, other.classes
        if names[0] != names[1] and set(names[0]) == set(names[1]):
            first, second = np.array(names[0])[first], np.array(names[1])[second]
    name = key.removesuffix("s") + "s"
    if first.size != second.size:
        return False, (
            f"Different examples: {first.size} in the first file and {second.size} in "
            "the second."
        )
    different = int(np.sum(first != second))
    if different:
        return False, (
            f"Equally many examples, but {different} of the {first.size} {name} "
            "differ: the examples are different, or in another order."
        )
    if not _same_weights(predictions.sample_weight, other.sample_weight):
        return False, f"The same {name} in the same order, but other weights."
    return (
        True,
        f"The same examples: both files hold the same {name} in the same order.",
    )


def drifts(first: Model, second: Model) -> bool:
    """Says whether to test if calibration has changed, which needs other examples."""
    return not _examples(first, second)[0] and can_drift(first, second)


def _questions(first: Confidences, second: Confidences) -> tuple[bool, str]:
    """Says whether two files hold answers to the same questions.

    Whether answers are right differs between models, so only a column that tells the
    questions apart can show it.
    """
    sizes = len(first.correct), len(second.correct)
    if sizes[0] != sizes[1]:
        return False, (
            f"Different questions: {sizes[0]} in the first file and {sizes[1]} in the "
            "second."
        )
    if not _same_weights(first.sample_weight, second.sample_weight):
        return False, "Equally many questions, but other weights."
    asked = {each.questions and each.questions.name.lower() for each in (first, second)}
    if first.questions is None or second.questions is None or len(asked) > 1:
        return True, (
            "Equally many answers, which are taken for answers to the same questions "
            "in the same order: the files have no common column that names the "
            "questions."
        )
    name = first.questions.name
    pairs = zip(first.questions.values, second.questions.values, strict=True)
    different = sum(one != other for one, other in pairs)
    if different:
        return False, (
            f"Equally many questions, but {different} of the {sizes[0]} values of "
            f"`{name}` differ: the questions are different, or in another order."
        )
    return True, (
        f"The same questions: both files hold the same `{name}` in the same order."
    )


def _same_weights(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    first, second = (np.ravel(1.0 if w is None else w) for w in (first, second))
    if len({first.size, second.size} - {1}) > 1:
        return False
    return bool(np.all(first == second))  # A single weight holds for every example.


def _verdict_of_two(tests: dict[str, dict[str, Any]]) -> str:
    """Says what the test of calibration finds for each of two models."""
    found = []
    for side, test in tests.items():
        p = test["p_value"]
        what = "is borderline" if is_borderline(p) else "may be calibrated"
        if is_clear(p):
            what = "is miscalibrated"
        found.append(f"the {side} model {what} (p {shown_p_value(p)})")
    return (
        f"By the test of its calibration error, {' and '.join(found)}. Which of the "
        "two is better calibrated is not tested here."
    )


def _lower_for(second: bool) -> str:
    return f"lower for the {SIDES[second]}"


def _scores(name: str, first: str, nll: str) -> str:
    """Returns a sentence on a score and the likelihood, from a phrase for each."""
    if first == nll:
        return f"{name} and negative log-likelihood are {nll}."
    return f"the {name} is {first}, the negative log-likelihood {nll}."


def _quality(numbers: dict[str, dict[str, Any]], same_examples: bool) -> str:
    """Returns a sentence on the scoring rules of two models."""
    if not same_examples:
        return (
            f"{_NO_BETTER}compare Brier score and negative log-likelihood on the same "
            "examples, because scores also depend on the examples."
        )
    said = []
    for name in ("brier_score_zero_based", "negative_log_likelihood"):
        first, second = (float(numbers[name][side]) for side in SIDES)
        equal = first == second
        said.append("the same for both" if equal else _lower_for(first > second))
    return f"{_NO_BETTER}on these examples {_scores('Brier score', *said)}"


def _quality_of_confidences(
    numbers: dict[str, dict[str, Any]], of_differences: dict[str, dict[str, Any]]
) -> str:
    """Says whether the data show which of two models is better in other respects.

    These are how often a model is right, and how well it ranks its answers.
    """
    if not of_differences:
        return (
            f"{_NO_BETTER}compare accuracy and AURC on the same questions, because "
            "both also depend on the questions."
        )
    accuracy = _which("is right more often", "accuracy", -1, numbers, of_differences)
    aurc = _which("errs less where it is surest", "aurc", 1, numbers, of_differences)
    return f"{_NO_BETTER}{accuracy}, and {aurc}."


def _more_often_right(of_differences: dict[str, dict[str, Any]]) -> str | None:
    """Returns the model that is clearly right more often, or None."""
    interval = of_differences.get("accuracy")
    if interval is None or _holds_zero(interval):
        return None
    return SIDES[interval["estimate"] < 0]


def _which(
    predicate: str,
    name: str,
    sign: int,
    numbers: dict[str, dict[str, Any]],
    of_differences: dict[str, dict[str, Any]],
) -> str:
    """Says which model is better by a metric; if the sign is 1, smaller is better."""
    values = " and ".join(f"{float(numbers[name][side]):.4f}" for side in SIDES)
    said = f"({_SPELLED[name]} {values})"
    if _holds_zero(of_differences[name]):
        return f"neither model clearly {predicate} {said}"
    better = SIDES[sign * of_differences[name]["estimate"] > 0]
    return f"the {better} model {predicate} {said}"


def _verdict_of_regressions(
    errors: dict[str, Any],
    tests: dict[str, dict[str, Any]],
    of_differences: dict[str, dict[str, Any]],
) -> str:
    """Says which of two models has the lower calibration error, if the data show it."""
    better, worse = sorted(SIDES, key=lambda side: errors[side])
    if not of_differences:
        return f"{_UNKNOWN}: the models do not have the same examples."
    if not is_clear(tests[worse]["p_value"]):
        return f"{_UNKNOWN}: chance alone gives calibrated models such errors."
    if _holds_zero(of_differences["ece"]):
        return f"{_UNKNOWN}: the interval of the difference holds 0."
    return f"The {better} model has the lower calibration error."


def _quality_of_regressions(of_differences: dict[str, dict[str, Any]]) -> str:
    """Returns a sentence on the scoring rules of two models."""
    if not of_differences:
        return (
            f"{_NO_BETTER}compare CRPS and negative log-likelihood on the same "
            "examples."
        )
    said = (
        "not clearly different"
        if _holds_zero(of_differences[name])
        else _lower_for(of_differences[name]["estimate"] >= 0)
        for name in ("crps", "negative_log_likelihood")
    )
    return f"{_NO_BETTER}{_scores('CRPS', *said)}"


def _holds_zero(interval: dict[str, Any]) -> bool:
    low, high = interval["low"], interval["high"]
    return low is None or float(low) <= 0 <= float(high)
