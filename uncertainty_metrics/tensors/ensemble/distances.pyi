# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def cosine_distance(
    x: TensorLike,
    y: TensorLike,
    *,
    aggregate: bool = True,
) -> Tensor:
    """Cosine distance of vectors, over the last axis: 1 - x.y / (|x| |y|).

    Args:
      x: finite numbers, shape [..., K].
      y: finite numbers of the shape of `x`.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or distances, shape [...], in [0, 2]; 1 if a vector is zero. float32, or
      float64 for float64 predictions. Compiled code returns NaN for wrong values, for
      which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.cosine_distance([[1.0, 0.0]], [[0.0, 2.0]]))
      1.0
    """

def cosine_similarity(
    x: TensorLike,
    y: TensorLike,
    *,
    aggregate: bool = True,
) -> Tensor:
    """Cosine of the angle between vectors, over the last axis: x.y / (|x| |y|).

    Args:
      x: finite numbers, shape [..., K].
      y: finite numbers of the shape of `x`.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or similarities, shape [...], in [-1, 1]; 0 if a vector is zero. For
      predictions of two models, larger is less diverse. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> round(float(um.cosine_similarity([[3.0, 4.0]], [[4.0, 3.0]])), 6)
      0.96
    """

def kl_divergence(
    p: TensorLike,
    q: TensorLike,
    *,
    aggregate: bool = False,
) -> Tensor:
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
      while p_k = 0 contributes q_k. No digits cancel if p and q nearly agree. float32,
      or float64 for float64 predictions. Compiled code returns NaN for wrong values,
      for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> p, q = [[0.5, 0.5], [1.0, 0.0]], [[0.25, 0.75], [0.25, 0.75]]
      >>> [round(float(divergence), 6) for divergence in um.kl_divergence(p, q)]
      [0.143841, 1.386294]

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """

def logit_kl_divergence(
    logits_1: TensorLike,
    logits_2: TensorLike,
    *,
    aggregate: bool = True,
) -> Tensor:
    """Kullback-Leibler divergence of the softmax of two logits: KL(p_1 || p_2).

    Args:
      logits_1: logits of p_1, finite or -inf, shape [..., K]; or [..., 1] for logits of
        class 1.
      logits_2: logits of p_2, of the same shape.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or divergences in nats, shape [...]; >= 0, inf if the logit of p_2 is
      -inf for a class for which that of p_1 is finite. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> divergence = um.logit_kl_divergence([[0.0, 0.0]], [[0.0, 1.0]])
      >>> round(float(divergence), 5)
      0.12011

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """

def lp_distance(
    x: TensorLike,
    y: TensorLike,
    p: float = 1,
    *,
    aggregate: bool = True,
) -> Tensor:
    """Distance in the norm of order p over the last axis.

      distance = (sum_k |x_k - y_k|^p)^(1/p), max_k |x_k - y_k| for p = inf

    Args:
      x: finite numbers, shape [..., K].
      y: finite numbers of the shape of `x`.
      p: a number >= 1, or inf.
      aggregate: whether to return the mean over the examples instead of a value for
        each.

    Returns:
      The mean, or distances, shape [...], >= 0. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.lp_distance([[0.0, 0.0]], [[3.0, 4.0]], p=2))
      5.0
    """
