"""What plots of several models or sets of data share."""

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

# Dark and light in turn, so that neighbours differ in grey and to every eye.
_COLORS = ("#004488", "#cc5566", "#c9a227", "#117733", "#66aadd", "#882255")
_MARKERS = "os^Dv"
# Inches.
_COLUMN = 3.6
# More entries of a legend would cover what the lines say, or be long below them; those
# with at most so many letters fit beside each other.
MANY, _SHORT = 4, 33
# Of a picture, as many as it may have dots.
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
# Of where chance leaves calibrated models: behind bars, and as an outline before them.
BAND_FILL, BAND_EDGE = "#f7ead0", "#ddaa33"
# The attribute of an artist with what it tells.
TIPS = "_uncertainty_metrics_tips"
# That of Axes of a figure made for one diagram.
_OWN = "_uncertainty_metrics_own"


def color(i: int) -> str:
    """Returns the color of the i-th model."""
    return _COLORS[i % len(_COLORS)]


def marker(i: int) -> str:
    """Returns the marker of the i-th model; it still differs where colors repeat."""
    return _MARKERS[i % len(_MARKERS)]


def line(i: int) -> dict[str, Any]:
    """Returns the style of the line of the i-th model, which has many points."""
    return {"color": color(i), "linestyle": _DASHES[i % len(_DASHES)]}


def level(name: str, value: Any) -> float | None:
    """Returns a level in (0, 1), or None; raises ValueError for anything else."""
    return None if value is None else _checks.open_unit(name, value)


def band_label(level: float) -> str:
    """Returns the legend's entry of a consistency band."""
    return f"{100 * level:.4g}% band if calibrated"


def plain(name: str) -> str:
    """Keeps matplotlib from reading mathematics between two dollars."""
    return name.replace("$", r"\$")


def label(name: str, text: str) -> str:
    """Returns the legend's entry of a model; a single model has no name."""
    return ": ".join(part for part in (plain(name), text) if part)


def tell(artist: Any, *texts: str) -> None:
    """Says what an artist tells who points at it in a page, or each of its points."""
    setattr(artist, TIPS, tuple(text.replace(r"\$", "$") for text in texts))


def thinned(x: np.ndarray, *curves: np.ndarray) -> np.ndarray:
    """Returns the points that show curves as all of them would: in each column of a
    picture the first and last one, the lowest and the highest.

    Args:
      x: where the points are, sorted, in [0, 1], shape [n].
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
    """Returns the value of a function for each model by its name; "" if there is one.

    Args:
      function: takes the data of one model.
      data: an object of arguments. Each is the value for one model, or a mapping from
        the names of some models to their values; other values are common to all models.

    Raises:
      ValueError: a mapping is empty, or two of them have different names; or the
        function raises it. Its errors start with the name of the model.
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
    """Returns Axes to draw in, and whether they are those of a new figure."""
    if ax is None:
        return _axes.new_figure(width, height).add_subplot(), True
    _axes.check(ax)
    return ax, hasattr(ax, _OWN)


def own(ax: Any) -> Any:
    """Returns Axes, to be drawn in like those of a new figure."""
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
    """Adds the title, and a legend: below Axes of a new figure, else inside them."""
    if title is not None:
        ax.set_title(title)
    handles, labels = ax.get_legend_handles_labels()
    if own and labels:
        legend_below(ax.get_figure(), handles, labels, columns, legend_title)
    elif labels:
        ax.legend(title=legend_title, **inner_legend(ax))


def columns_of(labels: Sequence[str], columns: int) -> int:
    """Returns the columns of a legend: two at least if it is long and has room."""
    many = len(labels) > MANY and max(map(len, labels)) <= _SHORT
    return max(columns, 2) if many else columns


def legend_below(
    figure: Any,
    handles: Sequence[Any],
    labels: Sequence[str],
    columns: int,
    title: str | None = None,
) -> None:
    """Adds a legend below all Axes, of fewer columns where they do not fit."""
    style: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small"}
    style |= {"loc": "outside lower center", "title": title}
    for number in range(columns_of(labels, columns), 0, -1):
        legend = figure.legend(handles, labels, ncols=number, **style)
        if number == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def inner_legend(ax: Any) -> dict[str, Any]:
    """Returns the style of a legend inside Axes: as small as print allows in those of
    a column of a paper.
    """
    width = ax.get_window_extent().width / ax.get_figure().dpi
    if width > _COLUMN:
        return {"fontsize": "small", "title_fontsize": "small"}
    spaces = {"labelspacing": 0.25, "borderpad": 0.3, "handlelength": 2.2}
    return {"fontsize": "x-small", "title_fontsize": "x-small", **spaces}
