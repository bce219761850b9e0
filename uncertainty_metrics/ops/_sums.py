"""The sums that metrics accumulate: they do not drift, without float64.

A float32 sum of n terms loses n * 2^-24 of its value at worst, and a float32 count
stops at 2^24. Here a sum is an exact int64 where every example counts once. Where
examples have weights, a sum is a pair of float32: the rounded value `hi`, and `lo`, the
rounding error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from uncertainty_metrics.ops import IS_TENSORFLOW, _execution, xp

if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as tf

# Scores are added as integers in units of 2^-31. That is exact for float32 scores of
# 2^-8 or more, and off by at most 2^-32 for others. An int64 can hold the sum of a
# batch, but not of many batches. So there are two: a sum in units of 2^-9, and the
# rest, which grows by less than 2^22 a batch.
SCORE_BITS = 31
WHOLE_BITS = 9
# A cell with more examples than this has sums that may overflow.
MAX_COUNT = 2**53
# Where a variable cannot hold an int64, two int32 do; the lower one has this many bits.
_LIMB_BITS = 30
# Each thread that counts has memory of its own for all cells, if they are so few.
_MOST_COUNTED = 2**14
STATE_TYPE = "int64" if _execution.HAS_INT64_VARIABLES else "int32"


def state_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of the variable that stores an int64 tensor."""
    return shape if STATE_TYPE == "int64" else (2, *shape)


def stored(value: xp.Tensor) -> xp.Tensor:
    """Returns the value as a variable stores it: two int32 instead of an int64, where
    variables cannot hold an int64.
    """
    if value.dtype != xp.int64 or STATE_TYPE == "int64":
        return value
    high = xp.bitwise.right_shift(value, _LIMB_BITS)
    low = value - xp.bitwise.left_shift(high, _LIMB_BITS)
    return xp.cast(xp.stack([low, high]), xp.int32)


def loaded(value: xp.Tensor) -> xp.Tensor:
    """Returns the value that `stored` took, given what it returned."""
    if value.dtype != xp.int32 or STATE_TYPE == "int64":
        return value
    low, high = xp.unstack(xp.cast(value, xp.int64))
    return xp.bitwise.left_shift(high, _LIMB_BITS) + low


class Sums(NamedTuple):
    """Weight, scores and outcomes of each cell: `units + hi + lo`.

    Without scores there are two rows; some metrics have other rows.

    Attributes:
      units: int64 [4, cells], the sums of unit weights: their number, the scores in
        units of 2^-9, the rest of the scores in units of 2^-31, the outcomes. None, or
        for a batch perhaps `Scattered`.
      hi: float [3, cells], the sums of other weights.
      lo: float [3, cells], the rounding errors of `hi`.
      rows: int32 [n], where the cells of a state are rows: the rows of the state to add
        the sums of a batch to, each once, and in order if they are all. None for all.
    """

    units: Any
    hi: xp.Tensor | None
    lo: xp.Tensor | None
    rows: xp.Tensor | None = None


class Scattered(NamedTuple):
    """A vector, or rows, with 0 in most places; values of equal places add up.

    Attributes:
      places: int32 [n].
      values: [n], or [n, cells] where places are rows.
    """

    places: xp.Tensor
    values: xp.Tensor


def scattered(
    size: int, *rows: tuple[xp.Tensor, xp.Tensor], complete: int = 0
) -> Scattered:
    """Returns rows of units as one axis.

    Args:
      size: number of cells of a row.
      *rows: for each row int32 cells [n] and values [n]; a cell of -1 drops the value.
      complete: how many of the first rows have no cell of -1.
    """
    places, values = [], []
    for row, (cell, value) in enumerate(rows):
        if row >= complete:
            value = xp.where(cell < 0, xp.zeros_like(value), value)
            cell = xp.maximum(cell, 0)
        places.append(cell + row * size)
        values.append(value)
    return Scattered(xp.concat(places, axis=0), xp.concat(values, axis=0))


def dense(units: Scattered, shape: tuple[int, ...]) -> xp.Tensor:
    """Returns the units as a tensor with all places."""
    return xp.scatter_nd(units.places[:, None], units.values, shape)


