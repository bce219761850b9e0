"""Calibration of the groups of a population: for whom are the probabilities wrong?"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE
from uncertainty_metrics.numpy import _text_tables, _wilson
from uncertainty_metrics.numpy._clusters import Clusters, one_example_each
from uncertainty_metrics.numpy._group_columns import GroupColumn, group_column
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.watching import (
    _clustered_gaps,
    _outcome_counts,
)
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import (
    EXACT_BELOW,
    Scored,
)

__all__ = ["calibration_by_group"]

# Rounding of effective sizes: those of equal weights are numbers of examples.
_ROUNDING = 1e-9


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
      adjusted_p_value: the same, adjusted for all groups that are tested (Holm).
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
    """

    rows: tuple[GroupCalibration, ...]
    level: float
    min_examples: int
    num_clusters: int | None = None
    design_effect: float | None = None

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
        """The groups whose gap is not chance: adjusted p-value at most 1 - level."""
        most = 1 - self.level
        return tuple(row for row in self.tested if row.adjusted_p_value <= most)

    @property
    def worst(self) -> GroupCalibration | None:
        """The group with the smallest p-value; None where no group is tested."""
        return self.tested[0] if self.tested else None

    def _columns(self) -> dict[str, list[Any]]:
        return {
            field: [getattr(row, field) for row in self.rows]
            for field in GroupCalibration._fields
        }

    def _shown(self) -> _tables.Shown:
        header = ("group", "size", "score", "outcome", "gap", "from", "to", "p (Holm)")

        def row(i: int) -> list[object]:
            group = self.rows[i]
            numbers = (group.mean_score, group.mean_outcome, group.gap)
            p = group.adjusted_p_value
            return [
                group.name,
                f"{group.size:.10g}",
                *(f"{number:.3f}" for number in (*numbers, group.lower, group.upper)),
                "too small" if p != p else "<0.001" if p < 0.001 else f"{p:.3f}",
            ]

        return _tables.Shown(header, len(self), row)

    def __repr__(self) -> str:
        tested, wrong = len(self.tested), len(self.miscalibrated)
        return (
            f"Calibration of {len(self)} groups: {wrong} of {tested} tested are "
            f"miscalibrated at {100 * (1 - self.level):.3g}%, all groups considered "
            f"(Holm); {len(self) - tested} have fewer than {self.min_examples} "
            f"examples.\n{_text_tables.table(*self._shown())}"
        )


