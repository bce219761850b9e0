"""Information criteria on tensors, eager or compiled; differentiable.

Declared in `uncertainty_metrics.numpy.information.information_criteria`. float64 logp
is computed in float64, all other types in float32. Only eager execution warns of an
estimate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._results import InformationCriterion, PsisLoo
from uncertainty_metrics.numpy.information import _psis as np_psis
from uncertainty_metrics.numpy.information import (
    information_criteria as np_information_criteria,
)
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _sums,
    numpy_dtype,
    to_numpy,
    xp,
)
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["importance_sampling_cross_validation", "negative_waic", "psis_loo"]


def _finite_logp(logp: TensorLike) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns logp [n, m, ...], 0 where it is not finite, and which instances [n, ...]
    are right.
    """
    logp = _inputs.as_tensor("logp", logp)
    np_information_criteria.check_logp("logp", logp.shape)
    logp = xp.cast(logp, _inputs.sum_dtype(logp))
    finite = xp.math.is_finite(logp)
    right = xp.reduce_all(finite, axis=1) & (xp.shape(logp)[1] > 1)
    return xp.where(finite, logp, xp.zeros_like(logp)), right


def _log_mean_exp(logp: xp.Tensor) -> xp.Tensor:
    """Returns the logarithm of the mean of exp(logp) over axis 1."""
    largest = xp.reduce_max(logp, axis=1, keepdims=True)
    mean = xp.reduce_mean(xp.exp(logp - largest), axis=1)
    return xp.math.log(mean) + xp.squeeze(largest, axis=1)


def _waic(logp: xp.Tensor, waic_type: str) -> xp.Tensor:
    """Returns the WAIC of each instance, shape [n, ...]."""
    if waic_type == "waic1":
        return _log_mean_exp(logp) - _variance(logp)
    return 2 * xp.reduce_mean(logp, axis=1) - _log_mean_exp(logp)


def _variance(logp: xp.Tensor) -> xp.Tensor:
    """Returns the variance over axis 1, with divisor m - 1."""
    m = xp.cast(xp.shape(logp)[1], logp.dtype)
    return xp.math.reduce_variance(logp, axis=1) * m / (m - 1)


@_execution.custom_gradient
def _exact_total(
    values: xp.Tensor,
) -> tuple[xp.Tensor, Callable[[xp.Tensor], xp.Tensor]]:
    hi, lo = _sums.total_pair(values)
    return hi + lo, lambda upstream: xp.broadcast_to(upstream, xp.shape(values))


def _total(values: xp.Tensor) -> xp.Tensor:
    """Returns the sums over axis 0 of values whose float32 sum would drift."""
    if values.dtype == xp.float64:
        return xp.reduce_sum(values, axis=0)
    columns = xp.reshape(values, [xp.shape(values)[0], -1])
    return xp.reshape(_exact_total(columns), xp.shape(values)[1:])


