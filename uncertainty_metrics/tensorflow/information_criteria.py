"""Information criteria on tensors, eager or compiled; differentiable.

Declared in `uncertainty_metrics.numpy.information_criteria`. float64 logp is computed
in float64, all other types in float32. Only eager execution warns of an estimate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import InformationCriterion, PsisLoo
from uncertainty_metrics.numpy import information_criteria as declared
from uncertainty_metrics.tensorflow import _inputs, _sums
from uncertainty_metrics.tensorflow._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = ["importance_sampling_cross_validation", "negative_waic", "psis_loo"]


def _finite_logp(logp: TensorLike) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns logp [n, m, ...], 0 where it is not finite, and which instances [n, ...]
    are right.
    """
    logp = _inputs.as_tensor("logp", logp)
    declared.check_logp("logp", logp.shape)
    logp = tf.cast(logp, _inputs.sum_dtype(logp))
    finite = tf.math.is_finite(logp)
    right = tf.reduce_all(finite, axis=1) & (tf.shape(logp)[1] > 1)
    return tf.where(finite, logp, tf.zeros_like(logp)), right


def _log_mean_exp(logp: tf.Tensor) -> tf.Tensor:
    """Returns the logarithm of the mean of exp(logp) over axis 1."""
    largest = tf.reduce_max(logp, axis=1, keepdims=True)
    mean = tf.reduce_mean(tf.exp(logp - largest), axis=1)
    return tf.math.log(mean) + tf.squeeze(largest, axis=1)


def _waic(logp: tf.Tensor, waic_type: str) -> tf.Tensor:
    """Returns the WAIC of each instance, shape [n, ...]."""
    if waic_type == "waic1":
        return _log_mean_exp(logp) - _variance(logp)
    return 2 * tf.reduce_mean(logp, axis=1) - _log_mean_exp(logp)


def _variance(logp: tf.Tensor) -> tf.Tensor:
    """Returns the variance over axis 1, with divisor m - 1."""
    m = tf.cast(tf.shape(logp)[1], logp.dtype)
    return tf.math.reduce_variance(logp, axis=1) * m / (m - 1)


