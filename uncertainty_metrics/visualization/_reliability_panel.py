"""Draws reliability diagrams in Axes: bars of one model, or lines of some models."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics.visualization import _axes, _series
from uncertainty_metrics.visualization.reliability_curves import (
    BinIntervals,
    ReliabilityCurve,
)
from uncertainty_metrics.visualization.score_curves import ScoreBand, ScoreCurve

Curve: TypeAlias = ReliabilityCurve | ScoreCurve

# Means over fewer examples than this are drawn small, and lines of them are faded.
FEW = 5
_FADED = 0.35

# y_axis -> the labels of the two axes.
_AXIS_LABELS = {
    "accuracy": ("Confidence", "Accuracy"),
    "frequency": ("Predicted probability", "Observed relative frequency"),
}

# y_axis -> the names of a gap below the diagonal and of a gap above it.
_GAP_LABELS = {
    "accuracy": ("Overconfident", "Underconfident"),
    "frequency": ("Overestimated", "Underestimated"),
}

# The blue bar shows the accuracy. Its top is hatched if the accuracy is above the
# confidence. If it is below, the gap is red and on top of the bar.
_BAR = {"color": "#4477aa", "edgecolor": "#2a4d73"}
_OVER = {"color": "#fbe3df", "edgecolor": "#cc3311", "hatch": "////"}
_UNDER = {"color": "#4477aa", "edgecolor": "#c3d8ec", "hatch": r"\\\\"}
_STRIP = {"color": "0.7", "edgecolor": "0.4"}
# Height of the ticks and the label below the Axes, in inches.
_BELOW = 0.42
# The band behind lines is light grey, so that lines of any color stand out.
_LINE_BAND = {"facecolor": "0.9", "edgecolor": "0.75", "linewidth": 1, "zorder": 0.5}
_THIN = {"linewidth": 1, "alpha": 0.7}
_DIAGONAL = {"color": "0.3", "linestyle": "--", "label": "Perfect calibration"}
_METHOD_LABELS = {
    "isotonic": "Isotonic regression",
    "smooth": "Smoothed",
    "spline": "Restricted cubic spline",
}
# y_axis -> a title, and the names of scores with a false and with a true outcome.
_OUTCOME_LABELS = {
    "accuracy": ("Decision", "wrong", "right"),
    "frequency": ("Label", "0", "1"),
}
_SMALL = {
    "linestyle": "none",
    "markersize": 2.5,
    "markeredgewidth": 0.8,
    "markerfacecolor": "white",
}
_MEAN_LABEL = "Mean of a bin"


def label_axes(ax: Any, curve: Curve) -> None:
    x_label, y_label = _AXIS_LABELS[curve.y_axis]
    ax.set(xlabel=x_label, ylabel=y_label)


def annotation(curve: Curve) -> str:
    """Returns the error of a curve of one group as text."""
    if isinstance(curve, ScoreCurve):
        if len(curve.scores) == 0:
            return "no examples"
        if curve.method != "isotonic":
            name = "smECE" if curve.method == "smooth" else "ICI"
            return f"{name} = {curve.error:.3f}"
        return f"MCB = {curve.error:.4f}"
    if not np.any(curve.counts[0] > 0):
        return "no examples"
    return f"ECE = {curve.errors[0]:.3f}"


def draw_number(ax: Any, text: str) -> None:
    """Writes a text between the diagram and its strip, where no data are drawn."""
    ax.text(0, 1.02, text, transform=ax.transAxes, fontsize="small", va="bottom")


def _clips(points: np.ndarray) -> bool:
    """Says if a line must be clipped: only if it has no points.

    Layouts make room for a line that is not clipped, and a line without points would
    count as a point in the corner of the figure.
    """
    return len(points) == 0


def _set_limits(ax: Any) -> None:
    ticks = np.linspace(0, 1, 6)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks)


def _bar_label(intervals: BinIntervals) -> str:
    return f"{100 * intervals.level:.4g}% error bars"


# Bars of one group.


def of_group(curve: ReliabilityCurve, group: int) -> ReliabilityCurve:
    """Returns the curve of a single group."""
    one = slice(group, group + 1)
    arrays: dict[str, Any] = {
        field.name: value[one]
        for field in dataclasses.fields(curve)
        if isinstance(value := getattr(curve, field.name), np.ndarray)
    }
    for name in ("error_bars", "consistency_band"):
        if (intervals := getattr(curve, name)) is not None:
            level, lower, upper = intervals
            arrays[name] = BinIntervals(level, lower[one], upper[one])
    return dataclasses.replace(curve, error=float(curve.errors[group]), **arrays)


def draw_group(ax: Any, curve: ReliabilityCurve) -> Any:
    """Draws a curve of one group: its bars, or with error bars or a band its means.

    Bars would hide the ends of the error bars and the band.

    Returns:
      The Axes of the histogram of the scores.
    """
    if curve.error_bars is None and curve.consistency_band is None:
        return _draw_bars(ax, curve)
    return draw_lines(ax, {"": curve})


def _draw_bars(ax: Any, curve: ReliabilityCurve) -> Any:
    bins = np.flatnonzero(curve.counts[0] > 0)
    left = curve.edges[0, :-1][bins]
    width = np.diff(curve.edges[0])[bins]
    confidence = curve.confidences[0][bins]
    accuracy = curve.accuracies[0][bins]
    few = curve.sizes[0][bins] < FEW
    tips = np.array(_tips(curve), object)[bins]

    def bar(
        drawn: np.ndarray, bottom: Any, top: Any, label: str, style: Mapping[str, Any]
    ) -> None:
        drawn = drawn & ~few
        # The outlines make adaptive bins visible that are narrower than a pixel.
        patches = ax.bar(
            left[drawn],
            (top - bottom)[drawn],
            width[drawn],
            bottom=bottom[drawn],
            align="edge",
            linewidth=0.6,
            label=label if np.any(drawn) else None,
            **style,
        )
        for patch, tip in zip(patches, tips[drawn], strict=True):
            _series.set_tips(patch, tip)

    over_label, under_label = _GAP_LABELS[curve.y_axis]
    bar(accuracy >= 0, 0 * accuracy, accuracy, _AXIS_LABELS[curve.y_axis][1], _BAR)
    bar(accuracy < confidence, accuracy, confidence, over_label, _OVER)
    bar(accuracy > confidence, confidence, accuracy, under_label, _UNDER)
    ax.plot([0, 1], [0, 1], **_DIAGONAL)
    means = (confidence, accuracy)
    style = {"color": "black", "marker": "o", "markersize": 3}
    _draw_means(ax, means, few, tips, style, _MEAN_LABEL)
    if np.any(few):
        _name_few(ax, _SMALL)
    _set_limits(ax)

    shares = curve.proportions[0]
    strip = _axes.strip(ax, np.max(shares))
    outline = {"align": "edge", "linewidth": 0.6, **_STRIP}
    patches = strip.bar(left, shares[bins], width, **outline)
    for patch, tip in zip(patches, tips, strict=True):
        _series.set_tips(patch, tip)
    strip.set_ylabel("Share", fontsize="small")
    return strip


def _tips(curve: ReliabilityCurve) -> list[str]:
    """Returns the tooltip of each bin of a curve of one group."""
    x_name, y_name = _AXIS_LABELS[curve.y_axis]
    tips = []
    for b, count in enumerate(curve.counts[0]):
        low, high = curve.edges[0, b : b + 2]
        mean, accuracy = curve.confidences[0, b], curve.accuracies[0, b]
        tip = f"{x_name} {low:.3g} to {high:.3g}: mean {mean:.3f}, "
        tip += f"{y_name.lower()} {accuracy:.3f}"
        if curve.error_bars is not None:
            ends = (end[0, b] for end in curve.error_bars[1:])
            tip += " ({:.3f} to {:.3f})".format(*ends)
        tips.append(f"{tip}, n = {count:.6g}")
    return tips


def _draw_means(
    ax: Any,
    means: tuple[np.ndarray, np.ndarray],
    few: np.ndarray,
    tips: np.ndarray,
    style: Mapping[str, Any],
    label: str,
) -> None:
    """Draws the means of bins; small and off the line for bins of few examples."""
    x, y = means
    style = {"linestyle": "none", **style}
    clips = _clips(x[~few])
    drawn = ax.plot(x[~few], y[~few], label=label, clip_on=clips, **style)
    _series.set_tips(*drawn, *tips[~few])
    if np.any(few):
        drawn = ax.plot(x[few], y[few], clip_on=False, **style | _SMALL)
        _series.set_tips(*drawn, *tips[few])


def _name_few(ax: Any, style: Mapping[str, Any]) -> None:
    """Adds the legend entry for bins with few examples."""
    label = f"Fewer than {FEW} examples"
    ax.plot([], [], label=label, **{"color": "0.3", "marker": "o", **style})


# Lines of some models.


def draw_lines(ax: Any, curves: Mapping[str, Curve]) -> Any:
    """Draws a line for each model, and above them the distributions of their scores.

    Returns:
      The Axes of the distributions.
    """
    ax.plot([0, 1], [0, 1], **_DIAGONAL)
    _draw_band(ax, curves)
    _draw_intervals(ax, curves)
    few = {}  # The style of points with few examples, if any are drawn.
    bars = None
    for i, (name, curve) in enumerate(curves.items()):
        if isinstance(curve, ScoreCurve):
            text = annotation(curve) if name else _METHOD_LABELS[curve.method]
            if _draw_score_line(ax, i, curve, _series.label(name, text), bool(name)):
                few = {"marker": "", "alpha": _FADED}
            continue
        if _draw_bin_line(ax, i, curve, name):
            few = _SMALL
        bars = curve.error_bars or bars
    if bars is not None:
        ax.vlines([], [], [], color="0.3", label=_bar_label(bars), **_THIN)
    if few:
        _name_few(ax, few)
    _set_limits(ax)
    return _draw_strip(ax, curves)


def _draw_bin_line(ax: Any, i: int, curve: ReliabilityCurve, name: str) -> bool:
    """Draws the means of bins; returns whether some bins have few examples."""
    bins = curve.counts[0] > 0
    x, y = curve.confidences[0][bins], curve.accuracies[0][bins]
    few = curve.sizes[0][bins] < FEW
    style = _series.line(i) | {"marker": _series.marker(i), "markersize": 4}
    tips = [_series.label(name, tip) for tip in _tips(curve)]
    label = _series.label(name, annotation(curve)) if name else _MEAN_LABEL
    _draw_means(ax, (x, y), few, np.array(tips, object)[bins], style, label)
    if curve.error_bars is not None:
        _, lower, upper = curve.error_bars
        ax.vlines(x, lower[0][bins], upper[0][bins], color=_series.color(i), **_THIN)
    return bool(np.any(few))


def _draw_score_line(
    ax: Any, i: int, curve: ScoreCurve, label: str, marked: bool
) -> bool:
    """Draws a curve without bins; returns whether parts of it are faded."""
    x, y = curve.scores, curve.frequencies
    few = curve.sizes < FEW
    style = _series.line(i) | {"clip_on": _clips(x)}
    marks = {}
    # Markers distinguish steps also in grey; on a smooth curve they would look like
    # data. They are spaced by the length of the line, and a line of NaN has none.
    if marked and curve.method == "isotonic" and not np.all(few):
        marks = {"marker": _series.marker(i), "markersize": 4}
        marks |= {"markevery": (0.03 + 0.02 * i, 0.12)}
    drawn = ax.plot(x, np.where(few, np.nan, y), label=label, **style, **marks)
    # The label of a single curve has no number.
    tip = label if marked else f"{label}: {annotation(curve)}"
    _series.set_tips(*drawn, tip)
    # Smoothed noise of several models would hide their lines, so it is left out.
    faded = bool(np.any(few)) and not (marked and curve.method == "smooth")
    if faded:
        ax.plot(x, y, **style, alpha=_FADED)
    return faded


def _bands(curves: Mapping[str, Curve]) -> list[ScoreBand]:
    """Returns the consistency bands of the models that have one."""
    bands = []
    for curve in curves.values():
        if isinstance(curve, ScoreCurve):
            band = curve.band
        elif curve.consistency_band is not None:
            level, lower, upper = curve.consistency_band
            band = ScoreBand(
                level, curve.confidences[0], lower[0], upper[0], curve.sizes[0]
            ).at(curve.counts[0] > 0)
        else:
            band = None
        if band is not None and len(band.scores):
            bands.append(band)
    if len(bands) < 2:
        return bands
    # The band of a model is very wide at scores where the model has few examples, and
    # would hide the bands of the other models there.
    enough = [band.at(band.sizes >= FEW) for band in bands]
    return [band for band in enough if len(band.scores)] or bands


def widest(bands: Sequence[ScoreBand]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the band that contains all bands.

    Chance would rarely move any of the calibrated models out of it.

    Returns:
      Scores, the smallest lower end and the largest upper end at each, all [P].
    """
    scores = np.unique(np.concatenate([band.scores for band in bands]))
    ends = np.full((2, len(bands), len(scores)), np.nan)
    for k, band in enumerate(bands):
        for end, values in zip(ends, (band.lower, band.upper), strict=True):
            # Linear between the points of the band, and undefined outside them.
            end[k] = np.interp(scores, band.scores, values, left=np.nan, right=np.nan)
    return scores, np.nanmin(ends[0], axis=0), np.nanmax(ends[1], axis=0)


