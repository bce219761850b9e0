"""The sections of the report on a classifier."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _calibration_spec
from uncertainty_metrics._calibration_spec import (
    PRESETS,
    CalibrationKey,
    CalibrationSpec,
)
from uncertainty_metrics._report._predictions import Predictions, remembered
from uncertainty_metrics._report._sections_ensemble import ensemble, examples_of
from uncertainty_metrics._report._sections_intervals import (
    INTERVAL_LEVEL,
    intervals,
    scores_of,
    with_small_weights,
)
from uncertainty_metrics._report._sections_mending import mended
from uncertainty_metrics._report._sections_rows import (
    against_constant,
    is_clear,
    p_value,
    rows,
    verdict_on_chance,
)
from uncertainty_metrics._report._sections_selective import (
    SELECTIVE_OPTIONS,
    selective_prediction,
)
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibration import _binning, _bins_of_all_errors
from uncertainty_metrics.numpy.calibration._binning import BinStatistics

# Draws of the ECE: fewer where each takes longer, as there are more bins.
_MAX_DRAWS, _MIN_DRAWS, _MAX_DRAWN_BINS = 5000, 100, 1_000_000
# Of more classes the errors of single ones are a table that nobody reads.
_MAX_CLASSES = 20
_MAX_DRAWN = 10_000_000  # Numbers, for what chance gives a calibrated model.
# Every report draws alike, so it can be repeated. One seed for both models of a
# comparison: their draws are compared in all pairs, so they need not be independent.
SEED = 0
# Of the test of calibration, by draws from the forecasts.
_MAX_EXACT = 100_000
# Labels that chance does not take away.
_MANY = 10
_AS_ECE: dict[str, Any] = {
    "binning_scheme": "even",
    "norm": "l1",
    "num_resamples": 1000,
    "seed": SEED,
}
_BRIER_PARTS = {
    "uncertainty": ("+", "Score of always forecasting the class frequencies."),
    "resolution": ("-", "How well decisions tell labels apart; high is good."),
    "reliability": ("+", "Miscalibration of each decision's mean forecast."),
    "within_bin_variance": ("+", "Spread of the forecasts of a decision."),
    "within_bin_covariance": ("-", "How well it follows the labels; high is good."),
}


def options(num_bins: int) -> dict[str, Any]:
    """Returns the parameters of the metrics, which stand in the report."""
    return {"num_ece_samples": _num_draws(num_bins), **SELECTIVE_OPTIONS}


def sections(
    predictions: Predictions, num_bins: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Returns what the report says of one model."""
    tell("checks the predictions")
    examples = examples_of(predictions)
    size, weights = len(examples.labels), examples.weights
    total = float(size if weights is None else weights.sum())
    sample_size = _sample_size(examples)
    report: dict[str, Any] = {
        "data": {
            "examples": int(np.size(predictions.labels)),
            "classes": examples.num_classes,
            "members": predictions.members,
            "predictions": predictions.kind,
            "total_weight": total,
            "effective_examples": sample_size,
        },
        "notes": [*_notes(predictions, total), *_suspicions(predictions, examples)],
    }
    tell("computes calibration errors")
    report["calibration"] = section = _calibration(examples, num_bins)
    section["classes"] = dict(
        zip(
            predictions.classes or map(str, itertools.count()),
            section["classes"],
            strict=False,
        )
    )
    ece = report["calibration"]["metrics"]["ece"]["value"]
    report["bayesian_ece"] = _bayesian_ece(predictions, ece, num_bins)
    chance = report["bayesian_ece"]["ece_by_chance"]
    tell("computes scoring rules")
    scores = scores_of(examples)
    report["scoring_rules"] = _scoring_rules(examples, scores)
    tell("computes intervals")
    report["intervals"] = intervals(examples, scores, num_bins)
    tell("fits what mends the predictions")
    report["mending"] = mended(predictions, num_bins).section
    tell("computes selective prediction")
    report["selective_prediction"] = selective_prediction(examples, sample_size)
    if predictions.members > 1:
        report["ensemble"] = ensemble(predictions, chance, num_bins)
    return report


def _notes(predictions: Predictions, total_weight: float) -> list[str]:
    """Returns what the reader should know about the data."""
    notes = []
    labels, values = predictions.labels, predictions.values
    # Else the predictions are those of class 1 alone.
    has_classes = values.shape != labels.shape and values.shape[-1] > 1
    if has_classes and predictions.kind == "probabilities":
        sums = values.sum(axis=-1, dtype=np.float64)
        if np.max(np.abs(sums - 1)) > _inputs.ROW_SUM_TOLERANCE:
            least, most = f"{sums.min():.4g}", f"{sums.max():.4g}"
            most = "" if least == most else f" to {most}"
            notes.append(
                f"The probabilities of an example sum to {least}{most}, not to 1."
            )
    if predictions.sample_weight is not None:
        notes.append(
            "The posterior of the ECE takes a weight as that many examples, here "
            f"{total_weight:.6g} in all; weights of another scale change its width."
        )
    return notes


