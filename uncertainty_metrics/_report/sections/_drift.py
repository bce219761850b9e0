"""Two sets of different examples: does their calibration differ?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import event_of, judged_of
from uncertainty_metrics._report.data._predictions import (
    Decided,
    Model,
    Regression,
    Stream,
    Survival,
    has_cluster_sums,
    has_grades,
)
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.data._summary_clusters import sketch_of
from uncertainty_metrics._report.sections._blocks import Block, Picture, Table, Text
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import (
    Terms,
    capitalized,
    terms_for,
)
from uncertainty_metrics._report.sections._diagrams import drawn
from uncertainty_metrics._report.sections._metrics_and_intervals import Number
from uncertainty_metrics._report.sections._p_values import (
    is_borderline,
    is_clear,
    shown_p_value,
)
from uncertainty_metrics.numpy.calibration.watching.calibration_drift import (
    drift_of_bins,
)

DRIFT_FILE = "drift_diagram.png"
# A bin is named if its p-value is at most that of three standard errors.
_SMALL = 0.0027
_LEAST_EXAMPLES = 5


def drift_of(models: Sequence[Decided], num_bins: int) -> Any:
    """Returns the `CalibrationDrift` of two models, for which `can_drift`.

    Two classes are judged by the event of the first model. Weighted examples count by
    the effective number in each bin.
    """
    streams = [model for model in models if isinstance(model, Stream)]
    if len(streams) == len(models) and all(map(has_cluster_sums, streams)):
        return um.calibration_drift(*map(sketch_of, streams), num_bins=num_bins)
    event, statistics, squares = event_of(models[0]), [], []
    for model in models:
        judged = judged_of(model, event).with_small_weights()
        given = {**judged.arguments, "num_bins": num_bins}
        statistics.append(um.bin_statistics(**given))
        given["sample_weight"] = judged.squared_weights
        squares.append(um.bin_statistics(**given).counts)
    first, second = statistics
    return drift_of_bins(first, second, np.concatenate(squares))


def can_drift(first: Model, second: Model) -> bool:
    """Says if both are classifiers or answers, of enough examples for the test, which
    are independent, or summaries of clusters, and not graded.
    """
    return all(
        not isinstance(model, Regression | Survival)
        and not has_grades(model)
        and clusters_of(model) is None
        and judged_of(model).sample_size >= _LEAST_EXAMPLES
        for model in (first, second)
    )


def draw_drift(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws accuracy against confidence for two sets of examples in one diagram."""
    from uncertainty_metrics.visualization import drift

    return drawn(
        6.2,
        drift.draw,
        drift=drift_of(list(models.values()), num_bins),
        names=list(models),
        level=INTERVAL_LEVEL,
        title="Reliability in both",
    )


@dataclasses.dataclass(frozen=True)
class DriftBin:
    """A bin of scores, and the gap of both sets in it.

    Attributes:
      low: the lowest score.
      high: the highest score.
      first: mean outcome less mean score of the first set.
      second: of the second set.
      z: their difference in standard errors; None if it is not defined.
      p_value: of this difference; None if it is not defined.
    """

    low: float
    high: float
    first: float
    second: float
    z: Number
    p_value: Number

    def as_json(self) -> dict[str, Number]:
        return {
            "from": self.low,
            "to": self.high,
            "first": self.first,
            "second": self.second,
            "z": self.z,
            "p_value": self.p_value,
        }


@dataclasses.dataclass(frozen=True)
class Drift:
    """The test whether two sets differ in calibration.

    Attributes:
      p_value: of the test.
      statistic: chi-squared.
      degrees_of_freedom: of the statistic.
      ece_difference: the ECE of the first set less that of the second.
      verdict: a sentence or two.
      bins: the gaps of both sets.
    """

    p_value: float
    statistic: float
    degrees_of_freedom: int
    ece_difference: float
    verdict: str
    bins: list[DriftBin]

    def blocks(self, terms: Terms) -> Iterator[Block]:
        """Yields what the chapter on the comparison shows of it."""
        yield Text(self.verdict)
        against = f"{capitalized(terms.outcome)} against {terms.score}"
        yield Picture(
            DRIFT_FILE,
            f"{against} in both files, with intervals. {self.verdict}",
            f"{against}, with intervals, for both sets of examples. The shaded bins "
            "differ by more than chance.",
        )
        yield Table(
            f"{capitalized(terms.gap)} in each bin",
            terms.score,
            ("first", "second", "z"),
            [
                (
                    f"{row.low:.3f} to {row.high:.3f}",
                    f"{row.first:+.4f}",
                    f"{row.second:+.4f}",
                    "-" if row.z is None else f"{row.z:.1f}",
                )
                for row in self.bins
            ],
        )


def drift_between(first: Decided, second: Decided, num_bins: int) -> Drift:
    """Returns the test of two models, for which `can_drift`."""
    found = drift_of((first, second), num_bins)
    gaps, edges = found.gaps, found.edges
    rows = [
        DriftBin(
            float(edges[i]),
            float(edges[i + 1]),
            float(gaps[0, i]),
            float(gaps[1, i]),
            None if np.isnan(found.z[i]) else float(found.z[i]),
            None if np.isnan(found.z[i]) else float(found.p_values[i]),
        )
        for i in range(len(found.z))
    ]
    return Drift(
        found.p_value,
        found.statistic,
        found.degrees_of_freedom,
        found.ece_difference,
        _verdict(found.p_value, rows, terms_for(first)),
        rows,
    )


def _verdict(p: float, rows: list[DriftBin], terms: Terms) -> str:
    """Says whether calibration has changed, and in which bins most."""
    shown = f"p {shown_p_value(p)}"
    if is_borderline(p):
        return f"Calibration may differ between both sets ({shown}): borderline."
    if not is_clear(p):
        return (
            "Calibration does not clearly differ between both sets: such differences "
            f"between the gaps of the bins are usual by chance ({shown})."
        )
    named = [row for row in rows if row.z is not None and row.p_value <= _SMALL]
    far = sorted(named, key=lambda row: -abs(row.z))[:3]
    where = [
        f"between {row.low:.2f} and {row.high:.2f} ({_signed(row.first)} in "
        f"the first, {_signed(row.second)} in the second)"
        for row in far
    ]
    most = (
        f" {capitalized(terms.gap)} differs most {', '.join(where)}." if where else ""
    )
    return f"Calibration differs between both sets ({shown}).{most}"


def _signed(gap: float) -> str:
    return f"{round(gap, 4) + 0.0:+.4f}"  # Without the sign of -0.0.