def _mean_and_sem(values: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the mean of values [n, ...] over n, and its standard error."""
    n = xp.cast(xp.shape(values)[0], values.dtype)
    mean = _total(values) / n
    variance = _total(xp.math.squared_difference(values, mean)) / (n - 1)
    return mean, xp.sqrt(variance / n)


def _fit_pareto(
    log_excesses: xp.Tensor, sizes: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the shape and the log scale of generalized Pareto distributions.

    See `numpy.information._psis._fit_pareto`, which explains the arithmetic.

    Args:
      log_excesses: [rows, tail], descending; the first `sizes` entries of each row
        count, and the others are -inf.
      sizes: int32 >= 5, [rows, 1].
    """
    dtype = log_excesses.dtype
    limits = np.finfo(numpy_dtype(dtype))
    log_unit = _inputs.take(log_excesses, (sizes - (sizes + 2) // 4)[:, 0])[:, None]
    logs = log_excesses - log_unit
    most = math.log(limits.max) - 8
    excesses = xp.exp(xp.minimum(logs, most))
    beyond = xp.reduce_sum(xp.nn.relu(logs - most), axis=1, keepdims=True)
    least = xp.exp(-xp.reduce_max(logs, axis=1, keepdims=True))
    sizes = xp.cast(sizes, dtype)

    def shape(theta):
        # A few at a time: all at once take much memory, one by one compiles slowly.
        sums = [
            xp.reduce_sum(
                xp.math.log1p(-theta[:, i : i + 4, None] * excesses[:, None, :]), axis=2
            )
            for i in range(0, theta.shape[1], 4)
        ]
        return (xp.concat(sums, axis=1) + beyond) / sizes

    def nonzero(theta):
        return xp.where(theta == 0, limits.eps * least, theta)

    count = 30 + xp.floor(xp.sqrt(sizes))
    place = xp.range(30 + math.isqrt(log_excesses.shape[1]), dtype=dtype) + 0.5
    spread = 1 - xp.sqrt(count / xp.minimum(place, count - 0.5))
    theta = nonzero(least + spread / 3)
    k = shape(theta)
    likelihood = sizes * (xp.math.log(-theta / k) - k - 1)
    likelihood = xp.where(place < count, likelihood, numpy_dtype(dtype).type(-np.inf))
    weights = xp.nn.softmax(likelihood, axis=1)

    theta = nonzero(xp.reduce_sum(weights * theta, axis=1, keepdims=True))
    k = shape(theta)
    return (sizes * k + 5) / (sizes + 10), xp.math.log(-k / theta) + log_unit


def _pareto_order_statistics(
    k: xp.Tensor, log_scale: xp.Tensor, sizes: xp.Tensor, num: int
) -> xp.Tensor:
    """Returns logarithms of the quantiles (r - 1/2) / size, descending, [rows, num].

    The quantile of level q is scale ((1 - q)^-k - 1) / k.
    """
    sizes = xp.cast(sizes, k.dtype)
    rank = xp.minimum(xp.range(num, dtype=k.dtype), sizes - 1) + 0.5
    exponential = xp.math.log(sizes / rank)
    slope = xp.maximum(xp.abs(k), np.finfo(numpy_dtype(k)).eps)
    standard = xp.math.log(-xp.math.expm1(-slope * exponential) / slope)
    return log_scale + xp.nn.relu(k) * exponential + standard


def _count(mask: xp.Tensor) -> xp.Tensor:
    """Returns how many of each row are True, int32 [rows, 1]."""
    return xp.reduce_sum(xp.cast(mask, xp.int32), axis=1, keepdims=True)


def _psis_loo(logp: xp.Tensor, reff: float) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the estimate and Pareto k of each row of logp [rows, m]."""
    number, m = numpy_dtype(logp).type, logp.shape[1]
    tail = np_psis.tail_length(m, reff)
    if tail < np_psis.MIN_TAIL:
        return -_log_mean_exp(-logp), xp.fill(xp.shape(logp)[:1], number(np.inf))
    top = xp.math.top_k(-logp, tail + 1).values
    # Not a slice of `top`, for which XLA would sort all of logp.
    largest = xp.reduce_max(top, axis=1, keepdims=True)
    # The ratio at the cut is the unit of all ratios.
    cut = xp.reduce_min(top, axis=1, keepdims=True)
    cut = xp.maximum(cut, largest + np_psis.LOG_TINY)
    # Ratios equal to the cut are not above it, so there may be too few.
    fitted = _count(top > cut) >= np_psis.MIN_TAIL
    cut = xp.where(fitted, cut, largest)
    raw = top - cut
    inside = raw > 0
    num_inside = _count(inside)

    # Rows that are not fitted get harmless numbers.
    sizes = xp.where(fitted, num_inside, tail)
    log_excesses = raw + xp.math.log(-xp.math.expm1(-xp.where(inside, raw, number(1))))
    filler = xp.where(fitted, number(-np.inf), number(0))
    log_excesses = xp.where(inside, log_excesses, filler)
    k, log_scale = _fit_pareto(log_excesses, sizes)
    smooth = _pareto_order_statistics(k, log_scale, sizes, tail + 1)
    smooth = xp.minimum(xp.math.softplus(smooth), largest - cut)

    def log_sum(logs, rest):
        """Returns log(sum exp(logs) + rest) of the tail and the rest."""
        logs = xp.where(inside, logs, number(-np.inf))
        return xp.reduce_logsumexp(xp.concat([logs, xp.math.log(rest)], axis=1), axis=1)

    ratios = -logp - cut
    body = xp.where(ratios > 0, number(0), xp.exp(xp.minimum(ratios, 0)))
    # A raw ratio is 1 / p, so its product with p is 1.
    numerator = log_sum(smooth - raw, xp.cast(m - num_inside, logp.dtype))
    denominator = log_sum(smooth, xp.reduce_sum(body, axis=1, keepdims=True))
    k = xp.where(fitted, k, number(np.inf))
    return numerator - denominator - cut[:, 0], k[:, 0]


def _by_variance(logp, criterion):
    """Returns a criterion, and warns if it is unreliable: if the variance is large."""
    logp, right = _finite_logp(logp)
    right = xp.reduce_all(right, axis=0)
    result = InformationCriterion(*_mean_and_sem(criterion(logp)))
    if _execution.is_eager() and xp.reduce_all(right):
        limit = np_information_criteria.MAX_VARIANCE
        variance = to_numpy(_variance(logp))
        np_information_criteria.warn_of("The variance of logp", variance, limit)
    return result, right


@twin(np_information_criteria.negative_waic)
def negative_waic(logp, waic_type):
    _checks.one_of("waic_type", waic_type, get_args(np_information_criteria.WaicType))
    return _by_variance(logp, functools.partial(_waic, waic_type=waic_type))


@twin(np_information_criteria.importance_sampling_cross_validation)
def importance_sampling_cross_validation(logp):
    return _by_variance(logp, lambda values: -_log_mean_exp(-values))


@twin(np_information_criteria.psis_loo)
def psis_loo(logp, reff):
    reff = np_psis.check_reff(reff)
    values, right = _finite_logp(logp)
    m = values.shape[1]
    if m is None:
        raise _checks.error(
            "logp",
            "a static number of members on axis 1",
            f"shape {list(values.shape)}",
            verb="have",
        )
    rows = xp.transpose(values, [0, *range(2, len(values.shape)), 1])
    estimates, k = (
        xp.reshape(result, xp.shape(right))
        for result in _psis_loo(xp.reshape(rows, [-1, m]), reff)
    )
    if _execution.is_eager() and xp.reduce_all(right):
        limit = np_psis.max_pareto_k(m)
        np_information_criteria.warn_of("Pareto k", to_numpy(k), limit)
    all_right = xp.reduce_all(right, axis=0)
    value = PsisLoo(*_mean_and_sem(estimates), k)
    return value, PsisLoo(all_right, all_right, right)
