"""The values of scoring rules with their meanings."""

from __future__ import annotations

import numpy as np


def classifier_scores(
    brier: float, nll: float, impossible: int, size: int
) -> dict[str, tuple[float, str]]:
    """Returns the scores of a classifier with their meanings.

    Args:
      brier: Brier score in [0, 2].
      nll: negative log-likelihood.
      impossible: number of labels of probability 0.
      size: number of labels.
    """
    return {
        "brier_score": (brier - 1, "Mean of sum_k p_k^2 - 2 p_label: -1 (best) to 1."),
        "brier_score_zero_based": (
            brier,
            "Plus 1: mean of sum_k (p_k - y_k)^2, 0 (best) to 2.",
        ),
        "negative_log_likelihood": (nll, _likelihood(nll, impossible, size, "label")),
    }


def answer_scores(
    brier: float, nll: float, impossible: int, size: int
) -> dict[str, tuple[float, str]]:
    """Returns the scores of confidences with their meanings; Brier score in [0, 1]."""
    return {
        "brier_score": (
            brier,
            "In [0, 1], 0 is best: mean of (confidence - right)^2.",
        ),
        "negative_log_likelihood": (
            nll,
            _likelihood(nll, impossible, size, "outcome"),
        ),
    }


def _likelihood(nll: float, impossible: int, size: int, outcome: str) -> str:
    if impossible:
        return f"{impossible} of {size} {outcome}s had probability 0."
    return f"In nats; the same as p = {np.exp(-nll):.3f} for every {outcome}."
