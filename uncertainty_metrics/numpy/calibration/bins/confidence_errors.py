"""Calibration errors of confidences: of the probabilities of the decided classes.

ECE, MCE and RMSCE compare the confidence of a decision with whether it is right, over
all classes together. They are `general_calibration_error` with choices made by name.
"""

from __future__ import annotations

from typing import Literal, overload

from numpy.typing import ArrayLike

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS, preset
from uncertainty_metrics._results import GroupValues, ImageMean
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins.binned_errors import error_of

__all__ = [
    "ece",
    "expected_calibration_error",
    "maximum_calibration_error",
    "mce",
    "rmsce",
    "root_mean_squared_calibration_error",
]


@overload
def expected_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
) -> float: ...


@overload
def expected_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


@overload
def expected_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...


@takes_frames
def expected_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
    per_image: bool = False,
) -> float | GroupValues | ImageMean:
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
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.ece([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
    """
    return error_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            groups=groups,
            num_groups=num_groups,
            per_image=per_image,
            multilabel=multilabel,
            correct=correct,
            confidences=confidences,
            label_distributions=label_distributions,
        ),
        preset("expected_calibration_error", num_bins, threshold, positive_class),
    )


@overload
def maximum_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
) -> float: ...


@overload
def maximum_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


@overload
def maximum_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...


@takes_frames
def maximum_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
    per_image: bool = False,
) -> float | GroupValues | ImageMean:
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
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.mce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
      0.25

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
    """
    return error_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            groups=groups,
            num_groups=num_groups,
            per_image=per_image,
            multilabel=multilabel,
            correct=correct,
            confidences=confidences,
            label_distributions=label_distributions,
        ),
        preset("maximum_calibration_error", num_bins, threshold, positive_class),
    )


@overload
def root_mean_squared_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
) -> float: ...


@overload
def root_mean_squared_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


@overload
def root_mean_squared_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...


@takes_frames
def root_mean_squared_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    multilabel: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
    per_image: bool = False,
) -> float | GroupValues | ImageMean:
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
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.rmsce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=1)
      >>> round(float(error), 6)
      0.133333

    References:
      Hendrycks et al. (2019), Deep Anomaly Detection with Outlier Exposure.
    """
    return error_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            groups=groups,
            num_groups=num_groups,
            per_image=per_image,
            multilabel=multilabel,
            correct=correct,
            confidences=confidences,
            label_distributions=label_distributions,
        ),
        preset(
            "root_mean_squared_calibration_error",
            num_bins,
            threshold,
            positive_class,
            datapoints_per_bin,
        ),
    )


ece = expected_calibration_error
mce = maximum_calibration_error
rmsce = root_mean_squared_calibration_error
