"""Intercept and slope of the log-odds of risks, with intervals and tests by the profile
likelihood.

All of it is of cells: of distinct risks, or those of a sketch, whose outcomes are
fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from uncertainty_metrics._results import TestedInterval
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells
from uncertainty_metrics.numpy.calibrators import _calibrator, _newton
from uncertainty_metrics.numpy.calibrators._logistic_likelihood import Likelihood

# The last step to an end of an interval starts this close, relative to the height that
# it looks for: the step leaves the square of that.
_CLOSE = 1e-7
# A step divides the height by e, at worst, and there are few of these.
_MAX_STEPS = 100
# Of a parameter, beside its size: what is left after it is the square of that.
_LAST_STEP = 1e-8
_ROUNDING = 16 * float(np.finfo(np.float64).eps)

# Of a parameter: how much larger the mean negative log-likelihood is than at its
# minimum, in nats, and the derivative of that. It is convex.
_Rise = Callable[[float], tuple[float, float]]


def log_odds(scores: np.ndarray) -> np.ndarray:
    """Returns the log-odds of risks, taken as at least 2^-24 away from 0 and 1."""
    least = _calibrator.LEAST
    return special.logit(np.clip(scores, least, 1 - least))


def intercept(cells: Cells, level: float) -> TestedInterval:
    """Returns the a of logit q = a + logit p, and the test of a = 0."""
    z = log_odds(cells.scores)
    shares, hits, total = _shares(cells)
    rate = log_odds_of_rate(cells)
    likelihood = Likelihood(np.ones((1, len(z))), shares, hits, offset=z)
    target = _target(level, total)
    best, least, half, middle = rate, 0.0, 0.0, 0.0
    if math.isfinite(rate):
        start = rate - float(special.logit(shares @ special.expit(z)))
        # At either end all forecasts are on one side of the rate.
        best = middle = _root(
            likelihood, start, rate - float(z.max()), rate - float(z.min())
        )
        at = likelihood(np.array([best]))
        least, half = at.value, _half_width(at.hessian[0, 0], target)

    def rise(a: float) -> tuple[float, float]:
        at = likelihood(np.array([a]))
        return at.value - least, float(at.gradient[0])

    lower = _end(rise, middle - half, target, least) if best > -math.inf else best
    upper = _end(rise, middle + half, target, least) if best < math.inf else best
    return TestedInterval(lower, best, upper, _p_value(rise(0.0)[0], total))


def slope(cells: Cells, level: float) -> TestedInterval:
    """Returns the b of logit q = a + b logit p, and the test of b = 1.

    The log-odds of two cells must differ, and both outcomes must occur.
    """
    z = log_odds(cells.scores)
    shares, hits, total = _shares(cells)
    z = z - shares @ z
    unit = math.sqrt(shares @ z**2)
    x, ones = z / unit, np.ones((1, len(z)))
    likelihood = Likelihood(np.concatenate([x[None], ones]), shares, hits)
    target = _target(level, total)
    rate = log_odds_of_rate(cells)
    near, tangent = np.array([0.0, rate]), 0.0
    best, least = _limit(cells, x)
    half = middle = 0.0
    if math.isnan(best):  # The maximum is not at infinity.
        near, at = _minimum(likelihood, near)
        tangent = -float(at.hessian[0, 1] / at.hessian[1, 1])
        curvature = at.hessian[0, 0] + tangent * at.hessian[0, 1]
        best = middle = float(near[0])
        least, half = at.value, _half_width(curvature, target)

    def rise(b: float) -> tuple[float, float]:
        beside = Likelihood(ones, shares, hits, offset=b * x)
        reach = abs(b) * float(np.abs(x).max())
        a = _root(beside, near[1] + tangent * (b - near[0]), rate - reach, rate + reach)
        at = likelihood(np.array([b, a]))
        return at.value - least, float(at.gradient[0])

    lower = _end(rise, middle - half, target, least) if best > -math.inf else best
    upper = _end(rise, middle + half, target, least) if best < math.inf else best
    p_value = _p_value(rise(unit)[0], total)
    return TestedInterval(lower / unit, best / unit, upper / unit, p_value)


def _minimum(
    likelihood: Likelihood, start: np.ndarray
) -> tuple[np.ndarray, _newton.Local]:
    """Returns where a likelihood that has a minimum has it, and what it is there."""
    try:
        point = _newton.minimize(likelihood, start).point
    except _newton.NotConverged:
        raise _newton.error() from None
    at = likelihood(point)
    if not np.linalg.eigvalsh(at.hessian)[0] > 0:  # Too far away for rounding.
        raise _newton.error()
    return point, at


def _root(likelihood: Likelihood, start: float, low: float, high: float) -> float:
    """Returns where a likelihood of one parameter has its minimum, between two points.

    Steps of Newton's method that leave what is known to hold the minimum, or do not
    become smaller, are replaced by halving it: between a few examples of very different
    log-odds the likelihood is as good as straight.
    """
    x, last = min(max(start, low), high), math.inf
    for _ in range(_MAX_STEPS):
        at = likelihood(np.array([x]))
        slope, curvature = float(at.gradient[0]), float(at.hessian[0, 0])
        if slope == 0:
            return x
        low, high = (low, x) if slope > 0 else (x, high)
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if not (low <= x + step <= high and abs(step) <= last / 2):
            step = (low + high) / 2 - x
        x, last = x + step, abs(step)
        if last <= _LAST_STEP * (1 + abs(x)):
            return x
    raise _newton.error(_MAX_STEPS)


def _shares(cells: Cells) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns the shares of the weight, those of true outcomes, and the weight."""
    total = float(cells.weights.sum())
    return cells.weights / total, cells.outcome_sums / total, total


