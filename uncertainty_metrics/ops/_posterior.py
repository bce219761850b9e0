"""The mean of a calibration error under its posterior, by quadrature."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from uncertainty_metrics.numpy.calibration.bins import _binning as np_binning
from uncertainty_metrics.numpy.calibration.bins import (
    bayesian_calibration as np_bayesian,
)
from uncertainty_metrics.ops import _execution, numpy_dtype, xp
from uncertainty_metrics.ops._polynomials import gauss_legendre

if TYPE_CHECKING:
    from uncertainty_metrics.ops._binning import BinStatistics

# An integral has three parts of this many nodes each, and converges geometrically.
_NODES = 24
# A density is taken for 0 where it is below exp(-20) of its maximum,
_LOWEST = 20.0
# and a normal density beyond this many standard deviations.
_DEVIATIONS = 6.0


def concentrations(
    counts: xp.Tensor, right: xp.Tensor, prior_alpha: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the concentrations of the wrong and of the right decisions of each bin,
    [bins].
    """
    limits = np.finfo(numpy_dtype(counts))
    wrong = xp.maximum(counts - right, 0)  # Rounding of weights may go below 0.
    smallest = np_bayesian.smallest_concentration(limits.dtype)
    largest = float(limits.max) * 2.0**-64  # So that sums of concentrations are finite.
    return tuple(
        xp.clip_by_value(prior_alpha + outcomes, smallest, largest)
        for outcomes in (wrong, right)
    )


def mean_scores(
    counts: xp.Tensor, score_sums: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the distribution of the mean score of each bin: location, scale and
    bounds of a truncated normal, [bins].
    """
    dtype = counts.dtype
    num_bins = counts.shape[0]
    edges = np_binning.even_edges(num_bins)
    low, high = xp.constant(edges[:-1], dtype), xp.constant(edges[1:], dtype)
    centre = xp.constant((edges[:-1] + edges[1:]) / 2, dtype)
    location = (centre + score_sums) / (1 + counts)
    location = xp.clip_by_value(location, low, high)  # Rounding may leave the bin.
    deviation = xp.constant(1 / (num_bins * np.sqrt(12)), dtype)
    return location, deviation / xp.sqrt(1 + counts), low, high


def _normal(z: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the density of a standard normal, and its integral from 0 to z."""
    return (
        xp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi),
        0.5 * xp.math.erf(z * math.sqrt(0.5)),
    )


def _angle(sine: xp.Tensor, cosine: xp.Tensor) -> xp.Tensor:
    """Returns the angle of the point (sqrt(cosine), sqrt(sine)), of any length."""
    return xp.math.atan2(xp.sqrt(sine), xp.sqrt(cosine))


def _beta_nodes(
    a: xp.Tensor, b: xp.Tensor, *splits: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns x, 1 - x and weights, [nodes, parts, bins]: a rule for means under
    Beta(a + 1, b + 1), for a, b > 0, of functions that are smooth between the splits.
    """
    # Let x be the squared sine of an angle. The angle has the log-density A log(sin) +
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
    lowest = -1 + float(np.finfo(numpy_dtype(a)).eps)
    logs = sines * xp.math.log1p(xp.maximum(less + slope * sine, lowest))
    logs = logs + cosines * xp.math.log1p(xp.maximum(less - sine / slope, lowest))
    masses = xp.exp(logs - xp.reduce_max(logs, axis=[0, 1])) * weights * width
    masses = masses / xp.reduce_sum(masses, axis=[0, 1])
    angle = mode + shift
    tiny = np_bayesian.smallest_concentration(numpy_dtype(a))
    x, rest = (
        xp.maximum(xp.square(part), tiny) for part in (xp.sin(angle), xp.cos(angle))
    )
    return x, rest, masses


def _expected_gaps(
    a: xp.Tensor, b: xp.Tensor, counts: xp.Tensor, score_sums: xp.Tensor
) -> xp.Tensor:
    """Returns E|A - m| of A from Beta(a, b) and the mean score m of each bin, [bins].

    It is E[A (1 - m) + m (1 - A)] - 2 E G(A), where G(x), the mean over m of
    min(x (1 - m), m (1 - x)), has a closed form. G vanishes at 0 and 1. So G times the
    density of Beta(a, b) is G / (x (1 - x)) times the density of Beta(a + 1, b + 1),
    which has no poles.
    """
    location, scale, low, high = mean_scores(counts, score_sums)
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

    # G bends where the mean score may be.
    bends = [
        xp.clip_by_value(location + side * _DEVIATIONS * scale, low, high)
        for side in (-1, 1)
    ]
    x, rest, weights = _beta_nodes(a, b, *bends)
    most = xp.minimum((1 - mean) / rest, mean / x)
    # Near 0 and 1 rounding may leave the bounds of G / (x (1 - x)).
    green = xp.clip_by_value((x * (1 - mean) - excess(x)) / x / rest, 0, most)
    right, wrong = a / (a + b), b / (a + b)
    inner = right * (b / (1 + a + b)) * xp.reduce_sum(weights * green, axis=[0, 1])
    gaps = right * (1 - mean) + mean * wrong - 2 * inner
    return xp.maximum(gaps, xp.abs(right - mean))  # Jensen's inequality.


def _mean(
    counts: xp.Tensor,
    score_sums: xp.Tensor,
    right: xp.Tensor,
    valid: xp.Tensor,
    prior_alpha: xp.Tensor,
) -> xp.Tensor:
    """Returns the posterior mean of the ECE given sums [1, bins].

    The mass of a bin and the accuracy within the bin are independent.
    """
    counts, score_sums, right = counts[0], score_sums[0], right[0]
    b, a = concentrations(counts, right, prior_alpha)
    share = (a + b) / xp.reduce_sum(a + b)
    mean = xp.reduce_sum(share * _expected_gaps(a, b, counts, score_sums))
    return xp.where(valid, mean, xp.constant(float("nan"), mean.dtype))


# In eager execution this is one call, not hundreds.
_compiled_mean = _execution.compiled(_mean)


@_execution.not_converted
def mean(statistics: BinStatistics, valid: xp.Tensor, prior_alpha: float) -> xp.Tensor:
    """Returns the posterior mean given the statistics of one group.

    It is NaN where the statistics are not valid.
    """
    compute = _compiled_mean if _execution.is_eager() else _mean
    return compute(
        statistics.counts,
        statistics.score_sums,
        statistics.outcome_sums,
        valid,
        xp.constant(prior_alpha, statistics.counts.dtype),
    )