def _suspicions(predictions: Predictions, examples: _inputs.Examples) -> list[str]:
    """Returns what is hardly so where the file holds what it should."""
    zeros, values = np.sum(examples.labels == 0), examples.predictions
    are_logits = examples.name == "logits"
    shape = predictions.values.shape
    alone = shape == predictions.labels.shape or shape[-1] == 1
    if not alone and not zeros and not predictions.classes:
        expected = float(examples.probabilities[:, 0].sum(dtype=np.float64))
        if expected >= _MANY:
            return [
                "No label is 0, though the probabilities of class 0 sum to "
                f"{expected:.4g}: do the labels count from 1?"
            ]
    if alone and not are_logits and zeros >= _MANY and np.all(values[:, -1] >= 0.5):
        return [
            "Every probability is at least 0.5: they must be those of class 1, not the "
            "confidences of decisions for either class."
        ]
    return []


def _calibration(examples: _inputs.Examples, num_bins: int) -> dict[str, Any]:
    """Returns the section of the calibration family."""
    one = CalibrationSpec("even", True, False, "l1", num_bins=1)
    whole = _binning.bin_statistics(examples, one)
    accuracy = float(whole.accuracies[0, 0])
    confidence = float(whole.confidences[0, 0])
    direction, verdict = _verdict(accuracy, confidence, _sample_size(examples))
    *presets, tace = PRESETS.values()
    keys = _calibration_spec.grid()
    # The bins do not depend on the norm.
    specs = [
        CalibrationSpec(*key, num_bins=num_bins)
        for key in keys[:: len(_calibration_spec.NORMS)]
    ]
    above = dataclasses.replace(tace, num_bins=num_bins)
    *bins, of_tace = _bins_of_all_errors.each_statistics(examples, [*specs, above])
    statistics = {
        key[:3]: bins[i] for i, key in enumerate(keys[:: len(_calibration_spec.NORMS)])
    }
    grid = {
        key: _binning.calibration_error(statistics[key[:3]], key.norm) for key in keys
    }
    names = ("ece", "mce", "rmsce", "sce", "ace")
    values = {name: grid[_key(spec)] for name, spec in zip(names, presets, strict=True)}
    values["tace"] = _binning.calibration_error(of_tace, tace.norm)
    meanings = {
        "ece": "On average, confidence and accuracy differ by "
        f"{100 * values['ece']:.1f} percentage points.",
        "mce": f"In the worst bin they differ by {100 * values['mce']:.1f} points; "
        "it may hold few examples.",
        "rmsce": "As ece, in bins of equal mass; the root mean square, not the mean.",
        "sce": "As ece, for the probability of each class; the mean over classes.",
        "ace": "As sce, in bins of equal mass.",
        "tace": f"As ace, leaving out probabilities up to {tace.threshold:g}.",
    }
    curve = statistics["even", True, False]
    some = curve.counts[0] > 0
    by_class = [statistics[scheme, False, True] for scheme in ("even", "adaptive")]
    return {
        "accuracy": accuracy,
        "mean_confidence": confidence,
        "direction": direction,
        "verdict": verdict,
        "metrics": rows({name: (values[name], meanings[name]) for name in values}),
        "classes": _classes(*by_class),
        "all_metrics": {_readable(key): float(value) for key, value in grid.items()},
        "diagram": {
            "edges": curve.edges[0].tolist(),
            "counts": curve.counts[0].tolist(),
            "confidences": _where(some, curve.confidences[0]),
            "accuracies": _where(some, curve.accuracies[0]),
        },
    }


def _key(spec: CalibrationSpec) -> CalibrationKey:
    return CalibrationKey(
        spec.binning_scheme, spec.max_prob, spec.class_conditional, spec.norm
    )


def _classes(even: BinStatistics, adaptive: BinStatistics) -> list[dict[str, float]]:
    """Returns the errors of single classes in their order, where there are few."""
    if len(even.counts) > _MAX_CLASSES:
        return []
    columns = {
        "share": even.outcome_sums.sum(axis=1) / even.counts.sum(axis=1),
        "sce": even.errors("l1"),
        "ace": adaptive.errors("l1"),
    }
    return [
        {name: float(column[k]) for name, column in columns.items()}
        for k in range(len(even.counts))
    ]


def _sample_size(examples: _inputs.Examples) -> float:
    """Returns the number of examples, or Kish's effective number of weighted ones."""
    weights = examples.weights
    if weights is None:
        return float(len(examples.labels))
    weights = weights / weights.max()
    return float(weights.sum() ** 2 / (weights @ weights))


