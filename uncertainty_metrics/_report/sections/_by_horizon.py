"""The section on forecasts at each horizon."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from uncertainty_metrics._report.data._predictions import QuantileForecasts
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    number,
    significant,
)
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._p_values import is_clear
from uncertainty_metrics._report.sections._quantile_coverage import (
    central_intervals,
    summed_intervals,
)
from uncertainty_metrics._report.sections._quantile_numbers import (
    TestedShare,
    quantile_scores,
)

_MOST = 60  # More horizons are shown in ranges of so many.


@dataclasses.dataclass(frozen=True)
class OfHorizon:
    """The forecasts at one horizon, or a range of them.

    Attributes:
      horizon: its name.
      examples: number of rows.
      crps: mean CRPS.
      skill: the share of the CRPS of the constant forecast that the model saves; None
        if that is 0.
      coverage: of the widest central intervals; None if there are none.
    """

    horizon: str
    examples: int
    crps: float
    skill: float | None
    coverage: TestedShare | None


@dataclasses.dataclass(frozen=True)
class ByHorizon(Section):
    """How good forecasts are at each horizon.

    Attributes:
      verdict: a few sentences.
      level: of the widest central intervals, or None.
      horizons: in order.
    """

    name = "horizons"
    heading = "By horizon"
    tasks = ("quantiles",)

    verdict: str
    level: float | None
    horizons: list[OfHorizon]

    @classmethod
    def of(cls, report: ModelReport) -> ByHorizon | None:
        rows, clusters = quantiles_of(report.model), clusters_of(report.model)
        if rows.horizons is None:
            return None
        level = rows.pairs[0][0] if rows.pairs else None
        sums = report.model.sums
        if sums is not None and sums.horizons is not None:
            found = _summed(report.model)
            return cls(_verdict(found, level), level, found)
        scores = quantile_scores(report.model)
        found = []
        for name, some in _parts(rows.horizons):
            weights = None if rows.weights is None else rows.weights[some]
            part = rows._replace(
                target=rows.target[some],
                quantiles=rows.quantiles[some],
                weights=weights,
            )
            intervals = central_intervals(
                part, None if clusters is None else clusters[some]
            )
            crps, constant = (
                float(np.average(each[some], weights=weights))
                for each in (scores.crps, scores.constant)
            )
            found.append(
                OfHorizon(
                    name,
                    int(some.sum()),
                    crps,
                    1 - crps / constant if constant > 0 else None,
                    intervals[0].coverage if intervals else None,
                )
            )
        return cls(_verdict(found, level), level, found)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        columns: tuple[str, ...] = ("examples", "CRPS", "skill")
        if self.level is not None:
            columns += (f"coverage of {100 * self.level:.4g}%", "from", "to", "p")
        yield Table(
            "Forecasts at each horizon",
            "horizon",
            columns,
            [_cells(each) for each in self.horizons],
        )


def _summed(model: QuantileForecasts) -> list[OfHorizon]:
    """Returns the numbers of each horizon from the sums over all rows, the skill from
    the rows that there are.
    """
    rows, scores, found = quantiles_of(model), quantile_scores(model), []
    assert rows.horizons is not None
    for horizon in sorted(model.sums.horizons):
        some, skill = rows.horizons == horizon, None
        if np.any(some):
            weights = None if rows.weights is None else rows.weights[some]
            crps, constant = (
                float(np.average(each[some], weights=weights))
                for each in (scores.crps, scores.constant)
            )
            skill = 1 - crps / constant if constant > 0 else None
        intervals = summed_intervals(rows, model.sums, horizon)
        found.append(
            OfHorizon(
                f"{horizon:g}" if isinstance(horizon, float) else str(horizon),
                model.sums.rows_of(horizon),
                model.sums.mean("crps", horizon).mean,
                skill,
                intervals[0].coverage if intervals else None,
            )
        )
    return found


def _parts(horizons: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the name of each horizon, or of ranges of them, and its rows, bool [n]."""
    values, codes = np.unique(horizons, return_inverse=True)
    names = [f"{v:g}" if values.dtype.kind in "iuf" else str(v) for v in values]
    starts = np.unique(
        np.linspace(0, len(values), min(len(values), _MOST) + 1, dtype=int)
    )
    for start, end in itertools.pairwise(starts):
        name = (
            names[start] if end - start == 1 else f"{names[start]} to {names[end - 1]}"
        )
        yield name, (codes >= start) & (codes < end)


def _verdict(found: list[OfHorizon], level: float | None) -> str:
    first, last = found[0], found[-1]
    text = f"The CRPS is {significant(first.crps)} at horizon {first.horizon}"
    if len(found) > 1:
        text += f" and {significant(last.crps)} at horizon {last.horizon}"
    if level is None:
        return f"{text}."
    off: dict[int, list[str]] = {-1: [], 1: []}
    for each in found:
        share = each.coverage
        if share is not None and is_clear(min(1.0, share.p_value * len(found))):
            off[share.side].append(each.horizon)
    text += f". The {100 * level:.4g}% intervals "
    words = [
        f"are clearly too {word} at horizon{'s' if len(off[side]) > 1 else ''} "
        f"{', '.join(off[side])}"
        for side, word in ((-1, "narrow"), (1, "wide"))
        if off.get(side)
    ]
    return f"{text}{'; '.join(words) or 'may be right at every horizon'}."


def _cells(each: OfHorizon) -> tuple[str, ...]:
    cells = (
        each.horizon,
        f"{each.examples}",
        significant(each.crps),
        number(each.skill),
    )
    if each.coverage is None:
        return cells
    share = each.coverage
    return (
        *cells,
        *map(number, (share.share, share.low, share.high)),
        f"{share.p_value:.3f}",
    )
