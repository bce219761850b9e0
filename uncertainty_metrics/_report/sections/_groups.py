"""The section on groups: for whom is the model wrong more often than it says?"""

from __future__ import annotations

from typing import Any

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import (
    event_of,
    examples_of_event,
    name_of_event,
)
from uncertainty_metrics._report.data._predictions import Confidences, Rows, remembered
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import Terms, terms_of
from uncertainty_metrics.numpy.calibration.watching.calibration_by_group import (
    CalibrationByGroup,
    GroupCalibration,
)

_COLUMNS = (
    *("name", "size", "mean_score", "mean_outcome", "gap", "lower", "upper"),
    *("p_value", "adjusted_p_value"),
)


@remembered
def table_of(model: Rows) -> CalibrationByGroup:
    """Returns the calibration of each group of a model that has groups."""
    return um.calibration_by_group(
        examples_of_event(model),
        groups=model.groups,
        level=INTERVAL_LEVEL,
        positive_class=isinstance(model, Confidences) or event_of(model) is not None,
    )


def groups(model: Rows) -> dict[str, Any]:
    """Returns the section."""
    table = table_of(model)
    tested, found = len(table.tested), [row.name for row in table.miscalibrated]
    return {
        "level": table.level,
        "min_examples": table.min_examples,
        "tested": tested,
        "miscalibrated": found,
        "verdict": _verdict(table, terms_of(name_of_event(model))),
        "rows": [_row(row) for row in table],
    }


def _row(group: GroupCalibration) -> dict[str, Any]:
    row = {name: getattr(group, name) for name in _COLUMNS}
    # NaN, which is not equal to itself, means not defined: None in the report.
    return {name: None if value != value else value for name, value in row.items()}


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
