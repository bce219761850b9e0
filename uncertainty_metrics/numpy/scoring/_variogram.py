"""Variogram scores by the differences between the coordinates of a forecast."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy import _threads

_LEAST = 1024  # Coordinates of a block: short rows would take longer.


def variogram_scores(
    labels: np.ndarray, samples: np.ndarray, order: float, weights: np.ndarray | None
) -> np.ndarray:
    """Returns the scores [n] of labels [n, d] and samples [n, m, d].

    Args:
      labels: the observed vectors.
      samples: the predicted vectors.
      order: the power of the differences, > 0.
      weights: of the pairs of coordinates, [d, d]; None for 1.
    """
    m, d = samples.shape[1:]
    unit = _largest_range(labels, samples)
    # Powers of very small or large numbers would underflow or overflow.
    unit = np.where(unit > 0, unit, 1.0)
    labels, samples = labels / unit[:, None], samples / unit[:, None, None]
    if order == 2 and weights is None and m < d:
        total = _sums_of_order_2(labels, samples)
    else:
        total = _sums_over_pairs(labels, samples, order, weights)
    scores = total * np.where(total > 0, unit, 1.0) ** (2 * order)
    return np.where(np.isfinite(unit), scores, np.inf)


def _largest_range(labels: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Returns the largest difference of two coordinates of a label or sample, [n]."""
    of_samples = np.ptp(samples, axis=-1).max(axis=-1)
    return np.maximum(of_samples, np.ptp(labels, axis=-1))


def _sums_over_pairs(
    labels: np.ndarray, samples: np.ndarray, order: float, weights: np.ndarray | None
) -> np.ndarray:
    """Returns the sums of the squared errors over all pairs of coordinates, [n]."""
    n, m, d = samples.shape
    y = np.ascontiguousarray(labels.T)  # [d, n]
    x = np.ascontiguousarray(np.moveaxis(samples, 0, -1))  # [m, d, n]
    total = np.zeros(n)
    # Blocks of coordinates with each coordinate before them.
    step = max(_LEAST, _threads.rows_of_block(n * m))
    buffer = np.empty(m * min(step, d) * n)
    for block in _threads.blocks(slice(0, d), step):
        for i in range(block.stop - 1):
            later = slice(max(block.start, i + 1), block.stop)
            size = m * (later.stop - later.start) * n
            forecast = buffer[:size].reshape(m, -1, n)
            np.subtract(x[:, later], x[:, i, None], out=forecast)
            np.abs(forecast, out=forecast)
            forecast **= order
            errors = np.abs(y[later] - y[i]) ** order
            errors -= forecast.mean(axis=0)
            errors *= errors
            if weights is None:
                total += 2 * errors.sum(axis=0)
            else:
                total += (weights[i, later] + weights[later, i]) @ errors
    return total


def _sums_of_order_2(labels: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Returns the same for squared differences, without the pairs: O(m^2 d).

    Let y and the errors e_k = x_k - y have the mean 0 over the coordinates, which
    changes no difference, and let e be the mean of the e_k. Then

      mean_k (x_ki - x_kj)^2 - (y_i - y_j)^2 = a_i + a_j - 2 B_ij
      a_i = mean_k e_ki^2 + 2 y_i e_i
      B = mean_k e_k e_k^T + y e^T + e y^T

    As the rows of B sum to 0, the sum of the squares over i and j is
    2 d sum_i a_i^2 + 2 (sum_i a_i)^2 + 4 sum_ij B_ij^2.
    """
    d = labels.shape[-1]
    errors = samples - labels[:, None]
    errors -= errors.mean(axis=-1, keepdims=True)
    y = labels - labels.mean(axis=-1, keepdims=True)
    mean = errors.mean(axis=1)
    a = np.einsum("nmd,nmd->nd", errors, errors) / samples.shape[1] + 2 * y * mean
    products = errors @ np.swapaxes(errors, 1, 2)
    with_y = np.einsum("nmd,nd->nm", errors, y)
    squares = (products**2).mean(axis=(1, 2))
    squares += 4 * (with_y * products.mean(axis=2)).mean(axis=1)
    squares += 2 * (y * y).sum(axis=1) * (mean * mean).sum(axis=1)
    squares += 2 * (y * mean).sum(axis=1) ** 2
    total = 2 * d * (a * a).sum(axis=1) + 2 * a.sum(axis=1) ** 2 + 4 * squares
    return np.maximum(total, 0)
