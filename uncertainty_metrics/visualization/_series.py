"""Helpers for plots of several models or data sets: styles, legends, arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.visualization import _axes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

D = TypeVar("D", bound="DataclassInstance")
R = TypeVar("R")

# Dark and light colors alternate, so that neighbours differ also in grey and for color
# blind readers.
_COLORS = ("#004488", "#cc5566", "#c9a227", "#117733", "#66aadd", "#882255")
_MARKERS = "os^Dv"
# Width of the column of a paper, in inches.
_COLUMN = 3.6
# A legend with more than MANY entries would cover the lines, or be long below them.
# Entries of at most _SHORT letters fit beside each other in two columns.
MANY, _SHORT = 4, 33
# A line is thinned to so many columns of a picture: a picture has hardly more dots.
_COLUMNS = 500
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 1.5)),
    (0, (3, 1.2, 1, 1.2)),
    (0, (2, 1)),
    (0, (8, 1.5, 1, 1.5, 1, 1.5)),
    (0, (1, 0.8)),
    (0, (5, 1, 2, 1)),
)
# Colors of a consistency band: its area behind bars, and its outline in front of them.
BAND_FILL, BAND_EDGE = "#f7ead0", "#ddaa33"
# Style of the line of a calibrated model.
REFERENCE = {"color": "0.3", "linestyle": "--"}
# Height of Axes with a legend inside, relative to the height of the drawing.
LEGEND_ROOM = 1.35
# Name of the attribute of an artist that holds its tooltips.
TIPS = "_uncertainty_metrics_tips"
# Name of the attribute that marks the Axes of a figure made for one diagram.
_OWN = "_uncertainty_metrics_own"


def color(i: int) -> str:
    """Returns the color of the i-th model."""
    return _COLORS[i % len(_COLORS)]


def marker(i: int) -> str:
    """Returns the marker of the i-th model.

    There are fewer markers than colors, so models of the same color differ in it.
    """
    return _MARKERS[i % len(_MARKERS)]


def line(i: int) -> dict[str, Any]:
    """Returns the style of the line of the i-th model: its color and its dashes."""
    return {"color": color(i), "linestyle": _DASHES[i % len(_DASHES)]}


def level(name: str, value: Any) -> float | None:
    """Returns a level in (0, 1), or None; raises ValueError for anything else."""
    return None if value is None else _checks.open_unit(name, value)


def band_label(level: float) -> str:
    """Returns the legend entry of a consistency band."""
    return f"{100 * level:.4g}% band if calibrated"


def plain(name: str) -> str:
    """Escapes dollars, between which matplotlib would read mathematics."""
    return name.replace("$", r"\$")


def label(name: str, text: str) -> str:
    """Returns the legend entry of a model; a single model has the name ""."""
    return ": ".join(part for part in (plain(name), text) if part)


def set_tips(artist: Any, *texts: str) -> None:
    """Gives an artist, or each of its points, the tooltip that a page shows."""
    setattr(artist, TIPS, tuple(text.replace(r"\$", "$") for text in texts))


def thinned(x: np.ndarray, *curves: np.ndarray) -> np.ndarray:
    """Returns the indices of enough points to draw curves that look the same.

    These are the first, the last, the lowest and the highest point in each column of
    the picture.

    Args:
      x: positions of the points, sorted, in [0, 1], shape [n].
      *curves: heights, shape [n].
    """
    if len(x) <= 4 * _COLUMNS:
        return np.arange(len(x))
    column = np.minimum(x * _COLUMNS, _COLUMNS - 1).astype(int)
    last = np.flatnonzero(np.append(np.diff(column) != 0, True))
    first = np.append(0, last[:-1] + 1)
    orders = (np.lexsort((curve, column)) for curve in curves)
    extremes = [order[ends] for order in orders for ends in (first, last)]
    return np.unique(np.concatenate([first, last, *extremes]))


def each_model(function: Callable[[D], R], data: D) -> dict[str, R]:
    """Returns the value of a function for each model, by the name of the model.

    Args:
      function: takes the data of one model.
      data: an object of arguments. If an argument is a mapping from the names of
        models, each model gets its own value; other arguments are the same for all
        models. Without mappings there is one model, of the name "".

    Raises:
      ValueError: a mapping is empty, or two mappings have different names.
      TypeError, ValueError: from the function, with the name of the model in front.
    """
    arguments = {f.name: getattr(data, f.name) for f in dataclasses.fields(data)}
    mappings = {k: v for k, v in arguments.items() if isinstance(v, Mapping)}
    if not mappings:
        return {"": function(data)}
    first, *others = mappings
    names = list(mappings[first])
    if not names:
        raise _checks.error(first, "at least one model", "{}", verb="hold")
    for other in others:
        if set(mappings[other]) != set(names):
            raise _checks.error(
                other,
                f"a mapping from the same names as `{first}`, {names}",
                list(mappings[other]),
            )
    results = {}
    for name in names:
        own = {k: values[name] for k, values in mappings.items()}
        try:
            results[str(name)] = function(dataclasses.replace(data, **own))
        except (TypeError, ValueError) as wrong:
            raise type(wrong)(f"{name}: {wrong}") from wrong
    return results


def axes(ax: Any, width: float, height: float) -> tuple[Any, bool]:
    """Returns Axes to draw in, and whether they belong to a figure of our own."""
    if ax is None:
        return _axes.new_figure(width, height).add_subplot(), True
    _axes.check(ax)
    return ax, hasattr(ax, _OWN)


def own(ax: Any) -> Any:
    """Marks Axes, so that plots treat them like Axes of a new figure of our own."""
    setattr(ax, _OWN, True)
    return ax


def finish(
    ax: Any,
    own: bool,
    title: str | None,
    *,
    legend_title: str | None = None,
    columns: int = 1,
) -> None:
    """Adds the title and a legend, below Axes of our own, or inside other Axes."""
    if title is not None:
        ax.set_title(title)
    handles, labels = ax.get_legend_handles_labels()
    if own and labels:
        legend_below(ax.get_figure(), handles, labels, columns, legend_title)
    elif labels:
        ax.legend(title=legend_title, **inner_legend(ax))


def columns_of(labels: Sequence[str], columns: int) -> int:
    """Returns the number of columns: at least 2 for many entries that are short."""
    many = len(labels) > MANY and max(map(len, labels)) <= _SHORT
    return max(columns, 2) if many else columns


def legend_below(
    figure: Any,
    handles: Sequence[Any],
    labels: Sequence[str],
    columns: int,
    title: str | None = None,
) -> None:
    """Adds a legend below all Axes, with as many of the columns as fit."""
    style: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small"}
    style |= {"loc": "outside lower center", "title": title}
    for number in range(columns_of(labels, columns), 0, -1):
        legend = figure.legend(handles, labels, ncols=number, **style)
        if number == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def inner_legend(ax: Any) -> dict[str, Any]:
    """Returns the style of a legend inside Axes.

    If the Axes are as narrow as a column of a paper, it is as small as print allows.
    """
    width = ax.get_window_extent().width / ax.get_figure().dpi
    if width > _COLUMN:
        return {"fontsize": "small", "title_fontsize": "small"}
    spaces = {"labelspacing": 0.25, "borderpad": 0.3, "handlelength": 2.2}
    return {"fontsize": "x-small", "title_fontsize": "x-small", **spaces}
