"""The curve of observed risk against predicted risk: logistic regression on a
restricted cubic spline of the log-odds.

The functions take cells: one for each distinct risk, or the cells of a sketch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics._results import OfClusters
from uncertainty_metrics.numpy.calibration.risk import _likelihood_intervals
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    Rows,
)
from uncertainty_metrics.numpy.calibrators import _newton
from uncertainty_metrics.numpy.calibrators._logistic_likelihood import Likelihood

# Harrell (2015) puts 5, 4 or 3 knots at these shares of the examples.
PERCENTILES = (
    (0.05, 0.275, 0.5, 0.725, 0.95),
    (0.05, 0.35, 0.65, 0.95),
    (0.1, 0.5, 0.9),
)
# Knots that differ by this share of the range of the knots, or less, count as equal.
_COINCIDE = 1e-6
# Sums of weights that differ relatively by less than this count as equal.
_ROUNDING = 2.0**-40
# A mean square below this share of the largest mean square is rounding.
_LEAST = 1e-14
# The penalty, as a share of the information of a constant curve. Where the likelihood
# has a maximum and no curve is 0 or 1, it changes the curve by less than 1e-7.
_RIDGE = 1e-12
# At the minimum the slopes are 0: below this share of the rarer outcome.
_ENOUGH = 1e-12
# Below this share, a step is good if it halves the slopes. It is the last if it does
# not even do that, and the descent is below the rounding of the value.
_NEAR = 1e-5
_MAX_STEPS = 300
_EPSILON = float(np.finfo(np.float64).eps)
# A step must have this share of the descent that the slopes predict.
_LEAST_DESCENT = 1e-4
# If it has not, the next step is damped by so much more.
_MORE_DAMPING = 8.0


class _IntegratedCalibrationIndex(NamedTuple):
    ici: float
    e50: float
    e90: float
    e_max: float


class IntegratedCalibrationIndex(_IntegratedCalibrationIndex, OfClusters):
    """The distances between the risks and a flexible calibration curve, in [0, 1].

    Attributes:
      ici: mean distance.
      e50: median distance.
      e90: 90th percentile of the distances.
      e_max: largest distance.
      num_clusters: as in `OfClusters`.
      design_effect: that of the log-odds of the curve, on average over the examples.
    """


@dataclasses.dataclass(frozen=True)
class _Spline:
    """A basis of the restricted cubic splines of the log-odds z, and a constant.

    The functions of the basis are linear combinations of z and of cubic splines that
    are straight beyond the knots. Over the examples they have mean 0 and mean square 1,
    and their mean products are 0.

    Attributes:
      knots: ascending, [k]; empty for straight lines.
      middle: means of z and of the cubic splines, [D]; D is 0 for the constant alone.
      whitening: the linear combinations, [D, D].
    """

    knots: np.ndarray
    middle: np.ndarray
    whitening: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, weights: np.ndarray) -> _Spline:
        """Returns the basis for examples with ascending log-odds [N]."""
        knots, shares = knots_of(z, weights), weights / weights.sum()
        functions = _functions(z, knots) if z[-1] > z[0] else np.zeros((0, len(z)))
        middle = functions @ shares
        functions = functions - middle[:, None]
        spread = np.sqrt(functions**2 @ shares)[:, None]
        functions /= spread
        products = (functions * shares) @ functions.T
        values, vectors = np.linalg.eigh(products)
        # Smaller values are rounding errors: combinations divided by their roots would
        # be noise.
        values = np.maximum(values, _LEAST * values.max(initial=0.0))
        return cls(knots, middle, (vectors / np.sqrt(values)).T / spread.T)

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns the values of the functions, with the constant last, [D + 1, N]."""
        functions = _functions(z, self.knots)[: len(self.middle)]
        rows = self.whitening @ (functions - self.middle[:, None])
        return np.concatenate([rows, np.ones((1, len(z)))])


