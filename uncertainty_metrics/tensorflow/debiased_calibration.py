"""Calibration error on tensors, without the bias of few examples in a bin.

The definition is that of `uncertainty_metrics.numpy.debiased_calibration`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, CalibrationSpec
from uncertainty_metrics.tensorflow import _binning, _inputs, _sums, calibration
from uncertainty_metrics.tensorflow._binning import BinStatistics

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = ["debiased_calibration_error"]


def _unit(weights: tf.Tensor | None, dtype: tf.DType) -> tf.Tensor | float:
    """Returns the number of examples in a weight of 1."""
    if weights is None:
        return 1.0
    weights = tf.cast(weights, dtype)
    mean = _sums.mean(weights, tf.cast(weights > 0, dtype))
    return 1 / tf.minimum(mean, 1)


def error(
    statistics: BinStatistics, squared: bool, unit: tf.Tensor | float
) -> tf.Tensor:
    """Returns the error, or its square."""
    square = _binning.debiased_square(statistics, unit)
    return square if squared else tf.sqrt(tf.maximum(square, 0))


@tf.autograph.experimental.do_not_convert
def debiased_calibration_error(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    binning_scheme: str = "adaptive",
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
    squared: bool = False,
) -> tf.Tensor:
    """Calibration error, in the l2 norm, less its bias.

    The mean outcome of a bin of n_b examples is off by noise, which adds its variance
    to the squared gap. Here an unbiased estimate of that variance is subtracted. Over
    the bins b of a group, with weight n_b, mean score conf_b and mean outcome acc_b,

      squared = sum_b w_b [(acc_b - conf_b)^2 - acc_b (1 - acc_b) / (n_b - 1)]
      w_b = n_b / sum(n)

    A bin of one example tells nothing of its variance, and counts 0. Over the groups of
    `class_conditional=True` the squared errors are averaged; a class without scores
    counts 0. The error is the root of the squared one, and 0 where that is negative.

    The squared error is unbiased where the scores of a bin are equal, as those of
    histogram binning are. Where they vary, so does what is expected of the outcomes,
    and the estimate is low by about the variance of the scores in a bin over n_b, at
    most 1 / (12 n_b M^2) for scores that are spread over M even bins. What no
    estimate from bins can see are errors that cancel within one. The root of an
    unbiased estimate is not unbiased, though far less biased than `rmsce`.

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
      sample_weight: finite and >= 0, broadcastable to the labels. Weights are numbers
        of examples; where the positive ones are less than 1 on average, they are scaled
        to an average of 1. A bin of less than 1.5 examples counts as one of one.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      squared: whether to return the squared error, which may be negative.

    Returns:
      Scalar, float32 or float64 as the predictions: the error in [0, 1], or the squared
      error in [-0.5, 1]; lower is better, 0 is calibrated. NaN inside a graph where
      eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, probabilities = [1] * 7 + [0] * 3, [0.9] * 10
      >>> round(float(um.debiased_calibration_error(labels, probabilities)), 6)
      0.129099
      >>> round(float(um.rmsce(labels, probabilities)), 6)
      0.2

    References:
      Kumar, Liang and Ma (2019), Verified Uncertainty Calibration. Broecker (2012),
      Estimating Reliability and Resolution of Probability Forecasts through
      Decomposition of the Empirical Score.
    """
    spec = CalibrationSpec(
        binning_scheme,
        max_prob,
        class_conditional,
        "l2",
        num_bins,
        threshold,
        datapoints_per_bin,
        positive_class,
    )
    _checks.boolean("squared", squared)
    data = (labels, probabilities, logits, probs)
    options: dict[str, Any] = {
        "labels_predicted": labels_predicted,
        "sample_weight": sample_weight,
        "ignore_index": ignore_index,
    }
    examples = _inputs.examples(*data, **options)
    statistics, valid = _binning.bin_statistics(examples, spec)
    if tf.executing_eagerly() and not valid:
        calibration.explain([spec], *data, **options)
    value = error(statistics, squared, _unit(examples.weights, examples.dtype))
    return tf.where(valid, value, tf.constant(float("nan"), value.dtype))
