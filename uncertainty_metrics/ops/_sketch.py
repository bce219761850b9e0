"""A fixed grid of narrow cells: the streaming state of everything that needs sorting.

Adaptive bins and ranks are not additive, but counts on a fixed grid are, and
neighbouring cells can be grouped afterwards. Scores of trained networks pile up at 0
and 1, so cells have constant relative width in p below 1/2 and in 1 - p above (the idea
of DDSketch and HdrHistogram): 2^bits cells for each octave of p down to 2^-30 and of
1 - p down to 2^-24, the resolution of float32. Below 2^-30 only the order of the scores
matters, and four cells an octave go down to the smallest float32; 0 and 1 have cells of
their own. A cell acts as a tie: its scores are not told apart, but their sum is exact.

Scores of the whole real line have the same cells in [0, 1], and outside it 2^bits cells
for each octave of |score| from 2^-30 to 2^20, and four beyond.
"""

from __future__ import annotations

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

# Cells of a sketch over all its groups; more resolution where there are few groups.
_BUDGET = 2**18
_BITS = (4, 10)


def default_bits(num_groups: int) -> int:
    """Returns the log2 of the cells per octave for a number of groups."""
    bits = int(np.log2(max(_BUDGET / (_OCTAVES * num_groups), 1)))
    return int(np.clip(bits, *_BITS))


def _tail(bits: int) -> tuple[int, int, int]:
    """Returns the log2 of the cells per octave below 2^-30, the first cell from 2^-126
    on and the first cell from 2^-30 on.
    """
    tail = min(bits, _TAIL_BITS)
    normal = 1 + _MANTISSA * 2**tail
    return tail, normal, normal + (_NORMAL - _LOW) * 2**tail


def num_cells(bits: int) -> int:
    """Returns the number of cells of a group."""
    return _tail(bits)[2] + _OCTAVES * 2**bits + 2  # Those of 1 - 2^-24 and of 1.


def _steps(value: xp.Tensor, bits: int, smallest: int) -> xp.Tensor:
    """Returns how many cells of an octave `value` lies above 2^smallest."""
    pattern = xp.bitcast(value, xp.int32)
    step = xp.bitwise.right_shift(pattern, _MANTISSA - bits)
    return step - (_BIAS + smallest) * 2**bits


def index(scores: xp.Tensor, bits: int) -> xp.Tensor:
    """Returns the int32 cell of each score in [0, 1], ascending with the score."""
    tail, normal, full = _tail(bits)
    scores = xp.cast(scores, xp.float32)
    # The bits of a number below 2^-126 count its multiples of 2^-149.
    count = xp.maximum(xp.bitcast(scores, xp.int32), 0)  # -0.0 is 0.
    denormal = xp.maximum(1 + _steps(xp.cast(count, xp.float32), tail, 0), 0)
    tiny = normal + _steps(scores, tail, -_NORMAL)
    low = full + _steps(scores, bits, -_LOW)
    # 1 - p is exact in float32 for p >= 1/2.
    distance = xp.maximum(1 - scores, 2.0**-_HIGH)
    last = num_cells(bits) - 1
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


def upper_edges(bits: int) -> np.ndarray:
    """Returns the largest float32 score of each cell, shape [cells]."""

    def octaves(first, last, cells_log2):  # The lower ends of cells, ascending.
        step = np.arange((last - first) * 2**cells_log2)
        octave, part = np.divmod(step, 2**cells_log2)
        return np.ldexp(1 + part / 2**cells_log2, octave + first)

    tail = _tail(bits)[0]
    counts = np.ceil(octaves(0, _MANTISSA, tail)).astype(np.int32)
    lower = np.concatenate([octaves(-_NORMAL, -_LOW, tail), octaves(-_LOW, -1, bits)])
    lower = np.append(
        lower.astype(np.float32).view(np.int32), np.float32(0.5).view("i4")
    )
    below = (np.concatenate([counts, lower]) - 1).view(np.float32)
    above = 1 - octaves(-_HIGH, -1, bits)[::-1]
    above = np.concatenate([[0.5], above, [1.0]])
    return np.concatenate([below, above]).astype(np.float32)


def adaptive_statistics(
    sums: _sums.Sums, num_groups: int, num_bins: int, bits: int, dtype: xp.DType
) -> _binning.BinStatistics:
    """Groups neighbouring cells into bins of equal mass; a cell is never split."""
    cells = num_cells(bits)
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
    binned = _sums.regroup(sums, of, num_groups * num_bins)
    counts, score_sums, outcome_sums = xp.unstack(
        xp.reshape(_sums.totals(binned, dtype), [3, num_groups, num_bins])
    )
    upper = xp.constant(np.tile(upper_edges(bits), num_groups), dtype)
    edges = _binning.adaptive_edges(upper, of, num_groups, num_bins)
    return _binning.BinStatistics(
        edges, counts, score_sums, outcome_sums, additive=False
    )
