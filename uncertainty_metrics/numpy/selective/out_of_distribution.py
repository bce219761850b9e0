"""Scores from the logits of a classifier, to detect examples out of distribution.

Each docstring says whether the score is larger in or out of distribution. `auroc`,
`aupr` and `fpr_at_tpr` expect scores that are larger out of distribution. Distances of
features are in `mahalanobis`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._temperature import checked_temperature
from uncertainty_metrics.numpy import _inputs, _row_math
from uncertainty_metrics.numpy.ensemble import _predictions

__all__ = ["energy", "max_logit", "max_softmax"]


def _checked(logits: ArrayLike) -> np.ndarray:
    """Returns checked float64 logits [..., K]."""
    array = _inputs.as_array("logits", logits)
    _predictions.check_shape("logits", array.shape, size=2)
    array = _inputs.native_floating(array)
    wide = array.astype(np.float64, copy=False)
    _inputs.check_logits(wide)
    if _inputs.are_probabilities(array.reshape(-1, array.shape[-1])):
        raise _checks.error(
            "logits",
            "logits; for probabilities pass their logarithm",
            "rows of numbers in [0, 1] that sum to 1",
        )
    return wide


def max_softmax(logits: ArrayLike) -> np.ndarray:
    """Maximum softmax probability (MSP): a score of being in distribution.

      max_k exp(z_k) / sum_j exp(z_j)

    It is larger in distribution: pass its negative, an uncertainty, to `auroc`, `aupr`
    and `fpr_at_tpr`. If the largest logit exceeds the others by 37 in float64, or by 17
    in float32, it is 1.0; `energy` and `max_logit` still distinguish such examples.

    Args:
      logits: finite, or -inf for some classes, shape [..., K], K >= 2.

    Returns:
      Probabilities, shape [...], in [1/K, 1]. Larger is more in distribution.

    Raises:
      ValueError: `logits` are not as described, or rows of probabilities.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> [round(float(score), 6) for score in um.max_softmax([[2.0, 0.0], [1.0, 1.0]])]
      [0.880797, 0.5]

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """

    def score(z: np.ndarray) -> np.ndarray:
        return 1 / _row_math.sums(np.exp(_row_math.below_maximum(z)))

    return _row_math.in_blocks(score, _checked(logits))


def max_logit(logits: ArrayLike) -> np.ndarray:
    """Maximum logit: a score of being in distribution.

      max_k z_k

    It is larger in distribution: pass its negative, an uncertainty, to `auroc`, `aupr`
    and `fpr_at_tpr`. Unlike a probability, it changes if a number is added to all
    logits.

    Args:
      logits: finite, or -inf for some classes, shape [..., K], K >= 2.

    Returns:
      Real numbers, shape [...]. Larger is more in distribution.

    Raises:
      ValueError: `logits` are not as described, or rows of probabilities.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> [float(score) for score in um.max_logit([[2.0, 0.0], [1.0, 1.5]])]
      [2.0, 1.5]

    References:
      Hendrycks et al. (2022), Scaling Out-of-Distribution Detection for Real-World
      Settings.
    """
    return _checked(logits).max(axis=-1)


def energy(logits: ArrayLike, *, temperature: float = 1.0) -> np.ndarray:
    """Free energy of logits: a score of being out of distribution.

      E = -T log sum_k exp(z_k / T)

    It is larger out of distribution, as `auroc`, `aupr` and `fpr_at_tpr` expect. Liu et
    al. call its negative the energy score, which becomes the maximum logit as T goes to
    0.

    Args:
      logits: finite, or -inf for some classes, shape [..., K], K >= 2.
      temperature: T, finite and > 0.

    Returns:
      Real numbers, shape [...]. Larger is more out of distribution.

    Raises:
      ValueError: an argument is not as described, or `logits` are rows of
        probabilities.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> [round(float(score), 6) for score in um.energy([[2.0, 0.0], [1.0, 1.0]])]
      [-2.126928, -1.693147]

    References:
      Liu, Wang, Owens and Li (2020), Energy-based Out-of-distribution Detection.
    """
    temperature = checked_temperature(temperature)

    def score(z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # The quotient may be -inf.
            below = _row_math.below_maximum(z) / temperature
        logs = np.log(_row_math.sums(np.exp(below)))
        return -(_row_math.largest(z) + temperature * logs)

    return _row_math.in_blocks(score, _checked(logits))
