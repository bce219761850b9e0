"""Accuracy: the share of right decisions of a classifier."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import GroupValues
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.scoring import scoring_rules
from uncertainty_metrics.numpy.selective._ranked_decisions import decisions

__all__ = ["accuracy"]


@overload
def accuracy(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float: ...


@overload
def accuracy(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


@takes_frames
def accuracy(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
) -> float | GroupValues:
    """Accuracy: the share of right decisions.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax, the
        lowest of equals.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.

    Returns:
      A share in [0, 1]. Larger is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.accuracy([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6]))
      0.75
    """
    examples = _examples.examples_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            groups=groups,
            num_groups=num_groups,
        )
    )
    decided, _ = decisions(examples)
    if examples.predicted is not None:
        decided = examples.predicted
    hits = (decided == examples.labels).astype(np.float64)
    return scoring_rules.reduced(examples, hits, aggregate=True, worst=np.min)
