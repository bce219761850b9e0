"""The Brier score of a report: of two classes, of answers, or of more classes.

Where one probability says all, it is the mean of (y - p)^2; for more classes it is the
mean of the sum of these squares over the classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import event_of
from uncertainty_metrics._report.data._predictions import is_of_answers
from uncertainty_metrics._report.data._risks import has_risks


def is_of_one_outcome(model: Any) -> bool:
    """Says if one probability is all that a model says of an example: that of a class
    of two, or that the answer is right.
    """
    return has_risks(model) or is_of_answers(model) or event_of(model) is not None


def brier_title(model: Any) -> str:
    """Returns the name of the Brier score of a model."""
    return "Brier score" if is_of_one_outcome(model) else "Brier score (0 to 2)"


def brier_scores(
    labels: np.ndarray, kind: str, forecasts: np.ndarray, one_outcome: bool
) -> np.ndarray:
    """Returns the Brier score of each example, [n].

    Args:
      labels: [n].
      kind: "probabilities" or "logits".
      forecasts: [n, K], or one column of two classes.
      one_outcome: whether one of two classes is the outcome that is forecast.
    """
    given: dict[str, Any] = {kind: forecasts}
    found = um.brier_score(labels, **given, zero_based=True, aggregate=False)
    scores = np.asarray(found)
    return scores / 2 if one_outcome else scores
