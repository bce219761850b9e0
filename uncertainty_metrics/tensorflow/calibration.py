"""Calibration errors of classifiers on tensors, eager or compiled.

The definitions and the arguments are those of `uncertainty_metrics.numpy.calibration`.
Labels and predictions are tensors, or anything that converts to them. float64
predictions are computed in float64, all others in float32 with sums that do not drift;
bins are decided in the precision that is passed.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised, so
the result is NaN there; a wrong shape or option raises while the graph is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from uncertainty_metrics import _spec
from uncertainty_metrics._spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    REQUIRED,
    CalibrationSpec,
)
from uncertainty_metrics.numpy import _binning as np_binning
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.tensorflow import _binning, _inputs
from uncertainty_metrics.tensorflow._binning import BinStatistics

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


@tf.autograph.experimental.do_not_convert
def checked_statistics(
    specs: Sequence[CalibrationSpec], *data: Any, **options: Any
) -> tuple[list[BinStatistics], tf.Tensor]:
    """Returns the statistics for each spec and whether the data were valid.

    Raises:
      ValueError: the data were not valid, in eager execution.
    """
    examples = _inputs.examples(*data, **options)
    results = [_binning.bin_statistics(examples, spec) for spec in specs]
    valid = tf.reduce_all([valid for _, valid in results])
    if tf.executing_eagerly() and not valid:
        explain(specs, *data, **options)
    return [statistics for statistics, _ in results], valid


def explain(specs: Sequence[CalibrationSpec], *data: Any, **options: Any) -> None:
    """Raises the ValueError that says what is wrong with values known to be wrong."""
    examples = np_inputs.examples(*data, **options)
    for spec in specs:  # The NumPy twin knows the same rules and names the value.
        np_binning.checked(examples, spec)
    raise ValueError(_inputs.OUT_OF_RANGE)


def nan_unless(valid: tf.Tensor, statistics: BinStatistics) -> BinStatistics:
    """Replaces the sums by NaN where the data were not valid."""

    def guard(sums):
        return tf.where(valid, sums, tf.constant(float("nan"), sums.dtype))

    return dataclasses.replace(
        statistics,
        counts=guard(statistics.counts),
        score_sums=guard(statistics.score_sums),
        outcome_sums=guard(statistics.outcome_sums),
    )


def _error(statistics: BinStatistics, valid: tf.Tensor, norm: str) -> tf.Tensor:
    error = _binning.calibration_error(statistics, norm)
    return tf.where(valid, error, tf.constant(float("nan"), error.dtype))


def bin_statistics(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    binning_scheme: str = "even",
    max_prob: bool = True,
    class_conditional: bool = False,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
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
      `accuracies` [groups, bins], 0 in empty bins. Those of even bins add. NaN inside
      a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> stats = um.bin_statistics([1, 0, 1, 1], [0.9, 0.6, 0.8, 0.3], num_bins=2)
      >>> stats.counts.numpy().tolist(), stats.accuracies.numpy().tolist()
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
    statistics, valid = checked_statistics(
        [spec],
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    return nan_unless(valid, statistics[0])


def general_calibration_error(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    binning_scheme: str = REQUIRED,
    max_prob: bool = REQUIRED,
    class_conditional: bool = REQUIRED,
    norm: str = REQUIRED,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    *,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
) -> tf.Tensor:
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
      Scalar in [0, 1], float32 or float64 as the predictions; lower is better, 0 is
      calibrated. NaN inside a graph where eager execution raises ValueError for
      values. Estimates from finite data are biased upwards, the more so with more bins.

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
    statistics, valid = checked_statistics(
        [spec],
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    return _error(statistics[0], valid, norm)


def _preset(
    name: str,
    labels: TensorLike,
    probabilities: TensorLike | None,
    logits: TensorLike | None,
    probs: TensorLike | None,
    *,
    num_bins: int,
    threshold: float,
    positive_class: bool,
    labels_predicted: TensorLike | None,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
    datapoints_per_bin: int | None = None,
) -> tf.Tensor:
    """Computes the error whose options go by `name`."""
    spec = dataclasses.replace(
        PRESETS[name],
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        positive_class=positive_class,
    )
    statistics, valid = checked_statistics(
        [spec],
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    return _error(statistics[0], valid, spec.norm)


def expected_calibration_error(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
) -> tf.Tensor:
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
      Scalar in [0, 1], float32 or float64 as the predictions; lower is better, 0 is
      calibrated. NaN inside a graph where eager execution raises ValueError for
      values.

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
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
) -> tf.Tensor:
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
      Scalar in [0, 1], float32 or float64 as the predictions; lower is better, 0 is
      calibrated. NaN inside a graph where eager execution raises ValueError for
      values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.mce([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5)
      >>> round(float(error), 6)
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
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
) -> tf.Tensor:
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
      Scalar in [0, 1], float32 or float64 as the predictions; lower is better, 0 is
      calibrated. NaN inside a graph where eager execution raises ValueError for
      values.

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
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
) -> tf.Tensor:
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
      Scalar in [0, 1], float32 or float64 as the predictions; lower is better, 0 is
      calibrated. NaN inside a graph where eager execution raises ValueError for
      values.

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
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
) -> tf.Tensor:
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
      Scalar in [0, 1], float32 or float64 as the predictions; lower is better, 0 is
      calibrated. NaN inside a graph where eager execution raises ValueError for
      values.

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
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.01,
    datapoints_per_bin: int | None = None,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool = False,
) -> tf.Tensor:
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
      Scalar in [0, 1], float32 or float64 as the predictions; lower is better, 0 is
      calibrated. NaN inside a graph where eager execution raises ValueError for
      values.

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
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    threshold: float = 0.0,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> dict[_spec.CalibrationKey, tf.Tensor]:
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
      to the scalar error in [0, 1].

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> errors = um.compute_all_metrics([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> len(errors), round(float(errors["even", True, False, "l1"]), 6)
      (24, 0.15)
    """
    keys = _spec.grid()
    # The bins do not depend on the norm.
    bins = list(dict.fromkeys(key[:3] for key in keys))
    statistics, valid = checked_statistics(
        [
            CalibrationSpec(*key, "l1", num_bins=num_bins, threshold=threshold)
            for key in bins
        ],
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    of = dict(zip(bins, statistics, strict=True))
    return {key: _error(of[key[:3]], valid, key.norm) for key in keys}


gce = general_calibration_error
ece = expected_calibration_error
mce = maximum_calibration_error
rmsce = root_mean_squared_calibration_error
sce = static_calibration_error
ace = adaptive_calibration_error
tace = thresholded_adaptive_calibration_error
