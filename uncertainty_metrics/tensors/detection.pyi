# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def aupr(
    labels: TensorLike,
    scores: TensorLike,
    *,
    positive: Literal["out", "in"] = 'out',
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> Tensor:
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
      Larger is better. float32, or float64 for float64 predictions. Compiled code
      returns NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described, or no example is positive.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
      >>> round(float(um.aupr(labels, scores)), 6)
      0.833333
      >>> round(float(um.aupr(labels, scores, positive="in")), 6)
      0.833333

    References:
      Davis and Goadrich (2006), The Relationship between Precision-Recall and ROC
      Curves.
    """

def auroc(
    labels: TensorLike,
    scores: TensorLike,
    *,
    positive: Literal["out", "in"] = 'out',
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    average: Literal["macro"] | None = 'macro',
) -> Tensor:
    """Area under the receiver operating characteristic curve.

    The probability that a positive example has a larger score than a negative one:

      AUROC = P(score of a positive > score of a negative)
              + 1/2 P(score of a positive = score of a negative)

    K >= 3 classes have an AUROC each, one against the rest: the examples of the class
    are positive, and all others negative. With `multilabel` each of L labels has one.
    "macro" is their mean; every class must then occur.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...]. With scores of K
        classes integers in [0, K).
      scores: finite, shape of the labels; larger for label 1. Or of K >= 3 classes,
        shape [..., K].
      positive: the positive class: "out" of distribution (label 1, larger scores), or
        "in" distribution (label 0, smaller scores), the same as `1 - labels` and
        `-scores`. The AUROC is equal for both.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
        Without it, labels and scores of the same shape are pooled.
      average: Only for K classes or `multilabel`: "macro" for the mean of the AUROCs,
        None for all of them, shape [K] or [L].

    Returns:
      A number in [0, 1]; 1/2 for uninformative scores. Larger is better. An array with
      `average=None`. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent, or
        all examples are of one class.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]))
      0.875
      >>> scores = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.7, 0.2], [0.2, 0.7, 0.1]]
      >>> [round(float(x), 6) for x in um.auroc([0, 1, 2, 2], scores, average=None)]
      [1.0, 0.333333, 0.75]

    References:
      Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
      Operating Characteristic (ROC) Curve.
    """

def fpr_at_tpr(
    labels: TensorLike,
    scores: TensorLike,
    tpr: float = 0.95,
    *,
    positive: Literal["out", "in"] = 'out',
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> Tensor:
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
      A share in [0, 1]. Smaller is better. float32, or float64 for float64 predictions.
      Compiled code returns NaN for wrong values, for which eager code raises
      ValueError.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.fpr_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], tpr=0.95))
      0.5

    References:
      Liang, Li and Srikant (2018), Enhancing the Reliability of Out-of-Distribution
      Image Detection in Neural Networks.
    """
