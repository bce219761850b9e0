"""Survival curves conditional on a forecast, and pseudo-outcomes computed from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibration.smoothed import _crossfit

SurvivalAggregation = Literal["Kaplan-Meier", "Nelson-Aalen"]
Kernel = Literal["rbf", "cubic"]

# Probabilities of being followed are at least this: no example counts for more than 20.
LEAST_FOLLOWED = 0.05

_STEPS_PER_BANDWIDTH = 4  # The grid of forecasts that have curves of their own.
_LEAST_EXPONENT = 37.0  # exp(-37) is below the rounding of 1.
_BLOCK = 2**18  # Entries of the curves computed at once, or 16 curves.


def column(name: str, value: Any, first: str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns finite float64 values [n]; `shape` is that of the argument `first`."""
    array = _inputs.as_array(name, value)
    _checks.paired(name, array.shape, first, shape)
    return _inputs.finite(name, array).reshape(-1)


def check_times(times: np.ndarray) -> np.ndarray:
    """Returns the times; raises ValueError unless they are >= 0."""
    if np.any(times < 0):
        raise _checks.error("times", ">= 0", _inputs.first(times < 0, times))
    return times


def check_event(event: np.ndarray, of_causes: str) -> np.ndarray:
    """Returns booleans, True for events; raises ValueError unless all are 0 or 1.

    Args:
      event: finite, [n].
      of_causes: what the error says about codes above 1, of events of other causes.
    """
    bad = (event != 0) & (event != 1)
    if np.any(bad):
        raise _checks.error(
            "event",
            f"0 (censored) or 1 (event); {of_causes}",
            _inputs.first(bad, event),
        )
    return event == 1


@dataclasses.dataclass(frozen=True)
class FollowUp:
    """The forecasts, and the events and censorings until the end time.

    Attributes:
      probs: forecasts [n].
      happened: whether the event was seen by the end time, boolean [n].
      lost: whether the example was censored by the end time, boolean [n].
      key: order in time, integers [n]: `2 rank` for an event, `2 rank + 1` for a
        censoring, and the same largest number for all examples followed for longer.
      order: the examples in order of their keys, [n].
    """

    probs: np.ndarray
    happened: np.ndarray
    lost: np.ndarray
    key: np.ndarray
    order: np.ndarray

    @classmethod
    def until(
        cls, end_time: float, probs: np.ndarray, times: np.ndarray, event: np.ndarray
    ) -> FollowUp:
        """Returns the follow-up until the end time, for checked arrays."""
        happened = event & (times <= end_time)
        lost = ~event & (times <= end_time)
        rank = np.unique(times, return_inverse=True)[1]
        key = np.where(happened | lost, 2 * rank + lost, 2 * len(rank))
        return cls(probs, happened, lost, key, np.argsort(key, kind="stable"))


def _kernel(
    distance: np.ndarray, nearest: np.ndarray, bandwidth: float, kernel_fn: Kernel
) -> np.ndarray:
    """Returns the kernel at distances [rows, columns], relative to its value at the
    nearest example [rows] if that is far away.
    """
    nearest = nearest[:, None]
    if kernel_fn == "rbf":
        exponent = (nearest - distance) * (nearest + distance) / bandwidth**2
        return np.exp(np.minimum(exponent, 0))  # Only rounding makes it > 0.
    width = _reach(nearest, bandwidth, kernel_fn)
    return np.maximum(1 - (distance / width) ** 2, 0) ** 3


def _reach(nearest: np.ndarray, bandwidth: float, kernel_fn: Kernel) -> np.ndarray:
    """Returns the distance from which on the kernel is 0, [rows]."""
    if kernel_fn == "rbf":
        return np.sqrt(nearest**2 + _LEAST_EXPONENT * bandwidth**2)
    return np.maximum(bandwidth, 1.5 * nearest)