@dataclasses.dataclass(frozen=True)
class SplineCurve:
    """The curve f of observed risk as a function of predicted risk.

      log(f / (1 - f)) = point @ spline(z),  z the log-odds of the predicted risk

    Attributes:
      spline: the basis, with D functions and a constant.
      point: coefficients [D + 1]; the last is infinite if all outcomes are the same.
      information: second derivatives of the mean negative log-likelihood,
        [D + 1, D + 1].
    """

    spline: _Spline
    point: np.ndarray
    information: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Returns the curve f at scores [N] in [0, 1]."""
        rows = self.spline(_likelihood_intervals.log_odds(scores))
        return special.expit(self.point @ rows)

    def band(
        self, scores: np.ndarray, level: float, size: float, rows: Rows | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the lower and upper ends of the interval of f at each score.

        The ends are z standard errors from f, in log-odds; z is the Normal quantile of
        the level. With clusters, the variance is the sandwich of their scores, and the
        quantile is that of Student's distribution.

        Args:
          scores: [N], in [0, 1].
          level: in (0, 1).
          size: number of examples.
          rows: the examples, in clusters; None if they are independent.
        """
        if not math.isfinite(self.point[-1]):
            return np.zeros(len(scores)), np.ones(len(scores))
        functions = self.spline(_likelihood_intervals.log_odds(scores))
        values, vectors = np.linalg.eigh(self.information)
        values = np.maximum(values, np.finfo(np.float64).tiny)
        along = (vectors.T @ functions) / values[:, None]
        variance = np.sum(along**2 * values[:, None], axis=0) / size
        quantile = special.ndtri((1 + level) / 2)
        if rows is not None:
            number = rows.clusters.number
            sums = self.scores_of_clusters(rows) @ vectors / rows.weights.sum()
            together = np.sum((sums @ along) ** 2, axis=0) * number / (number - 1)
            # With few events the sums of clusters may be alike by chance.
            variance = np.maximum(variance, together)
            quantile = special.stdtrit(number - 1, (1 + level) / 2)
        half = quantile * np.sqrt(variance)
        middle = self.point @ functions
        return special.expit(middle - half), special.expit(middle + half)

    def scores_of_clusters(self, rows: Rows) -> np.ndarray:
        """Returns the sums of the scores of the coefficients, [C, D + 1]."""
        functions = self.spline(_likelihood_intervals.log_odds(rows.scores))
        residuals = rows.outcomes - special.expit(self.point @ functions)
        return np.stack([rows.sums(residuals * each) for each in functions], axis=1)

    def index(self, cells: Cells) -> IntegratedCalibrationIndex:
        """Returns the distances between the scores of cells and the curve."""
        distances = np.abs(self(cells.scores) - cells.scores)
        order = np.argsort(distances)
        distances, weights = distances[order], cells.weights[order]
        e50, e90 = quantiles(distances, weights, (0.5, 0.9))
        mean = distances @ weights / weights.sum()
        return IntegratedCalibrationIndex(*map(float, (mean, e50, e90, distances[-1])))


