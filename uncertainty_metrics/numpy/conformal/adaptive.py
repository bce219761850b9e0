"""Conformal prediction for a stream whose data may change in any way."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.conformal import quantile

__all__ = ["AdaptiveConformal"]

_AGGREGATED = "aggregated"
# Gibbs and Candes (2024) aggregate rates such as these. The weight of a rate depends on
# its losses for about the last `_MEMORY` examples.
_RATES = 0.001 * 2.0 ** np.arange(8)
_MEMORY = 500


class AdaptiveConformal:
    """Conformal quantiles for a stream, at a level that follows the errors made so far.

    Before each example, `quantile` gives q, a quantile of recent scores: the set of the
    example holds all labels (or targets) whose score is at most q. After the example,
    `update` takes the score of the true label. A miss lowers the level alpha_t, so that
    later sets are larger; a hit raises the level a little:

      alpha_1 = alpha,  alpha_{t+1} = alpha_t + rate (alpha - miss_t)

    miss_t is 1 if the score was above q, else 0. q is the `conformal_quantile` at the
    level alpha_t. It is +inf if alpha_t <= 0, and -inf, so that the set is empty, if
    alpha_t >= 1. So after T updates, for any sequence of scores, even if an adversary
    chooses them,

      mean of the misses <= alpha + (alpha + rate (1 - alpha)) / (rate T)
      mean of the misses >= alpha - (1 - alpha + rate alpha) / (rate T)

    With a large rate the sets adapt fast to a change, but their size varies if nothing
    changes. `rate="aggregated"` runs the eight rates 0.001, 0.002, ..., 0.128 at once:
    alpha_t is the mean of their levels, weighted by how well each rate did for about
    the last 500 examples. The first of the two bounds then holds with the rate 0.001,
    because of a rule: while the misses are so many that the level of this rate alone
    would be 0 or less, alpha_t is 0 or less. (The rule is not part of the published
    algorithm, which can miss twice alpha for ever.) The second bound does not hold
    then: sets may be larger than they should be.

    The promise is about the mean over all examples. There is no promise for a single
    example, for a group, or for a part of the stream.

    The scores may depend on each other in any way, so it needs no `clusters`.

    Args:
      alpha: share of labels or targets that sets may miss, in (0, 1).
      rate: how fast the level changes, finite and > 0; or "aggregated".

    Attributes:
      alpha_t: level of the next quantile, in [-rate, 1 + rate].
      num_updates: T, the number of examples so far.
      mean_error: share of these examples that the sets missed; 0.0 before the first.
      error_bound: the first of the two bounds, which `mean_error` never exceeds.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> adaptive = um.conformal.AdaptiveConformal(alpha=0.25, rate=0.1)
      >>> recent = [0.1, 0.3, 0.5, 0.7, 0.9]
      >>> adaptive.quantile(recent)
      0.9
      >>> adaptive.update(0.2)  # The set held the true label.
      >>> round(adaptive.alpha_t, 6)
      0.275

    References:
      Gibbs and Candes (2021), Adaptive Conformal Inference Under Distribution Shift.
      Gibbs and Candes (2024), Conformal Inference for Online Prediction with Arbitrary
      Distribution Shifts.
    """

    def __init__(
        self, alpha: float, *, rate: float | Literal["aggregated"] = 0.005
    ) -> None:
        self.alpha = _checks.open_unit("alpha", alpha)
        self.rate: float | Literal["aggregated"] = "aggregated"
        self._rates = _RATES
        if not (isinstance(rate, str) and rate == _AGGREGATED):
            self.rate = _checks.number(rate)
            if not 0 < self.rate < math.inf:
                raise _checks.error("rate", f'finite and > 0, or "{_AGGREGATED}"', rate)
            self._rates = np.array([self.rate])
        self.num_updates = 0
        self._misses = 0
        # For each rate: the misses that it would have made alone, and the weight of its
        # level in the weighted mean of all levels.
        self._missed = np.zeros(len(self._rates), np.int64)
        self._shares = np.full(len(self._rates), 1 / len(self._rates))
        self._recent: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"AdaptiveConformal(alpha={self.alpha}, rate={self.rate!r})"

    def _level(self, rates: Any, misses: Any) -> Any:
        """Returns alpha_t for rates, given the number of misses of each."""
        return self.alpha + rates * (self.alpha * self.num_updates - misses)

    @property
    def alpha_t(self) -> float:
        """Level of the next quantile."""
        level = float(self._shares @ self._level(self._rates, self._missed))
        if len(self._rates) > 1 and self._level(self._rates[0], self._misses) <= 0:
            return min(level, 0.0)
        return level

    @property
    def mean_error(self) -> float:
        """Share of the examples that were missed."""
        return self._misses / max(self.num_updates, 1)

    @property
    def error_bound(self) -> float:
        """Upper bound of `mean_error` for any sequence of scores."""
        rate = float(self._rates[0])
        spare = (self.alpha + rate * (1 - self.alpha)) / rate
        return min(1.0, self.alpha + spare / max(self.num_updates, 1))

    def quantile(self, scores: ArrayLike) -> float:
        """Returns q for the next example: its set holds all labels with a score <= q.

        Args:
          scores: scores of recent examples: real numbers, large for bad forecasts,
            +-inf allowed, shape [n]. n may be 0; q is then +inf if alpha_t < 1.

        Returns:
          The quantile at the level alpha_t, a float; it may be +-inf.

        Raises:
          ValueError: the scores are not as described.
        """
        recent = _inputs.as_array("scores", scores)
        if recent.ndim != 1:
            raise _checks.error("scores", "of shape [n]", f"shape {list(recent.shape)}")
        quantile.check_scores(recent)
        self._recent = recent.copy()  # The caller may change the array.
        k = quantile.rank(len(recent), self.alpha_t)
        if k < 1 or k > len(recent):
            return -math.inf if k < 1 else math.inf
        return float(np.partition(recent, k - 1)[k - 1])

    def update(self, score: float) -> None:
        """Takes the score of the example for which `quantile` was called last.

        Args:
          score: score of the true label or target, a real number or +inf.

        Raises:
          ValueError: the score is not as described, or there was no quantile since the
            last update.
        """
        value = _checks.number(score)
        if not value > -math.inf:
            raise _checks.error("score", "a real number, or +inf", repr(score))
        if self._recent is None:
            raise _checks.plain_error(
                "Each update needs a quantile of its own: call `quantile` first.",
                f"{self!r}, without a quantile since the last update",
            )
        n, below = len(self._recent), int(np.count_nonzero(self._recent < value))
        self._recent = None

        def missed(level: float) -> bool:
            return quantile.rank(n, level) <= below

        levels = self._level(self._rates, self._missed)
        self._misses += missed(self.alpha_t)
        self._missed += [missed(level) for level in levels.tolist()]
        self._shares = self._updated(levels, (n + 1 - below) / (n + 1))
        self.num_updates += 1

    def _updated(self, levels: np.ndarray, largest: float) -> np.ndarray:
        """Returns the shares of the rates after an example: exponential weights by the
        pinball loss, mixed with a small share that is the same for all rates.

        Args:
          levels: levels of the rates.
          largest: the end of the levels whose sets hold the true label.
        """
        alpha, rates = self.alpha, len(levels)
        if rates == 1:
            return self._shares
        distance = largest - levels
        losses = alpha * distance - np.minimum(distance, 0)
        # The mean squared loss at the level alpha if nothing changes.
        usual = (alpha * (1 - alpha)) ** 2 / 3
        speed = math.sqrt((math.log(2 * rates * _MEMORY) + 1) / (_MEMORY * usual))
        shares = self._shares * np.exp(-speed * (losses - losses.min()))
        uniform = 1 / (2 * _MEMORY)
        return (1 - uniform) * shares / shares.sum() + uniform / rates
