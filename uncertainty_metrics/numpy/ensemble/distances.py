"""Divergences and distances of the predictions of two models."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.ensemble import _predictions

__all__ = [
    "cosine_distance",
    "cosine_similarity",
    "kl_divergence",
    "logit_kl_divergence",
    "lp_distance",
]

# Smaller numbers are subnormal, and count as 0.
TINY = np.finfo(np.float64).tiny
# For |x| below this a series is used, because x - log(1 + x) would cancel.
NEAR = 0.5
_NEAR = 0.125  # Enough in float64.


def log_excess(x: np.ndarray, log: np.ndarray) -> np.ndarray:
    """Returns `x - log(1 + x)` to full precision near x = 0; overwrites `log`."""
    excess = np.subtract(x, log, out=log)
    near = np.flatnonzero(np.abs(x) < _NEAR)  # Usually few.
    inner = x.reshape(-1)[near]
    # For t = x / (2 + x), log(1 + x) = 2 atanh(t), and x - 2 t = x t.
    t = inner / (2 + inner)
    square, series = t * t, 0.0
    for k in reversed(range(7)):
        series = series * square + 1 / (2 * k + 3)
    excess.reshape(-1)[near] = inner * t - 2 * t * square * series
    return excess


def _divergence(
    p: np.ndarray, q: np.ndarray, x: np.ndarray, log: np.ndarray
) -> np.ndarray:
    """Returns sum_k p log(p / q) - p + q, given x = q / p - 1 and log(q / p). If p is
    below TINY, it counts as 0, and x and log may be anything.
    """
    with np.errstate(invalid="ignore"):
        terms = np.where(p >= TINY, p * log_excess(x, log), q)
    return terms.sum(axis=-1)


def _finite(
    names: tuple[str, str], values: tuple[ArrayLike, ArrayLike], **least: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns finite float64 arrays [..., K] of the same shape."""
    first, second = map(
        _inputs.finite, names, _predictions.pair(names, values, **least)
    )
    return first, second


def _aggregated(values: np.ndarray, aggregate: bool) -> float | np.ndarray:
    return float(np.mean(values)) if aggregate else values


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def kl_divergence(
    p: ArrayLike, q: ArrayLike, *, aggregate: bool = False
) -> float | np.ndarray:
    """Generalised Kullback-Leibler divergence of q from p over the last axis.

      KL(p || q) = sum_k p_k log(p_k / q_k) - p_k + q_k

    The last two terms sum to 0 for distributions. With them the divergence is >= 0, and
    0 only for p = q, for any measures.

    Args:
      p: finite and >= 0, shape [..., K], K >= 2. For P(class 1) pass `[1 - p, p]`.
      q: of the shape of `p`, finite and >= 0.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or divergences in nats, shape [...]; inf if q_k = 0 < p_k for a class,
      while p_k = 0 contributes q_k. No digits cancel if p and q nearly agree.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> p, q = [[0.5, 0.5], [1.0, 0.0]], [[0.25, 0.75], [0.25, 0.75]]
      >>> [round(float(divergence), 6) for divergence in um.kl_divergence(p, q)]
      [0.143841, 1.386294]

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """
    _checks.boolean("aggregate", aggregate)
    p, q = _finite(("p", "q"), (p, q), size=2)
    for name, array in (("p", p), ("q", q)):
        if np.any(array < 0):
            raise _checks.error(name, ">= 0", _inputs.first(array < 0, array))
    # Numbers so small that q / p would overflow count as 0, too.
    p = np.where(p >= TINY * np.maximum(q, 1), p, 0)
    divisor = np.where(p > 0, p, 1)
    with np.errstate(divide="ignore"):
        log = np.log(q / divisor)
    return _aggregated(_divergence(p, q, (q - divisor) / divisor, log), aggregate)


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rounded sum and its exact rounding error (Knuth, 1969)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def logit_kl_divergence(
    logits_1: ArrayLike, logits_2: ArrayLike, *, aggregate: bool = True
) -> float | np.ndarray:
    """Kullback-Leibler divergence of the softmax of two logits: KL(p_1 || p_2).

    Args:
      logits_1: logits of p_1, finite or -inf, shape [..., K]; or [..., 1] for logits of
        class 1.
      logits_2: logits of p_2, of the same shape.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or divergences in nats, shape [...]; >= 0, inf if the logit of p_2 is
      -inf for a class for which that of p_1 is finite.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> divergence = um.logit_kl_divergence([[0.0, 0.0]], [[0.0, 1.0]])
      >>> round(float(divergence), 5)
      0.12011

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """
    _checks.boolean("aggregate", aggregate)
    names = ("logits_1", "logits_2")
    arrays = map(
        _predictions.checked, names, _predictions.pair(names, (logits_1, logits_2))
    )
    logits = list(map(_predictions.classes, names, arrays))
    # Subtract the maxima first: two rows may differ by far less than their maxima.
    with np.errstate(invalid="ignore", over="ignore"):
        shifts = [-array.max(axis=-1, keepdims=True) for array in logits]
        shifted, errors = zip(*map(_two_sum, logits, shifts), strict=True)
    p, q = np.exp(shifted)
    norms = [array.sum(axis=-1, keepdims=True) for array in (p, q)]
    p, q = p / norms[0], q / norms[1]
    positive = p >= TINY
    with np.errstate(invalid="ignore", over="ignore"):
        log, rounding = _two_sum(
            np.where(positive, shifted[1], 0), -np.where(positive, shifted[0], 0)
        )
        rounding += errors[1] - errors[0]
        log += np.where(np.isfinite(rounding), rounding, 0)
        log -= np.log(norms[1] / norms[0])
        divergences = _divergence(p, q, np.expm1(log), log)
    # A probability that is rounded to 0 is not 0.
    only_in_1 = np.any((logits[0] > -np.inf) & (logits[1] == -np.inf), axis=-1)
    return _aggregated(np.where(only_in_1, np.inf, divergences), aggregate)


