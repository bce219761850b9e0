"""Intervals of shares that hold at 0 of n and n of n too."""

from __future__ import annotations

import numpy as np


def interval(
    shares: np.ndarray, sizes: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of Wilson's intervals of observed shares, of their shape.

    The probabilities q with abs(share - q) <= z sqrt(q (1 - q) / n): the roots of

      (1 + z^2 / n) q^2 - (2 share + z^2 / n) q + share^2 = 0

    Args:
      shares: in [0, 1], or NaN, which stays.
      sizes: what each is a share of, n > 0, need not be whole.
      level: in (0, 1).
    """
    from scipy import special

    ratio = special.ndtri((1 + level) / 2) ** 2 / sizes
    middle = (shares + ratio / 2) / (1 + ratio)
    half = np.sqrt(ratio * (shares * (1 - shares) + ratio / 4)) / (1 + ratio)
    # Rounding must leave neither [0, 1] nor the share itself.
    lower = np.minimum(np.maximum(middle - half, 0.0), shares)
    upper = np.maximum(np.minimum(middle + half, 1.0), shares)
    return lower, upper
