# As written by scripts/write_stubs.py.
from typing import overload
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _arguments, _inputs
from uncertainty_metrics.numpy.ensemble import _predictions, distances
__all__ = ["average_pairwise_diversity", "disagreement", "double_fault"]
DIVERSITIES = ("disagreement", "average_kl", "cosine_similarity")
def disagreement(logits_1: ArrayLike, logits_2: ArrayLike) -> float:
    """Share of the examples that two models decide differently.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: those of the other, of the same shape.

    Returns:
      The share of examples with different argmax, in [0, 1]. Ties go to the lowest
      class.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> logits_1, logits_2 = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]]
      >>> float(um.disagreement(logits_1, logits_2))
      0.5

    References:
      Skalak (1996), The Sources of Increased Accuracy for Two Proposed Boosting
      Algorithms.
    """
    ...
def double_fault(logits_1: ArrayLike, logits_2: ArrayLike, labels: ArrayLike) -> float:
    """Share of the examples that two models both decide wrong.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: those of the other, of the same shape.
      labels: integers in [0, K), shape [N, ...].

    Returns:
      The share, in [0, 1]. Smaller is better: the errors of the two coincide less.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> logits_1, logits_2 = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]]
      >>> float(um.double_fault(logits_1, logits_2, [0, 0]))
      0.5

    References:
      Giacinto and Roli (2001), Design of Effective Neural Network Ensembles for Image
      Classification Purposes.
    """
    ...
def average_pairwise_diversity(
    probs: ArrayLike, num_models: int | None = None, error: ArrayLike | None = None
) -> dict[str, float]:
    """Diversity of an ensemble: means over its M (M - 1) / 2 pairs of members.

      disagreement: share of the examples that the two decide differently
      average_kl: mean over the examples of KL(p_i || p_j), i < j, as `kl_divergence`
      cosine_similarity: mean over the examples of p_i.p_j / (|p_i| |p_j|)

    O(M N K): no pair is formed.

    Args:
      probs: probabilities of M >= 2 members in [0, 1], shape [M, N, K], or [M, N, 1] of
        class 1. There may be more axes of examples.
      num_models: M, to check it.
      error: a number > 0, which the disagreement is divided by; with the error rate of
        the members, ensembles of different accuracy compare.

    Returns:
      A dict `disagreement`, `average_kl`, `cosine_similarity`: in [0, 1] before the
      division; >= 0, inf where an earlier member gives a class a chance that a later
      one does not; in [0, 1]. Larger, larger and smaller is more diverse.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> diversity = um.average_pairwise_diversity([[[0.5, 0.5]], [[0.25, 0.75]]])
      >>> {name: round(float(value), 4) for name, value in diversity.items()}
      {'disagreement': 1.0, 'average_kl': 0.1438, 'cosine_similarity': 0.8944}

    References:
      Fort, Hu and Lakshminarayanan (2019), Deep Ensembles: A Loss Landscape
      Perspective.
    """
    ...
