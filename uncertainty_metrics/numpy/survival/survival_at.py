"""From times under censoring to labels at a horizon."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.survival._follow_up import Followed, follow_up

__all__ = ["survival_at"]


class SurvivalAt(NamedTuple):
    """What became of each example by a time.

    Attributes:
      labels: 1 if the event came by then, else 0; int64 [n].
      sample_weight: 0 for an example that was censored before, for the others the
        inverse of the probability of not being censored; float64 [n].
    """

    labels: np.ndarray
    sample_weight: np.ndarray


def survival_at(
    times: ArrayLike,
    event: ArrayLike,
    at: float,
    *,
    sample_weight: ArrayLike | None = None,
) -> SurvivalAt:
    """Labels and weights at a horizon, which make every metric of this package one of
    survival forecasts.

      label_i = 1[T_i <= at, event],  weight_i = 1[T_i <= at, event] / G(T_i-)
                                                 + 1[T_i > at] / G(at)

    G is the Kaplan-Meier estimate, from these data, of the probability of not being
    censored by a time; G(T-) is its value just before T. Examples that were censored by
    `at` have weight 0, and the other examples stand in for them: the weights sum to n.
    A weighted mean then estimates the mean of all examples, consistently if censoring
    depends neither on the time of the event nor on the forecasts. With S the predicted
    probabilities of survival until `at`:

      labels, weights = survival_at(times, event, at)
      ece(labels, 1 - S, sample_weight=weights, positive_class=True)

    A metric divides sums by the sum of the weights. That is n to rounding, so that half
    of `brier_score(labels, 1 - S, zero_based=True, sample_weight=weights)` is
    `ipcw_brier_score(times, event, S, at)`. `auroc` compares the examples that have had
    the event by `at` with those that have not.

    Intervals of `calibration_slope`, `auroc_interval` and their like read weights as
    numbers of examples. They are too narrow with these weights, which let a few
    examples speak for many. For an interval pass `bootstrap` a function of times,
    events and forecasts that calls `survival_at` itself.

    Args:
      times: of the event or the censoring, whichever came first; finite and >= 0,
        shape [n].
      event: 1 for an event at `times`, 0 for a censoring then, shape [n]. At equal
        times events come before censorings.
      at: the horizon, a finite time >= 0; below the largest of `times` if that is of a
        censoring.
      sample_weight: finite and >= 0, shape [n]; of the estimate of G too. The weights
        that are returned are multiplied by it, and sum to its sum.

    Returns:
      `SurvivalAt(labels, sample_weight)`: int64 [n], and float64 [n], >= 0.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> times, event = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]  # The second was lost.
      >>> labels, weights = um.survival_at(times, event, 3.5)
      >>> labels.tolist(), weights.tolist()
      ([1, 0, 1, 0], [1.0, 0.0, 1.5, 1.5])
      >>> risks = [0.8, 0.4, 0.8, 0.4]
      >>> round(um.auroc(labels, risks, sample_weight=weights), 6)
      1.0

    References:
      Graf, Schmoor, Sauerbrei and Schumacher (1999), Assessment and Comparison of
      Prognostic Classification Schemes for Survival Data. Blanche, Dartigues and
      Jacqmin-Gadda (2013), Estimating and Comparing Time-Dependent Areas under Receiver
      Operating Characteristic Curves for Censored Event Times with Competing Risks.
    """
    horizon = _checks.number(at)
    if not 0 <= horizon < math.inf:
        raise _checks.error("at", "a finite time >= 0", repr(at))
    return _labelled(*follow_up(times, event, sample_weight), horizon)


def _labelled(
    times: np.ndarray, event: np.ndarray, weights: np.ndarray, at: float
) -> SurvivalAt:
    relative = weights / weights.max()
    counted = relative > 0
    followed = Followed.of(times[counted], event[counted], relative[counted])
    came = event & (times <= at)
    followed_for = np.full(len(times), np.inf)
    followed_for[counted] = np.where(came[counted], followed.before, np.inf)
    followed_for[counted & (times > at)] = followed.until(np.array(at))
    return SurvivalAt(came.astype(np.int64), weights / followed_for)
