# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import GroupValues, ImageMean

@overload
def adaptive_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Adaptive calibration error (ACE). Alias `ace`.

    Adaptive bins of the probability of every class, l1 norm, mean over the K classes,
    in the symbols of `static_calibration_error`:

      ACE = 1/K sum_k sum_b (n_kb / n) |acc_kb - conf_kb|

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      num_bins: number of bins.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead of
        `num_bins`.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) alone; None means
        False.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.ace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

@overload
def adaptive_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def adaptive_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

@overload
def static_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.0,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Static calibration error (SCE). Alias `sce`.

    Even bins of the probability of every class, l1 norm, mean over the K classes:

      SCE = 1/K sum_k sum_b (n_kb / n) |acc_kb - conf_kb|

    where n_kb of the n probabilities of class k are in bin b, with the mean conf_kb and
    the share acc_kb of labels k.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      num_bins: number of bins.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) alone; None means
        False.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.sce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

@overload
def static_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.0,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def static_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.0,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

@overload
def thresholded_adaptive_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.01,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Thresholded adaptive calibration error (TACE). Alias `tace`.

    ACE of the scores above `threshold`; n is the weight of these scores. Without the
    threshold the many tiny probabilities of many classes would fill most bins.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      num_bins: number of bins.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead of
        `num_bins`.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) alone; None means
        False.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.tace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

@overload
def thresholded_adaptive_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.01,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def thresholded_adaptive_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = 15,
    threshold: float = 0.01,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

ace = adaptive_calibration_error

sce = static_calibration_error

tace = thresholded_adaptive_calibration_error
