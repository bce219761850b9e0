"""Pareto smoothed importance sampling (PSIS) of leave-one-out predictions.

The ratios of an instance are r_j = exp(-logp_j); a row is an instance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _threads

# No generalized Pareto distribution is fitted to fewer ratios.
MIN_TAIL = 5
# Log of the smallest ratio to the largest one that counts as tail.
LOG_TINY = math.log(np.finfo(np.float64).tiny)
# Numbers of a block of rows whose tails are fitted at once.
_BLOCK = 2**18


def check_reff(reff: Any) -> float:
    """Returns `reff` as a float; raises ValueError unless it is finite and > 0."""
    value = _checks.number(reff)
    if not 0 < value < math.inf:
        raise _checks.error("reff", "a finite number > 0", repr(reff))
    return value


def tail_length(num_members: int, reff: float) -> int:
    """Returns how many of the largest ratios are smoothed."""
    return math.ceil(min(num_members / 5, 3 * math.sqrt(num_members / reff)))


def max_pareto_k(num_members: int) -> float:
    """Returns the largest Pareto k at which as many draws give reliable estimates."""
    return min(1 - 1 / math.log10(num_members), 0.7)


def log_mean_exp(logp: np.ndarray) -> np.ndarray:
    """Returns the logarithm of the mean of exp(logp) over axis 1."""
    largest = logp.max(axis=1, keepdims=True)
    return np.log(np.exp(logp - largest).mean(axis=1)) + largest[:, 0]


def _fit_pareto(
    log_excesses: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the shape and the log scale of generalized Pareto distributions.

    The estimate of Zhang and Stephens (2009), with the shape drawn towards 1/2 as by 10
    more observations (Vehtari et al., 2024).

    Args:
      log_excesses: [rows, tail], descending; the first `sizes` of each row count, and
        all others are -inf.
      sizes: integers >= 5, [rows, 1].
    """
    # In units of the lower quartile only the largest excesses can overflow, and for
    # these log(1 + x) is log(x).
    log_unit = np.take_along_axis(log_excesses, sizes - (sizes + 2) // 4, axis=1)
    logs = log_excesses - log_unit
    most = math.log(np.finfo(np.float64).max) - 8
    excesses = np.exp(np.minimum(logs, most))
    beyond = np.maximum(logs - most, 0).sum(axis=1, keepdims=True)
    least = np.exp(-logs[:, :1])

    def shape(theta: np.ndarray) -> np.ndarray:
        """Returns the likeliest shape for each theta = -shape / scale, [rows, any]."""
        terms = np.log1p(-theta[:, :, None] * excesses[:, None, :])
        return (terms.sum(axis=2) + beyond) / sizes

    # The formulas have limits at theta = 0, and a tiny theta is close to these.
    def nonzero(theta: np.ndarray) -> np.ndarray:
        return np.where(theta == 0, np.finfo(np.float64).eps * least, theta)

    count = 30 + np.floor(np.sqrt(sizes))
    place = np.arange(count.max()) + 0.5
    spread = 1 - np.sqrt(count / np.minimum(place, count - 0.5))
    theta = nonzero(least + spread / 3)
    k = shape(theta)
    likelihood = sizes * (np.log(-theta / k) - k - 1)
    likelihood = np.where(place < count, likelihood, -np.inf)
    weights = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)

    theta = nonzero((weights * theta).sum(axis=1, keepdims=True))
    k = shape(theta)
    return (sizes * k + 5) / (sizes + 10), np.log(-k / theta) + log_unit


def _pareto_order_statistics(
    k: np.ndarray, log_scale: np.ndarray, sizes: np.ndarray, num: int
) -> np.ndarray:
    """Returns the log quantiles of levels (r - 1/2) / size, descending, [rows, num].

    The quantile of level q is scale ((1 - q)^-k - 1) / k.
    """
    rank = np.minimum(np.arange(num), sizes - 1) + 0.5
    exponential = np.log(sizes / rank)  # The quantile for k = 0 and scale 1.
    slope = np.maximum(np.abs(k), np.finfo(np.float64).eps)
    standard = np.log(-np.expm1(-slope * exponential) / slope)
    return log_scale + np.maximum(k, 0) * exponential + standard


class _Tail(NamedTuple):
    """Logarithms of the largest ratios, descending, [rows, tail + 1], relative to the
    ratio at the cut.

    Attributes:
      cut: logp at the cut, [rows, 1].
      raw: the ratios, of which some may be at or below the cut.
      inside: whether each ratio is above the cut.
      smooth: the smoothed ratios, valid only inside.
      k: shape of the tail, inf if none is fitted, [rows].
    """

    cut: np.ndarray
    raw: np.ndarray
    inside: np.ndarray
    smooth: np.ndarray
    k: np.ndarray


