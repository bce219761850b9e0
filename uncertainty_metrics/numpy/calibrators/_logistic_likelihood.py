"""The likelihood of logistic regression."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy.calibrators import _newton

# A block of this many examples stays in the cache, with the arrays computed from it.
# NumPy does not divide products of such short arrays among threads, which would wait
# for each other.
_BLOCK = 2**13


class Likelihood:
    """The mean negative log-likelihood, in nats, of

      log(q / (1 - q)) = offset + point @ rows

    Args:
      rows: float64 [D, N].
      shares: share of each example in the total weight, float64 [N].
      hits: the part of each share that has a true outcome, float64 [N].
      offset: float64 [N], or None for 0.
    """

    def __init__(
        self,
        rows: np.ndarray,
        shares: np.ndarray,
        hits: np.ndarray,
        offset: np.ndarray | None = None,
    ):
        self._rows, self._shares, self._hits = rows, shares, hits
        self._misses = shares - hits
        self._offset = offset

    def __call__(self, point: np.ndarray) -> _newton.Local:
        value, size = 0.0, len(point)
        gradient, hessian = np.zeros(size), np.zeros((size, size))
        for start in range(0, len(self._shares), _BLOCK):
            block = slice(start, start + _BLOCK)
            rows, shares = self._rows[:, block], self._shares[block]
            hits, misses = self._hits[block], self._misses[block]
            z = point @ rows
            if self._offset is not None:
                z += self._offset[block]
            small = np.exp(-np.abs(z))  # SciPy's functions take several times as long.
            whole = 1 + small
            q = np.where(z >= 0, 1.0, small) / whole
            other = np.where(z >= 0, small, 1.0) / whole  # 1 - q, without rounding.
            # All terms are >= 0, so no term is lost by cancellation.
            value += float(shares @ np.log1p(small))
            value += float(misses @ np.maximum(z, 0) - hits @ np.minimum(z, 0))
            gradient += rows @ (misses * q - hits * other)
            hessian += (rows * (shares * small / whole**2)) @ rows.T
        return _newton.Local(value, gradient, hessian=hessian)
