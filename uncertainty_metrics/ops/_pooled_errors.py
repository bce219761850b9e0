"""Calibration errors without bins: from sums of residuals along the scores.

Exact functions sort the scores, and streaming metrics have them sorted in the cells of
a sketch; the arithmetic is the same. Shapes are static: places without weight change
nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy.calibration.without_bins._pooled_errors import (
    CUBIC,
    FEW_SURPRISES,
    LOG_FACTORIALS,
    SURPRISES,
)
from uncertainty_metrics.ops import _binning, _inputs, _sums, numpy_dtype, xp

# In the search for a bandwidth the cosine series of the residuals has `_TERMS` terms,
# on as many intervals. With a bandwidth of `_BROAD` or more, smoothing leaves nothing
# of the terms after the first `_FEW`.
_TERMS, _FEW, _BROAD = 2**11, 2**9, 2.0**-8
# The search has `_ROUNDS` rounds. Each tries `_POINTS` bandwidths at once, and the next
# searches between two neighbouring bandwidths.
_ROUNDS, _POINTS = 3, 8
# The number of intervals in a bandwidth that is given.
_SPAN = 16


class Residuals(NamedTuple):
    """Outcomes less scores, summed over the examples of each score, as shares of the
    weight of all examples.

    Attributes:
      scores: float [J], ascending where there is weight, else any number in [0, 1].
      shares: float [J], the residual of the examples with each score.
      running: float [J], the sum of the residuals up to each score.
    """

    scores: xp.Tensor
    shares: xp.Tensor
    running: xp.Tensor


def _residuals(scores: xp.Tensor, masses: xp.Tensor) -> Residuals:
    """Returns the residuals of integers [3, J]: weights, and scores and outcomes times
    weights.
    """
    # Integers have one sum in any order, and neither drift nor cancel.
    weights, scored, hits = xp.unstack(masses)
    total = xp.cast(xp.maximum(xp.reduce_sum(weights), 1), scores.dtype)
    residuals = hits - scored
    shares, running = (
        xp.cast(part, scores.dtype) / total
        for part in (residuals, xp.cumsum(residuals))
    )
    return Residuals(scores, shares, running)


def of_sums(sums: _sums.Sums, dtype: xp.DType) -> Residuals:
    """Returns the residuals of the cells of one sketch."""
    totals = _sums.totals(sums, dtype)
    scores = xp.minimum(xp.math.divide_no_nan(totals[1], totals[0]), 1)
    return _residuals(scores, _sums.integer_masses(totals, 1))


def of_examples(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> tuple[Residuals, xp.Tensor]:
    """Returns the residuals of the one group of scores of `spec`, and whether the data
    are valid.
    """
    scored = _binning.score(examples, spec)
    # Residuals are sums of integers and have no gradient; that of the places of the
    # scores alone would not be the gradient of the error.
    scores = xp.stop_gradient(xp.cast(scored.scores, examples.dtype))
    weights = xp.ones_like(scores)
    if scored.weights is not None:
        weights = xp.cast(scored.weights, examples.dtype)
    valid = scored.valid & xp.reduce_any(weights > 0)
    order = xp.argsort(scores)
    scores, weights = xp.gather(scores, order), xp.gather(weights, order)
    outcomes = xp.cast(xp.gather(scored.outcomes, order), weights.dtype)
    masses = _sums.integer_masses(
        xp.stack([weights, weights * scores, weights * outcomes], axis=1), 1
    )
    # Equal scores share one place; so the last places may be empty.
    place = xp.cumsum(xp.cast(_binning.starts(scores), xp.int32)) - 1
    masses = xp.math.unsorted_segment_sum(masses, place, xp.size(scores))
    distinct = xp.math.unsorted_segment_max(scores, place, xp.size(scores))
    return _residuals(xp.clip_by_value(distinct, 0, 1), xp.transpose(masses)), valid


def kolmogorov_smirnov(residuals: Residuals) -> xp.Tensor:
    """Returns the largest absolute value of the sum of residuals up to a score."""
    return xp.reduce_max(xp.abs(residuals.running))


def kuiper(residuals: Residuals) -> xp.Tensor:
    """Returns the range of the cumulative sums of residuals, the initial 0 included."""
    sums = residuals.running
    return xp.maximum(xp.reduce_max(sums), 0) - xp.minimum(xp.reduce_min(sums), 0)


def averaged_two_bin(residuals: Residuals) -> xp.Tensor:
    """Returns the squared errors of two bins, averaged over the edge between them."""
    scores, shares, running = residuals
    total = xp.reduce_sum(running[-1:])
    # By parts: the sum of the squares is total^2 with the edge at 0 or 1, and changes
    # only where the edge passes a score.
    jumps = 2 * shares * (running + (running - shares) - total)
    return xp.maximum(total * total - xp.reduce_sum(scores * jumps), 0)


def smooth_error(residuals: Residuals, bandwidth: float | None) -> xp.Tensor:
    """Returns the smooth calibration error with a bandwidth, or for None with the
    bandwidth that equals the error.

    That bandwidth is sought from 2^-11 on. Where the error with 2^-11 is smaller than
    2^-11, it is returned, and the true value lies between the two.
    """
    if bandwidth is not None:
        size = max(_FEW, 2 ** math.ceil(math.log2(_SPAN / bandwidth)))
        terms = _series(residuals, size)
        return _norms(terms, xp.constant([bandwidth], terms.dtype))[0]
    terms = _series(residuals, _TERMS)
    value, exists = _fixed_point(terms[: _FEW + 1], _BROAD)
    return xp.cond(exists, lambda: value, lambda: _fixed_point(terms, 1 / _TERMS)[0])


def _series(residuals: Residuals, size: int) -> xp.Tensor:
    """Returns the sums of residual times cos(pi k score), k = 0, ..., size."""
    place = residuals.scores * size
    left = xp.minimum(xp.cast(place, xp.int32), size - 1)
    offset = place - xp.cast(left, place.dtype)
    moments = [residuals.shares]
    for _ in range(3):
        moments.append(moments[-1] * offset)
    places = left + xp.range(4)[:, None] * size
    # TensorFlow sums rows far slower than single values.
    sums = xp.math.unsorted_segment_sum(
        xp.concat(moments, axis=0), xp.reshape(places, [-1]), 4 * size
    )
    # Each residual is split over the four nodes around it, with the same moments up to
    # the third. The cosines reflect a node outside of [0, 1] by themselves. The product
    # is written as a sum, as a GPU would round a product of matrices.
    splits = xp.add_n(
        [
            xp.constant(column[:, None], place.dtype) * moment
            for column, moment in zip(
                CUBIC.T, xp.unstack(xp.reshape(sums, [4, size])), strict=True
            )
        ]
    )
    nodes = xp.add_n(
        [xp.pad(split, [[i, size - i]]) for i, split in enumerate(xp.unstack(splits))]
    )
    nodes = xp.roll(nodes, -1, axis=0)  # The first node is the one before 0.
    return xp.math.real(xp.signal.rfft(nodes))


def _norms(terms: xp.Tensor, bandwidths: xp.Tensor) -> xp.Tensor:
    """Returns the integrals over [0, 1] of the absolute value of the smoothed
    residuals, one for each of the bandwidths [S].
    """
    size = terms.shape[0] - 1
    frequencies = xp.constant(np.pi * np.arange(size + 1), terms.dtype)
    exponents = frequencies * bandwidths[:, None]
    series = terms * xp.exp(exponents * exponents / -2)
    # Values on even nodes of a period, half of which is [0, 1]; times 1 / (2 size).
    values = xp.signal.irfft(xp.complex(series, xp.zeros_like(series)))[:, : size + 1]
    sizes = xp.abs(values)
    both = sizes[:, 1:] + sizes[:, :-1]
    product = values[:, 1:] * values[:, :-1]
    # The trapezoidal rule is right where the sign stays. Where it changes, the absolute
    # value of the straight line has a kink, and Euler and Maclaurin's formula a jump.
    kinks = both / 3 + 2 * product / both
    return xp.reduce_sum(both + xp.where(product < 0, kinks, 0), axis=1)


def _fixed_point(terms: xp.Tensor, least: float) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the bandwidth >= `least` that equals its error, and True; or, where the
    error with `least` is smaller than `least`, that error and False.
    """
    dtype = terms.dtype
    tiny = float(np.finfo(numpy_dtype(dtype)).tiny)
    steps = xp.constant(np.linspace(0, 1, _POINTS), dtype)
    low, high = xp.constant(math.log(least), dtype), xp.zeros([], dtype)
    error: Any = None
    for _ in range(_ROUNDS):  # The error falls as the bandwidth grows.
        logs = low + steps * (high - low)
        errors = _norms(terms, xp.exp(logs))
        excess = xp.math.log(xp.maximum(errors, tiny)) - logs
        if error is None:
            error, exists = errors[0], excess[0] > 0
        place = xp.reduce_sum(xp.cast(excess > 0, xp.int32)) - 1
        place = xp.clip_by_value(place, 0, _POINTS - 2)
        low, high = xp.gather(logs, place), xp.gather(logs, place + 1)
    above, below = xp.gather(excess, place), xp.gather(excess, place + 1)
    share = xp.clip_by_value(xp.math.divide_no_nan(above, above - below), 0, 1)
    return xp.where(exists, xp.exp(low + share * (high - low)), error), exists


