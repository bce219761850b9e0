"""The sections of the report on a classifier."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _calibration_spec
from uncertainty_metrics._calibration_spec import (
    PRESETS,
    CalibrationKey,
    CalibrationSpec,
)
from uncertainty_metrics._report.data._decided import (
    decisions_of,
    event_of,
    examples_of,
    name_of_event,
)
from uncertainty_metrics._report.data._predictions import Predictions
from uncertainty_metrics._report.sections._bootstrap_intervals import scores_of
from uncertainty_metrics._report.sections._calibration_errors import (
    diagram_of,
    errors_of,
    means_of,
)
from uncertainty_metrics._report.sections._p_values import against_constant, rows
from uncertainty_metrics._report.sections._score_meanings import classifier_scores
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy.calibration.bins import _binning, _bins_of_all_errors
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics

# With more classes, nobody would read the table of errors of single classes.
MAX_CLASSES = 20
# Least number of labels for a suspicion: with fewer, chance may be the reason.
_MANY = 10
_BRIER_PARTS = {
    "uncertainty": ("+", "Score of always forecasting the class frequencies."),
    "resolution": ("-", "How well decisions tell labels apart; high is good."),
    "reliability": ("+", "Miscalibration of each decision's mean forecast."),
    "within_bin_variance": ("+", "Spread of the forecasts of a decision."),
    "within_bin_covariance": ("-", "Spread that follows the labels; high is good."),
}


def own_sections(model: Predictions, num_bins: int) -> dict[str, Any]:
    """Returns the sections that only classifiers have."""
    examples = examples_of(model)
    return {
        "data": {
            "examples": int(np.size(model.labels)),
            "classes": examples.num_classes,
            "members": model.members,
            "predictions": model.kind,
        },
        "notes": [*_note_on_sums(model), *_suspicions(model, examples)],
        "calibration": _calibration(model, num_bins),
        "scoring_rules": _scoring_rules(model),
    }


def _note_on_sums(predictions: Predictions) -> list[str]:
    """Returns a note if the probabilities of an example do not sum to 1."""
    labels, values = predictions.labels, predictions.values
    # Otherwise the predictions are for class 1 alone.
    has_classes = values.shape != labels.shape and values.shape[-1] > 1
    if has_classes and predictions.kind == "probabilities":
        sums = values.sum(axis=-1, dtype=np.float64)
        if np.max(np.abs(sums - 1)) > _inputs.ROW_SUM_TOLERANCE:
            least, most = f"{sums.min():.4g}", f"{sums.max():.4g}"
            most = "" if least == most else f" to {most}"
            return [f"The probabilities of an example sum to {least}{most}, not to 1."]
    return []


def _suspicions(predictions: Predictions, examples: _examples.Examples) -> list[str]:
    """Returns a note if the labels or the probabilities look like something else."""
    zeros, values = np.sum(examples.labels == 0), examples.predictions
    are_logits = examples.name == "logits"
    shape = predictions.values.shape
    alone = shape == predictions.labels.shape or shape[-1] == 1
    if not alone and not zeros and not predictions.classes:
        expected = float(examples.probabilities[:, 0].sum(dtype=np.float64))
        if expected >= _MANY:
            return [
                "No label is 0, though the probabilities of class 0 sum to "
                f"{expected:.4g}: do the labels start at 1?"
            ]
    if alone and not are_logits and zeros >= _MANY and np.all(values[:, -1] >= 0.5):
        return [
            "Every probability is at least 0.5. Each must be the probability of class "
            "1, not the confidence of a decision for either class."
        ]
    return []


def _calibration(model: Predictions, num_bins: int) -> dict[str, Any]:
    """Returns the section on all calibration errors."""
    *presets, tace = PRESETS.values()
    keys = _calibration_spec.grid()
    # The bins do not depend on the norm.
    specs = [
        CalibrationSpec(*key, num_bins=num_bins)
        for key in keys[:: len(_calibration_spec.NORMS)]
    ]
    above = dataclasses.replace(tace, num_bins=num_bins)
    *bins, of_tace = _bins_of_all_errors.each_statistics(
        examples_of(model), [*specs, above]
    )
    statistics = {
        key[:3]: bins[i] for i, key in enumerate(keys[:: len(_calibration_spec.NORMS)])
    }
    grid = {
        key: _binning.calibration_error(statistics[key[:3]], key.norm) for key in keys
    }
    names = ("ece", "mce", "rmsce", "sce", "ace")
    values = {name: grid[_key(spec)] for name, spec in zip(names, presets, strict=True)}
    values["tace"] = _binning.calibration_error(of_tace, tace.norm)
    diagram = statistics["even", True, False]
    event = event_of(model)
    if event is not None:  # The probability of each class is in bins of its own.
        even, adaptive = (
            _of_class(statistics[scheme, False, True], event)
            for scheme in ("even", "adaptive")
        )
        values |= {
            "ece": float(even.errors("l1")[0]),
            "mce": float(even.errors("max")[0]),
            "rmsce": float(adaptive.errors("l2")[0]),
        }
        diagram = even
    by_class = [statistics[scheme, False, True] for scheme in ("even", "adaptive")]
    classes = model.classes or map(str, itertools.count())
    return {
        **means_of(model),
        "metrics": errors_of(values, name_of_event(model)),
        "classes": dict(zip(classes, class_errors(*by_class), strict=False)),
        "all_metrics": {_readable(key): float(value) for key, value in grid.items()},
        "diagram": diagram_of(diagram),
    }


def _of_class(statistics: BinStatistics, k: int) -> BinStatistics:
    """Returns the bins of one class."""
    sums = (statistics.counts, statistics.score_sums, statistics.outcome_sums)
    return BinStatistics(statistics.edges[[k]], *(each[[k]] for each in sums))


def _key(spec: CalibrationSpec) -> CalibrationKey:
    return CalibrationKey(
        spec.binning_scheme, spec.max_prob, spec.class_conditional, spec.norm
    )


def class_errors(
    even: BinStatistics, adaptive: BinStatistics
) -> list[dict[str, float]]:
    """Returns the errors of each class in order; an empty list for many classes."""
    if len(even.counts) > MAX_CLASSES:
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


def _readable(key: CalibrationKey) -> str:
    score = "top label" if key.max_prob else "all classes"
    groups = "by class" if key.class_conditional else "pooled"
    return f"{key.binning_scheme}, {score}, {groups}, {key.norm}"


def _scoring_rules(model: Predictions) -> dict[str, Any]:
    examples, scores = examples_of(model), scores_of(model)
    weights = decisions_of(model).with_small_weights().weights
    parts = um.brier_decomposition_exact(examples.weighted(weights))._asdict()
    nlls, briers = scores["negative_log_likelihood"], scores["brier_score_zero_based"]
    impossible = int(np.isinf(nlls).sum())
    nll = np.average(nlls, weights=weights)
    score = np.average(briers, weights=weights)
    shares = np.bincount(examples.labels, weights, examples.num_classes)
    shares = shares / shares.sum()
    constant = (1 - 2 * shares + shares @ shares)[examples.labels]
    size = examples.counted.size
    return {
        "metrics": rows(classifier_scores(score, nll, impossible, size)),
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
