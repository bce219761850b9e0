# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def smooth_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    bandwidth: float | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    multilabel: bool = False,
) -> Tensor:
    """Smooth calibration error (smECE). Alias `smece`.

    For n scores p_i in [0, 1] with outcomes y_i in {0, 1}, and the Gaussian kernel K_s
    of standard deviation s that is reflected at 0 and 1,

      smECE_s = integral over t in [0, 1] of abs(sum_i (y_i - p_i) K_s(t, p_i)) / n

    falls as s grows. The error is the s with smECE_s = s. It needs no bins, and a small
    change of the forecasts changes it little. It goes to 0 with the distance d of the
    forecasts p from the nearest calibrated forecasts q, mean abs(p - q), while the ECE
    in bins need not. The theorems of the papers below are

      D / 2 <= smECE <= 2 sqrt(D),  d^2 / 16 <= D <= d

    where D is the lower distance to calibration. The root is needed: if half of the
    forecasts are .5 - e with y = 1 and half are .5 + e with y = 0, the distance from
    the calibrated forecast .5 is e, and smECE is about .63 sqrt(e) (second example).
    The noise of the labels gives a calibrated model an error of the order of n^(-1/3);
    `calibration_test(statistic="smece")` tells whether the error is larger than that.

    The value is exact to 1e-6: residuals are smoothed on a mesh that is as fine as the
    bandwidth needs, in O(n) time and a few cosine transforms.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      bandwidth: a fixed s, at least 1e-5, to get smECE_s. None solves smECE_s = s.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, probabilities = [1] * 7 + [0] * 3, [0.9] * 10
      >>> round(float(um.smooth_calibration_error(labels, probabilities)), 6)
      0.2
      >>> error = um.smece([1, 0], [0.4999, 0.5001], positive_class=True)  # e = 0.0001
      >>> round(float(error), 6)
      0.006317

    References:
      Blasiok and Nakkiran (2024), Smooth ECE: Principled Reliability Diagrams via
      Kernel Smoothing. Blasiok, Gopalan, Hu and Nakkiran (2023), A Unifying Theory of
      Distance from Calibration.
    """

smece = smooth_calibration_error