def _functions(z: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Returns z and, for k knots, k - 2 cubic splines that are straight beyond them."""
    functions = [z]
    if len(knots):
        *inner, before, last = knots

        def cubes(knot: float) -> np.ndarray:
            above = np.maximum(z - knot, 0) / (last - knots[0])
            return above * above * above

        outer = cubes(before), cubes(last)
        for knot in inner:  # There are at most three.
            share = (last - knot) / (last - before)
            functions.append(cubes(knot) - share * outer[0] + (share - 1) * outer[1])
    return np.stack(functions)


def quantiles(
    values: np.ndarray, weights: np.ndarray, shares: tuple[float, ...]
) -> np.ndarray:
    """Returns weighted quantiles of ascending values [N].

    The quantile of a share is the first value at which the running sum of the weights
    exceeds this share of their total. If the running sum equals it between two values,
    the quantile is their mean.
    """
    sums = np.cumsum(weights)
    targets = sums[-1] * np.array(shares)
    low = np.searchsorted(sums, targets * (1 - _ROUNDING), "left")
    high = np.searchsorted(sums, targets * (1 + _ROUNDING), "right")
    last = len(values) - 1
    return (values[np.minimum(low, last)] + values[np.minimum(high, last)]) / 2


def knots_of(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns 5, 4 or 3 of Harrell's knots, as many as differ; none if no 3 differ."""
    distinct = np.count_nonzero(np.diff(z)) + 1
    for shares in PERCENTILES:
        knots = quantiles(z, weights, shares)
        steps = np.diff(knots)
        if distinct >= len(shares) and steps.min() > _COINCIDE * steps.sum():
            return knots
    return np.zeros(0)


def fitted(cells: Cells) -> SplineCurve:
    """Returns the curve of the largest likelihood, for at least one cell.

    If a spline separates outcomes, or nearly does, the likelihood has no maximum, or
    one for which coefficients are huge. So the curve minimises

      mean negative log-likelihood + ridge / 2 r (1 - r) var(log(f / (1 - f)))

    with r the mean outcome, and the variance over the examples. This does not depend on
    the basis of the splines, and exchanging the outcomes turns f into 1 - f.
    """
    z = _likelihood_intervals.log_odds(cells.scores)
    total = cells.weights.sum()
    spline = _Spline.of(z, cells.weights)
    rows = spline(z)
    likelihood = Likelihood(rows, cells.weights / total, cells.outcome_sums / total)
    start = np.zeros(len(rows))
    start[-1] = _likelihood_intervals.log_odds_of_rate(cells)
    if not math.isfinite(start[-1]):
        return SplineCurve(spline, start, np.zeros((len(rows), len(rows))))
    rarer = float(special.expit(-abs(start[-1])))
    ridge = np.full(len(rows), _RIDGE * rarer * (1 - rarer))
    ridge[-1] = 0.0

    def penalised(point: np.ndarray) -> _newton.Local:
        here, slopes = likelihood(point), ridge * point
        return _newton.Local(
            here.value + float(slopes @ point) / 2,
            here.gradient + slopes,
            hessian=here.hessian + np.diag(ridge),
        )

    return SplineCurve(spline, *_minimum(penalised, start, rarer))


def _minimum(
    function: Callable[[np.ndarray], _newton.Local], start: np.ndarray, rarer: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the minimum point of a penalised likelihood, and the second derivatives.

    A Newton step may go so far that the curve is 0 at an event, up to rounding. The
    curvature there has vanished, but the slope has not. So steps are damped (Levenberg
    and Marquardt), and only slopes of 0 tell that the minimum is reached.

    Args:
      function: the function, with its derivatives.
      start: the point before the first step.
      rarer: share of the rarer outcome.
    """
    point, here, damping = start, function(start), 0.0
    for _ in range(_MAX_STEPS):
        slope = float(np.abs(here.gradient).max())
        if slope <= _ENOUGH * rarer:
            return point, here.hessian
        values, vectors = np.linalg.eigh(here.hessian)
        values = np.maximum(values, _EPSILON * values[-1])
        slopes = vectors.T @ here.gradient
        # The log-odds are sums of terms that may be large and cancel each other.
        terms = here.value + rarer * float(np.abs(point).max())
        rounding = 16 * _EPSILON * terms
        while True:
            damped = slopes / (values + damping)
            step = -vectors @ damped
            there, descent = function(point + step), float(slopes @ damped)
            enough = _LEAST_DESCENT * descent - rounding
            is_better = descent > rounding and here.value - there.value >= enough
            if slope <= _NEAR * rarer:  # Rounding may hide the descent.
                is_better |= float(np.abs(there.gradient).max()) < slope / 2
                if not is_better and descent <= rounding:
                    return point, here.hessian
            if is_better:
                break
            damping = max(_MORE_DAMPING * damping, float(values[0]))
            if not damping < math.inf:
                raise _likelihood_intervals.not_found(_MAX_STEPS)
        point, here, damping = point + step, there, damping / _MORE_DAMPING**2
    raise _likelihood_intervals.not_found(_MAX_STEPS)
