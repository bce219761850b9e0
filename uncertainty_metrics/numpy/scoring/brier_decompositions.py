"""Decompositions of the Brier score into parts, exact and in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import BrierParts, ExactBrierParts
from uncertainty_metrics.numpy import _examples, _row_math
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.scoring import _frequencies_by_decision
from uncertainty_metrics.numpy.scoring.scoring_rules import at_label

__all__ = ["brier_decomposition", "brier_decomposition_exact"]


@takes_frames
def brier_decomposition(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    label_distributions: ArrayLike | None = None,
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
      and 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]]
      >>> parts = um.brier_decomposition([0, 1, 1, 1], probabilities=probabilities)
      >>> [round(float(part), 6) for part in parts]
      [-0.625, 0.125, 0.18]

    References:
      Murphy (1973), A New Vector Partition of the Probability Score.
      Bröcker (2009), Reliability, Sufficiency, and the Decomposition of Proper Scores.
    """
    examples = _examples.examples_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            label_distributions=label_distributions,
        )
    )
    examples, weights, decisions = _frequencies_by_decision.by_decision(examples)
    dbar, shares = _frequencies_by_decision.frequencies(examples, weights, decisions)
    pbar = shares @ dbar

    def distance(p: np.ndarray, block: slice) -> np.ndarray:
        p -= dbar.take(decisions[block], axis=0)
        return _row_math.dot(p, p)

    return BrierParts(
        float(-np.sum(pbar**2)),
        float(shares @ np.sum((dbar - pbar) ** 2, axis=1)),
        float(np.sum(weights * examples.in_blocks(distance))),
    )


@takes_frames
def brier_decomposition_exact(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    label_distributions: ArrayLike | None = None,
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
      within_bin_covariance)`. Its `reliability`, of the mean forecasts, is at most
      the `reliability` of `brier_decomposition`; smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
    examples = _examples.examples_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            label_distributions=label_distributions,
        )
    )
    examples, weights, decisions = _frequencies_by_decision.by_decision(examples)
    dbar, shares = _frequencies_by_decision.frequencies(examples, weights, decisions)
    fbar = _frequencies_by_decision.means(examples, weights, decisions, shares)
    pbar = shares @ dbar

    def deviations(p: np.ndarray, block: slice) -> np.ndarray:
        p -= fbar.take(decisions[block], axis=0)
        # The deviations of a decision have mean 0, so subtracting dbar changes nothing.
        if examples.shares is None:
            products = at_label(p, examples.labels[block])
        else:
            products = _row_math.dot(p, examples.shares[block])
        return np.stack([_row_math.dot(p, p), products], axis=1)

    squares, products = examples.in_blocks(deviations, 2).T
    return ExactBrierParts(
        float(-np.sum(pbar**2)),
        float(shares @ np.sum((dbar - pbar) ** 2, axis=1)),
        float(shares @ np.sum((fbar - dbar) ** 2, axis=1)),
        float(np.sum(weights * squares)),
        float(2 * np.sum(weights * products)),
    )
