"""The Brier score in relation to the Brier score of the base rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.scoring import scoring_rules

__all__ = ["scaled_brier_score"]


@takes_frames
def scaled_brier_score(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
) -> float:
    """Scaled Brier score: the share by which forecasts improve the Brier score of the
    base rate.

    Other names are Brier skill score and index of prediction accuracy. With pi_k the
    share of label k,

      scaled = 1 - mean of sum_k (p_k - (k == y))^2 / (1 - sum_k pi_k^2)

    The denominator is the Brier score of the same forecast pi for every example; for
    two classes it is 2 pi_1 (1 - pi_1). Scores of data with different base rates can be
    compared only roughly, because the score of the best possible forecast differs, too.

    With `multilabel` both Brier scores are the means over all labels, and each label
    has its own base rate.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      A number of at most 1. Perfect forecasts have 1; the base rate of these examples,
      as the forecast for every example, has 0; worse forecasts have less than 0. Larger
      is better.

    Raises:
      ValueError: an argument is not as described, or all labels are the same, so that
        the base rate is a perfect forecast.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> round(um.scaled_brier_score([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.7]), 6)
      0.58
      >>> tags, p = [[1, 0], [0, 1]], [[0.7, 0.1], [0.3, 0.6]]
      >>> round(um.scaled_brier_score(tags, p, multilabel=True), 6)
      0.65

    References:
      Steyerberg et al. (2010), Assessing the Performance of Prediction Models: A
      Framework for Traditional and Novel Measures. Kattan and Gerds (2018), The Index
      of Prediction Accuracy: An Intuitive Measure Useful for Evaluating Risk Prediction
      Models.
    """
    _checks.boolean("multilabel", multilabel)
    examples: Any = _examples.examples_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            label_distributions=label_distributions,
            multilabel=multilabel,
        )
    )
    if multilabel:
        places, weights = examples.places, examples.weights
        hits = places.sums(examples.labels * (1.0 if weights is None else weights))
        masses = places.sums(weights)
        shares = hits / np.where(masses > 0, masses, 1.0)
        of_base_rate = 2 * float(hits @ (1 - shares)) / masses.sum()
    elif examples.shares is None:
        masses = np.bincount(examples.labels, examples.weights)
        shares = masses / masses.sum()
        of_base_rate = float(shares @ (1 - shares))
    else:
        shares = np.average(examples.shares, axis=0, weights=examples.weights)
        of_base_rate = float(shares @ (1 - shares))
    if not of_base_rate > 0:
        name = "labels" if label_distributions is None else "label_distributions"
        expected, received = "at least two classes", f"only {shares.argmax()}"
        if multilabel:
            expected, received = "0 and 1 for at least one label", "one of them for all"
        raise _checks.error(name, expected, received, "hold")
    score = scoring_rules.brier_score(examples, zero_based=True)
    return float(1 - score / of_base_rate)
