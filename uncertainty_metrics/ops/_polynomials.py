"""Values of polynomials, and a rule that integrates them exactly."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from uncertainty_metrics.ops import xp


def horner(x: xp.Tensor, coefficients: Sequence[float]) -> xp.Tensor:
    """Returns `c_0 + c_1 x + c_2 x^2 + ...`."""
    total = xp.zeros_like(x)
    for coefficient in reversed(coefficients):  # A static number of terms.
        total = total * x + coefficient
    return total


@functools.cache
def gauss_legendre(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(num_nodes)
    return (nodes + 1) / 2, weights / 2
