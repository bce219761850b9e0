"""Sums that do not drift: what the metrics accumulate, without float64.

A float32 sum of n terms loses n * 2^-24 of its value at worst, and a float32 count
stops at 2^24. Here a sum is an exact int64 where every example counts once, and a pair
of float32 (the value and what its rounding lost) where examples have weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

# Scores are added as integers in units of 2^-31: exact for float32 scores from 2^-8,
# and within 2^-32 of any other. An int64 holds the sum of a batch, but not that of
# many, so there are two: one in units of 2^-9, and the rest, which grows by less than
# 2^22 a batch.
SCORE_BITS = 31
WHOLE_BITS = 9
# A cell with more examples than this has sums that may overflow.
MAX_COUNT = 2**53


class Sums(NamedTuple):
    """Weight, scores and outcomes of each cell: `units + hi + lo`.

    Without scores there are two rows, or others that the metric says.

    Attributes:
      units: int64 [4, cells], of unit weights: their number, the scores in units of
        2^-9, the rest of the scores in units of 2^-31, the outcomes.
      hi: float [3, cells], of other weights.
      lo: float [3, cells], what the rounding of `hi` lost.
    """

    units: tf.Tensor | None
    hi: tf.Tensor | None
    lo: tf.Tensor | None


def two_sum(a: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the rounded sum and its exact rounding error (Knuth, 1969)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def pair_steps(
    hi: tf.Tensor, lo: tf.Tensor, more_hi: tf.Tensor, more_lo: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what to add to `hi` and to `lo`, so that they stay the rounded sum and
    its rounding error: any number of additions loses 2^-48 of the sum each, not 2^-24.
    """
    total, lost = two_sum(hi, more_hi)
    head, tail = two_sum(total, lo + (lost + more_lo))
    step = head - hi
    # The step was rounded, so `hi` may miss `head` by a bit.
    missed = head - (hi + step)
    # An infinite sum has lost nothing.
    finite = tf.math.is_finite(head)
    return (
        tf.where(finite, step, more_hi),
        tf.where(finite, missed + tail - lo, -lo),
    )


def power_of_two(exponent: tf.Tensor) -> tf.Tensor:
    """Returns the float32 2^exponent exactly, for int32 exponents in [-126, 127]."""
    return tf.bitcast((exponent + 127) * 2**23, tf.float32)


