"""Draws from the posterior of a calibration error: by TensorFlow Probability, which is
imported only for them, and by NumPy where the backend is not TensorFlow.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy.calibration.bins import _binning as np_binning
from uncertainty_metrics.numpy.calibration.bins import (
    bayesian_calibration as np_bayesian,
)
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _execution,
    _posterior,
    numpy_dtype,
    to_numpy,
    xp,
)

if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as tf

if TYPE_CHECKING:
    from uncertainty_metrics.ops._binning import BinStatistics


def stateless_seed(seed: Any) -> Any:
    """Returns the seed as the draws take it.

    Args:
      seed: an integer or a pair of integers; None for other draws each time.

    Returns:
      int32 [2] on TensorFlow; elsewhere a seed of NumPy.

    Raises:
      ValueError: the seed is not as described.
    """
    if not IS_TENSORFLOW:
        seed = to_numpy(seed) if xp.is_tensor(seed) else seed
        if seed is None:
            return None
    elif seed is None:  # A stateful operation: a graph draws other numbers in each run.
        return tf.random.uniform(
            [2], minval=tf.int32.min, maxval=tf.int32.max, dtype=tf.int32
        )
    if not xp.is_tensor(seed):
        words = np.asarray(seed, object)
        if words.shape in ((), (2,)) and all(
            isinstance(word, int | np.integer) and not isinstance(word, bool)
            for word in words.flat
        ):
            bits = 64 // words.size  # The lowest bits of integers of any size.
            wrapped = [int(word) % 2**bits for word in words.flat]
            if not IS_TENSORFLOW:
                return wrapped if words.shape else wrapped[0]
            return tf.constant(np.array(wrapped, f"u{bits // 8}").view(np.int32))
    elif seed.dtype.is_integer and seed.shape in ([], [2]):
        if len(seed.shape) == 1:
            return tf.cast(seed, tf.int32)
        return tf.bitcast(tf.cast(seed, tf.int64), tf.int32)
    raise _checks.error("seed", "None, an integer or a pair of them", repr(seed))


def _log_gammas(
    concentrations: tf.Tensor, num_samples: int, seed: tf.Tensor
) -> tf.Tensor:
    """Draws logarithms of Gamma(a) variates, [num_samples, cells], finite for all a."""
    tfp = _optional.require("tensorflow_probability")

    gammas = tfp.distributions.ExpGamma(
        concentrations, log_rate=tf.zeros([], concentrations.dtype)
    )
    return gammas.sample(num_samples, seed=seed)


def _bin_means(
    counts: tf.Tensor, score_sums: tf.Tensor, num_samples: int, seed: tf.Tensor
) -> tf.Tensor:
    """Draws the mean score of each bin, [num_samples, bins].

    A bin holds its location, so the distribution function at a draw is not in a tail.
    """
    location, scale, low, high = _posterior.mean_scores(counts, score_sums)
    below, above = (
        tf.math.erf((edge - location) / scale * math.sqrt(0.5)) for edge in (low, high)
    )
    # The algorithm that XLA chooses by itself takes ten times as long.
    uniforms = tf.random.stateless_uniform(
        [num_samples, counts.shape[0]], seed, dtype=counts.dtype, alg="philox"
    )
    # At -1 and 1 the inverse is infinite.
    most = 1 - float(np.finfo(numpy_dtype(counts)).eps)
    inside = tf.clip_by_value(below + uniforms * (above - below), -most, most)
    normals = math.sqrt(2) * tf.math.erfinv(inside)
    return tf.clip_by_value(location + scale * normals, low, high)


def _draw(
    num_samples: int,
    counts: tf.Tensor,
    score_sums: tf.Tensor,
    right: tf.Tensor,
    valid: tf.Tensor,
    prior_alpha: tf.Tensor,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Draws from the posterior of the ECE given sums [1, bins], [num_samples]."""
    tfp = _optional.require("tensorflow_probability")

    counts, score_sums, right = counts[0], score_sums[0], right[0]
    gamma_seed, mean_seed = tf.unstack(tfp.random.split_seed(seed, n=2))
    concentrations = _posterior.concentrations(counts, right, prior_alpha)
    logs = _log_gammas(tf.concat(concentrations, axis=0), num_samples, gamma_seed)
    log_wrong, log_right = tf.split(logs, 2, axis=1)
    log_both = tf.reduce_logsumexp(tf.stack([log_wrong, log_right]), axis=0)
    shares = tf.nn.softmax(log_both, axis=1)
    accuracies = tf.sigmoid(log_right - log_wrong)
    means = _bin_means(counts, score_sums, num_samples, mean_seed)
    samples = tf.reduce_sum(shares * tf.abs(accuracies - means), axis=1)
    return tf.where(valid, samples, tf.constant(float("nan"), samples.dtype))


@functools.lru_cache(maxsize=64)
def _compiled_draw(num_samples: int) -> Callable[..., tf.Tensor]:
    return _execution.compiled(functools.partial(_draw, num_samples))


@_execution.not_converted
def draw(
    statistics: BinStatistics,
    valid: xp.Tensor,
    prior_alpha: float,
    num_samples: int,
    seed: Any,
) -> xp.Tensor:
    """Draws from the posterior given the statistics of one group, [num_samples].

    The draws are NaN where the statistics are not valid.
    """
    seed = stateless_seed(seed)
    if not IS_TENSORFLOW:
        return _numpy_draw(statistics, valid, prior_alpha, num_samples, seed)
    if _execution.is_eager():
        compute = _compiled_draw(num_samples)
    else:
        compute = functools.partial(_draw, num_samples)
    return compute(
        statistics.counts,
        statistics.score_sums,
        statistics.outcome_sums,
        valid,
        tf.constant(prior_alpha, statistics.counts.dtype),
        seed,
    )


def _numpy_draw(
    statistics: BinStatistics,
    valid: xp.Tensor,
    prior_alpha: float,
    num_samples: int,
    seed: Any,
) -> xp.Tensor:
    arrays = np_binning.BinStatistics(
        to_numpy(statistics.edges),
        to_numpy(statistics.counts),
        to_numpy(statistics.score_sums),
        to_numpy(statistics.outcome_sums),
    )
    rng = np.random.default_rng(seed)
    samples = np_bayesian.posterior(arrays, prior_alpha, num_samples, rng)
    samples = xp.constant(samples, statistics.counts.dtype)
    return xp.where(valid, samples, xp.constant(float("nan"), samples.dtype))
