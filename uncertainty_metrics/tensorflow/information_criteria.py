"""Information criteria on tensors, eager or compiled.

Definitions and arguments are those of `uncertainty_metrics.numpy.information_criteria`.
float64 logp is computed in float64, all other types in float32. The results are
differentiable.

In eager execution a wrong value raises ValueError, and an unreliable estimate warns. In
a graph neither is possible: what a wrong value touches is NaN there, and nothing warns;
a wrong shape or option raises while the graph is built.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import InformationCriterion, PsisLoo
from uncertainty_metrics.numpy import information_criteria as np_criteria
from uncertainty_metrics.tensorflow import _inputs, _sums

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = ["importance_sampling_cross_validation", "negative_waic", "psis_loo"]


def _finite_logp(logp: TensorLike) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns logp [n, m, ...], 0 where it is not finite, and which instances [n, ...]
    are right.
    """
    logp = _inputs.as_tensor("logp", logp)
    np_criteria.check_logp("logp", logp.shape)
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


def _summary(
    values: tf.Tensor, right: tf.Tensor, explain: Callable[[], object]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the mean and its standard error, NaN where an instance is not right."""
    right = tf.reduce_all(right, axis=0)
    return tuple(
        _inputs.nan_unless(right, value, explain) for value in _mean_and_sem(values)
    )


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
    tail = np_criteria.tail_length(m)
    if tail < np_criteria.MIN_TAIL:
        return -_log_mean_exp(-logp), tf.fill(tf.shape(logp)[:1], number(np.inf))
    top = tf.math.top_k(-logp, tail + 1).values
    # XLA would sort all of logp for a slice of this.
    largest = tf.reduce_max(top, axis=1, keepdims=True)
    # The ratio at the cut is the unit of all others.
    cut = tf.reduce_min(top, axis=1, keepdims=True)
    cut = tf.maximum(cut, largest + np_criteria.LOG_TINY)
    # Ratios equal to it are not above it, and may leave too few.
    fitted = _count(top > cut) >= np_criteria.MIN_TAIL
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


def _by_variance(
    logp: TensorLike,
    criterion: Callable[[tf.Tensor], tf.Tensor],
    explain: Callable[[], object],
) -> InformationCriterion:
    """Returns a criterion that is unreliable where the variance is large."""
    logp, right = _finite_logp(logp)
    result = InformationCriterion(*_summary(criterion(logp), right, explain))
    if tf.executing_eagerly():
        limit = np_criteria.MAX_VARIANCE
        variance = _variance(logp).numpy()
        np_criteria.warn_of("The variance of logp", variance, limit, stacklevel=4)
    return result


def negative_waic(logp: TensorLike, waic_type: str = "waic1") -> InformationCriterion:
    """Widely applicable information criterion (WAIC), as an estimate to maximise.

    For each instance i, with mean and variance (divisor m - 1) over the draws j:

      waic1 = log mean_j exp(logp_ij) - var_j(logp_ij)
      waic2 = 2 mean_j logp_ij - log mean_j exp(logp_ij)

    The estimate is the mean over the instances. Watanabe recommends waic1. Gelman et
    al. number the other way: from the log-mean-exp, waic1 subtracts their p_WAIC2, the
    variance, and waic2 their p_WAIC1, twice what it is above the mean. ArviZ's `waic`
    is the sum of waic1 over the instances, with a variance of divisor m.

    Args:
      logp: real and finite, shape [n, m, ...]: n instances on axis 0, m >= 2 draws or
        members on axis 1. No criterion is finite where a probability is 0.
      waic_type: "waic1" or "waic2".

    Returns:
      A named tuple (estimate, sem): the estimated log-likelihood of a new instance, in
      nats, and its standard error `sd_i / sqrt(n)` with divisor n - 1, NaN for one
      instance. Each has the shape [...] of the axes behind the second, float32 or
      float64 as logp. Higher is better. Eager execution warns where the variance of
      logp over the draws of an instance exceeds 0.4. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logp = [[-1.0, -1.2, -0.9], [-2.0, -1.8, -2.1], [-0.5, -0.4, -0.6]]
      >>> neg_waic, neg_waic_sem = um.negative_waic(logp)
      >>> print(f"{neg_waic:.4f} +- {neg_waic_sem:.4f}")
      -1.1793 +- 0.4309

    References:
      Watanabe (2010), Asymptotic Equivalence of Bayes Cross Validation and Widely
      Applicable Information Criterion in Singular Learning Theory. Gelman, Hwang and
      Vehtari (2014), Understanding Predictive Information Criteria for Bayesian Models.
    """
    _checks.one_of("waic_type", waic_type, np_criteria.WAIC_TYPES)
    return _by_variance(
        logp,
        functools.partial(_waic, waic_type=waic_type),
        lambda: np_criteria.negative_waic(logp, waic_type),
    )


def importance_sampling_cross_validation(logp: TensorLike) -> InformationCriterion:
    """Importance sampling cross-validation criterion (ISCV).

      ISCV = -mean_i log mean_j exp(-logp_ij)

    The log-likelihood of each instance under the draws as if it had been left out:
    each draw is weighted by the ratio 1 / p(y_i | x_i, theta_j). A few large ratios may
    decide the value; `psis_loo` smooths them, and tells where that does not help.

    Args:
      logp: real and finite, shape [n, m, ...]: n instances on axis 0, m >= 2 draws or
        members on axis 1. No criterion is finite where a probability is 0.

    Returns:
      A named tuple (estimate, sem): the estimated log-likelihood of a new instance, in
      nats, and its standard error `sd_i / sqrt(n)` with divisor n - 1, NaN for one
      instance. Each has the shape [...] of the axes behind the second, float32 or
      float64 as logp. Higher is better. Eager execution warns where the variance of
      logp over the draws of an instance exceeds 0.4. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logp = [[-1.0, -1.2, -0.9], [-2.0, -1.8, -2.1], [-0.5, -0.4, -0.6]]
      >>> iscv, iscv_sem = um.importance_sampling_cross_validation(logp)
      >>> print(f"{iscv:.4f} +- {iscv_sem:.4f}")
      -1.1730 +- 0.4297

    References:
      Gelfand, Dey and Chang (1992), Model Determination Using Predictive Distributions
      with Implementation via Sampling-Based Methods.
    """
    return _by_variance(
        logp,
        lambda values: -_log_mean_exp(-values),
        lambda: np_criteria.importance_sampling_cross_validation(logp),
    )


def psis_loo(logp: TensorLike) -> PsisLoo:
    """Leave-one-out cross-validation by Pareto smoothed importance sampling (PSIS-LOO).

    With the importance ratios r_ij = exp(-logp_ij) of instance i, of which the largest
    min(m / 5, 3 sqrt(m)) are replaced by order statistics of a generalized Pareto
    distribution fitted to them, and are at most the largest ratio:

      psis_loo = mean_i log(sum_j r_ij exp(logp_ij) / sum_j r_ij)

    The shape k of the distribution tells how far to trust the value. With fewer than 21
    draws nothing is smoothed: the estimate is that of
    `importance_sampling_cross_validation`, and k is inf. The draws count as
    independent.

    It equals `arviz.loo(..., reff=1)`, which has the sum over the instances: n times
    the estimate. By default ArviZ takes the relative efficiency `reff` of its chains,
    and smooths another number of ratios.

    Args:
      logp: real and finite, shape [n, m, ...]: n instances on axis 0, m >= 2 draws or
        members on axis 1, their number static. No criterion is finite where a
        probability is 0.

    Returns:
      A named tuple (estimate, sem, pareto_k): the estimated log-likelihood of a new
      instance, in nats; its standard error `sd_i / sqrt(n)` with divisor n - 1, NaN for
      one instance; both of the shape [...] of the axes behind the second; and the shape
      k of each instance [n, ...], inf where fewer than 5 ratios are above the others,
      as where all are equal. float32 or float64 as logp; float32 is within about 1e-5.
      The estimate: higher is better; k: smaller. Eager execution warns where k exceeds
      `min(1 - 1 / log10(m), 0.7)`. NaN inside a graph where eager execution raises
      ValueError for values.

    Raises:
      ValueError: the argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> draws = tf.linspace(-0.1, 0.1, 100)
      >>> logp = -0.5 * (tf.constant([[-1.0], [0.0], [1.0]]) - draws) ** 2
      >>> estimate, sem, pareto_k = um.psis_loo(logp)
      >>> print(f"{estimate:.4f} +- {sem:.4f}")
      -0.3362 +- 0.1672
      >>> bool(tf.reduce_all(pareto_k < 0.5))
      True

    References:
      Vehtari, Gelman and Gabry (2017), Practical Bayesian Model Evaluation Using
      Leave-One-Out Cross-Validation and WAIC. Vehtari, Simpson, Gelman, Yao and Gabry
      (2024), Pareto Smoothed Importance Sampling. Zhang and Stephens (2009), A New and
      Efficient Estimation Method for the Generalized Pareto Distribution.
    """
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
    explain = functools.partial(np_criteria.psis_loo, logp)
    mean, sem = _summary(estimates, right, explain)
    k = _inputs.nan_unless(right, k, explain)
    if tf.executing_eagerly():
        np_criteria.warn_of("Pareto k", k.numpy(), np_criteria.max_pareto_k(m))
    return PsisLoo(mean, sem, k)
