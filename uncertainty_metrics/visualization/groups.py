"""The calibration of groups as a picture: who is promised too much?"""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibration.watching._group_table import (
    CalibrationByGroup,
)
from uncertainty_metrics.visualization import _series

__all__ = ["calibration_by_group_diagram"]

# More groups are too small to read; those with the smallest p-values are drawn.
MOST_GROUPS = 40
_CLEAR, _CHANCE, _UNTESTED = _series.color(1), "0.35", "0.7"
_INCHES_PER_GROUP = 0.27


def calibration_by_group_diagram(
    table: CalibrationByGroup, *, title: str | None = None, ax: Any = None
) -> Any:
    """Diagram of the gap of each group with its interval, the most negative on top.

    Groups that are miscalibrated beyond chance (Holm, all groups considered) are in
    color, with full dots; those to the left of 0 are promised too much. The dots of the
    other tested groups are grey, and those of groups too small to be tested are hollow.
    The number beside the name is the size of the group. At most 40 groups are drawn,
    those with the smallest p-values.

    Args:
      table: what `calibration_by_group` returns.
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      TypeError: `table` is not a `CalibrationByGroup`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> table = um.calibration_by_group(
      ...     correct=[1] * 80 + [0] * 20, confidences=[0.7] * 100, groups=["a"] * 100
      ... )
      >>> ax = um.calibration_by_group_diagram(table, ax=Figure().subplots())
      >>> [label.get_text() for label in ax.get_yticklabels()]
      ['group=a (100)']
    """
    if not isinstance(table, CalibrationByGroup):
        raise TypeError(
            "`table` must be what `calibration_by_group` returns. Received: "
            f"{type(table).__name__}"
        )
    rows = sorted(table.rows[:MOST_GROUPS], key=lambda row: row.gap)
    if not rows:
        raise _checks.error("table", "at least one group", "none", verb="hold")
    ax, own = _series.axes(ax, 6.4, 1.3 + _INCHES_PER_GROUP * len(rows))
    clear = {row.name for row in table.miscalibrated}
    level = f"{100 * (1 - table.level):.3g}%"
    labels = {
        _CLEAR: f"Miscalibrated (at {level}, all groups considered)",
        _CHANCE: "May be chance",
        _UNTESTED: f"Fewer than {table.min_examples} examples, not tested",
    }
    for place, row in enumerate(rows):
        tested = not np.isnan(row.p_value)
        color = _CLEAR if row.name in clear else _CHANCE if tested else _UNTESTED
        drawn = ax.plot([row.lower, row.upper], [place, place], color=color)
        drawn += ax.plot(
            [row.gap],
            [place],
            "o",
            color=color,
            markerfacecolor=color if tested else "none",
            label=labels.pop(color, "_"),
        )
        for mark in drawn:
            tip = f"{row.mean_outcome:.3f} came, {row.mean_score:.3f} predicted"
            _series.set_tips(mark, f"{_series.plain(row.name)}: {tip}")
    ax.axvline(0, color="0.3", linewidth=0.8)
    names = [f"{_series.plain(row.name)} ({row.size:.6g})" for row in rows]
    ax.set_yticks(range(len(rows)), names)
    ax.set_ylim(len(rows) - 0.5, -0.5)  # The first on top.
    ax.set_xlabel(
        "Mean outcome less mean score\n"
        r"promised too much $\leftarrow$   $\rightarrow$ promised too little"
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    _series.finish(ax, own, title)
    return ax