def spiegelhalter(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns z, its two-sided p-value, and whether both are defined."""
    scored = _binning.score(examples, spec)
    scores = xp.cast(scored.scores, examples.dtype)
    slopes = 1 - 2 * scores
    squares = slopes * slopes * scores * (1 - scores)
    columns = [
        (xp.cast(scored.outcomes, scores.dtype) - scores) * slopes,
        squares,
        slopes * slopes * squares,
    ]
    if scored.weights is not None:
        weights = xp.cast(scored.weights, scores.dtype)
        columns = [weights * column for column in columns]
    hi, lo = _sums.total_pair(xp.stack(columns, axis=1))
    total, variance, third = xp.unstack(
        xp.cast(hi, scores.dtype) + xp.cast(lo, scores.dtype)
    )
    known = variance > 0
    root = xp.sqrt(xp.where(known, variance, xp.ones_like(variance)))
    z = total / root
    p_value = xp.math.erfc(xp.abs(z) / math.sqrt(2))
    # Few surprises are expected: their number is Poisson. See the NumPy half.
    tiny = float(np.finfo(numpy_dtype(scores)).tiny)
    ratio = variance / xp.maximum(third, tiny)
    few = (third > tiny) & (ratio * ratio * variance < FEW_SURPRISES)
    ratio = xp.where(few, ratio, xp.ones_like(ratio))
    expected = xp.clip_by_value(ratio * ratio * variance, tiny, FEW_SURPRISES)
    number = xp.maximum(expected + z * xp.sqrt(expected), 0)
    surprises = xp.constant(SURPRISES, scores.dtype)
    factorials = xp.constant(LOG_FACTORIALS, scores.dtype)
    law = xp.exp(surprises * xp.math.log(expected) - expected - factorials)
    beyond = surprises - number
    upper = xp.reduce_sum(law * xp.clip_by_value(0.5 + beyond, 0, 1))
    lower = xp.reduce_sum(law * xp.clip_by_value(0.5 - beyond, 0, 1))
    exact = xp.maximum(p_value, 2 * xp.minimum(upper, lower))
    return z, xp.where(few, exact, p_value), scored.valid & known
