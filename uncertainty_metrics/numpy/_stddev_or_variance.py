"""Finds standard deviations in the place of variances, and the reverse.

If standard deviations s are passed as variances, the mean of (y - mean)^2 / s is far
from 1, unless they are close to 1, and the mean of (y - mean)^2 / s^2 is near 1. Both
may also be true of a model whose variances are wrong. But such a model is mostly wrong
by the same factor for small and for large variances. Here the factor grows with s, and
in the other reading small and large ones are right. `studies/stddev_or_variance.py`
simulates how often models are refused that are only miscalibrated.
"""

from __future__ import annotations

import math

import numpy as np

from uncertainty_metrics import _checks, _user_warnings

_FEWEST, _MOST = 100, 4096  # Numbers of examples that are looked at.
# Bounds of abs(log(mean z^2)): as given it must be above, in the other reading below.
_FAR, _NEAR = math.log(2), math.log(1.25)
# The same bounds for a warning.
_VERY_FAR, _VERY_NEAR = math.log(4), math.log(1.1)
# For an error, the means of small and of large spreads must differ, as given, by this
# factor and by so many standard errors; the logarithm of the factor in the other
# reading must be so many times smaller.
_FACTOR, _STANDARD_ERRORS, _TIMES = math.log(1.5), 5, 4

# What to do about values of the other kind.
_INSTEAD = {
    "uncertainties": "pass them as `stddevs`",
    "var": "pass them as `stddevs`",
    "variance": "call them `stddev`",
    "stddev": "call them `variance`",
    "stddevs": "pass their square roots",
}


def are_stddevs(name: str) -> bool:
    """Returns whether an argument of this name holds standard deviations."""
    return name in ("stddev", "stddevs")


def _mean_log(z2: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Returns the logarithm of the mean, and its variance."""
    mean = np.average(z2, weights=weights)
    shares = weights / np.sum(weights)
    return float(np.log(mean)), float(np.sum((shares * (z2 / mean - 1)) ** 2))


def _log_factor(z2: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Returns the logarithm of the factor from the mean of the first half to that of
    the second, and its standard error.
    """
    half = len(z2) // 2
    small, of_small = _mean_log(z2[:half], weights[:half])
    large, of_large = _mean_log(z2[half:], weights[half:])
    return large - small, math.sqrt(of_small + of_large)


def check(
    name: str,
    means: np.ndarray,
    spreads: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
) -> None:
    """Raises ValueError where variances and standard deviations are confused for sure,
    and warns where they probably are.

    Args:
      name: the argument that holds the spreads.
      means: of the shape of the targets.
      spreads: variances or standard deviations, by the name. Those that are not
        positive are not looked at.
      targets: of any shape.
      weights: >= 0, of the shape of the targets, or None for ones.
    """
    if targets.size < _FEWEST:
        return
    index = np.linspace(0, targets.size - 1, min(targets.size, _MOST)).astype(np.int64)
    looked_at = np.unravel_index(index, targets.shape)
    y, mean, s = (np.float64(x[looked_at]) for x in (targets, means, spreads))
    w = np.ones(len(s)) if weights is None else np.float64(weights[looked_at])
    counts = (s > 0) & (w > 0)
    if np.sum(counts) < _FEWEST:
        return
    order = np.flatnonzero(counts)[np.argsort(s[counts], kind="stable")]
    kind, other, power = "variances", "standard deviations", 1
    if are_stddevs(name):
        kind, other, power = other, kind, 2
    with np.errstate(all="ignore"):
        squares = (y - mean)[order] ** 2
        verdict, means_of_z2 = _verdict(squares, s[order], w[order], power)
    if verdict == "right":
        return
    found = (
        "(y - mean)^2 / variance with a mean of {:.3g}, and of {:.3g} if they are "
        f"{other}"
    ).format(*means_of_z2)
    if verdict == "wrong":
        raise _checks.error(
            name,
            f"{kind}, and these are {other}: {_INSTEAD[name]} (if they are {kind} "
            "after all, pass all numbers in another unit)",
            found,
        )
    _user_warnings.warn(
        f"`{name}` must be {kind}, and these may be {other}: if so, {_INSTEAD[name]}. "
        f"Received: {found}"
    )


def _verdict(
    squares: np.ndarray, spreads: np.ndarray, weights: np.ndarray, power: int
) -> tuple[str, tuple[float, float]]:
    """Returns "right", "doubtful" or "wrong", and the mean of z^2 in both readings.

    Args:
      squares: of the errors, [N].
      spreads: ascending, > 0, [N].
      weights: > 0, [N].
      power: of the spreads that is to be the variance, 1 or 2.
    """
    z2, z2_other = squares / spreads**power, squares / spreads ** (3 - power)
    (log_mean, _), (log_other, _) = _mean_log(z2, weights), _mean_log(z2_other, weights)
    if not abs(log_mean) >= _FAR:  # Mostly, and for NaN.
        return "right", (0.0, 0.0)
    means = math.exp(min(log_mean, 700)), math.exp(min(log_other, 700))
    factor, error = _log_factor(z2, weights)
    factor_other, _ = _log_factor(z2_other, weights)
    if (
        abs(log_other) <= _NEAR
        and abs(factor) >= max(_FACTOR, _STANDARD_ERRORS * error)
        and abs(factor) >= _TIMES * abs(factor_other)
    ):
        return "wrong", means
    if abs(log_mean) >= _VERY_FAR and abs(log_other) <= _VERY_NEAR:
        return "doubtful", means
    return "right", means
