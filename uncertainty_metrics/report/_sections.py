"""Builds the calibration report of predictions: plain numbers and words, no files."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, PRESETS, CalibrationKey
from uncertainty_metrics.numpy._inputs import ROW_SUM_TOLERANCE
from uncertainty_metrics.report import _sections_regression
from uncertainty_metrics.report._blocks import SIDES
from uncertainty_metrics.report._predictions import (
    Predictions,
    Regression,
    ReportError,
    remembered,
)
from uncertainty_metrics.report._sections_ensemble import averaged, ensemble
from uncertainty_metrics.report._sections_intervals import (
    INTERVAL_LEVEL,
    differences,
    intervals,
)
from uncertainty_metrics.report._sections_rows import (
    is_clear,
    p_value,
    rows,
    verdict_on_chance,
)
from uncertainty_metrics.report._sections_selective import (
    SELECTIVE_OPTIONS,
    selective_prediction,
)
from uncertainty_metrics.version import __version__

# Draws of the ECE: fewer where each takes longer, as there are more bins.
_MAX_DRAWS, _MIN_DRAWS, _MAX_DRAWN_BINS = 5000, 100, 1_000_000
_MAX_DRAWN = 10_000_000  # Numbers, for what chance gives a calibrated model.
# Every report draws alike, so it can be repeated. One seed for both models of a
# comparison: their draws are compared in all pairs, so they need not be independent.
_SEED = 0
# Above, a weighted sum of scores may overflow.
_MAX_TOTAL_WEIGHT = 1e300
# The probability from which on a comparison names a winner.
_CLEAR = 0.95

_BRIER_PARTS = {
    "uncertainty": ("+", "Score of always forecasting the class frequencies."),
    "resolution": ("-", "How well decisions tell labels apart; high is good."),
    "reliability": ("+", "Miscalibration of each decision's mean forecast."),
    "within_bin_variance": ("+", "Spread of the forecasts of a decision."),
    "within_bin_covariance": ("-", "How well it follows the labels; high is good."),
}


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


def build(
    predictions: Predictions | Regression,
    num_bins: int = DEFAULT_NUM_BINS,
    other: Predictions | Regression | None = None,
) -> dict[str, Any]:
    """Computes the report.

    Args:
      predictions: predictions and what came.
      num_bins: number of bins of every metric.
      other: those of another model of the same task, to compare.

    Returns:
      The report, ready for strict JSON: `package`, `version`, `task`, `options`,
      `source`, `data`, `notes` and the sections of the task, which the module `report`
      lists; with `other`, `comparison`, which holds all that of the other model, too.

    Raises:
      ReportError: a label, a prediction or a weight is not valid; it names the source.
        Or the models are of different tasks.

    Example:
      >>> from uncertainty_metrics import report
      >>> labels, probabilities = np.array([0, 1, 1]), np.array([0.1, 0.2, 0.7])
      >>> here = report.Predictions("here", labels, "probabilities", probabilities)
      >>> report.build(here, num_bins=5)["data"]["examples"]
      3
    """
    if other is not None and _task(other) != _task(predictions):
        raise ReportError(
            f"{other.source}: a {_task(other)} cannot be compared with a "
            f"{_task(predictions)}, {predictions.source}"
        )
    options: dict[str, Any] = {"num_bins": num_bins, "seed": _SEED}
    if _task(predictions) == "classification":
        options |= {"num_ece_samples": _num_draws(num_bins), **SELECTIVE_OPTIONS}
    report = {
        "package": "uncertainty_metrics",
        "version": __version__,
        "task": _task(predictions),
        "options": options,
        **_of_model(predictions, num_bins),
    }
    if other is not None:
        of_both = (report, _of_model(other, num_bins))
        models = dict(zip(SIDES, of_both, strict=True))
        report["comparison"] = _comparison(predictions, other, models, num_bins)
    return report


def _task(predictions: Predictions | Regression) -> str:
    return "regression" if isinstance(predictions, Regression) else "classification"


@contextlib.contextmanager
def errors_naming(source: str) -> Iterator[None]:
    """Makes errors name the file whose numbers are wrong."""
    try:
        # What overflows is infinite or not defined in the report, or refused with it.
        with np.errstate(all="ignore"):
            yield
    except (TypeError, ValueError, MemoryError) as wrong:
        raise ReportError(f"{source}: {wrong}") from wrong
    except ImportError as missing:
        raise ReportError(missing) from missing


def _of_model(predictions: Predictions | Regression, num_bins: int) -> dict[str, Any]:
    """Returns what the report says of one model."""
    with errors_naming(predictions.source):
        of_task = (
            _of_regression(predictions, num_bins)
            if isinstance(predictions, Regression)
            else _of_classifier(predictions, num_bins)
        )
        return {"source": predictions.source, **of_task}


def _check_total_weight(total: float) -> None:
    if total > _MAX_TOTAL_WEIGHT:
        raise ValueError(
            f"`sample_weight` must sum to at most {_MAX_TOTAL_WEIGHT:g}. Received: "
            f"{total:g} in all"
        )


def _of_regression(predictions: Regression, num_bins: int) -> dict[str, Any]:
    weights = _sections_regression.forecasts_of(predictions).weights
    if weights is not None:
        with np.errstate(over="ignore"):
            _check_total_weight(float(weights.sum()))
    return {
        "notes": _left_out(predictions),
        **_sections_regression.sections(predictions, num_bins),
    }


def _of_classifier(predictions: Predictions, num_bins: int) -> dict[str, Any]:
    data = arguments_of(predictions)
    with np.errstate(over="ignore"):
        per_class = um.bin_statistics(
            **data, max_prob=False, class_conditional=True, num_bins=1
        )
        total = float(per_class.counts[0].sum())
    _check_total_weight(total)
    report: dict[str, Any] = {
        "data": {
            "examples": int(np.size(predictions.labels)),
            "classes": len(per_class.counts),
            "members": predictions.members,
            "predictions": predictions.kind,
            "total_weight": total,
        },
        "notes": _notes(predictions, total),
        "calibration": _calibration(data, num_bins),
    }
    ece = report["calibration"]["metrics"]["ece"]["value"]
    report["bayesian_ece"] = _bayesian_ece(predictions, ece, num_bins)
    chance = report["bayesian_ece"]["ece_by_chance"]
    may_be_calibrated = not is_clear(report["bayesian_ece"]["p_value"])
    report["scoring_rules"] = _scoring_rules(data)
    report["intervals"] = intervals(data, num_bins, may_be_calibrated)
    report["selective_prediction"] = selective_prediction(data, _sample_size(data))
    if predictions.members > 1:
        report["ensemble"] = ensemble(predictions, chance, num_bins)
    return report


def arguments_of(predictions: Predictions) -> dict[str, Any]:
    """Returns the arguments by which the metrics take the data, of one model."""
    return {**predictions.arguments, predictions.kind: averaged(predictions)}


def _left_out(predictions: Predictions | Regression) -> list[str]:
    names = ", ".join(predictions.left_out)
    return [f"Left out, as their names mean nothing here: {names}."] if names else []


def _notes(predictions: Predictions, total_weight: float) -> list[str]:
    """Returns what the reader should know about the data."""
    notes = _left_out(predictions)
    labels, values = predictions.labels, predictions.values
    # Else the predictions are those of class 1 alone.
    has_classes = values.shape != labels.shape and values.shape[-1] > 1
    if has_classes and predictions.kind == "probabilities":
        sums = values.sum(axis=-1, dtype=np.float64)
        if np.max(np.abs(sums - 1)) > ROW_SUM_TOLERANCE:
            notes.append(
                f"The probabilities of an example sum to {sums.min():.4g} to "
                f"{sums.max():.4g}, not to 1."
            )
    if predictions.sample_weight is not None:
        notes.append(
            "The posterior of the ECE takes a weight as that many examples, here "
            f"{total_weight:.6g} in all; weights of another scale change its width."
        )
    return notes


def _calibration(data: dict[str, Any], num_bins: int) -> dict[str, Any]:
    """Returns the section of the calibration family."""
    whole = um.bin_statistics(**data, num_bins=1)
    accuracy = float(whole.accuracies[0, 0])
    confidence = float(whole.confidences[0, 0])
    values = {
        "ece": um.ece(**data, num_bins=num_bins),
        "mce": um.mce(**data, num_bins=num_bins),
        "rmsce": um.rmsce(**data, num_bins=num_bins),
        "sce": um.sce(**data, num_bins=num_bins),
        "ace": um.ace(**data, num_bins=num_bins),
        "tace": um.tace(**data, num_bins=num_bins),
    }
    threshold = PRESETS["thresholded_adaptive_calibration_error"].threshold
    meanings = {
        "ece": "On average, confidence and accuracy differ by "
        f"{100 * values['ece']:.1f} percentage points.",
        "mce": f"In the worst bin they differ by {100 * values['mce']:.1f} points; "
        "it may hold few examples.",
        "rmsce": "As ece, in bins of equal mass; the root mean square, not the mean.",
        "sce": "As ece, for the probability of each class; the mean over classes.",
        "ace": "As sce, in bins of equal mass.",
        "tace": f"As ace, leaving out probabilities up to {threshold:g}.",
    }
    grid = um.compute_all_metrics(**data, num_bins=num_bins)
    curve = um.reliability_curve(**data, num_bins=num_bins)
    return {
        "accuracy": accuracy,
        "mean_confidence": confidence,
        "verdict": _verdict(accuracy, confidence, _sample_size(data)),
        "metrics": rows({name: (values[name], meanings[name]) for name in values}),
        "all_metrics": {_readable(key): float(value) for key, value in grid.items()},
        "diagram": {
            "edges": curve.edges[0].tolist(),
            "counts": curve.counts[0].tolist(),
            "confidences": _without_nan(curve.confidences[0]),
            "accuracies": _without_nan(curve.accuracies[0]),
        },
    }


def _sample_size(data: dict[str, Any]) -> float:
    """Returns the number of examples, or Kish's effective number of weighted ones."""
    if data["sample_weight"] is None:
        return float(np.size(data["labels"]))
    weights = np.asarray(data["sample_weight"], np.float64)
    weights = weights / weights.max()
    return float(np.size(data["labels"]) * weights.mean() ** 2 / (weights**2).mean())


