"""The quantile of split conformal prediction, of all examples or of groups of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["conformal_quantile"]


def _level(alpha: Any) -> float:
    """Returns alpha as a float; raises ValueError unless it is in (0, 1)."""
    return _checks.open_unit("alpha", alpha)


def rank(n: float, alpha: float) -> int:
    """Returns k = ceil((n + 1) (1 - alpha)) as for real numbers: if the product is an
    integer up to the rounding of `alpha`, k is this integer.
    """
    return math.ceil((n + 1) * (1 - alpha - 2.0**-50))


def conformal_quantile(scores: ArrayLike, alpha: float) -> float:
    """Quantile that a new score does not exceed with probability 1 - alpha.

      q = the k-th smallest of the n scores, k = ceil((n + 1) (1 - alpha))

    and +inf if k > n. It is one of the scores, never between two of them: if n + 1
    scores are in random order, the last one is among the k smallest with a probability
    of at least k / (n + 1).

    Args:
      scores: real numbers, large for bad forecasts, +-inf allowed, shape [n].
      alpha: share of new scores that may exceed the quantile, in (0, 1).

    Returns:
      The quantile, a float.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.conformal.conformal_quantile([0.3, 0.1, 0.4, 0.2], alpha=0.4)
      0.3
      >>> um.conformal.conformal_quantile([0.3, 0.1, 0.4, 0.2], alpha=0.1)
      inf

    References:
      Vovk, Gammerman and Shafer (2005), Algorithmic Learning in a Random World. Lei et
      al. (2018), Distribution-Free Predictive Inference for Regression.
    """
    alpha = _level(alpha)
    scores = _inputs.as_array("scores", scores)
    if scores.ndim != 1 or scores.size == 0:
        expected = "of shape [n], with at least one number"
        raise _checks.error("scores", expected, f"shape {list(scores.shape)}")
    bad = np.isnan(scores)
    if np.any(bad):
        raise _checks.error("scores", "numbers, not NaN", _inputs.first(bad, scores))
    return of_scores(scores, alpha)


def of_scores(scores: np.ndarray, alpha: float) -> float:
    """Returns the quantile of checked scores [n], n >= 0."""
    k = rank(len(scores), alpha)
    if k > len(scores):
        return math.inf
    return float(np.partition(scores, k - 1)[k - 1])


class Conformal:
    """Base of conformal classifiers and regressors: quantiles of groups or of all."""

    def __init__(self, alpha: float) -> None:
        self.alpha = _level(alpha)
        self._quantiles: np.ndarray | None = None
        self._groups: np.ndarray | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether there was a fit."""
        return self._quantiles is not None

    @property
    def quantile(self) -> float | dict[Any, float]:
        """The largest score in a set; with groups, a dictionary of one for each."""
        quantiles = self._fitted().tolist()
        if self._groups is None:
            return quantiles[0]
        return dict(zip(self._groups.tolist(), quantiles, strict=True))

    def _fitted(self) -> np.ndarray:
        if self._quantiles is None:
            raise ValueError(
                f"There is no quantile yet: call `fit` first. Received: {self!r}, not "
                "fitted"
            )
        return self._quantiles

    def _set(self, scores: np.ndarray, groups: ArrayLike | None) -> Self:
        """Sets the quantiles to those of the scores of held-out examples, [n]."""
        if groups is None:
            self._quantiles = np.array([of_scores(scores, self.alpha)])
            self._groups = None
            return self
        names, index = np.unique(
            _of_examples(groups, scores.shape), return_inverse=True
        )
        members = [scores[index == group] for group in range(len(names))]
        self._quantiles = np.array([of_scores(s, self.alpha) for s in members])
        self._groups = names
        return self

    def _limits(self, groups: ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the quantile for each new example, [n], or for all, [1]."""
        quantiles = self._fitted()
        if (groups is None) != (self._groups is None):
            fitted = "given" if groups is None else "None"
            raise _checks.error("groups", f"{fitted}, as in `fit`", groups)
        if self._groups is None:
            return quantiles
        names = _of_examples(groups, (math.prod(shape),))
        place = np.searchsorted(self._groups, names)
        place = np.minimum(place, len(self._groups) - 1)
        # A group without held-out examples: no quantile is large enough.
        return np.where(self._groups[place] == names, quantiles[place], np.inf)


def _of_examples(groups: ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the group of each example, [n]."""
    array = np.asarray(groups)
    names = array.reshape(-1)
    if names.shape != shape or names.dtype.kind not in "biuSU":
        raise _checks.error(
            "groups",
            f"integers or text, one for each of the {shape[0]} examples",
            f"{array.dtype} of shape {list(array.shape)}",
        )
    return names
