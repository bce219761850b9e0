"""States of sketches that were saved when the grid had other cells: moved to those of
now, each cell as a whole, to where its mean score lies.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping

import numpy as np

from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy.sketch import _grid

# What the units of scores are multiples of: see `ops/_sums.py`.
WHOLE, REST = 2.0**-9, 2.0**-31
# The arguments of `num_cells` where ranks alone are read, in the versions after 1.0 and
# in 1.0: in [0, 1], and on the real line.
RANKING_BITS = ((6,), (8,)), ((7,), (8,))


def default_bits(num_groups: int) -> tuple[tuple[int, ...], ...]:
    """Returns what `_sketch_grid.default_bits` was after version 1.0, and in it."""
    last = int(max(7 - math.log2(num_groups), 5 - math.log10(num_groups), 2))
    first = math.log2(max(2**18 / (52 * num_groups), 1))
    return (last, 0 if last == 2 else 2), (int(min(max(first, 4), 10)),)


def calibration_arrays(
    arrays: dict[str, np.ndarray], num_groups: int
) -> dict[str, np.ndarray]:
    """Returns the arrays of a metric of calibration, in the cells of now."""
    now = _grid.default_bits(num_groups)
    size = num_groups * _grid.num_cells(*now)
    for old in default_bits(num_groups):
        held = num_groups * _grid.num_cells(*old)
        if held == size or not _hold(arrays, held):
            continue
        units = arrays["units"][:, :held]
        rest = (arrays["hi"].astype(np.float64) + arrays["lo"])[:, :held]
        scores = units[1] * WHOLE + units[2] * REST + rest[1]
        cells = _cells_of_means(units[0] + rest[0], scores, num_groups, now)
        return moved(arrays, cells, size)
    return arrays


def ranking_arrays(
    arrays: dict[str, np.ndarray], cells: np.ndarray, size: int
) -> dict[str, np.ndarray]:
    """Returns the arrays of a metric of ranks, where they have so many cells as `cells`
    says the present ones of, in these, of `size`.
    """
    return moved(arrays, cells, size) if _hold(arrays, len(cells)) else arrays


def unit_ranking_arrays(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays of a metric of ranks in [0, 1], in the cells of now."""
    now = _grid.RANKING_BITS[False]
    for old in RANKING_BITS[False]:
        middles = np.mean(_grid.limits(*old), axis=0).astype(np.float32)
        cells = _grid.index(middles, *now)
        arrays = ranking_arrays(arrays, cells, _grid.num_cells(*now))
    return arrays


def exact_rows(rows: Mapping[str, ExactSums], num_groups: int) -> dict[str, ExactSums]:
    """Returns the rows of a `ScoreSketch`, in the cells of now."""
    now = _grid.default_bits(num_groups)
    size = num_groups * _grid.num_cells(*now)
    weights, scores = (rows[name].values for name in ("weights", "score_sums"))
    cells = _cells_of_means(weights, scores, num_groups, now)
    _warn()
    return {name: _moved_sums(row, cells, size) for name, row in rows.items()}


def moved(
    arrays: dict[str, np.ndarray], cells: np.ndarray, size: int
) -> dict[str, np.ndarray]:
    """Returns arrays whose first cells are put into `cells`, of `size` in all; those
    after them stay the last.
    """
    _warn()
    rest = np.arange(size, size + arrays["units"].shape[1] - len(cells))
    places = np.concatenate([cells, rest])

    def summed(array: np.ndarray) -> np.ndarray:
        total = np.zeros((len(array), size + len(rest)), array.dtype)
        for row, values in zip(total, array, strict=True):
            np.add.at(row, places, values)
        return total

    # What `hi` and `lo` add up to has no more bits than a float64.
    pair = summed(arrays["hi"].astype(np.float64) + arrays["lo"])
    hi = pair.astype(np.float32)
    sums = {"units": summed(arrays["units"]), "hi": hi}
    return {**arrays, **sums, "lo": (pair - hi).astype(np.float32)}


def _hold(arrays: Mapping[str, np.ndarray], num_cells: int) -> bool:
    """Says if arrays have so many cells, or one more, which counts the examples."""
    parts = [arrays.get(name) for name in ("units", "hi", "lo")]
    return all(
        part is not None and part.ndim == 2 and part.shape[1] - num_cells in (0, 1)
        for part in parts
    )


def _cells_of_means(
    weights: np.ndarray, scores: np.ndarray, num_groups: int, now: tuple[int, ...]
) -> np.ndarray:
    means = np.clip(scores / np.where(weights > 0, weights, 1), 0, 1)
    cells = _grid.index(means.astype(np.float32), *now)
    groups = np.arange(num_groups) * _grid.num_cells(*now)
    return cells + np.repeat(groups, len(cells) // num_groups)


def _moved_sums(row: ExactSums, cells: np.ndarray, size: int) -> ExactSums:
    total = Total(ExactSums.zeros(size))
    for place, digit in enumerate(row.digits, row.lowest):
        total.add(np.ldexp(digit.astype(np.float64), 32 * place), cells)
    return total.sums()


def _warn() -> None:
    warnings.warn(
        "This sketch was saved with wider cells than sketches have now. Each cell was "
        "moved to where its mean score lies: the answers are as accurate as they were, "
        "not as those of a new sketch.",
        stacklevel=2,
    )
