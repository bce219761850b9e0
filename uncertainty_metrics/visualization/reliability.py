"""Reliability diagrams: the drawing, apart from the data (`reliability_curve`).

`reliability_diagram` does both. `curve_from_statistics` and `draw_reliability` are the
same two steps for whoever already holds bin statistics, as a metric does.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _optional, _spec
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, BinningScheme, YAxis
from uncertainty_metrics.numpy import _arguments
from uncertainty_metrics.visualization import _axes, _series
from uncertainty_metrics.visualization.reliability_curves import (
    BinIntervals,
    ReliabilityCurve,
    curve_from_statistics,
    reliability_curve,
)

__all__ = [
    "MAX_PANELS",
    "BinIntervals",
    "ReliabilityCurve",
    "curve_from_statistics",
    "draw_reliability",
    "reliability_curve",
    "reliability_diagram",
]

# More classes than this are too small to read on one figure.
MAX_PANELS = 20
_MAX_COLUMNS = 5

# y_axis -> the labels of the two axes.
_AXIS_LABELS = {
    "accuracy": ("Confidence", "Accuracy"),
    "frequency": ("Predicted probability", "Observed relative frequency"),
}

# y_axis -> what a gap below the diagonal, and one above it, say.
_GAP_LABELS = {
    "accuracy": ("Overconfident", "Underconfident"),
    "frequency": ("Overestimated", "Underestimated"),
}

# A bar is as high as its blue part: the gap above its confidence belongs to it, the
# gap below its confidence is missing from it.
_BAR = {"color": "#4477aa", "edgecolor": "#2a4d73"}
_OVER = {"color": "#fbe3df", "edgecolor": "#cc3311", "hatch": "////"}
_UNDER = {"color": "#c3d8ec", "edgecolor": "#2a4d73", "hatch": r"\\\\"}
_STRIP = {"color": "0.7", "edgecolor": "0.4"}
_BAND = {"edgecolor": _series.BAND_EDGE, "linewidth": 1.5}
_DIAGONAL = {"color": "0.3", "linestyle": "--", "label": "Perfect calibration"}


@_arguments.plot_as_in(reliability_curve)
def reliability_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike],
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    binning_scheme: BinningScheme = "even",
    class_conditional: bool = False,
    y_axis: YAxis = "accuracy",
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    labels_predicted: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    error_bars: float | None = None,
    consistency_band: float | None = None,
    seed: Any = 0,
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Reliability diagram: how often predictions of each confidence are right.

    Each non-empty bin is a bar of its accuracy; the hatched bar is the gap between that
    and its mean confidence, and the dot is where the two meet: on the diagonal if the
    bin is calibrated, below it if it is overconfident. The strip on top is the share of
    the scores in each bin. The ECE is the mean of the gaps, weighted by those shares.
    Of several models the means of the bins are drawn, a line for each.

    Few examples in a bin make a gap by chance. The error bars say how well the data
    determine each accuracy; a dot outside the consistency band is a gap that chance
    alone would rarely give a calibrated model. Both hold bin by bin: a band of level
    0.95 leaves out about one of 20 bins of a calibrated model.

    Args:
      class_conditional: whether to draw one panel per class: for "accuracy" of the
        examples decided as that class, for "frequency" of that class's probability.
      y_axis: "accuracy" of the decision against its confidence, or "frequency" for the
        forecaster's diagram: how often the label is class k against p_k, for class 1 of
        two classes and for all the pairs (example, class) of more.
      classes: with `class_conditional`, the classes to draw; all of them by default,
        where there are at most 20.
      class_names: with `class_conditional`, the names of all K classes, for the titles.
      title: title of the diagram, or of the figure made for the grid of panels.
      ax: matplotlib Axes to draw in; with `class_conditional`, an array of as many as
        there are panels. By default a new pyplot figure, which is not shown and has
        a legend; in Axes of your own, `ax.legend()` adds one.

    Returns:
      The matplotlib Axes; with `class_conditional`, an array of them in the order of
      the classes, shape [panels] or that of `ax`.

    Example:
      >>> from matplotlib.figure import Figure
      >>> probabilities = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
      >>> ax = um.reliability_diagram(
      ...     [0, 1, 1], probabilities, num_bins=5, ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Confidence', 'Accuracy')

    References:
      DeGroot and Fienberg (1983), The Comparison and Evaluation of Forecasters.
      Broecker and Smith (2007), Increasing the Reliability of Reliability Diagrams.
      Guo et al. (2017), On Calibration of Modern Neural Networks.
    """
    arguments = _series.arguments_of(reliability_curve, locals())
    data = _spec.data_of(arguments)
    options = {name: arguments[name] for name in arguments if name not in data}
    curve_of = functools.partial(reliability_curve, **options)
    curves = _series.each_model(curve_of, **data)
    if list(curves) != [""]:
        if class_conditional:
            raise _checks.error("class_conditional", "False for several models", True)
        _check_no_grid(classes, class_names)
        return _draw_models(curves, title, ax)
    return draw_reliability(
        curves[""], classes=classes, class_names=class_names, title=title, ax=ax
    )


