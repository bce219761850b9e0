"""Tables of the calibration of groups: rows, tests and adjusted p-values."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from uncertainty_metrics import _tables
from uncertainty_metrics.numpy import _text_tables, _wilson
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.calibration.watching import (
    _clustered_gaps,
    _group_walks,
    _outcome_counts,
    _redrawn_walks,
)
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import (
    EXACT_BELOW,
    Scored,
)
from uncertainty_metrics.numpy.calibration.watching._group_walks import Statistic
from uncertainty_metrics.numpy.calibration.without_bins._pooled_tests import (
    p_of_range,
)

# Rounding of effective sizes: those of equal weights are numbers of examples.
_ROUNDING = 1e-9
# The power with which a detectable gap is found.
POWER = 0.8
Adjustment = Literal["holm", "max"]


class GroupCalibration(NamedTuple):
    """The calibration of one group.

    Attributes:
      name: the values that make the group, such as "sex=F" or "sex=F, age=old".
      attributes: the same as a dict from attributes to values.
      size: number of its examples; with weights the effective number.
      mean_score: mean predicted probability, in [0, 1].
      mean_outcome: share of the outcomes that came, in [0, 1].
      gap: mean outcome less mean score, in [-1, 1]; below 0 the group is promised too
        much.
      lower: lower end of the interval of the gap.
      upper: upper end of the interval of the gap.
      p_value: p-value of a true gap of 0; NaN for a group too small to be tested.
      adjusted_p_value: the same, adjusted for all groups that are tested.
      detectable: the size of a true gap that would be found among all these groups with
        a power of 0.8, by Normal approximation; NaN for a group too small to be tested.
    """

    name: str
    attributes: dict[str, Any]
    size: float
    mean_score: float
    mean_outcome: float
    gap: float
    lower: float
    upper: float
    p_value: float
    adjusted_p_value: float
    detectable: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CalibrationByGroup(_tables.Table):
    """The calibration of all groups, sorted by the adjusted p-value.

    It prints as a table, and is a sequence of `GroupCalibration`. Groups that are too
    small to be tested come last. `to_dict`, `to_frame`, `to_markdown` and `to_latex`
    return the table in these forms.

    Attributes:
      rows: a `GroupCalibration` for each group.
      level: level of the intervals, in (0, 1).
      min_examples: size from which on a group is tested.
      num_clusters: the number of clusters; None without clusters.
      design_effect: that of the mean of (outcome - score) of all examples: its variance
        divided by the variance that it would have if the examples were independent.
        None without clusters.
      statistic: "gap" or "kuiper".
      adjust: how p-values are adjusted, "holm" or "max".
    """

    rows: tuple[GroupCalibration, ...]
    level: float
    min_examples: int
    num_clusters: int | None = None
    design_effect: float | None = None
    statistic: Statistic = "gap"
    adjust: Adjustment = "holm"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[GroupCalibration]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> GroupCalibration:
        return self.rows[index]

    @property
    def tested(self) -> tuple[GroupCalibration, ...]:
        """The groups that are large enough to be tested."""
        return tuple(row for row in self.rows if row.p_value == row.p_value)

    @property
    def miscalibrated(self) -> tuple[GroupCalibration, ...]:
        """The groups whose error is not chance: adjusted p-value at most 1 - level."""
        most = 1 - self.level
        return tuple(row for row in self.tested if row.adjusted_p_value <= most)

    @property
    def worst(self) -> GroupCalibration | None:
        """The group with the smallest p-value; None where no group is tested."""
        return self.tested[0] if self.tested else None

    @property
    def _adjustment(self) -> str:
        return "Holm" if self.adjust == "holm" else "max"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            field: [getattr(row, field) for row in self.rows]
            for field in GroupCalibration._fields
        }

    def _shown(self) -> _tables.Shown:
        header = (
            *("group", "size", "score", "outcome", "gap", "from", "to"),
            *("detectable", f"p ({self._adjustment})"),
        )

        def row(i: int) -> list[object]:
            group = self.rows[i]
            numbers = (group.mean_score, group.mean_outcome, group.gap)
            p = group.adjusted_p_value
            return [
                group.name,
                f"{group.size:.10g}",
                *(f"{number:.3f}" for number in (*numbers, group.lower, group.upper)),
                "" if p != p else f"{group.detectable:.3f}",
                "too small" if p != p else "<0.001" if p < 0.001 else f"{p:.3f}",
            ]

        return _tables.Shown(header, len(self), row)

    def __repr__(self) -> str:
        tested, wrong = len(self.tested), len(self.miscalibrated)
        return (
            f"Calibration of {len(self)} groups: {wrong} of {tested} tested are "
            f"miscalibrated at {100 * (1 - self.level):.3g}%, all groups considered "
            f"({self._adjustment}); {len(self) - tested} have fewer than "
            f"{self.min_examples} examples.\n{_text_tables.table(*self._shown())}"
        )


class Partition(NamedTuple):
    """Groups of examples that do not overlap.

    Attributes:
      codes: the group of each example, integers [N].
      names: the name of each group.
      attributes: the attributes of each group.
    """

    codes: np.ndarray
    names: list[str]
    attributes: list[dict[str, Any]]


def table_of(
    partitions: Iterable[Callable[[], Partition]],
    scored: Scored,
    clusters: Clusters | None,
    min_examples: int,
    level: float,
    statistic: Statistic,
    adjust: Adjustment,
    rng: np.random.Generator,
    are_binary: bool = True,
) -> CalibrationByGroup:
    """Returns the calibration of the groups of some partitions, which are made by
    functions, because all of them together may not fit into the memory.

    `clusters` are those of the caller's examples; `scored` has none if they are single.
    `are_binary` says whether all outcomes are 0 or 1.
    """
    rows: list[GroupCalibration] = []
    chosen: list[_redrawn_walks.TestedGroups] = []
    deviations = []
    weighted, needs_walks = _weighted(scored), statistic != "gap" or adjust != "holm"
    for made in partitions:
        part = made()
        of_part, tested = _rows(part, scored, weighted, min_examples, level, are_binary)
        rows += of_part
        if needs_walks:
            sizes = np.bincount(part.codes, minlength=len(part.names))
            codes = functools.partial(_codes, made)
            chosen.append(_redrawn_walks.TestedGroups(codes, tested, sizes))
        elif scored.clusters is None:
            spread = _sums(part, weighted.spread)[tested]
            deviations.append(np.sqrt(spread) / _sums(part, weighted.weights)[tested])
        else:
            pair = part.codes, tested
            walks = _group_walks.Walks.of(scored, statistic, [pair], are_binary)
            deviations.append(walks.deviations)
    found = None
    if needs_walks:
        tests = _redrawn_walks.WalkTests(scored, statistic, chosen, are_binary)
        deviations.append(tests.deviations)
        found = tests.found(rng, level, adjust == "max")
    adjusted = _adjusted(rows, np.concatenate(deviations), statistic, found, level)
    return CalibrationByGroup(
        tuple(adjusted),
        level,
        min_examples,
        None if clusters is None else clusters.number,
        None
        if clusters is None or scored.clusters is None
        else _clustered_gaps.design_effect(scored),
        statistic,
        adjust,
    )


def _codes(made: Callable[[], Partition]) -> np.ndarray:
    return made().codes


class _Weighted(NamedTuple):
    """Columns whose sums over groups are needed, float64 [N]; None for ones.

    Attributes:
      weights: w.
      squares: w^2.
      scores: w p.
      outcomes: w y.
      spread: w^2 p (1 - p).
    """

    weights: np.ndarray | None
    squares: np.ndarray | None
    scores: np.ndarray
    outcomes: np.ndarray
    spread: np.ndarray


def _weighted(scored: Scored) -> _Weighted:
    scores, outcomes, weights, _ = scored
    spread = scores * (1 - scores)
    if np.all(weights == 1):
        return _Weighted(None, None, scores, outcomes, spread)
    squares = weights**2
    products = weights * scores, weights * outcomes, squares * spread
    return _Weighted(weights, squares, *products)


def _sums(part: Partition, values: np.ndarray | None) -> np.ndarray:
    """Returns the sums over groups of values [N], or of ones, float64 [groups]."""
    return np.bincount(part.codes, values, len(part.names)).astype(np.float64)


def _rows(
    part: Partition,
    scored: Scored,
    weighted: _Weighted,
    min_examples: int,
    level: float,
    are_binary: bool,
) -> tuple[list[GroupCalibration], np.ndarray]:
    """Returns the groups of a partition, whose p-values are not adjusted yet, and which
    of them are tested.
    """
    mass = _sums(part, weighted.weights)
    squares = mass if weighted.squares is None else _sums(part, weighted.squares)
    effective = mass**2 / squares
    score = _sums(part, weighted.scores) / mass
    outcome = _sums(part, weighted.outcomes) / mass
    tested = effective >= min_examples * (1 - _ROUNDING)
    if scored.clusters is None:
        lower, upper = _wilson.interval(outcome, effective, level)
        lower, upper = lower - score, upper - score
        of_sums = mass, squares, _sums(part, weighted.spread)
        p_values = _p_values(part.codes, scored, of_sums, outcome - score, tested)
    else:
        lower, upper, p_values = _clustered_gaps.intervals_and_p_values(
            part.codes, scored, tested, level, are_binary
        )
    numbers = (effective, score, outcome, outcome - score, lower, upper, p_values)
    columns = [column.tolist() for column in numbers]
    rows = [
        GroupCalibration(name, attributes, *row, np.nan, np.nan)  # type: ignore[call-arg]
        for name, attributes, row in zip(
            part.names, part.attributes, zip(*columns, strict=True), strict=True
        )
    ]
    return rows, ~np.isnan(p_values)


def _p_values(
    index: np.ndarray,
    scored: Scored,
    of_sums: tuple[np.ndarray, np.ndarray, np.ndarray],
    gaps: np.ndarray,
    tested: np.ndarray,
) -> np.ndarray:
    """Returns the p-value of each group; NaN for one that is not tested.

    Args:
      index: the group of each example, [N].
      scored: the examples.
      of_sums: the sums over groups of w, w^2 and w^2 p (1 - p).
      gaps: mean outcome less mean score of each group.
      tested: which groups are tested.
    """
    from scipy import special

    mass, squares, spread = of_sums
    deviation = np.sqrt(spread) / mass
    # Without a spread every outcome is certain: any gap is impossible.
    z = np.abs(gaps) / np.where(deviation > 0, deviation, 1.0)
    p_values = 2 * special.ndtr(-z)
    p_values[spread == 0] = np.where(np.abs(gaps[spread == 0]) > 1e-12, 0.0, 1.0)
    p_values[~tested] = np.nan
    # The variance of the number of outcomes, of the effective number of examples.
    exact = tested & (spread > 0) & (spread * (mass / squares) ** 2 < EXACT_BELOW)
    if not np.any(exact):
        return p_values
    order = np.argsort(index, kind="stable")
    sizes = np.bincount(index)
    starts = np.cumsum(sizes) - sizes
    sorted_weights = scored.weights[order]
    lightest = np.minimum.reduceat(sorted_weights, starts)
    is_even = lightest == np.maximum.reduceat(sorted_weights, starts)
    small = exact & is_even & (sizes <= _outcome_counts.SMALL)
    if np.any(small):
        among = order[small[index[order]]]
        p_values[small] = _outcome_counts.two_sided_p_of_each(
            scored.scores[among],
            np.append(0, np.cumsum(sizes[small])),
            np.bincount(index, scored.outcomes)[small],
        )
    for i in np.flatnonzero(exact & ~small):  # The laws of sums have no common array.
        members = order[starts[i] : starts[i] + sizes[i]]
        scores, outcomes, weights = (
            column[members]
            for column in (scored.scores, scored.outcomes, scored.weights)
        )
        if is_even[i]:
            p_values[i] = _outcome_counts.two_sided_p(scores, outcomes.sum())
        else:
            p_values[i] = _outcome_counts.two_sided_p_of_weighted(
                scores, outcomes, weights
            )
    return p_values


def _adjusted(
    rows: list[GroupCalibration],
    deviations: np.ndarray,
    statistic: Statistic,
    found: _redrawn_walks.Found | None,
    level: float,
) -> list[GroupCalibration]:
    """Returns the groups with adjusted p-values, those with the smallest first.

    Args:
      rows: the groups of all partitions.
      deviations: of the gap of each group that is tested, if the model is calibrated.
      statistic: "gap" or "kuiper".
      found: their p-values; None for those of the rows, adjusted by Holm's method.
      level: one less the level of the tests.
    """
    from scipy import special

    tested = [row for row in rows if row.p_value == row.p_value]
    p_values = np.array([row.p_value for row in tested])
    if statistic == "kuiper" and found is not None:
        p_values = found.p_values
    if found is not None and found.of_largest is not None:
        largest, critical = found.of_largest
        adjusted = np.maximum(largest, p_values)
    else:
        adjusted = _holm(p_values)
        critical = critical_value(statistic, (1 - level) / max(len(tested), 1))
    # The range of a walk is at least as far as the walk gets.
    detectable = (critical + special.ndtri(POWER)) * deviations
    tested = [
        row._replace(
            p_value=float(p_values[i]),
            adjusted_p_value=float(adjusted[i]),
            detectable=float(detectable[i]),
        )
        for i, row in enumerate(tested)
    ]
    tested.sort(
        key=lambda row: (row.adjusted_p_value, row.p_value, -abs(row.gap), row.name)
    )
    small = [row for row in rows if row.p_value != row.p_value]
    return tested + sorted(small, key=lambda row: (-row.size, row.name))


def _holm(p_values: np.ndarray) -> np.ndarray:
    """Returns p-values adjusted by Holm's method."""
    order = np.argsort(p_values, kind="stable")
    left = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, left * p_values[order]))
    return adjusted


def critical_value(statistic: Statistic, level: float) -> float:
    """Returns the statistic, in standard errors, with a p-value of `level`."""
    from scipy import optimize, special

    if statistic == "gap":
        return float(-special.ndtri(level / 2))
    return float(optimize.brentq(lambda x: p_of_range(x) - level, 0.25, 40.0))
