"""Axes for all plots: new figures, and the strip above a diagram."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _checks, _optional

# The height of a strip, and the space below it, as fractions of the height of the Axes.
_STRIP_SIZE = 0.2
_STRIP_PAD = 0.1


def new_figure(width: float, height: float) -> Any:
    """Returns a new pyplot figure of this size in inches."""
    plt = _optional.require("matplotlib.pyplot")
    return plt.figure(figsize=(width, height), layout="constrained")


def check(ax: Any) -> None:
    """Raises ValueError unless `ax` is matplotlib Axes."""
    if not hasattr(ax, "inset_axes"):
        raise _checks.error("ax", "matplotlib Axes", type(ax).__name__)


def check_color(name: str, color: Any) -> None:
    """Raises ValueError unless `color` is a color."""
    colors = _optional.require("matplotlib.colors")
    if not colors.is_color_like(color):
        raise _checks.error(name, "a matplotlib color", repr(color))


class _LowerPart:
    """Shrinks Axes to the lower part of their place, to leave room for their strip.

    This is an Axes locator and not a second subplot, because a locator works for Axes
    of any figure, with any layout engine, and titles that are set later go above the
    strip.
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
    """Returns new Axes above `ax` for a histogram.

    Args:
      ax: the Axes of the diagram.
      largest: the largest height of the histogram.
      name: "Share" for shares in [0, 1], or another name of the heights.
    """
    ax.set_axes_locator(_LowerPart(ax))
    histogram = ax.inset_axes([0, 1 + _STRIP_PAD, 1, _STRIP_SIZE], sharex=ax)
    histogram.tick_params(labelbottom=False)
    histogram.spines[["top", "right"]].set_visible(False)
    if largest > 0:  # The only tick is the height of the highest bar.
        label = f"{largest:.2g}" if name != "Share" else _percent(100 * largest)
        histogram.set_yticks([largest], [label], fontsize="small")
        histogram.set_ylim(0, largest)
    else:
        histogram.set_yticks([])
    return histogram


def _percent(value: float) -> str:
    return f"{value:.0f}%" if value >= 10 else f"{value:.2g}%"