@_arguments.plot
def draw_reliability(
    curve: ReliabilityCurve,
    *,
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    annotation: str | None = None,
    ax: Any = None,
) -> Any:
    """Draws a `ReliabilityCurve`; a grid of panels if it has more than one group.

    Args:
      curve: what to draw.
      classes: for a curve of several groups, those to draw.
      class_names: for a curve of several groups, their names.
      title: title of the diagram, or of the figure made for the grid of panels.
      annotation: text in the corner of the diagram, for a curve of one group; by
        default its ECE.
      ax: matplotlib Axes to draw in, or an array of as many as there are panels. By
        default a new pyplot figure, which is not shown and has a legend.

    Returns:
      The matplotlib Axes, or an array of them.

    Example:
      >>> from matplotlib.figure import Figure
      >>> from uncertainty_metrics.visualization import reliability
      >>> curve = um.reliability_curve([1, 1, 1, 1], [0.9, 0.4, 0.8, 0.7])
      >>> ax = reliability.draw_reliability(curve, ax=Figure().subplots())
      >>> [float(bar.get_height()) for bar in ax.containers[0]]
      [0.0, 1.0, 1.0, 1.0]
    """
    if curve.num_groups > 1:
        if annotation is not None:
            raise _checks.error("annotation", "None for several groups", annotation)
        return _draw_grid(curve, classes, class_names, title, ax)
    _check_no_grid(classes, class_names)
    ax, own = _series.axes(ax, 5, 6.4)
    strip = _draw_group(ax, curve, 0)
    strip.set_ylabel("Share", fontsize="small")
    _label(ax, curve)
    if title is not None:
        ax.set_title(title)
    # Not `ax.legend`, so that a legend added later does not replace it.
    legend = _optional.require("matplotlib.legend")
    lines = _optional.require("matplotlib.lines")
    corner = legend.Legend(
        ax,
        [lines.Line2D([], [], linestyle="none")],
        [_annotation(curve, 0) if annotation is None else annotation],
        loc="best",
        framealpha=0.9,
        handlelength=0,  # Only text.
        handletextpad=0,
    )
    ax.add_artist(corner)
    if own:
        _legend(ax.get_figure(), [ax], columns=2)
    return ax


def _check_no_grid(
    classes: Sequence[int] | None, class_names: Sequence[str] | None
) -> None:
    for name, value in (("classes", classes), ("class_names", class_names)):
        if value is not None:
            raise _checks.error(name, "None unless class_conditional=True", repr(value))


