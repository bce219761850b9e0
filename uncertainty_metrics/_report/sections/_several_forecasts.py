"""The section that compares several forecasts of the same rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from uncertainty_metrics._report.data._predictions import Model, QuantileForecasts
from uncertainty_metrics._report.data._time_blocks import lags_of_time
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    number,
    significant,
)
from uncertainty_metrics._report.sections._model_report import ModelReport
from uncertainty_metrics._report.sections._quantile_coverage import (
    CentralInterval,
    intervals_of,
)
from uncertainty_metrics._report.sections._several_models import MODELS, SeveralModels


@dataclasses.dataclass(frozen=True)
class SeveralForecasts(SeveralModels):
    """Any number of forecasts of the same rows by their CRPS, with their coverage.

    Attributes:
      coverage: of the central intervals of each model, by its name, the widest first.
      lags: of a single series, how many rows apart are independent; else None.
    """

    tasks = ("quantiles",)
    pictures = (MODELS,)

    coverage: dict[str, list[CentralInterval]]
    lags: int | None

    @classmethod
    def of_models(cls, models: Sequence[Model]) -> SeveralForecasts:
        """Compares models.

        Raises:
          ReportError: the models are not of the same rows, or have weights.
        """
        base = SeveralModels.of_models(models)
        forecasts = [m for m in models if isinstance(m, QuantileForecasts)]
        lags = lags_of_time(forecasts[0])
        return cls(
            base.models,
            base.found,
            base.verdict,
            {
                name: intervals_of(model)
                for name, model in zip(base.models, forecasts, strict=True)
            },
            None if lags is None else lags[1],
        )

    def as_json(self) -> dict[str, Any]:
        coverage = {
            name: [dataclasses.asdict(each) for each in found]
            for name, found in self.coverage.items()
        }
        return super().as_json() | {"coverage": coverage, "lags": self.lags}

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield from super().blocks(report)
        if self.lags is not None:
            yield Text(
                "The rows are of one series. They are taken in the order of time, and "
                f"rows {self.lags} or more apart as independent, as are the errors of "
                "forecasts that were made so many rows ahead (Diebold and Mariano)."
            )
        if any(self.coverage.values()):
            yield coverage_table(self.coverage)


def coverage_table(coverage: Mapping[str, Sequence[CentralInterval]]) -> Table:
    """Returns the table of the coverage of the central intervals of each model."""
    columns = ("interval", "coverage", "from", "to", "mean width")
    rows = [
        (name, f"{100 * each.level:.4g}%", *_shares(each))
        for name, found in coverage.items()
        for each in found
    ]
    return Table("Coverage of the central intervals", "model", columns, rows)


def _shares(each: CentralInterval) -> tuple[str, ...]:
    found = each.coverage
    shares = (found.share, found.low, found.high)
    return (*map(number, shares), significant(each.width))
