"""Calibration sections that reports on classifiers and on answers share."""

from __future__ import annotations

from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report._decisions import Decisions
from uncertainty_metrics._report._sections_rows import decimals, rows
from uncertainty_metrics.numpy.calibration._binning import BinStatistics

# The meaning of each calibration error, with a place for its value in percent.
_MEANINGS = {
    "ece": "On average, confidence and accuracy differ by {:.1f} percentage points.",
    "mce": "In the worst bin they differ by {:.1f} points; this bin may be small.",
    "rmsce": "Like ece, in bins of equal mass; the root mean square, not the mean.",
    "sce": "Like ece, for the probability of each class; the mean over classes.",
    "ace": "Like sce, in bins of equal mass.",
    "tace": "Like ace, without probabilities up to 0.01.",
}


def means_of(decisions: Decisions) -> dict[str, Any]:
    """Returns accuracy and mean confidence of a model, and the verdict on their gap."""
    whole = um.bin_statistics(**decisions.arguments, num_bins=1)
    accuracy = float(whole.accuracies[0, 0])
    confidence = float(whole.confidences[0, 0])
    direction, verdict = verdict_on_gap(accuracy, confidence, decisions.sample_size)
    return {
        "accuracy": accuracy,
        "mean_confidence": confidence,
        "direction": direction,
        "verdict": verdict,
    }


def errors_of(values: dict[str, float]) -> dict[str, dict[str, Any]]:
    """Returns calibration errors with their meanings."""
    return rows(
        {
            name: (value, _MEANINGS[name].format(100 * value))
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
    accuracy: float, confidence: float, sample_size: float
) -> tuple[str, str]:
    """Returns in which direction the confidence is clearly wrong, and a sentence.

    The direction is "over" for overconfident, "under" for underconfident, and "" if the
    data do not show either.
    """
    gap = confidence - accuracy
    # Agresti and Coull add two hits and two misses. Without them, 3 hits of 3 would
    # have a standard error of 0.
    size = sample_size + 4
    rate = (accuracy * sample_size + 2) / size
    error = (rate * (1 - rate) / size) ** 0.5
    shown = decimals(error)
    numbers = f"mean confidence {confidence:.{shown}f}, accuracy {accuracy:.{shown}f}"
    # Rounded as in the report.
    if round(abs(gap), shown) <= round(2 * error, shown):
        return "", (
            f"Neither clearly overconfident nor underconfident on average: {numbers}, "
            f"a difference of {abs(gap):.{shown}f}; chance alone gives up to about "
            f"{2 * error:.{shown}f}."
        )
    direction = "over" if gap > 0 else "under"
    return direction, (
        f"{direction.capitalize()}confident on average, by "
        f"{100 * abs(gap):.{shown - 2}f} percentage points: {numbers} (standard error "
        f"{error:.{shown}f})."
    )