def calibration_by_group(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    groups: Any,
    depth: int = 1,
    min_examples: int = 50,
    level: float = 0.95,
    logits: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> CalibrationByGroup:
    """Calibration of each group of examples, and which gaps are more than chance.

    A model that is calibrated on average may promise too much to some groups. For the
    scores p_i and the outcomes y_i of the n examples of a group (of one column P(class
    1) and whether the label is 1, else the confidence of the decision and whether it is
    right),

      gap = mean y_i - mean p_i

    Its interval is Wilson's of the mean outcome, less the mean score. Its p-value is
    two-sided, for outcomes that come with the probabilities p_i: Normal with the
    variance sum p_i (1 - p_i) / n^2 where this sum is at least 100, and else exact:
    twice the smaller mid-p tail of the number of outcomes,

      2 min(P(fewer) + P(equal) / 2, P(more) + P(equal) / 2)

    whatever the number of examples: of 20,000 confidences of 0.999 only 20 errors are
    expected, which are not Normal. With weights that are not all equal there is no such
    count. The p-value is then the largest of the Normal one, of the exact one of as
    many unweighted examples as the weighted ones are worth, and of a saddlepoint
    approximation, so that it is never less careful than Normal.

    The p-values are adjusted by Holm's method for the number of groups tested, however
    many groups there are and however they overlap. A single interval is not adjusted:
    of 100 groups of a calibrated model about 5 have intervals without 0.

    In a simulation of 84 overlapping groups (`studies/calibration_by_group_level.py`,
    300 draws) a calibrated model had a finding in 3.7% of data sets of
    500, 2000 and 10,000 examples. One group of an eighth of the examples, whose
    outcomes came less often than predicted by 0.1, was found in 12%, 64% and 100%.
    Where all confidences are 0.999 or 0.9999, at most 0.7% of data sets of 2000 and of
    20,000 had a finding, and at most 2.0% with weights; by Normal p-values 18% to 85%,
    and 1% to 87% with weights.

    A mid-p tail keeps the level on average over groups. For a single group the number
    of errors is discrete: at 5%, from 0.5% to 5.7% of calibrated groups are rejected
    for most expected numbers of errors, and 8.3% where just 3 are expected.

    Where outcomes are between 0 and 1, only the data tell their variance: each example
    is then treated as a cluster of its own (below), without the exact p-value, and n is
    the number of outcomes 0 and 1 whose mean has the same variance.

    The intervals and p-values need independent examples, or `clusters=`. With the sums
    S_c of (y - p) over the n_c examples of cluster c in the group, and C such clusters,
    t with C - 1 degrees of freedom then tests the gap by the variance

      C / (C - 1) sum_c S_c^2 / n^2

    The interval holds each gap g that passes this test with S_c - g n_c instead of S_c.
    Of n examples with the design effect D = sum_c S_c^2 / sum (y - p)^2, n / D are as
    good as independent: the interval is never shorter than Wilson's of so many, and p
    never smaller than the exact one of so many with the scores of the group. A group of
    one cluster is not tested. A model that is calibrated had a finding in at most 7% of
    data sets from 50 clusters on (`studies/cluster_coverage.py`).

    A gap of 0 does not show that a group is calibrated: scores that are too high for
    some of its members and too low for others even out. `ece` of the group tells.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      groups: the attributes of the examples: a mapping (or data frame) from the name of
        each attribute to its values, strings, integers or booleans, of the shape of the
        labels; or the values of a single attribute. Missing values are a group of their
        own.
      depth: 1 for the groups of each attribute by itself; 2 for those of every pair of
        attributes as well.
      min_examples: smaller groups are listed, but not tested.
      level: level of the intervals, in (0, 1); 1 - level is the level of the tests.
      logits: logits of the same shape, instead of `probabilities`.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. Sizes are then effective sizes, (sum w)^2 / sum w^2. Equal weights of
        any size change nothing.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      A `CalibrationByGroup`, a sequence of a `GroupCalibration` for each group, sorted
      by the adjusted p-value. It prints as a table; `.worst` is the first group,
      `.miscalibrated` the groups beyond chance, `.to_dict()` the columns.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> correct = [1] * 80 + [0] * 20 + [1] * 50 + [0] * 50
      >>> language = ["English"] * 100 + ["Finnish"] * 100
      >>> table = um.calibration_by_group(
      ...     correct=correct, confidences=[0.8] * 200, groups={"language": language}
      ... )
      >>> table.worst.name, round(table.worst.gap, 3)
      ('language=Finnish', -0.3)
      >>> [group.name for group in table.miscalibrated]
      ['language=Finnish']

    References:
      Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure. Wilson
      (1927), Probable Inference, the Law of Succession, and Statistical Inference.
      Barndorff-Nielsen (1991), Modified Signed Log Likelihood Ratio.
    """
    _checks.one_of("depth", depth, (1, 2))
    min_examples = _checks.positive_integer("min_examples", min_examples)
    level = _checks.open_unit("level", level)
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        correct=correct,
        confidences=confidences,
        clusters=clusters,
    )
    spec = dataclasses.replace(OF_ONE_SCORE, positive_class=positive_class)
    examples, spec = _binning.read(data, spec)
    scores, outcomes, _ = _scores.scored_rows(examples, spec)
    scored = Scored(
        scores[:, 0].astype(np.float64),
        outcomes[:, 0].astype(np.float64),
        np.ones(len(scores)) if examples.weights is None else examples.weights,
        examples.clusters,
    )
    columns = _columns(groups, examples.counted)
    if examples.clusters is not None:
        columns, scored = _without_copies(columns, scored)
    if examples.shares is not None and scored.clusters is None:
        # Their variance is that of the data: each example is a cluster of its own.
        size = len(scored.scores)
        scored = scored._replace(clusters=Clusters(np.arange(size), size))
    are_binary = examples.shares is None
    rows = []
    for size in range(1, depth + 1):
        for names in itertools.combinations(columns, size):
            chosen = {name: columns[name] for name in names}
            rows += _rows(chosen, scored, min_examples, level, are_binary)
    table = CalibrationByGroup(tuple(_adjusted(rows)), level, min_examples)
    if examples.clusters is None:
        return table
    return dataclasses.replace(
        table,
        num_clusters=examples.clusters.number,
        design_effect=_clustered_gaps.design_effect(scored),
    )


def _without_copies(
    columns: dict[str, GroupColumn], scored: Scored
) -> tuple[dict[str, GroupColumn], Scored]:
    """Returns independent examples, one of each cluster, if every cluster holds one
    example or equally many copies of one; else all examples.
    """
    scores, outcomes, weights, clusters = scored
    assert clusters is not None
    groups = [column.codes for column in columns.values()]
    first = one_example_each(clusters, weights, scores, outcomes, *groups)
    if first is None:
        return columns, scored
    first = np.sort(first)
    if len(first) < len(scores):
        weights = np.ones(len(scores))
    columns = {
        name: column._replace(codes=column.codes[first])
        for name, column in columns.items()
    }
    return columns, Scored(scores[first], outcomes[first], weights[first], None)


