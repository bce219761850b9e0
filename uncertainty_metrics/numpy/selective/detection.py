"""Detection: how well a score separates positive examples from negative ones.

All metrics are exact, by sorting, without a choice of thresholds. Any real scores will
do, for example the uncertainty of a classifier, with label 0 for examples in
distribution and label 1, the positive class, for examples out of distribution.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.selective import _sorted_outcomes

__all__ = ["aupr", "auroc", "fpr_at_tpr"]

Positive = Literal["out", "in"]


def is_turned(positive: str) -> bool:
    """Says if label 0 is positive; raises ValueError for an unknown option."""
    _checks.one_of("positive", positive, get_args(Positive))
    return positive == "in"


def _groups(
    labels: ArrayLike,
    scores: ArrayLike,
    positive: Positive,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
    negatives: bool = True,
) -> _sorted_outcomes.Groups:
    """Returns groups of equal scores; raises ValueError if a needed class is absent."""
    turned = is_turned(positive)
    x, hits, weights = _sorted_outcomes.examples(
        "labels", labels, "scores", scores, sample_weight, ignore_index
    )
    groups = _sorted_outcomes.groups(*((-x, ~hits) if turned else (x, hits)), weights)
    needed = (int(not turned), groups.hits), (int(turned), groups.misses)
    for label, masses in needed if negatives else needed[:1]:
        if masses[-1] == 0:
            raise _checks.error("labels", f"{label} for at least one example", "none")
    return groups


def auroc(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Area under the receiver operating characteristic curve.

    The probability that a positive example has a larger score than a negative one:

      AUROC = P(score of a positive > score of a negative)
              + 1/2 P(score of a positive = score of a negative)

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1.
      positive: the positive class: "out" of distribution (label 1, larger scores), or
        "in" distribution (label 0, smaller scores), the same as `1 - labels` and
        `-scores`. The AUROC is equal for both.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A number in [0, 1]; 1/2 for uninformative scores. Larger is better.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]))
      0.875

    References:
      Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
      Operating Characteristic (ROC) Curve.
    """
    groups = _groups(labels, scores, positive, sample_weight, ignore_index)
    hits, misses = groups.hits, groups.misses
    return _sorted_outcomes.trapezoids(misses, hits) / float(hits[-1] * misses[-1])


def aupr(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Area under the precision-recall curve, as the average precision.

    Over the distinct scores t_1 > t_2 > ..., with recall R_i and precision P_i of the
    examples of score >= t_i:

      AUPR = sum_i (R_i - R_{i-1}) P_i

    The value depends on which class is positive: OpenOOD and many papers report both,
    as AUPR-Out and AUPR-In.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1.
      positive: the positive class: "out" of distribution (label 1, larger scores), or
        "in" distribution (label 0, smaller scores), the same as `1 - labels` and
        `-scores`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A number in (0, 1]; the share of positive examples for uninformative scores.
      Larger is better.

    Raises:
      ValueError: an argument is not as described, or no example is positive.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
      >>> round(float(um.aupr(labels, scores)), 6)
      0.833333
      >>> round(float(um.aupr(labels, scores, positive="in")), 6)
      0.833333

    References:
      Davis and Goadrich (2006), The Relationship between Precision-Recall and ROC
      Curves.
    """
    weighting = sample_weight, ignore_index
    groups = _groups(labels, scores, positive, *weighting, negatives=False)
    precisions = groups.hits[1:] / groups.masses[1:]
    return float(np.sum(np.diff(groups.hits) * precisions) / groups.hits[-1])


def fpr_at_tpr(
    labels: ArrayLike,
    scores: ArrayLike,
    tpr: float = 0.95,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """False positive rate at a true positive rate.

    The smallest share of the negative examples with score >= t, over the thresholds t
    that a share of at least `tpr` of the positive examples reaches.

    The value depends on which class is positive. By default, as in torch-uncertainty
    and OpenOOD 1.5, it is the class out of distribution: FPR95 is then the share of
    examples in distribution that are taken for examples out of it. In Liang et al.
    (2018) and OpenOOD 1.0 it is the class in distribution: `positive="in"`.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1.
      tpr: true positive rate, in (0, 1].
      positive: the positive class: "out" of distribution (label 1, larger scores), or
        "in" distribution (label 0, smaller scores), the same as `1 - labels` and
        `-scores`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A share in [0, 1]. Smaller is better.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.fpr_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], tpr=0.95))
      0.5

    References:
      Liang, Li and Srikant (2018), Enhancing the Reliability of Out-of-Distribution
      Image Detection in Neural Networks.
    """
    tpr = _checks.share("tpr", tpr, zero=False)
    groups = _groups(labels, scores, positive, sample_weight, ignore_index)
    enough = groups.hits / groups.hits[-1] * _sorted_outcomes.ROUND_UP >= tpr
    return float(groups.misses[np.argmax(enough)] / groups.misses[-1])
