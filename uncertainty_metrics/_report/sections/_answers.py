"""The sections of the report on answers with confidences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import (
    Decisions,
    decisions_of,
    examples_of,
)
from uncertainty_metrics._report.data._predictions import Confidences
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    row,
    scores_of,
)
from uncertainty_metrics._report.sections._calibration_errors import (
    diagram_of,
    errors_of,
    means_of,
)
from uncertainty_metrics._report.sections._p_values import against_constant, rows
from uncertainty_metrics._report.sections._score_meanings import answer_scores

_ERRORS: dict[str, Callable[..., Any]] = {
    "ece": um.ece,
    "mce": um.mce,
    "rmsce": um.rmsce,
}
_BRIER_PARTS = {
    "uncertainty": ("+", "Score of always saying the accuracy."),
    "discrimination": ("-", "How well confidence tells answers apart; high is good."),
    "miscalibration": ("+", "How much the best map of the confidences would gain."),
}


def own_sections(model: Confidences, num_bins: int) -> dict[str, Any]:
    """Returns the sections that only answers with confidences have."""
    confidences = decisions_of(model).confidences
    distinct = len(np.unique(confidences))
    notes = []
    if distinct == 1 < len(confidences):
        notes.append("All confidences are equal, so they cannot tell answers apart.")
    return {
        "data": {
            "examples": len(model.correct),
            "distinct_confidences": distinct,
            "questions": model.questions and model.questions.name,
        },
        "notes": notes,
        "calibration": _calibration(model, num_bins),
        "scoring_rules": _scoring_rules(model),
    }


def _calibration(model: Confidences, num_bins: int) -> dict[str, Any]:
    """Returns the section: how sure the model is, and how often it is right."""
    decisions = decisions_of(model)
    values = {
        name: metric(**decisions.arguments, num_bins=num_bins)
        for name, metric in _ERRORS.items()
    }
    curve = um.bin_statistics(**decisions.arguments, num_bins=num_bins)
    return {
        **means_of(model),
        "means": _means(decisions),
        "metrics": errors_of(values),
        "classes": {},
        "diagram": diagram_of(curve),
    }


def _means(decisions: Decisions) -> dict[str, dict[str, Any]]:
    """Returns accuracy, mean confidence and the gap between them, with intervals."""
    everything = np.zeros(len(decisions.correct), np.int64)
    (whole,) = um.calibration_by_group(
        **decisions.arguments, groups=everything, level=INTERVAL_LEVEL
    )
    score = whole.mean_score
    return {
        "accuracy": row(whole.lower + score, whole.mean_outcome, whole.upper + score),
        "mean confidence": row(np.nan, score, np.nan),
        "accuracy - confidence": row(whole.lower, whole.gap, whole.upper),
    }


def _scoring_rules(model: Confidences) -> dict[str, Any]:
    """Returns the section of scores of confidences as probabilities of being right."""
    decisions, scores = decisions_of(model).with_small_weights(), scores_of(model)
    weights, correct = decisions.weights, decisions.correct
    briers, nlls = scores["brier_score"], scores["negative_log_likelihood"]
    impossible = int(np.isinf(nlls).sum())
    nll = np.average(nlls, weights=weights)
    accuracy = np.average(correct, weights=weights)
    parts = um.corp_decomposition(**decisions.arguments)._asdict()
    brier = np.average(briers, weights=weights)
    return {
        "metrics": rows(answer_scores(brier, nll, impossible, len(correct))),
        "constant": against_constant(briers, (accuracy - correct) ** 2, weights),
        "impossible_labels": impossible,
        "brier_parts": parts_of_brier(parts),
        "sum_of_brier_parts": float(brier),
    }


def parts_of_brier(parts: dict[str, float]) -> dict[str, dict[str, Any]]:
    """Returns the parts of the Brier score by CORP, with signs and meanings."""
    return {
        name: {"sign": sign, "value": float(parts[name]), "meaning": meaning}
        for name, (sign, meaning) in _BRIER_PARTS.items()
    }


def sampled_answers(model: Confidences) -> dict[str, Any]:
    """Returns the section: does agreement of sampled answers tell right from wrong?"""
    samples, decisions = model.samples, decisions_of(model)
    assert samples is not None
    counted = examples_of(model).counted.reshape(-1)
    agreement, entropy = samples.agreement[counted], samples.entropy[counted]
    signals = {"agreement": agreement, "entropy": -entropy}
    if not np.array_equal(agreement, decisions.confidences):
        signals = {"confidence": decisions.confidences, **signals}
    mean = float(np.average(agreement, weights=decisions.weights))
    return {
        "verdict": f"On average {mean:.1%} of the answers to a question agree. This "
        "agreement is a confidence; the entropy of the answers is large where the "
        "model is less sure. For each of these signals, AUROC is the probability that "
        "the signal ranks a right answer above a wrong one.",
        "signals": {
            name: _signal(decisions._replace(confidences=signal), name != "entropy")
            for name, signal in signals.items()
        },
    }


def _signal(decisions: Decisions, is_probability: bool) -> dict[str, float | None]:
    """Returns how well a signal tells right answers from wrong ones."""
    correct, signal, weights, _ = decisions
    has_both = 0 < correct.sum() < len(correct)
    return {
        "auroc": um.auroc(correct, signal, sample_weight=weights) if has_both else None,
        "aurc": um.aurc(**decisions.arguments),
        "ece": um.ece(**decisions.arguments) if is_probability else None,
    }
