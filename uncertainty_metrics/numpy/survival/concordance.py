"""Concordance of risks and times: who has the event first?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.survival._conditional_curves import column
from uncertainty_metrics.numpy.survival._follow_up import Followed, follow_up

__all__ = ["concordance_index"]


def concordance_index(
    times: ArrayLike,
    event: ArrayLike,
    risk_scores: ArrayLike,
    *,
    ipcw: bool = False,
    at: float = math.inf,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Concordance index: how often the one of two with the larger risk has the event
    first.

    Examples i and j are compared if it is known that i has the event first: i had the
    event at T_i, and j was followed for longer or was censored at T_i. Over these
    pairs, with risks r,

      C = sum_ij v_i (1[r_i > r_j] + 1[r_i == r_j] / 2) / sum_ij v_i

    Harrell's C has v = 1. The censoring decides how many pairs of long times there are,
    so that Harrell's C depends on the censoring. Uno's C, `ipcw=True`, does not: it has
    v_i = G(T_i-)^-2, with G the Kaplan-Meier estimate, from these data, of the
    probability of not being censored by a time. Its weights are large at late times,
    when few examples are left; `at` leaves out the events from that time on.

    C depends on the order of the risks alone and does not tell whether they are
    calibrated. It is not proper for risks of an event by a given time (Blanche, Kattan
    and Gerds 2019): for these use `auroc` with the labels and weights of `survival_at`.

    The cost is O(n log n).

    Args:
      times: of the event or the censoring, whichever came first; finite and >= 0,
        shape [n].
      event: 1 for an event at `times`, 0 for a censoring then, shape [n]. At equal
        times events come before censorings; two events are not compared.
      risk_scores: finite, larger for earlier events, shape [n]. Of survival
        probabilities or predicted times pass the negatives.
      ipcw: whether it is Uno's C.
      at: a time > 0: events count, as the first of two, before it.
      sample_weight: finite and >= 0, shape [n]; of the estimate of G too.

    Returns:
      A float in [0, 1]; 1 is the right order, 1/2 that of no information.

    Raises:
      ValueError: an argument is not as described, or no two examples can be compared.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> times, event = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]  # The second was lost.
      >>> risks = [0.9, 0.8, 0.3, 0.4]
      >>> um.concordance_index(times, event, risks)  # Of four pairs one is wrong.
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
    ends, seen, weights = follow_up(times, event, sample_weight)
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
            "1 for an example after whose time another is seen",
            "no pair that can be compared",
        )
    return (right + ties / 2) / pairs


def _sums_of_pairs(
    key: np.ndarray, risks: np.ndarray, first: np.ndarray, weights: np.ndarray
) -> tuple[float, float, float]:
    """Returns sums of `first[i] weights[j]` over the pairs with key[i] < key[j]: of
    all, of those whose i has the larger risk, and of those of equal risks.
    """
    risk = np.unique(risks, return_inverse=True)[1]
    # Of examples with one key none has a lower risk than one before it.
    order = np.argsort(key * len(key) + risk)
    key, risk, first, weights = (x[order] for x in (key, risk, first, weights))
    pairs = first @ _sums_above(key, weights)

    by_risk = np.sort(risk * len(key) + np.arange(len(key))) % len(key)
    key, risk, first, weights = (x[by_risk] for x in (key, risk, first, weights))
    both = risk * (key.max() + 1) + key
    ties = _sums_above(both, weights) - _sums_above(risk, weights)
    return float(pairs), _inversions(by_risk, first, weights), float(first @ ties)


def _sums_above(key: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns for each of ascending keys [n] the total weight of the larger ones."""
    sums = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    return sums[np.searchsorted(key, key, "right")]


def _inversions(place: np.ndarray, first: np.ndarray, weights: np.ndarray) -> float:
    """Returns the sum of `first[i] weights[j]` over j before i of a later place.

    A block of places is halved until it is one place. In a block the examples are in
    the order of the arrays: the running sum of the weights of its later half is what
    stands before each example of its earlier half. So each pair is met once.

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
