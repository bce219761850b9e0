# As written by scripts/write_stubs.py.
from typing import overload
from typing import Any
from numpy.typing import ArrayLike
from uncertainty_metrics import _spec
from uncertainty_metrics._spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    REQUIRED,
    BinningScheme,
    CalibrationKey,
    CalibrationSpec,
    Norm,
)
from uncertainty_metrics._statistics import GroupValues
from uncertainty_metrics.numpy import _arguments, _binning, _inputs, scoring_rules
from uncertainty_metrics.numpy._binning import BinStatistics
__all__ = [
    "ace",
    "adaptive_calibration_error",
    "bin_statistics",
    "compute_all_metrics",
    "ece",
    "expected_calibration_error",
    "gce",
    "general_calibration_error",
    "maximum_calibration_error",
    "mce",
    "rmsce",
    "root_mean_squared_calibration_error",
    "sce",
    "static_calibration_error",
    "tace",
    "thresholded_adaptive_calibration_error",
]
_BASE = PRESETS["expected_calibration_error"]
def bin_statistics(
    labels: ArrayLike,
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
    positive_class: bool = False,
) -> BinStatistics:
    """Counts, mean scores and mean outcomes in each bin of each group.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      max_prob: whether a score is the probability of the decision label (True) or of
        every class (False).
      class_conditional: whether every class is a group of its own.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.

    Returns:
      `BinStatistics` with `edges` [groups, bins + 1] and `counts`, `confidences` and
      `accuracies` [groups, bins], 0 in empty bins. Those of even bins add.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> stats = um.bin_statistics([1, 0, 1, 1], [0.9, 0.6, 0.8, 0.3], num_bins=2)
      >>> [float(n) for n in stats.counts[0]], float(stats.accuracies[0, 1])
      ([0.0, 4.0], 0.5)
    """
    ...
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
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """General calibration error: every choice is an argument. Alias `gce`.

    Over the non-empty bins b of a group, with weight n_b, mean score conf_b and mean
    outcome acc_b, and w_b = n_b / sum(n):

      l1 = sum_b w_b |acc_b - conf_b|
      l2 = sqrt(sum_b w_b (acc_b - conf_b)^2)
      max = max_b |acc_b - conf_b|

    Over the groups of `class_conditional=True`, l1 is the mean, l2 the root of the mean
    square and max the maximum; a class without scores counts 0.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      binning_scheme: "even" (equal width) or "adaptive" (equal mass). Required.
      max_prob: whether a score is the probability of the decision label, with outcome
        "the decision is right" (True), or of every class k, with outcome `label == k`
        (False). Required.
      class_conditional: whether every class (for `max_prob`, every decision) is a group
        of its own. Required.
      norm: "l1", "l2" or "max". Required.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. Estimates from finite data
      are biased upwards, the more so with more bins.

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
    ...
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
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """General calibration error: every choice is an argument. Alias `gce`.

    Over the non-empty bins b of a group, with weight n_b, mean score conf_b and mean
    outcome acc_b, and w_b = n_b / sum(n):

      l1 = sum_b w_b |acc_b - conf_b|
      l2 = sqrt(sum_b w_b (acc_b - conf_b)^2)
      max = max_b |acc_b - conf_b|

    Over the groups of `class_conditional=True`, l1 is the mean, l2 the root of the mean
    square and max the maximum; a class without scores counts 0.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      binning_scheme: "even" (equal width) or "adaptive" (equal mass). Required.
      max_prob: whether a score is the probability of the decision label, with outcome
        "the decision is right" (True), or of every class k, with outcome `label == k`
        (False). Required.
      class_conditional: whether every class (for `max_prob`, every decision) is a group
        of its own. Required.
      norm: "l1", "l2" or "max". Required.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. Estimates from finite data
      are biased upwards, the more so with more bins.

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
    ...
