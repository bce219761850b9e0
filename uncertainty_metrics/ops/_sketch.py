"""A fixed grid of narrow cells: the streaming state of everything that needs sorting.

Adaptive bins and ranks are not additive, but counts on a fixed grid are, and
neighbouring cells can be grouped afterwards. Scores of trained networks pile up at 0
and 1, so cells have constant relative width in p below 1/2 and in 1 - p above (the idea
of DDSketch and HdrHistogram): 2^bits cells for each octave of p down to 2^-30 and of
1 - p down to 2^-24, the resolution of float32. Below 2^-30 only the order of the scores
matters, and few cells an octave, at most four, go down to the smallest float32; 0 and 1
have cells of their own. A cell acts as a tie: its scores are not told apart, but their
sum is exact.

Scores of the whole real line have the same cells in [0, 1], and outside it 2^bits cells
for each octave of |score| from 2^-30 to 2^20, and few beyond.
"""

from __future__ import annotations

import math

import numpy as np

from uncertainty_metrics.ops import _binning, _sums, xp

# What the bits of a float32 say.
_MANTISSA = 23
_BIAS = 127
_NORMAL = 126  # The smallest number with all its bits is 2^-126.
_SIZE = 2**31 - 1  # All but the sign.
_LARGEST = 0x7F7FFFFF

_LOW, _HIGH = 30, 24  # Full resolution reaches down to 2^-30, and up to 1 - 2^-24.
_OCTAVES = (_LOW - 1) + (_HIGH - 1)
_TAIL_BITS = 2

# Outside [0, 1] full resolution is that of sizes from 2^-30 to 2^20.
_REAL_LOW, _REAL_HIGH = -30, 20

# Bits where there is one group, and where there are many: one less each time that there
# are twice as many, or ten times.
_FEW_GROUPS, _MANY_GROUPS, _LEAST = 7, 5, 2
# The bits for one group in version 1.0, and the least, of as many cells as possible.
_OLD_BITS, _OLD_CELLS = (4, 10), 2**18
# Cells of a block, of which `adaptive_statistics` reads the sum.
_BLOCK = 16
_MAX_MASS = 2**41


def default_bits(num_groups: int) -> tuple[int, int]:
    """Returns the log2 of the cells per octave, and below 2^-30."""
    few = _FEW_GROUPS - math.log2(num_groups)
    many = _MANY_GROUPS - math.log10(num_groups)
    bits = int(max(few, many, _LEAST))
    return bits, 0 if bits == _LEAST else _TAIL_BITS


def _tail(bits: int, tail: int | None = None) -> tuple[int, int, int]:
    """Returns the log2 of the cells per octave below 2^-30, the first cell from 2^-126
    on and the first cell from 2^-30 on.
    """
    tail = min(bits, _TAIL_BITS) if tail is None else tail
    normal = 1 + _MANTISSA * 2**tail
    return tail, normal, normal + (_NORMAL - _LOW) * 2**tail


def num_cells(bits: int, tail: int | None = None) -> int:
    """Returns the number of cells of a group."""
    # Those of 1 - 2^-24 and of 1 too.
    return _tail(bits, tail)[2] + _OCTAVES * 2**bits + 2


def _steps(value: xp.Tensor, bits: int, smallest: int) -> xp.Tensor:
    """Returns how many cells of an octave `value` lies above 2^smallest."""
    pattern = xp.bitcast(value, xp.int32)
    step = xp.bitwise.right_shift(pattern, _MANTISSA - bits)
    return step - (_BIAS + smallest) * 2**bits


