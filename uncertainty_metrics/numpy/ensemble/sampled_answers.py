"""Several answers of one model to the same question: do they agree?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs, _missing, _row_math
from uncertainty_metrics.numpy._frames import takes_frames

__all__ = ["sampled_agreement", "semantic_entropy"]


class SampledAgreement(NamedTuple):
    """How far the sampled answers to each of N questions agree.

    Attributes:
      answer: the most frequent answer, the first of equally frequent ones, [N].
      agreement: its share of the answers, in (0, 1], float64 [N]. Larger is more sure.
      entropy: entropy of the shares of all distinct answers in nats, in [0, log S],
        float64 [N]. Larger is less sure.
    """

    answer: np.ndarray
    agreement: np.ndarray
    entropy: np.ndarray


class _Counts(NamedTuple):
    """The distinct answers of all rows, row by row.

    Attributes:
      row: the row of each distinct answer, ascending, [D].
      first: where it first stands, an index into the flat answers, [D].
      member: the distinct answer that each of the flat answers is, [N * S].
      size: how often it was given, [D].
      starts: where the distinct answers of each row start, [N].
    """

    row: np.ndarray
    first: np.ndarray
    member: np.ndarray
    size: np.ndarray
    starts: np.ndarray


def _table(name: str, values: ArrayLike) -> np.ndarray:
    """Returns answers [N, S] of one type: strings, integers or booleans.

    Raises:
      ValueError: the rows have different lengths, or there is nothing in them, or an
        answer is missing.
      TypeError: answers are neither strings nor integers.
    """
    expected = "of shape [N, S], as many answers for each question"
    try:
        table, missing = _missing.read_words(name, values)
    except ValueError:
        raise _checks.error(name, expected, "rows of different lengths") from None
    if table.ndim != 2 or table.size == 0:
        raise _checks.error(name, expected, f"shape {list(table.shape)}")
    if np.any(missing):
        received = f"none at {np.argwhere(missing)[0].tolist()}"
        raise _checks.error(name, "an answer everywhere", received, verb="hold")
    if table.dtype == object and not any(isinstance(v, str) for v in table.flat):
        table = np.array(table.tolist())  # Integers of a data frame.
    if table.dtype == object:
        kinds = {str if isinstance(v, str) else type(v) for v in table.flat}
        if kinds != {str}:
            raise TypeError(
                f"`{name}` must hold strings, or integers that stand for them. "
                f"Received: {', '.join(sorted(kind.__name__ for kind in kinds))}"
            )
        table = table.astype(str)
    if table.dtype.kind == "f":
        table = table.astype(np.float64)  # float16 has no 2^53.
        if not np.all((table == np.floor(table)) & (np.abs(table) < 2**53)):
            expected = "strings, or integers that stand for them"
            raise _checks.error(name, expected, "other numbers", verb="hold")
        table = table.astype(np.int64)
    if table.dtype.kind not in "biuU":
        raise TypeError(
            f"`{name}` must hold strings, or integers that stand for them. "
            f"Received: {table.dtype}"
        )
    return table


def _count(table: np.ndarray) -> _Counts:
    rows, samples = table.shape
    ids = np.unique(table, return_inverse=True)[1].reshape(rows, samples)
    keys = (np.arange(rows)[:, None] * (ids.max() + 1) + ids).reshape(-1)
    _, first, member, size = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    row = first // samples
    starts = np.searchsorted(row, np.arange(rows))
    return _Counts(row, first, member.reshape(-1), size, starts)


def _entropies(shares: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Returns the entropy of the shares of each row, which follow each other."""
    logarithms = np.log(np.where(shares > 0, shares, 1.0))
    return np.maximum(-np.add.reduceat(shares * logarithms, starts), 0.0)