@tf.custom_gradient
def _exact_total(
    values: tf.Tensor,
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    hi, lo = _sums.total_pair(values)
    return hi + lo, lambda upstream: tf.broadcast_to(upstream, tf.shape(values))


def _total(values: tf.Tensor) -> tf.Tensor:
    """Returns the sums over axis 0 of values whose float32 sum would drift."""
    if values.dtype == tf.float64:
        return tf.reduce_sum(values, axis=0)
    columns = tf.reshape(values, [tf.shape(values)[0], -1])
    return tf.reshape(_exact_total(columns), tf.shape(values)[1:])


def _mean_and_sem(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the mean of values [n, ...] over n, and its standard error."""
    n = tf.cast(tf.shape(values)[0], values.dtype)
    mean = _total(values) / n
    variance = _total(tf.math.squared_difference(values, mean)) / (n - 1)
    return mean, tf.sqrt(variance / n)


def _fit_pareto(
    log_excesses: tf.Tensor, sizes: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the shape and the log scale of generalized Pareto distributions.

    The twin of `numpy.information_criteria._fit_pareto`; says how there.

    Args:
      log_excesses: [rows, tail], descending; of each row the first `sizes` count, and
        the rest is -inf.
      sizes: int32 >= 5, [rows, 1].
    """
    dtype = log_excesses.dtype
    limits = np.finfo(dtype.as_numpy_dtype)
    log_unit = _inputs.take(log_excesses, (sizes - (sizes + 2) // 4)[:, 0])[:, None]
    logs = log_excesses - log_unit
    most = math.log(limits.max) - 8
    excesses = tf.exp(tf.minimum(logs, most))
    beyond = tf.reduce_sum(tf.nn.relu(logs - most), axis=1, keepdims=True)
    least = tf.exp(-tf.reduce_max(logs, axis=1, keepdims=True))
    sizes = tf.cast(sizes, dtype)

    def shape(theta):
        # A few at a time: all at once take much memory, one by one compiles long.
        sums = [
            tf.reduce_sum(
                tf.math.log1p(-theta[:, i : i + 4, None] * excesses[:, None, :]), axis=2
            )
            for i in range(0, theta.shape[1], 4)
        ]
        return (tf.concat(sums, axis=1) + beyond) / sizes

    def nonzero(theta):
        return tf.where(theta == 0, limits.eps * least, theta)

    count = 30 + tf.floor(tf.sqrt(sizes))
    place = tf.range(30 + math.isqrt(log_excesses.shape[1]), dtype=dtype) + 0.5
    spread = 1 - tf.sqrt(count / tf.minimum(place, count - 0.5))
    theta = nonzero(least + spread / 3)
    k = shape(theta)
    likelihood = sizes * (tf.math.log(-theta / k) - k - 1)
    likelihood = tf.where(place < count, likelihood, dtype.as_numpy_dtype(-np.inf))
    weights = tf.nn.softmax(likelihood, axis=1)

    theta = nonzero(tf.reduce_sum(weights * theta, axis=1, keepdims=True))
    k = shape(theta)
    return (sizes * k + 5) / (sizes + 10), tf.math.log(-k / theta) + log_unit


def _pareto_order_statistics(
    k: tf.Tensor, log_scale: tf.Tensor, sizes: tf.Tensor, num: int
) -> tf.Tensor:
    """Returns logarithms of the quantiles (r - 1/2) / size, descending, [rows, num].

    The quantile of level q is scale ((1 - q)^-k - 1) / k.
    """
    sizes = tf.cast(sizes, k.dtype)
    rank = tf.minimum(tf.range(num, dtype=k.dtype), sizes - 1) + 0.5
    exponential = tf.math.log(sizes / rank)
    slope = tf.maximum(tf.abs(k), np.finfo(k.dtype.as_numpy_dtype).eps)
    standard = tf.math.log(-tf.math.expm1(-slope * exponential) / slope)
    return log_scale + tf.nn.relu(k) * exponential + standard


def _count(mask: tf.Tensor) -> tf.Tensor:
    """Returns how many of each row are True, int32 [rows, 1]."""
    return tf.reduce_sum(tf.cast(mask, tf.int32), axis=1, keepdims=True)


def _psis_loo(logp: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the estimate and Pareto k of each row of logp [rows, m]."""
    number, m = logp.dtype.as_numpy_dtype, logp.shape[1]
    tail = declared.tail_length(m)
    if tail < declared.MIN_TAIL:
        return -_log_mean_exp(-logp), tf.fill(tf.shape(logp)[:1], number(np.inf))
    top = tf.math.top_k(-logp, tail + 1).values
    # XLA would sort all of logp for a slice of this.
    largest = tf.reduce_max(top, axis=1, keepdims=True)
    # The ratio at the cut is the unit of all others.
    cut = tf.reduce_min(top, axis=1, keepdims=True)
    cut = tf.maximum(cut, largest + declared.LOG_TINY)
    # Ratios equal to it are not above it, and may leave too few.
    fitted = _count(top > cut) >= declared.MIN_TAIL
    cut = tf.where(fitted, cut, largest)
    raw = top - cut
    inside = raw > 0
    num_inside = _count(inside)

    # Rows that are not fitted take part with harmless numbers.
    sizes = tf.where(fitted, num_inside, tail)
    log_excesses = raw + tf.math.log(-tf.math.expm1(-tf.where(inside, raw, number(1))))
    filler = tf.where(fitted, number(-np.inf), number(0))
    log_excesses = tf.where(inside, log_excesses, filler)
    k, log_scale = _fit_pareto(log_excesses, sizes)
    smooth = _pareto_order_statistics(k, log_scale, sizes, tail + 1)
    smooth = tf.minimum(tf.math.softplus(smooth), largest - cut)

    def log_sum(logs, rest):
        """Returns log(sum exp(logs) + rest) of the tail and the rest."""
        logs = tf.where(inside, logs, number(-np.inf))
        return tf.reduce_logsumexp(tf.concat([logs, tf.math.log(rest)], axis=1), axis=1)

    ratios = -logp - cut
    body = tf.where(ratios > 0, number(0), tf.exp(tf.minimum(ratios, 0)))
    # A raw ratio times p is 1 everywhere.
    numerator = log_sum(smooth - raw, tf.cast(m - num_inside, logp.dtype))
    denominator = log_sum(smooth, tf.reduce_sum(body, axis=1, keepdims=True))
    k = tf.where(fitted, k, number(np.inf))
    return numerator - denominator - cut[:, 0], k[:, 0]


def _by_variance(logp, criterion):
    """Returns a criterion that is unreliable where the variance is large."""
    logp, right = _finite_logp(logp)
    right = tf.reduce_all(right, axis=0)
    result = InformationCriterion(*_mean_and_sem(criterion(logp)))
    if tf.executing_eagerly() and tf.reduce_all(right):
        limit = declared.MAX_VARIANCE
        variance = _variance(logp).numpy()
        declared.warn_of("The variance of logp", variance, limit, stacklevel=6)
    return result, right


@twin(declared.negative_waic)
def negative_waic(logp, waic_type):
    _checks.one_of("waic_type", waic_type, get_args(declared.WaicType))
    return _by_variance(logp, functools.partial(_waic, waic_type=waic_type))


@twin(declared.importance_sampling_cross_validation)
def importance_sampling_cross_validation(logp):
    return _by_variance(logp, lambda values: -_log_mean_exp(-values))


@twin(declared.psis_loo)
def psis_loo(logp):
    values, right = _finite_logp(logp)
    m = values.shape[1]
    if m is None:
        raise _checks.error(
            "logp",
            "of a static number of members on axis 1",
            f"shape {list(values.shape)}",
        )
    rows = tf.transpose(values, [0, *range(2, values.shape.rank), 1])
    estimates, k = (
        tf.reshape(result, tf.shape(right))
        for result in _psis_loo(tf.reshape(rows, [-1, m]))
    )
    if tf.executing_eagerly() and tf.reduce_all(right):
        limit = declared.max_pareto_k(m)
        declared.warn_of("Pareto k", k.numpy(), limit, stacklevel=5)
    all_right = tf.reduce_all(right, axis=0)
    value = PsisLoo(*_mean_and_sem(estimates), k)
    return value, PsisLoo(all_right, all_right, right)