def index(scores: xp.Tensor, bits: int, tail: int | None = None) -> xp.Tensor:
    """Returns the int32 cell of each score in [0, 1], ascending with the score."""
    last = num_cells(bits, tail) - 1
    tail, normal, full = _tail(bits, tail)
    scores = xp.cast(scores, xp.float32)
    # The bits of a number below 2^-126 count its multiples of 2^-149.
    count = xp.maximum(xp.bitcast(scores, xp.int32), 0)  # -0.0 is 0.
    denormal = xp.maximum(1 + _steps(xp.cast(count, xp.float32), tail, 0), 0)
    tiny = normal + _steps(scores, tail, -_NORMAL)
    low = full + _steps(scores, bits, -_LOW)
    # 1 - p is exact in float32 for p >= 1/2.
    distance = xp.maximum(1 - scores, 2.0**-_HIGH)
    high = last - 1 - _steps(distance, bits, -_HIGH)
    cell = xp.where(scores < 0.5, low, high)
    cell = xp.where(scores < 1, cell, xp.fill(xp.shape(cell), last))
    cell = xp.where(scores < 2.0**-_LOW, tiny, cell)
    return xp.where(count < 2**_MANTISSA, denormal, cell)


def _octave_cells(bits: int, low: int) -> int:
    """Returns the number of cells of the numbers from 2^low on."""
    tail = _tail(bits)[0]
    return (_REAL_HIGH - low) * 2**bits + (_BIAS + 1 - _REAL_HIGH) * 2**tail


def _below_zero(bits: int) -> int:
    """Returns the number of cells of negative scores."""
    tail = _tail(bits)[0]
    return 1 + (_NORMAL + _REAL_LOW) * 2**tail + _octave_cells(bits, _REAL_LOW)


def num_real_cells(bits: int) -> int:
    """Returns the number of cells of the real line."""
    return _below_zero(bits) + num_cells(bits) + _octave_cells(bits, 0)


def real_index(scores: xp.Tensor, bits: int) -> xp.Tensor:
    """Returns the int32 cell of each score, ascending with the score."""
    tail = _tail(bits)[0]
    pattern = xp.bitcast(xp.cast(scores, xp.float32), xp.int32)
    # By the bits: arithmetic may take the smallest numbers as 0.
    size_pattern = xp.minimum(xp.bitwise.bitwise_and(pattern, _SIZE), _LARGEST)
    is_negative = (pattern < 0) & (size_pattern > 0)
    size = xp.bitcast(size_pattern, xp.float32)

    def from_octave(low):
        """Counts the cells from 2^low on."""
        inner = _steps(size, bits, low)
        outer = (_REAL_HIGH - low) * 2**bits + _steps(size, tail, _REAL_HIGH)
        return xp.where(size < 2.0**_REAL_HIGH, inner, outer)

    first = 1 + (_NORMAL + _REAL_LOW) * 2**tail
    tiny = xp.maximum(1 + _steps(size, tail, -_NORMAL), 0)
    below = xp.where(size < 2.0**_REAL_LOW, tiny, first + from_octave(_REAL_LOW))
    zero = _below_zero(bits)
    above = zero + num_cells(bits) + from_octave(0)
    cell = xp.where(size > 1, above, zero + index(size, bits))
    return xp.where(is_negative, zero - 1 - below, cell)


def upper_edges(bits: int, tail: int | None = None) -> np.ndarray:
    """Returns the largest float32 score of each cell, shape [cells]."""

    def octaves(first, last, cells_log2):  # The lower ends of cells, ascending.
        step = np.arange((last - first) * 2**cells_log2)
        octave, part = np.divmod(step, 2**cells_log2)
        return np.ldexp(1 + part / 2**cells_log2, octave + first)

    tail = _tail(bits, tail)[0]
    counts = np.ceil(octaves(0, _MANTISSA, tail)).astype(np.int32)
    lower = np.concatenate([octaves(-_NORMAL, -_LOW, tail), octaves(-_LOW, -1, bits)])
    lower = np.append(
        lower.astype(np.float32).view(np.int32), np.float32(0.5).view("i4")
    )
    below = (np.concatenate([counts, lower]) - 1).view(np.float32)
    above = 1 - octaves(-_HIGH, -1, bits)[::-1]
    above = np.concatenate([[0.5], above, [1.0]])
    return np.concatenate([below, above]).astype(np.float32)