def log_odds_of_rate(cells: Cells) -> float:
    hits = cells.outcome_sums.sum()
    misses = (cells.weights - cells.outcome_sums).sum()
    with np.errstate(divide="ignore"):  # Of one outcome it is infinite.
        return float(np.log(hits) - np.log(misses))


def _limit(cells: Cells, x: np.ndarray) -> tuple[float, float]:
    """Returns the slope inf or -inf where a threshold separates the outcomes, and the
    limit of the mean negative log-likelihood; else NaN.

    Outcomes of both kinds may be at the threshold itself.
    """
    misses = cells.weights - cells.outcome_sums
    of_hits, of_misses = x[cells.outcome_sums > 0], x[misses > 0]
    if of_misses.max() <= of_hits.min():
        best, threshold = math.inf, of_hits.min()
    elif of_hits.max() <= of_misses.min():
        best, threshold = -math.inf, of_hits.max()
    else:
        return math.nan, math.nan
    at = x == threshold
    parts = np.array([cells.outcome_sums[at].sum(), misses[at].sum()])
    entropy = special.entr(parts / parts.sum()).sum()
    return best, float(entropy * parts.sum() / cells.weights.sum())


def _target(level: float, total: float) -> float:
    """Returns by how much the mean rises where the likelihood ratio is at its level."""
    return float(special.chdtri(1, 1 - level)) / 2 / total


def _half_width(curvature: float, target: float) -> float:
    return math.sqrt(2 * target / curvature)


def _end(rise: _Rise, start: float, target: float, least: float) -> float:
    """Returns where the rise is the target, by Newton's method from one side.

    The tangents of a convex function are below it: after the first step all points are
    outside of the interval, and come closer.
    """
    x = start
    for _ in range(_MAX_STEPS):
        height, steepness = rise(x)
        if abs(height - target) <= _ROUNDING * (least + target):
            return x
        x -= (height - target) / steepness
        if abs(height - target) <= _CLOSE * target:
            return x
    raise _newton.error(_MAX_STEPS)


def _p_value(rise: float, total: float) -> float:
    """Returns the tail of chi-squared at the likelihood ratio statistic, 2 n rise."""
    return math.erfc(math.sqrt(max(rise, 0.0) * total))
