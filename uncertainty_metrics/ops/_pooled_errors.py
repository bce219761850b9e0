"""Calibration beyond bins on tensors: sums of residuals along the scores.

Exact functions sort the scores, streaming metrics read the cells of a sketch; the
arithmetic is the same. Shapes are static: what has no weight changes nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy.calibration._pooled_errors import CUBIC
from uncertainty_metrics.ops import _binning, _inputs, _sums, numpy_dtype, xp

# To find a bandwidth the cosine series of the residuals has so many terms, on as many
# intervals; smoothed with one from `_BROAD` on it has no more than the `_FEW` first.
_TERMS, _FEW, _BROAD = 2**11, 2**9, 2.0**-8
# It is sought in rounds: between the neighbours among so many, all at once.
_ROUNDS, _POINTS = 3, 8
# A bandwidth that is given spans so many intervals.
_SPAN = 16


class Residuals(NamedTuple):
    """Outcome less score along the scores of a group, as shares of all weight.

    Attributes:
      scores: float [J], ascending where there is weight, else anything in [0, 1].
      shares: float [J], the residual of all that have the score.
      running: float [J], the sum of the residuals up to each score.
    """

    scores: xp.Tensor
    shares: xp.Tensor
    running: xp.Tensor


def _residuals(scores: xp.Tensor, masses: xp.Tensor) -> Residuals:
    """Makes them of integers [3, J]: weights, weighted scores, weighted outcomes."""
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
    """Returns the residuals of the one group of `spec`, and whether data were valid."""
    scored = _binning.score(examples, spec)
    scores = xp.cast(scored.scores, examples.dtype)
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
    # Equal scores are one, at the place of the first; the last places are empty.
    run = xp.cumsum(xp.cast(_binning.starts(scores), xp.int32)) - 1
    masses = xp.math.unsorted_segment_sum(masses, run, xp.size(scores))
    held = xp.math.unsorted_segment_max(scores, run, xp.size(scores))
    return _residuals(xp.clip_by_value(held, 0, 1), xp.transpose(masses)), valid


def kolmogorov_smirnov(residuals: Residuals) -> xp.Tensor:
    """Returns the largest absolute value of the sum of residuals up to a score."""
    return xp.reduce_max(xp.abs(residuals.running))


def kuiper(residuals: Residuals) -> xp.Tensor:
    """Returns the range of the sum of residuals up to a score, 0 included."""
    sums = residuals.running
    return xp.maximum(xp.reduce_max(sums), 0) - xp.minimum(xp.reduce_min(sums), 0)


def averaged_two_bin(residuals: Residuals) -> xp.Tensor:
    """Returns the squared errors of two bins, averaged over where they are split."""
    scores, shares, running = residuals
    total = xp.reduce_sum(running[-1:])
    # By parts: the squares, total^2 at 0 and 1, jump at the scores alone.
    jumps = 2 * shares * (running + (running - shares) - total)
    return xp.maximum(total * total - xp.reduce_sum(scores * jumps), 0)


def smooth_error(residuals: Residuals, bandwidth: float | None) -> xp.Tensor:
    """Returns the smooth calibration error, of its own bandwidth if that is None.

    Its own is sought from 2^-11 on; where the error of that is smaller, it is what is
    returned, and the true one lies between the two.
    """
    if bandwidth is not None:
        size = max(_FEW, 2 ** math.ceil(math.log2(_SPAN / bandwidth)))
        terms = _series(residuals, size)
        return _norms(terms, xp.constant([bandwidth], terms.dtype))[0]
    terms = _series(residuals, _TERMS)
    value, found = _fixed_point(terms[: _FEW + 1], _BROAD)
    return xp.cond(found, lambda: value, lambda: _fixed_point(terms, 1 / _TERMS)[0])


def _series(residuals: Residuals, size: int) -> xp.Tensor:
    """Returns the sums of residual times cos(pi k score), k = 0, ..., size."""
    place = residuals.scores * size
    left = xp.minimum(xp.cast(place, xp.int32), size - 1)
    offset = place - xp.cast(left, place.dtype)
    moments = [residuals.shares]
    for _ in range(3):
        moments.append(moments[-1] * offset)
    places = left + xp.range(4)[:, None] * size
    sums = xp.math.unsorted_segment_sum(  # Rows would take TensorFlow far longer.
        xp.concat(moments, axis=0), xp.reshape(places, [-1]), 4 * size
    )
    # Each is split over the four nodes around it so that its moments up to the third
    # stay; what leaves [0, 1] is reflected by the cosines themselves. No product of
    # matrices, which a GPU would round.
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
    nodes = xp.roll(nodes, -1, axis=0)  # The first is that before 0.
    return xp.math.real(xp.signal.rfft(nodes))


def _norms(terms: xp.Tensor, bandwidths: xp.Tensor) -> xp.Tensor:
    """Returns the integrals [S] of what is smoothed, in absolute value."""
    size = terms.shape[0] - 1
    frequencies = xp.constant(np.pi * np.arange(size + 1), terms.dtype)
    exponents = frequencies * bandwidths[:, None]
    series = terms * xp.exp(exponents * exponents / -2)
    # On even nodes of a period, of which half is [0, 1]; times 1 / (2 size).
    values = xp.signal.irfft(xp.complex(series, xp.zeros_like(series)))[:, : size + 1]
    sizes = xp.abs(values)
    both = sizes[:, 1:] + sizes[:, :-1]
    product = values[:, 1:] * values[:, :-1]
    # Straight lines are right but for where the sign changes: there they have a kink,
    # and Euler and Maclaurin's formula a jump.
    kinks = both / 3 + 2 * product / both
    return xp.reduce_sum(both + xp.where(product < 0, kinks, 0), axis=1)


def _fixed_point(terms: xp.Tensor, least: float) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the bandwidth that is its error, and True; or the error of `least` and
    False where that is smaller.
    """
    dtype = terms.dtype
    tiny = float(np.finfo(numpy_dtype(dtype)).tiny)
    steps = xp.constant(np.linspace(0, 1, _POINTS), dtype)
    low, high = xp.constant(math.log(least), dtype), xp.zeros([], dtype)
    first: Any = None
    for _ in range(_ROUNDS):  # The error falls as the bandwidth grows.
        logs = low + steps * (high - low)
        errors = _norms(terms, xp.exp(logs))
        excess = xp.math.log(xp.maximum(errors, tiny)) - logs
        if first is None:
            first, found = errors[0], excess[0] > 0
        place = xp.reduce_sum(xp.cast(excess > 0, xp.int32)) - 1
        place = xp.clip_by_value(place, 0, _POINTS - 2)
        low, high = xp.gather(logs, place), xp.gather(logs, place + 1)
    above, below = xp.gather(excess, place), xp.gather(excess, place + 1)
    share = xp.clip_by_value(xp.math.divide_no_nan(above, above - below), 0, 1)
    return xp.where(found, xp.exp(low + share * (high - low)), first), found


def spiegelhalter(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns z, its two-sided p-value, and whether there are both."""
    scored = _binning.score(examples, spec)
    scores = xp.cast(scored.scores, examples.dtype)
    slopes = 1 - 2 * scores
    columns = [
        (xp.cast(scored.outcomes, scores.dtype) - scores) * slopes,
        slopes * slopes * scores * (1 - scores),
    ]
    if scored.weights is not None:
        weights = xp.cast(scored.weights, scores.dtype)
        columns = [weights * column for column in columns]
    hi, lo = _sums.total_pair(xp.stack(columns, axis=1))
    total, variance = xp.unstack(xp.cast(hi, scores.dtype) + xp.cast(lo, scores.dtype))
    known = variance > 0
    root = xp.sqrt(xp.where(known, variance, xp.ones_like(variance)))
    z = total / root
    p_value = xp.math.erfc(xp.abs(z) / math.sqrt(2))
    return z, p_value, scored.valid & known
