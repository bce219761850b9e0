"""Labels and weights at one time, from times with censoring."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.survival._follow_up import Followed, follow_up_of_cause

__all__ = ["survival_at"]


class SurvivalAt(NamedTuple):
    """Whether the event of each example came by a time, and the weight of the example.

    Attributes:
      labels: 1 if the event was seen by that time, else 0; int64 [n].
      sample_weight: 0 for an example that was censored by that time; for the other
        examples the inverse of the probability of not being censored; float64 [n].
    """

    labels: np.ndarray
    sample_weight: np.ndarray


@takes_frames
def survival_at(
    times: ArrayLike,
    event: ArrayLike,
    at: float,
    *,
    cause: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> SurvivalAt:
    """Labels and weights at one time, with which every metric of this package evaluates
    forecasts of survival until this time.

      label_i = 1[T_i <= at, event],  weight_i = 1[T_i <= at, event] / G(T_i-)
                                                 + 1[T_i > at] / G(at)

    G is the Kaplan-Meier estimate, from these data, of the probability of not being
    censored by a time; G(T-) is its value just before T. Examples censored by `at` have
    weight 0, and the others represent them: their weights sum to n. So a weighted mean
    is an estimate of the mean over all examples, consistent if censoring depends
    neither on the time of the event nor on the forecasts. With S the predicted
    probabilities of survival until `at`:

      labels, weights = survival_at(times, event, at)
      ece(labels, 1 - S, sample_weight=weights, positive_class=True)

    A metric divides by the sum of the weights, which is n up to rounding. So half of
    `brier_score(labels, 1 - S, zero_based=True, sample_weight=weights)` is equal to
    `ipcw_brier_score(times, event, S, at)`. `auroc` compares the examples with an event
    by `at` with the examples without one.

    If an event of another cause can come first (a competing event, such as death before
    a relapse), pass the codes of the causes as `event`, and the cause that the
    forecasts are about. Then

      label_i = 1[T_i <= at, event of this cause],
      weight_i = 1[T_i <= at, event of any cause] / G(T_i-) + 1[T_i > at] / G(at)

    An example with a competing event by `at` has label 0 and keeps its weight: it will
    not have the event of interest. The forecast is the cumulative incidence, the
    probability of an event of this cause by `at`; it is not 1 - Kaplan-Meier with the
    competing events censored. Brier score and AUROC with these labels and weights are
    those that riskRegression's `Score` defines, with a marginal estimate of G.

    The intervals of functions such as `calibration_slope` and `auroc_interval` count a
    weight as a number of examples. With the weights from this function they are too
    narrow, because an example with a large weight is still only one example. For an
    interval, pass to `bootstrap` a function of times, events and forecasts that calls
    `survival_at` itself.

    Args:
      times: time of the event or of the censoring, whichever came first; finite and
        >= 0, shape [n].
      event: 1 for an event at `times`, 0 for a censoring, shape [n]; with `cause` the
        code of the event: 1, 2, and so on. At equal times events come before
        censorings.
      at: a finite time >= 0; below the largest of `times` if that is a censoring.
      cause: the code of the event of interest; None if `event` is 0 or 1.
      sample_weight: weight of each example, finite and >= 0, shape [n]; also used for
        the estimate of G. The returned weights are multiplied by it, and have its sum.

    Returns:
      `SurvivalAt(labels, sample_weight)`: labels 0 or 1, int64 [n], and weights >= 0,
      float64 [n].

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
      >>> um.survival_at(times, [1, 0, 2, 1], 3.5, cause=1).labels.tolist()
      [1, 0, 0, 0]

    References:
      Graf, Schmoor, Sauerbrei and Schumacher (1999), Assessment and Comparison of
      Prognostic Classification Schemes for Survival Data. Blanche, Dartigues and
      Jacqmin-Gadda (2013), Estimating and Comparing Time-Dependent Areas under Receiver
      Operating Characteristic Curves for Censored Event Times with Competing Risks.
    """
    horizon = _checks.number(at)
    if not 0 <= horizon < math.inf:
        raise _checks.error("at", "a finite time >= 0", repr(at))
    ends, seen, of_cause, weights = follow_up_of_cause(
        times, event, sample_weight, cause
    )
    labels = (of_cause & (ends <= horizon)).astype(np.int64)
    return SurvivalAt(labels, _reweighted(ends, seen, weights, horizon))


def _reweighted(
    times: np.ndarray, event: np.ndarray, weights: np.ndarray, at: float
) -> np.ndarray:
    """Returns the weights for checked arguments; events are those of any cause."""
    relative = weights / weights.max()
    counted = relative > 0
    followed = Followed.of(times[counted], event[counted], relative[counted])
    came = event & (times <= at)
    probabilities = np.full(len(times), np.inf)  # A weight is divided by them.
    probabilities[counted] = np.where(came[counted], followed.before, np.inf)
    probabilities[counted & (times > at)] = followed.until(np.array(at))
    return weights / probabilities
