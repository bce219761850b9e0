"""Intercept and slope of the log-odds of risks, with intervals and tests by the profile
likelihood.

All of it is of cells: of distinct risks, or those of a sketch, whose outcomes are
fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics._results import TestedInterval
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells
from uncertainty_metrics.numpy.calibrators import _calibrator, _newton
from uncertainty_metrics.numpy.calibrators._logistic_likelihood import Likelihood

# The last step to an end of an interval starts this close, relative to the height that
# it looks for: the step leaves the square of that.
_CLOSE = 1e-7
# A step divides the height by e, at worst, and there are few of these.
_MAX_STEPS = 200
# Of a parameter, beside its size: what is left after it is the square of that. What is
# left of an intercept beside a slope is corrected afterwards.
_LAST_STEP, _ALMOST = 1e-8, 1e-5
# Curvatures as small are of likelihoods that are as good as straight.
_FLAT = 1e-100
_ROUNDING = 16 * float(np.finfo(np.float64).eps)


class _Point(NamedTuple):
    """A mean negative log-likelihood in nats, a convex function of one parameter, with
    its first and second derivative.
    """

    value: float
    slope: float
    curvature: float

    @classmethod
    def along(cls, at: _newton.Local, k: int) -> _Point:
        """Returns a likelihood as a function of its parameter k."""
        return cls(at.value, float(at.gradient[k]), float(at.hessian[k, k]))


def not_found(steps: int) -> ValueError:
    """Returns the error for a maximum of the likelihood that rounding hides, which
    happens where one example counts as much as millions of others.
    """
    expected = "of sizes that differ less: rounding hides the largest likelihood"
    return _checks.error("sample_weight", expected, f"no convergence in {steps} steps")


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

    def at(a: float) -> _Point:
        return _Point.along(likelihood(np.array([a])), 0)

    best = rate
    if math.isfinite(rate):
        # At either end all forecasts are on one side of the rate.
        ends = rate - float(z.max()), rate - float(z.min())
        start = rate - float(special.logit(shares @ special.expit(z)))
        best = _minimum(at, start, *ends)
    return _interval(at, best, 0.0, level, total, tested=0.0)


def slope(cells: Cells, level: float) -> TestedInterval:
    """Returns the b of logit q = a + b logit p, and the test of b = 1.

    The log-odds of two cells must differ, and both outcomes must occur.
    """
    z = log_odds(cells.scores)
    shares, hits, total = _shares(cells)
    z = z - shares @ z
    unit = math.sqrt(shares @ z**2)
    profile = _Profile(z / unit, shares, hits, log_odds_of_rate(cells))
    best, least = _limit(cells, z)
    if math.isnan(best):  # The maximum is not at infinity.
        best = _minimum(profile, 0.0, -math.inf, math.inf)
    found = _interval(profile, best, least, level, total, tested=unit)
    lower, best, upper, p_value = found
    return TestedInterval(lower / unit, best / unit, upper / unit, p_value)


class _Profile:
    """The mean negative log-likelihood of slopes b of x, each with the best intercept.

    Args:
      x: float64 [J].
      shares: of the weight, float64 [J].
      hits: those of true outcomes, float64 [J].
      rate: the log-odds of the mean outcome.
    """

    def __init__(
        self, x: np.ndarray, shares: np.ndarray, hits: np.ndarray, rate: float
    ):
        self._likelihood = Likelihood(np.stack([x, np.ones_like(x)]), shares, hits)
        self._rate, self._reach = rate, float(np.abs(x).max())
        # The last slope, its intercept, and how that changes with the slope.
        self._near = 0.0, rate, 0.0

    def __call__(self, b: float) -> _Point:
        def at(a: float) -> _Point:
            return _Point.along(self._likelihood(np.array([b, a])), 1)

        last, start, tangent = self._near
        start += tangent * (b - last)
        # At either end all forecasts are on one side of the rate.
        ends = self._rate - abs(b) * self._reach, self._rate + abs(b) * self._reach
        a = _minimum(at, start, *ends, last_step=_ALMOST)
        there = self._likelihood(np.array([b, a]))
        (of_b, of_a), (bb, ba), (_, aa) = there.gradient, *there.hessian
        tangent, left = (-ba / aa, of_a / aa) if aa > _FLAT else (0.0, 0.0)
        self._near = b, a, float(tangent)
        # At the best intercept, which is where the parabola has it.
        value = there.value - of_a * left / 2
        return _Point(*map(float, (value, of_b + tangent * of_a, bb + tangent * ba)))


def _minimum(
    function: Callable[[float], _Point],
    start: float,
    low: float,
    high: float,
    last_step: float = _LAST_STEP,
) -> float:
    """Returns where a convex function has its minimum, between two points that may be
    infinite.

    Steps of Newton's method that leave what is known to hold the minimum, or do not
    become smaller, are replaced by halving it: between a few examples of very different
    log-odds the likelihood is as good as straight. As long as it is not known from both
    sides the steps are as long as the way so far.
    """
    x, last = min(max(start, low), high), math.inf
    for _ in range(_MAX_STEPS):
        at = function(x)
        if at.slope == 0:
            return x
        low, high = (low, x) if at.slope > 0 else (x, high)
        step = math.copysign(math.inf, -at.slope)
        if at.curvature > 0:
            step = -at.slope / at.curvature
        if math.isinf(high - low):
            step = math.copysign(min(abs(step), 1 + 2 * abs(x)), step)
        elif not (low <= x + step <= high and abs(step) <= last / 2):
            step = (low + high) / 2 - x
        x, last = x + step, abs(step)
        if last <= last_step * (1 + abs(x)):
            return x
    raise not_found(_MAX_STEPS)


def _interval(
    at: Callable[[float], _Point],
    best: float,
    least: float,
    level: float,
    total: float,
    tested: float,
) -> TestedInterval:
    """Returns the parameters whose likelihood ratio is not beyond its level.

    Args:
      at: the mean negative log-likelihood.
      best: where it is least; inf or -inf where it falls for ever.
      least: its limit there, where it does.
      level: of the interval.
      total: the weight that the mean is of.
      tested: the parameter of the p-value.
    """
    middle = half = 0.0
    target = float(special.chdtri(1, 1 - level)) / 2 / total
    if math.isfinite(best):
        there = at(best)
        if not there.curvature > 0:  # Too far away for rounding.
            raise not_found(_MAX_STEPS)
        middle, least = best, there.value
        half = math.sqrt(2 * target / there.curvature)
    lower = upper = best
    if best > -math.inf:
        lower = min(_end(at, middle - half, target, least), best)
    if best < math.inf:
        upper = max(_end(at, middle + half, target, least), best)
    # The tail of chi-squared at twice the logarithm of the likelihood ratio.
    p_value = math.erfc(math.sqrt(max(at(tested).value - least, 0.0) * total))
    return TestedInterval(lower, best, upper, p_value)


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


def _end(
    at: Callable[[float], _Point], start: float, target: float, least: float
) -> float:
    """Returns where a convex function is by the target above its least value, by
    Newton's method from one side.

    The tangents of a convex function are below it: after the first step all points are
    outside of the interval, and come closer.
    """
    x = start
    for _ in range(_MAX_STEPS):
        there = at(x)
        height = there.value - least
        if abs(height - target) <= _ROUNDING * (least + target):
            return x
        if there.slope == 0:
            break
        x -= (height - target) / there.slope
        if abs(height - target) <= _CLOSE * target:
            return x
    raise not_found(_MAX_STEPS)
