"""Calibration errors of classifiers, exact and in float64.

All of them group scores into bins and compare the mean score of a bin (confidence)
with the mean outcome (accuracy). They differ in what a score is, in the bins and in the
norm over the bins; `general_calibration_error` takes these choices as arguments and
every other function is a named set of them.

Arguments that all functions share:

  labels: integers in [0, K), shape [...]. A floating array of whole numbers will do.
  probabilities: in [0, 1], shape [..., K]; or [...] or [..., 1], the probability of
    class 1 of two, read as `[1 - p, p]`. Leading axes are flattened. Rows need not sum
    to 1: scores are the entries as they are. Bins are decided in the precision that is
    passed, sums are float64.
  logits: instead of `probabilities`, their logarithms up to a constant; of class 1
    against class 0 where the class axis is absent. -inf is probability 0.
  probs: another name for `probabilities`.
  labels_predicted: decision labels, shape of the labels; the argmax (the lowest of
    equals) by default. Only scores of the decision label depend on it.
  sample_weight: finite and >= 0, broadcastable to the labels. Weight 2 is the example
    twice, weight 0 the example left out.
  ignore_index: examples with this label are left out.
  num_bins: number of bins of each group, from 1 to 10^6.
  positive_class: for two classes, take P(class 1) as the score and `label == 1` as the
    outcome (the forecaster's convention) instead of the decision and its correctness.
"""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _spec
from uncertainty_metrics._spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    REQUIRED,
    CalibrationSpec,
)
from uncertainty_metrics.numpy import _binning, _inputs
from uncertainty_metrics.numpy._binning import BinStatistics

