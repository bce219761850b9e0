# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import GroupValues, ImageMean

@overload
def expected_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Expected calibration error (ECE). Alias `ece`.

    Even bins of the probability of the decided class, l1 norm:

      ECE = sum_b (n_b / n) |acc_b - conf_b|

    where n_b of the n examples are in bin b, with the mean score conf_b and the share
    acc_b of right decisions.

    Rows need not sum to 1 and are never normalised: the score is the largest entry as
    it is. So K sigmoids have an ECE, and so have probabilities that somebody forgot to
    normalise. For two classes the score is the probability of the decided class, too;
    netcal takes P(class 1), even from rows [1 - p, p], which is `positive_class=True`.

    The noise of n examples alone makes an ECE of about 0.4 sqrt(num_bins / n). So the
    ECE of a calibrated model is not 0, and the intervals of `bootstrap` do not hold a
    true error that is small against this noise. `debiased_calibration_error` and
    `calibration_test` take the noise into account.

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
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.ece([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
    """

@overload
def expected_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def expected_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

@overload
def maximum_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Maximum calibration error (MCE). Alias `mce`.

    Even bins of the probability of the decided class, largest gap of a non-empty bin,
    in the symbols of `expected_calibration_error`:

      MCE = max_b |acc_b - conf_b|

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
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.mce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
      0.25

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
    """

@overload
def maximum_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def maximum_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

@overload
def root_mean_squared_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Root mean squared calibration error (RMSCE). Alias `rmsce`.

    Adaptive bins of the probability of the decided class, l2 norm, in the symbols of
    `expected_calibration_error`:

      RMSCE = sqrt(sum_b (n_b / n) (acc_b - conf_b)^2)

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
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.rmsce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=1)
      >>> round(float(error), 6)
      0.133333

    References:
      Hendrycks et al. (2019), Deep Anomaly Detection with Outlier Exposure.
    """

@overload
def root_mean_squared_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def root_mean_squared_calibration_error(
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
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

ece = expected_calibration_error

mce = maximum_calibration_error

rmsce = root_mean_squared_calibration_error