def _draw_grid(
    curve: ReliabilityCurve,
    classes: Sequence[int] | None,
    class_names: Sequence[str] | None,
    title: str | None,
    ax: Any,
) -> np.ndarray:
    """Draws one panel per class."""
    classes = _selected(classes, curve.num_groups)
    if class_names is None:
        class_names = [f"Class {k}" for k in range(curve.num_groups)]
    elif isinstance(class_names, str) or len(class_names) != curve.num_groups:
        raise _checks.error(
            "class_names", f"{curve.num_groups} names, one per class", class_names
        )
    own = ax is None
    if own:
        panels = _panels(len(classes))
    else:
        panels = np.atleast_1d(np.asarray(ax, dtype=object))
        if panels.size != len(classes):
            raise _checks.error(
                "ax",
                f"None, or an array of {len(classes)} matplotlib Axes, one per class",
                f"{panels.size} of them",
            )
        if title is not None:
            raise _checks.error(
                "title", "None for a grid in Axes of your own", repr(title)
            )
        for panel in panels.flat:
            _axes.check(panel)

    for k, panel in zip(classes, panels.flat, strict=True):
        _draw_group(panel, curve, k)
        annotation = _annotation(curve, k)
        size = curve.counts[k].sum()
        if curve.y_axis == "accuracy" and size > 0:  # Groups of different sizes.
            annotation += f", n = {size:.6g}"
        panel.set_title(f"{class_names[k]}\n{annotation}", fontsize="medium")
        _label(panel, curve)
    if own:
        figure = panels[0].get_figure()
        columns = panels[0].get_gridspec().ncols
        for i, panel in enumerate(panels):
            if i % columns > 0:
                panel.set_ylabel("")
                panel.tick_params(labelleft=False)
            if i + columns < len(panels):  # There is a panel below it.
                panel.set_xlabel("")
                panel.tick_params(labelbottom=False)
        if title is not None:
            figure.suptitle(title)
        _legend(figure, panels, columns=5 if columns > 3 else max(columns, 2))
    return panels


def _selected(classes: Sequence[int] | None, num_classes: int) -> list[int]:
    """Returns the classes to draw."""
    if classes is None:
        if num_classes > MAX_PANELS:
            raise _checks.error(
                "classes",
                f"given to draw some of more than {MAX_PANELS} classes, as in "
                "classes=[0, 1, 2]",
                f"None with {num_classes} classes",
            )
        return list(range(num_classes))
    try:
        selected = [operator.index(k) for k in classes]
    except TypeError:
        selected = []
    if not (
        0 < len(selected) <= MAX_PANELS and all(0 <= k < num_classes for k in selected)
    ):
        raise _checks.error(
            "classes",
            f"1 to {MAX_PANELS} integers in [0, {num_classes})",
            repr(classes),
        )
    return selected


