"""Checks of the bounds of predicted intervals, and of their levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs


def interval_levels(alphas: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    """Returns checked `alphas`; raises ValueError unless all are in (0, 1)."""
    levels = _checks.levels("alphas", alphas)
    if not isinstance(levels, tuple):
        raise _checks.error("alphas", "a sequence of numbers in (0, 1)", repr(alphas))
    return levels


def checked_intervals(
    labels: ArrayLike,
    median: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    alphas: Sequence[float] | np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[float, ...]]:
    """Returns labels [..., 1], medians [...], the bounds of the intervals [..., K] and
    their `alphas`.
    """
    levels = interval_levels(alphas)
    labels, lower, upper = (
        _inputs.as_array(name, value)
        for name, value in (("labels", labels), ("lower", lower), ("upper", upper))
    )
    for name, bounds in (("lower", lower), ("upper", upper)):
        _checks.counted_axis(name, bounds.shape, labels.shape, "alphas", len(levels))
    labels = _inputs.finite("labels", labels).reshape(lower.shape[:-1])
    median = _inputs.like_labels("median", median, labels)
    lower, upper = _inputs.finite("lower", lower), _inputs.finite("upper", upper)
    check_not_reversed(lower, upper)
    return labels[..., None], median, lower, upper, levels


def check_not_reversed(lower: np.ndarray, upper: np.ndarray) -> None:
    """Raises ValueError if every lower bound is above its upper bound."""
    reversed_ = lower > upper
    if np.all(reversed_):
        low, high = (
            _inputs.first(reversed_, end.astype(np.float64)) for end in (lower, upper)
        )
        raise _checks.plain_error(
            "`lower` and `upper` seem to be swapped: every interval is reversed.",
            f"{low} as `lower`, {high} as `upper`",
        )
