"""The posterior of a calibration error: its mean by quadrature, and draws from it by
TensorFlow Probability, which is imported when they are drawn; by NumPy where the
backend is not TensorFlow.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy.calibration import _binning as np_binning
from uncertainty_metrics.numpy.calibration import bayesian_calibration as declared
from uncertainty_metrics.ops import IS_TENSORFLOW, numpy_dtype, to_numpy, xp
from uncertainty_metrics.ops._binning import BinStatistics
from uncertainty_metrics.ops._special import gauss_legendre

# Nodes of each of three parts of an integral, on which it converges geometrically.
_NODES = 24
# Below exp(-20) of its mode a density does not count.
_LOWEST = 20.0
# Nor does a normal one beyond so many deviations.
_DEVIATIONS = 6.0


def stateless_seed(seed: Any) -> Any:
    """Returns int32 [2] for an integer or a pair of them, anew each time for None; what
    NumPy takes where the backend is not TensorFlow.
    """
    if not IS_TENSORFLOW:
        seed = to_numpy(seed) if xp.is_tensor(seed) else seed
        if seed is None:
            return None
    elif seed is None:  # A stateful operation: in a graph it differs from run to run.
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
            if not IS_TENSORFLOW:
                return wrapped if words.shape else wrapped[0]
            return xp.constant(np.array(wrapped, f"u{bits // 8}").view(np.int32))
    elif seed.dtype.is_integer and seed.shape in ([], [2]):
        if len(seed.shape) == 1:
            return xp.cast(seed, xp.int32)
        return xp.bitcast(xp.cast(seed, xp.int64), xp.int32)
    raise _checks.error("seed", "None, an integer or a pair of them", repr(seed))


def _concentrations(
    counts: xp.Tensor, right: xp.Tensor, prior_alpha: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns those of the wrong and the right decisions of each bin, [bins]."""
    limits = np.finfo(numpy_dtype(counts))
    wrong = xp.maximum(counts - right, 0)  # Rounding of weights may go below 0.
    smallest = declared.smallest_concentration(limits.dtype)
    largest = float(limits.max) * 2.0**-64  # So that their sums are finite.
    return tuple(
        xp.clip_by_value(prior_alpha + outcomes, smallest, largest)
        for outcomes in (wrong, right)
    )


def _log_gammas(
    concentrations: xp.Tensor, num_samples: int, seed: xp.Tensor
) -> xp.Tensor:
    """Draws logarithms of Gamma(a) variates, [num_samples, cells], finite for all a."""
    tfp = _optional.require("tensorflow_probability")

    gammas = tfp.distributions.ExpGamma(
        concentrations, log_rate=xp.zeros([], concentrations.dtype)
    )
    return gammas.sample(num_samples, seed=seed)


def _truncated_normals(
    counts: xp.Tensor, score_sums: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns location, scale and bounds of the mean score of each bin, [bins]."""
    dtype = counts.dtype
    num_bins = counts.shape[0]
    edges = np_binning.even_edges(num_bins)
    low, high = xp.constant(edges[:-1], dtype), xp.constant(edges[1:], dtype)
    centre = xp.constant((edges[:-1] + edges[1:]) / 2, dtype)
    location = (centre + score_sums) / (1 + counts)
    location = xp.clip_by_value(location, low, high)  # Rounding may leave the bin.
    deviation = xp.constant(1 / (num_bins * np.sqrt(12)), dtype)
    return location, deviation / xp.sqrt(1 + counts), low, high


def _bin_means(
    counts: xp.Tensor, score_sums: xp.Tensor, num_samples: int, seed: xp.Tensor
) -> xp.Tensor:
    """Draws the mean score of each bin, [num_samples, bins]."""
    tfp = _optional.require("tensorflow_probability")

    normals = _truncated_normals(counts, score_sums)
    uniforms = xp.random.stateless_uniform(
        [num_samples, counts.shape[0]], seed, dtype=counts.dtype
    )
    means = tfp.distributions.TruncatedNormal(*normals).quantile(uniforms)
    return xp.clip_by_value(means, *normals[2:])


def _normal(z: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the density of a standard normal, and its integral from 0."""
    return (
        xp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi),
        0.5 * xp.math.erf(z * math.sqrt(0.5)),
    )