def old_default_bits(num_groups: int) -> int:
    """Returns what `default_bits` was in version 1.0."""
    bits = np.log2(max(_OLD_CELLS / (_OCTAVES * num_groups), 1))
    return int(np.clip(bits, *_OLD_BITS))


def _parts(bits: int, tail: int, real: bool) -> list[tuple[int, int, int]]:
    """Returns, of each part of the cells, their number, the log2 of the cells of an
    octave, and 1 where octaves ascend with the cells, else -1.
    """
    above = (_HIGH - 1) * 2**bits + 1
    unit = [
        (1, 0, 1),
        ((_MANTISSA + _NORMAL - _LOW) * 2**tail, tail, 1),
        ((_LOW - 1) * 2**bits, bits, 1),
        (above, bits, -1),
        (1, 0, 1),
    ]
    if not real:
        return unit
    outer = (_BIAS + 1 - _REAL_HIGH) * 2**tail
    inner = (_REAL_HIGH - _REAL_LOW) * 2**bits
    tiny = (_NORMAL + _REAL_LOW) * 2**tail
    return [
        (outer, tail, -1),
        (inner, bits, -1),
        (tiny, tail, -1),
        (1, 0, 1),
        *unit,
        (_REAL_HIGH * 2**bits, bits, 1),
        (outer, tail, 1),
    ]


def coarser(
    old_bits: int, bits: int, tail: int = _TAIL_BITS, real: bool = False
) -> np.ndarray:
    """Returns the cell that each of the cells of `old_bits` lies in."""
    found, first = [], 0
    for (cells, log2, way), (number, new_log2, _) in zip(
        _parts(old_bits, _TAIL_BITS, real), _parts(bits, tail, real), strict=True
    ):
        of = np.arange(cells) >> log2 - new_log2
        found.append(first + (of if way > 0 else number - 1 - of[::-1]))
        first += number
    return np.concatenate(found)


def regrouped(
    arrays: dict[str, np.ndarray], of: np.ndarray, num_groups: int
) -> dict[str, np.ndarray]:
    """Returns the arrays of a `MetricState` whose cells, and perhaps some more at the
    end, are put into those `of`; the same where they are not so many.
    """
    sums = {name: arrays[name] for name in ("units", "hi", "lo") if name in arrays}
    sizes = {part.shape[-1] if part.ndim == 2 else -1 for part in sums.values()}
    more = sizes.pop() - num_groups * len(of) if len(sizes) == 1 else -1
    if more not in (0, 1) or len(sums) < 3:
        return arrays
    number = of[-1] + 1
    cells = np.concatenate([group * number + of for group in range(num_groups)])
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    starts = np.append(starts, np.full(more, len(cells)))
    # What `hi` and `lo` add up to has no more bits than a float64.
    pair = sums["hi"].astype(np.float64) + sums["lo"]
    pair = np.add.reduceat(pair, starts, axis=1)
    units = np.add.reduceat(sums["units"], starts, axis=1)
    hi = pair.astype(np.float32)
    return {**arrays, "units": units, "hi": hi, "lo": (pair - hi).astype(np.float32)}


