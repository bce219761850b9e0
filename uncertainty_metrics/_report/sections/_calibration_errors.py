"""Calibration sections that reports on classifiers and on answers share."""

from __future__ import annotations

from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import (
    Decisions,
    decisions_of,
    judged_of,
    name_of_event,
)
from uncertainty_metrics._report.data._predictions import Decided
from uncertainty_metrics._report.sections._calibration_words import (
    Terms,
    capitalized,
    terms_of,
)
from uncertainty_metrics._report.sections._p_values import decimals, rows
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics

# The meaning of each calibration error, with a place for its value in percent.
_MEANINGS = {
    "ece": "On average, confidence and accuracy differ by {:.1f} percentage points.",
    "mce": "In the worst bin they differ by {:.1f} points; this bin may be small.",
    "rmsce": "Like ece, in bins of equal mass; the root mean square, not the mean.",
    "sce": "Like ece, for the probability of each class; the mean over classes.",
    "ace": "Like sce, in bins of equal mass.",
    "tace": "Like ace, without probabilities up to 0.01.",
}
_MEANINGS_OF_EVENT = {
    **_MEANINGS,
    "ece": "On average, probability and frequency differ by {:.1f} points.",
}


def means_of(model: Decided) -> dict[str, Any]:
    """Returns means of the scores and outcomes of a model, and the verdict on their
    gap: on the level of the probabilities of an event, or else on their spread.
    """
    event = name_of_event(model)
    accuracy, confidence = _means(decisions_of(model))
    of_decisions = {"accuracy": accuracy, "mean_confidence": confidence}
    size = decisions_of(model).sample_size
    terms = terms_of(event)
    if event is None:
        direction, verdict = verdict_on_gap(accuracy, confidence, size)
        of_judged = of_decisions
    else:
        judged = judged_of(model)
        share, probability = _means(judged)
        direction, verdict = verdict_on_gap(
            share, probability, judged.sample_size, terms
        )
        of_judged = {"share": share, "mean_probability": probability, **of_decisions}
        if not direction:
            direction, sentence = _spread(accuracy, confidence, size)
            verdict = " ".join(filter(None, (verdict, sentence)))
    return {"event": event, "direction": direction, "verdict": verdict, **of_judged}


def means_in_words(section: dict[str, Any]) -> str:
    """Returns a sentence with the means of an event, without a finding."""
    terms = terms_of(section["event"])
    return (
        f"Mean {terms.score} {section['mean_probability']:.3f}, {terms.outcome} "
        f"{section['share']:.3f}."
    )


def _means(decisions: Decisions) -> tuple[float, float]:
    """Returns the mean outcome and the mean score."""
    whole = um.bin_statistics(**decisions.arguments, num_bins=1)
    return float(whole.accuracies[0, 0]), float(whole.confidences[0, 0])


def _spread(accuracy: float, confidence: float, size: float) -> tuple[str, str]:
    """Returns in which direction the spread of the probabilities of two classes is
    clearly wrong, and a sentence; empty texts if the data do not show it.
    """
    direction, _ = verdict_on_gap(accuracy, confidence, size)
    if not direction:
        return "", ""
    direction = "too extreme" if direction == "overconfident" else "too close to 1/2"
    return direction, (
        f"{capitalized(direction)}: the more probable class has a mean probability of "
        f"{confidence:.3f}, and is right in {accuracy:.3f} of the examples."
    )


def errors_of(
    values: dict[str, float], event: str | None = None
) -> dict[str, dict[str, Any]]:
    """Returns calibration errors with their meanings."""
    meanings = _MEANINGS if event is None else _MEANINGS_OF_EVENT
    return rows(
        {
            name: (value, meanings[name].format(100 * value))
            for name, value in values.items()
        }
    )


def diagram_of(curve: BinStatistics) -> dict[str, Any]:
    """Returns the numbers of a reliability diagram."""
    some = curve.counts[0] > 0
    return {
        "edges": curve.edges[0].tolist(),
        "counts": curve.counts[0].tolist(),
        "confidences": _where(some, curve.confidences[0]),
        "accuracies": _where(some, curve.accuracies[0]),
    }


def _where(some: np.ndarray, values: np.ndarray) -> list[float | None]:
    """Returns values as floats, with None where `some` is false: not defined there."""
    return [
        float(value) if defined else None
        for value, defined in zip(values, some, strict=True)
    ]


def verdict_on_gap(
    outcome: float, score: float, sample_size: float, terms: Terms | None = None
) -> tuple[str, str]:
    """Returns in which direction the mean score is clearly wrong, and a sentence.

    The direction is a word of the terms, such as "overconfident"; "" if the data show
    none.
    """
    terms = terms or terms_of(None)
    gap = score - outcome
    # Agresti and Coull add two hits and two misses. Without them, 3 hits of 3 would
    # have a standard error of 0.
    size = sample_size + 4
    rate = (outcome * sample_size + 2) / size
    error = (rate * (1 - rate) / size) ** 0.5
    shown = decimals(error)
    numbers = (
        f"mean {terms.score} {score:.{shown}f}, {terms.outcome} {outcome:.{shown}f}"
    )
    # Rounded as in the report.
    if round(abs(gap), shown) <= round(2 * error, shown):
        return "", (
            f"Neither clearly {terms.over} nor {terms.under} on average: {numbers}, "
            f"a difference of {abs(gap):.{shown}f}; chance alone gives up to about "
            f"{2 * error:.{shown}f}."
        )
    direction = terms.over if gap > 0 else terms.under
    return direction, (
        f"{capitalized(direction)} on average, by "
        f"{100 * abs(gap):.{shown - 2}f} percentage points: {numbers} (standard error "
        f"{error:.{shown}f})."
    )
