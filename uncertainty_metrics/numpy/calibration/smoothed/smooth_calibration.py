"""Calibration error of smoothed residuals: no bins, and continuous in the forecasts."""

from __future__ import annotations

import dataclasses
import math

from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE, CalibrationSpec
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors

__all__ = ["smece", "smooth_calibration_error"]

# Some powers of two above the distance of float32 scores near 1.
_LEAST_BANDWIDTH = 1e-5


def checked_bandwidth(bandwidth: float | None) -> float | None:
    """Returns None, or a bandwidth as a float; raises ValueError for other values."""
    if bandwidth is None:
        return None
    width = _checks.number(bandwidth)
    if not _LEAST_BANDWIDTH <= width < math.inf:
        expected = f"None, or a finite number of at least {_LEAST_BANDWIDTH:g}"
        raise _checks.error("bandwidth", expected, repr(bandwidth))
    return width


@takes_frames
def smooth_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    bandwidth: float | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
) -> float:
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
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
    width = checked_bandwidth(bandwidth)
    spec = dataclasses.replace(OF_ONE_SCORE, positive_class=positive_class)
    examples, spec = _binning.read(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            correct=correct,
            confidences=confidences,
            label_distributions=label_distributions,
            multilabel=multilabel,
        ),
        spec,
    )
    return error_of(examples, spec, width)


def error_of(
    examples: _examples.Examples, spec: CalibrationSpec, bandwidth: float | None
) -> float:
    """Returns the smooth error of the one group of scores that there is."""
    # The scores are not pooled, since smoothing takes less time than sorting.
    ((scores, outcomes, weights),) = _scores.scores_of_groups(examples, spec)
    return _pooled_errors.smooth_error_of(scores, outcomes, weights, bandwidth)


smece = smooth_calibration_error