def _draw_band(ax: Any, curves: Mapping[str, Curve]) -> None:
    bands = _bands(curves)
    if not bands:
        return
    levels = {band.level for band in bands}
    label = _series.band_label(max(levels))
    if len(curves) > 1:
        label += " (widest)"
    # The outline makes a band of a single bin visible.
    ax.fill_between(*widest(bands), label=label, **_LINE_BAND)


def _draw_intervals(ax: Any, curves: Mapping[str, Curve]) -> None:
    """Draws the confidence band around each curve, in the color of its line."""
    for i, curve in enumerate(curves.values()):
        if isinstance(curve, ScoreCurve) and curve.interval is not None:
            level, scores, lower, upper, _ = curve.interval
            label = f"{100 * level:.4g}% confidence band"
            style = {"color": _series.color(i), "alpha": 0.18, "linewidth": 0}
            ax.fill_between(scores, lower, upper, label=label, zorder=0.6, **style)


def _draw_outcomes(ax: Any, curve: ScoreCurve) -> Any:
    """Draws the shares of the scores in each bin: upwards for examples with a true
    outcome, downwards for examples with a false outcome. Returns the Axes.
    """
    assert curve.shares is not None
    largest = np.max(curve.shares)
    strip = _axes.strip(ax, largest)
    for shares, sign in zip(curve.shares, (-1, 1), strict=True):
        strip.stairs(sign * shares, curve.density_scores, fill=True, **_STRIP)
    strip.axhline(0, color="0.4", linewidth=0.8)
    title, *names = _OUTCOME_LABELS[curve.y_axis]
    if largest > 0:
        strip.set_yticks([-largest / 2, largest / 2], names, fontsize="small")
        strip.set_ylim(-largest, largest)
    strip.set_ylabel(title, fontsize="small")
    return strip


