"""What a monitor is given: scores with outcomes, or PIT values, one after the other."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibration import _bets, _binning
from uncertainty_metrics.numpy.regression import pit_calibration

Kind = Literal["outcomes", "pit"]

# Where the ends of an interval are as near as that, its middle says enough.
_POINT = 2.0**-40


class Monitored(NamedTuple):
    """A batch.

    Attributes:
      kind: "outcomes" or "pit".
      forecasts: scores, float64 [n] in [0, 1]; of PIT values 1/2.
      observed: outcomes, 0 or 1; or PIT values, the middles of intervals. Float64 [n].
      bins: bin of each score, integers [n]; None for PIT values.
      ends: lower and upper ends of the PIT values, float64 [2, n]; None for outcomes.
    """

    kind: Kind
    forecasts: np.ndarray
    observed: np.ndarray
    bins: np.ndarray | None = None
    ends: np.ndarray | None = None

    def shares(self, block: slice) -> np.ndarray:
        """Returns the share of each PIT value in each cell, [cells, n]."""
        assert self.ends is not None
        lower, upper = self.ends[:, block]
        middle = self.observed[block]
        cells = np.arange(_bets.NUM_CELLS)[:, None]
        at = _binning.even_index(middle, _bets.NUM_CELLS)
        points = (cells == at).astype(np.float64)
        width = upper - lower
        if not np.any(width > _POINT):
            return points
        start, end = cells / _bets.NUM_CELLS, (cells + 1) / _bets.NUM_CELLS
        inside = np.clip(np.minimum(upper, end) - np.maximum(lower, start), 0.0, None)
        total = inside.sum(axis=0)
        spread = inside / np.where(total > 0, total, 1.0)
        return np.where(width > _POINT, spread, points)


def read(
    data: dict[str, Any], correct: Any, confidences: Any, pit: Any, positive_class: bool
) -> Monitored:
    """Returns the checked batch of what `update` was passed.

    Args:
      data: labels, probabilities, logits and probs, by name.
      correct: of `update`.
      confidences: of `update`.
      pit: of `update`.
      positive_class: whether the score is P(class 1), of labels.
    """
    given = {**data, "correct": correct, "confidences": confidences, "pit": pit}
    names = [name for name, value in given.items() if value is not None]
    if names == ["pit"]:
        return _of_pit(pit)
    if names == ["correct", "confidences"]:
        return _of_outcomes(*_confident(correct, confidences))
    if names[:1] == ["labels"] and set(names) <= set(data):
        spec = CalibrationSpec("even", True, False, "l1", positive_class=positive_class)
        examples = _inputs.examples(**data)
        (group,) = _binning.scores_of_groups(examples, spec)
        return _of_outcomes(*group[:2])
    raise _checks.plain_error(
        "Either `labels` with one of `probabilities` and `logits`, or `correct` with "
        "`confidences`, or `pit` must be given.",
        " and ".join(f"`{name}`" for name in names) or "none of them",
    )


def _confident(correct: Any, confidences: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns checked confidences and outcomes [n]."""
    outcomes = _inputs.as_array("correct", correct)
    scores = _inputs.as_array("confidences", confidences)
    _checks.paired("confidences", scores.shape, "correct", outcomes.shape)
    scores = np.ascontiguousarray(_inputs.native_floating(scores)).reshape(-1)
    outcomes = _inputs.integer_labels("correct", outcomes.reshape(-1), 2)
    return _inputs.check_probabilities(scores, "confidences"), outcomes


def _of_outcomes(scores: np.ndarray, outcomes: np.ndarray) -> Monitored:
    bins = _binning.even_index(scores, _bets.NUM_BINS)
    return Monitored(
        "outcomes", scores.astype(np.float64), outcomes.astype(np.float64), bins
    )


def _of_pit(pit: Any) -> Monitored:
    ends, _ = pit_calibration.pit_values(pit, None, None)
    lower, upper = (end.astype(np.float64) for end in (ends[0], ends[-1]))
    middle = (lower + upper) / 2
    halves = np.full(len(middle), 0.5)
    return Monitored("pit", halves, middle, ends=np.stack([lower, upper]))
