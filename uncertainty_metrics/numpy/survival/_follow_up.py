"""Times of events and of censorings, and the probability of not being censored."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.survival._conditional_curves import (
    check_event,
    check_times,
    column,
)

_NAME_THE_CAUSE = (
    "if codes above 1 are events of other causes (competing events), name the cause "
    "that the forecasts are about by cause=1, here or in `survival_at`, whose labels "
    "and weights every metric and report takes"
)


def follow_up(
    times: ArrayLike,
    event: ArrayLike,
    sample_weight: ArrayLike | None,
    of_causes: str = _NAME_THE_CAUSE,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns checked times, booleans for events, and weights, [n] each."""
    times, codes, weights = _columns(times, event, sample_weight)
    return times, check_event(codes, of_causes), weights


def follow_up_of_cause(
    times: ArrayLike,
    event: ArrayLike,
    sample_weight: ArrayLike | None,
    cause: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns checked times, booleans for events of any cause, booleans for events of
    this cause, and weights, [n] each. Without a cause there is only one.
    """
    if cause is None:
        times, seen, weights = follow_up(times, event, sample_weight)
        return times, seen, seen, weights
    cause = _checks.positive_integer("cause", cause)
    times, codes, weights = _columns(times, event, sample_weight)
    bad = (codes < 0) | (codes != np.floor(codes))
    if np.any(bad):
        expected = "0 (censored) or the code of a cause: 1, 2, ..."
        raise _checks.error("event", expected, _inputs.first(bad, codes))
    if not np.any(codes == cause):
        found = ", ".join(f"{code:g}" for code in np.unique(codes)[:9])
        raise _checks.error("cause", f"a code in `event`: {found}", cause)
    return times, codes > 0, codes == cause, weights


def _columns(
    times: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns checked times, finite codes of events, and weights, [n] each."""
    array = _inputs.as_array("times", times)
    if array.ndim != 1 and array.shape[1:] != (1,):
        raise _checks.error("times", "of shape [n]", f"shape {list(array.shape)}")
    times = check_times(column("times", array, "times", array.shape))
    codes = column("event", event, "times", times.shape)
    return times, codes, weights_of(sample_weight, times.shape)


def weights_of(sample_weight: ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray:
    """Returns weights [n]; raises ValueError unless one is above 0."""
    if sample_weight is None:
        return np.ones(shape)
    weights = _inputs.sample_weights(sample_weight, shape)
    if not np.any(weights > 0):
        raise _checks.error(
            "sample_weight", "positive for at least one example", "zeros"
        )
    return weights


@dataclasses.dataclass(frozen=True)
class Followed:
    """The Kaplan-Meier estimate of the probability G of not being censored until a
    time. At equal times events precede censorings.

    Attributes:
      times: the distinct times of events and censorings, ascending, float64 [m].
      index: position of the time of each example in `times`, integers [n].
      shares: G before the first time, and after each time, float64 [m + 1].
    """

    times: np.ndarray
    index: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, times: np.ndarray, event: np.ndarray, weights: np.ndarray) -> Followed:
        """Returns the estimate from checked arrays [n] with weights > 0."""
        distinct, index = np.unique(times, return_inverse=True)
        lost = np.bincount(index, weights * ~event)
        at_risk = np.bincount(index, weights)[::-1].cumsum()[::-1]
        later = np.append(at_risk[1:], 0.0)
        factors = np.where(lost > 0, later, 1.0) / np.where(lost > 0, later + lost, 1.0)
        return cls(distinct, index, np.append(1.0, np.cumprod(factors)))

    @property
    def before(self) -> np.ndarray:
        """G(T-), just before the time T of each example, [n]; > 0 if T is an event."""
        return self.shares[self.index]

    def until(self, at: np.ndarray) -> np.ndarray:
        """Returns G(t) at each time t; raises ValueError if it is 0 at one of them."""
        shares = self.shares[np.searchsorted(self.times, at, "right")]
        if np.any(shares == 0):
            end = float(self.times[-1])
            raise _checks.error(
                "at",
                f"below {end}, when the last of `times` was censored (the end of "
                "follow-up). Take a time just below it, which is "
                f"{np.nextafter(end, 0.0)}; or, if everybody censored at {end} was "
                "followed until then, weights of 1[T >= at] / G(at-): pass "
                f"at={end} and np.where((event == 0) & (times == {end}), "
                f"np.nextafter({end}, np.inf), times)",
                at.max(),
            )
        return shares
