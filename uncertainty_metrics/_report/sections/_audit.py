"""The section that searches for groups whose probabilities are wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from scipy import special

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import event_of, examples_of_event
from uncertainty_metrics._report.data._feature_columns import (
    are_numbers,
    feature_columns,
)
from uncertainty_metrics._report.data._predictions import Confidences, Rows, rows_of
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import Block, Table, Text, Tile
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import (
    Terms,
    capitalized,
    terms_for,
)
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._groups import (
    GroupRow,
    gap_and_p,
    group_row,
)
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    Section,
)
from uncertainty_metrics._report.sections._p_values import shown_p_value
from uncertainty_metrics._report.sections._sampled_rows import sentence_on_sample
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.calibration.watching._group_table import (
    POWER,
    CalibrationByGroup,
    GroupCalibration,
    critical_value,
)

_DEPTH = 3
# The error for which the report says how large a group must be to be found.
_ERROR = 0.1
_SHOWN = 40
# A tree of this depth has at most so many rules, and the test allows for all of them.
_MOST_RULES = 2**_DEPTH
_ON_SEARCH = (
    "A tree divided one half of the examples by rules of at most {depth} conditions, "
    "where outcomes and scores differ most. The rules were tested on the other half, "
    "whose outcomes the search had not seen, at every score (Kuiper), with p-values "
    "adjusted for the {tested} tested rules (Holm): a calibrated model has a finding "
    "in at most 5% of data sets. A rule says where to look; another division into "
    "halves would cut elsewhere. `detectable` is the gap that would be found in as "
    "many examples with a power of 0.8."
)


@dataclasses.dataclass(frozen=True)
class Rule(GroupRow):
    """A rule and the examples of the tested half for which it holds.

    Attributes:
      detectable: a gap that would be found with a power of 0.8; None: not tested.
    """

    detectable: float | None


@dataclasses.dataclass(frozen=True)
class Audit(Section):
    """What a search for miscalibrated groups finds.

    Attributes:
      features: the searched features, by name: "numbers" or "names".
      depth: most conditions of a rule.
      min_examples: rules that hold for fewer tested examples are not tested.
      level: of the intervals; 1 - level is that of the tests.
      tested: number of rules that are tested.
      miscalibrated: the rules that are found.
      findable_size: how many examples a group with an error of 0.1 needs to be found
        with a power of 0.8; None if no rule is tested.
      verdict: a few sentences.
      rows: the rules, those with the smallest p-values first.
    """

    name = "audit"
    heading = "A search for groups"
    tasks = ("classification", "confidences")

    features: dict[str, str]
    depth: int
    min_examples: int
    level: float
    tested: int
    miscalibrated: list[str]
    findable_size: float | None
    verdict: str
    rows: list[Rule]

    @classmethod
    def of(cls, report: ModelReport) -> Audit | None:
        rows = rows_of(report.model)
        if rows is None or not rows.features:
            return None
        columns = feature_columns(rows.features)
        table = _searched(rows, columns)
        size = _findable_size(table)
        return cls(
            {
                name: "numbers" if are_numbers(column) else "names"
                for name, column in columns.items()
            },
            _DEPTH,
            table.min_examples,
            table.level,
            len(table.tested),
            [row.name for row in table.miscalibrated],
            size,
            _verdict(table, size, terms_for(rows)),
            [_rule(row) for row in table],
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        value, level = "No group found", "good"
        if not self.tested:
            value, level = TOO_FEW_TO_SAY, "unclear"
        elif self.miscalibrated:
            number = len(self.miscalibrated)
            value = f"{number} group{'s' * (number > 1)} found"
            level = "bad"
        yield Tile(f"Search among {_listed(self.features)}", value, self.verdict, level)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        terms = terms_for(report.model)
        yield from sentence_on_sample(report.model)
        yield Text(self.verdict)
        yield Table(
            f"{capitalized(terms.gap)} in the tested half, by rule",
            "rule",
            ("gap", "p (Holm)", "from", "to", "size", "detectable"),
            [_cells(row) for row in self.rows[:_SHOWN]],
        )
        if self.tested:
            yield Text(_ON_SEARCH.format(depth=self.depth, tested=self.tested))
        read = ", ".join(f"{name} ({kind})" for name, kind in self.features.items())
        yield Text(f"The features and how they are read: {read}.")


def _searched(model: Rows, columns: dict[str, object]) -> CalibrationByGroup:
    """Returns the rules that a search finds, tested on the other half."""
    examples, clusters = examples_of_event(model), clusters_of(model)
    if clusters is not None:
        clustered = Clusters(clusters, int(clusters.max()) + 1)
        examples = dataclasses.replace(examples, clusters=clustered)
    return um.find_miscalibrated_groups(
        columns,
        examples,
        depth=_DEPTH,
        level=INTERVAL_LEVEL,
        positive_class=isinstance(model, Confidences) or event_of(model) is not None,
        seed=SEED,
    )


def _findable_size(table: CalibrationByGroup) -> float | None:
    """Returns the number of examples of a group with an error of 0.1 that is found with
    a power of 0.8, however many rules are tested, as far as the tested ones tell: what
    is detectable falls with the root of the size, and half of the examples are tested.
    """
    tested = table.tested
    if not tested:
        return None
    alpha, power = 1 - table.level, special.ndtri(POWER)
    most, now = (
        critical_value(table.statistic, alpha / number) + power
        for number in (_MOST_RULES, len(tested))
    )
    sizes = [row.size * (row.detectable / _ERROR) ** 2 for row in tested]
    return float(2 * max(sizes) * (most / now) ** 2)


def _rule(group: GroupCalibration) -> Rule:
    row, detectable = group_row(group), group.detectable
    known = None if detectable != detectable else detectable  # NaN is not itself.
    return Rule(**vars(row), detectable=known)


def _verdict(table: CalibrationByGroup, size: float | None, terms: Terms) -> str:
    tested, found = table.tested, table.miscalibrated
    if not tested or size is None:
        return (
            f"No rule holds for {table.min_examples} examples of the tested half, so "
            "none is tested."
        )
    total = 2 * sum(row.size for row in table)
    if not found:
        verdict = f"The search found no group with clear errors ({len(tested)} tested)."
        if size > total:
            return (
                f"{verdict} With so few examples an error of {_ERROR:.2f} would often "
                "go unnoticed in any group."
            )
        return (
            f"{verdict} A group of about {_rounded(size)} examples with an error of "
            f"{_ERROR:.2f} would be found with a power of 0.8 if the search singles it "
            "out, which it does not always; a smaller group or error would often go "
            "unnoticed."
        )
    worst = found[0]
    numbers = (
        f"mean {terms.score} {worst.mean_score:.3f}, {terms.outcome} "
        f"{worst.mean_outcome:.3f}"
    )
    direction = terms.over if worst.gap < 0 else terms.under
    what = f"{direction} by {100 * abs(worst.gap):.1f} percentage points"
    if worst.lower <= 0 <= worst.upper:
        what = "miscalibrated, though not clearly on average"
    where = f"Where {worst.name}, the model is {what}"
    if worst.name == "all":
        where = f"The search found no group, but all examples are {what}"
    return (
        f"{where}: {numbers}, in {worst.size:.6g} examples that the search has not "
        f"seen (p {shown_p_value(worst.adjusted_p_value)}). A calibrated model has a "
        f"finding in at most {1 - table.level:.0%} of data sets."
    )


def _rounded(size: float) -> str:
    """Returns a number with two digits that matter."""
    return f"{float(f'{size:.2g}'):,.0f}"


def _listed(names: dict[str, str]) -> str:
    shown = [*names][:3]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _cells(row: Rule) -> tuple[str, ...]:
    ends = (f"{number:.3f}" for number in (row.lower, row.upper))
    detectable = "-" if row.detectable is None else f"{row.detectable:.3f}"
    return (row.name, *gap_and_p(row), *ends, f"{row.size:.6g}", detectable)
