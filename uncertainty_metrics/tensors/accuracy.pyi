# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import GroupValues

@overload
def accuracy(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> Tensor:
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
      A share in [0, 1]. Larger is better. float32, or float64 for float64 predictions.
      Compiled code returns NaN for wrong values, for which eager code raises
      ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.accuracy([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6]))
      0.75
    """

@overload
def accuracy(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    groups: TensorLike,
    num_groups: int,
) -> GroupValues: ...