def sampled_agreement(answers: ArrayLike) -> SampledAgreement:
    """Agreement of several sampled answers to each question (self-consistency).

    Of the S answers to a question, with n_a of them equal to a:

      agreement = max_a n_a / S
      entropy = -sum_a (n_a / S) log(n_a / S)

    Answers are equal if they are the same string or integer: bring them to one form
    first ("4", " four" and "4." are three answers). The agreement is a confidence for
    `ece`, `aurc` or `threshold_at_risk`; it need not be calibrated. The entropy is an
    uncertainty, for `auroc` with the labels 1 where the answer is wrong.

    Args:
      answers: strings, integers or booleans, shape [N, S]: S answers to each of N
        questions.

    Returns:
      `SampledAgreement(answer, agreement, entropy)`, arrays of shape [N]: the most
      frequent answer, its share in (0, 1] (larger is more sure), and the entropy in
      nats, in [0, log S] (larger is less sure).

    Raises:
      ValueError: the questions have different numbers of answers, or one is missing.
      TypeError: the answers are neither strings nor integers.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> answers = [["4", "4", "5", "4"], ["7", "9", "9", "7"]]
      >>> result = um.sampled_agreement(answers)
      >>> result.answer.tolist(), result.agreement.tolist()
      (['4', '7'], [0.75, 0.5])
      >>> result.entropy.round(4).tolist()
      [0.5623, 0.6931]

    References:
      Wang et al. (2023), Self-Consistency Improves Chain of Thought Reasoning in
      Language Models. Lin, Trivedi and Sun (2024), Generating with Confidence:
      Uncertainty Quantification for Black-box Large Language Models.
    """
    table = _table("answers", answers)
    counts = _count(table)
    # Sort the answers of each row by frequency, and equally frequent ones by place.
    order = np.lexsort((counts.first, -counts.size, counts.row))
    best = order[counts.starts]
    shares = counts.size / table.shape[1]
    return SampledAgreement(
        table.reshape(-1)[counts.first[best]],
        shares[best],
        _entropies(shares, counts.starts),
    )


@takes_frames
def semantic_entropy(
    clusters: ArrayLike, log_likelihoods: ArrayLike | None = None
) -> np.ndarray:
    """Entropy of the meanings of several sampled answers to each question.

    Answers of one meaning are a cluster; which they are, a model of entailment or a
    person says beforehand. With the share or the likelihood of each cluster c among the
    S answers s to a question,

      P(c) = n_c / S, or with likelihoods P(c) = sum_{s in c} p(s) / sum_s p(s)
      entropy = -sum_c P(c) log P(c)

    It is an uncertainty: large where the model is likely to make its answers up. Pass
    it to `auroc` with the labels 1 where the answer is wrong, and its negative as the
    `confidences` of `aurc` or `threshold_at_risk`.

    Args:
      clusters: the meaning of each answer, integers or strings, shape [N, S].
      log_likelihoods: log-likelihood of each answer, shape [N, S], finite or -inf, of
        the whole answer or for each token; None to count answers.

    Returns:
      Entropies in nats, float64 [N], in [0, log S]. Larger is less sure.

    Raises:
      ValueError: an argument is not as described, or all answers of a row have
        likelihood 0.
      TypeError: the clusters are neither strings nor integers.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> clusters = [[0, 0, 1, 0], [0, 1, 2, 3]]
      >>> um.semantic_entropy(clusters).round(4).tolist()
      [0.5623, 1.3863]
      >>> likelihoods = np.log([[0.1, 0.1, 0.2, 0.4], [0.4, 0.2, 0.1, 0.1]])
      >>> um.semantic_entropy(clusters, likelihoods).round(4).tolist()
      [0.5623, 1.213]

    References:
      Kuhn, Gal and Farquhar (2023), Semantic Uncertainty: Linguistic Invariances for
      Uncertainty Estimation in Natural Language Generation. Farquhar et al. (2024),
      Detecting Hallucinations in Large Language Models Using Semantic Entropy.
    """
    table = _table("clusters", clusters)
    counts = _count(table)
    if log_likelihoods is None:
        return _entropies(counts.size / table.shape[1], counts.starts)
    likelihoods = _likelihoods(log_likelihoods, table.shape)
    sums = np.bincount(counts.member, likelihoods.reshape(-1), len(counts.size))
    return _entropies(sums, counts.starts)


def _likelihoods(log_likelihoods: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns likelihoods [N, S] whose sum in each row is 1."""
    logarithms = _inputs.as_array("log_likelihoods", log_likelihoods)
    if logarithms.shape != shape:
        raise _checks.error(
            "log_likelihoods",
            f"of the shape of `clusters`, {list(shape)}",
            f"shape {list(logarithms.shape)}",
        )
    logarithms = logarithms.astype(np.float64)
    largest = logarithms.max(axis=1)  # NaN, if there is one.
    if not np.all(np.isfinite(largest)):
        wrong = ~np.isfinite(largest)
        raise _checks.error(
            "log_likelihoods",
            "finite, or -inf for some answers of a row",
            _inputs.first(wrong, largest),
        )
    return _row_math.softmax(logarithms)