def adaptive_statistics(
    sums: _sums.Sums,
    num_groups: int,
    num_bins: int,
    bits: tuple[int, ...],
    dtype: xp.DType,
) -> _binning.BinStatistics:
    """Groups neighbouring cells into bins of equal mass; a cell is never split.

    `bits` are the arguments of `num_cells`.
    """
    cells = num_cells(*bits)

    def of_all() -> tuple[xp.Tensor, xp.Tensor]:
        starts, binned = _bins_of_all(sums, num_groups, num_bins, cells)
        return starts, _sums.totals(binned, dtype)

    def of_blocks() -> tuple[xp.Tensor, xp.Tensor]:
        starts, units = _bins_of_blocks(sums.units, num_groups, num_bins, cells)
        return starts, _sums.totals(_sums.Sums(units, None, None), dtype)

    if num_bins * _BLOCK > cells:
        starts, totals = of_all()
    else:
        # So few that no product, and no sum of scores over cells, overflows.
        few = xp.reduce_all(sums.units[0] < _MAX_MASS // cells)
        starts, totals = xp.cond(few & ~xp.reduce_any(sums.hi != 0), of_blocks, of_all)
    counts, score_sums, outcome_sums = xp.unstack(
        xp.reshape(totals, [3, num_groups, num_bins])
    )
    # Inner edges are the largest score of the cells before.
    edges = xp.constant(np.append(0, upper_edges(*bits)), dtype)
    edges = xp.concat(
        [xp.gather(edges, starts), xp.ones([num_groups, 1], dtype)], axis=1
    )
    return _binning.BinStatistics(
        edges, counts, score_sums, outcome_sums, additive=False
    )


def _bins_of_all(
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
    of = xp.reshape(groups * num_bins + xp.cast(index, xp.int32), [-1])
    size = num_groups * num_bins
    held = xp.math.unsorted_segment_sum(xp.ones_like(of), of, size)
    held = xp.reshape(held, [num_groups, num_bins])
    return xp.cumsum(held, axis=1, exclusive=True), _sums.regroup(sums, of, size)


def _bins_of_blocks(
    units: xp.Tensor, num_groups: int, num_bins: int, cells: int
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the same of unit weights, and their sums as units.

    It sums blocks of cells, and looks into those where a bin begins.
    """
    blocks = -(-cells // _BLOCK)
    units = xp.reshape(units, [4, num_groups, cells])
    units = xp.pad(units, [[0, 0], [0, 0], [0, blocks * _BLOCK - cells]])
    units = xp.reshape(units, [4, num_groups * blocks, _BLOCK])
    of_blocks = xp.reshape(xp.reduce_sum(units, axis=2), [4, num_groups, blocks])
    up_to = xp.cumsum(of_blocks, axis=2)
    totals = up_to[:, :, -1:]

    # Those cells are before a bin whose `mass_bins` is less than it.
    bins = xp.range(1, num_bins, dtype=xp.int64)
    goals = xp.maximum(2 * totals[0], 1) * bins  # [groups, bins - 1]

    def ranks(up_to: xp.Tensor, at: xp.Tensor) -> xp.Tensor:
        return num_bins * (2 * up_to - at)

    def number(before: xp.Tensor) -> xp.Tensor:
        return xp.cast(xp.reduce_sum(xp.cast(before, xp.int32), axis=2), xp.int32)

    last = xp.reshape(units[0, :, -1], [num_groups, 1, blocks])
    block = number(ranks(up_to[0][:, None, :], last) < goals[:, :, None])
    block = xp.minimum(block, blocks - 1)  # Of a group without mass.
    inside = xp.range(num_groups)[:, None] * blocks + block
    within = xp.gather(units, inside, axis=1)  # [4, groups, bins - 1, _BLOCK]
    flat = xp.reshape(up_to - of_blocks, [4, num_groups * blocks])
    before = xp.gather(flat, inside, axis=1)
    at = within[0]
    rank = ranks(before[0][:, :, None] + xp.cumsum(at, axis=2), at)
    place = number(rank < goals[:, :, None])
    below = xp.range(_BLOCK) < place[:, :, None]
    before = before + xp.reduce_sum(
        xp.where(below, within, xp.zeros_like(within)), axis=3
    )
    starts = xp.concat(
        [
            xp.zeros([num_groups, 1], xp.int32),
            xp.minimum(block * _BLOCK + place, cells),
        ],
        axis=1,
    )
    ends = xp.concat([before, totals], axis=2)
    sums = ends - xp.concat([xp.zeros_like(totals), before], axis=2)
    sums = xp.reshape(sums, [4, num_groups * num_bins])
    return starts, _sums.carried(sums)
