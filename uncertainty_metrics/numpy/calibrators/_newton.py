"""Newton's method, for all fits of calibrators: convex, deterministic, with a
certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize

# Where there is no minimum, logits grow by 1 in each step, and curvatures fall to what
# rounding is of 1 in some 36 of them. Others need a dozen.
MAX_STEPS = 30
# A step that is as small beside the parameters is the last: the error that it leaves is
# smaller again by the precision of its direction, or squared.
_LAST_STEP = 1e-7
# Beside the parameters, too: the one before the last is longer only where slopes have
# become so small that none are left.
_STEP_BEFORE = 0.03
# The share of the descent that the slope promises which a step must have.
_SHARE = 1e-4
# Of a direction: each step leaves so much of the error.
_TOLERANCE = 0.01
_MOST_PRODUCTS = 500
_EPSILON = float(np.finfo(np.float64).eps)
# Roots of curvatures that are as small beside the largest are rounding.
_FLAT = 1e-7


class Local(NamedTuple):
    """A function at a point.

    Attributes:
      value: a float.
      gradient: float64 [P].
      step: returns the Newton step [P], nearly; None for that of `hessian`.
      hessian: float64 [P, P], where it is small; else empty.
    """

    value: float
    gradient: np.ndarray
    step: Callable[[], np.ndarray] | None = None
    hessian: np.ndarray = np.empty((0, 0))


class Optimum(NamedTuple):
    """Where a function is least.

    Attributes:
      point: float64 [P].
      gap: half the square of the last Newton decrement: by how much the value was above
        the minimum before the last step, to first order.
    """

    point: np.ndarray
    gap: float


class NotConverged(Exception):
    """There is no minimum, or it is farther than the steps go."""


def error() -> RuntimeError:
    """Returns the error for a problem that has a minimum."""
    return RuntimeError(f"The fit has not converged in {MAX_STEPS} steps.")


def minimize(
    function: Callable[[np.ndarray], Local],
    start: np.ndarray,
    nonnegative: np.ndarray | None = None,
    *,
    enough: float | None = None,
    max_steps: int = MAX_STEPS,
) -> Optimum:
    """Returns the minimum of a convex function.

    Where there is none, along some direction in which the function goes on falling, the
    steps stay as long as they are: convergence is told by the length of a step, which
    never looks like that of a minimum then, and not by the slope, which would.

    Args:
      function: of a point [P].
      start: float64 [P].
      nonnegative: boolean [P], which parameters must be >= 0, for one with a `hessian`.
        Those at a bound are exactly 0.
      enough: a gap after which the step is the last, whether there is a minimum or not:
        for what depends on the value alone, and is at its limit as the value is.
      max_steps: the most steps.

    Raises:
      NotConverged: `max_steps` did not do.
    """
    point, last = start, 0.0
    at = function(point)
    for _ in range(max_steps):
        target = _target(point, at, nonnegative)
        step = target - point
        descent = -float(at.gradient @ step)
        if not np.isfinite(descent):
            break
        if enough is not None and descent / 2 <= enough:
            return Optimum(target, max(descent, 0.0) / 2)
        size = np.max(np.abs(step)) / (1 + np.max(np.abs(point)))
        # What is below the rounding of the value has no direction to trust.
        rounding = 16 * _EPSILON * abs(at.value)
        if last <= _STEP_BEFORE and (size <= _LAST_STEP or descent <= rounding):
            best = target if size <= _STEP_BEFORE else point
            return Optimum(best, max(descent, 0.0) / 2)
        length, tried, there = 1.0, target, function(target)
        while not there.value <= at.value - _SHARE * length * descent + rounding:
            length /= 2
            if length < _EPSILON:
                raise NotConverged
            tried = point + length * step
            there = function(tried)
        point, at, last = tried, there, size
    raise NotConverged


def _target(point: np.ndarray, at: Local, nonnegative: np.ndarray | None) -> np.ndarray:
    """Returns the minimum of the function's parabola, within the bounds."""
    if at.step is not None:
        return point + at.step()
    values, vectors = np.linalg.eigh(at.hessian)
    root = np.sqrt(np.maximum(values, 0))
    root[root <= _FLAT * root.max()] = 0  # Along what is flat, no step.
    inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
    slopes = inverse * (vectors.T @ at.gradient)
    target = point - vectors @ (inverse * slopes)
    if nonnegative is None or not np.any(target[nonnegative] < 0):
        return target
    # The parabola is || rows target - (rows point - slopes) ||^2.
    rows = root[:, None] * vectors.T
    bounds = (np.where(nonnegative, 0.0, -np.inf), np.inf)
    found = optimize.lsq_linear(rows, rows @ point - slopes, bounds, method="bvls")
    return np.asarray(found.x)


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    target: np.ndarray,
) -> np.ndarray:
    """Returns x with product(x) = target, but for `_TOLERANCE` of the length of that.

    Lengths are those that `precondition` gives, the approximate inverse of
    `product`. What a singular product leaves open is 0.

    Raises:
      NotConverged: the product is 0, where the target is not.
    """
    x = np.zeros_like(target)
    residual = target.copy()
    scaled = precondition(residual)
    direction = scaled
    size = float(residual @ scaled)
    enough = _TOLERANCE**2 * size
    for _ in range(_MOST_PRODUCTS):
        if not size > enough:
            break
        image = product(direction)
        curvature = float(direction @ image)
        if not curvature > 0:  # Nothing but rounding.
            if not np.any(x):
                raise NotConverged
            break
        x += size / curvature * direction
        residual -= size / curvature * image
        scaled = precondition(residual)
        before, size = size, float(residual @ scaled)
        direction = scaled + size / before * direction
    return x
