"""Scores of survival curves with censored examples: the Brier score with inverse
probability of censoring weights, and distribution calibration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.survival._conditional_curves import check_event, column
from uncertainty_metrics.numpy.survival._follow_up import (
    Followed,
    follow_up_of_cause,
    weights_of,
)

__all__ = ["d_calibration", "integrated_brier_score", "ipcw_brier_score"]

_OF_CAUSES = (
    "with events of other causes (codes above 1) distribution calibration is not "
    "defined, because the probability of no event of one cause does not fall to 0: "
    "take metrics with the labels and weights of survival_at(times, event, at, cause=1)"
)
_ROUNDING = 1e-3  # Survival must not rise by more from one time to the next.


class DCalibration(NamedTuple):
    """The outcome of a test of distribution calibration.

    Attributes:
      statistic: Pearson's statistic, >= 0.
      p_value: p-value of the chi-squared distribution with num_bins - 1 degrees of
        freedom.
      histogram: shares of the examples in the bins of survival, float64 [num_bins].
    """

    statistic: float
    p_value: float
    histogram: np.ndarray


def _probabilities(name: str, value: ArrayLike) -> np.ndarray:
    """Returns probabilities; raises ValueError unless all are in [0, 1]."""
    array = _inputs.native_floating(_inputs.as_array(name, value))
    return _inputs.check_probabilities(array, name)


def _at(at: ArrayLike) -> np.ndarray:
    """Returns the checked times `at`, float64 [T] or []."""
    array = _inputs.finite("at", at)
    ascending = array.ndim == 0 or bool(np.all(np.diff(array.reshape(-1)) > 0))
    if array.ndim > 1 or array.size == 0 or np.any(array < 0) or not ascending:
        raise _checks.error(
            "at", "a time >= 0, or ascending times of shape [T]", repr(at)
        )
    return array


def _curves(survival: ArrayLike, n: int, at: np.ndarray) -> np.ndarray:
    """Returns checked forecasts, float64 [n, T], or [n] for one time."""
    array = _probabilities("survival", survival)
    expected = [n, *at.shape]
    if list(array.shape) not in (expected, expected + [1] * (at.ndim == 0)):
        raise _checks.error(
            "survival",
            f"of shape {expected}, an entry for each of `times` and `at`",
            f"shape {list(array.shape)}",
        )
    array = array.astype(np.float64).reshape(expected)
    if at.ndim == 1:
        rises = np.diff(array, axis=1) > _ROUNDING
        if np.any(rises):
            raise _checks.error(
                "survival",
                "P(no event by `at`), which never rises with time",
                f"a rise to {_inputs.first(rises, array[:, 1:])}",
            )
    return array


def _scores(
    times: ArrayLike,
    event: ArrayLike,
    survival: ArrayLike,
    at: np.ndarray,
    cause: int | None,
    sample_weight: ArrayLike | None,
) -> np.ndarray:
    """Returns the scores [T], or [] for one time."""
    ends, seen, of_cause, weights = follow_up_of_cause(
        times, event, sample_weight, cause
    )
    weights = weights / weights.max()
    curves = _curves(survival, len(ends), at)
    counted = weights > 0
    ends, seen, of_cause = ends[counted], seen[counted], of_cause[counted]
    curves, weights = curves[counted], weights[counted]

    followed = Followed.of(ends, seen, weights)
    by_row = (slice(None), None)[: 1 + at.ndim]  # Adds the axis of `at`.
    gone = np.where(seen, weights / followed.before, 0.0)[by_row]
    gone = gone * (~of_cause[by_row] - curves) ** 2
    left = weights[by_row] / followed.until(at) * (1 - curves) ** 2
    losses = np.where(ends[by_row] > at, left, gone)
    return losses.sum(axis=0) / weights.sum()


@takes_frames
def ipcw_brier_score(
    times: ArrayLike,
    event: ArrayLike,
    survival: ArrayLike,
    at: ArrayLike,
    *,
    cause: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> float | np.ndarray:
    """Brier score of survival curves under right censoring, at one time or several.

      BS(t) = (1/n) sum_i (1[T_i <= t, event] S_i(t)^2 / G(T_i-)
                           + 1[T_i > t] (1 - S_i(t))^2 / G(t))

    G is the Kaplan-Meier estimate, from these data, of the probability of not being
    censored by a time; G(T-) is its value just before T. Examples censored by t have
    weight 0, and the others represent them: their weights sum to n. So BS(t) is an
    estimate of the mean of (1[event later than t] - S(t))^2, consistent if censoring
    depends neither on the time of the event nor on the forecasts.

    If an event of another cause can come first (a competing event), S_i(t) is the
    probability of no event of this cause by t, and an example with a competing event
    by t has the term (1 - S_i(t))^2 / G(T_i-): it will not have the event of interest.

    Args:
      times: time of the event or of the censoring, whichever came first; finite and
        >= 0, shape [n].
      event: 1 for an event at `times`, 0 for a censoring, shape [n]; with `cause` the
        code of the event: 1, 2, and so on. At equal times events come before
        censorings.
      survival: forecasts S_i(t) = P(no event by t), shape [n, T], or [n] for one time;
        with `cause` 1 - the cumulative incidence of this cause.
      at: the time t, >= 0, or ascending times [T]; below the largest of `times` if
        that is a censoring.
      cause: the code of the event of interest; None if `event` is 0 or 1.
      sample_weight: weight of each example, finite and >= 0, shape [n]; also used for
        the estimate of G.

    Returns:
      float64 [T], or a float for one time, >= 0; smaller is better. S(t) = 1/2 for all
      examples gives 1/4. With few examples at risk it may by chance exceed 1.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> times, event = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]  # The second was lost.
      >>> survival = [[0.4, 0.2], [0.8, 0.6], [0.8, 0.2], [1.0, 0.6]]
      >>> um.ipcw_brier_score(times, event, survival, [1.5, 3.5]).round(3).tolist()
      [0.06, 0.085]

    References:
      Graf, Schmoor, Sauerbrei and Schumacher (1999), Assessment and Comparison of
      Prognostic Classification Schemes for Survival Data. Gerds and Schumacher (2006),
      Consistent Estimation of the Expected Brier Score in General Survival Models with
      Right-Censored Event Times.
    """
    points = _at(at)
    scores = _scores(times, event, survival, points, cause, sample_weight)
    return scores if points.ndim else float(scores)


@takes_frames
def integrated_brier_score(
    times: ArrayLike,
    event: ArrayLike,
    survival: ArrayLike,
    at: ArrayLike,
    *,
    cause: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Brier score of survival curves under right censoring, averaged over time.

      IBS = (integral of BS(t) over t from t_1 to t_T) / (t_T - t_1)

    by the trapezoidal rule from the scores of `ipcw_brier_score` at the times `at`.

    Args:
      times: time of the event or of the censoring, whichever came first; finite and
        >= 0, shape [n].
      event: 1 for an event at `times`, 0 for a censoring, shape [n]; with `cause` the
        code of the event: 1, 2, and so on. At equal times events come before
        censorings.
      survival: forecasts S_i(t) = P(no event by t), shape [n, T]; with `cause` 1 - the
        cumulative incidence of this cause.
      at: ascending times t_1, ..., t_T, at least two; see `ipcw_brier_score`.
      cause: the code of the event of interest; None if `event` is 0 or 1.
      sample_weight: weight of each example, finite and >= 0, shape [n]; also used for
        the estimate of G.

    Returns:
      A float >= 0; smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> times, event = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]  # The second was lost.
      >>> survival = [[0.4, 0.2], [0.8, 0.6], [0.8, 0.2], [1.0, 0.6]]
      >>> round(um.integrated_brier_score(times, event, survival, [1.5, 3.5]), 4)
      0.0725

    References:
      Graf, Schmoor, Sauerbrei and Schumacher (1999), Assessment and Comparison of
      Prognostic Classification Schemes for Survival Data.
    """
    points = _at(at)
    if points.size < 2:
        raise _checks.error("at", "at least two ascending times", repr(at), verb="hold")
    scores = _scores(times, event, survival, points, cause, sample_weight)
    steps = np.diff(points / points[-1])  # Differences of large times may overflow.
    return float(np.sum(steps * (scores[1:] + scores[:-1])) / (2 * steps.sum()))