def exponent_above(values: tf.Tensor | int, axis: int | None = None) -> tf.Tensor:
    """Returns an int32 e in [-126, 126] with max(values) < 2^e, for values >= 0; the
    limits, beyond which the bound is not kept, leave 2^e and 2^-e normal float32.
    """
    largest = tf.reduce_max(tf.cast(values, tf.float32), axis=axis)
    return tf.clip_by_value(tf.bitcast(largest, tf.int32) // 2**23 - 126, -126, 126)


def integer_masses(weights: tf.Tensor, num_bins: tf.Tensor | int) -> tf.Tensor:
    """Returns weights as int64 multiples of one power of two, to add without rounding.

    The twin of `numpy._binning.integer_masses`; says why there. `num_bins` may be a
    tensor, of which the largest counts.
    """
    return integers(weights, num_bins)[0]


def integers(
    weights: tf.Tensor, num_bins: tf.Tensor | int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `integer_masses`, and the power of two that they are multiples of."""
    size = exponent_above(tf.size(weights)) + exponent_above(2 * num_bins)
    bits = tf.minimum(61 - size, 52)
    exponent = exponent_above(weights)
    dtype = weights.dtype
    scaled = weights * tf.cast(power_of_two(-exponent), dtype)
    masses = tf.cast(tf.round(scaled * tf.cast(power_of_two(bits), dtype)), tf.int64)
    unit = tf.cast(power_of_two(exponent), dtype) * tf.cast(power_of_two(-bits), dtype)
    return masses, unit


def _pair(
    values: tf.Tensor, add: Callable[[tf.Tensor], tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `add(values)`, the sums [columns, ...] of finite float32 [n, columns]."""
    # Relative to a power of two above its column, each value is an integer multiple of
    # 2^-24, which adds exactly, and a remainder so small that its float32 sum is exact
    # enough.
    exponent = exponent_above(tf.abs(values), axis=0)
    values *= power_of_two(-exponent)
    whole = tf.round(values * 2.0**24)
    remainder = values - whole * 2.0**-24
    hi, lo = split(add(tf.cast(whole, tf.int64)))
    hi, lo = two_sum(hi * 2.0**-24, lo * 2.0**-24 + add(remainder))
    scale = tf.reshape(power_of_two(exponent), [-1] + [1] * (hi.shape.rank - 1))
    return hi * scale, lo * scale


def segment_pair(
    values: tf.Tensor, cell: tf.Tensor, num_cells: int | tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns segment sums of float [n, columns] as pairs [columns, cells]."""

    def add(column_values):
        return tf.transpose(
            tf.math.unsorted_segment_sum(column_values, cell, num_cells)
        )

    if values.dtype == tf.float64:
        hi = add(values)
        return hi, tf.zeros_like(hi)
    return _pair(values, add)


def total_pair(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the sums of float [n, columns] over n as float32 pairs [columns].

    Infinite values make an infinite sum; there must be no NaN.
    """
    finite = tf.math.is_finite(values)
    plain = tf.reduce_sum(tf.where(finite, tf.zeros_like(values), values), axis=0)
    values = tf.where(finite, values, tf.zeros_like(values))
    if values.dtype == tf.float64:
        hi, lo = split(tf.reduce_sum(values, axis=0))
        lo = tf.where(tf.math.is_finite(hi), lo, tf.zeros_like(lo))
    else:
        hi, lo = _pair(values, lambda columns: tf.reduce_sum(columns, axis=0))
    return hi + tf.cast(plain, tf.float32), lo


def mean(values: tf.Tensor, weights: tf.Tensor | None) -> tf.Tensor:
    """Returns the weighted mean of values [n] whose float32 sum would drift."""
    if weights is None:
        weights = tf.ones_like(values)

    @tf.custom_gradient
    def exact(values, weights):
        weighted = tf.math.multiply_no_nan(values, weights)
        if values.dtype == tf.float64:
            total, weight = tf.reduce_sum(weighted), tf.reduce_sum(weights)
        else:
            hi, lo = total_pair(tf.stack([weighted, weights], axis=1))
            total, weight = tf.unstack(hi + lo)
        average = total / weight

        def gradient(upstream):
            share = upstream / weight
            return share * weights, share * (values - average)

        return average, gradient

    return exact(values, weights)


def split(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns float32 hi and lo whose sum is the int64 or float64, to 48 bits."""
    hi = tf.cast(values, tf.float32)
    return hi, tf.cast(values - tf.cast(hi, values.dtype), tf.float32)


def _limbs(units: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns int64 multiples of 2^-31 as multiples of 2^-9, and the rest."""
    shift = tf.constant(SCORE_BITS - WHOLE_BITS, tf.int64)
    whole = tf.bitwise.right_shift(units, shift)
    return whole, units - tf.bitwise.left_shift(whole, shift)


def settled(sums: Sums) -> Sums:
    """Moves whole numbers from the pair to the units, where they add exactly.

    Most weights are whole, so that counts stay exact; what is left is below 1.
    """
    hi, lo = sums.hi, sums.lo
    if hi is None:
        return sums
    if hi.dtype == tf.float64:
        hi, lo = split(hi)
    # Larger ones could overflow the units after very many batches.
    small = tf.abs(hi) < 2.0**31
    first, second = (
        tf.where(small, tf.round(values), tf.zeros_like(values)) for values in (hi, lo)
    )
    hi, lo = two_sum(hi - first, lo - second)
    lo = tf.where(tf.math.is_finite(hi), lo, tf.zeros_like(lo))
    units = tf.cast(first, tf.int64) + tf.cast(second, tf.int64)
    if hi.shape[0] == 3:
        mass, scores, hits = tf.unstack(units)
        scores = tf.bitwise.left_shift(scores, tf.constant(WHOLE_BITS, tf.int64))
        units = tf.stack([mass, scores, tf.zeros_like(scores), hits])
    if sums.units is not None:
        units += sums.units
    return Sums(units, hi, lo)


def append_cell(cells: tf.Tensor | None, *column: tf.Tensor) -> tf.Tensor:
    """Returns [rows, cells] with one more cell, of a scalar for each row."""
    return tf.concat([cells, tf.stack(column)[:, None]], axis=1)


def cell_sums(
    cell: tf.Tensor,
    scores: tf.Tensor,
    weights: tf.Tensor | None,
    hit_cell: tf.Tensor,
    hit_weights: tf.Tensor | None,
    num_cells: int | tf.Tensor,
) -> Sums:
    """Adds up a batch.

    Args:
      cell: int32 [n], the cell of each score; -1 drops it.
      scores: float32 or float64 [n], in [0, 1].
      weights: of the type of the scores [n], or None for ones.
      hit_cell: int32 [h], the cells of the scores whose outcome is 1; -1 drops one.
      hit_weights: weights [h] of those, None where `weights` is None.
      num_cells: number of cells.
    """

    def add(values, segment):
        return tf.math.unsorted_segment_sum(values, segment, num_cells)

    if scores.dtype == tf.float64:
        weights = tf.ones_like(scores) if weights is None else weights
        if hit_weights is None:
            hit_weights = tf.ones(tf.shape(hit_cell), tf.float64)
        hi = tf.stack(
            [
                add(weights, cell),
                add(weights * scores, cell),
                add(hit_weights, hit_cell),
            ]
        )
        return Sums(None, hi, tf.zeros_like(hi))
    if weights is None or hit_weights is None:  # Neither is given.
        units = tf.cast(tf.round(scores * 2.0**SCORE_BITS), tf.int64)
        whole, rest = _limbs(add(units, cell))
        counts, hits = (
            tf.cast(add(tf.ones(tf.shape(of), tf.int32), of), tf.int64)
            for of in (cell, hit_cell)
        )
        return Sums(tf.stack([counts, whole, rest, hits]), None, None)
    mass = segment_pair(tf.stack([weights, weights * scores], axis=1), cell, num_cells)
    hits = segment_pair(hit_weights[:, None], hit_cell, num_cells)
    hi, lo = (tf.concat(pair, axis=0) for pair in zip(mass, hits, strict=True))
    return Sums(None, hi, lo)


def outcome_sums(
    cell: tf.Tensor, outcomes: tf.Tensor, weights: tf.Tensor | None, num_cells: int
) -> Sums:
    """Adds up a batch without its scores.

    Args:
      cell: int32 [n], the cell of each score.
      outcomes: boolean [n].
      weights: float32 [n], or None for ones.
      num_cells: number of cells.
    """
    if weights is None:
        ones = tf.ones(tf.shape(cell), tf.int32)
        rows = [ones, tf.cast(outcomes, tf.int32)]
        counts = [tf.math.unsorted_segment_sum(row, cell, num_cells) for row in rows]
        return Sums(tf.cast(tf.stack(counts), tf.int64), None, None)
    hits = tf.where(outcomes, weights, tf.zeros_like(weights))
    pair = segment_pair(tf.stack([weights, hits], axis=1), cell, num_cells)
    return Sums(None, *pair)


def of_cells(sums: Sums, where: slice) -> Sums:
    """Returns the sums of some of the cells."""
    return Sums(*(None if part is None else part[:, where] for part in sums))


def regroup(sums: Sums, of: tf.Tensor, num_cells: int) -> Sums:
    """Adds cells together, `of` [cells] being the new cell of each."""

    def weighted():
        hi, lo = segment_pair(tf.transpose(sums.hi), of, num_cells)
        rest = tf.math.unsorted_segment_sum(tf.transpose(sums.lo), of, num_cells)
        return hi, lo + tf.transpose(rest)

    def unweighted():
        nothing = tf.zeros([3, num_cells])
        return nothing, nothing

    # Most metrics never see a weight.
    hi, lo = tf.cond(tf.reduce_any(sums.hi != 0), weighted, unweighted)
    count, whole, rest, hits = tf.unstack(sums.units)
    # The rest of many batches in many cells could overflow.
    carried, rest = _limbs(rest)
    units = [
        tf.math.unsorted_segment_sum(row, of, num_cells)
        for row in (count, whole + carried, rest, hits)
    ]
    return Sums(tf.stack(units), hi, lo)


def totals(sums: Sums, dtype: tf.DType = tf.float32) -> tf.Tensor:
    """Returns the sums rounded to `dtype`, in the shape of `hi`."""
    value: Any = None
    if sums.hi is not None:
        value = tf.cast(sums.hi, dtype) + tf.cast(sums.lo, dtype)
    if sums.units is not None:
        units = tf.cast(sums.units, dtype)
        # Scores have a row more as integers.
        if units.shape[0] == (4 if sums.hi is None else sums.hi.shape[0] + 1):
            mass, whole, rest, hits = tf.unstack(units)
            scores = whole * 2.0**-WHOLE_BITS + rest * 2.0**-SCORE_BITS
            units = tf.stack([mass, scores, hits])
        value = units if value is None else units + value
    return value