__all__ = [
    "BinStatistics",
    "GeneralCalibrationError",
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


def _error(examples: _inputs.Examples, spec: CalibrationSpec) -> float:
    statistics = _binning.bin_statistics(examples, spec)
    return _binning.calibration_error(statistics, spec.norm)


def bin_statistics(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    binning_scheme: str = "even",
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
      `accuracies` [groups, bins], float64; 0 in empty bins. Those of even bins add.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> stats = um.bin_statistics([1, 0, 1, 1], [0.9, 0.6, 0.8, 0.3], num_bins=2)
      >>> stats.counts.tolist(), stats.accuracies.tolist()
      ([[0.0, 4.0]], [[0.0, 0.5]])
    """
    spec = CalibrationSpec(
        binning_scheme,
        max_prob,
        class_conditional,
        "l1",
        num_bins,
        threshold,
        datapoints_per_bin,
        positive_class,
    )
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    return _binning.bin_statistics(examples, spec)


def general_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    binning_scheme: str = REQUIRED,
    max_prob: bool = REQUIRED,
    class_conditional: bool = REQUIRED,
    norm: str = REQUIRED,
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

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. Estimates from finite data
      are biased upwards, the more so with more bins.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
      >>> error = um.gce([0, 1, 1], probabilities, "even", True, False, "max", 5)
      >>> round(error, 6)
      0.25

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    spec = CalibrationSpec(
        binning_scheme,
        max_prob,
        class_conditional,
        norm,
        num_bins,
        threshold,
        datapoints_per_bin,
        positive_class,
    )
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    return _error(examples, spec)


def _preset(
    name: str,
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    logits: ArrayLike | None,
    probs: ArrayLike | None,
    *,
    num_bins: int,
    threshold: float,
    positive_class: bool,
    labels_predicted: ArrayLike | None,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
    datapoints_per_bin: int | None = None,
) -> float:
    """Computes the error whose options go by `name`."""
    spec = dataclasses.replace(
        PRESETS[name],
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        positive_class=positive_class,
    )
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    return _error(examples, spec)


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

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.ece([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(error, 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
    """
    return _preset(
        "expected_calibration_error",
        labels,
        probabilities,
        logits,
        probs,
        num_bins=num_bins,
        threshold=threshold,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        positive_class=positive_class,
    )


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

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.mce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(error, 6)
      0.25

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning.
    """
    return _preset(
        "maximum_calibration_error",
        labels,
        probabilities,
        logits,
        probs,
        num_bins=num_bins,
        threshold=threshold,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        positive_class=positive_class,
    )


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
) -> float:
    """Root mean squared calibration error (RMSCE). Alias `rmsce`.

    Adaptive bins of the decision's probability, l2 norm:

      RMSCE = sqrt(sum_b (n_b / n) (acc_b - conf_b)^2)

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: the mass of a bin, instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.rmsce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=1)
      >>> round(error, 6)
      0.133333

    References:
      Hendrycks et al. (2019), Deep Anomaly Detection with Outlier Exposure.
    """
    return _preset(
        "root_mean_squared_calibration_error",
        labels,
        probabilities,
        logits,
        probs,
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        positive_class=positive_class,
    )


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

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.sce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(error, 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    return _preset(
        "static_calibration_error",
        labels,
        probabilities,
        logits,
        probs,
        num_bins=num_bins,
        threshold=threshold,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        positive_class=positive_class,
    )


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
) -> float:
    """Adaptive calibration error (ACE). Alias `ace`.

    Adaptive bins of the probability of every class, l1 norm, mean over the K classes:

      ACE = 1/K sum_k sum_b (n_kb / n) |acc_kb - conf_kb|

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: the mass of a bin, instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.ace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(error, 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    return _preset(
        "adaptive_calibration_error",
        labels,
        probabilities,
        logits,
        probs,
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        positive_class=positive_class,
    )


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
) -> float:
    """Thresholded adaptive calibration error (TACE). Alias `tace`.

    ACE of the scores above `threshold`, which keeps the many tiny probabilities of
    many classes from filling the bins; n is the weight of the scores that are left.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: the mass of a bin, instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.tace([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=2)
      >>> round(error, 6)
      0.366667

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """
    return _preset(
        "thresholded_adaptive_calibration_error",
        labels,
        probabilities,
        logits,
        probs,
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        positive_class=positive_class,
    )


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
) -> dict[_spec.CalibrationKey, float]:
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
      >>> len(errors), round(errors["even", True, False, "l1"], 6)
      (24, 0.15)
    """
    specs = {
        key: CalibrationSpec(*key, num_bins=num_bins, threshold=threshold)
        for key in _spec.grid()
    }
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    errors = {}
    for key, spec in specs.items():
        if key.norm == _spec.NORMS[0]:  # The bins do not depend on the norm.
            statistics = _binning.bin_statistics(examples, spec)
        errors[key] = _binning.calibration_error(statistics, key.norm)
    return errors


class GeneralCalibrationError:
    """Accumulates a general calibration error over batches, exactly.

    Even bins keep their sums. Adaptive bins depend on all the data, so the examples are
    kept until `reset_state`; the Keras metric of this name needs a fixed memory.

    Metrics of the same options add: `a + b` is a new one that has seen the batches of
    both, those of `a` first.

    Args:
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      max_prob: whether a score is the probability of the decision label (True) or of
        every class (False).
      class_conditional: whether every class is a group of its own.
      norm: "l1", "l2" or "max".
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.

    Attributes:
      counts: total weight in each bin, shape [bins], or [K, bins] for class-wise
        groups. None before the first update, like the other two.
      confidences: mean score in each bin, 0 where it is empty.
      accuracies: mean outcome in each bin, 0 where it is empty.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> metric = um.GeneralCalibrationError("even", True, False, "l1", num_bins=2)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(metric.result(), 6)
      0.133333
      >>> (metric.accuracies - metric.confidences).round(6).tolist()
      [0.0, -0.133333]
    """

    def __init__(
        self,
        binning_scheme: str,
        max_prob: bool,
        class_conditional: bool,
        norm: str,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
        *,
        ignore_index: int | None = None,
        positive_class: bool = False,
    ):
        self.spec = CalibrationSpec(
            binning_scheme,
            max_prob,
            class_conditional,
            norm,
            num_bins,
            threshold,
            datapoints_per_bin,
            positive_class,
        )
        self.ignore_index = ignore_index
        self.reset_state()

    def reset_state(self) -> None:
        """Forgets all examples."""
        self._examples: list[_inputs.Examples] = []
        self._statistics: BinStatistics | None = None
        self._num_classes: int | None = None

    def update_state(
        self,
        labels: ArrayLike,
        probabilities: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        labels_predicted: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Adds a batch. A batch that raises ValueError leaves the state as it was.

        Args:
          labels: integers in [0, K), shape [...].
          probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
          logits: instead of `probabilities`, floating of the same shape.
          probs: another name for `probabilities`.
          labels_predicted: decision labels, shape of the labels.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        examples = _inputs.examples(
            labels,
            probabilities,
            logits,
            probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=self.ignore_index,
            allow_none=True,
        )
        self._check_classes(examples.name, examples.num_classes)
        if self.spec.binning_scheme == "even":
            statistics = _binning.bin_statistics(examples, self.spec)
            if self._statistics is not None:
                statistics = self._statistics + statistics
            self._statistics = statistics
        else:
            _binning.checked(examples, self.spec)
            self._examples.append(examples)
            self._statistics = None
        self._num_classes = examples.num_classes

    def _check_classes(self, name: str, num_classes: int | None) -> None:
        if None not in (self._num_classes, num_classes) and (
            self._num_classes != num_classes
        ):
            raise _checks.error(
                name,
                f"of {self._num_classes} classes, as in the first batch",
                f"{num_classes} classes",
            )

    def __add__(self, other: GeneralCalibrationError) -> GeneralCalibrationError:
        if not isinstance(other, GeneralCalibrationError):
            return NotImplemented
        options, others = ((m.spec, m.ignore_index) for m in (self, other))
        if options != others:
            raise ValueError(
                "Only states of the same metric and options add. Received: "
                f"{options} and {others}"
            )
        self._check_classes("metrics", other._num_classes)
        total = copy.copy(self)
        total._examples = self._examples + other._examples
        total._num_classes = self._num_classes or other._num_classes
        if total._examples:
            total._statistics = None  # Of adaptive bins, which all examples make.
        elif self._statistics is None or other._statistics is None:
            total._statistics = self._statistics or other._statistics
        else:
            total._statistics = self._statistics + other._statistics
        return total

    def __radd__(self, other: object) -> GeneralCalibrationError:
        start = isinstance(other, int) and other == 0  # Of `sum`.
        return self if start else NotImplemented

    @property
    def bin_statistics(self) -> BinStatistics | None:
        """The statistics of all batches so far; None before the first."""
        if self._statistics is None and self._examples:
            self._examples = [_inputs.concatenate(self._examples)]
            self._statistics = _binning.bin_statistics(self._examples[0], self.spec)
        return self._statistics

    def result(self) -> float:
        """Returns the error of all batches so far, in [0, 1]; 0.0 before the first."""
        statistics = self.bin_statistics
        if statistics is None:
            return 0.0
        return _binning.calibration_error(statistics, self.spec.norm)

    def _per_bin(self, name: str) -> np.ndarray | None:
        statistics = self.bin_statistics
        if statistics is None:
            return None
        values = getattr(statistics, name)
        return values[0] if len(values) == 1 else values

    @property
    def counts(self) -> np.ndarray | None:
        """Total weight in each bin; None before the first batch."""
        return self._per_bin("counts")

    @property
    def confidences(self) -> np.ndarray | None:
        """Mean score of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("confidences")

    @property
    def accuracies(self) -> np.ndarray | None:
        """Mean outcome of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("accuracies")


gce = general_calibration_error
ece = expected_calibration_error
mce = maximum_calibration_error
rmsce = root_mean_squared_calibration_error
sce = static_calibration_error
ace = adaptive_calibration_error
tace = thresholded_adaptive_calibration_error
