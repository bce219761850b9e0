"""The section on the CRPS of a regression, and on how much of it could be gained."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from uncertainty_metrics._report.data._normal_forecasts import forecasts_of
from uncertainty_metrics._report.data._predictions import Regression
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    Tile,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._forecast_numbers import forecast_numbers
from uncertainty_metrics._report.sections._gain import (
    LossInUnits,
    gain_table,
    loss_and_gain,
    tile_of_loss,
    verdict_on,
)
from uncertainty_metrics._report.sections._metrics_and_intervals import Number
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    Section,
)
from uncertainty_metrics._report.sections._recalibrated_forecasts import FOLDS
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.regression import crps_calibration

_CRPS = "CRPS"
_LEAST = 50
_MAP = "a map of CDF values"
_DEFINITION = "The score is the mean CRPS, in the unit of the targets."


@dataclasses.dataclass(frozen=True, kw_only=True)
class GainOfForecasts(Section):
    """The CRPS, and how much of it a map would gain.

    Attributes:
      crps: the CRPS.
      map: the name of the map; None if none can be fitted.
      folds: of the cross-fitting.
      definition: how the score is defined.
      verdict: a sentence or two.
    """

    name = "calibration_loss"
    heading = "The score, and what could be gained"
    tasks = ("regression",)

    crps: LossInUnits
    map: str | None = None
    folds: int = FOLDS
    definition: str = _DEFINITION
    verdict: str

    @classmethod
    def of(cls, report: ModelReport) -> GainOfForecasts:
        crps = forecast_numbers(report.model, report.num_bins).values["crps"]
        found, why = _found(report.model, crps)
        if found is None:
            why = f"{TOO_FEW_TO_SAY} how much could be gained: {why}."
            return cls(crps=LossInUnits(loss=crps), verdict=why)
        return cls(crps=found, map="pit", verdict=verdict_on(found, _MAP))

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        yield tile_of_loss(_CRPS, self.crps, f"{self.verdict} {self.definition}")

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(f"{_CRPS} {significant(self.crps.loss)}. {self.verdict}")
        if self.map is None:
            return
        yield gain_table({_CRPS: self.crps})
        yield Text(
            f"The gain is what {_MAP} (um.regression.PITCalibration) takes off the "
            "score: the map that recalibrates an example was fitted to the other "
            f"{self.folds - 1} of {self.folds} folds. On average it is at most what "
            "the best of all such maps would gain, and at most 0 for a calibrated "
            "model. The map is one for all examples: it does not mend standard "
            "deviations that are too small for some and too large for others."
        )
        yield Text(_sides(self.crps.overconfident, self.crps.underconfident))


def _sides(over: Number, under: Number) -> str:
    """Returns a sentence on whether the maps of the folds widen or narrow forecasts."""
    if not under:
        return "The map of each fold widens the forecasts."
    if not over:
        return "The map of each fold narrows the forecasts."
    return (
        f"Of the gain, {significant(over)} comes from folds whose map widens the "
        f"forecasts, and {significant(under)} from folds whose map narrows them."
    )


def _found(model: Regression, crps: float) -> tuple[LossInUnits | None, str]:
    """Returns what could be gained, and why it is not known."""
    size = effective_examples(model)
    if size < _LEAST:
        shown = np.floor(10 * size) / 10
        return None, f"{shown:g} effective examples, but at least {_LEAST} are needed"
    codes = clusters_of(model)
    clusters = None if codes is None else Clusters(codes, int(codes.max()) + 1)
    rng = np.random.default_rng(SEED)
    try:
        found = crps_calibration.loss_of(
            forecasts_of(model), FOLDS, INTERVAL_LEVEL, rng, clusters
        )
    except ValueError as wrong:  # The weights have too small a sum.
        return None, str(wrong).rstrip(".")
    return loss_and_gain(crps, found, LossInUnits), ""
