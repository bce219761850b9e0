"""The picture of a comparison: a dot with its interval for each model and metric."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.visualization import _axes, _series

if TYPE_CHECKING:
    from uncertainty_metrics.numpy.comparison import ComparedModel, Comparison

# In inches. Narrower columns get small letters and marks.
_INCHES_PER_METRIC, _INCHES_PER_MODEL = 1.9, 0.3
_NARROW = 1.5
_BEST, _OTHER = _series.color(0), "0.45"
# Points of letters, and of dots.
_LARGE, _SMALL = (9.0, 5.0), (6.5, 3.2)
# Small letters that fit beside each other in an inch.
_LETTERS = 18


def draw(comparison: Comparison, figure: Any = None) -> Any:
    """Draws a comparison; `Comparison.plot` describes the picture."""
    number, rows = len(comparison.metrics), len(comparison.models)
    if figure is None:
        size = 1.2 + _INCHES_PER_METRIC * number, 1.1 + _INCHES_PER_MODEL * rows
        figure = _axes.new_figure(*size)
    elif not hasattr(figure, "subplots"):
        raise _checks.error("figure", "a matplotlib figure", type(figure).__name__)
    elif hasattr(figure, "set_layout_engine") and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.02)
    width = figure.bbox.width / figure.dpi
    column = width / (number + 0.7)
    letters, dots = _SMALL if column < _NARROW else _LARGE
    all_axes = figure.subplots(1, number, sharey=True, squeeze=False)[0]
    heads = comparison._titles("\N{RIGHTWARDS ARROW}", "\N{LEFTWARDS ARROW}")
    for ax, metric, head in zip(all_axes, comparison.metrics, heads, strict=True):
        for place, row in enumerate(comparison.of(metric)):
            _draw_model(ax, place, row, dots)
        wide = int(_LETTERS * column * _SMALL[0] / letters)
        lines = textwrap.wrap(_series.plain(head), max(wide, 8), break_long_words=False)
        ax.set_title("\n".join(lines), fontsize=letters)
        ax.tick_params(axis="both", labelsize=letters, width=0.6, length=2.5, pad=2)
        ax.tick_params(axis="y", length=0)
        ax.locator_params(axis="x", nbins=3)
        ax.xaxis.set_major_formatter(_number)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.spines["bottom"].set_linewidth(0.6)
        ax.grid(axis="x", color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.margins(x=0.08)
    names = [_series.plain(name) for name in comparison.models]
    all_axes[0].set_yticks(range(rows), names)
    all_axes[0].set_ylim(rows - 0.5, -0.5)  # The first on top.
    _add_legend(figure, comparison.level, letters, dots)
    return figure


def _draw_model(ax: Any, place: int, row: ComparedModel, dots: float) -> None:
    color = _BEST if row.may_be_best else _OTHER
    drawn = []
    if np.isfinite(row.lower):
        drawn += ax.plot([row.lower, row.upper], [place] * 2, color=color, lw=dots / 4)
    if np.isfinite(row.value):
        drawn += ax.plot(
            [row.value], [place], **_dot(row.is_best, row.may_be_best, dots)
        )
    else:
        text = "\N{INFINITY}"
        ax.annotate(
            text, (0.95, place), xycoords=("axes fraction", "data"), color=color
        )
    for mark in drawn:
        p = f"p = {row.adjusted_p_value:.2g} (Holm)"
        _series.set_tips(mark, f"{row.model}: {row.value:.4g}, {p}")


def _number(x: float, _: int) -> str:
    """Returns the label of a tick."""
    return f"{x:.6g}".replace("-", "\N{MINUS SIGN}")


def _dot(is_best: bool, may_be_best: bool, dots: float) -> dict[str, Any]:
    """Returns the style of a dot."""
    color = _BEST if may_be_best else _OTHER
    hollow = may_be_best and not is_best
    return {
        "color": color,
        "marker": "o",
        "linestyle": "none",
        "markersize": dots,
        "markerfacecolor": "white" if hollow else color,
        "markeredgewidth": dots / 5,
    }


def _add_legend(figure: Any, level: float, letters: float, dots: float) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], label=label, **_dot(*kind, dots))
        for label, kind in (
            ("best", (True, True)),
            ("not worse beyond chance", (False, True)),
            (f"worse ({100 * level:.4g}% intervals)", (False, False)),
        )
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=3,
        fontsize=letters,
        frameon=False,
        handletextpad=0.1,
        columnspacing=0.8,
        borderpad=0.1,
        borderaxespad=0.2,
    )
