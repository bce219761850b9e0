"""A threshold that keeps the expected loss of new examples below a limit."""

from __future__ import annotations

import bisect
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs

__all__ = ["conformal_risk_control"]

# As shares of the bound: the rounding of `alpha` and of losses, and by how much losses
# may rise because of it.
_ROUNDING = 2.0**-50
_RISE = 2.0**-40


def conformal_risk_control(
    losses: ArrayLike, alpha: float, *, bound: float = 1.0
) -> int | None:
    """Smallest of some thresholds at which a new example's expected loss is at most
    alpha.

    Column g has the losses at the g-th threshold. The thresholds are in such an order
    that no loss rises: the sets of each hold the sets of the one before, for example.
    With n examples the index is

      the smallest g with  (sum over i of losses[i, g] + bound) / (n + 1) <= alpha

    The bound stands for the loss of a new example. If this example is exchangeable with
    the n others, its expected loss at that g is at most alpha. Where a loss is 1 for a
    miss and else 0, g is the threshold that `conformal_quantile` finds.

    Args:
      losses: of n held-out examples at G thresholds, in [0, `bound`], shape [n, G];
        no row rises, but for rounding.
      alpha: largest expected loss, in (0, `bound`).
      bound: the largest loss that an example may have, > 0: not the largest seen.

    Returns:
      The index, an int in [0, G); None where no threshold will do. The promise then
      asks for an action that has no loss, such as not to decide.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> losses = [[1.0, 0.5, 0.0], [0.5, 0.5, 0.25], [1.0, 0.0, 0.0]]
      >>> um.conformal.conformal_risk_control(losses, alpha=0.5)
      1
      >>> um.conformal.conformal_risk_control(losses, alpha=0.2) is None
      True

    References:
      Angelopoulos, Bates, Fisch, Lei and Schuster (2024), Conformal Risk Control.
    """
    bound = _checks.number(bound)
    if not 0 < bound < np.inf:
        raise _checks.error("bound", "finite and > 0", bound)
    limit = _checks.number(alpha)
    if not 0 < limit < bound:
        raise _checks.error("alpha", f"in (0, {bound:g}), below `bound`", repr(alpha))
    return _smallest(_losses(losses, bound), limit, bound)


def _losses(losses: Any, bound: float) -> np.ndarray:
    """Returns checked losses [n, G]."""
    array = _inputs.finite("losses", losses)
    if array.ndim != 2 or array.size == 0:
        expected = "of shape [n, G], with at least one number"
        raise _checks.error("losses", expected, f"shape {list(array.shape)}")
    bad = (array < 0) | (array > bound)
    if np.any(bad):
        expected = f"in [0, {bound:g}], up to `bound`"
        raise _checks.error("losses", expected, _inputs.first(bad, array))
    rises = np.diff(array, axis=1) > _RISE * bound
    if np.any(rises):
        row, place = np.argwhere(rises)[0]
        raise _checks.error(
            "losses",
            "rows that never rise: larger indices must be safer",
            f"{array[row, place]} before {array[row, place + 1]} in row {row}",
            verb="have",
        )
    return array


def _smallest(losses: np.ndarray, alpha: float, bound: float) -> int | None:
    n, thresholds = losses.shape
    limit = (n + 1) * (alpha + _ROUNDING * bound) - bound

    def holds(index: int) -> bool:
        return math.fsum(losses[:, index]) <= limit

    index = bisect.bisect_left(range(thresholds), True, key=holds)
    return index if index < thresholds else None
