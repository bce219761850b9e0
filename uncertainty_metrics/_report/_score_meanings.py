"""Values of scoring rules, and what each of them says."""

from __future__ import annotations

import numpy as np


def classifier_scores(
    brier: float, nll: float, impossible: int, size: int
) -> dict[str, tuple[float, str]]:
    """Returns the scores of a classifier, and what they say.

    Args:
      brier: Brier score in [0, 2].
      nll: negative log-likelihood.
      impossible: number of labels of probability 0.
      size: number of labels.
    """
    return {
        "brier_score": (brier - 1, "In [-1, 1], -1 is best."),
        "brier_score_zero_based": (brier, "The same plus 1: in [0, 2], 0 is best."),
        "negative_log_likelihood": (nll, _likelihood(nll, impossible, size, "label")),
    }


def answer_scores(
    brier: float, nll: float, impossible: int, size: int
) -> dict[str, tuple[float, str]]:
    """Returns the scores of confidences, and what they say; Brier score in [0, 1]."""
    return {
        "brier_score": (
            brier,
            "In [0, 1], 0 is best: the mean of (confidence - right)^2.",
        ),
        "negative_log_likelihood": (
            nll,
            _likelihood(nll, impossible, size, "outcome"),
        ),
    }


def _likelihood(nll: float, impossible: int, size: int, came: str) -> str:
    if impossible:
        return f"{impossible} of {size} {came}s had probability 0."
    return f"In nats; the same as p = {np.exp(-nll):.3f} at every {came}."
