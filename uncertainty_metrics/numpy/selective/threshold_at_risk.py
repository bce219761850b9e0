"""Selective prediction at a given risk: the threshold on the confidence."""

from __future__ import annotations

import math

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy._clusters import (
    Clusters,
    cluster_codes,
    one_example_each,
)
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective import (
    _ranked_decisions,
    _selective_risks,
    _sorted_outcomes,
)

__all__ = ["threshold_at_risk"]

# With `delta`, tests of larger and larger coverages start at each of these.
_STARTS = (1 / 8, 1 / 4, 1 / 2, 3 / 4)
# At most this many clusters choose the starts.
_MOST_OF_STARTS = 50


@takes_frames
def threshold_at_risk(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    risk: float = 0.05,
    delta: float | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> float:
    """Confidence at which a classifier may decide with at most a given risk.

    The threshold of the largest coverage at which the risk, the share of errors among
    the examples with at least that confidence, is at most `risk`. Without `delta` this
    is the risk on these examples, as in `coverage_at_risk`; the risk on new examples
    will be above `risk` about every second time.

    With `delta` the risk on new examples is at most `risk` with a probability of at
    least 1 - delta over the draw of the examples, which must not have been trained on,
    and must be independent, or come in independent `clusters`. A threshold with k
    errors among the s independent examples above it passes the test if

      P(Binomial(s, risk) <= k) <= delta / 4

    Thresholds of larger and larger coverages are tested, starting at coverages of 1/8,
    1/4, 1/2 and 3/4, and each start goes on until the first threshold that fails.

    With `clusters` the risk is the expected number of errors of a new cluster over the
    expected number of its decided examples. With e_c errors among the d_c examples of
    cluster c that are decided, and n the size of the largest cluster, a threshold
    passes the test if

      sum_j 2^-(j + 1) product over c of (1 + b_j (risk d_c - e_c)) >= 4 / delta
      b_j = 2^-j / ((1 - risk) n),  j = 0, 1, ..., log2(sqrt(C)) for C clusters

    A product is the capital of a bet that is fair if the risk equals `risk`, so this
    holds for any dependence within a cluster. A tenth of the clusters, 50 at most,
    which a fixed seed chooses, set the starts by their scores; the tests read the
    others. Clusters of one example give the threshold without clusters. In simulations
    (`studies/cluster_coverage_risk.py`) with 50 or 100 clusters of 1 to 50 examples,
    correlations of 0 to 0.9 and a delta of 0.05, the risk was above `risk` in at most
    0.8% of data sets; but with 50 clusters hardly any decision was allowed.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      risk: largest share of errors among the examples that are decided, in [0, 1].
      delta: largest probability that the risk on new examples is above `risk`, in
        (0, 1); None for no guarantee.
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      clusters: Only for `delta`: cluster of each example, integers or strings
        (conventions.md#clusters).

    Returns:
      The threshold: decide examples with at least this confidence. It is +inf if none
      may be decided; with `delta`, 0.0 (-inf for `confidences`) if all may be decided.
      It is a float, also with `clusters`: it has no `num_clusters`.

    Raises:
      ValueError: an argument is not as described, there are weights with `delta`, or
        `clusters` without `delta`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> correct, confidences = [1, 1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.5]
      >>> um.threshold_at_risk(risk=0.25, correct=correct, confidences=confidences)
      0.6
      >>> um.threshold_at_risk([1] * 90, [0.9] * 90, risk=0.1, delta=0.05)
      0.0

    References:
      Geifman and El-Yaniv (2017), Selective Classification for Deep Neural Networks.
      Angelopoulos, Bates, Candes, Jordan and Lei (2021), Learn then Test: Calibrating
      Predictive Algorithms to Achieve Risk Control. Waudby-Smith and Ramdas (2024),
      Estimating Means of Bounded Random Variables by Betting.
    """
    risk = _checks.share("risk", risk)
    lowest = -math.inf
    data = RankedData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    if _ranked_decisions.is_classifier(data):
        lowest = 0.0
        examples = _examples.examples(
            labels,
            probabilities,
            logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
        decided, scores = examples.decided
        outcomes, weights = decided == examples.labels, examples.weights
        shape, counted = examples.counted.shape, examples.counted
    else:
        scores, outcomes, weights = _ranked_decisions.examples_of(data)
        shape, counted = _inputs.as_array("correct", correct).shape, None
    if delta is None:
        if clusters is not None:
            raise _checks.error("clusters", "None without `delta`", "clusters")
        scores = _sorted_outcomes.floating(scores)
        groups = _sorted_outcomes.groups(scores, outcomes, weights)
        curve = _selective_risks.curve_of(scores, groups, False)
        fits = curve.risks <= risk * _sorted_outcomes.ROUND_UP
        return float(np.min(curve.thresholds, where=fits, initial=np.inf))
    delta = _checks.open_unit("delta", delta)
    if sample_weight is not None:
        raise _checks.error("sample_weight", "None with `delta`", "weights")
    if clusters is not None:
        few = "the guarantee holds, but hardly any decision may be allowed"
        of_examples = cluster_codes(clusters, shape, counted, few)
        first = one_example_each(of_examples, None, scores, outcomes)
        if first is None:
            return _guaranteed_in_clusters(
                scores, outcomes, of_examples, risk, delta, lowest
            )
        scores, outcomes = scores[first], outcomes[first]
    return _guaranteed(scores, outcomes, risk, delta, lowest)


def _guaranteed(
    scores: np.ndarray, correct: np.ndarray, risk: float, delta: float, lowest: float
) -> float:
    """Returns the threshold of the largest coverage at which the risk is guaranteed, or
    `lowest` if all examples may be decided.
    """
    n = len(scores)
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    errors = np.concatenate([[0], np.cumsum(~correct[order])])
    # Given the score of a rank that is fixed beforehand, the examples above this score
    # are independent draws. Examples with exactly this score are not, so none is used.
    bounds = np.append(ordered[1:], ordered[-1:])
    above = np.append(np.searchsorted(-ordered, -bounds[:-1], "left"), n)
    level = delta / len(_STARTS)
    fails = scipy.special.bdtr(errors[above], above, risk) > level
    failures = np.flatnonzero(np.append(fails, True)) if risk < 1 else np.array([n])
    best = -1
    for start in _STARTS:
        # No example is above the largest score, so there is no test at it.
        first = max(math.ceil(n * start) - 1, int(np.searchsorted(above, 1)))
        end = int(failures[np.searchsorted(failures, first)])
        best = max(best, end - 1 if end > first else -1)
    if best < 0:
        return math.inf
    if best == n - 1:
        return lowest
    return float(np.nextafter(bounds[best], np.asarray(np.inf, bounds.dtype)))


def _guaranteed_in_clusters(
    scores: np.ndarray,
    correct: np.ndarray,
    clusters: Clusters,
    risk: float,
    delta: float,
    lowest: float,
) -> float:
    """Returns what `_guaranteed` returns, for examples in clusters.

    The starts depend on clusters of their own, so they are fixed for the others. From
    there on, every threshold is tested until one fails: a threshold at which the risk
    is too large is passed only if its own test errs.
    """
    if risk == 1:
        return lowest
    num_of_starts = min(math.ceil(clusters.number / 10), _MOST_OF_STARTS)
    chosen = np.zeros(clusters.number, bool)
    chosen[np.random.default_rng(0).permutation(clusters.number)[:num_of_starts]] = True
    for_starts = chosen[clusters.codes]
    of_starts = -np.sort(-scores[for_starts])
    ranks = [math.ceil(len(of_starts) * start) - 1 for start in _STARTS]
    scores, correct = scores[~for_starts], correct[~for_starts]
    codes, number = clusters.codes[~for_starts], clusters.number - num_of_starts
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    logs = _log_capitals(~correct[order], codes[order], clusters.number, number, risk)
    last = np.append(ordered[1:] != ordered[:-1], True)  # The last of equal scores.
    steps, logs = ordered[last], logs[last]
    fails = np.append(logs < math.log(len(_STARTS) / delta), True)
    failures, best = np.flatnonzero(fails), -1
    for start in of_starts[ranks]:
        first = int(np.searchsorted(-steps, -start, "right")) - 1
        if first >= 0:
            end = int(failures[np.searchsorted(failures, first)])
            best = max(best, end - 1 if end > first else -1)
    if best < 0:
        return math.inf
    if best == len(steps) - 1:
        return lowest
    return float(np.nextafter(steps[best + 1], np.asarray(np.inf, steps.dtype)))


def _log_capitals(
    wrong: np.ndarray, codes: np.ndarray, number_of_codes: int, number: int, risk: float
) -> np.ndarray:
    """Returns the logarithm of the capital of all bets when the examples up to each
    one are decided, [N].

    Args:
      wrong: whether each decision is wrong, the most confident first, boolean [N].
      codes: the cluster of each example, [N].
      number_of_codes: a number above all codes.
      number: number of clusters that bet.
      risk: the risk that the bets are against, below 1.
    """
    by_cluster = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=number_of_codes)
    sizes = sizes[sizes > 0]
    starts = np.cumsum(sizes) - sizes
    excess = np.cumsum(wrong[by_cluster] - risk)
    excess -= np.repeat(excess[starts] - (wrong[by_cluster][starts] - risk), sizes)
    largest = (1 - 2.0**-20) / ((1 - risk) * sizes.max())
    is_first = np.zeros(len(codes), bool)
    is_first[starts] = True
    capitals, growth = np.full(len(codes), -np.inf), np.empty(len(codes))
    for j in range(1 + math.ceil(math.log2(number) / 2)):  # There are few bets.
        steps = np.log1p(-largest * 0.5**j * excess)
        steps[1:] -= np.where(is_first[1:], 0.0, steps[:-1])
        growth[by_cluster] = steps
        logs = np.cumsum(growth) - (j + 1) * math.log(2)
        np.logaddexp(capitals, logs, out=capitals)
    return capitals
