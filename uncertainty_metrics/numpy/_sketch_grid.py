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

# What the bits of a float32 say.
MANTISSA = 23
BIAS = 127
NORMAL = 126  # The smallest number with all its bits is 2^-126.

LOW, HIGH = 30, 24  # Full resolution reaches down to 2^-30, and up to 1 - 2^-24.
_OCTAVES = (LOW - 1) + (HIGH - 1)
_TAIL_BITS = 2

# Outside [0, 1] full resolution is that of sizes from 2^-30 to 2^20.
REAL_LOW, REAL_HIGH = -30, 20

# Bits where there is one group, and where there are many: one less each time that there
# are twice as many, or ten times.
_FEW_GROUPS, _MANY_GROUPS, _LEAST = 7, 5, 2
# The bits for one group in version 1.0, and the least, of as many cells as possible.
_OLD_BITS, _OLD_CELLS = (4, 10), 2**18
# Where ranks alone are read, of [0, 1] and of the real line; 8 in version 1.0.
RANKING_BITS, OLD_RANKING_BITS = (6, 7), 8


def default_bits(num_groups: int) -> tuple[int, int]:
    """Returns the log2 of the cells per octave, and below 2^-30."""
    few = _FEW_GROUPS - math.log2(num_groups)
    many = _MANY_GROUPS - math.log10(num_groups)
    bits = int(max(few, many, _LEAST))
    return bits, 0 if bits == _LEAST else _TAIL_BITS


def tail_cells(bits: int, tail: int | None = None) -> tuple[int, int, int]:
    """Returns the log2 of the cells per octave below 2^-30, the first cell from 2^-126
    on and the first cell from 2^-30 on.
    """
    tail = min(bits, _TAIL_BITS) if tail is None else tail
    normal = 1 + MANTISSA * 2**tail
    return tail, normal, normal + (NORMAL - LOW) * 2**tail


def num_cells(bits: int, tail: int | None = None) -> int:
    """Returns the number of cells of a group."""
    # Those of 1 - 2^-24 and of 1 too.
    return tail_cells(bits, tail)[2] + _OCTAVES * 2**bits + 2


def _steps(pattern: np.ndarray, bits: int, smallest: int) -> np.ndarray:
    """Returns how many cells of an octave the float32 of these bits lie above
    2^smallest.
    """
    return (pattern >> MANTISSA - bits) - (BIAS + smallest) * 2**bits


def index(scores: np.ndarray, bits: int, tail: int | None = None) -> np.ndarray:
    """Returns the int32 cell of each float32 score in [0, 1], ascending with it."""
    last = num_cells(bits, tail) - 1
    tail, normal, full = tail_cells(bits, tail)
    pattern = np.maximum(scores.view(np.int32), 0)  # -0.0 is 0.
    # 1 - p is exact in float32 for p >= 1/2.
    distance = np.maximum(np.float32(1) - scores, np.float32(2.0**-HIGH))
    cell = last - 1 - _steps(distance.view(np.int32), bits, -HIGH)
    below = np.flatnonzero(scores < 0.5)
    cell[below] = full + _steps(pattern[below], bits, -LOW)
    cell[scores == 1] = last
    # Few scores are so small.
    below = below[scores[below] < 2.0**-LOW]
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


def num_real_cells(bits: int) -> int:
    """Returns the number of cells of the real line."""
    return below_zero(bits) + num_cells(bits) + octave_cells(bits, 0)


def _octaves(first: int, last: int, cells_log2: int) -> np.ndarray:
    """Returns the lower ends of the cells from 2^first to 2^last, ascending."""
    step = np.arange((last - first) * 2**cells_log2)
    octave, part = np.divmod(step, 2**cells_log2)
    return np.ldexp(1 + part / 2**cells_log2, octave + first)


def upper_edges(bits: int, tail: int | None = None) -> np.ndarray:
    """Returns the largest float32 score of each cell, shape [cells]."""
    tail = tail_cells(bits, tail)[0]
    counts = np.ceil(_octaves(0, MANTISSA, tail)).astype(np.int32)
    lower = np.concatenate([_octaves(-NORMAL, -LOW, tail), _octaves(-LOW, -1, bits)])
    lower = np.append(
        lower.astype(np.float32).view(np.int32), np.float32(0.5).view("i4")
    )
    below = (np.concatenate([counts, lower]) - 1).view(np.float32)
    above = 1 - _octaves(-HIGH, -1, bits)[::-1]
    above = np.concatenate([[0.5], above, [1.0]])
    return np.concatenate([below, above]).astype(np.float32)


def limits(bits: int, tail: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Returns the least and the largest number of each cell, float64 [cells]; scores
    are rounded to float32 before they are put into one.
    """
    tail = tail_cells(bits, tail)[0]
    tiny = np.ceil(_octaves(0, MANTISSA, tail)) * 2.0 ** -(NORMAL + MANTISSA)
    low = [[0.0], tiny, _octaves(-NORMAL, -LOW, tail), _octaves(-LOW, -1, bits), [0.5]]
    starts = np.concatenate(low)
    distances = np.append(_octaves(-HIGH, -1, bits), 0.5)[::-1]
    least = np.concatenate([starts, 1 - distances[:-1], [1.0]])
    largest = np.concatenate([[0.0], starts[2:], [0.5], 1 - distances[1:], [1.0]])
    return least, largest


def rounded_limits(bits: int, tail: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Returns the same of float64 scores."""
    least, largest = limits(bits, tail)
    part = 2.0 ** -(MANTISSA + 1)  # What float32 rounds away, and 2^-150 at least.
    return (
        np.maximum(least * (1 - part) - 2.0**-150, 0.0),
        np.minimum(largest * (1 + part) + 2.0**-150, 1.0),
    )


def old_default_bits(num_groups: int) -> int:
    """Returns what `default_bits` was in version 1.0."""
    bits = np.log2(max(_OLD_CELLS / (_OCTAVES * num_groups), 1))
    return int(np.clip(bits, *_OLD_BITS))


def _parts(bits: int, tail: int, real: bool) -> list[tuple[int, int, int]]:
    """Returns, of each part of the cells, their number, the log2 of the cells of an
    octave, and 1 where octaves ascend with the cells, else -1.
    """
    above = (HIGH - 1) * 2**bits + 1
    unit = [
        (1, 0, 1),
        ((MANTISSA + NORMAL - LOW) * 2**tail, tail, 1),
        ((LOW - 1) * 2**bits, bits, 1),
        (above, bits, -1),
        (1, 0, 1),
    ]
    if not real:
        return unit
    outer = (BIAS + 1 - REAL_HIGH) * 2**tail
    inner = (REAL_HIGH - REAL_LOW) * 2**bits
    tiny = (NORMAL + REAL_LOW) * 2**tail
    return [
        (outer, tail, -1),
        (inner, bits, -1),
        (tiny, tail, -1),
        (1, 0, 1),
        *unit,
        (REAL_HIGH * 2**bits, bits, 1),
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