def _draw_strip(ax: Any, curves: Mapping[str, Curve]) -> Any:
    """Draws the distribution of the scores: shares in bins, or densities."""
    only = next(iter(curves.values()))
    if len(curves) == 1 and isinstance(only, ScoreCurve) and only.shares is not None:
        return _draw_outcomes(ax, only)
    binned = all(isinstance(curve, ReliabilityCurve) for curve in curves.values())
    drawn = []
    for curve in curves.values():
        if isinstance(curve, ScoreCurve):
            drawn.append((curve.densities, curve.density_scores))
        else:
            width = 1.0 if binned else np.diff(curve.edges[0])
            drawn.append((curve.proportions[0] / width, curve.edges[0]))
    largest = max(np.max(heights) for heights, _ in drawn)
    name = "Share" if binned else "Density"
    strip = _axes.strip(ax, largest, name)
    strip.set_ylabel(name, fontsize="small")
    for i, (heights, scores) in enumerate(drawn):
        style = _series.line(i) | {"linewidth": 1.2}
        fill = {"color": _series.color(i), "alpha": 0.25 / len(drawn), "linewidth": 0}
        if len(heights) == len(scores):
            strip.plot(scores, heights, **style)
            strip.fill_between(scores, heights, **fill)
        else:
            strip.stairs(heights, scores, **style)
            strip.stairs(heights, scores, fill=True, **fill)
    return strip


