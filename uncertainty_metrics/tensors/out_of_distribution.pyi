# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def energy(
    logits: TensorLike,
    *,
    temperature: float = 1.0,
) -> Tensor:
    """Free energy of logits: a score of being out of distribution.

      E = -T log sum_k exp(z_k / T)

    It is larger out of distribution, as `auroc`, `aupr` and `fpr_at_tpr` expect. Liu et
    al. call its negative the energy score, which becomes the maximum logit as T goes to
    0.

    Args:
      logits: finite, or -inf for some classes, shape [..., K], K >= 2.
      temperature: T, finite and > 0.

    Returns:
      Real numbers, shape [...]. Larger is more out of distribution. float32, or float64
      for float64 predictions. Compiled code returns NaN for wrong values, for which
      eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described, or `logits` are rows of
        probabilities.

    Example:
      >>> import uncertainty_metrics as um
      >>> [round(float(score), 6) for score in um.energy([[2.0, 0.0], [1.0, 1.0]])]
      [-2.126928, -1.693147]

    References:
      Liu, Wang, Owens and Li (2020), Energy-based Out-of-distribution Detection.
    """

def max_logit(
    logits: TensorLike,
) -> Tensor:
    """Maximum logit: a score of being in distribution.

      max_k z_k

    It is larger in distribution: pass its negative, an uncertainty, to `auroc`, `aupr`
    and `fpr_at_tpr`. Unlike a probability, it changes if a number is added to all
    logits.

    Args:
      logits: finite, or -inf for some classes, shape [..., K], K >= 2.

    Returns:
      Real numbers, shape [...]. Larger is more in distribution. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: `logits` are not as described, or rows of probabilities.

    Example:
      >>> import uncertainty_metrics as um
      >>> [float(score) for score in um.max_logit([[2.0, 0.0], [1.0, 1.5]])]
      [2.0, 1.5]

    References:
      Hendrycks et al. (2022), Scaling Out-of-Distribution Detection for Real-World
      Settings.
    """

def max_softmax(
    logits: TensorLike,
) -> Tensor:
    """Maximum softmax probability (MSP): a score of being in distribution.

      max_k exp(z_k) / sum_j exp(z_j)

    It is larger in distribution: pass its negative, an uncertainty, to `auroc`, `aupr`
    and `fpr_at_tpr`. If the largest logit exceeds the others by 37 in float64, or by 17
    in float32, it is 1.0; `energy` and `max_logit` still distinguish such examples.

    Args:
      logits: finite, or -inf for some classes, shape [..., K], K >= 2.

    Returns:
      Probabilities, shape [...], in [1/K, 1]. Larger is more in distribution. float32,
      or float64 for float64 predictions. Compiled code returns NaN for wrong values,
      for which eager code raises ValueError.

    Raises:
      ValueError: `logits` are not as described, or rows of probabilities.

    Example:
      >>> import uncertainty_metrics as um
      >>> [round(float(score), 6) for score in um.max_softmax([[2.0, 0.0], [1.0, 1.0]])]
      [0.880797, 0.5]

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """
