"""The cells of scores, and bins of equal mass that are made of cells.

The grid of cells is that of `numpy/sketch/_grid.py`, which explains it.
"""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy.sketch import _grid as grid
from uncertainty_metrics.ops import _binning, _execution, _search, _sums, to_numpy, xp

_SIZE_BITS = 2**31 - 1  # All bits of a float32 but the sign.
_LARGEST = 0x7F7FFFFF  # The bits of the largest float32.
# The score 1 has a cell of its own: its distance to 1 is taken for this float32, which
# is smaller than the distance of any other score.
_NEAREST = float(np.nextafter(np.float32(2.0**-grid.HIGH), np.float32(0)))

# The number of cells in a block, whose sums `adaptive_statistics` computes first; other
# numbers in the order in which they are preferred.
_BLOCK = 16
_BLOCKS = (16, 15, 17, 14, 18, 13, 19, 12, 20, 11)
_MAX_MASS = 2**41


def _steps(value: xp.Tensor, bits: int, smallest: int) -> xp.Tensor:
    """Returns how far the value is above 2^smallest, in 2^bits cells an octave."""
    pattern = xp.bitcast(value, xp.int32)
    step = xp.bitwise.right_shift(pattern, grid.MANTISSA - bits)
    return step - (grid.BIAS + smallest) * 2**bits


def indices(scores: xp.Tensor, bits: tuple[int, ...]) -> xp.Tensor:
    """Returns `index` for an update of a metric, compiled by itself for very many
    scores: as twenty operations it takes thirty times as long.
    """
    return _execution.with_xla_if_large(scores, _index_of, bits, often=True)(scores)


def _index_of(bits: tuple[int, ...], scores: xp.Tensor) -> xp.Tensor:
    return index(scores, *bits)


def index(
    scores: xp.Tensor,
    bits: int,
    tail: int | None = None,
    even: int | None = None,
    high: int | None = None,
) -> xp.Tensor:
    """Returns the int32 cell of each score in [0, 1], ascending with the score; the
    other arguments are those of `grid.num_cells`.
    """
    half = grid.middle(bits, tail, even)
    even, high = grid.evens(bits, even, high)
    tail, normal, _ = grid.tail_cells(bits, tail)
    scores = xp.cast(scores, xp.float32)
    # The bits of a number below 2^-126 count its multiples of 2^-149.
    count = xp.maximum(xp.bitcast(scores, xp.int32), 0)  # -0.0 is 0.
    denormal = xp.maximum(1 + _steps(xp.cast(count, xp.float32), tail, 0), 0)
    tiny = normal + _steps(scores, tail, -grid.NORMAL)
    # 1 - p is exact in float32 for p >= 1/2.
    is_low = scores < 0.5
    distance = xp.where(is_low, scores, xp.maximum(1 - scores, _NEAREST))
    step = _steps(distance, bits, bits) + 2**bits

    def steps_of(even: int) -> xp.Tensor:
        """Returns how many cells below 1/2 the score lies; next to 1/2 cells are
        2^-even wide.
        """
        near = step + even * 2**bits - 2 ** (even - 1)
        if even == bits + 1:
            return near
        wide = xp.cast(distance * 2.0**even, xp.int32) - 2 ** (even - 1)
        return xp.where(distance < 2.0 ** (bits - even), near, wide)

    below = steps_of(even)
    cell = half + xp.where(is_low, below, -(below if high == even else steps_of(high)))
    cell = xp.where(scores < 2.0**-grid.LOW, tiny, cell)
    return xp.where(count < 2**grid.MANTISSA, denormal, cell)


