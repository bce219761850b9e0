"""The content of a sketch of scores: exact sums over the cells of its grid.

With many classes most cells hold no score. So there are sums for the cells in use, and
memory and time go with their number, not with the size of the grid.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy.calibration.bins import _scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.sketch import _grid

# The number of scores at a time, so that temporary arrays stay in the cache. With more
# cells it is larger, up to the second number, since each block is added to all cells.
_BLOCK, _LARGEST_BLOCK = 2**16, 2**20
# The number of scores at a time for a grid with more cells than the largest block.
_LARGEST_PART = 2**22
# A sort is faster than a table of all cells if there are more for each score.
_MANY_CELLS = 8
# Scores are rounded to multiples of 2^-160, as all float32 are.
_PLACES = 160
ROWS = ("weights", "score_sums", "outcome_sums")
SPREADS = "spread_sums"


@dataclasses.dataclass(frozen=True, eq=False)
class SketchSums:
    """Sums over the cells in use, of all groups, for at least one score.

    Attributes:
      places: the places of these cells in the grid of all groups, ascending integers;
        each has a positive weight.
      weights: total weight of each cell.
      score_sums: weighted sum of the scores of each cell.
      outcome_sums: weighted sum of the outcomes y of each cell.
      count: number of scores of positive weight; None if it is not known.
      spread_sums: weighted sum of y (1 - y) of each cell; None if all outcomes are 0
        and 1. With it the sum of (y - p)^2 is known, which is linear in y and y (1 -
        y).
    """

    places: np.ndarray
    weights: ExactSums
    score_sums: ExactSums
    outcome_sums: ExactSums
    count: int | None
    spread_sums: ExactSums | None = None

    def __post_init__(self) -> None:
        total = self.weights.values.sum()
        if not total <= _inputs.MAX_WEIGHT:
            limit = f"a sum up to {_inputs.MAX_WEIGHT:g}"
            raise _checks.error("sample_weight", limit, total, verb="have")

    @property
    def rows(self) -> dict[str, ExactSums]:
        rows = {name: getattr(self, name) for name in ROWS}
        if self.spread_sums is not None:
            rows[SPREADS] = self.spread_sums
        return rows

    def __add__(self, other: SketchSums) -> SketchSums:
        counts = (self.count, other.count)
        count = None if None in counts else sum(filter(None, counts))
        more, less = self, other
        if len(more.places) < len(less.places):
            more, less = less, more
        # The index of the cells of both in the union.
        index, is_used = more.found(less.places)
        of_less = index + np.cumsum(~is_used) - ~is_used
        size = len(more.places) + np.count_nonzero(~is_used)
        is_more = np.ones(size, bool)
        is_more[of_less[~is_used]] = False
        of_more = np.flatnonzero(is_more)
        places = np.empty(size, np.int64)
        places[of_more], places[of_less] = more.places, less.places
        rows = {}
        for name in dict.fromkeys([*more.rows, *less.rows]):
            own, others = (
                each.rows.get(name, ExactSums.zeros(len(each.places)))
                for each in (more, less)
            )
            rows[name] = own.joined(of_more, others, of_less, size)
        return SketchSums(places, **rows, count=count)

    def moved(self, places: np.ndarray, size: int) -> SketchSums:
        """Returns the sums of new cells of a grid of this size, given the place of the
        new cell of each.
        """
        new_places, cells = _in_use(places, size)
        rows = [row.moved(cells, len(new_places)) for row in self.rows.values()]
        return of_rows(rows, self.count, new_places)

    def found(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns which cell in use is the first at each place or after it, and whether
        it is at this place.
        """
        index = np.searchsorted(self.places, places)
        return index, np.append(self.places, -1)[index] == places

    def values_at(self, name: str, places: np.ndarray) -> np.ndarray:
        """Returns the sums of a row at places of the grid, float64; 0 for a cell that
        is not in use.
        """
        index, is_used = self.found(places)
        return np.where(is_used, np.append(self.rows[name].values, 0.0)[index], 0.0)

    def equals(self, other: SketchSums) -> bool:
        """Says if all sums are the same, to the bit."""
        ours, theirs = self.rows, other.rows
        return (
            (self.count, ours.keys()) == (other.count, theirs.keys())
            and np.array_equal(self.places, other.places)
            and all(row.equals(theirs[name]) for name, row in ours.items())
        )

    def cells(self, num_groups: int, bits: tuple[int, ...]) -> list[Cells]:
        """Returns the cells in use of each group."""
        weights, score_sums, outcome_sums = (self.rows[name].values for name in ROWS)
        # Keras metrics round scores to 2^-32, which may put the mean outside the cell.
        least, largest = _grid.rounded_limits(*bits)
        of_grid = self.places % len(least)
        score_sums = np.clip(
            score_sums, least[of_grid] * weights, largest[of_grid] * weights
        )
        outcome_sums = np.minimum(outcome_sums, weights)
        spread_sums = None if self.spread_sums is None else self.spread_sums.values
        starts = np.arange(num_groups + 1) * len(least)
        ends = np.searchsorted(self.places, starts).tolist()
        return [
            Cells(
                weights[start:end],
                score_sums[start:end],
                outcome_sums[start:end],
                places=of_grid[start:end],
                spread_sums=None if spread_sums is None else spread_sums[start:end],
            )
            for start, end in itertools.pairwise(ends)
        ]


