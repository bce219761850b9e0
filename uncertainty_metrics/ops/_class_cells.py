"""Sums of the scores of all classes in the cells of each class, in blocks of rows.

With many rows and classes, arrays of the cell and of the units of each score do not
stay in the cache, and memory takes most of the time. Here a block of rows goes into the
cells before the next one is read. A cell holds its count and its scores in one integer,
so that each score is added once. The sums are those of `_sums.cell_sums`.
"""

from __future__ import annotations

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _binning,
    _execution,
    _inputs,
    _ranges,
    _sketch,
    _sums,
    to_numpy,
    xp,
)

# The number of scores in a block.
_BLOCK = 2**18
# The count of a cell is above this bit, and its scores are below it. Each score is at
# most 2^31 units, so that both have room for this many rows.
_COUNT_BIT = 47
_MOST_ROWS = 2**16 - 1


def are_worth_it(examples: _inputs.Examples, spec: CalibrationSpec, cells: int) -> bool:
    """Returns whether `units` has the sums of the examples, and takes less time, for a
    number of cells of a class.
    """
    others = examples.weights, examples.groups, examples.places, examples.shares
    has_others = any(each is not None for each in others)
    if spec.has_one_score or not spec.class_conditional or has_others:
        return False
    rows = examples.probabilities.shape[0]
    if not IS_TENSORFLOW:
        return rows > 0
    # A few rows go into the cells of the state alone. A graph adds to places slowly,
    # whether in blocks or not.
    return (rows or 0) >= cells and _execution.is_worth_compiling(
        examples.probabilities, often=True
    )


def index_of(
    scores: xp.Tensor, spec: CalibrationSpec, sketch_bits: tuple[int, ...] | None
) -> xp.Tensor:
    """Returns the int32 cell of each score in [0, 1]."""
    if sketch_bits is None:
        return _binning.even_index(scores, spec.num_bins)
    if _inputs.through_numpy(scores):  # By a table, in a third of the time.
        values = to_numpy(scores).astype(np.float32)
        with np.errstate(invalid="ignore"):  # A wrong number may be NaN.
            return xp.constant(_grid.index(values, *sketch_bits))
    return _sketch.index(scores, *sketch_bits)


def units(
    spec: CalibrationSpec,
    sketch_bits: tuple[int, ...] | None,
    cells: int,
    probabilities: xp.Tensor,
    labels: xp.Tensor,
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the units of a batch, int64 [4, K * cells], and whether all probabilities
    are right.

    Args:
      spec: of scores of all classes, with a group for each class.
      sketch_bits: the arguments of `grid.num_cells`; None for even bins.
      cells: the number of cells of a class.
      probabilities: [N, K], of known shape.
      labels: int32 [N], in [0, K).
    """
    rows, classes = probabilities.shape
    size = min(rows, _MOST_ROWS, max(_BLOCK // classes, 1))
    blocks = -(-rows // size)
    blocks_of_part = _MOST_ROWS // size
    nothing = xp.zeros([classes * cells], xp.int64)
    classes_of_block = xp.tile(xp.range(classes), [size])

    def placed(
        values: xp.Tensor, of_class: xp.Tensor
    ) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
        """Returns scores, their cells, and whether they are above the threshold."""
        above = values > xp.constant(spec.threshold or -1.0, values.dtype)
        # Bounds of integers: those of floats may take numbers below 2^-126 for 0. A
        # wrong number only has to have a cell, because its batch does not count.
        index = xp.clip_by_value(index_of(values, spec, sketch_bits), 0, cells - 1)
        cell = of_class * cells + index
        return xp.cast(values, xp.float32), cell, above

    def with_block(block: xp.Tensor, packed: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
        # The last block may begin within the one before.
        first = xp.minimum(block * size, rows - size)
        is_new = xp.range(size * classes) >= (block * size - first) * classes
        # One axis: in XLA each number of a row for a score costs as much as its cell.
        values = xp.reshape(xp.slice(probabilities, [first, 0], [size, classes]), [-1])
        scores, cell, above = placed(values, classes_of_block)
        added = xp.minimum(_sums.score_units(scores), 2**_sums.SCORE_BITS)
        added = added + 2**_COUNT_BIT
        added = xp.where(above & is_new, added, xp.zeros_like(added))
        return block + 1, _execution.added_to_places(packed, cell, added)

    def with_part(
        block: xp.Tensor, counts: xp.Tensor, score_sums: xp.Tensor
    ) -> tuple[xp.Tensor, ...]:
        end = xp.minimum(block + blocks_of_part, blocks)
        _, packed = xp.while_loop(
            lambda block, _: block < end, with_block, (block, xp.zeros_like(counts))
        )
        more = xp.bitwise.right_shift(packed, xp.constant(_COUNT_BIT, xp.int64))
        of_scores = packed - more * 2**_COUNT_BIT
        return end, counts + more, score_sums + of_scores

    _, counts, score_sums = xp.while_loop(
        lambda block, *_: block < blocks,
        with_part,
        (xp.constant(0), nothing, nothing),
    )
    _, hit_cell, above = placed(_inputs.take(probabilities, labels), labels)
    hits = xp.math.unsorted_segment_sum(
        xp.cast(above, xp.int32), hit_cell, classes * cells
    )
    whole, rest = _sums.limbs(score_sums)
    return (
        xp.stack([counts, whole, rest, xp.cast(hits, xp.int64)]),
        xp.reduce_all(_ranges.rows_in_range(probabilities)),
    )
