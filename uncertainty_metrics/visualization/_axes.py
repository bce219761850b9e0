"""The Axes that every plot draws in."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _checks, _optional


def new_figure(width: float, height: float) -> Any:
    """Returns a new pyplot figure, in inches."""
    plt = _optional.require("matplotlib.pyplot", extra="plot")
    return plt.figure(figsize=(width, height), layout="constrained")


def check(ax: Any) -> None:
    """Raises ValueError unless it can be drawn in."""
    if not hasattr(ax, "inset_axes"):
        raise _checks.error("ax", "matplotlib Axes", type(ax).__name__)
