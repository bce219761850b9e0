"""What a sketch of scores holds: exact sums over the cells of its grid."""

from __future__ import annotations

import dataclasses

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy.calibration import _binning
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells
from uncertainty_metrics.numpy.sketch import _grid

# Scores at a time: their temporaries stay small.
_BLOCK = 2**18
# Scores are multiples of 2^-160: all of float32 are, and others stay within 2^-161.
_PLACES = 160
ROWS = ("weights", "score_sums", "outcome_sums")


@dataclasses.dataclass(frozen=True, eq=False)
class SketchSums:
    """Sums over the cells of all groups, some of them positive.

    Attributes:
      weights: mass of each cell.
      score_sums: mass times score.
      outcome_sums: mass of the outcomes that are true.
      count: number of scores of positive mass; None if that is not known.
    """

    weights: ExactSums
    score_sums: ExactSums
    outcome_sums: ExactSums
    count: int | None

    def __post_init__(self) -> None:
        total = self.weights.values.sum()
        if not total <= _inputs.MAX_WEIGHT:
            limit = f"a sum up to {_inputs.MAX_WEIGHT:g}"
            raise _checks.error("sample_weight", limit, total, verb="have")

    @property
    def rows(self) -> dict[str, ExactSums]:
        return {name: getattr(self, name) for name in ROWS}

    def __add__(self, other: SketchSums) -> SketchSums:
        counts = (self.count, other.count)
        count = None if None in counts else sum(filter(None, counts))
        rows = [self.rows[name] + other.rows[name] for name in ROWS]
        return of_rows(rows, count)

    def equals(self, other: SketchSums) -> bool:
        """Says if they hold the same, to the bit."""
        return self.count == other.count and all(
            self.rows[name].equals(other.rows[name]) for name in ROWS
        )

    def cells(self, num_groups: int, bits: tuple[int, ...]) -> list[Cells]:
        """Returns the cells of each group."""
        rows = (self.rows[name].values.reshape(num_groups, -1) for name in ROWS)
        weights, score_sums, outcome_sums = rows
        # Metrics of Keras round scores to 2^-32, which may take them out of a cell.
        least, largest = _grid.rounded_limits(*bits)
        score_sums = np.clip(score_sums, least * weights, largest * weights)
        outcome_sums = np.minimum(outcome_sums, weights)
        return [
            Cells(
                weights[group, held],
                score_sums[group, held],
                outcome_sums[group, held],
                places=np.flatnonzero(held),
            )
            for group, held in enumerate(weights > 0)
        ]


def of_rows(rows: list[ExactSums], count: int | None) -> SketchSums:
    """Returns the sums, the rows in the order of `ROWS`."""
    weights, score_sums, outcome_sums = rows
    return SketchSums(weights, score_sums, outcome_sums, count)


def of_examples(
    examples: _inputs.Examples, spec: CalibrationSpec, bits: tuple[int, ...]
) -> SketchSums | None:
    """Returns the sums of examples, None if there are none."""
    if len(examples.labels) == 0:
        return None
    scores, outcomes, groups = _binning.scored_rows(examples, spec)
    cells = _grid.num_cells(*bits)
    nothing = ExactSums.zeros(spec.num_groups(examples.num_classes) * cells)
    totals = [Total(nothing) for _ in ROWS]
    rows = max(1, _BLOCK // scores.shape[1])
    for start in range(0, len(scores), rows):
        block = slice(start, start + rows)
        score = scores[block].reshape(-1)
        cell = groups[block].reshape(-1) * cells
        cell = cell + _grid.index(score.astype(np.float32), *bits)
        score = _rounded(score.astype(np.float64))
        hit = np.flatnonzero(outcomes[block])
        weight = np.ones(len(score))
        if examples.weights is not None:
            weight = np.repeat(examples.weights[block], scores.shape[1])
        for total, values, where in zip(
            totals,
            (weight, weight * score, weight[hit]),
            (cell, cell, cell[hit]),
            strict=True,
        ):
            total.add(values, where)
    return of_rows([total.sums() for total in totals], scores.size)


def _rounded(scores: np.ndarray) -> np.ndarray:
    small = scores < 2.0**-100
    if not np.any(small):
        return scores
    rounded = np.ldexp(np.rint(np.ldexp(scores, _PLACES)), -_PLACES)
    return np.where(small, rounded, scores)
