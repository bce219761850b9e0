"""Confidence intervals of shares, which are good for 0 of n and n of n as well."""

from __future__ import annotations

import numpy as np


def interval(
    shares: np.ndarray, sizes: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of Wilson's intervals of observed shares, of their shape.

    An interval has the probabilities q with abs(share - q) <= z sqrt(q (1 - q) / n).
    Its ends are the roots of

      (1 + z^2 / n) q^2 - (2 share + z^2 / n) q + share^2 = 0

    Args:
      shares: in [0, 1], or NaN, whose interval is NaN.
      sizes: n > 0, the total of each share; need not be whole.
      level: in (0, 1).
    """
    from scipy import special

    ratio = special.ndtri((1 + level) / 2) ** 2 / sizes
    middle = (shares + ratio / 2) / (1 + ratio)
    half = np.sqrt(ratio * (shares * (1 - shares) + ratio / 4)) / (1 + ratio)
    # Rounding must not take the ends out of [0, 1] or past the share itself.
    lower = np.minimum(np.maximum(middle - half, 0.0), shares)
    upper = np.maximum(np.minimum(middle + half, 1.0), shares)
    return lower, upper


def size_of_grades(
    means: np.ndarray, variances: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Returns how many outcomes 0 and 1 give a mean the same variance as outcomes in
    [0, 1] do, for `interval`; more than there are if the outcomes vary less.

    The quarter, the largest square of the distance of an outcome from 1/2, keeps the
    number finite where all outcomes are equal.

    Args:
      means: mean outcomes, in [0, 1].
      variances: variances of the outcomes (divisor n), of the same shape.
      sizes: numbers n of outcomes.
    """
    return sizes * (sizes * means * (1 - means) + 0.25) / (sizes * variances + 0.25)


def effective_size(weights: np.ndarray) -> float:
    """Returns Kish's effective number of examples with positive weights."""
    shares = weights / weights.max()  # The squares of the weights could overflow.
    return float(shares.sum() ** 2 / (shares @ shares))