def _scaled(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns vectors of largest absolute entry 1, and their scales, 1 for zeros."""
    scale = np.abs(vectors).max(axis=-1, keepdims=True)
    scale = np.where(scale > 0, scale, 1)
    return vectors / scale, scale


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def lp_distance(
    x: ArrayLike, y: ArrayLike, p: float = 1, *, aggregate: bool = True
) -> float | np.ndarray:
    """Distance in the norm of order p over the last axis.

      distance = (sum_k |x_k - y_k|^p)^(1/p), max_k |x_k - y_k| for p = inf

    Args:
      x: finite numbers, shape [..., K].
      y: finite numbers of the shape of `x`.
      p: a number >= 1, or inf.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or distances, shape [...], >= 0.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.lp_distance([[0.0, 0.0]], [[3.0, 4.0]], p=2))
      5.0
    """
    order = _predictions.check_order(p)
    _checks.boolean("aggregate", aggregate)
    x, y = _finite(("x", "y"), (x, y))
    differences, scale = _scaled(x - y)  # Powers of large numbers would overflow.
    norms = np.linalg.norm(differences, ord=order, axis=-1)
    return _aggregated(norms * scale[..., 0], aggregate)


@takes_frames
def cosine_similarity(
    x: ArrayLike, y: ArrayLike, *, aggregate: bool = True
) -> float | np.ndarray:
    """Cosine of the angle between vectors, over the last axis: x.y / (|x| |y|).

    Args:
      x: finite numbers, shape [..., K].
      y: finite numbers of the shape of `x`.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or similarities, shape [...], in [-1, 1]; 0 if a vector is zero. For
      predictions of two models, larger is less diverse.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> round(float(um.cosine_similarity([[3.0, 4.0]], [[4.0, 3.0]])), 6)
      0.96
    """
    _checks.boolean("aggregate", aggregate)
    (x, _), (y, _) = map(_scaled, _finite(("x", "y"), (x, y)))
    norms = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    cosines = np.sum(x * y, axis=-1) / np.where(norms > 0, norms, 1)
    return _aggregated(np.clip(cosines, -1, 1), aggregate)


@takes_frames
def cosine_distance(
    x: ArrayLike, y: ArrayLike, *, aggregate: bool = True
) -> float | np.ndarray:
    """Cosine distance of vectors, over the last axis: 1 - x.y / (|x| |y|).

    Args:
      x: finite numbers, shape [..., K].
      y: finite numbers of the shape of `x`.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or distances, shape [...], in [0, 2]; 1 if a vector is zero.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.cosine_distance([[1.0, 0.0]], [[0.0, 2.0]]))
      1.0
    """
    return 1 - cosine_similarity(x, y, aggregate=aggregate)