# One diagram from several calls.

# Name of the attribute of Axes that holds the diagram drawn there.
_DRAWN = "_uncertainty_metrics_reliability"


@dataclasses.dataclass
class Drawn:
    """A reliability diagram that was drawn in Axes.

    Attributes:
      curves: the curve of each model, by its name.
      own: whether the figure is our own.
      artists: the artists of the diagram.
    """

    curves: dict[str, Curve]
    own: bool
    artists: list[Any]


def earlier(ax: Any) -> Drawn | None:
    """Returns the diagram that an earlier call drew in Axes, if they still show it."""
    drawn = getattr(ax, _DRAWN, None)
    shown = drawn is not None and any(a in ax.child_axes for a in drawn.artists)
    return drawn if shown else None


def erase(ax: Any, drawn: Drawn) -> None:
    """Removes the diagram of an earlier call."""
    for artist in drawn.artists:
        artist.remove()
    delattr(ax, _DRAWN)


@contextlib.contextmanager
def recorded(ax: Any, curves: dict[str, Curve], own: bool) -> Iterator[None]:
    """Records the artists of a diagram, so that a later call can add a model."""

    def artists() -> list[Any]:
        containers = [bar for container in ax.containers for bar in container]
        bars = set(map(id, containers))
        children = [a for a in ax.get_children() if id(a) not in bars]
        legends = ax.get_figure().legends if own else []
        return [*ax.containers, *children, *legends]

    before = set(map(id, artists()))
    yield
    new = [artist for artist in artists() if id(artist) not in before]
    setattr(ax, _DRAWN, Drawn(curves, own, new))


