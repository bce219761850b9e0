"""Half the mean distance between the samples of a row, by sorting: O(m log m)."""

from __future__ import annotations

import numpy as np

# A float32 widened to float64 leaves this many low bits of its significand zero.
INDEX_BITS = 29
_BLOCK = 2**16  # Numbers of a block of rows.


def rank_weights(m: int, fair: bool) -> np.ndarray:
    """Returns (2 i - m + 1) / divisor for the ranks i = 0, ..., m - 1, float64 [m]."""
    with np.errstate(invalid="ignore"):
        return np.arange(1.0 - m, m, 2.0) / np.float64(m * (m - 1) if fair else m * m)


def spread_of_sorted(ordered: np.ndarray, fair: bool) -> np.ndarray:
    """Returns sum_{i<j} |x_i - x_j| / (m (m - 1)) if fair, else / m^2, of rows [..., m]
    in ascending order, which it overwrites; NaN where a row holds a NaN or infinity.

    With x_0 <= ... <= x_{m-1} the sum over pairs is sum_i (2 i - m + 1) x_i. These
    weights sum to 0, so subtracting the middle sample first changes only the rounding
    error, which is then relative to the spread and not to the samples.
    """
    m = ordered.shape[-1]
    with np.errstate(invalid="ignore", over="ignore"):
        # NaN is sorted last.
        valid = np.isfinite(ordered[..., 0] + 0 * ordered[..., -1])
        ordered -= ordered[..., m // 2, None].copy()
        spread = ordered @ rank_weights(m, fair).astype(ordered.dtype)
    return np.where(valid, spread, np.asarray(np.nan, ordered.dtype))


def weighted_spread(
    samples: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns sum_{i<j} w_i w_j |x_i - x_j| and 2 sum_{i<j} w_i w_j.

    Args:
      samples: finite [..., m].
      weights: float64 of the same shape; each row sums to 1. The second sum is then
        1 - sum_i w_i^2, but has no rounding error of numbers near 1.
    """
    order = np.argsort(samples, axis=-1)
    gaps = np.diff(np.take_along_axis(samples, order, axis=-1).astype(np.float64))
    weights = np.take_along_axis(weights, order, axis=-1)
    below = np.cumsum(weights, axis=-1)[..., :-1]
    above = np.cumsum(weights[..., :0:-1], axis=-1)[..., ::-1]
    pairs = 2 * np.sum(below * weights[..., 1:], axis=-1)
    return np.sum(below * above * gaps, axis=-1), pairs


def spread_gradient(samples: np.ndarray, fair: bool) -> np.ndarray:
    """Returns the derivatives of the spreads with respect to the samples, [..., m].

    They are (2 r - m + 1) / divisor, where equal samples share their average rank r.
    This is the derivative of the sum over pairs with sign(0) = 0.
    """
    m = samples.shape[-1]
    rows = samples.reshape(-1, m)
    gradient = np.empty(samples.shape, samples.dtype)
    weights = rank_weights(m, fair).astype(samples.dtype)
    step = max(1, _BLOCK // m)
    for start in range(0, len(rows), step):  # blocks of rows that stay in the cache
        block = slice(start, start + step)
        _put_weights(gradient.reshape(-1, m)[block], rows[block], weights)
    return gradient


def _put_weights(out: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> None:
    """Writes into `out` the weight of the rank of each sample of rows [n, m]."""
    n, m = rows.shape
    finite = np.isfinite(rows)
    all_finite = finite.all()
    if rows.dtype == np.float32 and m < 2**INDEX_BITS:
        # Sort the samples with their positions in the unused low bits of float64:
        # argsort takes twice the time. The numbers must be finite and not 0.
        keys = rows.astype(np.float64)
        np.copyto(keys, 2.0**-200, where=rows == 0)
        if not all_finite:
            keys[~finite] = 1
        bits = keys.view(np.int64)
        bits |= np.arange(m)
        keys.sort(axis=-1)
        ordered = keys.astype(np.float32)
        order = np.bitwise_and(bits, 2**INDEX_BITS - 1, out=bits)
    else:
        order = np.argsort(rows, axis=-1)
        ordered = np.take_along_axis(rows, order, axis=-1)
    order += m * np.arange(n)[:, None]
    weights = np.tile(weights, (n, 1))
    _average_ties(weights.reshape(-1), ordered)
    out.reshape(-1)[order] = weights
    if not all_finite:
        out[~finite.all(axis=1)] = np.nan


def _average_ties(weights: np.ndarray, ordered: np.ndarray) -> None:
    """Averages, in place, the flat weights over each run of equal samples of a row."""
    tied = np.zeros(ordered.shape, bool)
    np.equal(ordered[:, 1:], ordered[:, :-1], out=tied[:, 1:])
    later = np.flatnonzero(tied)  # positions of samples equal to the one before
    if not later.size:
        return
    # The weights of a run are evenly spaced, so their mean is that of first and last.
    start = np.flatnonzero(np.diff(later, prepend=-1) != 1)
    first = later[start] - 1
    last = later[np.append(start[1:], later.size) - 1]
    mean = (weights[first] + weights[last]) / 2
    weights[later] = np.repeat(mean, last - first)
    weights[first] = mean
