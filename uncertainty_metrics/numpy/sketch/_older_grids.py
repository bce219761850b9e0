"""Moves sketches that were saved with an older grid to the present grid.

Each cell is moved as a whole, to the new cell that contains its mean score.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping

import numpy as np

from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy.sketch import _grid

# The units of the two rows of scores in `units`: see `ops/_sums.py`.
WHOLE, REST = 2.0**-9, 2.0**-31
# The older arguments of `num_cells` for metrics that need only ranks, after version 1.0
# and in it: of scores in [0, 1], and of real scores.
RANKING_BITS = ((6,), (8,)), ((7,), (8,))


def default_bits(num_groups: int) -> tuple[tuple[int, ...], ...]:
    """Returns what `_grid.default_bits` returned after version 1.0, and in it."""
    later = int(max(7 - math.log2(num_groups), 5 - math.log10(num_groups), 2))
    earlier = math.log2(max(2**18 / (52 * num_groups), 1))
    return (later, 0 if later == 2 else 2), (int(min(max(earlier, 4), 10)),)


def calibration_arrays(
    arrays: dict[str, np.ndarray], num_groups: int
) -> dict[str, np.ndarray]:
    """Returns the arrays of a metric of calibration, moved to the present grid."""
    new_bits = _grid.default_bits(num_groups)
    size = num_groups * _grid.num_cells(*new_bits)
    for old_bits in default_bits(num_groups):
        old_size = num_groups * _grid.num_cells(*old_bits)
        if old_size == size or not _have_cells(arrays, old_size):
            continue
        units = arrays["units"][:, :old_size]
        pairs = (arrays["hi"].astype(np.float64) + arrays["lo"])[:, :old_size]
        scores = units[1] * WHOLE + units[2] * REST + pairs[1]
        cells = _cells_of_means(units[0] + pairs[0], scores, num_groups, new_bits)
        return moved(arrays, cells, size)
    return arrays


def ranking_arrays(
    arrays: dict[str, np.ndarray], cells: np.ndarray, size: int
) -> dict[str, np.ndarray]:
    """Returns the arrays of a metric of ranks, moved if they have the older grid.

    Args:
      arrays: the arrays of the state.
      cells: the present cell of each cell of the older grid.
      size: number of cells of the present grid.
    """
    return moved(arrays, cells, size) if _have_cells(arrays, len(cells)) else arrays


def unit_ranking_arrays(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays of a metric of ranks in [0, 1], moved to the present grid."""
    new_bits = _grid.RANKING_BITS[False]
    for old_bits in RANKING_BITS[False]:
        middles = np.mean(_grid.limits(*old_bits), axis=0).astype(np.float32)
        cells = _grid.index(middles, *new_bits)
        arrays = ranking_arrays(arrays, cells, _grid.num_cells(*new_bits))
    return arrays


def exact_rows(rows: Mapping[str, ExactSums], num_groups: int) -> dict[str, ExactSums]:
    """Returns the rows of a `ScoreSketch`, moved to the present grid."""
    new_bits = _grid.default_bits(num_groups)
    size = num_groups * _grid.num_cells(*new_bits)
    weights, scores = (rows[name].values for name in ("weights", "score_sums"))
    cells = _cells_of_means(weights, scores, num_groups, new_bits)
    _warn()
    return {name: moved_sums(row, cells, size) for name, row in rows.items()}


def moved(
    arrays: dict[str, np.ndarray], cells: np.ndarray, size: int
) -> dict[str, np.ndarray]:
    """Returns arrays with their cells moved.

    Args:
      arrays: the arrays of a state.
      cells: the new cell of each old cell. Further columns of the arrays stay last.
      size: number of new cells.
    """
    _warn()
    further = np.arange(size, size + arrays["units"].shape[1] - len(cells))
    places = np.concatenate([cells, further])

    def moved_columns(array: np.ndarray) -> np.ndarray:
        total = np.zeros((len(array), size + len(further)), array.dtype)
        for row, values in zip(total, array, strict=True):
            np.add.at(row, places, values)
        return total

    # The sum of `hi` and `lo` fits into a float64.
    pairs = moved_columns(arrays["hi"].astype(np.float64) + arrays["lo"])
    hi = pairs.astype(np.float32)
    sums = {"units": moved_columns(arrays["units"]), "hi": hi}
    return {**arrays, **sums, "lo": (pairs - hi).astype(np.float32)}


def _have_cells(arrays: Mapping[str, np.ndarray], num_cells: int) -> bool:
    """Says if arrays have so many cells, or one more, which counts the examples."""
    parts = [arrays.get(name) for name in ("units", "hi", "lo")]
    return all(
        part is not None and part.ndim == 2 and part.shape[1] - num_cells in (0, 1)
        for part in parts
    )


def _cells_of_means(
    weights: np.ndarray, score_sums: np.ndarray, num_groups: int, bits: tuple[int, ...]
) -> np.ndarray:
    """Returns the cell of each mean score in the grid of all groups with these bits."""
    cells = cells_of(score_sums / np.where(weights > 0, weights, 1), bits)
    groups = np.arange(num_groups) * _grid.num_cells(*bits)
    return cells + np.repeat(groups, len(cells) // num_groups)


def cells_of(scores: np.ndarray, bits: tuple[int, ...]) -> np.ndarray:
    """Returns the cell of each score in the grid of one group with these bits."""
    return _grid.index(np.clip(scores, 0, 1).astype(np.float32), *bits)


def moved_sums(row: ExactSums, cells: np.ndarray, size: int) -> ExactSums:
    """Returns sums over new cells, given the new cell of each old one."""
    total = Total(ExactSums.zeros(size))
    for place, digit in enumerate(row.digits, row.lowest):
        total.add(np.ldexp(digit.astype(np.float64), 32 * place), cells)
    return total.sums()


def _warn() -> None:
    warnings.warn(
        "This sketch was saved with wider cells than sketches have now. Each cell was "
        "moved to where its mean score lies: the answers are as accurate as before, "
        "but less accurate than those of a new sketch.",
        stacklevel=2,
    )
