"""Lines and limits that the plots of selective prediction share."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics.visualization import _series

BEST = {"color": "0.3", "linestyle": "--", "linewidth": 0.8}
_RANDOM = {"linestyle": ":", "linewidth": 1.2}
# A mean over less than this share of the examples is noise.
_FEW = 0.05
# Shares of the height: the room below and above the curves, and the room beyond the
# line of random order for a legend inside the Axes.
MARGIN, LEGEND_ROOM = 0.05, 0.35


def draw_random(ax: Any, heights: list[float]) -> None:
    """Draws the line that random confidences would give each model."""
    for i, height in enumerate(heights):
        ax.axhline(height, color=_series.color(i), **_RANDOM)
    ax.plot([], [], color="0.3", label="Random order", **_RANDOM)


def marker(points: np.ndarray) -> str:
    """Returns the marker of a line: none, unless the line is a single point."""
    return "o" if len(points) == 1 else ""


def fit(
    ax: Any,
    curves: list[tuple[np.ndarray, np.ndarray]],
    *,
    least: float = 1.0,
    largest: float = 0.0,
    below: float = MARGIN,
    above: float = MARGIN,
) -> None:
    """Sets the limits of the y-axis so that all heights but noise are visible.

    Args:
      ax: the Axes.
      curves: (shares, heights) of each curve: the heights are means over these shares
        of the examples.
      least: a height that must be visible, too. Heights are in [0, 1], so the default 1
        changes nothing.
      largest: another height that must be visible; the default 0 changes nothing.
      below: room below the lowest height, as a share of the difference of heights.
      above: room above the highest height, as such a share.
    """
    shown = np.concatenate([heights[shares >= _FEW] for shares, heights in curves])
    # Sorted, because the two are in the wrong order if nothing reaches a threshold.
    low, high = sorted([np.min(shown, initial=least), np.max(shown, initial=largest)])
    height = high - low or 1.0
    ax.set_ylim(low - below * height, high + above * height)
