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


def follow_up(
    times: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns checked times, booleans for events, and weights, [n] each."""
    array = _inputs.as_array("times", times)
    if array.ndim != 1 and array.shape[1:] != (1,):
        raise _checks.error("times", "of shape [n]", f"shape {list(array.shape)}")
    times = check_times(column("times", array, "times", array.shape))
    event = check_event(column("event", event, "times", times.shape))
    return times, event, weights_of(sample_weight, times.shape)


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
            raise _checks.error(
                "at",
                f"below {self.times[-1]}, when the last of `times` was censored",
                at.max(),
            )
        return shares
