# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import SpiegelhalterTest

def averaged_two_bin_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
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
) -> Tensor:
    """Averaged two-bin calibration error (ATB). Alias `atb`.

    A threshold t divides n scores p_i in [0, 1] with outcomes y_i in {0, 1} into two
    bins. ATB is the sum of their squared errors, averaged over all thresholds:

      ATB = integral over t in [0, 1] of
        ((sum over {p_i <= t} of (y_i - p_i))^2
         + (sum over {p_i > t} of (y_i - p_i))^2) / n^2

    ATB is a square: for a calibrated model it falls like 1 / n. For an outcome that the
    forecast cannot change (that of class 1, or of `correct`) it is truthful: the true
    probabilities minimise its expected value, while other calibration errors may reward
    another forecast. The base rate minimises it as well: unlike a proper scoring rule,
    ATB does not rank models by how much they know. For the decision among several
    classes it is not truthful, because the forecast then chooses the outcome: always to
    decide for a rare class, with its frequency as confidence, can have a much smaller
    value than the true probabilities.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, probabilities = [1] * 7 + [0] * 3, [0.9] * 10
      >>> round(float(um.averaged_two_bin_calibration_error(labels, probabilities)), 6)
      0.04
      >>> round(float(um.atb([0, 1], [0.5, 0.75], positive_class=True)), 6)
      0.03125

    References:
      Hartline, Hu and Wu (2026), the averaged two-bin calibration error. Haghtalab et
      al. (2024), Truthfulness of Calibration Measures.
    """

def kolmogorov_smirnov_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
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
) -> Tensor:
    """Kolmogorov-Smirnov calibration error. Alias `ks_calibration_error`.

    The largest gap between the cumulative outcomes and the cumulative scores, for n
    scores p_i in [0, 1] with outcomes y_i in {0, 1}:

      KS = max over t of abs(sum over {i: p_i <= t} of (y_i - p_i)) / n

    The error needs no bins. If the model errs in one direction at all scores, KS is its
    mean error, as is the ECE for any bins. If the direction changes between low and
    high scores, KS finds the largest error over a stretch that begins at the lowest
    score. `kuiper_calibration_error` finds a stretch wherever it begins.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. The noise of the labels
      gives a calibrated model an error of about 1.25 sqrt(mean of p (1 - p) / n).
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, probabilities = [0, 1, 1, 0], [0.2, 0.4, 0.7, 0.9]
      >>> options = {"positive_class": True}
      >>> error = um.ks_calibration_error(labels, probabilities, **options)
      >>> round(float(error), 6)  # (-0.2 + 0.6 + 0.3) / 4
      0.175

    References:
      Gupta et al. (2021), Calibration of Neural Networks using Splines. Arrieta-Ibarra
      et al. (2022), Metrics of Calibration for Probabilistic Predictions.
    """

def kuiper_calibration_error(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
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
) -> Tensor:
    """Kuiper calibration error: the largest gap over a stretch of scores.

    For n scores p_i in [0, 1] with outcomes y_i in {0, 1}, with the cumulative gap
    C(t) = sum over {i: p_i <= t} of (y_i - p_i) / n, 0 below all scores,

      Kuiper = max over t of C(t) - min over t of C(t)

    which is the largest abs(sum of (y_i - p_i)) / n over the scores between two
    thresholds. The error needs no bins, and treats all stretches alike.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      The error in [0, 1]; lower is better, 0 is calibrated. The noise of the labels
      gives a calibrated model an error of about 1.6 sqrt(mean of p (1 - p) / n).
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, probabilities = [0, 1, 1, 0], [0.2, 0.4, 0.7, 0.9]
      >>> options = {"positive_class": True}
      >>> error = um.kuiper_calibration_error(labels, probabilities, **options)
      >>> round(float(error), 6)  # From -0.2 / 4 to 0.7 / 4.
      0.225

    References:
      Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic
      Predictions. Tygert (2023), Calibration of P-values for Calibration and for
      Deviation of a Subpopulation from the Full Population.
    """

def spiegelhalter_test(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
    clusters: TensorLike | None = None,
) -> SpiegelhalterTest:
    """Spiegelhalter's test: is the Brier score what the forecasts expect it to be?

    For scores p_i in [0, 1] with outcomes y_i in {0, 1}, the statistic

      z = sum_i (y_i - p_i) (1 - 2 p_i) / sqrt(sum_i (1 - 2 p_i)^2 p_i (1 - p_i))

    is standard normal in the limit if each y_i is 1 with probability p_i. The test
    finds only errors that change the Brier score: overconfidence and underconfidence.
    Scores of 1/2, and scores of 0 and 1 that are right, have no influence.

    z is not Normal if few surprises (outcomes that were unlikely) are expected. With

      V = sum (1 - 2 p)^2 p (1 - p),   E = V^3 / (sum (1 - 2 p)^4 p (1 - p))^2

    surprises are about Poisson with mean E, and E + z sqrt(E) of them were seen: z has
    the variance and the skewness of this number. Where E is below 10, the p-value is
    the larger of the Normal one and of twice the smaller mid-p tail of this
    distribution. At 5% calibrated models of confidences from 0.99 to 0.9999 were
    rejected in at most 6.2% of data sets, and where one error was expected in at most
    2.2%, instead of up to 8.5% by Normal p-values (`studies/nearly_certain.py`).
    `calibration_test(statistic="spiegelhalter")` draws labels instead.

    This is for independent examples. With `clusters`, of which there are C, let s_c be
    the sum of (y_i - p_i) (1 - 2 p_i) over the examples of cluster c. Then

      z = sum_c s_c / sqrt(max(C / (C - 1) sum_c s_c^2, R V))
      R = sum_c s_c^2 / sum_i ((y_i - p_i) (1 - 2 p_i))^2

    and the p-value is that of Student's distribution with C - 1 degrees of freedom. The
    second term is for data without a surprise, whose s_c are all alike. Few surprises
    do not tell whether those of a cluster come together. So E is computed as if they
    did, from sums over clusters of the roots of variances and the cube roots of third
    cumulants; where this E is below 10, the p-value is at least that of independent
    clusters whose surprises come together. If each cluster holds one example, the
    result is that without clusters. In simulations (`studies/cluster_coverage_risk.py`)
    with 50 or 100 clusters of 1 to 50 examples and correlations of 0 to 0.9, at most
    5.8% of calibrated models were rejected at 5%.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: whether each answer is right, 0 or 1, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).
        For NumPy functions; tensors take None.

    Returns:
      `SpiegelhalterTest(z, p_value)`, floats. z > 0 is a sign of overconfidence. The
      two-sided p-value is in [0, 1]; a small one is evidence against calibration. With
      clusters the result has `num_clusters` and `design_effect`, too. float32, or
      float64 for float64 predictions. Compiled code returns NaN for wrong values, for
      which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described; or all scores are 0, 1/2 or 1.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, probabilities = [1] * 70 + [0] * 30, [0.9] * 100
      >>> test = um.spiegelhalter_test(labels, probabilities)
      >>> round(float(test.z), 4), bool(test.p_value < 1e-10)
      (6.6667, True)

    References:
      Spiegelhalter (1986), Probabilistic Prediction in Patient Management and Clinical
      Trials.
    """

atb = averaged_two_bin_calibration_error

ks_calibration_error = kolmogorov_smirnov_calibration_error
