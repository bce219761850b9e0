"""Draws from the posterior of a calibration error, by TensorFlow Probability.

It is imported when they are drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy import _binning as np_binning
from uncertainty_metrics.numpy import bayesian_calibration as declared
from uncertainty_metrics.tensorflow._binning import BinStatistics


def stateless_seed(seed: Any) -> tf.Tensor:
    """Returns int32 [2] for an integer or a pair of them, anew each time for None."""
    if seed is None:  # A stateful operation: in a graph it differs from run to run.
        return tf.random.uniform(
            [2], minval=tf.int32.min, maxval=tf.int32.max, dtype=tf.int32
        )
    if not tf.is_tensor(seed):
        words = np.asarray(seed, object)
        if words.shape in ((), (2,)) and all(
            isinstance(word, int | np.integer) and not isinstance(word, bool)
            for word in words.flat
        ):
            bits = 64 // words.size  # Any integer will do: its lowest bits count.
            wrapped = [int(word) % 2**bits for word in words.flat]
            return tf.constant(np.array(wrapped, f"u{bits // 8}").view(np.int32))
    elif seed.dtype.is_integer and seed.shape in ([], [2]):
        if seed.shape.rank == 1:
            return tf.cast(seed, tf.int32)
        return tf.bitcast(tf.cast(seed, tf.int64), tf.int32)
    raise _checks.error("seed", "None, an integer or a pair of them", repr(seed))


def _log_gammas(
    concentrations: tf.Tensor, num_samples: int, seed: tf.Tensor
) -> tf.Tensor:
    """Draws logarithms of Gamma(a) variates, [num_samples, cells], finite for all a."""
    tfp = _optional.require("tensorflow_probability")

    dtype = concentrations.dtype
    smallest = declared.smallest_concentration(dtype.as_numpy_dtype)
    gammas = tfp.distributions.ExpGamma(
        tf.maximum(concentrations, tf.constant(smallest, dtype)),
        log_rate=tf.zeros([], dtype),
    )
    return gammas.sample(num_samples, seed=seed)


def _bin_means(
    counts: tf.Tensor, score_sums: tf.Tensor, num_samples: int, seed: tf.Tensor
) -> tf.Tensor:
    """Draws the mean score of each bin, [num_samples, bins]."""
    tfp = _optional.require("tensorflow_probability")

    dtype = counts.dtype
    num_bins = counts.shape[0]
    edges = np_binning.even_edges(num_bins)
    low, high = tf.constant(edges[:-1], dtype), tf.constant(edges[1:], dtype)
    centre = tf.constant((edges[:-1] + edges[1:]) / 2, dtype)
    location = (centre + score_sums) / (1 + counts)
    location = tf.clip_by_value(location, low, high)  # Rounding may leave the bin.
    deviation = tf.constant(1 / (num_bins * np.sqrt(12)), dtype)
    means = tfp.distributions.TruncatedNormal(
        location, deviation / tf.sqrt(1 + counts), low, high
    ).quantile(tf.random.stateless_uniform([num_samples, num_bins], seed, dtype=dtype))
    return tf.clip_by_value(means, low, high)


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
    wrong = tf.maximum(counts - right, 0)  # Rounding of weights may go below 0.
    concentrations = prior_alpha + tf.concat([wrong, right], axis=0)
    logs = _log_gammas(concentrations, num_samples, gamma_seed)
    log_wrong, log_right = tf.split(logs, 2, axis=1)
    log_both = tf.reduce_logsumexp(tf.stack([log_wrong, log_right]), axis=0)
    shares = tf.nn.softmax(log_both, axis=1)
    accuracies = tf.sigmoid(log_right - log_wrong)
    means = _bin_means(counts, score_sums, num_samples, mean_seed)
    samples = tf.reduce_sum(shares * tf.abs(accuracies - means), axis=1)
    return tf.where(valid, samples, tf.constant(float("nan"), samples.dtype))


@functools.lru_cache(maxsize=64)
def _compiled(num_samples: int) -> Callable[..., tf.Tensor]:
    """Returns `_draw` as a graph: in eager execution it is one call, not hundreds."""
    return tf.function(functools.partial(_draw, num_samples), autograph=False)


@tf.autograph.experimental.do_not_convert
def draw(
    statistics: BinStatistics,
    valid: tf.Tensor,
    prior_alpha: float,
    num_samples: int,
    seed: Any,
) -> tf.Tensor:
    """Draws from the posterior given the statistics of one group, [num_samples].

    The draws are NaN where the statistics are not valid.
    """
    function = (
        _compiled(num_samples)
        if tf.executing_eagerly()
        else functools.partial(_draw, num_samples)
    )
    return function(
        statistics.counts,
        statistics.score_sums,
        statistics.outcome_sums,
        valid,
        tf.constant(prior_alpha, statistics.counts.dtype),
        stateless_seed(seed),
    )
