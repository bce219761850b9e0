"""Tests of calibration without bins: statistics of cells, and their distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells


def _p_of_largest(x: float) -> float:
    """Returns P(max abs(B) > x) for Brownian motion B on [0, 1], by reflection."""
    from scipy import special

    if x < 0.15:
        return 1.0
    odd = np.arange(1, 4 + 9 / x, 2)
    signs = 1 - np.arange(len(odd)) % 2 * 2
    return float(np.clip(4 * signs @ special.ndtr(-odd * x), 0.0, 1.0))


def p_of_range(x: ArrayLike) -> np.ndarray:
    """Returns P(max B - min B > x) for Brownian motion B on [0, 1] (Feller, 1951)."""
    from scipy import special

    x = np.asarray(x, np.float64)
    apart = np.maximum(x, 0.25)  # Below, the probability is 1.
    total = np.zeros(x.shape)
    for k in range(1, int(4 + 9 / np.min(apart))):
        total += (8 * k if k % 2 else -8 * k) * special.ndtr(-k * apart)
    return np.where(x < 0.25, 1.0, np.clip(total, 0.0, 1.0))


# The sums of (y - p) up to a score are a random walk with independent steps of variance
# p (1 - p). In the limit it is a Brownian motion with the sum of these as its time.
_WALKS: MappingProxyType[str, Callable[[float], float | np.ndarray]] = MappingProxyType(
    {"ks": _p_of_largest, "kuiper": p_of_range}
)
# The least variance of the sum, in units of one outcome, from which the limit is near.
_LEAST_VARIANCE = MappingProxyType({"ks": 25.0, "kuiper": 25.0, "spiegelhalter": 10.0})
STATISTICS: MappingProxyType[str, Callable[[Cells], float]] = MappingProxyType(
    {
        "ks": _pooled_errors.kolmogorov_smirnov,
        "kuiper": _pooled_errors.kuiper,
        "smece": _pooled_errors.smooth_error,
        "atb": _pooled_errors.averaged_two_bin,
        "spiegelhalter": lambda cells: abs(_pooled_errors.spiegelhalter(cells)[0]),
    }
)


def no_limit(statistic: str) -> ValueError:
    """Returns the error for a statistic without a known limit."""
    return _checks.error(
        "method", f"'resampling' for statistic={statistic!r}", "'asymptotic'"
    )


def asymptotic(cells: Cells, statistic: str, value: float) -> float:
    """Returns the p-value in the limit of many examples.

    Raises:
      ValueError: the statistic has no known limit, or there are too few examples whose
        scores are uncertain.
    """
    if statistic not in _LEAST_VARIANCE:
        raise no_limit(statistic)
    scores = cells.scores
    steps = 1.0 if statistic in _WALKS else (1 - 2 * scores) ** 2
    variance = float(cells.weights @ (steps * scores * (1 - scores)))
    least = _LEAST_VARIANCE[statistic]
    if variance < least:
        term = "p (1 - p)" if statistic in _WALKS else "(1 - 2 p)^2 p (1 - p)"
        raise _checks.error(
            "method",
            f"'resampling' for these scores p: 'asymptotic' needs a sum of {term} of "
            f"at least {least:g}",
            f"'asymptotic' with a sum of {variance:.3g}",
        )
    if statistic in _WALKS:
        size = value * cells.weights.sum() / math.sqrt(variance)
        return float(_WALKS[statistic](size))
    return math.erfc(value / math.sqrt(2))


def drawn_sums(
    cells: Cells, num_resamples: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yields the outcome sums of cells, [J], for outcomes that are drawn from the
    scores.
    """
    counts, scores = cells.weights.astype(np.int64), cells.scores
    for _ in range(num_resamples):
        yield rng.binomial(counts, scores).astype(np.float64)
