"""Selective prediction at a given risk: the threshold on the confidence."""

from __future__ import annotations

import math

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.selective import (
    _ranked_decisions,
    _selective_risks,
    _sorted_outcomes,
)

__all__ = ["threshold_at_risk"]

# With `delta`, tests of larger and larger coverages start at each of these.
_STARTS = (1 / 8, 1 / 4, 1 / 2, 3 / 4)


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
) -> float:
    """Confidence at which a classifier may decide with at most a given risk.

    The threshold of the largest coverage at which the risk, the share of errors among
    the examples with at least that confidence, is at most `risk`. Without `delta` this
    is the risk on these examples, as in `coverage_at_risk`; the risk on new examples
    will be above `risk` about every second time.

    With `delta` the risk on new examples is at most `risk` with a probability of at
    least 1 - delta over the draw of the examples, which must be independent and not
    have been trained on. A threshold with k errors among the s examples above it passes
    the test if

      P(Binomial(s, risk) <= k) <= delta / 4

    Thresholds of larger and larger coverages are tested, starting at coverages of 1/8,
    1/4, 1/2 and 3/4, and each start goes on until the first threshold that fails.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      risk: largest share of errors among the examples that are decided, in [0, 1].
      delta: largest probability that the risk on new examples is above `risk`, in
        (0, 1); None for no guarantee.
      logits: logits of the same shape, instead of `probabilities`.
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
      ignore_index: a label whose examples are left out.

    Returns:
      The threshold: decide examples with at least this confidence. It is +inf if none
      may be decided; with `delta`, 0.0 (-inf for `confidences`) if all may be decided.

    Raises:
      ValueError: an argument is not as described, or there are weights with `delta`.

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
      Predictive Algorithms to Achieve Risk Control.
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
    else:
        scores, outcomes, weights = _ranked_decisions.examples_of(data)
    if delta is None:
        scores = _sorted_outcomes.floating(scores)
        groups = _sorted_outcomes.groups(scores, outcomes, weights)
        curve = _selective_risks.curve_of(scores, groups, False)
        fits = curve.risks <= risk * _sorted_outcomes.ROUND_UP
        return float(np.min(curve.thresholds, where=fits, initial=np.inf))
    delta = _checks.open_unit("delta", delta)
    if sample_weight is not None:
        raise _checks.error("sample_weight", "None with `delta`", "weights")
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
