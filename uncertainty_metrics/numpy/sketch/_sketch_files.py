"""Files of sketches of scores: their arrays, and the checks of what they hold."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _exact_sums, _saved
from uncertainty_metrics.numpy.sketch import _cell_sums, _grid
from uncertainty_metrics.numpy.sketch._cell_sums import ROWS, SPREADS, SketchSums

FORMAT = _saved.Format(
    "ScoreSketch", 1, ("config", "classes", "count", "lowest", "clusters")
)
# The arrays of the places of the cells in use, and of the least scores of the cells.
# Files without places have all cells of the grid.
PLACES, LEAST = "places", "least"
# The arrays of the sums over clusters.
OF_CLUSTERS = ("cluster_sums", "cluster_products")
# The relative rounding error of sums in the states of Keras metrics.
_ROUNDING = 1e-6
_MAX_COUNT = 2**62


def check_names(names: Collection[str]) -> None:
    """Raises ValueError unless a file has the arrays with these names."""
    known: list[list[str]] = [[*ROWS]]
    for more in ([SPREADS], [PLACES], [LEAST], [*OF_CLUSTERS]):
        known += [[*before, *more] for before in known]
    if list(names) not in ([], *known):
        raise _checks.error(
            "arrays", ", ".join(ROWS), reprlib.repr(list(names)), verb="hold"
        )


def checked_sums(
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    num_cells: int,
    bits: tuple[int, ...],
) -> tuple[SketchSums, np.ndarray | None]:
    """Returns the sums of a file that has some, and the least scores of their cells, if
    it has those.

    Args:
      header: of the file.
      arrays: all arrays of the file but those of clusters.
      num_cells: number of cells of the grid of all groups.
      bits: arguments of the grid of one.

    Raises:
      ValueError: no scores have these sums.
    """
    rows = dict(arrays)
    places, least = (rows.pop(name, None) for name in (PLACES, LEAST))
    if places is not None:
        num_cells = _check_places(places, num_cells)
    sums = _loaded_sums(header, rows, num_cells, places)
    if places is not None and len(sums.places) < len(places):
        raise _checks.error("weights", "positive at all places", "zeros")
    _check_means(sums, bits)
    if least is not None:
        _check_least(least, num_cells)
        if places is None:
            least = least[sums.places]
    return sums, least


def _check_means(sums: SketchSums, bits: tuple[int, ...]) -> None:
    """Raises ValueError if the mean score of a cell is not in the cell."""
    weights, scores = sums.weights.values, sums.score_sums.values
    least, largest = _grid.rounded_limits(*bits)
    of_grid, mean = sums.places % len(least), scores / weights
    # Keras metrics round scores to 2^-32.
    below = mean < least[of_grid] - _ROUNDING
    if np.any(below | (mean > largest[of_grid] + _ROUNDING)):
        raise _checks.error("score_sums", "of scores in their cells", "other sums")


def _check_places(places: np.ndarray, num_cells: int) -> int:
    """Returns the number of places; raises ValueError unless they are places of a grid,
    ascending.
    """
    if places.dtype != np.int64 or places.ndim != 1:
        raise _checks.error("places", "int64 [cells]", f"{places.dtype}")
    if np.any(np.diff(places) <= 0) or np.any((places < 0) | (places >= num_cells)):
        raise _checks.error("places", f"ascending, below {num_cells}", "other numbers")
    return len(places)


def _check_least(least: np.ndarray, num_cells: int) -> None:
    """Raises ValueError unless an array of a file holds a score for each cell."""
    if least.shape != (num_cells,) or least.dtype != np.float64:
        expected = f"float64 [{num_cells}]"
        raise _checks.error("least", expected, f"{least.dtype} {list(least.shape)}")
    if not np.all((least >= 0) & (least <= 1)):
        raise _checks.error("least", "in [0, 1]", "other numbers")


def _loaded_sums(
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    num_cells: int,
    cell_places: np.ndarray | None,
) -> SketchSums:
    """Returns the sums of a file; raises ValueError if they are not valid.

    Args:
      header: of the file.
      arrays: digits of the sums of cells.
      num_cells: number of these cells.
      cell_places: their places in the grid; None in a file of all cells of the grid.
    """
    count, places = header["count"], header["lowest"]
    if count is not None:
        count = _checks.positive_integer("count", count)
        if count > _MAX_COUNT:
            raise _checks.error("count", "at most 2^62", reprlib.repr(count))
    if not isinstance(places, dict) or set(places) != set(arrays):
        raise _checks.error(
            "lowest", ", ".join(arrays), reprlib.repr(places), verb="hold"
        )
    rows = {}
    for name, digits in arrays.items():
        rows[name] = _exact_sums.checked(name, digits, places[name], num_cells)
    weights = rows["weights"].values
    if not np.any(weights):
        raise _checks.error("weights", "at least one example", "none", verb="hold")
    for name in ROWS[1:]:
        if np.any(rows[name].values > weights * (1 + _ROUNDING)):
            raise _checks.error(name, "at most the weights", "larger ones")
    if SPREADS in rows:
        hits, spreads = rows["outcome_sums"].values, rows[SPREADS].values
        # Most where all outcomes of a cell are equal.
        most = hits * (1 - hits / np.where(weights > 0, weights, 1.0))
        if not np.any(spreads) or np.any(spreads > most + _ROUNDING * weights):
            expected = "sums of y (1 - y) that fit the outcomes y"
            raise _checks.error(SPREADS, expected, "other sums", verb="hold")
    in_order = [rows[name] for name in (*ROWS, SPREADS) if name in rows]
    return _cell_sums.of_rows(in_order, count, cell_places)