@overload
def general_calibration_error(
    labels: ArrayLike,
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
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """General calibration error: every choice is an argument. Alias `gce`.

    Over the non-empty bins b of a group, with weight n_b, mean score conf_b and mean
    outcome acc_b, and w_b = n_b / sum(n):

      l1 = sum_b w_b |acc_b - conf_b|
      l2 = sqrt(sum_b w_b (acc_b - conf_b)^2)
      max = max_b |acc_b - conf_b|

    Over the groups of `class_conditional=True`, l1 is the mean, l2 the root of the mean
    square and max the maximum; a class without scores counts 0.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      binning_scheme: "even" (equal width) or "adaptive" (equal mass). Required.
      max_prob: whether a score is the probability of the decision label, with outcome
        "the decision is right" (True), or of every class k, with outcome `label == k`
        (False). Required.
      class_conditional: whether every class (for `max_prob`, every decision) is a group
        of its own. Required.
      norm: "l1", "l2" or "max". Required.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. Estimates from finite data
      are biased upwards, the more so with more bins.

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
    ...
@overload
def general_calibration_error(
    labels: ArrayLike,
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
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """General calibration error: every choice is an argument. Alias `gce`.

    Over the non-empty bins b of a group, with weight n_b, mean score conf_b and mean
    outcome acc_b, and w_b = n_b / sum(n):

      l1 = sum_b w_b |acc_b - conf_b|
      l2 = sqrt(sum_b w_b (acc_b - conf_b)^2)
      max = max_b |acc_b - conf_b|

    Over the groups of `class_conditional=True`, l1 is the mean, l2 the root of the mean
    square and max the maximum; a class without scores counts 0.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      binning_scheme: "even" (equal width) or "adaptive" (equal mass). Required.
      max_prob: whether a score is the probability of the decision label, with outcome
        "the decision is right" (True), or of every class k, with outcome `label == k`
        (False). Required.
      class_conditional: whether every class (for `max_prob`, every decision) is a group
        of its own. Required.
      norm: "l1", "l2" or "max". Required.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. Estimates from finite data
      are biased upwards, the more so with more bins.

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
    ...
@overload
def expected_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """Expected calibration error (ECE). Alias `ece`.

    Even bins of the decision's probability, l1 norm:

      ECE = sum_b (n_b / n) |acc_b - conf_b|

    Rows need not sum to 1 and are never normalised: the score is the largest entry as
    it is, so that K sigmoids have an ECE of their own, and so have probabilities that
    somebody forgot to normalise. Of two classes the score is that of the decision too;
    netcal takes P(class 1), also from rows [1 - p, p]: `positive_class=True`.

    The noise of n examples adds up to about 0.4 sqrt(num_bins / n) where it is near 0:
    the ECE of a calibrated model is never 0, and the intervals of `bootstrap` do not
    hold a true error that is small against that. `debiased_calibration_error` and
    `calibration_test` take the noise into account.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

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
    ...
@overload
def expected_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """Expected calibration error (ECE). Alias `ece`.

    Even bins of the decision's probability, l1 norm:

      ECE = sum_b (n_b / n) |acc_b - conf_b|

    Rows need not sum to 1 and are never normalised: the score is the largest entry as
    it is, so that K sigmoids have an ECE of their own, and so have probabilities that
    somebody forgot to normalise. Of two classes the score is that of the decision too;
    netcal takes P(class 1), also from rows [1 - p, p]: `positive_class=True`.

    The noise of n examples adds up to about 0.4 sqrt(num_bins / n) where it is near 0:
    the ECE of a calibrated model is never 0, and the intervals of `bootstrap` do not
    hold a true error that is small against that. `debiased_calibration_error` and
    `calibration_test` take the noise into account.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

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
    ...
@overload
def maximum_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """Maximum calibration error (MCE). Alias `mce`.

    Even bins of the decision's probability, the largest gap of a non-empty bin:

      MCE = max_b |acc_b - conf_b|

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

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
    ...
@overload
def maximum_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """Maximum calibration error (MCE). Alias `mce`.

    Even bins of the decision's probability, the largest gap of a non-empty bin:

      MCE = max_b |acc_b - conf_b|

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

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
    ...
@overload
def root_mean_squared_calibration_error(
    labels: ArrayLike,
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
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """Root mean squared calibration error (RMSCE). Alias `rmsce`.

    Adaptive bins of the decision's probability, l2 norm:

      RMSCE = sqrt(sum_b (n_b / n) (acc_b - conf_b)^2)

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

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
    ...
@overload
def root_mean_squared_calibration_error(
    labels: ArrayLike,
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
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """Root mean squared calibration error (RMSCE). Alias `rmsce`.

    Adaptive bins of the decision's probability, l2 norm:

      RMSCE = sqrt(sum_b (n_b / n) (acc_b - conf_b)^2)

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

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
    ...
@overload
def static_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """Static calibration error (SCE). Alias `sce`.

    Even bins of the probability of every class, l1 norm, mean over the K classes:

      SCE = 1/K sum_k sum_b (n_kb / n) |acc_kb - conf_kb|

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.sce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    ...
@overload
def static_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """Static calibration error (SCE). Alias `sce`.

    Even bins of the probability of every class, l1 norm, mean over the K classes:

      SCE = 1/K sum_k sum_b (n_kb / n) |acc_kb - conf_kb|

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.sce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    ...
@overload
def adaptive_calibration_error(
    labels: ArrayLike,
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
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """Adaptive calibration error (ACE). Alias `ace`.

    Adaptive bins of the probability of every class, l1 norm, mean over the K classes:

      ACE = 1/K sum_k sum_b (n_kb / n) |acc_kb - conf_kb|

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.ace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    ...
@overload
def adaptive_calibration_error(
    labels: ArrayLike,
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
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """Adaptive calibration error (ACE). Alias `ace`.

    Adaptive bins of the probability of every class, l1 norm, mean over the K classes:

      ACE = 1/K sum_k sum_b (n_kb / n) |acc_kb - conf_kb|

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.ace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    ...
@overload
def thresholded_adaptive_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.01,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
) -> float:
    """Thresholded adaptive calibration error (TACE). Alias `tace`.

    ACE of the scores above `threshold`, which keeps the many tiny probabilities of
    many classes from filling the bins; n is the weight of the scores that are left.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.tace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    ...
@overload
def thresholded_adaptive_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.01,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
    multilabel: bool = False,
    groups: ArrayLike,
    num_groups: int,
) -> GroupValues:
    """Thresholded adaptive calibration error (TACE). Alias `tace`.

    ACE of the scores above `threshold`, which keeps the many tiny probabilities of
    many classes from filling the bins; n is the weight of the scores that are left.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      multilabel: for labels [..., L], each 0 or 1, and P(label is 1) of the same shape,
        which is scored against `label == 1`: all together, or where every class is a
        group label by label.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.tace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(float(error), 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    ...
def compute_all_metrics(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> dict[CalibrationKey, float]:
    """The general calibration error for every combination of its four choices.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A dict from `(binning_scheme, max_prob, class_conditional, norm)`, a named tuple,
      to the error in [0, 1].

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> errors = um.compute_all_metrics([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> len(errors), round(float(errors["even", True, False, "l1"]), 6)
      (24, 0.15)
    """
    ...
gce = general_calibration_error
ece = expected_calibration_error
mce = maximum_calibration_error
rmsce = root_mean_squared_calibration_error
sce = static_calibration_error
ace = adaptive_calibration_error
tace = thresholded_adaptive_calibration_error
