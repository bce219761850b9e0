"""Levels of coverage, and the share of examples within the interval of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _threads


def curve_levels(n_bins: int) -> np.ndarray:
    """Returns the levels of coverage of a calibration curve, [n_bins]."""
    return np.linspace(0.1, 0.99, _checks.bins("n_bins", n_bins))


def normal_limits(levels: Sequence[float] | np.ndarray) -> np.ndarray:
    """Returns half the widths of central intervals of the standard Normal, [L]."""
    from statistics import NormalDist  # At the top it would slow down the import.

    # The lower tail keeps its digits for levels near 1.
    return np.array([-NormalDist().inv_cdf((1 - p) / 2) for p in levels])


def pit_limits(levels: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """Returns the limits of |2 PIT - 1|, raised a little to allow for its rounding."""
    precise = np.float64 if dtype == np.float64 else np.float32
    return levels + 4 * float(np.finfo(precise).eps)


def interval_edges(limits: np.ndarray) -> np.ndarray:
    """Returns the edges, in 2 PIT - 1, of the cells that make up central intervals."""
    return np.concatenate([[-1.0], -limits[::-1], limits, [1.0]])


def coverage(
    errors: np.ndarray, limits: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Returns the share of errors [N] of at most each limit, and the total weight."""

    def masses(block: slice) -> list[float]:
        distance = np.abs(errors[block])
        weight = None if weights is None else weights[block]

        def mass(chosen: np.ndarray) -> float:
            if weight is None:
                return float(np.count_nonzero(chosen))
            return float(np.sum(weight * chosen))

        # Ten comparisons of all examples take less time than a search for each of them.
        return [mass(distance >= 0), *(mass(distance <= limit) for limit in limits)]

    passes = len(limits) + 1
    parts = _threads.map_blocks(masses, len(errors), passes, _threads.BLOCK)
    total, *within = np.sum(parts, axis=0)
    return np.array(within) / total, total


def curve(
    errors: np.ndarray,
    limits: np.ndarray,
    levels: np.ndarray,
    weights: np.ndarray | None,
) -> dict[str, np.ndarray]:
    return of_coverage(levels, *coverage(errors, limits, weights))


def normal_curve(
    z: np.ndarray, weights: np.ndarray | None, n_bins: int
) -> dict[str, np.ndarray]:
    """Returns the curve of Normal forecasts with errors of z standard deviations."""
    levels = curve_levels(n_bins)
    return curve(z, normal_limits(levels), levels, weights)


def of_level(
    values: np.ndarray, levels: float | tuple[float, ...]
) -> float | np.ndarray:
    """Returns values [L], or a number if `levels` is a number."""
    return values if isinstance(levels, tuple) else float(values[0])


def of_coverage(
    levels: np.ndarray, observed: np.ndarray, total: float
) -> dict[str, np.ndarray]:
    return {
        "expected_coverage": levels,
        "observed_coverage": observed,
        "bin_counts": np.full(len(levels), float(total)),
    }


def curve_error(curve: dict[str, np.ndarray]) -> float:
    gaps = np.abs(curve["observed_coverage"] - curve["expected_coverage"])
    return float(np.mean(gaps))