def _verdict(accuracy: float, confidence: float, sample_size: float) -> str:
    """Says in a sentence which way the confidence is off, if the data show it."""
    gap = confidence - accuracy
    # Two more hits and misses (Agresti and Coull), or 3 of 3 would have no error.
    size = sample_size + 4
    rate = (accuracy * sample_size + 2) / size
    error = (rate * (1 - rate) / size) ** 0.5
    numbers = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
    if round(abs(gap), 3) <= round(2 * error, 3):  # As they are shown.
        return (
            f"Neither clearly overconfident nor underconfident on average: {numbers}, "
            f"a difference of {abs(gap):.3f} where chance alone gives up to about "
            f"{2 * error:.3f}."
        )
    direction = "Overconfident" if gap > 0 else "Underconfident"
    return (
        f"{direction} on average, by {100 * abs(gap):.1f} percentage points: {numbers} "
        f"(standard error {error:.3f})."
    )


def _readable(key: CalibrationKey) -> str:
    score = "top label" if key.max_prob else "all classes"
    groups = "by class" if key.class_conditional else "pooled"
    return f"{key.binning_scheme}, {score}, {groups}, {key.norm}"


def _num_draws(num_bins: int) -> int:
    return max(_MIN_DRAWS, min(_MAX_DRAWS, _MAX_DRAWN_BINS // num_bins))


@remembered
def ece_draws(predictions: Predictions, num_bins: int) -> np.ndarray:
    """Draws from the posterior of the ECE, the same on every call."""
    arguments = arguments_of(predictions)
    return um.bayesian_expected_calibration_error(
        num_bins,
        labels_true=arguments.pop("labels"),
        **arguments,
        num_ece_samples=_num_draws(num_bins),
        seed=_SEED,
    )


def _bayesian_ece(
    predictions: Predictions, ece: float, num_bins: int
) -> dict[str, Any]:
    """Returns the section of the posterior of the ECE."""
    draws = ece_draws(predictions, num_bins)
    tail = (1 - INTERVAL_LEVEL) / 2
    low, median, high = map(float, np.quantile(draws, [tail, 0.5, 1 - tail]))
    mean = float(draws.mean())
    variances = _variances_by_chance(arguments_of(predictions), num_bins)
    chance = _ece_by_chance(variances)
    p = p_value(_draws_by_chance(variances), ece)
    verdict = (
        f"The ECE of the model lies between {low:.4f} and {high:.4f} with "
        f"{100 * INTERVAL_LEVEL:.0f}% probability (mean {mean:.4f}); the ECE of the "
        f"data is {ece:.4f}. By chance alone a calibrated model would show up to about "
        f"{chance:.4f} on such data, {verdict_on_chance(p)}"
    )
    if not is_clear(p):
        verdict += ". If calibrated, the interval, which never holds 0, is too high"
    return {
        "mean": mean,
        "median": median,
        "interval": {"level": INTERVAL_LEVEL, "low": low, "high": high},
        "ece_by_chance": chance,
        "p_value": p,
        "verdict": f"{verdict}.",
    }


def _variances_by_chance(data: dict[str, Any], num_bins: int) -> np.ndarray:
    """Returns what chance leaves of the ECE of a calibrated model in each bin.

    The ECE is never below 0, so noise makes it, and its posterior, too large. If the
    scores s_i of bin b are the probabilities of being right, its share of the ECE is
    about |N(0, v_b)| with v_b = sum_i w_i^2 s_i (1 - s_i) / (sum w)^2.
    """
    counts = um.bin_statistics(**data, num_bins=num_bins).counts
    weights = data["sample_weight"]
    if weights is not None:
        weights = np.asarray(weights, np.float64)
        # The counts may be large; the ratio below is of any scale.
        scale = weights.max()
        counts, weights = counts / scale, (weights / scale) ** 2
    squares = um.bin_statistics(**{**data, "sample_weight": weights}, num_bins=num_bins)
    scores = np.minimum(squares.confidences, 1)  # Rounding may go above.
    variances = squares.counts * scores * (1 - scores) / counts.sum() ** 2
    return variances[variances > 0]


def _ece_by_chance(variances: np.ndarray) -> float:
    """Returns what the ECE of a calibrated model hardly exceeds.

    That are the mean and two standard deviations of the sum over bins.
    """
    mean = (2 / np.pi) ** 0.5 * np.sqrt(variances).sum()
    return float(mean + 2 * ((1 - 2 / np.pi) * variances.sum()) ** 0.5)


def _draws_by_chance(variances: np.ndarray) -> np.ndarray:
    """Draws the ECE of a calibrated model."""
    num_draws = min(10_000, _MAX_DRAWN // (len(variances) + 1))
    draws = np.random.default_rng(_SEED).standard_normal((num_draws, len(variances)))
    return np.abs(draws) @ np.sqrt(variances)


def _scoring_rules(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the section of the scoring rules."""
    score = um.brier_score(**data)
    parts = um.brier_decomposition_exact(**data)._asdict()
    nll = um.negative_log_likelihood(**data)
    scores = um.negative_log_likelihood(**data, aggregate=False)
    impossible = int(np.isinf(scores).sum())
    metrics = {
        "brier_score": (score, "In [-1, 1], -1 is best."),
        "brier_score_zero_based": (
            um.brier_score(**data, zero_based=True),
            "The same plus 1: in [0, 2], 0 is best.",
        ),
        "negative_log_likelihood": (
            nll,
            f"{impossible} of {np.size(scores)} labels had probability 0."
            if impossible
            else f"In nats; the same as p = {np.exp(-nll):.3f} at every label.",
        ),
    }
    return {
        "metrics": rows(metrics),
        "impossible_labels": impossible,
        "brier_parts": {
            name: {"sign": sign, "value": parts[name], "meaning": meaning}
            for name, (sign, meaning) in _BRIER_PARTS.items()
        },
        "sum_of_brier_parts": sum(
            -parts[name] if sign == "-" else parts[name]
            for name, (sign, _) in _BRIER_PARTS.items()
        ),
    }


def _comparison(
    predictions: Predictions | Regression,
    other: Predictions | Regression,
    models: dict[str, dict[str, Any]],
    num_bins: int,
) -> dict[str, Any]:
    """Returns the section that compares two models; `models` are what is said of each.

    The models are of one task.
    """
    of_regression = isinstance(predictions, Regression)
    places = _sections_regression.COMPARED if of_regression else _COMPARED
    compared: Callable[..., dict[str, Any]] = (
        _compared_regressions if of_regression else _compared_classifiers
    )
    same_examples, examples = _examples(predictions, other)
    numbers = {
        name: {
            side: functools.reduce(operator.getitem, path, model)
            for side, model in models.items()
        }
        for name, path in places.items()
    }
    return {
        "same_examples": same_examples,
        "examples": examples,
        "numbers": numbers,
        **compared(predictions, other, models, numbers, same_examples, num_bins),
        "other": models["second"],
    }


def _compared_classifiers(
    predictions: Predictions,
    other: Predictions,
    models: dict[str, dict[str, Any]],
    numbers: dict[str, dict[str, Any]],
    same_examples: bool,
    num_bins: int,
) -> dict[str, Any]:
    draws = [ece_draws(model, num_bins) for model in (predictions, other)]
    lower = {
        "first": um.probability_of_lower_calibration_error(*draws),
        "second": um.probability_of_lower_calibration_error(*draws[::-1]),
    }
    by_chance = {
        side: not is_clear(model["bayesian_ece"]["p_value"])
        for side, model in models.items()
    }
    return {
        "differences": differences(
            arguments_of(predictions), arguments_of(other), num_bins
        )
        if same_examples
        else {},
        "probability_of_lower_calibration_error": lower,
        "verdict": _verdict_of_two(lower, by_chance, numbers["examples"]),
        "quality": _quality(numbers, same_examples),
    }


def _compared_regressions(
    predictions: Regression,
    other: Regression,
    models: dict[str, dict[str, Any]],
    numbers: dict[str, dict[str, Any]],
    same_examples: bool,
    num_bins: int,
) -> dict[str, Any]:
    found = (
        _sections_regression.differences(predictions, other, num_bins)
        if same_examples
        else {}
    )
    by_chance = {
        side: not is_clear(model["calibration"]["p_value"])
        for side, model in models.items()
    }
    return {
        "differences": found,
        "verdict": _sections_regression.verdict_of_two(numbers, by_chance, found),
        "quality": _sections_regression.quality(found),
    }


def _examples(
    predictions: Predictions | Regression, other: Predictions | Regression
) -> tuple[bool, str]:
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


def _without_nan(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
