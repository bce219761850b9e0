"""The Brier score of a report: of two classes, of answers, or of more classes.

Where one probability says all, it is the mean of (y - p)^2; for more classes it is the
mean of the sum of these squares over the classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import event_of
from uncertainty_metrics._report.data._predictions import Stream, is_of_answers
from uncertainty_metrics._report.data._risks import has_risks
from uncertainty_metrics.numpy.scoring import scoring_rules


def is_of_one_outcome(model: Any) -> bool:
    """Says if one probability is all that a model says of an example: that of a class
    of two, or that the answer is right.
    """
    return has_risks(model) or is_of_answers(model) or event_of(model) is not None


def brier_title(model: Any) -> str:
    """Returns the name of the Brier score of a model."""
    return "Brier score" if is_of_one_outcome(model) else "Brier score (0 to 2)"


def share_of_summary(model: Stream) -> float:
    """Returns which share of the Brier score of a summary the report shows: the summary
    of a classifier has the sum over all classes.
    """
    of_sums = is_of_one_outcome(model) and not model.summary.of_answers
    return scoring_rules.of_one_outcome(1.0, of_sums)


def brier_scores(
    labels: np.ndarray, kind: str, forecasts: np.ndarray, one_outcome: bool
) -> np.ndarray:
    """Returns the Brier score of each example, [n].

    Args:
      labels: integers [n]; or grades, float64 [n], whose score is the mean over votes,
        of which the grade is the share for right.
      kind: "probabilities" or "logits".
      forecasts: [n, K], or one column of two classes.
      one_outcome: whether one of two classes is the outcome that is forecast.
    """
    given = score_arguments(labels, kind, forecasts)
    found = um.brier_score(**given, zero_based=True, aggregate=False)
    return scoring_rules.of_one_outcome(np.asarray(found), one_outcome)


def score_arguments(
    labels: np.ndarray, kind: str, forecasts: np.ndarray
) -> dict[str, Any]:
    """Returns labels, or grades, and forecasts as arguments of a scoring rule."""
    if labels.dtype.kind != "f":
        return {"labels": labels, kind: forecasts}
    if forecasts.ndim == 1:
        forecasts = np.stack([1 - forecasts, forecasts], axis=1)
    shares = np.stack([1 - labels, labels], axis=1)
    return {"label_distributions": shares, kind: forecasts}
