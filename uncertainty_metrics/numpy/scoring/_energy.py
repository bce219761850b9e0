"""Energy scores by the distances between the samples of a forecast."""

from __future__ import annotations

import numpy as np


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
    m = samples.shape[1]
    samples = np.ascontiguousarray(np.moveaxis(samples, -1, 0))  # [d, n, m]

    def distances(x: np.ndarray) -> np.ndarray:
        differences = samples - x
        differences *= differences
        return np.sqrt(differences.sum(axis=0))

    error = distances(labels.T[..., None]).mean(axis=-1)
    if scale is None:
        return error - distances(np.roll(samples, 1, axis=-1)).mean(axis=-1) / 2
    total = np.zeros(len(labels))
    for shift in range(1, m // 2 + 1):  # All pairs at once would need m^2 d numbers.
        pairs = distances(np.roll(samples, shift, axis=-1)).sum(axis=-1)
        # A shift of m/2 counts each pair twice.
        total += pairs * (0.5 if 2 * shift == m else 1.0)
    return error - scale * total
