"""The section on the CRPS of predicted quantiles, and how much could be gained."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._quantile_rows import QuantileRows, quantiles_of
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._gain import (
    LossInUnits,
    gain_table,
    loss_and_gain,
    tile_of_loss,
    verdict_on,
)
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._quantile_numbers import weighted_quantiles
from uncertainty_metrics._report.sections._recalibrated_forecasts import (
    FOLDS,
    folds_of,
)
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.calibrators import _cross_fitting
from uncertainty_metrics.numpy.calibrators.calibration_loss import (
    CalibrationLoss,
    Refined,
    summarized,
)

_CRPS = "CRPS"
_LEAST, _LEAST_CLUSTERS = 50, 10
_MAP = "moving the quantiles by multiples of their width"
_DEFINITION = (
    "The score is twice the mean pinball loss of the quantiles, in the unit of the "
    "targets."
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GainOfQuantiles(Section):
    """The CRPS of the quantiles, and how much of it recalibration would gain.

    Attributes:
      crps: the CRPS.
      folds: of the cross-fitting.
      steps: by how many widths the quantile of each level is moved, fitted to all rows;
        empty if there are too few rows.
      definition: how the score is defined.
      verdict: a sentence or two.
    """

    name = "calibration_loss"
    heading = "The score, and what could be gained"
    tasks = ("quantiles",)

    crps: LossInUnits
    folds: int = FOLDS
    steps: dict[str, float] = dataclasses.field(default_factory=dict)
    definition: str = _DEFINITION
    verdict: str

    @classmethod
    def of(cls, report: ModelReport) -> GainOfQuantiles | None:
        rows, clusters = quantiles_of(report.model), clusters_of(report.model)
        # Their quantiles are as noisy as the samples are few, which no step mends.
        if rows.samples is not None:
            return None
        losses, sums = _losses(rows, rows.quantiles), report.model.sums
        crps = float(np.average(losses, weights=rows.weights))
        if sums is not None:
            crps = sums.mean("crps").mean
        why = _too_few(effective_examples(report.model), clusters)
        if why:
            why = f"{TOO_FEW_TO_SAY} how much could be gained: {why}."
            return cls(crps=LossInUnits(loss=crps), verdict=why)
        gain, steps = _gain_and_steps(rows, losses, clusters)
        found = loss_and_gain(crps, gain, LossInUnits)
        return cls(
            crps=found,
            steps={
                f"{level:g}": float(step)
                for level, step in zip(rows.levels, steps, strict=True)
            },
            verdict=verdict_on(found, _MAP),
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        yield tile_of_loss(_CRPS, self.crps, f"{self.verdict} {self.definition}")

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(f"{_CRPS} {significant(self.crps.loss)}. {self.verdict}")
        if not self.steps:
            return
        yield gain_table({_CRPS: self.crps})
        of_sample = ""
        if report.model.sums is not None:
            size = len(quantiles_of(report.model).target)
            of_sample = f" of {size:,} rows drawn at random"
        yield Text(
            f"The gain{of_sample} is what such steps, as conformal prediction makes "
            "them, take off the score: those of a row were fitted to the other "
            f"{self.folds - 1} of {self.folds} folds. A step of 0.1 moves a quantile "
            "up by a tenth of the distance between the lowest and the highest quantile "
            "of its row, and each level has the step with the smallest pinball loss. "
            "On average the gain is at most what the best of all such steps would "
            "gain, and at most 0 for a calibrated model. The steps are the same for "
            "all rows: they do not mend intervals that are too narrow for some and too "
            "wide for others. Quantiles that cross are sorted, before and after."
        )
        yield Table(
            "Steps that recalibrate, fitted to all rows",
            "level",
            ("step, in widths",),
            [(level, significant(step)) for level, step in self.steps.items()],
        )


def _losses(rows: QuantileRows, quantiles: np.ndarray) -> np.ndarray:
    return um.crps_quantile_score(rows.target, quantiles, rows.levels)


def _too_few(size: float, clusters: np.ndarray | None) -> str:
    """Returns why there are too few rows to cross-fit; "" if there are enough."""
    if size < _LEAST:
        shown = np.floor(10 * size) / 10
        return f"{shown:g} effective examples, but at least {_LEAST} are needed"
    number = len(np.unique(clusters)) if clusters is not None else _LEAST_CLUSTERS
    if number < _LEAST_CLUSTERS:
        return f"{number} clusters, but at least {_LEAST_CLUSTERS} are needed"
    return ""


def _gain_and_steps(
    rows: QuantileRows, losses: np.ndarray, clusters: np.ndarray | None
) -> tuple[CalibrationLoss, np.ndarray]:
    """Returns what cross-fitted steps gain, and the steps fitted to all rows, [Q].

    The loss of a row is its width times the loss of its error in widths. So the step
    with the smallest loss is the quantile of these errors, weighted by the widths.

    Args:
      rows: the forecasts.
      losses: of the quantiles as they are, [n].
      clusters: number of the cluster of each row, [n], or None.
    """
    quantiles = np.sort(rows.quantiles, axis=1)
    widths = quantiles[:, -1] - quantiles[:, 0]
    if not np.any(widths > 0):  # As of a single level: steps in the targets' unit.
        widths = np.ones(len(widths))
    weights = widths if rows.weights is None else widths * rows.weights

    def fitted(chosen: np.ndarray) -> np.ndarray:
        known = chosen & (weights > 0)
        if not np.any(known):
            return np.zeros(len(rows.levels))
        errors = (rows.target[known, None] - quantiles[known]) / widths[known, None]
        steps = [
            weighted_quantiles(column, weights[known], level)
            for column, level in zip(errors.T, rows.levels, strict=True)
        ]
        return np.array(steps)

    moved, wider = np.empty_like(quantiles), np.empty(len(losses))
    fold = folds_of(len(losses), clusters)
    for rest, held_out in _cross_fitting.splits(fold, FOLDS):
        steps = fitted(rest)
        moved[held_out] = quantiles[held_out] + widths[held_out, None] * steps
        wider[held_out] = np.sign(steps[-1] - steps[0])
    after = _losses(rows, np.sort(moved, axis=1))
    dependent = None
    if clusters is not None:
        dependent = Clusters(clusters, int(clusters.max()) + 1)
    refined = Refined(losses, after, wider)
    gain = summarized(refined, rows.weights, None, dependent, INTERVAL_LEVEL)
    return gain, fitted(np.ones(len(losses), bool))
