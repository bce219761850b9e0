"""The section that compares two models."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics.report import _sections_regression
from uncertainty_metrics.report._blocks import SIDES
from uncertainty_metrics.report._predictions import Model, Predictions, Regression
from uncertainty_metrics.report._sections_classifier import arguments_of, ece_draws
from uncertainty_metrics.report._sections_intervals import differences
from uncertainty_metrics.report._sections_rows import is_clear

# The probability from which on a comparison names a winner.
_CLEAR = 0.95


def _metric(section: str, name: str) -> tuple[str, ...]:
    return section, "metrics", name, "value"


# What a comparison shows of each model, and where in its report that is.
_COMPARED = {
    "examples": ("data", "examples"),
    "classes": ("data", "classes"),
    "accuracy": ("calibration", "accuracy"),
    "mean_confidence": ("calibration", "mean_confidence"),
    "ece": _metric("calibration", "ece"),
    "bayesian_ece_mean": ("bayesian_ece", "mean"),
    "bayesian_ece_low": ("bayesian_ece", "interval", "low"),
    "bayesian_ece_high": ("bayesian_ece", "interval", "high"),
    "brier_score_zero_based": _metric("scoring_rules", "brier_score_zero_based"),
    "negative_log_likelihood": _metric("scoring_rules", "negative_log_likelihood"),
    "aurc": _metric("selective_prediction", "aurc"),
    "coverage_at_risk": _metric("selective_prediction", "coverage_at_risk"),
}


def comparison(
    predictions: Model, other: Model, models: dict[str, dict[str, Any]], num_bins: int
) -> dict[str, Any]:
    """Returns the section; `models` are what is said of each, which are of one task."""
    of_regression = isinstance(predictions, Regression)
    places = _sections_regression.COMPARED if of_regression else _COMPARED
    numbers = {
        name: {
            side: functools.reduce(operator.getitem, path, model)
            for side, model in models.items()
        }
        for name, path in places.items()
    }
    same_examples, examples = _examples(predictions, other)
    tested = "calibration" if of_regression else "bayesian_ece"
    by_chance = {
        side: not is_clear(model[tested]["p_value"]) for side, model in models.items()
    }
    compared: Callable[..., dict[str, Any]] = (
        _compared_regressions if of_regression else _compared_classifiers
    )
    return {
        "same_examples": same_examples,
        "examples": examples,
        "numbers": numbers,
        **compared((predictions, other), numbers, by_chance, same_examples, num_bins),
        "other": models["second"],
    }


def _compared_classifiers(
    models: tuple[Predictions, Predictions],
    numbers: dict[str, dict[str, Any]],
    by_chance: dict[str, bool],
    same_examples: bool,
    num_bins: int,
) -> dict[str, Any]:
    draws = [ece_draws(model, num_bins) for model in models]
    lower = {
        "first": um.probability_of_lower_calibration_error(*draws),
        "second": um.probability_of_lower_calibration_error(*draws[::-1]),
    }
    first, second = map(arguments_of, models)
    found = differences(first, second, num_bins) if same_examples else {}
    return {
        "differences": found,
        "probability_of_lower_calibration_error": lower,
        "verdict": _verdict_of_two(lower, by_chance, numbers["examples"]),
        "quality": _quality(numbers, same_examples),
    }


def _compared_regressions(
    models: tuple[Regression, Regression],
    numbers: dict[str, dict[str, Any]],
    by_chance: dict[str, bool],
    same_examples: bool,
    num_bins: int,
) -> dict[str, Any]:
    found = {}
    if same_examples:
        found = _sections_regression.differences(*models, num_bins)
    return {
        "differences": found,
        "verdict": _sections_regression.verdict_of_two(numbers, by_chance, found),
        "quality": _sections_regression.quality(found),
    }


def _examples(predictions: Model, other: Model) -> tuple[bool, str]:
    """Says whether two files are of the same examples, by what came and weights."""
    key = "target" if isinstance(predictions, Regression) else "labels"
    first, second = (np.ravel(getattr(model, key)) for model in (predictions, other))
    name = key.removesuffix("s") + "s"
    if first.size != second.size:
        return False, f"Other examples: {first.size} and {second.size} of them."
    different = int(np.sum(first != second))
    if different:
        return False, (
            f"As many examples, but {different} of the {first.size} {name} differ: "
            "other examples, or in another order."
        )
    if not _same_weights(predictions.sample_weight, other.sample_weight):
        return False, f"The same {name} in the same order, but other weights."
    return (
        True,
        f"The same examples: both files hold the same {name} in the same order.",
    )


def _same_weights(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    first, second = (np.ravel(1.0 if w is None else w) for w in (first, second))
    if len({first.size, second.size} - {1}) > 1:
        return False
    return bool(np.all(first == second))  # One weight is that of every example.


def _verdict_of_two(
    lower: dict[str, float], by_chance: dict[str, bool], sizes: dict[str, int]
) -> str:
    """Says which of two models has the lower calibration error, if the data show it."""
    better, worse = sorted(SIDES, key=lambda side: -lower[side])
    chances = f"with probability {_probability(lower[better])}"
    if lower[better] < _CLEAR:
        return (
            "The data cannot tell which model has the lower calibration error: it is "
            f"the {better} {chances}."
        )
    if by_chance[worse]:
        # Noise alone sets two calibrated models apart that differ in accuracy or in
        # the number of examples.
        return (
            "The data cannot tell which model has the lower calibration error: the "
            f"posterior of the {better} is lower, {chances}, but chance alone gives a "
            f"calibrated model such an error as that of the {worse}."
        )
    verdict = f"The {better} model has the lower calibration error, {chances}."
    if sizes[worse] < 0.8 * sizes[better]:
        verdict += " It has more examples, though, and few examples make an ECE larger."
    return verdict


def _probability(value: float) -> str:
    return f"{value:.3f}" if value < 0.9995 else "over 0.999"


def _quality(numbers: dict[str, dict[str, Any]], same_examples: bool) -> str:
    """Says what the scoring rules say of two models."""
    start = "A lower calibration error does not make a better model: "
    if not same_examples:
        return start + (
            "compare Brier score and negative log-likelihood, on the same examples; "
            "those of different examples differ by the examples, too."
        )
    better = {}
    for name in ("brier_score_zero_based", "negative_log_likelihood"):
        first, second = (float(numbers[name][side]) for side in SIDES)
        better[name] = (
            "the same for both"
            if first == second
            else f"lower for the {'first' if first < second else 'second'}"
        )
    brier, nll = better.values()
    return start + (
        f"on these examples Brier score and negative log-likelihood are {brier}."
        if brier == nll
        else f"on these examples the Brier score is {brier}, the negative "
        f"log-likelihood {nll}."
    )
