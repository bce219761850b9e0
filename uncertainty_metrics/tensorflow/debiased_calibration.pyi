# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np
import tensorflow as tf

from uncertainty_metrics.ops._typing import TensorLike

def debiased_calibration_error(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    binning_scheme: Literal["even", "adaptive"] = 'adaptive',
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
      The error in [0, 1], or the squared error in [-0.5, 1]; lower is better, 0 is
      calibrated. float32, or float64 where the predictions are. NaN in compiled code,
      where eager code raises ValueError for values.

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
    ...