def has_pair(sums: Sums) -> xp.Tensor:
    """Returns whether the pair of a state is not 0: most metrics never have weights."""
    # The extremes take a tenth of the time of a comparison of each number.
    return (xp.reduce_max(sums.hi) != 0) | (xp.reduce_min(sums.hi) != 0)


def two_sum(a: xp.Tensor, b: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the rounded sum and its exact rounding error (Knuth, 1969)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def pair_steps(
    hi: xp.Tensor, lo: xp.Tensor, more_hi: xp.Tensor, more_lo: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the numbers to add to `hi` and to `lo`, so that they stay the rounded sum
    and its rounding error: an addition loses 2^-48 of the sum, not 2^-24.
    """
    total, error = two_sum(hi, more_hi)
    head, tail = two_sum(total, lo + (error + more_lo))
    step = head - hi
    # The step was rounded, so `hi` may miss `head` by a bit.
    missed = head - (hi + step)
    # An infinite sum has no rounding error.
    finite = xp.math.is_finite(head)
    return (
        xp.where(finite, step, more_hi),
        xp.where(finite, missed + tail - lo, -lo),
    )


def power_of_two(exponent: xp.Tensor) -> xp.Tensor:
    """Returns the float32 2^exponent exactly, for int32 exponents in [-126, 127]."""
    return xp.bitcast((exponent + 127) * 2**23, xp.float32)


def exponent_above(values: xp.Tensor | int, axis: int | None = None) -> xp.Tensor:
    """Returns an int32 e with max(values) < 2^e, for values >= 0.

    It is limited to [-126, 126], even where the bound does not hold, so that 2^e and
    2^-e are normal float32.
    """
    largest = xp.reduce_max(xp.cast(values, xp.float32), axis=axis)
    return xp.clip_by_value(xp.bitcast(largest, xp.int32) // 2**23 - 126, -126, 126)


def integer_masses(weights: xp.Tensor, num_bins: xp.Tensor | int) -> xp.Tensor:
    """Returns weights as int64 multiples of one power of two, to add without rounding.

    `numpy.calibration._binning.integer_masses`, the twin, explains the arithmetic. For
    a tensor `num_bins` the largest number counts.
    """
    return integers(weights, num_bins)[0]


def integers(
    weights: xp.Tensor, num_bins: xp.Tensor | int
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns `integer_masses`, and the power of two of which they are multiples."""
    size = exponent_above(xp.size(weights)) + exponent_above(2 * num_bins)
    bits = xp.minimum(61 - size, 52)
    exponent = exponent_above(weights)
    dtype = weights.dtype
    scaled = weights * xp.cast(power_of_two(-exponent), dtype)
    masses = xp.cast(xp.round(scaled * xp.cast(power_of_two(bits), dtype)), xp.int64)
    unit = xp.cast(power_of_two(exponent), dtype) * xp.cast(power_of_two(-bits), dtype)
    return masses, unit


def _pair(
    values: xp.Tensor, add: Callable[[xp.Tensor], xp.Tensor]
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns `add(values)`, the sums [columns, ...] of finite float32 [n, columns], as
    pairs.
    """
    # Relative to a power of two above its column, each value is an integer multiple of
    # 2^-24, which adds exactly, plus a remainder. The remainders are so small that
    # their float32 sum is exact enough.
    exponent = exponent_above(xp.abs(values), axis=0)
    values = values * power_of_two(-exponent)
    whole = xp.round(values * 2.0**24)
    remainder = values - whole * 2.0**-24
    hi, lo = split(add(xp.cast(whole, xp.int64)))
    hi, lo = two_sum(hi * 2.0**-24, lo * 2.0**-24 + add(remainder))
    scale = xp.reshape(power_of_two(exponent), [-1] + [1] * (len(hi.shape) - 1))
    return hi * scale, lo * scale


def segment_pair(
    values: xp.Tensor, cell: xp.Tensor, num_cells: int | xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns segment sums of float [n, columns] as pairs [columns, cells]."""

    def add(column_values):
        return xp.transpose(
            xp.math.unsorted_segment_sum(column_values, cell, num_cells)
        )

    if values.dtype == xp.float64:
        hi = add(values)
        return hi, xp.zeros_like(hi)
    return _pair(values, add)


def total_pair(values: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the sums of float [n, columns] over n as float32 pairs [columns].

    Infinite values make an infinite sum; there must be no NaN.
    """
    finite = xp.math.is_finite(values)
    plain = xp.reduce_sum(xp.where(finite, xp.zeros_like(values), values), axis=0)
    values = xp.where(finite, values, xp.zeros_like(values))
    if values.dtype == xp.float64:
        hi, lo = split(xp.reduce_sum(values, axis=0))
        lo = xp.where(xp.math.is_finite(hi), lo, xp.zeros_like(lo))
    else:
        hi, lo = _pair(values, lambda columns: xp.reduce_sum(columns, axis=0))
    return hi + xp.cast(plain, xp.float32), lo


def _block_sums(values: xp.Tensor) -> xp.Tensor:
    """Returns fewer float32 with the same sum as values [n], each a sum of 32 values.

    Such a sum loses 2^-20 of the size of the values at worst, however many there are.
    """
    length = xp.shape(values)[0] // 32
    blocks = xp.reshape(values[: 32 * length], [32, length])
    return xp.concat([xp.reduce_sum(blocks, axis=0), values[32 * length :]], axis=0)


def _total(values: xp.Tensor) -> xp.Tensor:
    """Returns the sum of values [n]."""
    if values.dtype == xp.float64:
        return xp.reduce_sum(values)
    hi, lo = total_pair(_block_sums(values)[:, None])
    return (hi + lo)[0]


def mean(values: xp.Tensor, weights: xp.Tensor | None) -> xp.Tensor:
    """Returns the weighted mean of values [n] whose float32 sum would drift."""
    if weights is None:
        shape = xp.shape(values)
        size = xp.cast(xp.size(values), values.dtype)

        @_execution.custom_gradient
        def plain(values):
            total = _total(values)
            # Compilers would multiply by the inverse of a constant, and the mean of 41
            # ones would not be 1. So the divisor depends on the values.
            count = xp.where(xp.math.is_nan(total), total, size)
            return (
                total / count,
                lambda upstream: xp.broadcast_to(upstream / size, shape),
            )

        return plain(values)

    @_execution.custom_gradient
    def exact(values, weights):
        weight = _total(weights)
        average = _total(xp.math.multiply_no_nan(values, weights)) / weight

        def gradient(upstream):
            share = upstream / weight
            return share * weights, share * (values - average)

        return average, gradient

    return exact(values, weights)


def split(values: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns float32 hi and lo whose sum is the int64 or float64 value, to 48 bits."""
    hi = xp.cast(values, xp.float32)
    return hi, xp.cast(values - xp.cast(hi, values.dtype), xp.float32)


def score_units(scores: xp.Tensor) -> xp.Tensor:
    """Returns float32 scores in [0, 1] as int64 multiples of 2^-31."""
    return xp.cast(xp.round(scores * 2.0**SCORE_BITS), xp.int64)


def limbs(units: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns int64 multiples of 2^-31 as multiples of 2^-9, and the rest."""
    shift = SCORE_BITS - WHOLE_BITS
    whole = xp.bitwise.right_shift(units, xp.constant(shift, xp.int64))
    return whole, xp.bitwise.bitwise_and(units, xp.constant(2**shift - 1, xp.int64))


def carried(units: xp.Tensor) -> xp.Tensor:
    """Returns the units with the rest of the scores, in units of 2^-31, below one unit
    of 2^-9: whole units are carried over.
    """
    count, whole, rest, hits = xp.unstack(units)
    more, rest = limbs(rest)
    return xp.stack([count, whole + more, rest, hits])


def settled(sums: Sums) -> Sums:
    """Returns the sums with whole numbers in the units, where they add exactly, and the
    rest in the pair.

    Most weights are whole numbers, so that counts stay exact.
    """
    hi, lo = sums.hi, sums.lo
    if hi is None:
        return sums
    if hi.dtype == xp.float64:
        hi, lo = split(hi)
    # Larger numbers could overflow the units after very many batches.
    small = xp.abs(hi) < 2.0**31
    first, second = (
        xp.where(small, xp.round(values), xp.zeros_like(values)) for values in (hi, lo)
    )
    hi, lo = two_sum(hi - first, lo - second)
    lo = xp.where(xp.math.is_finite(hi), lo, xp.zeros_like(lo))
    units = xp.cast(first, xp.int64) + xp.cast(second, xp.int64)
    # A metric may have three other rows, of classes, say.
    if sums.rows is None and hi.shape[0] == 3 != _rows_of(sums.units):
        mass, scores, hits = xp.unstack(units)
        scores = xp.bitwise.left_shift(scores, xp.constant(WHOLE_BITS, xp.int64))
        units = xp.stack([mass, scores, xp.zeros_like(scores), hits])
    if sums.units is not None:
        units = units + sums.units
    return Sums(units, hi, lo, sums.rows)


def _rows_of(units: xp.Tensor | None) -> int | None:
    return None if units is None else units.shape[0]


def append_cell(cells: Any, num_cells: int, *column: xp.Tensor) -> Any:
    """Returns units [rows, cells] with one more cell, given its scalar in each row."""
    return append_cells(cells, num_cells, 1, *(value[None] for value in column))


def append_cells(cells: Any, num_cells: int, more: int, *rows: xp.Tensor) -> Any:
    """Returns units [rows, cells] with more cells, given these of each row, [more]."""
    if isinstance(cells, Scattered):
        places = xp.range(num_cells, num_cells + more)
        last = scattered(
            num_cells + more, *((places, row) for row in rows), complete=len(rows)
        )
        return Scattered(
            *(xp.concat(pair, axis=0) for pair in zip(cells, last, strict=True))
        )
    return xp.concat([cells, xp.stack(rows)], axis=1)


def _complete_sum(
    values: xp.Tensor, cell: xp.Tensor, num_cells: int | xp.Tensor
) -> xp.Tensor:
    """Returns the sums of int64 [n] in the cells, of which none is -1."""
    few = isinstance(num_cells, int) and num_cells <= _MOST_COUNTED
    if few and _execution.has_fast_counts():
        return tf.raw_ops.DenseBincount(input=cell, size=num_cells, weights=values)
    return xp.math.unsorted_segment_sum(values, cell, num_cells)


def cell_sums(
    cell: xp.Tensor,
    scores: xp.Tensor,
    weights: xp.Tensor | None,
    hit_cell: xp.Tensor,
    hit_weights: xp.Tensor | None,
    num_cells: int | xp.Tensor,
    sparse: int = 0,
    complete: bool = False,
) -> Sums:
    """Returns the sums of a batch.

    Args:
      cell: int32 [n], the cell of each score; -1 drops it.
      scores: float32 or float64 [n], in [0, 1].
      weights: of the type of the scores [n], or None for ones.
      hit_cell: int32 [h], the cells of the scores whose outcome is 1; -1 drops one.
      hit_weights: [h], the weights of these scores, or None for ones. If there are no
        weights, it may be boolean instead: whether the outcome is 1.
      num_cells: number of cells.
      sparse: number of cells of the state, if the units are to be `Scattered`; else 0.
      complete: whether no cell is -1.
    """

    def add(values, segment):
        return xp.math.unsorted_segment_sum(values, segment, num_cells)

    if scores.dtype == xp.float64:
        weights = xp.ones_like(scores) if weights is None else weights
        if hit_weights is None:
            hit_weights = xp.ones(xp.shape(hit_cell), xp.float64)
        hit_weights = xp.cast(hit_weights, xp.float64)
        hi = xp.stack(
            [
                add(weights, cell),
                add(weights * scores, cell),
                add(hit_weights, hit_cell),
            ]
        )
        return Sums(None, hi, xp.zeros_like(hi))
    if weights is None:
        units = score_units(scores)
        if hit_weights is None:
            hits = xp.ones(xp.shape(hit_cell), xp.int64)
        else:
            hits = xp.cast(hit_weights, xp.int64)
        if sparse:
            whole, rest = limbs(units)
            ones = xp.ones_like(units)
            rows = (cell, ones), (cell, whole), (cell, rest), (hit_cell, hits)
            return Sums(scattered(sparse, *rows, complete=4 * complete), None, None)
        if complete:
            add = functools.partial(_complete_sum, num_cells=num_cells)
        whole, rest = limbs(add(units, cell))
        if hit_cell is cell:
            # The sum holds two numbers: in its upper half that of the hits, and in its
            # lower half that of the scores, of which a batch has fewer than 2^31.
            both = add(hits * 2**32 + 1, cell)
            right = xp.bitwise.right_shift(both, xp.constant(32, xp.int64))
            counts = both - right * 2**32
        else:
            counts, right = add(xp.ones_like(units), cell), add(hits, hit_cell)
        return Sums(xp.stack([counts, whole, rest, right]), None, None)
    assert hit_weights is not None
    mass = segment_pair(xp.stack([weights, weights * scores], axis=1), cell, num_cells)
    hits = segment_pair(hit_weights[:, None], hit_cell, num_cells)
    hi, lo = (xp.concat(pair, axis=0) for pair in zip(mass, hits, strict=True))
    return Sums(None, hi, lo)


def outcome_sums(
    cell: xp.Tensor,
    outcomes: xp.Tensor,
    weights: xp.Tensor | None,
    num_cells: int,
    sparse: int = 0,
) -> Sums:
    """Returns the sums of a batch without its scores.

    Args:
      cell: int32 [n], the cell of each score.
      outcomes: boolean [n].
      weights: float32 [n], or None for ones.
      num_cells: number of cells.
      sparse: number of cells of the state, if the units are to be `Scattered`; else 0.
    """
    if weights is None and sparse:
        ones = xp.ones(xp.shape(cell), xp.int64)
        hits = xp.cast(outcomes, xp.int64)
        units = scattered(sparse, (cell, ones), (cell, hits), complete=2)
        return Sums(units, None, None)
    if weights is None:
        ones = xp.ones(xp.shape(cell), xp.int32)
        rows = [ones, xp.cast(outcomes, xp.int32)]
        counts = [xp.math.unsorted_segment_sum(row, cell, num_cells) for row in rows]
        return Sums(xp.cast(xp.stack(counts), xp.int64), None, None)
    hits = xp.where(outcomes, weights, xp.zeros_like(weights))
    pair = segment_pair(xp.stack([weights, hits], axis=1), cell, num_cells)
    return Sums(None, *pair)


def of_cells(sums: Sums, cells: slice) -> Sums:
    """Returns the sums of some of the cells."""
    return Sums(*(None if part is None else part[:, cells] for part in sums))


def regroup(sums: Sums, cell: xp.Tensor, num_cells: int) -> Sums:
    """Returns the sums of larger cells, given the new int32 cell of each cell."""

    def weighted():
        hi, lo = segment_pair(xp.transpose(sums.hi), cell, num_cells)
        rest = xp.math.unsorted_segment_sum(xp.transpose(sums.lo), cell, num_cells)
        return hi, lo + xp.transpose(rest)

    def unweighted():
        zeros = xp.zeros([3, num_cells])
        return zeros, zeros

    hi, lo = xp.cond(has_pair(sums), weighted, unweighted)
    # Carried, as the rest of many batches in many cells could overflow.
    rows = xp.unstack(carried(sums.units))
    units = [xp.math.unsorted_segment_sum(row, cell, num_cells) for row in rows]
    return Sums(xp.stack(units), hi, lo)


def totals(sums: Sums, dtype: xp.DType = xp.float32) -> xp.Tensor:
    """Returns the sums rounded to `dtype`, in the shape of `hi`."""
    value: Any = None
    if sums.hi is not None:
        value = xp.cast(sums.hi, dtype) + xp.cast(sums.lo, dtype)
    if sums.units is not None:
        units = xp.cast(sums.units, dtype)
        # As integers, the scores have two rows.
        if units.shape[0] == (4 if sums.hi is None else sums.hi.shape[0] + 1):
            mass, whole, rest, hits = xp.unstack(units)
            scores = whole * 2.0**-WHOLE_BITS + rest * 2.0**-SCORE_BITS
            units = xp.stack([mass, scores, hits])
        value = units if value is None else units + value
    return value
