# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def average_pairwise_diversity(
    probs: TensorLike,
    num_models: int | None = None,
    error: TensorLike | None = None,
) -> dict[str, Tensor]:
    """Diversity of an ensemble: means over its M (M - 1) / 2 pairs of members.

      disagreement: share of the examples for which the decisions differ
      average_kl: mean over the examples of KL(p_i || p_j), i < j, see `kl_divergence`
      cosine_similarity: mean over the examples of p_i.p_j / (|p_i| |p_j|)

    O(M N K): no pair is formed.

    Args:
      probs: probabilities of M >= 2 members in [0, 1], shape [M, N, K], or [M, N, 1] of
        class 1. There may be more axes of examples.
      num_models: the expected M, to check `probs`; None for no check.
      error: a number > 0 by which to divide the disagreement. Divided by the error rate
        of the members, ensembles of different accuracies can be compared.

    Returns:
      A dict of `disagreement`, in [0, 1] before the division, larger is more diverse;
      `average_kl`, >= 0, larger is more diverse, inf if a class has probability 0 for a
      member but not for an earlier one; and `cosine_similarity`, in [0, 1], smaller is
      more diverse. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> diversity = um.average_pairwise_diversity([[[0.5, 0.5]], [[0.25, 0.75]]])
      >>> {name: round(float(value), 4) for name, value in diversity.items()}
      {'disagreement': 1.0, 'average_kl': 0.1438, 'cosine_similarity': 0.8944}

    References:
      Fort, Hu and Lakshminarayanan (2019), Deep Ensembles: A Loss Landscape
      Perspective.
    """

def disagreement(
    logits_1: TensorLike,
    logits_2: TensorLike,
) -> Tensor:
    """Share of the examples that two models decide differently.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: scores of the other model, of the same shape.

    Returns:
      The share of examples with different argmax, in [0, 1]. Ties go to the lowest
      class. float32, or float64 for float64 predictions. Compiled code returns NaN for
      wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logits_1, logits_2 = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]]
      >>> float(um.disagreement(logits_1, logits_2))
      0.5

    References:
      Skalak (1996), The Sources of Increased Accuracy for Two Proposed Boosting
      Algorithms.
    """

def double_fault(
    logits_1: TensorLike,
    logits_2: TensorLike,
    labels: TensorLike,
) -> Tensor:
    """Share of the examples that two models both decide wrong.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: scores of the other model, of the same shape.
      labels: integer class labels in [0, K), shape [N, ...].

    Returns:
      The share, in [0, 1]. Smaller is better: the errors of the two coincide less.
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logits_1, logits_2 = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]]
      >>> float(um.double_fault(logits_1, logits_2, [0, 0]))
      0.5

    References:
      Giacinto and Roli (2001), Design of Effective Neural Network Ensembles for Image
      Classification Purposes.
    """
