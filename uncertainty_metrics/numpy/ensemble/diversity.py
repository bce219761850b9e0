"""Diversity: how differently the members of an ensemble decide and predict."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs, _row_math, _threads
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.ensemble import _predictions, distances

__all__ = ["average_pairwise_diversity", "disagreement", "double_fault"]

# For divergences above this the plain formula loses fewer than two digits.
_SMALL_DIVERGENCE = 2.0**-6
DIVERSITIES = ("disagreement", "average_kl", "cosine_similarity")


def _scores_of_two(logits_1: ArrayLike, logits_2: ArrayLike) -> tuple[np.ndarray, ...]:
    """Returns the scores of two models, [N, ..., K] with K >= 2, finite or -inf."""
    names = ("logits_1", "logits_2")
    scores = _predictions.pair(names, (logits_1, logits_2), rank=2, size=2)
    return tuple(map(_predictions.checked, names, scores))


@takes_frames
def disagreement(logits_1: ArrayLike, logits_2: ArrayLike) -> float:
    """Share of the examples that two models decide differently.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: scores of the other model, of the same shape.

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
    scores_1, scores_2 = _scores_of_two(logits_1, logits_2)
    return float(np.mean(_row_math.argmax(scores_1) != _row_math.argmax(scores_2)))


@takes_frames
def double_fault(logits_1: ArrayLike, logits_2: ArrayLike, labels: ArrayLike) -> float:
    """Share of the examples that two models both decide wrong.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: scores of the other model, of the same shape.
      labels: integer class labels in [0, K), shape [N, ...].

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
    scores_1, scores_2 = _scores_of_two(logits_1, logits_2)
    shape = scores_1.shape
    labels = _predictions.flat_labels(labels, "logits_1", shape, shape[:-1])
    wrong_1, wrong_2 = (
        _row_math.argmax(scores).reshape(-1) != labels
        for scores in (scores_1, scores_2)
    )
    return float(np.mean(wrong_1 & wrong_2))


@np.errstate(divide="ignore", invalid="ignore")
def _divergences(p: np.ndarray) -> np.ndarray:
    """Returns the sums of the KL divergences over the pairs i < j of members [M, N, K],
    [N]. Probabilities are 0 or at least TINY.

    Digits cancel if the divergences are small. They are NaN if all members up to one of
    them say that a class is impossible. No pair is formed:

      sum_(i<j) KL(p_i || p_j) = sum_k sum_i (log(p_i) ((M - 1 - i) p_i - sum_(j<i) p_j)
                                              + (2 i - M + 1) p_i)
    """
    m, n, classes = p.shape
    sums = np.zeros(n)
    # Sums of the earlier members, and of these sums.
    earlier, rest = np.zeros((2, n, classes))
    terms = np.empty((n, classes))
    for i, log in enumerate(np.log(p)):
        np.multiply(p[i], m - 1 - i, out=terms)
        terms -= earlier
        sums += _row_math.dot(terms, log)
        rest += earlier
        earlier += p[i]
    sums += ((m - 1) * earlier - 2 * rest).sum(axis=-1)
    return sums


def _small_divergences(p: np.ndarray) -> np.ndarray:
    """Returns the same as `_divergences`, for all members and to full precision.

    With c the mean of the members, t_i = p_i / c - 1 and l_i = log(p_i / c) =
    t_i - e_i:

      sum_(i<j) KL(p_i || p_j) = sum_k c sum_i (l_i ((M - 1 - i) t_i - sum_(j<i) t_j)
                                                - (M - 1 - 2 i) e_i)

    where all terms are of second order in t, so that no digits cancel.
    """
    m = len(p)
    impossible = p == 0
    mean = np.matmul(np.ones(m), p.reshape(m, -1)).reshape(p.shape[1:]) / m
    inverse = 1 / np.where(mean >= distances.TINY, mean, 1)
    t = p - mean
    t *= inverse
    ratios = p * inverse
    np.copyto(ratios, 1, where=impossible)  # Its logarithm is 0.
    e = distances.log_excess(t, np.log(ratios, out=ratios))
    np.copyto(e, t, where=impossible)
    total = np.matmul(np.arange(1.0 - m, m, 2), e.reshape(m, -1)).reshape(mean.shape)
    logs = np.subtract(t, e, out=e)
    earlier, terms = np.zeros_like(mean), np.empty_like(mean)
    for i in range(m):
        np.multiply(t[i], m - 1 - i, out=terms)
        terms -= earlier
        terms *= logs[i]
        total += terms
        earlier += t[i]
    sums = np.maximum((mean * total).sum(axis=-1), 0)
    # A class is possible for an earlier member and impossible for a later one.
    if impossible.any():
        lost = np.logical_or.accumulate(~impossible, axis=0) & impossible
        sums[lost.any(axis=(0, -1))] = np.inf
    return sums


def _cosines(p: np.ndarray) -> np.ndarray:
    """Returns the sums of the cosines over the pairs of members [M, N, K], [N]."""
    norms = np.sqrt(_row_math.dot(p, p))
    inverse = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    direction = np.einsum("mnk,mn->nk", p, inverse)
    return (_row_math.dot(direction, direction) - np.sum(norms > 0, axis=0)) / 2


def _members(rows: np.ndarray) -> np.ndarray:
    """Returns float64 probabilities [M, N, K], where subnormal numbers are 0."""
    p = _predictions.classes("probs", rows)
    impossible = p < distances.TINY
    if impossible.any():
        np.copyto(p, 0, where=impossible)
    return p


def _diversity(p: np.ndarray) -> np.ndarray:
    """Returns disagreement, KL divergence and cosine similarity of members [M, N, K],
    means over the pairs i < j, [3, N]. Small divergences have few digits.
    """
    pairs = len(p) * (len(p) - 1) / 2
    decisions = np.argmax(_inputs.ordered_bits(p), axis=-1)
    votes = _predictions.votes(decisions.T, p.shape[-1])
    differing = _predictions.share_of_pairs(votes)
    return np.stack([differing, _divergences(p) / pairs, _cosines(p) / pairs])


def average_pairwise_diversity(
    probs: ArrayLike, num_models: int | None = None, error: ArrayLike | None = None
) -> dict[str, float]:
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
      more diverse.

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
    rows, _ = _predictions.member_rows(probs, num_models, least=2)
    if error is not None:
        number = _inputs.as_array("error", error)
        _predictions.check_number("error", number.shape)
        if not 0 < number < np.inf:
            raise _checks.error("error", "a finite number > 0", number)
    values = _predictions.in_blocks(lambda p: _diversity(_members(p)), rows, axis=1)
    small = np.flatnonzero(~(values[1] >= _SMALL_DIVERGENCE))
    if len(small) > 0:
        values[1, small] = _threads.fill_rows(
            np.empty(len(small)),
            lambda block: _small_divergences(_members(rows[:, small[block]])),
            row_size=rows[:, 0].size,
        )
        values[1, small] /= len(rows) * (len(rows) - 1) / 2
    means = values.mean(axis=-1).tolist()
    diversity = dict(zip(DIVERSITIES, means, strict=True))
    if error is not None:
        diversity["disagreement"] /= float(number)
    return diversity
