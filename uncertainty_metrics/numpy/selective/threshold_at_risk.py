"""Selective prediction at a promised risk: where to stop predicting."""

from __future__ import annotations

import math

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.selective import _ranking, risk_coverage

__all__ = ["threshold_at_risk"]

# Coverages from which larger ones are tried, where the risk is promised.
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
    """Confidence from which on a classifier may decide at a given risk.

    The threshold of the largest coverage at which the risk, the share of errors among
    the examples of at least that confidence, is at most `risk`: on these examples, as
    `coverage_at_risk` has it. On new ones it will be above `risk` about every other
    time. With `delta` it is not, with a probability of 1 - delta at least over the
    draw of the examples, which must be independent and not be trained on: a threshold
    with k errors among the s examples above it holds if

      P(Binomial(s, risk) <= k) <= delta / 4

    and those of larger and larger coverages are tried, from coverages of 1/8, 1/4, 1/2
    and 3/4 on, each as long as all before it hold.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      risk: the share of errors that is allowed, in [0, 1].
      delta: how likely the risk of new examples may be larger, in (0, 1); None
        promises nothing.
      logits: logits of the same shape, instead of `probabilities`.
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
      ignore_index: a label whose examples are left out.

    Returns:
      The threshold: decide where the confidence is >= it. +inf where no coverage will
      do; with `delta` 0.0 (-inf of `confidences`) where every example may be decided.

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
    if risk_coverage.is_classifier(data):
        lowest = 0.0
        examples = _inputs.examples(
            labels,
            probabilities,
            logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
        decided, scores = examples.decided
        outcomes, weights = decided == examples.labels, examples.weights
    else:
        scores, outcomes, weights = risk_coverage.examples_of(data)
    if delta is None:
        scores = _ranking.floating(scores)
        groups = _ranking.groups(scores, outcomes, weights)
        curve = risk_coverage.curve_of(scores, groups, False)
        fits = curve.risks <= risk * _ranking.ROUND_UP
        return float(np.min(curve.thresholds, where=fits, initial=np.inf))
    delta = _checks.open_unit("delta", delta)
    if sample_weight is not None:
        raise _checks.error("sample_weight", "None with `delta`", "weights")
    return _promised(scores, outcomes, risk, delta, lowest)


def _promised(
    scores: np.ndarray, correct: np.ndarray, risk: float, delta: float, lowest: float
) -> float:
    """Returns the threshold of the largest coverage that holds the risk."""
    n = len(scores)
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    errors = np.concatenate([[0], np.cumsum(~correct[order])])
    # What is above the score of a rank that is given beforehand is drawn at random from
    # all that is above that score; with examples of the score itself it would not be.
    bounds = np.append(ordered[1:], ordered[-1:])
    above = np.append(np.searchsorted(-ordered, -bounds[:-1], "left"), n)
    level = delta / len(_STARTS)
    fails = scipy.special.bdtr(errors[above], above, risk) > level
    fails = np.flatnonzero(np.append(fails, True)) if risk < 1 else np.array([n])
    best = -1
    for start in _STARTS:
        # Above the largest score there is nothing to try.
        first = max(math.ceil(n * start) - 1, int(np.searchsorted(above, 1)))
        end = int(fails[np.searchsorted(fails, first)])
        best = max(best, end - 1 if end > first else -1)
    if best < 0:
        return math.inf
    if best == n - 1:
        return lowest
    return float(np.nextafter(bounds[best], np.asarray(np.inf, bounds.dtype)))