def _panels(number: int) -> np.ndarray:
    """Returns the Axes of a new figure, in rows of about equal length."""
    rows = -(-number // _MAX_COLUMNS)
    columns = -(-number // rows)
    figure = _axes.new_figure(max(2.4 * columns + 0.5, 5.5), 2.9 * rows + 1.0)
    panels = np.empty(number, dtype=object)
    for i in range(number):
        panels[i] = figure.add_subplot(rows, columns, i + 1)
    return panels


def _label(ax: Any, curve: ReliabilityCurve) -> None:
    x_label, y_label = _AXIS_LABELS[curve.y_axis]
    ax.set(xlabel=x_label, ylabel=y_label)


def _legend(figure: Any, panels: Iterable[Any], columns: int) -> None:
    """Adds one legend for all panels, below them."""
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=columns,
        fontsize="small",
    )


def _annotation(curve: ReliabilityCurve, group: int) -> str:
    if not np.any(curve.counts[group] > 0):
        return "no examples"
    return f"ECE = {curve.errors[group]:.3f}"


def _draw_group(ax: Any, curve: ReliabilityCurve, group: int) -> Any:
    """Draws the bars of a group and its histogram; returns the Axes of the latter."""
    held = curve.counts[group] > 0
    left = curve.edges[group, :-1][held]
    width = np.diff(curve.edges[group])[held]
    confidence = curve.confidences[group][held]
    accuracy = curve.accuracies[group][held]

    def bar(
        held: np.ndarray, bottom: Any, top: Any, label: str, style: Mapping[str, Any]
    ) -> None:
        # Outlines keep adaptive bins in sight that are narrower than a pixel.
        ax.bar(
            left[held],
            (top - bottom)[held],
            width[held],
            bottom=bottom[held],
            align="edge",
            linewidth=0.6,
            label=label if np.any(held) else None,
            **style,
        )

    over_label, under_label = _GAP_LABELS[curve.y_axis]
    bar(accuracy >= 0, 0 * accuracy, accuracy, _AXIS_LABELS[curve.y_axis][1], _BAR)
    bar(accuracy < confidence, accuracy, confidence, over_label, _OVER)
    bar(accuracy > confidence, confidence, accuracy, under_label, _UNDER)
    bars, band = curve.error_bars, curve.consistency_band
    if band is not None:
        lower, upper = _bounds(band, group, held)
        place = {"bottom": lower, "align": "edge", **_BAND}
        place |= {"height": upper - lower, "width": width}
        fill = {"color": _series.BAND_FILL, "zorder": 0.5, "label": _band_label(band)}
        ax.bar(left, **place, **fill)
        ax.bar(left, **place, fill=False)
    ax.plot([0, 1], [0, 1], **_DIAGONAL)
    if bars is not None:
        lower, upper = _bounds(bars, group, held)
        ax.vlines(confidence, lower, upper, color="black", label=_bar_label(bars))
    ax.plot(
        confidence,
        accuracy,
        "o",
        color="black",
        markersize=3,
        clip_on=_clips(confidence),
        label="Mean of a bin",
    )
    _set_limits(ax)

    shares = curve.proportions[group]
    strip = _axes.strip(ax, np.max(shares))
    strip.bar(left, shares[held], width, align="edge", linewidth=0.6, **_STRIP)
    return strip


def _clips(points: np.ndarray) -> bool:
    """Says if a line is to be clipped: layouts make room for one that is not, and one
    without points would be in the corner of the figure.
    """
    return len(points) == 0


def _set_limits(ax: Any) -> None:
    ticks = np.linspace(0, 1, 6)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks)


def _bounds(
    intervals: BinIntervals, group: int, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return intervals.lower[group][held], intervals.upper[group][held]


def _bar_label(intervals: BinIntervals) -> str:
    return f"{100 * intervals.level:.4g}% error bars"


def _band_label(intervals: BinIntervals) -> str:
    return _series.band_label(intervals.level)


def _draw_models(
    curves: dict[str, ReliabilityCurve], title: str | None, ax: Any
) -> Any:
    """Draws the means of the bins of each model, with its shares above."""
    ax, own = _series.axes(ax, 5, 6.4)
    strip = _axes.strip(ax, max(np.max(curve.proportions) for curve in curves.values()))
    strip.set_ylabel("Share", fontsize="small")
    ax.plot([0, 1], [0, 1], **_DIAGONAL)
    for i, (name, curve) in enumerate(curves.items()):
        held = curve.counts[0] > 0
        x, color = curve.confidences[0][held], _series.color(i)
        label = _series.label(name, _annotation(curve, 0))
        style = {"color": color, "marker": _series.marker(i), "markersize": 4}
        style |= {"label": label, "clip_on": _clips(x)}
        ax.plot(x, curve.accuracies[0][held], **style)
        bars, band = curve.error_bars, curve.consistency_band
        if band is not None:
            # The outline keeps a single bin in sight.
            bounds = _bounds(band, 0, held)
            ax.fill_between(x, *bounds, color=color, alpha=0.15)
        if bars is not None:
            ax.vlines(x, *_bounds(bars, 0, held), color=color)
        strip.stairs(curve.proportions[0], curve.edges[0], color=color)
    # Entries of the legend, for all models.
    if band is not None:
        ax.fill_between([], [], color="0.3", alpha=0.15, label=_band_label(band))
    if bars is not None:
        ax.vlines([], [], [], color="0.3", label=_bar_label(bars))
    _set_limits(ax)
    _label(ax, curve)
    _series.finish(ax, own, title)
    return ax