def _columns(groups: Any, counted: np.ndarray) -> dict[str, GroupColumn]:
    """Returns the groups of the examples that count, attribute by attribute."""
    named = isinstance(groups, Mapping) or hasattr(groups, "columns")
    if named:
        attributes = {str(name): groups[name] for name in groups}
    else:
        attributes = {str(getattr(groups, "name", None) or "group"): groups}
    if not attributes:
        raise _checks.error("groups", "at least one attribute", "none", verb="hold")
    columns = {}
    for name, values in attributes.items():
        label = f"groups[{name!r}]" if named else "groups"
        column = group_column(label, values)
        if len(column.codes) != counted.size:
            raise _checks.error(
                label,
                f"a value for each of the {counted.size} examples",
                len(column.codes),
                verb="hold",
            )
        columns[name] = column._replace(codes=column.codes[counted.reshape(-1)])
    return columns


def _rows(
    columns: dict[str, GroupColumn],
    scored: Scored,
    min_examples: int,
    level: float,
    are_binary: bool,
) -> list[GroupCalibration]:
    """Returns the groups that the values of one or two attributes make."""
    sizes = [len(column.values) for column in columns.values()]
    cells = np.ravel_multi_index([c.codes for c in columns.values()], sizes)
    present, index = np.unique(cells, return_inverse=True)
    index = index.reshape(-1)
    weights, number = scored.weights, len(present)
    mass = np.bincount(index, weights, number)
    effective = mass**2 / np.bincount(index, weights**2, number)
    score = np.bincount(index, weights * scored.scores, number) / mass
    outcome = np.bincount(index, weights * scored.outcomes, number) / mass
    tested = effective >= min_examples * (1 - _ROUNDING)
    if scored.clusters is None:
        lower, upper = _wilson.interval(outcome, effective, level)
        lower, upper = lower - score, upper - score
        p_values = _p_values(index, scored, outcome - score, tested)
    else:
        lower, upper, p_values = _clustered_gaps.intervals_and_p_values(
            index, scored, tested, level, are_binary
        )
    rows = []
    for i, places in enumerate(zip(*np.unravel_index(present, sizes), strict=True)):
        values = {
            name: column.values[place]
            for (name, column), place in zip(columns.items(), places, strict=True)
        }
        rows.append(
            GroupCalibration(
                name=", ".join(f"{name}={value}" for name, value in values.items()),
                attributes=values,
                size=float(effective[i]),
                mean_score=float(score[i]),
                mean_outcome=float(outcome[i]),
                gap=float(outcome[i] - score[i]),
                lower=float(lower[i]),
                upper=float(upper[i]),
                p_value=float(p_values[i]),
                adjusted_p_value=np.nan,
            )
        )
    return rows


def _p_values(
    index: np.ndarray, scored: Scored, gaps: np.ndarray, tested: np.ndarray
) -> np.ndarray:
    """Returns the p-value of each group; NaN for one that is not tested."""
    from scipy import special

    variances = scored.scores * (1 - scored.scores)
    mass = np.bincount(index, scored.weights)
    squares = np.bincount(index, scored.weights**2)
    spread = np.bincount(index, scored.weights**2 * variances)
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
    members = np.split(order, np.cumsum(np.bincount(index))[:-1])
    for i in np.flatnonzero(exact):  # The laws of sums have no common array.
        scores, outcomes, weights = (
            column[members[i]]
            for column in (scored.scores, scored.outcomes, scored.weights)
        )
        if np.all(weights == weights[0]):
            p_values[i] = _outcome_counts.two_sided_p(scores, outcomes.sum())
        else:
            p_values[i] = _outcome_counts.two_sided_p_of_weighted(
                scores, outcomes, weights
            )
    return p_values


def _adjusted(rows: list[GroupCalibration]) -> list[GroupCalibration]:
    """Returns the groups with p-values adjusted by Holm's method, in their order."""
    tested = [row for row in rows if not np.isnan(row.p_value)]
    tested.sort(key=lambda row: (row.p_value, -abs(row.gap), row.name))
    adjusted, largest = [], 0.0
    for i, row in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - i) * row.p_value))
        adjusted.append(row._replace(adjusted_p_value=largest))
    small = [row for row in rows if np.isnan(row.p_value)]
    return adjusted + sorted(small, key=lambda row: (-row.size, row.name))
