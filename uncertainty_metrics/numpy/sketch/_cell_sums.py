"""The content of a sketch of scores: exact sums over the cells of its grid."""

from __future__ import annotations

import dataclasses

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
# Scores are rounded to multiples of 2^-160, as all float32 are.
_PLACES = 160
ROWS = ("weights", "score_sums", "outcome_sums")
SPREADS = "spread_sums"


@dataclasses.dataclass(frozen=True, eq=False)
class SketchSums:
    """Sums over the cells of all groups, for at least one score.

    Attributes:
      weights: total weight of each cell.
      score_sums: weighted sum of the scores of each cell.
      outcome_sums: weighted sum of the outcomes y of each cell.
      count: number of scores of positive weight; None if it is not known.
      spread_sums: weighted sum of y (1 - y) of each cell; None if all outcomes are 0
        and 1. With it the sum of (y - p)^2 is known, which is linear in y and y (1 -
        y).
    """

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
        rows = [self.rows[name] + other.rows[name] for name in ROWS]
        spreads = self.spread_sums or other.spread_sums
        if self.spread_sums is not None and other.spread_sums is not None:
            spreads = self.spread_sums + other.spread_sums
        return of_rows([*rows, *([] if spreads is None else [spreads])], count)

    def equals(self, other: SketchSums) -> bool:
        """Says if all sums are the same, to the bit."""
        ours, theirs = self.rows, other.rows
        return (self.count, ours.keys()) == (other.count, theirs.keys()) and all(
            row.equals(theirs[name]) for name, row in ours.items()
        )

    def cells(self, num_groups: int, bits: tuple[int, ...]) -> list[Cells]:
        """Returns the non-empty cells of each group."""
        rows = (self.rows[name].values.reshape(num_groups, -1) for name in ROWS)
        weights, score_sums, outcome_sums = rows
        # Keras metrics round scores to 2^-32, which may put the mean outside the cell.
        least, largest = _grid.rounded_limits(*bits)
        score_sums = np.clip(score_sums, least * weights, largest * weights)
        outcome_sums = np.minimum(outcome_sums, weights)
        spread_sums = None
        if self.spread_sums is not None:
            spread_sums = self.spread_sums.values.reshape(num_groups, -1)
        return [
            Cells(
                weights[group, filled],
                score_sums[group, filled],
                outcome_sums[group, filled],
                places=np.flatnonzero(filled),
                spread_sums=None if spread_sums is None else spread_sums[group, filled],
            )
            for group, filled in enumerate(weights > 0)
        ]


def of_rows(rows: list[ExactSums], count: int | None) -> SketchSums:
    """Returns the sums of rows in the order of `ROWS`; the last may be `SPREADS`."""
    weights, score_sums, outcome_sums, *spreads = rows
    return SketchSums(weights, score_sums, outcome_sums, count, *spreads)


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
    totals = [Total(ExactSums.zeros(size)) for _ in (*ROWS, SPREADS)]
    weight_sums, score_sums, outcome_sums, spread_sums = totals
    are_grades = outcomes.dtype != bool
    block_size = min(max(size, _BLOCK), _LARGEST_BLOCK)
    rows = max(1, block_size // scores.shape[1])
    for start in range(0, len(scores), rows):
        block = slice(start, start + rows)
        score, outcome = scores[block].reshape(-1), outcomes[block].reshape(-1)
        cell = _grid.index(score.astype(np.float32), *bits).astype(np.int64)
        if groups is not None and num_groups > 1:
            cell += groups[block].reshape(-1) * cells
        score = _rounded(score)
        if are_grades:
            grade = _rounded(outcome)
            weight = np.ones(len(score))
            if weights is not None:
                weight = np.repeat(weights[block], scores.shape[1])
            weight_sums.add(weight, cell)
            score_sums.add(weight * score, cell)
            outcome_sums.add(weight * grade, cell)
            spread_sums.add(weight * _rounded(grade * (1 - grade)), cell)
        elif weights is None:
            counts = np.bincount(cell + size * outcome, minlength=2 * size)
            weight_sums.add_counts(counts[:size] + counts[size:])
            score_sums.add(score, cell)
            outcome_sums.add_counts(counts[size:])
        else:
            weight = np.repeat(weights[block], scores.shape[1])
            weight_sums.add(weight, cell)
            score_sums.add(weight * score, cell)
            hit = np.flatnonzero(outcome)
            outcome_sums.add(weight[hit], cell[hit])
    sums = [total.sums() for total in totals]
    has_spreads = len(sums[-1].digits) > 0
    return of_rows(sums if has_spreads else sums[:-1], scores.size)


def _rounded(scores: np.ndarray) -> np.ndarray:
    """Returns a float64 copy of scores or grades, rounded to 2^-160, which limits the
    number of their digits.
    """
    rounded = scores.astype(np.float64)
    small = np.flatnonzero(rounded < 2.0**-100)
    digits = np.rint(np.ldexp(rounded[small], _PLACES))
    rounded[small] = np.ldexp(digits, -_PLACES)
    return rounded