def _verdict(accuracy: float, confidence: float, sample_size: float) -> tuple[str, str]:
    """Says in a word, "over", "under" or none, and in a sentence which way the
    confidence is off, if the data show it.
    """
    gap = confidence - accuracy
    # Two more hits and misses (Agresti and Coull), or 3 of 3 would have no error.
    size = sample_size + 4
    rate = (accuracy * sample_size + 2) / size
    error = (rate * (1 - rate) / size) ** 0.5
    numbers = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
    if round(abs(gap), 3) <= round(2 * error, 3):  # As they are shown.
        return "", (
            f"Neither clearly overconfident nor underconfident on average: {numbers}, "
            f"a difference of {abs(gap):.3f} where chance alone gives up to about "
            f"{2 * error:.3f}."
        )
    direction = "over" if gap > 0 else "under"
    return direction, (
        f"{direction.capitalize()}confident on average, by {100 * abs(gap):.1f} "
        f"percentage points: {numbers} (standard error {error:.3f})."
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
    return um.bayesian_expected_calibration_error(
        num_bins,
        labels_true=examples_of(predictions),
        num_ece_samples=_num_draws(num_bins),
        seed=SEED,
    )


def _bayesian_ece(
    predictions: Predictions, ece: float, num_bins: int
) -> dict[str, Any]:
    """Returns the section of the posterior of the ECE."""
    draws = ece_draws(predictions, num_bins)
    tail = (1 - INTERVAL_LEVEL) / 2
    low, median, high = map(float, np.quantile(draws, [tail, 0.5, 1 - tail]))
    mean = float(draws.mean())
    variances = _variances_by_chance(examples_of(predictions), num_bins)
    chance = _ece_by_chance(variances)
    p = _p_value(predictions, ece, variances, num_bins)
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


def _p_value(
    predictions: Predictions, ece: float, variances: np.ndarray, num_bins: int
) -> float:
    """Returns how likely a calibrated model shows as large an ECE on such data.

    It is exact but for more examples than take moments, and for weighted ones: there
    the sum of a bin is taken as Normal.
    """
    if predictions.sample_weight is None and predictions.labels.size <= _MAX_EXACT:
        examples = examples_of(predictions)
        return um.calibration_test(examples, **_AS_ECE, num_bins=num_bins).p_value
    return p_value(_draws_by_chance(variances), ece)


def _variances_by_chance(examples: Any, num_bins: int) -> np.ndarray:
    """Returns what chance leaves of the ECE of a calibrated model in each bin.

    The ECE is never below 0, so noise makes it, and its posterior, too large. If the
    scores s_i of bin b are the probabilities of being right, its share of the ECE is
    about |N(0, v_b)| with v_b = sum_i w_i^2 s_i (1 - s_i) / (sum w)^2.
    """
    squares = um.bin_statistics(examples, num_bins=num_bins)
    counts, weights = squares.counts, examples.weights
    if weights is not None:
        # The counts may be large; the ratio below is of any scale.
        scale = weights.max()
        counts, examples = counts / scale, examples.weighted((weights / scale) ** 2)
        squares = um.bin_statistics(examples, num_bins=num_bins)
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
    draws = np.random.default_rng(SEED).standard_normal((num_draws, len(variances)))
    return np.abs(draws) @ np.sqrt(variances)


def _scoring_rules(
    examples: _inputs.Examples, scores: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Returns the section of the scoring rules, of the scores of the examples."""
    scaled: Any = with_small_weights(examples)
    weights = scaled.weights
    parts = um.brier_decomposition_exact(scaled)._asdict()
    nlls, briers = scores["negative_log_likelihood"], scores["brier_score_zero_based"]
    impossible = int(np.isinf(nlls).sum())
    nll = np.average(nlls, weights=weights)
    score = np.average(briers, weights=weights)
    shares = np.bincount(examples.labels, weights, examples.num_classes)
    shares = shares / shares.sum()
    constant = (1 - 2 * shares + shares @ shares)[examples.labels]
    metrics = {
        "brier_score": (score - 1, "In [-1, 1], -1 is best."),
        "brier_score_zero_based": (score, "The same plus 1: in [0, 2], 0 is best."),
        "negative_log_likelihood": (
            nll,
            f"{impossible} of {examples.counted.size} labels had probability 0."
            if impossible
            else f"In nats; the same as p = {np.exp(-nll):.3f} at every label.",
        ),
    }
    return {
        "metrics": rows(metrics),
        "constant": {
            "largest_share": float(shares.max()),
            **against_constant(briers, constant, weights),
        },
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


def _where(some: np.ndarray, values: np.ndarray) -> list[float | None]:
    """Returns numbers, None for those that are not defined."""
    return [
        float(value) if defined else None
        for value, defined in zip(values, some, strict=True)
    ]
