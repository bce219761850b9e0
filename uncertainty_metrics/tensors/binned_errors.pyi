# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._calibration_spec import CalibrationKey
from uncertainty_metrics.ops._binning import BinStatistics
from uncertainty_metrics._results import GroupValues, ImageMean

def bin_statistics(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    binning_scheme: Literal["even", "adaptive"] = 'even',
    max_prob: bool = True,
    class_conditional: bool = False,
    num_bins: int = 15,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
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
) -> BinStatistics:
    """Counts, mean scores and mean outcomes in each bin of each group.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
      max_prob: True to score the probability of the decided class, False to score the
        probability of every class.
      class_conditional: whether every class is a group with bins of its own.
      num_bins: number of bins.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead of
        `num_bins`.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means False, with a warning for one column
        (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      `BinStatistics` with `edges` [groups, bins + 1] and `counts`, `confidences` and
      `accuracies` [groups, bins], 0 in empty bins. Statistics of even bins add up.
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> options = {"num_bins": 2, "positive_class": True}
      >>> stats = um.bin_statistics([1, 0, 1, 0], [0.9, 0.6, 0.3, 0.1], **options)
      >>> [float(n) for n in stats.counts[0]], float(stats.accuracies[0, 1])
      ([2.0, 2.0], 0.5)
    """

def compute_all_metrics(
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
    label_distributions: TensorLike | None = None,
    multilabel: bool = False,
) -> dict[CalibrationKey, Tensor]:
    """The general calibration error for every combination of its four choices.

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
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means False, with a warning for one column
        (conventions.md#two-classes).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      A dict from `(binning_scheme, max_prob, class_conditional, norm)`, a named tuple,
      to the error in [0, 1]. With `positive_class=True` it does not depend on
      `max_prob` and `class_conditional`, and with `multilabel` not on `max_prob`.
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> errors = um.compute_all_metrics([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> len(errors), round(float(errors["even", True, False, "l1"]), 6)
      (24, 0.15)
      >>> tags, p = [[1, 0], [0, 1]], [[0.7, 0.1], [0.3, 0.6]]
      >>> errors = um.compute_all_metrics(tags, p, multilabel=True)
      >>> len(errors), round(float(errors["even", False, True, "l1"]), 6)
      (24, 0.275)
    """

@overload
def general_calibration_error(
    labels: TensorLike | None,
    probabilities: TensorLike | None,
    binning_scheme: Literal["even", "adaptive"],
    max_prob: bool,
    class_conditional: bool,
    norm: Literal["l1", "l2", "max"],
    num_bins: int = 15,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """General calibration error: every choice is an argument. Alias `gce`.

    With `max_prob` the score of an example is the probability of its decided class, and
    the outcome is whether the decision is right. Without it an example has the score
    p_k and the outcome `label == k` for every class k. A group has all scores, or with
    `class_conditional` the scores of one (decided) class.

    Over the non-empty bins b of a group, with weight n_b, mean score conf_b and mean
    outcome acc_b, and w_b = n_b / sum(n):

      l1 = sum_b w_b |acc_b - conf_b|
      l2 = sqrt(sum_b w_b (acc_b - conf_b)^2)
      max = max_b |acc_b - conf_b|

    Over the groups, l1 is the mean, l2 the root of the mean square and max the maximum;
    a class without scores counts 0.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
        Required.
      max_prob: True to score the probability of the decided class, False to score the
        probability of every class. Required.
      class_conditional: whether every class is a group with bins of its own. Required.
      norm: "l1", "l2" or "max". Required.
      num_bins: number of bins.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead of
        `num_bins`.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means False, with a warning for one column
        (conventions.md#two-classes).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. The noise of the labels
      makes it larger, the more so with more bins; gaps of opposite sign in one bin
      cancel, and make it smaller. float32, or float64 for float64 predictions. Compiled
      code returns NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
      >>> error = um.gce([0, 1, 1], probabilities, "even", True, False, "max", 5)
      >>> round(float(error), 6)
      0.25

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

@overload
def general_calibration_error(
    labels: TensorLike | None,
    probabilities: TensorLike | None,
    binning_scheme: Literal["even", "adaptive"],
    max_prob: bool,
    class_conditional: bool,
    norm: Literal["l1", "l2", "max"],
    num_bins: int = 15,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def general_calibration_error(
    labels: TensorLike | None,
    probabilities: TensorLike | None,
    binning_scheme: Literal["even", "adaptive"],
    max_prob: bool,
    class_conditional: bool,
    norm: Literal["l1", "l2", "max"],
    num_bins: int = 15,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

@overload
def general_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    binning_scheme: Literal["even", "adaptive"],
    max_prob: bool,
    class_conditional: bool,
    norm: Literal["l1", "l2", "max"],
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
) -> Tensor: ...

@overload
def general_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    binning_scheme: Literal["even", "adaptive"],
    max_prob: bool,
    class_conditional: bool,
    norm: Literal["l1", "l2", "max"],
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def general_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    binning_scheme: Literal["even", "adaptive"],
    max_prob: bool,
    class_conditional: bool,
    norm: Literal["l1", "l2", "max"],
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

gce = general_calibration_error
