# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def dawid_sebastiani_score(
    labels: TensorLike,
    predictive_samples: TensorLike,
) -> Tensor:
    """Dawid-Sebastiani score of the mean and covariance of a multivariate forecast.

      DSS = log det S + (y - mean)^T S^-1 (y - mean)

    with the mean and the covariance S (divisor m - 1) of the m samples. Up to a
    constant, DSS is twice the negative log-likelihood of a Normal distribution.

    Args:
      labels: real, shape [..., d].
      predictive_samples: m > d samples of each forecast, shape [..., m, d]. Their
        covariance must have an inverse: no coordinate may be constant, or a linear
        function of others.

    Returns:
      Scores, shape [...], real. Smaller is better. They are biased: with few samples
      per coordinate they prefer smooth forecasts. Computed in float64. O(m d^2 + d^3).
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described; the covariance is singular.

    Example:
      >>> import uncertainty_metrics as um
      >>> samples = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
      >>> round(float(um.dawid_sebastiani_score([1.0, 0.0], samples)), 6)
      0.68907

    References:
      Dawid and Sebastiani (1999), Coherent Dispersion Criteria for Optimal Experimental
      Design.
    """

def variogram_score(
    labels: TensorLike,
    predictive_samples: TensorLike,
    p: float = 0.5,
    weights: TensorLike | None = None,
) -> Tensor:
    """Variogram score of samples of a multivariate forecast.

    Over all ordered pairs (i, j) of the d coordinates, with x_k the m samples:

      VS = sum_ij w_ij (abs(y_i - y_j)^p - mean_k abs(x_ki - x_kj)^p)^2

    It detects wrong correlations better than the energy score does, but not an error
    that all coordinates share, such as a bias: use it together with scores of each
    coordinate. It is proper if moments of order 2p are finite, but not strictly proper.

    Args:
      labels: real, shape [..., d].
      predictive_samples: m samples of each forecast, shape [..., m, d].
      p: the order, > 0; 0.5, 1 and 2 are usual.
      weights: w, finite and >= 0, shape [d, d], for example inverse distances of
        stations; all 1 by default.

    Returns:
      Scores, shape [...], >= 0, in the unit of the labels to the power 2p. Smaller is
      better. Time O(m d^2) for each forecast, and O(m^2 d) for p = 2 without weights if
      m < d; memory O(m d). On tensors, in compiled code and for gradients, time and
      memory are O(m d^2). float32, or float64 for float64 predictions. Compiled code
      returns NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> together = [[0.0, 0.0], [1.0, 1.0]]
      >>> apart = [[0.0, 1.0], [1.0, 0.0]]
      >>> [float(um.variogram_score([0.5, 0.5], x)) for x in (together, apart)]
      [0.0, 2.0]

    References:
      Scheuerer and Hamill (2015), Variogram-Based Proper Scoring Rules for
      Probabilistic Forecasts of Multivariate Quantities.
    """
