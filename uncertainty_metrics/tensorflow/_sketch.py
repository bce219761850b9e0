"""A fixed grid of narrow cells: the streaming state of everything that needs sorting.

Adaptive bins and ranks are not additive, but counts on a fixed grid are, and
neighbouring cells can be grouped afterwards. Scores of trained networks pile up at 0
and 1, so cells have constant relative width in p below 1/2 and in 1 - p above (the idea
of DDSketch and HdrHistogram): 2^bits cells an octave, from 2^-30 up and, mirrored, up
to 1 - 2^-24, the resolution of float32. A cell acts as a tie: its scores are not told
apart, but their sum is exact.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from uncertainty_metrics.tensorflow import _binning, _sums

_LOW, _HIGH = 30, 24  # Octaves below 1/2 reach down to 2^-30, above to 1 - 2^-24.
_OCTAVES = (_LOW - 1) + (_HIGH - 1)
_MANTISSA = 23
_BIAS = 127

# Cells of a sketch over all its groups; more resolution where there are few groups.
_BUDGET = 2**18
_BITS = (4, 10)


def default_bits(num_groups: int) -> int:
    """Returns the log2 of the cells per octave for a number of groups."""
    bits = int(np.log2(_BUDGET / (_OCTAVES * num_groups)))
    return int(np.clip(bits, *_BITS))


def num_cells(bits: int) -> int:
    """Returns the number of cells of a group."""
    return _OCTAVES * 2**bits + 1


def index(scores: tf.Tensor, bits: int) -> tf.Tensor:
    """Returns the int32 cell of each score in [0, 1], ascending with the score."""
    scores = tf.cast(scores, tf.float32)

    def steps(value, smallest):  # Steps of relative width above the smallest octave.
        pattern = tf.bitcast(tf.maximum(value, 2.0**-smallest), tf.int32)
        return pattern // 2 ** (_MANTISSA - bits) - (_BIAS - smallest) * 2**bits

    # 1 - p is exact in float32 for p >= 1/2.
    low = steps(scores, _LOW)
    high = num_cells(bits) - 1 - steps(1 - scores, _HIGH)
    return tf.where(scores < 0.5, low, high)


def upper_edges(bits: int) -> np.ndarray:
    """Returns the largest float32 score of each cell, shape [cells]."""
    step = np.arange(1, (_LOW - 1) * 2**bits + 1)
    octave, part = np.divmod(step, 2**bits)
    low = np.ldexp(1 + part / 2**bits, octave - _LOW)
    low = np.nextafter(low.astype(np.float32), np.float32(0))
    step = np.arange((_HIGH - 1) * 2**bits, -1, -1)
    octave, part = np.divmod(step, 2**bits)
    high = 1 - np.ldexp(1 + part / 2**bits, octave - _HIGH)
    high[-1] = 1.0
    return np.concatenate([low, high]).astype(np.float32)


def adaptive_statistics(
    sums: _sums.Sums, num_groups: int, num_bins: int, bits: int, dtype: tf.DType
) -> _binning.BinStatistics:
    """Groups neighbouring cells into bins of equal mass; a cell is never split."""
    cells = num_cells(bits)
    masses = _sums.integer_masses(_sums.totals(sums)[0], num_bins)
    masses = tf.reshape(masses, [num_groups, cells])
    index = _binning.mass_bins(
        tf.cumsum(masses, axis=1, exclusive=True),
        masses,
        tf.reduce_sum(masses, axis=1, keepdims=True),
        num_bins,
    )
    groups = tf.range(num_groups)[:, None]
    of = tf.reshape(groups * num_bins + tf.cast(index, tf.int32), [-1])
    binned = _sums.regroup(sums, of, num_groups * num_bins)
    counts, score_sums, outcome_sums = tf.unstack(
        tf.reshape(_sums.totals(binned, dtype), [3, num_groups, num_bins])
    )
    upper = tf.constant(np.tile(upper_edges(bits), num_groups), dtype)
    edges = _binning.adaptive_edges(upper, of, num_groups, num_bins)
    return _binning.BinStatistics(
        edges, counts, score_sums, outcome_sums, additive=False
    )
