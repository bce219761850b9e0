"""Concordance of risks and times: does the example with the larger risk have the event
first?
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.survival._conditional_curves import column
from uncertainty_metrics.numpy.survival._follow_up import Followed, follow_up

__all__ = ["concordance_index"]

_OF_CAUSES = (
    "with events of other causes (codes above 1) take `auroc` with the labels and "
    "weights of survival_at(times, event, at, cause=1) instead"
)


@takes_frames
def concordance_index(
    times: ArrayLike,
    event: ArrayLike,
    risk_scores: ArrayLike,
    *,
    ipcw: bool = False,
    at: float = math.inf,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Concordance index: how often, of two examples, the example with the larger risk
    has the event first.

    Examples i and j are compared if it is known that i has the event first: i had the
    event at T_i, and j was followed for longer or was censored at T_i. Over these
    pairs, with risks r,

      C = sum_ij v_i (1[r_i > r_j] + 1[r_i == r_j] / 2) / sum_ij v_i

    Harrell's C has v = 1. It depends on the censoring, because censoring decides how
    many pairs with long times there are. Uno's C (`ipcw=True`) does not depend on it:
    v_i = G(T_i-)^-2, where G is the Kaplan-Meier estimate, from these data, of the
    probability of not being censored by a time. These weights are large at late times,
    when few examples are left; `at` leaves out the events from this time on.

    C depends only on the order of the risks, and does not tell whether they are
    calibrated. It is not proper for the risk of an event by a given time (Blanche,
    Kattan and Gerds 2019). For such risks use `auroc` with the labels and weights of
    `survival_at`.

    The cost is O(n log n).

    Args:
      times: time of the event or of the censoring, whichever came first; finite and
        >= 0, shape [n].
      event: 1 for an event at `times`, 0 for a censoring, shape [n]. At equal times
        events come before censorings. Two events at the same time are not compared.
      risk_scores: finite, larger for earlier events, shape [n]. For probabilities of
        survival or predicted times pass their negatives.
      ipcw: True for Uno's C, False for Harrell's C.
      at: a time > 0. Only an event before this time can be the first of two.
      sample_weight: weight of each example, finite and >= 0, shape [n]; also used for
        the estimate of G.

    Returns:
      A float in [0, 1]; 1 for the right order, 1/2 for uninformative risks. Larger is
      better.

    Raises:
      ValueError: an argument is not as described, or no two examples can be compared.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> times, event = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]  # The second was lost.
      >>> risks = [0.9, 0.8, 0.3, 0.4]
      >>> um.concordance_index(times, event, risks)  # One of four pairs is wrong.
      0.75
      >>> round(um.concordance_index(times, event, risks, ipcw=True), 6)
      0.571429

    References:
      Harrell, Califf, Pryor, Lee and Rosati (1982), Evaluating the Yield of Medical
      Tests. Uno, Cai, Pencina, D'Agostino and Wei (2011), On the C-Statistics for
      Evaluating Overall Adequacy of Risk Prediction Procedures with Censored Survival
      Data. Blanche, Kattan and Gerds (2019), The c-Index Is Not Proper for the
      Evaluation of t-Year Predicted Risks.
    """
    _checks.boolean("ipcw", ipcw)
    horizon = _checks.number(at)
    if not horizon > 0:
        raise _checks.error("at", "a time > 0", repr(at))
    ends, seen, weights = follow_up(times, event, sample_weight, _OF_CAUSES)
    risks = column("risk_scores", risk_scores, "times", ends.shape)
    weights = weights / weights.max()
    counted = weights > 0
    ends, seen, weights = ends[counted], seen[counted], weights[counted]
    followed = Followed.of(ends, seen, weights)
    first = np.where(seen & (ends < horizon), weights, 0.0)
    if ipcw:
        first /= np.where(seen, followed.before, 1.0) ** 2
    key = 2 * followed.index + ~seen
    pairs, right, ties = _sums_of_pairs(key, risks[counted], first, weights)
    if not pairs > 0:
        raise _checks.error(
            "event",
            "1 for an example whose time is before `at` and not the last time",
            "no pair that can be compared",
        )
    return (right + ties / 2) / pairs


def _sums_of_pairs(
    key: np.ndarray, risks: np.ndarray, first: np.ndarray, weights: np.ndarray
) -> tuple[float, float, float]:
    """Returns sums of `first[i] weights[j]` over pairs with key[i] < key[j].

    Returns:
      The sum over all these pairs, over the pairs in which i has the larger risk, and
      over the pairs with equal risks.
    """
    risk = np.unique(risks, return_inverse=True)[1]
    # Examples with the same key are in ascending order of their risks, so that
    # `_inversions` does not count pairs of them.
    order = np.argsort(key * len(key) + risk)
    key, risk, first, weights = (x[order] for x in (key, risk, first, weights))
    pairs = first @ _sums_above(key, weights)

    by_risk = np.sort(risk * len(key) + np.arange(len(key))) % len(key)
    key, risk, first, weights = (x[by_risk] for x in (key, risk, first, weights))
    both = risk * (key.max() + 1) + key
    ties = _sums_above(both, weights) - _sums_above(risk, weights)
    return float(pairs), _inversions(by_risk, first, weights), float(first @ ties)


def _sums_above(key: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns for each of the ascending keys [n] the total weight of larger keys."""
    sums = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    return sums[np.searchsorted(key, key, "right")]


def _inversions(place: np.ndarray, first: np.ndarray, weights: np.ndarray) -> float:
    """Returns the sum of `first[i] weights[j]` over pairs with j < i and
    place[j] > place[i].

    The places are divided into two halves, then each half into two halves, until every
    block is a single place. Within a block the examples keep the order of the arrays.
    So for an example i in the earlier half of a block, the running sum of the weights
    in the later half is the sum over the examples j of that half with j < i. Every pair
    is in two halves of one block exactly once.

    Args:
      place: a permutation of the integers in [0, n).
      first: float64 [n].
      weights: float64 [n].
    """
    size = 1 << (len(place) - 1).bit_length()
    padding = np.arange(len(place), size)
    place = np.append(place, padding)
    first, weights = (np.append(x, 0.0 * padding) for x in (first, weights))
    total, half = 0.0, size // 2
    while half > 0:
        is_late = (place & half) > 0
        masses = (weights * is_late).reshape(-1, 2 * half)
        before = np.cumsum(masses, axis=1).reshape(-1)
        early, late = np.flatnonzero(~is_late), np.flatnonzero(is_late)
        total += float(first[early] @ before[early])
        halves = early.reshape(-1, half), late.reshape(-1, half)
        order = np.stack(halves, axis=1).reshape(-1)
        place, first, weights = place[order], first[order], weights[order]
        half //= 2
    return total
