"""Intercept and slope of the log-odds of risks, with intervals and tests by the profile
likelihood.

The functions take cells: one for each distinct risk, or the cells of a sketch, in which
the outcomes are fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics._results import TestedInterval
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.calibrators import _calibrator, _newton
from uncertainty_metrics.numpy.calibrators._logistic_likelihood import Likelihood

# The last step to an end of an interval starts at a height that differs from the target
# by at most this share of the target. It leaves about the square of this share.
_CLOSE = 1e-7
# In the worst case a step divides the remaining height by e, so this is enough.
_MAX_STEPS = 200
# A step of this size relative to the parameter is the last: the remaining error is its
# square. The search for the intercept of a slope ends with a larger step, because
# the remaining error is corrected afterwards.
_LAST_STEP, _LAST_STEP_OF_INTERCEPT = 1e-8, 1e-5
# Below this curvature the likelihood is a straight line, up to rounding.
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
    def along(cls, here: _newton.Local, k: int) -> _Point:
        """Returns the value and the derivatives along the parameter k."""
        return cls(here.value, float(here.gradient[k]), float(here.hessian[k, k]))


def not_found(steps: int) -> ValueError:
    """Returns the error for a maximum of the likelihood that rounding hides.

    This happens if one example has the weight of millions of other examples.
    """
    expected = "of more similar sizes, because rounding hides the largest likelihood"
    return _checks.error("sample_weight", expected, f"no convergence in {steps} steps")


def log_odds(scores: np.ndarray) -> np.ndarray:
    """Returns the log-odds of risks after clipping to [2^-24, 1 - 2^-24]."""
    least = _calibrator.LEAST
    return special.logit(np.clip(scores, least, 1 - least))


def intercept(cells: Cells, level: float) -> TestedInterval:
    """Returns the a of logit q = a + logit p, its interval and the p-value of a = 0."""
    loss = _loss_of_intercepts(cells)
    total = float(cells.weights.sum())
    return _interval(loss, best_intercept(cells), 0.0, level, total, tested=0.0)


def best_intercept(cells: Cells) -> float:
    """Returns the a of logit q = a + logit p; inf or -inf if all outcomes are equal."""
    rate = log_odds_of_rate(cells)
    if not math.isfinite(rate):
        return rate
    z = log_odds(cells.scores)
    shares, _, _ = _shares(cells)
    # At one end all forecasts are at most the rate, at the other at least the rate.
    ends = rate - float(z.max()), rate - float(z.min())
    start = rate - float(special.logit(shares @ special.expit(z)))
    return _minimum(_loss_of_intercepts(cells), start, *ends)


def _loss_of_intercepts(cells: Cells) -> Callable[[float], _Point]:
    """Returns the mean negative log-likelihood of an intercept."""
    z = log_odds(cells.scores)
    shares, hits, _ = _shares(cells)
    likelihood = Likelihood(np.ones((1, len(z))), shares, hits, offset=z)
    return lambda a: _Point.along(likelihood(np.array([a])), 0)


def slope(cells: Cells, level: float) -> TestedInterval:
    """Returns the b of logit q = a + b logit p, its interval and the p-value of b = 1.

    At least two cells must have different log-odds, and both outcomes must occur.
    """
    profile, _, unit = profile_of_slopes(cells)
    best, least = best_slope(cells, profile)
    total = float(cells.weights.sum())
    interval = _interval(profile, best, least, level, total, tested=unit)
    lower, best, upper, p_value = interval
    return TestedInterval(lower / unit, best / unit, upper / unit, p_value)


def joint_p_value(cells: Cells) -> float:
    """Returns the p-value of a = 0 and b = 1 together in logit q = a + b logit p, by
    the likelihood ratio with two degrees of freedom.

    At least two cells must have different log-odds, and both outcomes must occur.
    """
    z = log_odds(cells.scores)
    shares, hits, total = _shares(cells)
    as_it_is = Likelihood(np.ones((1, len(z))), shares, hits, offset=z)
    profile, _, _ = profile_of_slopes(cells)
    best, least = best_slope(cells, profile)
    if math.isfinite(best):
        least = profile(best).value
    # The tail of chi-squared at twice the logarithm of the likelihood ratio.
    return math.exp(-max(as_it_is(np.zeros(1)).value - least, 0.0) * total)


def profile_of_slopes(cells: Cells) -> tuple[Profile, float, float]:
    """Returns the likelihood of a slope in standardized log-odds, and the mean and the
    standard deviation of the log-odds.
    """
    z = log_odds(cells.scores)
    shares, hits, _ = _shares(cells)
    middle = float(shares @ z)
    z = z - middle
    unit = math.sqrt(shares @ z**2)
    return Profile(z / unit, shares, hits, log_odds_of_rate(cells)), middle, unit


def best_slope(cells: Cells, profile: Profile) -> tuple[float, float]:
    """Returns the slope of the largest likelihood in standardized log-odds; and, if it
    is infinite, the limit of the mean negative log-likelihood, else NaN.
    """
    best, least = _limit(cells, log_odds(cells.scores))
    if math.isnan(best):  # The maximum is not at infinity.
        best = _minimum(profile, 0.0, -math.inf, math.inf)
    return best, least


class Profile:
    """The mean negative log-likelihood of a slope b of x with its best intercept.

    Args:
      x: float64 [J].
      shares: share of each cell in the total weight, float64 [J].
      hits: the part of each share that has a true outcome, float64 [J].
      rate: the log-odds of the mean outcome.
    """

    def __init__(
        self, x: np.ndarray, shares: np.ndarray, hits: np.ndarray, rate: float
    ):
        self._likelihood = Likelihood(np.stack([x, np.ones_like(x)]), shares, hits)
        self._rate, self._reach = rate, float(np.abs(x).max())
        # The last slope, its intercept, and the derivative of the intercept by the
        # slope.
        self._last = 0.0, rate, 0.0

    def __call__(self, b: float) -> _Point:
        def loss(a: float) -> _Point:
            return _Point.along(self._likelihood(np.array([b, a])), 1)

        last_b, start, tangent = self._last
        start += tangent * (b - last_b)
        # At one end all forecasts are at most the rate, at the other at least the rate.
        ends = self._rate - abs(b) * self._reach, self._rate + abs(b) * self._reach
        a = _minimum(loss, start, *ends, last_step=_LAST_STEP_OF_INTERCEPT)
        here = self._likelihood(np.array([b, a]))
        (by_b, by_a), (bb, ba), (_, aa) = here.gradient, *here.hessian
        tangent, step = (-ba / aa, by_a / aa) if aa > _FLAT else (0.0, 0.0)
        self._last = b, a, float(tangent)
        # The quadratic approximation corrects the value and its derivative by b for the
        # remaining error of the intercept.
        value, derivative = here.value - by_a * step / 2, by_b + tangent * by_a
        return _Point(*map(float, (value, derivative, bb + tangent * ba)))

    def best_intercept(self, b: float) -> float:
        """Returns the intercept of the largest likelihood for a slope."""
        self(b)
        return self._last[1]


def _minimum(
    function: Callable[[float], _Point],
    start: float,
    low: float,
    high: float,
    last_step: float = _LAST_STEP,
) -> float:
    """Returns the minimum point of a convex function between low and high, which may be
    infinite.

    The interval from low to high holds the minimum, and every step makes it shorter. A
    Newton step that leaves this interval, or that is more than half as long as the step
    before it, is replaced by a step to the middle of the interval. This is needed
    because the likelihood is nearly straight between a few examples with very different
    log-odds. As long as an end is infinite, the length of a step is limited.
    """
    x, last_size = min(max(start, low), high), math.inf
    for _ in range(_MAX_STEPS):
        here = function(x)
        if here.slope == 0:
            return x
        low, high = (low, x) if here.slope > 0 else (x, high)
        step = math.copysign(math.inf, -here.slope)
        if here.curvature > 0:
            step = -here.slope / here.curvature
        if math.isinf(high - low):
            step = math.copysign(min(abs(step), 1 + 2 * abs(x)), step)
        elif not (low <= x + step <= high and abs(step) <= last_size / 2):
            step = (low + high) / 2 - x
        x, last_size = x + step, abs(step)
        if last_size <= last_step * (1 + abs(x)):
            return x
    raise not_found(_MAX_STEPS)


def _interval(
    function: Callable[[float], _Point],
    best: float,
    least: float,
    level: float,
    total: float,
    tested: float,
) -> TestedInterval:
    """Returns the interval by the likelihood ratio, and the p-value of one parameter.

    Args:
      function: the mean negative log-likelihood of a parameter.
      best: the minimum point of the function; inf or -inf if it falls forever.
      least: the limit of a function that falls forever; unused for other functions.
      level: level of the interval.
      total: total weight of the examples.
      tested: the parameter of the p-value.
    """
    middle = half = 0.0
    target = float(special.chdtri(1, 1 - level)) / 2 / total
    if math.isfinite(best):
        there = function(best)
        if not there.curvature > 0:  # The minimum is so far away that it underflows.
            raise not_found(_MAX_STEPS)
        middle, least = best, there.value
        half = math.sqrt(2 * target / there.curvature)
    lower = upper = best
    if best > -math.inf:
        lower = min(_end(function, middle - half, target, least), best)
    if best < math.inf:
        upper = max(_end(function, middle + half, target, least), best)
    # The tail of chi-squared at twice the logarithm of the likelihood ratio.
    p_value = math.erfc(math.sqrt(max(function(tested).value - least, 0.0) * total))
    return TestedInterval(lower, best, upper, p_value)


def _shares(cells: Cells) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns the share of each cell in the total weight, the share of its true
    outcomes in the total weight, and the total weight.
    """
    total = float(cells.weights.sum())
    return cells.weights / total, cells.outcome_sums / total, total


