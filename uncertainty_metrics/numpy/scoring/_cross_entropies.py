"""Negative log-likelihood of examples whose labels are shares of votes."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy import _examples, _row_math, _threads


def cross_entropies(examples: _examples.Examples, shares: np.ndarray) -> np.ndarray:
    """Returns -sum_k s_k log p_k of each example, [N]; a class without a share counts
    0, whatever its probability.
    """
    out = np.empty(len(shares))

    def score(rows: slice) -> np.ndarray:
        if examples.name == "logits":
            z = _row_math.below_maximum(examples.predictions[rows])
            surprises = np.log(np.exp(z).sum(axis=1))[:, None] - z
        else:
            with np.errstate(divide="ignore"):
                surprises = -np.log(examples.predictions[rows].astype(np.float64))
        of_rows = shares[rows]
        # A product of 0 and infinity would be NaN.
        surprises = np.where(of_rows > 0, surprises, 0.0)
        return 0.0 + _row_math.dot(of_rows, surprises)  # No -0.0.

    return _threads.fill_rows(out, score, examples.num_classes)