def joined(old: Mapping[str, Curve], new: Mapping[str, Curve]) -> dict[str, Curve]:
    """Returns the models of two calls, and gives each a different name."""
    curves: dict[str, Curve] = {}
    for name, curve in [*old.items(), *new.items()]:
        unique = name = name or f"Model {len(curves) + 1}"
        number = 2
        while unique in curves:
            unique, number = f"{name} ({number})", number + 1
        curves[unique] = curve
    return curves


def add_legend(ax: Any, own: bool, columns: int, panels: Any = None) -> None:
    """Adds a legend that has each entry once.

    It is below Axes of our own. In other Axes it is inside, unless it is long and a
    layout engine makes room for it below.
    """
    handles: dict[str, Any] = {}
    for panel in [ax] if panels is None else panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    listed = (list(handles.values()), list(handles))
    figure = ax.get_figure()
    if own:
        _series.legend_below(figure, *listed, columns)
        return
    many = len(handles) > _series.MANY
    columns = _series.columns_of(listed[1], columns)
    style = _series.inner_legend(ax)
    if many and figure.get_layout_engine() is not None:
        transforms = _optional.require("matplotlib.transforms")
        below = transforms.ScaledTranslation(0, -_BELOW, figure.dpi_scale_trans)
        style |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        style |= {"bbox_transform": ax.transAxes + below}
        style |= {"ncols": columns, "columnspacing": 1.0}
    ax.legend(*listed, **style)
