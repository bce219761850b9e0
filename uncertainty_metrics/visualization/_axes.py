"""The Axes that every plot draws in."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _checks, _optional

# The height of a strip, and the space below it, as fractions of the height of the Axes.
_STRIP_SIZE = 0.2
_STRIP_PAD = 0.06


def new_figure(width: float, height: float) -> Any:
    """Returns a new pyplot figure, in inches."""
    plt = _optional.require("matplotlib.pyplot")
    return plt.figure(figsize=(width, height), layout="constrained")


def check(ax: Any) -> None:
    """Raises ValueError unless it can be drawn in."""
    if not hasattr(ax, "inset_axes"):
        raise _checks.error("ax", "matplotlib Axes", type(ax).__name__)


class _LowerPart:
    """Places Axes in the lower part of where they would be, below their strip.

    An Axes locator instead of a second subplot works in Axes of any figure, with any
    layout engine, and titles that are set later go above the strip.
    """

    def __init__(self, ax: Any):
        self._ax = ax

    def __call__(self, ax: Any, renderer: Any) -> Any:
        whole = ax.get_position(original=True)
        height = whole.height / (1 + _STRIP_PAD + _STRIP_SIZE)
        return type(whole).from_bounds(whole.x0, whole.y0, whole.width, height)

    def get_subplotspec(self) -> Any:
        """Tells `tight_layout` which subplot this is."""
        return self._ax.get_subplotspec()


def strip(ax: Any, largest: float, name: str = "Share") -> Any:
    """Returns Axes above `ax`, for a histogram of shares, or of what `name` says, up to
    `largest`.
    """
    ax.set_axes_locator(_LowerPart(ax))
    histogram = ax.inset_axes([0, 1 + _STRIP_PAD, 1, _STRIP_SIZE], sharex=ax)
    histogram.tick_params(labelbottom=False)
    histogram.spines[["top", "right"]].set_visible(False)
    if largest > 0:  # The one tick says how high the highest bar is.
        label = f"{largest:.2g}" if name != "Share" else _percent(100 * largest)
        histogram.set_yticks([largest], [label], fontsize="small")
        histogram.set_ylim(0, largest)
    else:
        histogram.set_yticks([])
    return histogram


def _percent(value: float) -> str:
    return f"{value:.0f}%" if value >= 10 else f"{value:.2g}%"
