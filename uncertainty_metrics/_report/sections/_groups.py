"""The section on groups: for whom is the model wrong more often than it says?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import event_of, examples_of_event
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Rows,
    remembered,
    rows_of,
)
from uncertainty_metrics._report.data._row_clusters import in_clusters
from uncertainty_metrics._report.sections._blocks import Block, Table, Text, Tile
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import (
    Terms,
    capitalized,
    terms_for,
)
from uncertainty_metrics._report.sections._diagrams import panels, rows_of_each
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._sampled_rows import sentence_on_sample
from uncertainty_metrics.numpy.calibration.watching._group_table import (
    CalibrationByGroup,
    GroupCalibration,
)

# Most letters in the name of a group: a longer name leaves no room for the gap.
_LONGEST = 28
# If there are more groups, the table shows the groups with the smallest p-values.
_SHOWN_GROUPS = 40
_ON_MULTIPLICITY = (
    "Many groups are many chances to find something. The p-values are adjusted for the "
    "number of groups that are tested, here {tested} (Holm): a calibrated model has a "
    "finding in at most 5% of data sets, however the groups overlap. Each interval is "
    "for one group by itself, and wide for its test where the probabilities within a "
    "group differ: it may hold 0 beside a small p. A group without a finding may still "
    "be miscalibrated, by less than its interval shows; and a group that was chosen "
    "after a look at the outcomes has no such guarantee."
)


@remembered
def table_of(model: Rows) -> CalibrationByGroup:
    """Returns the calibration of each group of a model that has groups."""
    return um.calibration_by_group(
        in_clusters(model, examples_of_event(model)),
        groups=model.groups,
        level=INTERVAL_LEVEL,
        positive_class=isinstance(model, Confidences) or event_of(model) is not None,
    )


def _draw(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws the gaps of the groups, for each model that has groups.

    If there is a single attribute, the title shows its name, and the groups show only
    their values.
    """
    from uncertainty_metrics.visualization import _series
    from uncertainty_metrics.visualization.groups import MOST_GROUPS

    del num_bins
    rows = rows_of_each(models)
    attributes = {_series.plain(name) for each in rows.values() for name in each.groups}
    alone = attributes.pop() if len(attributes) == 1 else ""
    tables = {name: table_of(each) for name, each in rows.items() if each.groups}
    most = max(len(table) for table in tables.values())
    terms = terms_for(next(iter(rows.values())))
    return panels(
        1.7 + 0.27 * min(most, MOST_GROUPS),
        lambda table, **options: _draw_groups(table, f"{alone}=", terms, **options),
        tables,
        f"Calibration by {_shortened(alone) or 'group'}",
    )


def _draw_groups(
    table: CalibrationByGroup, prefix: str, terms: Terms, ax: Any, title: str
) -> None:
    um.calibration_by_group_diagram(table, ax=ax, title=title)
    # Names of groups leave little width to the Axes, so the label is aligned right, and
    # its start is below the names.
    what = "Accuracy less mean confidence"
    if terms.of_event:
        what = "Share of the event less its probability"
    elif terms.outcome != "accuracy":
        what = f"{capitalized(terms.outcome)} less mean confidence"
    ax.set_xlabel(
        f"{what}\n" + rf"{terms.over} $\leftarrow$   $\rightarrow$ {terms.under}",
        loc="right",
    )
    names = [text.get_text().removeprefix(prefix) for text in ax.get_yticklabels()]
    ax.set_yticklabels([_shortened(name) for name in names])


def _shortened(name: str) -> str:
    """Returns a name whose middle is left out if it is long."""
    if len(name) <= _LONGEST:
        return name
    half = (_LONGEST - len("...")) // 2
    return f"{name[:half]}...{name[-half:]}"


def _has_groups(models: Any, num_bins: int) -> bool:
    del num_bins
    rows = rows_of(models[0])
    return rows is not None and bool(rows.groups)


GROUPS = ReportPicture(
    "calibration_by_group_diagram.png",
    "accuracy less confidence in each group, of two classes the share of the event "
    "less its probability, with its interval",
    _draw,
    _has_groups,
)


@dataclasses.dataclass(frozen=True)
class GroupRow:
    """The calibration of a group; None where a number is not defined."""

    name: str
    size: float
    mean_score: float
    mean_outcome: float
    gap: float
    lower: float
    upper: float
    p_value: float | None
    adjusted_p_value: float | None