@takes_frames
def d_calibration(
    event: ArrayLike,
    survival: ArrayLike,
    *,
    num_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> DCalibration:
    """Test of distribution calibration: whether the survival S(T) is uniform.

    With S_i the forecast curve of an example and T_i its time, u_i = S_i(T_i) of an
    event falls in one of the even bins of [0, 1]. For a censoring at T_i only u <= u_i
    is known: its mass 1 is spread evenly over [0, u_i], so that the bin that holds u_i
    gets (u_i - its lower edge) / u_i, and each bin below its width / u_i. With N_b the
    mass in bin b,

      statistic = sum_b (N_b - n / num_bins)^2 / (n / num_bins)

    If the curves are right and censoring does not depend on the event given the
    forecast, all N_b have mean n / num_bins; without censoring the statistic of many
    examples is chi-squared with num_bins - 1 degrees of freedom. Spread masses vary
    less: with censoring a calibrated model is rejected less often than the level says.

    The examples must be independent: the test counts them, and takes no `clusters`.

    Args:
      event: 1 for an event, 0 for a censoring, shape [n].
      survival: S_i(T_i), the forecast of each example at its own time, shape [n].
      num_bins: number of bins, at least 2; `(a, b]`, the first closed at 0.
      sample_weight: weight of each example, finite and >= 0, shape [n]; n is their sum,
        so that weights of another scale give another p-value.

    Returns:
      `DCalibration(statistic, p_value, histogram)`: >= 0, in [0, 1], and the shares
      N_b / n. A small p-value shows that the curves are not calibrated; a large one
      does not show that they are.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> test = um.d_calibration([1, 1, 0, 0], [0.2, 0.7, 0.5, 0.8], num_bins=2)
      >>> test.histogram.tolist(), round(test.statistic, 4), round(test.p_value, 4)
      ([0.65625, 0.34375], 0.3906, 0.532)

    References:
      Haider, Hoehn, Davis and Greiner (2020), Effective Ways to Build and Evaluate
      Individual Survival Distributions.
    """
    num_bins = _checks.bins("num_bins", num_bins)
    if num_bins < 2:
        raise _checks.error("num_bins", "an integer of at least 2", num_bins)
    scores = _probabilities("survival", survival)
    if scores.ndim != 1 and scores.shape[1:] != (1,):
        shape = list(scores.shape)
        raise _checks.error(
            "survival", "of shape [n], one for each example", f"shape {shape}"
        )
    seen = check_event(column("event", event, "survival", scores.shape), _OF_CAUSES)
    scores = scores.reshape(-1)
    weights = weights_of(sample_weight, seen.shape)

    shares = weights / weights.sum()
    bins = _binning.even_index(scores[seen], num_bins)
    histogram = _spread(scores[~seen].astype(np.float64), shares[~seen], num_bins)
    histogram += np.bincount(bins, shares[seen], num_bins)
    statistic = float(
        weights.sum() * num_bins * np.sum((histogram - 1 / num_bins) ** 2)
    )
    p_value = float(scipy.special.chdtrc(num_bins - 1, statistic))
    return DCalibration(statistic, p_value, histogram)


def _spread(tops: np.ndarray, shares: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns the mass in each bin, with shares [n] spread evenly over [0, tops]."""
    edges = _binning.even_edges(num_bins)[1:]
    with np.errstate(divide="ignore", over="ignore"):  # 0 is in the first bin.
        below = [shares @ np.minimum(edge / tops, 1.0) for edge in edges]
    return np.diff(below, prepend=0.0)