def real_index(scores: xp.Tensor, bits: int, *others: int) -> xp.Tensor:
    """Returns the int32 cell of each real score, ascending with the score; the other
    arguments are those of `grid.num_cells`.
    """
    inner = bits, *others
    tail = grid.tail_cells(bits)[0]
    pattern = xp.bitcast(xp.cast(scores, xp.float32), xp.int32)
    # By the bits, since arithmetic may take the smallest numbers for 0.
    size_pattern = xp.minimum(xp.bitwise.bitwise_and(pattern, _SIZE_BITS), _LARGEST)
    is_negative = (pattern < 0) & (size_pattern > 0)
    size = xp.bitcast(size_pattern, xp.float32)

    def from_octave(low):
        """Returns how many cells the size of the score lies above 2^low."""
        inner = _steps(size, bits, low)
        outer = (grid.REAL_HIGH - low) * 2**bits + _steps(size, tail, grid.REAL_HIGH)
        return xp.where(size < 2.0**grid.REAL_HIGH, inner, outer)

    first = 1 + (grid.NORMAL + grid.REAL_LOW) * 2**tail
    tiny = xp.maximum(1 + _steps(size, tail, -grid.NORMAL), 0)
    below = xp.where(
        size < 2.0**grid.REAL_LOW, tiny, first + from_octave(grid.REAL_LOW)
    )
    zero = grid.below_zero(bits)
    above = zero + grid.num_cells(*inner) + from_octave(0)
    cell = xp.where(size > 1, above, zero + index(size, *inner))
    return xp.where(is_negative, zero - 1 - below, cell)


