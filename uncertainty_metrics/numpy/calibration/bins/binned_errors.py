"""Calibration errors of classifiers, exact and in float64.

All errors group scores into bins and compare the mean score of a bin (confidence) with
the mean outcome (accuracy). They differ in what a score is, in the bins and in the norm
over the bins. `general_calibration_error` takes these choices as arguments; the
functions of `confidence_errors` and `class_wise_errors` make them by their names.

Scores are put into bins in the precision that is passed; sums are float64. Each group
has `num_bins` bins, from 1 to 10^6. Only scores of the decided class depend on
`labels_predicted`. `positive_class` is the convention of forecasters, who compare
P(class 1) with the label instead of the confidence with whether the decision is right.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _calibration_spec
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    REQUIRED,
    BinningScheme,
    CalibrationKey,
    CalibrationSpec,
    Norm,
)
from uncertainty_metrics._results import GroupValues, ImageMean
from uncertainty_metrics.numpy import _examples, _image_blocks
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.scoring import _group_values

__all__ = [
    "bin_statistics",
    "compute_all_metrics",
    "gce",
    "general_calibration_error",
]


# The options for which a function has no argument.
_BASE = PRESETS["expected_calibration_error"]


def error_of(data: ClassifierData, spec: CalibrationSpec) -> Any:
    """Returns the error that `spec` describes, that of each group, or the mean over
    images.
    """
    in_blocks = _error_of_blocks(data, spec)
    return _error_of_all(data, spec) if in_blocks is None else in_blocks


def _error_of_blocks(data: ClassifierData, spec: CalibrationSpec) -> Any:
    """Returns the error of large masks; None if they are not large, or wrong."""
    if data.per_image is True:
        blocks = _image_blocks.image_blocks(data, by_image=True)
        found = blocks and _image_blocks.of_images(
            blocks, lambda block: _error_of_all(block, spec, allow_none=True)
        )
        return _group_values.image_mean(found[0]) if found else None
    if spec.binning_scheme != "even":  # Such bins need the scores of all images.
        return None
    total = None
    try:
        for block in _image_blocks.image_blocks(data, by_image=False):
            examples, block_spec = _binning.read(block, spec, allow_none=True)
            statistics = _binning.bin_statistics(examples, block_spec)
            total = statistics if total is None else total + statistics
    except ValueError:  # The error of all data names the place among them.
        return None
    if total is None or not np.any(total.counts):
        return None
    return _binning.calibration_error(total, spec.norm)


def _error_of_all(
    data: ClassifierData, spec: CalibrationSpec, allow_none: bool = False
) -> Any:
    examples, spec = _binning.read(data, spec, allow_none)
    statistics = _binning.bin_statistics(examples, spec)
    if examples.groups is None:
        return _binning.calibration_error(statistics, spec.norm)
    errors = _binning.calibration_errors(statistics, spec.norm, examples.groups.number)
    weights = examples.groups.sums(examples.weights)
    return _group_values.of_groups(errors, weights, examples.groups)


@takes_frames
def bin_statistics(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    binning_scheme: BinningScheme = "even",
    max_prob: bool = True,
    class_conditional: bool = False,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
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

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> options = {"num_bins": 2, "positive_class": True}
      >>> stats = um.bin_statistics([1, 0, 1, 0], [0.9, 0.6, 0.3, 0.1], **options)
      >>> [float(n) for n in stats.counts[0]], float(stats.accuracies[0, 1])
      ([2.0, 2.0], 0.5)
    """
    spec = dataclasses.replace(
        _BASE,
        binning_scheme=binning_scheme,
        max_prob=max_prob,
        class_conditional=class_conditional,
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        positive_class=positive_class,
    )
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
    return _binning.bin_statistics(examples, spec)


@overload
def general_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    binning_scheme: BinningScheme,
    max_prob: bool,
    class_conditional: bool,
    norm: Norm,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
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
def general_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    binning_scheme: BinningScheme,
    max_prob: bool,
    class_conditional: bool,
    norm: Norm,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
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
def general_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    binning_scheme: BinningScheme,
    max_prob: bool,
    class_conditional: bool,
    norm: Norm,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
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


@overload
def general_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    binning_scheme: BinningScheme,
    max_prob: bool,
    class_conditional: bool,
    norm: Norm,
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
def general_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    binning_scheme: BinningScheme,
    max_prob: bool,
    class_conditional: bool,
    norm: Norm,
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
def general_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    binning_scheme: BinningScheme,
    max_prob: bool,
    class_conditional: bool,
    norm: Norm,
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
def general_calibration_error(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    binning_scheme: BinningScheme = REQUIRED,
    max_prob: bool = REQUIRED,
    class_conditional: bool = REQUIRED,
    norm: Norm = REQUIRED,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
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
      cancel, and make it smaller.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
      >>> error = um.gce([0, 1, 1], probabilities, "even", True, False, "max", 5)
      >>> round(float(error), 6)
      0.25

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
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
        dataclasses.replace(
            _BASE,
            binning_scheme=binning_scheme,
            max_prob=max_prob,
            class_conditional=class_conditional,
            norm=norm,
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
            positive_class=positive_class,
        ),
    )


@takes_frames
def compute_all_metrics(
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
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
) -> dict[CalibrationKey, float]:
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

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> errors = um.compute_all_metrics([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> len(errors), round(float(errors["even", True, False, "l1"]), 6)
      (24, 0.15)
      >>> tags, p = [[1, 0], [0, 1]], [[0.7, 0.1], [0.3, 0.6]]
      >>> errors = um.compute_all_metrics(tags, p, multilabel=True)
      >>> len(errors), round(float(errors["even", False, True, "l1"]), 6)
      (24, 0.275)
    """
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        probs=probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        label_distributions=label_distributions,
        multilabel=multilabel,
    )
    specs = {
        key: CalibrationSpec(
            *key, num_bins, threshold, positive_class=positive_class
        ).for_data(data)
        for key in _calibration_spec.grid()
    }
    examples = _examples.examples_of(data)
    form = examples.one_column, examples.predicted is not None
    next(iter(specs.values())).warn_of_decisions(*form)
    errors = {}
    for key, spec in specs.items():
        # The bins do not depend on the norm, the last of the choices in a key.
        if key.norm == _calibration_spec.NORMS[0]:
            statistics = _binning.bin_statistics(examples, spec)
        errors[key] = _binning.calibration_error(statistics, key.norm)
    return errors


gce = general_calibration_error