@dataclasses.dataclass(frozen=True)
class Groups(Section):
    """The calibration of each group.

    Attributes:
      level: of the intervals.
      min_examples: groups with fewer are not tested.
      tested: number of groups that are tested.
      miscalibrated: names of the groups that the data show to be miscalibrated.
      verdict: a sentence or two.
      rows: the groups, those with the smallest p-values first.
    """

    name = "groups"
    heading = "Groups"
    tasks = ("classification", "confidences")
    pictures = (GROUPS,)

    level: float
    min_examples: int
    tested: int
    miscalibrated: list[str]
    verdict: str
    rows: list[GroupRow]

    @classmethod
    def of(cls, report: ModelReport) -> Groups | None:
        rows = rows_of(report.model)
        if rows is None or not rows.groups:
            return None
        table = table_of(rows)
        return cls(
            table.level,
            table.min_examples,
            len(table.tested),
            [row.name for row in table.miscalibrated],
            _verdict(table, terms_for(rows)),
            [group_row(group) for group in table],
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        value, level, detail = "None clearly miscalibrated", "good", self.verdict
        if not self.tested:
            value, level = TOO_FEW_TO_SAY, "unclear"
        elif self.miscalibrated:
            value = f"{len(self.miscalibrated)} of {self.tested} miscalibrated"
            level = "bad"
            _, _, detail = detail.partition(". ")  # The value says the first sentence.
        chance = ""
        if self.tested:
            chance = (
                " A calibrated model has a finding in at most "
                f"{1 - self.level:.0%} of data sets."
            )
        yield Tile("Groups", value, f"{detail}{chance}", level)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        terms = terms_for(report.model)
        of_means = ("confidence", terms.outcome)
        if terms.of_event:
            of_means = ("probability", "share")
        yield from sentence_on_sample(report.model)
        yield Text(self.verdict)
        yield GROUPS.block(
            f"{capitalized(terms.gap)} of each group, with its interval. "
            f"{self.verdict}",
            f"In a group left of 0 the model is {terms.over}. Groups in color are "
            "miscalibrated by more than chance, although many groups are tested. Each "
            "interval is for one group by itself.",
        )
        shown = self.rows[:_SHOWN_GROUPS]
        yield Table(
            f"{capitalized(terms.gap)} of each group",
            "group",
            ("gap", "p (Holm)", "from", "to", *of_means, "size"),
            [_cells(row) for row in shown],
        )
        if len(self.rows) > len(shown):
            more = len(self.rows) - len(shown)
            yield Text(f"{more} more groups are in report.json.")
        if self.tested:
            yield Text(_ON_MULTIPLICITY.format(tested=self.tested))


def group_row(group: GroupCalibration) -> GroupRow:
    """Returns a row of the table as the report has it."""
    names = (field.name for field in dataclasses.fields(GroupRow))
    row = {name: getattr(group, name) for name in names}
    # NaN, which is not equal to itself, means not defined: None in the report.
    known: dict[str, Any] = {
        name: None if value != value else value for name, value in row.items()
    }
    return GroupRow(**known)


def _cells(row: GroupRow) -> tuple[str, ...]:
    numbers = (row.lower, row.upper, row.mean_score, row.mean_outcome)
    shown = (f"{number:.3f}" for number in numbers)
    return (row.name, *gap_and_p(row), *shown, f"{row.size:.6g}")


def _p_value(p: float | None) -> str:
    if p is None:
        return "too small"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _verdict(table: CalibrationByGroup, terms: Terms) -> str:
    """Says in a sentence which groups the data show to be miscalibrated."""
    tested, found = table.tested, table.miscalibrated
    if not tested:
        return f"No group has {table.min_examples} examples, so none is tested."
    if not found:
        verdict = (
            "No group is clearly miscalibrated "
            f"({len(tested)} {'were' if len(tested) > 1 else 'was'} tested)."
        )
    else:
        worst = found[0]
        side = terms.over if worst.gap < 0 else terms.under
        verb = "is" if len(found) == 1 else "are"
        verdict = (
            f"{len(found)} of {len(tested)} tested group{'s' * (len(tested) > 1)} "
            f"{verb} miscalibrated. The clearest case is "
            f"{worst.name}, {side} by {100 * abs(worst.gap):.1f} percentage points: "
            f"mean {terms.score} {worst.mean_score:.3f}, {terms.outcome} "
            f"{worst.mean_outcome:.3f}."
        )
    few = len(table) - len(tested)
    if few:
        verb = "group has" if few == 1 else "groups have"
        verdict += f" {few} {verb} fewer than {table.min_examples} examples."
    return verdict


def table_of_two(first: Groups, second: Groups, gap: str) -> Table:
    """Returns a table of the gaps of the groups that both models have."""
    others = {row.name: row for row in second.rows}
    pairs = [(row, others[row.name]) for row in first.rows if row.name in others]
    return Table(
        f"{capitalized(gap)} of each group, and p (Holm)",
        "group",
        ("first", "p", "second", "p"),
        [
            (pair[0].name, *(cell for row in pair for cell in gap_and_p(row)))
            for pair in pairs[:_SHOWN_GROUPS]
        ],
    )


def gap_and_p(row: GroupRow) -> tuple[str, str]:
    """Returns the cells of the gap and of the adjusted p-value."""
    return f"{row.gap:.3f}", _p_value(row.adjusted_p_value)
