"""A fixed grid of narrow cells: the streaming state of everything that needs sorting.

Adaptive bins and ranks are not additive, but counts on a fixed grid are, and
neighbouring cells can be grouped afterwards. A cell acts as a tie: its scores are not
told apart, but their sum is exact.

Most scores of ordinary models lie between 0.01 and 0.99. There all cells are equally
wide: 2^-even below 1/2, and 2^-high above it. Of many classes most probabilities are
small, so that `high` may be less than `even`.

Scores of trained networks pile up at 0 and 1. There the width of a cell shrinks with
the distance to 0 or 1 (the idea of DDSketch and HdrHistogram): an octave, in which the
distance halves, has 2^bits cells. Octaves go down to p = 2^-30 and to 1 - p = 2^-24,
which is the resolution of float32. Smaller scores need only their order: 2^tail cells
for each octave go down to the smallest float32. 1/2 and 1 have cells of their own.

Without `even`, every octave has 2^bits cells: what `sketch_bits` asks for, and what all
sketches had before.

Scores of the whole real line have the same cells in [0, 1], and outside it 2^bits cells
for each octave of |score| from 2^-30 to 2^20, and few beyond.
"""

from __future__ import annotations

import math

import numpy as np

# What the bits of a float32 say.
MANTISSA = 23
BIAS = 127
NORMAL = 126  # The smallest number with all its bits is 2^-126.

LOW, HIGH = 30, 24  # Full resolution reaches down to 2^-30, and up to 1 - 2^-24.
_TAIL_BITS = 2

# Outside [0, 1] full resolution is that of sizes from 2^-30 to 2^20.
REAL_LOW, REAL_HIGH = -30, 20

# The arguments of `num_cells` where ranks alone are read: in [0, 1], and of all reals.
RANKING_BITS = ((6, 1, 11), (7, 2, 11))


def default_bits(num_groups: int) -> tuple[int, int, int, int]:
    """Returns `(bits, tail, even, high)` of sketches of so many groups."""
    if num_groups > 100:
        return 2, 0, 3, 3
    even = round(13 - 0.9 * math.log2(num_groups))
    if num_groups > 2:
        return 3, 0, even + 1, even - 1
    return (7 if num_groups == 1 else 3), 2, even, even


def tail_cells(bits: int, tail: int | None = None) -> tuple[int, int, int]:
    """Returns the log2 of the cells per octave below 2^-30, the first cell from 2^-126
    on and the first cell from 2^-30 on.
    """
    tail = min(bits, _TAIL_BITS) if tail is None else tail
    normal = 1 + MANTISSA * 2**tail
    return tail, normal, normal + (NORMAL - LOW) * 2**tail


def evens(bits: int, even: int | None, high: int | None) -> tuple[int, int]:
    """Returns `even` and `high`, or what they are where they are not given."""
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
    """Returns how many cells of an octave the float32 of these bits lie above
    2^smallest.
    """
    return (pattern >> MANTISSA - bits) - (BIAS + smallest) * 2**bits


def index(
    scores: np.ndarray,
    bits: int,
    tail: int | None = None,
    even: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Returns the int32 cell of each float32 score in [0, 1], ascending with it."""
    last = num_cells(bits, tail, even, high) - 1
    half = middle(bits, tail, even)
    even, high = evens(bits, even, high)
    tail, normal, _ = tail_cells(bits, tail)
    pattern = np.maximum(scores.view(np.int32), 0)  # -0.0 is 0.
    is_low = scores < 0.5
    # 1 - p is exact in float32 for p >= 1/2.
    distance = np.where(is_low, scores, np.float32(1) - scores)
    distance = np.maximum(distance, np.float32(2.0**-LOW), out=distance)
    cells = np.where(is_low, np.float32(2.0**even), np.float32(2.0**high))
    step = (distance * cells).astype(np.int32)
    near = np.flatnonzero(step < 2**bits)
    octaves = np.where(is_low[near], even, high)
    step[near] = _steps(distance[near].view(np.int32), bits, bits) + 2**bits
    step[near] += octaves * 2**bits
    low_end, high_end = half - 2 ** (even - 1), half + 2 ** (high - 1)
    cell = np.where(is_low, low_end + step, high_end - step)
    cell[scores == 1] = last
    # Few scores are so small.
    below = np.flatnonzero(scores < 2.0**-LOW)
    cell[below] = normal + _steps(pattern[below], tail, -NORMAL)
    below = below[pattern[below] < 2**MANTISSA]
    # Their bits count multiples of 2^-149.
    count = pattern[below].astype(np.float32).view(np.int32)
    cell[below] = np.maximum(1 + _steps(count, tail, 0), 0)
    return cell


def octave_cells(bits: int, low: int) -> int:
    """Returns the number of cells of the numbers from 2^low on."""
    tail = tail_cells(bits)[0]
    return (REAL_HIGH - low) * 2**bits + (BIAS + 1 - REAL_HIGH) * 2**tail


def below_zero(bits: int) -> int:
    """Returns the number of cells of negative scores."""
    tail = tail_cells(bits)[0]
    return 1 + (NORMAL + REAL_LOW) * 2**tail + octave_cells(bits, REAL_LOW)


def num_real_cells(bits: int, *inner: int) -> int:
    """Returns the number of cells of the real line; `inner` are the other arguments of
    `num_cells`.
    """
    return below_zero(bits) + num_cells(bits, *inner) + octave_cells(bits, 0)


def _octaves(first: int, last: int, bits: int) -> np.ndarray:
    """Returns 2^bits evenly spaced numbers from each octave, [2^first, 2^last)."""
    steps = 1 + np.arange(2**bits) / 2**bits
    return (2.0 ** np.arange(first, last)[:, np.newaxis] * steps).reshape(-1)


def _distances(bits: int, even: int, octaves: int) -> np.ndarray:
    """Returns where the cells of distances to 0 or 1 begin, from 2^-octaves to 1/2."""
    wide = np.arange(2**bits, 2 ** (even - 1)) * 2.0**-even
    return np.concatenate([_octaves(-octaves, bits - even, bits), wide])


def _starts(bits: int, tail: int, even: int) -> np.ndarray:
    """Returns where the cells from 2^-126 to 1/2 begin, 1/2 included."""
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
    """Returns the least and the largest number of each cell, float64 [cells]; scores
    are rounded to float32 before they are put into one.
    """
    tail, (even, high) = tail_cells(bits, tail)[0], evens(bits, even, high)
    tiny = np.ceil(_octaves(0, MANTISSA, tail)) * 2.0 ** -(NORMAL + MANTISSA)
    starts = np.concatenate([[0.0], tiny, _starts(bits, tail, even)])
    distances = np.append(_distances(bits, high, HIGH), 0.5)[::-1]
    least = np.concatenate([starts, 1 - distances[:-1], [1.0]])
    largest = np.concatenate([[0.0], starts[2:], [0.5], 1 - distances[1:], [1.0]])
    return least, largest


def rounded_limits(*bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the same of float64 scores, which are rounded to float32 before they are
    put into a cell.
    """
    least, largest = limits(*bits)
    part = 2.0 ** -(MANTISSA + 1)  # What float32 rounds away, and 2^-150 at least.
    return (
        np.maximum(least * (1 - part) - 2.0**-150, 0.0),
        np.minimum(largest * (1 + part) + 2.0**-150, 1.0),
    )
