"""Intervals and tests of risks of examples in clusters: score tests, with the sandwich
of the clusters' scores as their variance.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics._results import ConfidenceInterval, TestedInterval
from uncertainty_metrics.numpy._clusters import cluster_sums
from uncertainty_metrics.numpy.calibration.risk import _likelihood_intervals
from uncertainty_metrics.numpy.calibration.risk._spline_curve import SplineCurve
from uncertainty_metrics.numpy.calibration.without_bins._clustered_score import Score
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    Rows,
)

# An end is searched this many times twice as far away, before it counts as infinite.
_MAX_DOUBLINGS = 40
# The last step of a search, relative to the first.
_LAST_STEP = 1e-8
_BLOCK = 2**13
# A matrix with a larger condition number has no inverse.
_SINGULAR = 1e12


def intercept(cells: Cells, rows: Rows, level: float) -> TestedInterval:
    """Returns the a of logit q = a + logit p, its interval and the p-value of a = 0."""
    z = _likelihood_intervals.log_odds(rows.scores)
    best = _likelihood_intervals.best_intercept(cells)

    @functools.cache
    def score(a: float) -> Score:
        return _score(rows, z, a, 1.0, of_slope=False)

    return _interval(score, best, 0.0, level, _standard_error(score, best))


def slope(cells: Cells, rows: Rows, level: float) -> TestedInterval:
    """Returns the b of logit q = a + b logit p, its interval and the p-value of b = 1.

    At least two cells must have different log-odds, and both outcomes must occur.
    """
    profile, middle, unit = _likelihood_intervals.profile_of_slopes(cells)
    best, _ = _likelihood_intervals.best_slope(cells, profile)
    x = (_likelihood_intervals.log_odds(rows.scores) - middle) / unit

    @functools.cache
    def score(b: float) -> Score:
        return _score(rows, x, profile.best_intercept(b), b, of_slope=True)

    interval = _interval(score, best, unit, level, _standard_error(score, best))
    lower, best, upper, p_value = interval
    scaled = TestedInterval(lower / unit, best / unit, upper / unit, p_value)
    scaled.design_effect = interval.design_effect
    return scaled


def joint_p_value(rows: Rows) -> float:
    """Returns the p-value of a = 0 and b = 1 together in logit q = a + b logit p, by
    Hotelling's test of the clusters' scores of both.

    At least two rows must have different log-odds.

    Raises:
      ValueError: there are fewer than three clusters, or both scores of all clusters
        have the same ratio.
    """
    number = rows.clusters.number
    x = _likelihood_intervals.log_odds(rows.scores)
    own = rows.weights * rows.scores * (1 - rows.scores)
    if own.sum() > 0:
        x = x - float(own @ x) / float(own.sum())
    # Functions of the log-odds whose scores have the model's variance 1 each.
    masses = np.array([own.sum(), own @ x**2])
    functions = np.stack([np.ones_like(x), x])
    functions /= np.sqrt(np.where(masses > 0, masses, 1.0))[:, None]
    scores = (rows.outcomes - rows.scores) * functions
    sums = np.stack([rows.sums(score) for score in scores], axis=1)
    together = sums.T @ sums
    if number < 3 or not np.linalg.cond(together) < _SINGULAR:
        expected = "at least three clusters whose scores of intercept and slope differ"
        raise _checks.error("clusters", expected, f"{number} clusters", verb="hold")
    total = sums.sum(axis=0)
    statistic = float(total @ np.linalg.solve(together, total)) * (number - 1) / number
    squares = (rows.weights * scores) @ scores.T
    if np.linalg.cond(squares) < _SINGULAR:
        # The variance is at least that of the model, times the ratio of the squares of
        # clusters and of examples, as in `Score`.
        values, vectors = np.linalg.eigh(squares)
        total = vectors @ (np.sqrt(values) * (vectors.T @ total))
        by_model = float(total @ np.linalg.solve(together, total))
        statistic = min(statistic, by_model)
    freedom = number - 2
    return float(special.fdtrc(2, freedom, statistic * freedom / (2 * (number - 1))))


def ratio(rows: Rows, level: float) -> ConfidenceInterval:
    """Returns O / E and its interval; at least one event must be expected."""
    events, expected = rows.sums(rows.outcomes), rows.sums(rows.scores)
    total, sum_of_events, sum_expected = (
        float(sums.sum()) for sums in (rows.weights, events, expected)
    )
    leverages = expected / sum_expected
    products = [
        float((rows.weights * first) @ second)
        for first, second in (
            (rows.outcomes, rows.outcomes),
            (rows.outcomes, rows.scores),
            (rows.scores, rows.scores),
        )
    ]

    @functools.cache
    def score(ratio: float) -> Score:
        squares = products[0] - 2 * ratio * products[1] + ratio**2 * products[2]
        number = min(ratio * sum_expected, total)
        binomial = number * (1 - number / total)
        return Score(events - ratio * expected, squares, binomial, leverages)

    best, most = sum_of_events / sum_expected, total / sum_expected
    # One event more or less, if no two clusters differ.
    step = math.sqrt(max(score(best).variance, 1.0)) / sum_expected
    lower, _, upper, _ = interval = _interval(score, best, 1.0, level, step)
    ratios = ConfidenceInterval(max(lower, 0.0), best, max(min(upper, most), best))
    ratios.design_effect = interval.design_effect
    return ratios


def design_effect_of_curve(curve: SplineCurve, rows: Rows) -> float | None:
    """Returns the mean variance of the log-odds of a curve over the examples, divided
    by that of independent examples; None if all outcomes are the same.
    """
    if not math.isfinite(curve.point[-1]):
        return None
    # The functions of the spline have mean square 1 and no mean products, so the mean
    # variance of the curve is the sum of the variances of the coefficients.
    sums = curve.scores_of_clusters(rows).T
    total, number = float(rows.weights.sum()), rows.clusters.number
    inverse = np.linalg.pinv(curve.information, hermitian=True)
    influences = inverse @ sums / total
    variance = float(np.sum(influences**2)) * number / (number - 1)
    return variance / (float(np.trace(inverse)) / total)


def _score(rows: Rows, x: np.ndarray, a: float, b: float, of_slope: bool) -> Score:
    """Returns the score of a or of b in the model logit q = a + b x. For b, a must be
    the best intercept.
    """
    scores, information = np.empty_like(x), np.empty_like(x)
    for start in range(0, len(x), _BLOCK):  # Blocks stay in the cache.
        block = slice(start, start + _BLOCK)
        log_odds = a + b * x[block]
        q = special.expit(log_odds)
        scores[block] = rows.outcomes[block] - q
        information[block] = rows.weights[block] * q * special.expit(-log_odds)
    if of_slope:
        # The score of the distances from this mean does not change with a.
        x = x - float(information @ x) / float(information.sum())
        scores *= x
        information *= x * x
    of_clusters = cluster_sums(information, *rows.clusters)
    model = float(of_clusters.sum())
    weighted = rows.weights * scores
    sums = cluster_sums(weighted, *rows.clusters)
    return Score(sums, float(weighted @ scores), model, of_clusters / model)


def _interval(
    score: Callable[[float], Score],
    best: float,
    tested: float,
    level: float,
    step: float,
) -> TestedInterval:
    """Returns the interval of the values that a score test does not reject, and the
    p-value of one value.

    Args:
      score: the score of the parameter, positive below the estimate.
      best: the estimate, at which the score is 0; or inf or -inf.
      tested: the value of the p-value.
      level: level of the interval.
      step: about the standard error.
    """
    at_tested = score(tested)
    start = best if math.isfinite(best) else tested
    quantile = at_tested.quantile(level)
    ends = []
    for sign, end in ((1.0, -math.inf), (-1.0, math.inf)):
        if best == end:
            ends.append(end)
            continue

        def excess(distance: float, sign: float = sign) -> float:
            return sign * score(start - sign * distance).z - quantile

        distance = _root(excess, 1.2 * quantile * step, math.isfinite(best))
        ends.append(start - sign * distance)
    lower, upper = min(ends[0], best), max(ends[1], best)
    interval = TestedInterval(lower, best, upper, at_tested.p_value)
    interval.design_effect = score(start).design_effect
    return interval


def _standard_error(score: Callable[[float], Score], best: float) -> float:
    """Returns the standard error of a coefficient; 1 if the estimate is infinite."""
    if not math.isfinite(best):
        return 1.0
    there = score(best)
    # If no two clusters differ, it is only small.
    return math.sqrt(max(there.variance, _LAST_STEP * there.model)) / there.model


def _root(excess: Callable[[float], float], step: float, starts_inside: bool) -> float:
    """Returns the distance at which a function crosses 0; inf if it does not.

    Args:
      excess: the function.
      step: the first distance to try.
      starts_inside: whether the function is below 0 at the distance 0; else it may be
        above, and then crosses at a negative distance.
    """
    from scipy import optimize

    outwards = starts_inside or excess(0.0) < 0
    near, far = 0.0, step if outwards else -step
    with np.errstate(all="ignore"):  # Too far away, all forecasts are 0 or 1.
        for _ in range(_MAX_DOUBLINGS):
            value = excess(far)
            if math.isnan(value):
                break
            if (value > 0) == outwards:
                return optimize.brentq(excess, near, far, xtol=_LAST_STEP * step)
            near, far = far, 2 * far
    return math.inf if outwards else near
