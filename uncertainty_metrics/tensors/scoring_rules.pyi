# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import BrierParts, ExactBrierParts, GroupValues, ImageMean

def brier_decomposition(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    label_distributions: TensorLike | None = None,
) -> BrierParts:
    """Uncertainty, resolution and reliability: three parts of the Brier score.

    Examples are partitioned by their decision k, the argmax. With w_k the share of the
    examples decided as k, dbar_kj the frequency of label j among them and pbar_j its
    frequency among all examples:

      uncertainty = -sum_j pbar_j^2
      resolution = sum_k w_k sum_j (dbar_kj - pbar_j)^2
      reliability = mean over examples of sum_j (p_j - dbar_kj)^2

    `uncertainty - resolution + reliability` is the Brier score if all forecasts of a
    decision are equal. The parts of `brier_decomposition_exact` sum to the Brier score
    for any data.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).

    Returns:
      A named tuple `(uncertainty, resolution, reliability)`: uncertainty in [-1, -1/K];
      resolution in [0, 1], larger is better; reliability in [0, 2], smaller is better
      and 0 is calibrated. float32, or float64 for float64 predictions. Compiled code
      returns NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]]
      >>> parts = um.brier_decomposition([0, 1, 1, 1], probabilities=probabilities)
      >>> [round(float(part), 6) for part in parts]
      [-0.625, 0.125, 0.18]

    References:
      Murphy (1973), A New Vector Partition of the Probability Score.
      Bröcker (2009), Reliability, Sufficiency, and the Decomposition of Proper Scores.
    """

def brier_decomposition_exact(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    label_distributions: TensorLike | None = None,
) -> ExactBrierParts:
    """Five parts that sum to the Brier score, for any data.

    Examples are partitioned as in `brier_decomposition`. With fbar_kj the mean of p_j,
    and dbar_kj the mean of the outcome d_j = (j == y), over the examples decided as k:

      reliability = sum_k w_k sum_j (fbar_kj - dbar_kj)^2
      within_bin_variance = mean of sum_j (p_j - fbar_kj)^2
      within_bin_covariance = 2 * mean of sum_j (p_j - fbar_kj) (d_j - dbar_kj)
      Brier = uncertainty - resolution + reliability
              + within_bin_variance - within_bin_covariance

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).

    Returns:
      A named tuple `(uncertainty, resolution, reliability, within_bin_variance,
      within_bin_covariance)`. Its `reliability`, of the mean forecasts, is at most the
      `reliability` of `brier_decomposition`; smaller is better. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> data = {"labels": [0, 1, 1], "probabilities": [0.2, 0.4, 0.9]}
      >>> u, resolution, reliability, variance, covariance = (
      ...     um.brier_decomposition_exact(**data)
      ... )
      >>> total = u - resolution + reliability + variance - covariance
      >>> bool(abs(total - um.brier_score(**data)) < 1e-6)
      True

    References:
      Stephenson, Coelho and Jolliffe (2008), Two Extra Components in the Brier Score
      Decomposition.
    """

@overload
def brier_score(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Brier score: the squared distance of the forecast from the outcome.

      Brier = sum_k p_k^2 - 2 p_y

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      zero_based: whether to add 1, which makes it `sum_k (p_k - (k == y))^2`. For two
        classes that is twice the mean squared error of P(class 1).
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The mean, or scores of the shape of the labels; in [-1, 1], or in [0, 2] for
      `zero_based`. Smaller is better. float32, or float64 for float64 predictions.
      Compiled code returns NaN for wrong values, for which eager code raises
      ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> score = um.brier_score([0, 1], probabilities=[[0.9, 0.1], [0.4, 0.6]])
      >>> round(float(score), 6)
      -0.83

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """

@overload
def brier_score(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def brier_score(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

@overload
def negative_log_likelihood(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Negative log-likelihood, the logarithmic score: `-log p_y` in nats.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`; the value keeps its
        precision where the probability of the label underflows.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The mean, or scores of the shape of the labels; >= 0, inf where the label had
      probability 0. Smaller is better. float32, or float64 for float64 predictions.
      Compiled code returns NaN for wrong values, for which eager code raises
      ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> score = um.negative_log_likelihood([0, 1], logits=[[1000.0, 0.0], [0.0, 0.0]])
      >>> round(float(score), 6)
      0.346574

    References:
      Good (1952), Rational Decisions.
    """

@overload
def negative_log_likelihood(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...

@overload
def negative_log_likelihood(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
    per_image: Literal[False] = False,
) -> GroupValues: ...

@overload
def ranked_probability_score(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    label_distributions: TensorLike | None = None,
) -> Tensor:
    """Ranked probability score (RPS) of ordered classes: the CRPS of integers.

    With F_k = p_0 + ... + p_k:

      RPS = sum_k (F_k - (y <= k))^2

    Probability that is two classes away from the label costs more than probability that
    is one class away. For two classes the RPS is half of the zero-based Brier score.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`; small scores keep
        their precision.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.

    Returns:
      The mean, or scores of the shape of the labels; in [0, K - 1]. Smaller is better.
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> rows = [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]
      >>> scores = um.ranked_probability_score([0, 2], rows, aggregate=False)
      >>> [round(float(score), 6) for score in scores]
      [0.17, 1.17]

    References:
      Epstein (1969), A Scoring System for Probability Forecasts of Ranked Categories.
      Murphy (1971), A Note on the Ranked Probability Score.
    """

@overload
def ranked_probability_score(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    label_distributions: TensorLike | None = None,
    groups: TensorLike,
    num_groups: int,
) -> GroupValues: ...
