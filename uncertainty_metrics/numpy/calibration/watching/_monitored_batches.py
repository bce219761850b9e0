"""Batches of a `CalibrationMonitor`: scores with outcomes, or PIT values, in order."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.watching import _betting
from uncertainty_metrics.numpy.regression import pit_calibration

Kind = Literal["outcomes", "pit"]

# An interval at most this wide is replaced by its middle.
_POINT = 2.0**-40


class Monitored(NamedTuple):
    """A batch of n examples.

    Attributes:
      kind: "outcomes" or "pit".
      forecasts: scores in [0, 1]; 1/2 for PIT values. Float64 [n].
      observed: outcomes, 0 or 1; or PIT values, the middle of each interval. Float64
        [n].
      bins: bin of each score, integers [n]; None for PIT values.
      ends: lower and upper ends of the PIT values, float64 [2, n]; None for outcomes.
      of_class_1: whether the scores are P(class 1) of labels; not for answers.
    """

    kind: Kind
    forecasts: np.ndarray
    observed: np.ndarray
    bins: np.ndarray | None = None
    ends: np.ndarray | None = None
    of_class_1: bool = False

    def shares(self, block: slice) -> np.ndarray:
        """Returns the share of each PIT value in each cell, [cells, n]."""
        assert self.ends is not None
        lower, upper = self.ends[:, block]
        middle = self.observed[block]
        cells = np.arange(_betting.NUM_CELLS)[:, None]
        at = _binning.even_index(middle, _betting.NUM_CELLS)
        points = (cells == at).astype(np.float64)
        width = upper - lower
        if not np.any(width > _POINT):
            return points
        start, end = cells / _betting.NUM_CELLS, (cells + 1) / _betting.NUM_CELLS
        inside = np.clip(np.minimum(upper, end) - np.maximum(lower, start), 0.0, None)
        total = inside.sum(axis=0)
        spread = inside / np.where(total > 0, total, 1.0)
        return np.where(width > _POINT, spread, points)


def read(data: ClassifierData, pit: Any, positive_class: bool | None) -> Monitored:
    """Returns the checked batch.

    Args:
      data: labels with predictions, or answers with confidences; or nothing.
      pit: PIT values, if `data` has nothing; else None.
      positive_class: whether the score of labels is P(class 1); None if the form of
        the predictions says it.

    Raises:
      ValueError: `data` or `pit` is not as described.
    """
    names = [*data.names_given, *(["pit"] if pit is not None else [])]
    if names == ["pit"]:
        return _of_pit(pit)
    if not names or pit is not None:
        raise _checks.combination_error(
            "Either `labels` with one of `probabilities` and `logits`, or `correct` "
            "with `confidences`, or `pit` must be given.",
            names,
        )
    spec = dataclasses.replace(OF_ONE_SCORE, positive_class=positive_class)
    examples, spec = _binning.read(
        data,
        spec,
        grades="bets are on such outcomes; `calibration_test` takes numbers in [0, 1], "
        "for data of a fixed size",
    )
    ((scores, outcomes, _),) = _scores.scores_of_groups(examples, spec)
    return Monitored(
        "outcomes",
        scores.astype(np.float64),
        outcomes.astype(np.float64),
        _binning.even_index(scores, _betting.NUM_BINS),
        of_class_1=bool(spec.positive_class) and not data.has_confidences,
    )


def _of_pit(pit: Any) -> Monitored:
    ends, _ = pit_calibration.pit_values(pit, None, None)
    lower, upper = (end.astype(np.float64) for end in (ends[0], ends[-1]))
    middle = (lower + upper) / 2
    halves = np.full(len(middle), 0.5)
    return Monitored("pit", halves, middle, ends=np.stack([lower, upper]))