def _smoothed(least: np.ndarray) -> _Tail:
    """Smooths the tail, given its logp `least`, ascending, [rows, tail + 1]."""
    tail = least.shape[1] - 1
    # The ratio at the cut is the unit of all others.
    cut = np.minimum(least[:, -1:], least[:, :1] - LOG_TINY)
    # Ratios equal to the cut are not above it, and too few others may be left.
    fitted = (least < cut).sum(axis=1, keepdims=True) >= MIN_TAIL
    cut = np.where(fitted, cut, least[:, :1])
    raw = cut - least
    inside = raw > 0
    num_inside = inside.sum(axis=1, keepdims=True)

    # Rows that are not fitted get harmless numbers.
    sizes = np.where(fitted, num_inside, tail)
    log_excesses = raw + np.log(-np.expm1(-np.where(inside, raw, 1)))
    log_excesses = np.where(inside, log_excesses, np.where(fitted, -np.inf, 0))
    k, log_scale = _fit_pareto(log_excesses, sizes)
    smooth = _pareto_order_statistics(k, log_scale, sizes, tail + 1)
    smooth = np.minimum(np.logaddexp(smooth, 0), raw[:, :1])
    return _Tail(cut, raw, inside, smooth, np.where(fitted, k, np.inf)[:, 0])


def _loo(logp: np.ndarray, tail: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the estimate and Pareto k of each row of logp [rows, m]."""
    if tail < MIN_TAIL:
        return -log_mean_exp(-logp), np.full(len(logp), np.inf)
    least = np.sort(np.partition(logp, tail, axis=1)[:, : tail + 1], axis=1)
    cut, raw, inside, smooth, k = _smoothed(least)
    num_inside = inside.sum(axis=1, keepdims=True)

    def log_sum(logs: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Returns log(sum exp(logs) + others), of the tail and all other ratios."""
        logs = np.where(inside, logs, -np.inf)
        with np.errstate(divide="ignore"):  # The sum of the others may underflow.
            logs = np.append(logs, np.log(others), axis=1)
        return np.logaddexp.reduce(logs, axis=1)

    body = np.where(logp < cut, 0, np.exp(np.minimum(cut - logp, 0)))
    # Outside the tail, each ratio times its likelihood is 1.
    numerator = log_sum(smooth - raw, logp.shape[1] - num_inside)
    denominator = log_sum(smooth, body.sum(axis=1, keepdims=True))
    return cut[:, 0] + numerator - denominator, k


def _weights(logp: np.ndarray, tail: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the weights, of sum 1, and the Pareto k of each row of logp [rows, m]."""
    k = np.full(len(logp), np.inf)
    if tail < MIN_TAIL:
        ratios = np.exp(logp.min(axis=1, keepdims=True) - logp)
    else:
        order = np.argsort(logp, axis=1)[:, : tail + 1]
        least = np.take_along_axis(logp, order, axis=1)
        cut, raw, inside, smooth, k = _smoothed(least)
        top = np.where(inside[:, :1], smooth[:, :1], 0)
        ratios = np.exp(np.minimum(cut - logp, 0) - top)
        largest = np.exp(np.where(inside, smooth, np.minimum(raw, 0)) - top)
        # Equal ratios get the mean of their smoothed values, because draws have no
        # order.
        group = np.cumsum(np.diff(least, axis=1, prepend=-np.inf) > 0) - 1
        means = np.bincount(group, largest.reshape(-1)) / np.bincount(group)
        np.put_along_axis(ratios, order, means[group].reshape(largest.shape), axis=1)
    return ratios / ratios.sum(axis=1, keepdims=True), k


@np.errstate(over="ignore", invalid="ignore")
def _in_blocks(
    function: Callable[..., Any], logp: np.ndarray, reff: float
) -> list[np.ndarray]:
    """Returns the results of a function of rows, for all rows of logp [rows, m]."""
    m = logp.shape[1]
    tail = tail_length(m, reff)
    step = max(1, _BLOCK // max(m, tail * (30 + math.isqrt(tail))))
    # The fit holds the likelihood of every shape for each row of a block.
    results = _threads.map_blocks(
        lambda block: function(logp[block], tail), len(logp), m, step
    )
    return [np.concatenate(parts) for parts in zip(*results, strict=True)]


def leave_one_out(logp: np.ndarray, reff: float = 1.0) -> list[np.ndarray]:
    """Returns the estimate and Pareto k of each instance of logp [n, m, ...], shape
    [n, ...] both.
    """
    rows = np.moveaxis(logp, 1, -1)
    results = _in_blocks(_loo, rows.reshape(-1, rows.shape[-1]), reff)
    return [part.reshape(rows.shape[:-1]) for part in results]


def leave_one_out_weights(logp: np.ndarray, reff: float) -> list[np.ndarray]:
    """Returns the weights of the draws, [n, m], and Pareto k [n] of logp [n, m]."""
    return _in_blocks(_weights, logp, reff)
