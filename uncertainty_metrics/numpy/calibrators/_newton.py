"""Newton's method for convex functions, which fits all calibrators. It is deterministic
and has a certificate of convergence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# A fit needs about a dozen steps. If there is no minimum, logits grow by 1 in each
# step, and after some 36 steps curvatures are as small as the rounding of 1.
MAX_STEPS = 30
# A step of this size relative to the parameters is the last: the remaining error is the
# step times the precision of its direction, or its square.
_LAST_STEP = 1e-7
# Parameters above this count as this. Where there is no minimum, a step along a nearly
# flat direction may reach 10^9; relative to that, all steps after it would be small.
_LARGE = 1e3
# No minimum has larger parameters: the logits that they multiply have a spread of 1.
_MOST = 1e6
# Before the last step the value may still fall by this: a small step is a long way for
# the value if the logits of some examples are large.
_LAST_DESCENT = 1e-9
# The step before the last may have this size. It is larger only if the slopes have
# vanished without a minimum.
_STEP_BEFORE = 0.03
# A step must have this share of the descent that the slope predicts.
_LEAST_DESCENT = 1e-4
# Relative error of a direction: each step leaves this share of the distance.
_TOLERANCE = 0.01
_MOST_PRODUCTS = 500
_EPSILON = float(np.finfo(np.float64).eps)
# Square roots of curvatures below this share of the largest are rounding errors.
_FLAT = 1e-7


class Local(NamedTuple):
    """Value and derivatives of a function at a point.

    Attributes:
      value: a float.
      gradient: float64 [P].
      step: function that returns the approximate Newton step [P]; None to compute it
        from `hessian`.
      hessian: float64 [P, P]; empty if there is `step`.
    """

    value: float
    gradient: np.ndarray
    step: Callable[[], np.ndarray] | None = None
    hessian: np.ndarray = np.empty((0, 0))


class Optimum(NamedTuple):
    """The minimum of a function.

    Attributes:
      point: float64 [P].
      gap: half the square of the last Newton decrement: how far the value was above the
        minimum before the last step, to first order.
    """

    point: np.ndarray
    gap: float


class NotConverged(Exception):
    """There is no minimum, or the steps did not reach it."""


def error() -> RuntimeError:
    """Returns the error for a fit that has a minimum but did not converge."""
    return RuntimeError(
        f"The fit has not converged in {MAX_STEPS} steps. Look for extreme values "
        "among the predictions and the weights, and clip or scale them."
    )


def minimize(
    function: Callable[[np.ndarray], Local],
    start: np.ndarray,
    nonnegative: np.ndarray | None = None,
) -> Optimum:
    """Returns the minimum of a convex function.

    If there is none, because the function keeps falling along some direction, the slope
    vanishes as it does at a minimum, but steps do not become shorter, or parameters are
    huge. So these decide on convergence, not the slope alone.

    Args:
      function: maps a point [P] to its value and derivatives.
      start: float64 [P].
      nonnegative: boolean [P], which parameters must be >= 0; needs a `hessian`.
        Parameters at the bound are exactly 0.

    Raises:
      NotConverged: there was no convergence in `MAX_STEPS` steps.
    """
    point, last_size = start, 0.0
    here = function(point)
    for _ in range(MAX_STEPS):
        target = _target(point, here, nonnegative)
        step = target - point
        descent = -float(here.gradient @ step)
        if not np.isfinite(descent):
            break
        size = np.max(np.abs(step)) / (1 + min(np.max(np.abs(point)), _LARGE))
        # A predicted descent below the rounding error of the value means nothing.
        rounding = 16 * _EPSILON * abs(here.value)
        is_short = size <= _LAST_STEP and descent <= _LAST_DESCENT
        if last_size <= _STEP_BEFORE and (is_short or descent <= rounding):
            best = target if size <= _STEP_BEFORE else point
            if np.max(np.abs(best)) > _MOST:
                break
            return Optimum(best, max(descent, 0.0) / 2)
        length, trial, there = 1.0, target, function(target)
        while not (
            there.value <= here.value - _LEAST_DESCENT * length * descent + rounding
        ):
            length /= 2
            if length < _EPSILON:
                raise NotConverged
            trial = point + length * step
            there = function(trial)
        point, here, last_size = trial, there, size
    raise NotConverged


def _target(
    point: np.ndarray, here: Local, nonnegative: np.ndarray | None
) -> np.ndarray:
    """Returns the minimum of the quadratic approximation at a point, within bounds."""
    if here.step is not None:
        return point + here.step()
    values, vectors = np.linalg.eigh(here.hessian)
    root = np.sqrt(np.maximum(values, 0))
    root[root <= _FLAT * root.max()] = 0  # No step along flat directions.
    inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
    slopes = inverse * (vectors.T @ here.gradient)
    target = point - vectors @ (inverse * slopes)
    if nonnegative is None or not np.any(target[nonnegative] < 0):
        return target
    from scipy import optimize  # Its import takes long; few fits need it.

    # The approximation is || rows target - (rows point - slopes) ||^2.
    rows = root[:, None] * vectors.T
    bounds = (np.where(nonnegative, 0.0, -np.inf), np.inf)
    bounded = optimize.lsq_linear(rows, rows @ point - slopes, bounds, method="bvls")
    return np.asarray(bounded.x)


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    target: np.ndarray,
) -> np.ndarray:
    """Returns x with product(x) = target, up to a relative error of `_TOLERANCE`.

    The error is measured in the norm of `precondition`, an approximate inverse of
    `product`. Components that a singular product does not determine are 0.

    Raises:
      NotConverged: the product is 0, but the target is not.
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
        if not curvature > 0:  # Only rounding errors are left.
            if not np.any(x):
                raise NotConverged
            break
        x += size / curvature * direction
        residual -= size / curvature * image
        scaled = precondition(residual)
        before, size = size, float(residual @ scaled)
        direction = scaled + size / before * direction
    return x
