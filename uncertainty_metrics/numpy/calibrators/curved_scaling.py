"""Curved maps of log-odds, with a penalty on the deviation from no map."""

from __future__ import annotations

import abc
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibration.risk import _spline_curve
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_scores
from uncertainty_metrics.numpy.calibrators import _calibrator, _newton
from uncertainty_metrics.numpy.calibrators._logistic_likelihood import Likelihood
from uncertainty_metrics.numpy.calibrators.one_against_rest import (
    _clipped,
    _columns,
    _LogOdds,
)

__all__ = ["QuadraticCalibration", "SplineCalibration"]

DEFAULT_RIDGE = 1.0
# By how much more a bend is penalised than a shift, both in nats.
_OF_BENDS = 4.0
# Largest ridge / n: penalised parameters are then 1e-6; more would only add rounding.
_MOST_RIDGE = 1e6
# Mean squares of curves below this share of the largest are rounding errors.
_LEAST_SQUARE = 1e-14


class _Curve(NamedTuple):
    """The fitted log-odds c + b z + factors @ curves(z).

    Attributes:
      c: the constant.
      b: the slope.
      factors: float64 [D].
      gap: how far the objective was above its minimum before the last step.
    """

    c: float
    b: float
    factors: np.ndarray
    gap: float


def _bends(z: np.ndarray, curves: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Returns combinations [D, D + 2] of 1, z and curves [D, N] that only bend.

    Over the examples they have mean 0, mean square 1, and mean products 0 with each
    other and with z. Fewer than D are returned if some curves are nearly straight.
    """
    middle, spread = z @ shares, math.sqrt((z - z @ shares) ** 2 @ shares)
    standard = (z - middle) / spread
    means, slopes = curves @ shares, curves @ (shares * standard)
    bent = curves - means[:, None] - slopes[:, None] * standard
    size = np.sqrt(bent**2 @ shares)
    # A curve through two scores is straight.
    kept = size > np.sqrt(_LEAST_SQUARE * (curves**2 @ shares))
    bent, size = bent[kept] / size[kept, None], size[kept]
    values, vectors = np.linalg.eigh((bent * shares) @ bent.T)
    values = np.maximum(values, _LEAST_SQUARE * values.max(initial=0.0))
    whitening = (vectors / np.sqrt(values)).T / size
    means, slopes = means[kept], slopes[kept] / spread
    straight = np.stack([slopes * middle - means, -slopes], axis=1)
    return whitening @ np.concatenate([straight, np.eye(len(curves))[kept]], axis=1)


def _fitted(
    z: np.ndarray,
    curves: np.ndarray,
    weights: np.ndarray,
    hits: np.ndarray,
    ridge: float,
) -> _Curve:
    """Returns the curve of least penalised likelihood.

    Args:
      z: log-odds of cells, not all equal, float64 [N].
      curves: functions of the log-odds, [D, N].
      weights: total weights of the cells, [N].
      hits: total weights of the true outcomes, [N].
      ridge: >= 0.

    Raises:
      NotConverged: there is no minimum, or the steps did not reach it.
    """
    total = float(weights.sum())
    shares = weights / total
    combinations = _bends(z, curves, shares)
    plain = np.concatenate([np.ones((1, len(z))), z[None], curves])
    unit = min(math.sqrt((z - z @ shares) ** 2 @ shares), 1.0)
    rows = np.concatenate([plain[:1], plain[1:2] / unit, combinations @ plain])
    likelihood = Likelihood(rows, shares, hits / total)
    penalties = np.full(len(rows), min(ridge / total, _MOST_RIDGE))
    penalties[2:] *= _OF_BENDS
    no_map = np.zeros(len(rows))
    no_map[1] = unit

    def penalised(x: np.ndarray) -> _newton.Local:
        here, change = likelihood(x), x - no_map
        return _newton.Local(
            here.value + float(penalties @ change**2) / 2,
            here.gradient + penalties * change,
            hessian=here.hessian + np.diag(penalties),
        )

    start = np.zeros(len(rows))
    start[0] = special.logit(hits.sum() / total)
    best = _newton.minimize(penalised, start)
    straight, bent = best.point[:2] / [1.0, unit], best.point[2:] @ combinations
    c, b = straight + bent[:2]
    return _Curve(float(c), float(b), bent[2:], best.gap)


def _spline(z: np.ndarray, knots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns the cubic spline with these values [J, ...] at the knots [J], which is
    straight beyond them, at z [N].
    """
    from scipy import interpolate  # Its import takes long.

    spline = interpolate.CubicSpline(knots, values, bc_type="natural")
    inside = np.clip(z, knots[0], knots[-1])
    below, above = spline(knots[[0, -1]], 1)
    beyond = [np.multiply.outer(z - inside, slope) for slope in (below, above)]
    at_inside = spline(inside)
    is_below = (z < inside).reshape(len(z), *(1,) * (at_inside.ndim - 1))
    return at_inside + np.where(is_below, *beyond)


class _CurvedScaling(_LogOdds):
    """Maps log-odds to a sum of a line and curves."""

    def __init__(self, *, ridge: float = DEFAULT_RIDGE):
        super().__init__()
        self._ridge = _checks.number(ridge)
        if not 0 <= self._ridge < math.inf:
            raise _checks.error("ridge", "finite and >= 0", repr(ridge))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"ridge": self._ridge}

    @abc.abstractmethod
    def _of_cells(
        self, z: np.ndarray, weights: np.ndarray, hits: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Returns the arrays of the map, given cells of ascending log-odds [N]."""

    def _one(
        self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        cells = _pooled_scores.pooled(_clipped(scores), outcomes, weights)
        if len(cells.weights) < self._least:
            expected = f"at least {self._least} values that differ once clipped"
            raise ValueError(expected, "fewer")
        z = special.logit(cells.scores)
        try:
            return self._of_cells(z, cells.weights, cells.outcome_sums)
        except _newton.NotConverged:
            if self._ridge > 0:
                raise _newton.error() from None
            raise ValueError(
                "scores that overlap between the labels, or be mapped with `ridge` > 0",
                "scores that a curve separates",
            ) from None


class QuadraticCalibration(_CurvedScaling):
    """Quadratic calibration: a logistic function of a parabola of the log-odds.

      log(q / (1 - q)) = a z^2 + b z + c,    z = log(p / (1 - p))

    a, b and c minimise

      sum_n w_n (-log likelihood_n) + ridge / 2 (s^2 (b' - 1)^2 + c'^2 + 4 v)

    where b' z + c' is the line closest to the parabola over the examples, v the mean
    square of their difference, and s the smaller of 1 and the standard deviation of z.
    So the penalty is on the deviation from no map. It keeps separable examples from
    making the map a step. With `ridge=0` this is the quadratic scaling of the
    reference.

    The map need not be monotonic: it has an extreme at z = -b / (2 a), which matters
    if that is within the forecasts. p is clipped to a distance of at least 2^-24 from 0
    and 1. With two classes p is P(class 1). With more, each class has a map, against
    all others, and rows are divided by their sum.

    Args:
      ridge: factor of the penalty, >= 0. The default, 1, is a prior by which the slope
        is within about 1 of 1, the shift is about 1 nat, and the bend half a nat. Some
        hundred examples overrule it.

    Attributes:
      a: factors of z^2, float64 [K], or [1] for two classes.
      b: factors of z, likewise.
      c: constants, likewise.
      optimality_gap: certificate of the fit: how far the objective, in nats, mean over
        the examples, was above its minimum before the last step, estimated from the
        Newton decrement.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: `ridge` is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> p = [0.9, 0.9, 0.9, 0.9, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1]
      >>> labels = [1, 1, 1, 0, 0, 1, 0, 0, 0, 1]
      >>> map = um.QuadraticCalibration(ridge=0).fit(labels, probabilities=p)
      >>> map.transform(probabilities=[0.9, 0.5, 0.1]).round(6).tolist()
      [0.75, 0.5, 0.25]

    References:
      Berta, Holzmüller, Jordan and Bach (2026), Structured Matrix Scaling for
      Multi-Class Calibration.
    """

    _names = ("a", "b", "c", "optimality_gap")
    _least = 3

    @property
    def a(self) -> np.ndarray:
        """The factors of z^2, one for each map."""
        return self._array("a")

    @property
    def b(self) -> np.ndarray:
        """The factors of z, one for each map."""
        return self._array("b")

    @property
    def c(self) -> np.ndarray:
        """The constants, one for each map."""
        return self._array("c")

    def _of_cells(
        self, z: np.ndarray, weights: np.ndarray, hits: np.ndarray
    ) -> dict[str, np.ndarray]:
        best = _fitted(z, z[None] ** 2, weights, hits, self._ridge)
        (a,) = best.factors
        values = (a, best.b, best.c, best.gap)
        return dict(zip(self._names, map(np.array, values), strict=True))

    def _log_odds(self, index: int, scores: np.ndarray) -> np.ndarray:
        z = special.logit(_clipped(scores))
        return (self.a[index] * z + self.b[index]) * z + self.c[index]

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            _calibrator.check_array(name, array, (len(_columns(layout.classes)),))


class SplineCalibration(_CurvedScaling):
    """Spline calibration: a logistic function of a spline of the log-odds.

      log(q / (1 - q)) = f(z),    z = log(p / (1 - p))

    f is a cubic spline that is straight beyond its first and last knot. As in
    `integrated_calibration_index`, it has 5 knots at Harrell's percentiles of z (5,
    27.5, 50, 72.5, 95), fewer where they coincide, and with fewer than 3 it is a line.
    f minimises

      sum_n w_n (-log likelihood_n) + ridge / 2 (s^2 (b - 1)^2 + c^2 + 4 v)

    where b z + c is the line closest to f over the examples, v the mean square of their
    difference, and s the smaller of 1 and the standard deviation of z. So the penalty
    is on the deviation from no map. It keeps separable examples from making the map a
    step.

    The map need not be monotonic. p is clipped to a distance of at least 2^-24 from 0
    and 1. With two classes p is P(class 1). With more, each class has a map, against
    all others, and rows are divided by their sum.

    Args:
      ridge: factor of the penalty, >= 0. The default, 1, is a prior by which the slope
        is within about 1 of 1, the shift is about 1 nat, and the bend half a nat. Some
        hundred examples overrule it.

    Attributes:
      knots: an array [2, J] for each class, or for class 1 of two: the log-odds z of
        the knots, ascending, and f there. They determine f.
      optimality_gap: certificate of the fit: how far the objective, in nats, mean over
        the examples, was above its minimum before the last step, estimated from the
        Newton decrement.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: `ridge` is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> truth = rng.uniform(size=4000)
      >>> labels = rng.uniform(size=4000) < truth
      >>> p = truth**3
      >>> map = um.SplineCalibration().fit(labels, probabilities=p)
      >>> q = map.transform(probabilities=p)
      >>> bool(np.mean(abs(q - truth)) < 0.02 < np.mean(abs(p - truth)))
      True

    References:
      Harrell (2015), Regression Modeling Strategies. Austin and Steyerberg (2019), The
      Integrated Calibration Index (ICI) and Related Metrics for Quantifying the
      Calibration of Logistic Regression Models.
    """

    # The knots of all classes, [2, total], and the number of knots of each, [K].
    _names = ("knots", "counts", "optimality_gap")

    @property
    def knots(self) -> list[np.ndarray]:
        """Log-odds and values of the knots, [2, J] for each class."""
        ends = np.cumsum(self._array("counts")).astype(int)
        return np.split(self._array("knots"), ends[:-1], axis=1)

    def _of_cells(
        self, z: np.ndarray, weights: np.ndarray, hits: np.ndarray
    ) -> dict[str, np.ndarray]:
        knots = _spline_curve.knots_of(z, weights)
        if len(knots) == 0:
            knots = z[[0, -1]]
        # With lines these span the splines.
        inner = np.eye(len(knots))[:, 1:-1]
        best = _fitted(z, _spline(z, knots, inner).T, weights, hits, self._ridge)
        values = best.c + best.b * knots + inner @ best.factors
        return {
            "knots": np.stack([knots, values]),
            "counts": np.array([float(len(knots))]),
            "optimality_gap": np.array([best.gap]),
        }

    def _joined(self, maps: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return {
            name: np.concatenate([arrays[name] for arrays in maps], axis=-1)
            for name in self._names
        }

    def _log_odds(self, index: int, scores: np.ndarray) -> np.ndarray:
        return _spline(special.logit(_clipped(scores)), *self.knots[index])

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        knots, counts = arrays["knots"], arrays["counts"]
        classes = (len(_columns(layout.classes)),)
        _calibrator.check_array("optimality_gap", arrays["optimality_gap"], classes)
        _calibrator.check_array("counts", counts, classes)
        if np.any(counts < 2) or np.any(counts != np.floor(counts)):
            raise _checks.error("counts", "integers of at least 2", counts.min())
        _calibrator.check_array("knots", knots, (2, int(counts.sum())))
        inside = np.ones(knots.shape[1] - 1, bool)
        inside[np.cumsum(counts).astype(int)[:-1] - 1] = False
        if np.any(np.diff(knots[0])[inside] <= 0):
            raise _checks.error("knots", "ascending", "numbers that do not rise")