def _angle(sine: xp.Tensor, cosine: xp.Tensor) -> xp.Tensor:
    """Returns the angle of sqrt(sine), sqrt(cosine), which may be of any length."""
    return xp.math.atan2(xp.sqrt(sine), xp.sqrt(cosine))


def _beta_nodes(
    a: xp.Tensor, b: xp.Tensor, *splits: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns x, 1 - x and weights [nodes, parts, bins]: a rule for the means of
    functions of x under Beta(a + 1, b + 1), smooth between the splits, for a, b > 0.
    """
    # The angle of which x is the squared sine has the log-density A log(sin) +
    # B log(cos), whose curvature is nowhere below (sqrt(A) + sqrt(B))^2.
    sines, cosines = 2 * a + 1, 2 * b + 1
    mode = _angle(sines, cosines)
    reach = math.sqrt(2 * _LOWEST) / (xp.sqrt(sines) + xp.sqrt(cosines))
    start, stop = xp.maximum(-mode, -reach), xp.minimum(math.pi / 2 - mode, reach)
    inner = [xp.clip_by_value(_angle(x, 1 - x) - mode, start, stop) for x in splits]
    below = xp.stack([start, *inner])
    width = xp.stack([*inner, stop]) - below
    nodes, weights = (
        xp.constant(part[:, None, None], a.dtype) for part in gauss_legendre(_NODES)
    )
    # Relative to the mode, so that large A and B cancel before they are rounded.
    shift = below + width * nodes
    sine, less = xp.sin(shift), -2 * xp.square(xp.sin(0.5 * shift))
    slope = xp.sqrt(cosines) / xp.sqrt(sines)
    nothing = -1 + float(np.finfo(numpy_dtype(a)).eps)
    logs = sines * xp.math.log1p(xp.maximum(less + slope * sine, nothing))
    logs = logs + cosines * xp.math.log1p(xp.maximum(less - sine / slope, nothing))
    masses = xp.exp(logs - xp.reduce_max(logs, axis=[0, 1])) * weights * width
    masses = masses / xp.reduce_sum(masses, axis=[0, 1])
    angle = mode + shift
    tiny = declared.smallest_concentration(numpy_dtype(a))
    x, rest = (
        xp.maximum(xp.square(part), tiny) for part in (xp.sin(angle), xp.cos(angle))
    )
    return x, rest, masses


def _expected_gaps(
    a: xp.Tensor, b: xp.Tensor, counts: xp.Tensor, score_sums: xp.Tensor
) -> xp.Tensor:
    """Returns E|A - m| of A from Beta(a, b) and the mean score m of each bin, [bins].

    That is E[A (1 - m) + m (1 - A)] - 2 E G(A), where G(x), the mean over m of
    min(x (1 - m), m (1 - x)), has a closed form. It vanishes at 0 and 1, so that the
    density times x (1 - x), that of Beta(a + 1, b + 1), is left, which has no poles.
    """
    location, scale, low, high = _truncated_normals(counts, score_sums)
    first, last = (low - location) / scale, (high - location) / scale
    density, below = _normal(first)
    last_density, last_below = _normal(last)
    mass = last_below - below
    mean = location - scale * (last_density - density) / mass
    mean = xp.clip_by_value(mean, low, high)

    def excess(x):  # E max(x - m, 0)
        z = xp.clip_by_value((x - location) / scale, first, last)
        densities, belows = _normal(z)
        inside = z * (belows - below) + densities - density
        return scale * inside / mass + xp.maximum(x - high, 0)

    # The function bends where the mean score may be.
    bends = [
        xp.clip_by_value(location + side * _DEVIATIONS * scale, low, high)
        for side in (-1, 1)
    ]
    x, rest, weights = _beta_nodes(a, b, *bends)
    most = xp.minimum((1 - mean) / rest, mean / x)
    # Rounding may add to it near 0 and 1.
    green = xp.clip_by_value((x * (1 - mean) - excess(x)) / x / rest, 0, most)
    right, wrong = a / (a + b), b / (a + b)
    inner = right * (b / (1 + a + b)) * xp.reduce_sum(weights * green, axis=[0, 1])
    gaps = right * (1 - mean) + mean * wrong - 2 * inner
    return xp.maximum(gaps, xp.abs(right - mean))  # As Jensen says.


def _mean(
    counts: xp.Tensor,
    score_sums: xp.Tensor,
    right: xp.Tensor,
    valid: xp.Tensor,
    prior_alpha: xp.Tensor,
) -> xp.Tensor:
    """Returns the posterior mean of the ECE given sums [1, bins].

    The mass of a bin and the accuracy within it are independent.
    """
    counts, score_sums, right = counts[0], score_sums[0], right[0]
    b, a = _concentrations(counts, right, prior_alpha)
    share = (a + b) / xp.reduce_sum(a + b)
    mean = xp.reduce_sum(share * _expected_gaps(a, b, counts, score_sums))
    return xp.where(valid, mean, xp.constant(float("nan"), mean.dtype))


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
    concentrations = _concentrations(counts, right, prior_alpha)
    logs = _log_gammas(xp.concat(concentrations, axis=0), num_samples, gamma_seed)
    log_wrong, log_right = xp.split(logs, 2, axis=1)
    log_both = xp.reduce_logsumexp(xp.stack([log_wrong, log_right]), axis=0)
    shares = xp.nn.softmax(log_both, axis=1)
    accuracies = xp.sigmoid(log_right - log_wrong)
    means = _bin_means(counts, score_sums, num_samples, mean_seed)
    samples = xp.reduce_sum(shares * xp.abs(accuracies - means), axis=1)
    return xp.where(valid, samples, xp.constant(float("nan"), samples.dtype))


@functools.lru_cache(maxsize=64)
def _compiled(num_samples: int | None) -> Callable[..., xp.Tensor]:
    """Returns `_draw`, or `_mean` for None, as a graph: in eager execution it is one
    call, not hundreds.
    """
    return xp.function(_plain(num_samples), autograph=False)


def _plain(num_samples: int | None) -> Callable[..., xp.Tensor]:
    return _mean if num_samples is None else functools.partial(_draw, num_samples)


def _call(
    statistics: BinStatistics,
    valid: xp.Tensor,
    prior_alpha: float,
    num_samples: int | None,
    *seed: xp.Tensor,
) -> xp.Tensor:
    of = _compiled if xp.executing_eagerly() else _plain
    return of(num_samples)(
        statistics.counts,
        statistics.score_sums,
        statistics.outcome_sums,
        valid,
        xp.constant(prior_alpha, statistics.counts.dtype),
        *seed,
    )


@xp.autograph.experimental.do_not_convert
def mean(statistics: BinStatistics, valid: xp.Tensor, prior_alpha: float) -> xp.Tensor:
    """Returns the posterior mean given the statistics of one group.

    It is NaN where the statistics are not valid.
    """
    return _call(statistics, valid, prior_alpha, None)


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
    seed = stateless_seed(seed)
    if IS_TENSORFLOW:
        return _call(statistics, valid, prior_alpha, num_samples, seed)
    arrays = np_binning.BinStatistics(
        to_numpy(statistics.edges),
        to_numpy(statistics.counts),
        to_numpy(statistics.score_sums),
        to_numpy(statistics.outcome_sums),
    )
    rng = np.random.default_rng(seed)
    samples = declared.posterior(arrays, prior_alpha, num_samples, rng)
    samples = xp.constant(samples, statistics.counts.dtype)
    return xp.where(valid, samples, xp.constant(float("nan"), samples.dtype))
