"""The curve of observed risk against predicted risk: logistic regression on a
restricted cubic spline of the log-odds.

All of it is of cells: of distinct risks, or those of a sketch.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics.numpy.calibration import _likelihood_intervals
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells
from uncertainty_metrics.numpy.calibrators import _newton
from uncertainty_metrics.numpy.calibrators._logistic_likelihood import Likelihood

# Where Harrell (2015) puts 5, 4 or 3 knots: shares of the examples.
PERCENTILES = (
    (0.05, 0.275, 0.5, 0.725, 0.95),
    (0.05, 0.35, 0.65, 0.95),
    (0.1, 0.5, 0.9),
)
# Knots that are as close, beside the range of all of them, coincide.
_COINCIDE = 1e-6
# A share of the weight that is another but for rounding.
_ROUNDING = 2.0**-40
# Mean squares as small beside the largest are rounding.
_LEAST = 1e-14
# How far the mean likelihood may be from its supremum, in nats. Where a spline
# separates the outcomes a step divides that by e, once some dozens found where to.
_ENOUGH = 1e-11
_MAX_STEPS = 200


class IntegratedCalibrationIndex(NamedTuple):
    """Distances between predicted risks and the curve of observed risks, in [0, 1].

    Attributes:
      ici: their mean.
      e50: their median.
      e90: their 90th percentile.
      e_max: the largest.
    """

    ici: float
    e50: float
    e90: float
    e_max: float


@dataclasses.dataclass(frozen=True)
class _Spline:
    """Functions of log-odds z: combinations of z and of cubic splines that are straight
    beyond the knots, with mean 0, mean square 1 and mean products 0, and the constant.

    Attributes:
      knots: ascending, [k]; none for a straight line.
      middle: means of z and of the splines, [D]; D is 0 for the constant alone.
      whitening: [D, D].
    """

    knots: np.ndarray
    middle: np.ndarray
    whitening: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, weights: np.ndarray) -> _Spline:
        """Returns the functions that suit ascending log-odds [N]."""
        knots, shares = _knots(z, weights), weights / weights.sum()
        functions = _functions(z, knots) if z[-1] > z[0] else np.zeros((0, len(z)))
        middle = functions @ shares
        functions = functions - middle[:, None]
        spread = np.sqrt(functions**2 @ shares)[:, None]
        functions /= spread
        products = (functions * shares) @ functions.T
        values, vectors = np.linalg.eigh(products)
        # Else rounding hides how the likelihood changes along some combinations.
        values = np.maximum(values, _LEAST * values.max(initial=0.0))
        return cls(knots, middle, (vectors / np.sqrt(values)).T / spread.T)

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns their values, the constant last, [D + 1, N]."""
        functions = _functions(z, self.knots)[: len(self.middle)]
        rows = self.whitening @ (functions - self.middle[:, None])
        return np.concatenate([rows, np.ones((1, len(z)))])


@dataclasses.dataclass(frozen=True)
class SplineCurve:
    """Observed risks as a function of predicted risks.

      log(f / (1 - f)) = point @ spline(z),  z the log-odds of the predicted risk

    Attributes:
      spline: of D functions.
      point: [D]; the last is infinite where all outcomes are the same.
      information: second derivatives of the mean negative log-likelihood, [D, D].
    """

    spline: _Spline
    point: np.ndarray
    information: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Returns f of scores [N] in [0, 1]."""
        rows = self.spline(_likelihood_intervals.log_odds(scores))
        return special.expit(self.point @ rows)

    def band(
        self, scores: np.ndarray, level: float, size: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ends of the interval of f at each of the scores, for so many
        examples: log-odds plus and minus standard errors.
        """
        if not math.isfinite(self.point[-1]):
            return np.zeros(len(scores)), np.ones(len(scores))
        rows = self.spline(_likelihood_intervals.log_odds(scores))
        values, vectors = np.linalg.eigh(self.information)
        values = np.maximum(values, np.finfo(np.float64).tiny)
        variance = ((vectors.T @ rows) ** 2 / values[:, None]).sum(axis=0) / size
        half = special.ndtri((1 + level) / 2) * np.sqrt(variance)
        middle = self.point @ rows
        return special.expit(middle - half), special.expit(middle + half)

    def index(self, cells: Cells) -> IntegratedCalibrationIndex:
        """Returns the distances between the curve and the scores of cells."""
        distances = np.abs(self(cells.scores) - cells.scores)
        order = np.argsort(distances)
        distances, weights = distances[order], cells.weights[order]
        e50, e90 = quantiles(distances, weights, (0.5, 0.9))
        mean = distances @ weights / weights.sum()
        return IntegratedCalibrationIndex(*map(float, (mean, e50, e90, distances[-1])))


def _functions(z: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Returns z, and the k - 2 cubic functions that are straight beyond k knots."""
    functions = [z]
    if len(knots):
        *inner, before, last = knots

        def cubes(knot: float) -> np.ndarray:
            above = np.maximum(z - knot, 0) / (last - knots[0])
            return above * above * above

        outer = cubes(before), cubes(last)
        for knot in inner:  # Three at most.
            share = (last - knot) / (last - before)
            functions.append(cubes(knot) - share * outer[0] + (share - 1) * outer[1])
    return np.stack(functions)


def quantiles(
    values: np.ndarray, weights: np.ndarray, shares: tuple[float, ...]
) -> np.ndarray:
    """Returns weighted quantiles of ascending values [N].

    The mean of the least value that at least the share of the weight does not exceed,
    and of the least that more than the share does not exceed: the mean of two
    neighbours where the share ends between them.
    """
    sums = np.cumsum(weights)
    targets = sums[-1] * np.array(shares)
    low = np.searchsorted(sums, targets * (1 - _ROUNDING), "left")
    high = np.searchsorted(sums, targets * (1 + _ROUNDING), "right")
    last = len(values) - 1
    return (values[np.minimum(low, last)] + values[np.minimum(high, last)]) / 2


def _knots(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the most of Harrell's knots that differ; none if three do not."""
    distinct = np.count_nonzero(np.diff(z)) + 1
    for shares in PERCENTILES:
        knots = quantiles(z, weights, shares)
        steps = np.diff(knots)
        if distinct >= len(shares) and steps.min() > _COINCIDE * steps.sum():
            return knots
    return np.zeros(0)


def fitted(cells: Cells) -> SplineCurve:
    """Returns the curve of the largest likelihood, of one cell at least.

    Where a spline separates the outcomes the likelihood grows without end, and the
    curve is the limit there: 0 or 1.
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
    try:
        best = _newton.minimize(likelihood, start, enough=_ENOUGH, max_steps=_MAX_STEPS)
    except _newton.NotConverged:
        raise _likelihood_intervals.not_found(_MAX_STEPS) from None
    return SplineCurve(spline, best.point, likelihood(best.point).hessian)
