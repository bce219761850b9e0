"""Draws from the posterior of a calibration error, by TensorFlow Probability.

It is imported when they are drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy import _binning as np_binning
from uncertainty_metrics.numpy import bayesian_calibration as declared
from uncertainty_metrics.ops import numpy_dtype, xp
from uncertainty_metrics.ops._binning import BinStatistics


def stateless_seed(seed: Any) -> xp.Tensor:
    """Returns int32 [2] for an integer or a pair of them, anew each time for None."""
    if seed is None:  # A stateful operation: in a graph it differs from run to run.
        return xp.random.uniform(
            [2], minval=xp.int32.min, maxval=xp.int32.max, dtype=xp.int32
        )
    if not xp.is_tensor(seed):
        words = np.asarray(seed, object)
        if words.shape in ((), (2,)) and all(
            isinstance(word, int | np.integer) and not isinstance(word, bool)
            for word in words.flat
        ):
            bits = 64 // words.size  # Any integer will do: its lowest bits count.
            wrapped = [int(word) % 2**bits for word in words.flat]
            return xp.constant(np.array(wrapped, f"u{bits // 8}").view(np.int32))
    elif seed.dtype.is_integer and seed.shape in ([], [2]):
        if len(seed.shape) == 1:
            return xp.cast(seed, xp.int32)
        return xp.bitcast(xp.cast(seed, xp.int64), xp.int32)
    raise _checks.error("seed", "None, an integer or a pair of them", repr(seed))


def _log_gammas(
    concentrations: xp.Tensor, num_samples: int, seed: xp.Tensor
) -> xp.Tensor:
    """Draws logarithms of Gamma(a) variates, [num_samples, cells], finite for all a."""
    tfp = _optional.require("tensorflow_probability")

    dtype = concentrations.dtype
    smallest = declared.smallest_concentration(numpy_dtype(dtype))
    gammas = tfp.distributions.ExpGamma(
        xp.maximum(concentrations, xp.constant(smallest, dtype)),
        log_rate=xp.zeros([], dtype),
    )
    return gammas.sample(num_samples, seed=seed)


def _bin_means(
    counts: xp.Tensor, score_sums: xp.Tensor, num_samples: int, seed: xp.Tensor
) -> xp.Tensor:
    """Draws the mean score of each bin, [num_samples, bins]."""
    tfp = _optional.require("tensorflow_probability")

    dtype = counts.dtype
    num_bins = counts.shape[0]
    edges = np_binning.even_edges(num_bins)
    low, high = xp.constant(edges[:-1], dtype), xp.constant(edges[1:], dtype)
    centre = xp.constant((edges[:-1] + edges[1:]) / 2, dtype)
    location = (centre + score_sums) / (1 + counts)
    location = xp.clip_by_value(location, low, high)  # Rounding may leave the bin.
    deviation = xp.constant(1 / (num_bins * np.sqrt(12)), dtype)
    means = tfp.distributions.TruncatedNormal(
        location, deviation / xp.sqrt(1 + counts), low, high
    ).quantile(xp.random.stateless_uniform([num_samples, num_bins], seed, dtype=dtype))
    return xp.clip_by_value(means, low, high)


def _draw(
    num_samples: int,
    counts: xp.Tensor,
    score_sums: xp.Tensor,
    right: xp.Tensor,
    valid: xp.Tensor,
    prior_alpha: xp.Tensor,
    seed: xp.Tensor,
) -> xp.Tensor:
    """Draws from the posterior of the ECE given sums [1, bins], [num_samples]."""
    tfp = _optional.require("tensorflow_probability")

    counts, score_sums, right = counts[0], score_sums[0], right[0]
    gamma_seed, mean_seed = xp.unstack(tfp.random.split_seed(seed, n=2))
    wrong = xp.maximum(counts - right, 0)  # Rounding of weights may go below 0.
    concentrations = prior_alpha + xp.concat([wrong, right], axis=0)
    logs = _log_gammas(concentrations, num_samples, gamma_seed)
    log_wrong, log_right = xp.split(logs, 2, axis=1)
    log_both = xp.reduce_logsumexp(xp.stack([log_wrong, log_right]), axis=0)
    shares = xp.nn.softmax(log_both, axis=1)
    accuracies = xp.sigmoid(log_right - log_wrong)
    means = _bin_means(counts, score_sums, num_samples, mean_seed)
    samples = xp.reduce_sum(shares * xp.abs(accuracies - means), axis=1)
    return xp.where(valid, samples, xp.constant(float("nan"), samples.dtype))


@functools.lru_cache(maxsize=64)
def _compiled(num_samples: int) -> Callable[..., xp.Tensor]:
    """Returns `_draw` as a graph: in eager execution it is one call, not hundreds."""
    return xp.function(functools.partial(_draw, num_samples), autograph=False)


@xp.autograph.experimental.do_not_convert
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
    function = (
        _compiled(num_samples)
        if xp.executing_eagerly()
        else functools.partial(_draw, num_samples)
    )
    return function(
        statistics.counts,
        statistics.score_sums,
        statistics.outcome_sums,
        valid,
        xp.constant(prior_alpha, statistics.counts.dtype),
        stateless_seed(seed),
    )