def of_rows(
    rows: list[ExactSums], count: int | None, places: np.ndarray | None = None
) -> SketchSums:
    """Returns the sums of rows in the order of `ROWS`; the last may be `SPREADS`.

    Args:
      rows: sums of cells, of which some may not be in use.
      count: number of scores.
      places: the places of the cells; by default they are all cells of the grid.
    """
    used = np.flatnonzero(rows[0].digits.any(axis=0))
    if len(used) < rows[0].digits.shape[1]:
        rows = [row.at(used) for row in rows]
    weights, score_sums, outcome_sums, *spreads = rows
    spread_sums = spreads[0] if spreads and len(spreads[0].digits) else None
    places = used if places is None else places[used]
    return SketchSums(places, weights, score_sums, outcome_sums, count, spread_sums)


def of_examples(
    examples: _examples.Examples, spec: CalibrationSpec, bits: tuple[int, ...]
) -> SketchSums | None:
    """Returns the sums over examples; None if there are no examples."""
    if len(examples.labels) == 0:
        return None
    scores, outcomes, groups = _scores.scored_rows(examples, spec)
    num_groups = spec.num_groups(examples.num_classes)
    weights = examples.weights
    return of_scores(scores, outcomes, groups, weights, num_groups, bits)


def of_scores(
    scores: np.ndarray,
    outcomes: np.ndarray,
    groups: np.ndarray | None,
    weights: np.ndarray | None,
    num_groups: int,
    bits: tuple[int, ...],
) -> SketchSums:
    """Returns the sums over scores, of at least one.

    Args:
      scores: in [0, 1], C for each example, [N, C].
      outcomes: boolean [N, C], or numbers in [0, 1].
      groups: the group of each score, integers [N, C]; unused if there is one group.
      weights: the weight of each example, [N]; or None.
      num_groups: number of groups.
      bits: arguments of the grid.
    """
    cells = _grid.num_cells(*bits)
    size = num_groups * cells
    is_sparse = size > min(scores.size, _LARGEST_BLOCK)
    if is_sparse and scores.size > _LARGEST_PART and len(scores) > 1:
        first, second = (
            of_scores(
                *(scores[part], outcomes[part]),
                None if groups is None else groups[part],
                None if weights is None else weights[part],
                *(num_groups, bits),
            )
            for part in (slice(0, len(scores) // 2), slice(len(scores) // 2, None))
        )
        return first + second

    def cell_of(rows: slice) -> np.ndarray:
        score = scores[rows].reshape(-1).astype(np.float32)
        cell = _grid.index(score, *bits).astype(np.int64)
        if groups is not None and num_groups > 1:
            cell += groups[rows].reshape(-1) * cells
        return cell

    places = None
    if is_sparse:
        places, used = _in_use(cell_of(slice(None)), size)
        size = len(places)
    totals = [Total(ExactSums.zeros(size)) for _ in (*ROWS, SPREADS)]
    weight_sums, score_sums, outcome_sums, spread_sums = totals
    are_grades = outcomes.dtype != bool
    block_size = min(max(size, _BLOCK), _LARGEST_BLOCK)
    rows = max(1, block_size // scores.shape[1])
    for start in range(0, len(scores), rows):
        block = slice(start, start + rows)
        score, outcome = scores[block].reshape(-1), outcomes[block].reshape(-1)
        width = scores.shape[1]
        part = slice(start * width, (start + rows) * width)
        cell = cell_of(block) if places is None else used[part]
        score = rounded(score)
        if are_grades:
            grade = rounded(outcome)
            weight = np.ones(len(score))
            if weights is not None:
                weight = np.repeat(weights[block], scores.shape[1])
            weight_sums.add(weight, cell)
            score_sums.add(weight * score, cell)
            outcome_sums.add(weight * grade, cell)
            spread_sums.add(weight * rounded(grade * (1 - grade)), cell)
        elif weights is None:
            counts = np.bincount(cell + size * outcome, minlength=2 * size)
            weight_sums.add_counts(counts[:size] + counts[size:])
            score_sums.add_fractions(score, cell)
            outcome_sums.add_counts(counts[size:])
        else:
            weight = np.repeat(weights[block], scores.shape[1])
            weight_sums.add(weight, cell)
            score_sums.add(weight * score, cell)
            hit = np.flatnonzero(outcome)
            outcome_sums.add(weight[hit], cell[hit])
    return of_rows([total.sums() for total in totals], scores.size, places)


def _in_use(cells: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ascending cells in use of a grid, and the index of each given cell
    among them.
    """
    if size > _MANY_CELLS * len(cells):
        places = np.unique(cells)
        return places, np.searchsorted(places, cells)
    is_used = np.zeros(size, bool)
    is_used[cells] = True
    places = np.flatnonzero(is_used)
    index = np.empty(size, np.int64)
    index[places] = np.arange(len(places))
    return places, index[cells]


def rounded(scores: np.ndarray) -> np.ndarray:
    """Returns a float64 copy of scores or grades, rounded to 2^-160, which limits the
    number of their digits.
    """
    rounded = scores.astype(np.float64)
    small = np.flatnonzero(rounded < 2.0**-100)
    digits = np.rint(np.ldexp(rounded[small], _PLACES))
    rounded[small] = np.ldexp(digits, -_PLACES)
    return rounded