def real_middles(*bits: int) -> xp.Tensor:
    """Returns a score in the middle of each cell of the real line, float32 [cells]."""
    cells = np.arange(grid.num_real_cells(*bits))
    low, high = np.full(len(cells), -_LARGEST), np.full(len(cells), _LARGEST)

    def score(place: np.ndarray) -> np.ndarray:
        """Returns the float32 at a place in the order of all float32, 0 at 0."""
        pattern = np.abs(place).astype(np.int32)
        return np.copysign(pattern.view(np.float32), place.astype(np.float32))

    while np.any(low < high):  # Bisection for the first float32 of each cell.
        between = (low + high) // 2
        reached = to_numpy(real_index(xp.constant(score(between)), *bits)) >= cells
        low = np.where(reached, low, between + 1)
        high = np.where(reached, between, high)
    return xp.constant(score((low + np.append(low[1:] - 1, _LARGEST)) // 2))


def adaptive_statistics(
    sums: _sums.Sums,
    num_groups: int,
    num_bins: int,
    bits: tuple[int, ...],
    dtype: xp.DType,
) -> _binning.BinStatistics:
    """Returns the statistics of bins of equal mass, made of neighbouring cells; a cell
    is never split.

    Args:
      sums: of [groups * cells].
      num_groups: number of groups.
      num_bins: number of bins of a group.
      bits: the arguments of `grid.num_cells`.
      dtype: of the statistics.
    """
    cells = grid.num_cells(*bits)

    def by_cells() -> tuple[xp.Tensor, xp.Tensor]:
        starts, binned = _bins_by_cells(sums, num_groups, num_bins, cells)
        return starts, _sums.totals(binned, dtype)

    def by_blocks() -> tuple[xp.Tensor, xp.Tensor]:
        starts, units = _bins_by_blocks(sums.units, num_groups, num_bins, cells)
        return starts, _sums.totals(_sums.Sums(units, None, None), dtype)

    if num_bins * _BLOCK > cells:
        starts, totals = by_cells()
    else:
        # With so few examples no product, and no sum of scores over cells, overflows.
        few = xp.reduce_max(sums.units[0]) < _MAX_MASS // cells
        is_usual = few & ~_sums.has_pair(sums)
        starts, totals = xp.cond(is_usual, by_blocks, _execution.rarely(by_cells))
    counts, score_sums, outcome_sums = xp.unstack(
        xp.reshape(totals, [3, num_groups, num_bins])
    )
    # An inner edge is the largest score of the cells before.
    edges = xp.constant(np.append(0, grid.upper_edges(*bits)), dtype)
    edges = xp.concat(
        [xp.gather(edges, starts), xp.ones([num_groups, 1], dtype)], axis=1
    )
    return _binning.BinStatistics(
        edges, counts, score_sums, outcome_sums, additive=False
    )


def _bins_by_cells(
    sums: _sums.Sums, num_groups: int, num_bins: int, cells: int
) -> tuple[xp.Tensor, _sums.Sums]:
    """Returns the first cell [groups, bins] of each bin, and the sums of the bins."""
    masses = _sums.integer_masses(_sums.totals(sums)[0], num_bins)
    masses = xp.reshape(masses, [num_groups, cells])
    index = _binning.mass_bins(
        xp.cumsum(masses, axis=1, exclusive=True),
        masses,
        xp.reduce_sum(masses, axis=1, keepdims=True),
        num_bins,
    )
    groups = xp.range(num_groups)[:, None]
    bins = xp.reshape(groups * num_bins + xp.cast(index, xp.int32), [-1])
    size = num_groups * num_bins
    number = xp.math.unsorted_segment_sum(xp.ones_like(bins), bins, size)
    number = xp.reshape(number, [num_groups, num_bins])
    return xp.cumsum(number, axis=1, exclusive=True), _sums.regroup(sums, bins, size)


def _bins_by_blocks(
    units: xp.Tensor, num_groups: int, num_bins: int, cells: int
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the first cell of each bin, and the units of the bins, given the units of
    the cells, where all weights are 1.

    First come the sums of blocks of cells, and then the cells of those blocks only in
    which a bin begins.
    """
    # A size that divides the number of cells, if there is one, as padding copies the
    # state.
    size = next((size for size in _BLOCKS if cells % size == 0), _BLOCK)
    blocks = -(-cells // size)
    if cells % size:
        units = xp.reshape(units, [4, num_groups, cells])
        units = xp.pad(units, [[0, 0], [0, 0], [0, blocks * size - cells]])
    units = xp.reshape(units, [4, num_groups * blocks, size])
    # Row by row: in a sum of all rows at once TensorFlow's threads wait for each other.
    block_sums = xp.stack([xp.reduce_sum(row, axis=1) for row in xp.unstack(units)])
    block_sums = xp.reshape(block_sums, [4, num_groups, blocks])
    up_to = xp.cumsum(block_sums, axis=2)
    totals = up_to[:, :, -1:]

    # `mass_bins` puts a cell into a bin by the middle of the cell: twice the mass
    # before it, plus its own. The cells before a bin are those with a middle below the
    # goal.
    bins = xp.range(1, num_bins, dtype=xp.int64)
    goals = -(-xp.maximum(2 * totals[0], 1) * bins // num_bins)  # [groups, bins - 1]
    last = xp.reshape(units[0, :, -1], [num_groups, blocks])
    block = _search.number_below(2 * up_to[0] - last, goals)
    block = xp.minimum(block, blocks - 1)  # A group without mass reaches no goal.
    inside = xp.range(num_groups)[:, None] * blocks + block
    within = xp.gather(units, inside, axis=1)  # [4, groups, bins - 1, size]
    flat = xp.reshape(up_to - block_sums, [4, num_groups * blocks])
    before = xp.gather(flat, inside, axis=1)
    middle = 2 * xp.cumsum(within[0], axis=2) - within[0]
    below = middle < (goals - 2 * before[0])[:, :, None]
    below = xp.cast(below, xp.int64)
    place = xp.cast(xp.reduce_sum(below, axis=2), xp.int32)
    # A product takes half the time of a choice, and with two axes half the time of a
    # product with four.
    parts = xp.reshape(within, [4, -1]) * xp.reshape(below, [1, -1])
    before = before + xp.reduce_sum(xp.reshape(parts, within.shape), axis=3)
    starts = xp.concat(
        [
            xp.zeros([num_groups, 1], xp.int32),
            xp.minimum(block * size + place, cells),
        ],
        axis=1,
    )
    ends = xp.concat([before, totals], axis=2)
    sums = ends - xp.concat([xp.zeros_like(totals), before], axis=2)
    sums = xp.reshape(sums, [4, num_groups * num_bins])
    return starts, _sums.carried(sums)
