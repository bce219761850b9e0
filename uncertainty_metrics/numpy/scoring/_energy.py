"""Energy scores by the distances between the samples of a forecast."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy import _threads

_LEAST = 4096  # Samples of a block.


def _sums_of_distances(x: np.ndarray, y: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """Returns the sums over m of the distances of x and y [d, m, n], [n]."""
    differences = np.subtract(x, y, out=buffer)
    squares = np.einsum("dmn,dmn->mn", differences, differences)
    return np.sqrt(squares, out=squares).sum(axis=0)


def energy_scores(
    labels: np.ndarray, samples: np.ndarray, scale: float | None
) -> np.ndarray:
    """Returns the scores [n] of labels [n, d] and samples [n, m, d].

    Args:
      labels: the observed vectors.
      samples: the predicted vectors.
      scale: the factor from the sum of the distances of all pairs of samples to what is
        subtracted; None for half the mean distance of neighbours instead.
    """
    n, m, d = samples.shape
    samples = np.ascontiguousarray(samples.T)  # [d, m, n]
    # The first half follows again, for the pairs of the last samples with the first.
    ring = np.concatenate([samples, samples[:, : m // 2 + 1]], axis=1)
    error, total = np.zeros((2, n))
    last_shift = 1 if scale is None else m // 2
    # Short rows of a few samples would take longer.
    step = max(_LEAST, _threads.rows_of_block(n * d))
    for block in _threads.blocks(slice(0, m), step):
        x = samples[:, block]
        buffer = np.empty_like(x)
        error += _sums_of_distances(x, labels.T[:, None], buffer)
        for shift in range(1, last_shift + 1):
            others = ring[:, block.start + shift : block.stop + shift]
            pairs = _sums_of_distances(x, others, buffer)
            # A shift of m/2 counts each pair twice.
            total += pairs * (0.5 if 2 * shift == m and scale is not None else 1.0)
    return error / m - (0.5 / m if scale is None else scale) * total
