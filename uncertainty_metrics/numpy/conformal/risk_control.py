"""A threshold that keeps the expected loss of new examples at or below a limit."""

from __future__ import annotations

import bisect
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs

__all__ = ["conformal_risk_control"]

# As shares of the bound: a tolerance for the rounding of `alpha` and of the losses, and
# the largest rise in a row that counts as rounding.
_ROUNDING = 2.0**-50
_RISE = 2.0**-40


def conformal_risk_control(
    losses: ArrayLike, alpha: float, *, bound: float = 1.0
) -> int | None:
    """First threshold at which the expected loss of a new example is at most alpha.

    Column g has the losses at the g-th threshold. The thresholds must be in such an
    order that no loss rises from one threshold to the next: for example, the sets of
    each threshold hold the sets of the threshold before. With n examples the index is

      the smallest g with  (sum over i of losses[i, g] + bound) / (n + 1) <= alpha

    The bound stands for the unknown loss of the new example. If this example is
    exchangeable with the n held-out examples, its expected loss at this g is at most
    alpha. If a loss is 1 for a miss and 0 otherwise, g is the index of the threshold
    that `conformal_quantile` finds.

    Examples that depend on each other, such as several answers to one question, are not
    exchangeable with a new question. There are no `clusters`: pass the mean losses of
    each cluster as one row, and the promise is for a random example of a new cluster.

    Args:
      losses: losses of n held-out examples at G thresholds, in [0, `bound`], shape
        [n, G]; no row may rise, except by rounding.
      alpha: largest expected loss, in (0, `bound`).
      bound: largest possible loss of an example, finite and > 0; not the largest loss
        in `losses`.

    Returns:
      The index, an int in [0, G); None if no threshold meets the condition. To keep the
      promise, then take an action without a loss, for example do not decide.

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
    """Returns the index of checked losses, by bisection."""
    n, thresholds = losses.shape
    limit = (n + 1) * (alpha + _ROUNDING * bound) - bound

    def holds(index: int) -> bool:
        return math.fsum(losses[:, index]) <= limit

    index = bisect.bisect_left(range(thresholds), True, key=holds)
    return index if index < thresholds else None