def log_odds_of_rate(cells: Cells) -> float:
    """Returns the log-odds of the mean outcome; infinite if all outcomes are equal."""
    hits = cells.outcome_sums.sum()
    misses = (cells.weights - cells.outcome_sums).sum()
    with np.errstate(divide="ignore"):
        return float(np.log(hits) - np.log(misses))


def _limit(cells: Cells, x: np.ndarray) -> tuple[float, float]:
    """Returns the best slope, and the limit of the mean negative log-likelihood, if a
    threshold on x separates the outcomes; the slope is then inf or -inf. Else returns
    NaN and NaN.

    Both outcomes may occur at the threshold itself.
    """
    misses = cells.weights - cells.outcome_sums
    x_of_hits, x_of_misses = x[cells.outcome_sums > 0], x[misses > 0]
    if x_of_misses.max() <= x_of_hits.min():
        best, threshold = math.inf, x_of_hits.min()
    elif x_of_hits.max() <= x_of_misses.min():
        best, threshold = -math.inf, x_of_hits.max()
    else:
        return math.nan, math.nan
    at = x == threshold
    parts = np.array([cells.outcome_sums[at].sum(), misses[at].sum()])
    entropy = special.entr(parts / parts.sum()).sum()
    return best, float(entropy * parts.sum() / cells.weights.sum())


def _end(
    function: Callable[[float], _Point], start: float, target: float, least: float
) -> float:
    """Returns the point at which a convex function is by `target` above `least`, on the
    side of the start, by Newton's method.

    The tangents of a convex function are below it. So after the first step all points
    are outside of the interval, and each is closer to its end than the one before.
    """
    x = start
    for _ in range(_MAX_STEPS):
        here = function(x)
        height = here.value - least
        if abs(height - target) <= _ROUNDING * (least + target):
            return x
        if here.slope == 0:
            break
        x -= (height - target) / here.slope
        if abs(height - target) <= _CLOSE * target:
            return x
    raise not_found(_MAX_STEPS)