def product_limits(
    kernel: np.ndarray,
    beyond: np.ndarray,
    lost: np.ndarray,
    ties: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the survival curves of each row, [rows, columns + 1] each.

    Entry m of a curve is its value after the first m columns.

    Args:
      kernel: weights of the examples seen or lost, in order of time, [rows, columns].
      beyond: total weight of the examples followed to the end, [rows].
      lost: which columns are censored.
      ties: for Nelson-Aalen, the first column of the events, or of the censorings, at
        the time of each column; None for Kaplan-Meier.

    Returns:
      later: S(end) / S, the probability of no event from then on.
      followed: G, the probability of not being censored, at least `LEAST_FOLLOWED`.
      compensator: the sum of the steps of `later`, each divided by G before it.
    """
    rows, columns = kernel.shape
    at_risk = np.empty([rows, columns + 1])
    at_risk[:, -1], at_risk[:, :-1] = beyond, kernel
    at_risk = np.cumsum(at_risk[:, ::-1], axis=1)[:, ::-1]
    with np.errstate(invalid="ignore"):  # 0 / 0 where nobody is left.
        if ties is None:
            factors = at_risk[:, 1:] / at_risk[:, :-1]
        else:
            factors = np.exp(-kernel / at_risk[:, ties])
    factors[at_risk[:, :-1] == 0] = 1.0

    later, followed = np.ones_like(at_risk), np.ones_like(at_risk)
    np.cumprod(np.where(lost, 1.0, factors)[:, ::-1], axis=1, out=later[:, -2::-1])
    np.cumprod(np.where(lost, factors, 1.0), axis=1, out=followed[:, 1:])
    np.maximum(followed, LEAST_FOLLOWED, out=followed)
    compensator = np.zeros_like(at_risk)
    steps = np.diff(later, axis=1) / followed[:, :-1]
    np.cumsum(steps, axis=1, out=compensator[:, 1:])
    return later, followed, compensator


@dataclasses.dataclass(frozen=True)
class SurvivalCurves:
    """Survival curves conditional on the forecast, from some examples for others.

    Attributes:
      data: all examples.
      kernel_fn: "rbf" or "cubic".
      aggregation: "Kaplan-Meier" or "Nelson-Aalen".
    """

    data: FollowUp
    kernel_fn: Kernel
    aggregation: SurvivalAggregation

    def pseudo_outcomes(self, fold: np.ndarray, bandwidth: float) -> np.ndarray:
        """Returns the pseudo-outcomes [n], with the curves of the other folds.

        With an infinite bandwidth the curves do not depend on the forecast.
        """
        outcomes = np.empty(len(fold))
        for k in range(fold.max() + 1):  # Each fold has its own curves.
            test = np.flatnonzero(fold == k)
            train = np.flatnonzero(fold != k)
            outcomes[test] = self._pseudo_outcomes(train, test, bandwidth)
        return outcomes

    def _pseudo_outcomes(
        self, train: np.ndarray, test: np.ndarray, bandwidth: float
    ) -> np.ndarray:
        """Returns the pseudo-outcomes of the test examples, interpolated between values
        for a grid of forecasts, which have curves.

        An example with an event or a censoring at the time X has

          Y = 1 - S(end) + [event at X <= end] Q(X) / G(X-)
              - sum over v <= min(X, end) of (Q(v) - Q(v-)) / G(v-)

        with Q(v) = S(end) / S(v). The step of Q is Q(v) times the hazard of S at v, so
        that the mean of Y is right if either S or G is right.
        """
        data, probs = self.data, self.data.probs[test]
        start = probs.min()
        step = min(bandwidth / _STEPS_PER_BANDWIDTH, _crossfit.positive_range(probs))
        place = (probs - start) / step
        left = np.floor(place).astype(np.int64)
        nodes = np.unique(np.concatenate([left, left + 1]))

        order = np.argsort(left, kind="stable")
        right_share = (place - left)[order]
        left = np.searchsorted(nodes, left[order])
        key, happened = data.key[test[order]] | 1, data.happened[test[order]]
        outcomes = np.zeros(len(test))
        for first, keys, curves in self._blocks(train, start + step * nodes, bandwidth):
            later, followed, compensator = curves
            for side, share in enumerate([1 - right_share, right_share]):
                # The examples whose node on this side is in the block.
                ends = np.searchsorted(left + side, [first, first + len(later)])
                at = slice(*ends)
                entry = left[at] + side - first, np.searchsorted(keys, key[at])
                outcomes[at] += share[at] * (
                    1
                    - later[entry[0], 0]
                    + happened[at] * later[entry] / followed[entry]
                    - compensator[entry]
                )
        result = np.empty(len(test))
        result[order] = outcomes
        return result

    def _blocks(
        self, train: np.ndarray, grid: np.ndarray, bandwidth: float
    ) -> Iterator[tuple[int, np.ndarray, tuple[np.ndarray, ...]]]:
        """Yields, for each block of nodes of the ascending grid: the index of its first
        node, the keys of the columns of the curves, and the curves.
        """
        data = self.data
        place = np.empty_like(data.order)
        place[data.order] = np.arange(len(place))
        train = train[np.argsort(data.probs[train], kind="stable")]
        probs, place = data.probs[train], place[train]
        num_seen = np.count_nonzero(data.happened | data.lost)

        above = np.searchsorted(probs, grid)
        padded = np.concatenate([[-np.inf], probs, [np.inf]])
        nearest = np.minimum(grid - padded[above], padded[above + 1] - grid)
        reach = _reach(nearest, bandwidth, self.kernel_fn) * (1 + 1e-9)
        begin = np.searchsorted(probs, grid - reach)
        end = np.searchsorted(probs, grid + reach, side="right")

        size = max(16, _BLOCK // len(train))
        for first in range(0, len(grid), size):
            block = slice(first, first + size)
            places = np.sort(place[np.min(begin[block]) : np.max(end[block])])
            columns = data.order[places]
            distance = np.abs(grid[block, None] - data.probs[columns])
            kernel = _kernel(distance, nearest[block], bandwidth, self.kernel_fn)
            seen = np.searchsorted(places, num_seen)
            keys = data.key[columns[:seen]]
            ties = None
            if self.aggregation == "Nelson-Aalen":
                ties = np.searchsorted(keys, keys)
            curves = product_limits(
                kernel[:, :seen], kernel[:, seen:].sum(axis=1), keys % 2 == 1, ties
            )
            yield first, keys, curves
