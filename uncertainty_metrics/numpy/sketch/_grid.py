"""A fixed grid of narrow cells: the streaming state of metrics that need sorted scores.

Adaptive bins and ranks are not additive, but counts on a fixed grid are, and
neighbouring cells can be grouped afterwards. A cell acts as a tie: its scores are not
distinguished, but their sum is exact.

Most scores of ordinary models are between 0.01 and 0.99. There all cells are equally
wide: 2^-even below 1/2, and 2^-high above it. With many classes most probabilities are
small, so `high` may be less than `even`.

Scores of trained networks accumulate near 0 and 1. There the width of a cell shrinks
with the distance to 0 or 1 (the idea of DDSketch and HdrHistogram): each octave, in
which the distance halves, has 2^bits cells. Octaves go down to p = 2^-30 and to
1 - p = 2^-24, which is the resolution of float32. For smaller scores only the order
matters: each octave down to the smallest float32 has 2^tail cells. 1/2 and 1 have cells
of their own.

Without `even`, every octave has 2^bits cells. `sketch_bits` asks for that grid.

Scores on the whole real line have the same cells in [0, 1]. Outside, they have 2^bits
cells for each octave of |score| from 2^-30 to 2^20, and few beyond.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

# The format of a float32: bits of the mantissa, bias of the exponent, and the exponent
# of the smallest number with full precision, 2^-126.
MANTISSA = 23
BIAS = 127
NORMAL = 126

LOW, HIGH = 30, 24  # Full resolution reaches down to 2^-30, and up to 1 - 2^-24.
_TAIL_BITS = 2

# A table of the cells by the leading bits of a score takes a third of the time. It has
# up to 2^9 entries for each power of these bits of the mantissa.
_MOST_TABLE_BITS, _LEAST_TABLE_SCORES = 11, 2**12

# Outside [0, 1], absolute values from 2^-30 to 2^20 have full resolution.
REAL_LOW, REAL_HIGH = -30, 20

# The arguments of `num_cells` for metrics that need only ranks: of scores in [0, 1],
# and of real scores.
RANKING_BITS = ((6, 1, 11), (7, 2, 11))
# Those for several columns of real scores, each of which has a sketch.
COLUMN_BITS = (5, 1, 10)


def default_bits(num_groups: int) -> tuple[int, int, int, int]:
    """Returns `(bits, tail, even, high)` of a sketch of this many groups."""
    if num_groups > 100:
        return 2, 0, 3, 3
    even = round(13 - 0.9 * math.log2(num_groups))
    if num_groups > 2:
        return 3, 0, even + 1, even - 1
    return (7 if num_groups == 1 else 3), 2, even, even


def tail_cells(bits: int, tail: int | None = None) -> tuple[int, int, int]:
    """Returns the log2 of the cells per octave below 2^-30, the first cell of scores >=
    2^-126, and the first cell of scores >= 2^-30.
    """
    tail = min(bits, _TAIL_BITS) if tail is None else tail
    normal = 1 + MANTISSA * 2**tail
    return tail, normal, normal + (NORMAL - LOW) * 2**tail


def evens(bits: int, even: int | None, high: int | None) -> tuple[int, int]:
    """Returns `even` and `high`, with their defaults for None."""
    even = bits + 1 if even is None else even
    return even, even if high is None else high


def middle(
    bits: int, tail: int | None = None, even: int | None = None, high: int | None = None
) -> int:
    """Returns the cell of 1/2."""
    even, _ = evens(bits, even, high)
    return tail_cells(bits, tail)[2] + _cells_to_half(bits, even, LOW)


def num_cells(
    bits: int, tail: int | None = None, even: int | None = None, high: int | None = None
) -> int:
    """Returns the number of cells of a group."""
    _, above = evens(bits, even, high)
    # One cell more for 1/2, and one for 1.
    return middle(bits, tail, even) + _cells_to_half(bits, above, HIGH) + 2


def _cells_to_half(bits: int, even: int, octaves: int) -> int:
    """Returns the number of cells of distances to 0 or 1 from 2^-octaves to 1/2."""
    return (octaves - (even - bits)) * 2**bits + 2 ** (even - 1) - 2**bits


def _steps(pattern: np.ndarray, bits: int, smallest: int) -> np.ndarray:
    """Returns the number of cells from 2^smallest up to floats, for 2^bits cells per
    octave. `pattern` has the bits of the floats, as float32.
    """
    return (pattern >> MANTISSA - bits) - (BIAS + smallest) * 2**bits


def index(
    scores: np.ndarray,
    bits: int,
    tail: int | None = None,
    even: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Returns the int32 cell of each float32 score in [0, 1], ascending with scores."""
    grid = (bits, tail, even, high)
    # From 1/4 to 1/2, the octave of most cells, there are 2^(even - 2).
    finest = max(bits, *(width - 2 for width in evens(bits, even, high)))
    if finest > _MOST_TABLE_BITS or len(scores) < _LEAST_TABLE_SCORES:
        return _computed_index(scores, *grid)
    table = _table(finest, *grid)
    distance = np.minimum(scores, np.float32(1) - scores)
    key = distance.view(np.int32) >> MANTISSA - finest
    key += (scores >= 0.5) * np.int32(len(table) // 2)
    cell = table.take(key, mode="clip")  # Faster than with a check of the keys.
    # 0, 1, and denormal numbers, whose leading bits do not tell the cell.
    small = np.flatnonzero(distance < 2.0**-NORMAL)
    cell[small] = _computed_index(scores[small], *grid)
    return cell


@functools.lru_cache(maxsize=8)
def _table(finest: int, *grid: Any) -> np.ndarray:
    """Returns the cells by the leading bits of the distance of a score to 0 or 1.

    A distance has 8 bits of the exponent and `finest` bits of the mantissa. The first
    half of the table is for scores below 1/2, the second for the others.
    """
    shift = MANTISSA - finest
    keys = np.arange((int(np.float32(0.5).view(np.int32)) >> shift) + 1, dtype=np.int32)
    distance = (keys << shift).view(np.float32)
    scores = np.concatenate([distance, np.float32(1) - distance])
    return _computed_index(scores, *grid)


def _computed_index(
    scores: np.ndarray, bits: int, tail: int | None, even: int | None, high: int | None
) -> np.ndarray:
    """Returns what `index` does, without a table."""
    last = num_cells(bits, tail, even, high) - 1
    half = middle(bits, tail, even)
    even, high = evens(bits, even, high)
    tail, normal, _ = tail_cells(bits, tail)
    pattern = np.maximum(scores.view(np.int32), 0)  # -0.0 is 0.
    is_low = scores < 0.5
    # 1 - p is exact in float32 for p >= 1/2.
    distance = np.minimum(scores, np.float32(1) - scores)
    np.maximum(distance, np.float32(2.0**-LOW), out=distance)
    cells = np.float32(2.0**even)
    if high != even:
        cells = np.where(is_low, cells, np.float32(2.0**high))
    step = (distance * cells).astype(np.int32)
    near = np.flatnonzero(step < 2**bits)
    octaves = np.where(is_low[near], even, high)
    step[near] = _steps(distance[near].view(np.int32), bits, bits) + 2**bits
    step[near] += octaves * 2**bits
    low_end, high_end = half - 2 ** (even - 1), half + 2 ** (high - 1)
    cell = np.where(is_low, low_end + step, high_end - step)
    cell[scores == 1] = last
    # The few scores below full resolution.
    below = np.flatnonzero(scores < 2.0**-LOW)
    cell[below] = normal + _steps(pattern[below], tail, -NORMAL)
    # Denormal numbers, whose bits count multiples of 2^-149.
    below = below[pattern[below] < 2**MANTISSA]
    count = pattern[below].astype(np.float32).view(np.int32)
    cell[below] = np.maximum(1 + _steps(count, tail, 0), 0)
    return cell


def octave_cells(bits: int, low: int) -> int:
    """Returns the number of cells of all numbers >= 2^low."""
    tail = tail_cells(bits)[0]
    return (REAL_HIGH - low) * 2**bits + (BIAS + 1 - REAL_HIGH) * 2**tail


def below_zero(bits: int) -> int:
    """Returns the number of cells of negative scores."""
    tail = tail_cells(bits)[0]
    return 1 + (NORMAL + REAL_LOW) * 2**tail + octave_cells(bits, REAL_LOW)


def num_real_cells(bits: int, *inner: int) -> int:
    """Returns the number of cells of the real line; `inner` are the arguments of
    `num_cells` after `bits`.
    """
    return below_zero(bits) + num_cells(bits, *inner) + octave_cells(bits, 0)


def _octaves(first: int, last: int, bits: int) -> np.ndarray:
    """Returns 2^bits evenly spaced numbers in each octave of [2^first, 2^last)."""
    steps = 1 + np.arange(2**bits) / 2**bits
    return (2.0 ** np.arange(first, last)[:, np.newaxis] * steps).reshape(-1)


def _distances(bits: int, even: int, octaves: int) -> np.ndarray:
    """Returns the starts of cells of distances to 0 or 1, from 2^-octaves to 1/2."""
    wide = np.arange(2**bits, 2 ** (even - 1)) * 2.0**-even
    return np.concatenate([_octaves(-octaves, bits - even, bits), wide])


def _starts(bits: int, tail: int, even: int) -> np.ndarray:
    """Returns the starts of the cells from 2^-126 to 1/2, including 1/2."""
    small = _octaves(-NORMAL, -LOW, tail)
    return np.concatenate([small, _distances(bits, even, LOW), [0.5]])


def upper_edges(
    bits: int, tail: int | None = None, even: int | None = None, high: int | None = None
) -> np.ndarray:
    """Returns the largest float32 score of each cell, shape [cells]."""
    tail, (even, high) = tail_cells(bits, tail)[0], evens(bits, even, high)
    counts = np.ceil(_octaves(0, MANTISSA, tail)).astype(np.int32)
    patterns = _starts(bits, tail, even).astype(np.float32).view(np.int32)
    below = (np.concatenate([counts, patterns]) - 1).view(np.float32)
    above = 1 - _distances(bits, high, HIGH)[::-1]
    return np.concatenate([below, [0.5], above, [1.0]]).astype(np.float32)


def limits(
    bits: int, tail: int | None = None, even: int | None = None, high: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the least and the largest number of each cell, float64 [cells], after
    scores are rounded to float32.
    """
    tail, (even, high) = tail_cells(bits, tail)[0], evens(bits, even, high)
    tiny = np.ceil(_octaves(0, MANTISSA, tail)) * 2.0 ** -(NORMAL + MANTISSA)
    starts = np.concatenate([[0.0], tiny, _starts(bits, tail, even)])
    distances = np.append(_distances(bits, high, HIGH), 0.5)[::-1]
    least = np.concatenate([starts, 1 - distances[:-1], [1.0]])
    largest = np.concatenate([[0.0], starts[2:], [0.5], 1 - distances[1:], [1.0]])
    return least, largest


def rounded_limits(*bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the least and the largest number of each cell, float64 [cells], before
    scores are rounded to float32.
    """
    least, largest = limits(*bits)
    # The rounding of a float32 is relative, and 2^-150 for denormals.
    rounding = 2.0 ** -(MANTISSA + 1)
    return (
        np.maximum(least * (1 - rounding) - 2.0**-150, 0.0),
        np.minimum(largest * (1 + rounding) + 2.0**-150, 1.0),
    )
