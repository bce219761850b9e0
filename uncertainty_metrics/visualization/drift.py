"""The reliability of a model in two periods, and the bins in which it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _wilson
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.watching import calibration_drift as drifts
from uncertainty_metrics.visualization import _axes, _series

__all__ = ["drift_diagram"]

_CHANGED = {"color": "#cc3311", "alpha": 0.1, "linewidth": 0, "zorder": 0.4}
_DIAGONAL = {"color": "0.3", "linestyle": "--", "label": "Perfect calibration"}


@takes_frames
def drift_diagram(
    first: drifts.Period,
    second: drifts.Period,
    *,
    num_bins: int | None = None,
    names: Sequence[str] = ("first", "second"),
    level: float = 0.95,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Diagram of the reliability of a model in two periods, and where it changed.

    Each line joins the points (mean score, mean outcome) of the bins of
    `calibration_drift`; the bands are Wilson's intervals of the mean outcomes. Bins
    that changed by more than chance are shaded. If nothing has changed, the probability
    that any bin is shaded is at most 1 - `level` (Bonferroni). The legend has the
    p-value of the drift and the difference of the ECEs. The strip at the top shows the
    density of the examples in the bins.

    Args:
      first: statistics of the first period: `BinStatistics`, a `ScoreSketch` or a
        `Summary`, as for `calibration_drift`.
      second: statistics of the second period, of the same kind and with the same bins.
      num_bins: number of even bins for sketches and summaries, by default 15.
        `BinStatistics` already have bins, so it must be None for them.
      names: names of the two periods, for the legend.
      level: level of the bands and of the shading, in (0, 1).
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      TypeError: `first` and `second` are neither both `BinStatistics` nor both
        sketches nor both summaries.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> options = {"num_bins": 2, "positive_class": True}
      >>> first = um.bin_statistics([1, 0, 1, 1, 0, 1], [0.6] * 6, **options)
      >>> second = um.bin_statistics([0, 0, 1, 0, 0, 1], [0.6] * 6, **options)
      >>> ax = um.drift_diagram(first, second, ax=Figure().subplots())
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Mean score', 'Mean outcome')

    References:
      Broecker and Smith (2007), Increasing the Reliability of Reliability Diagrams.
    """
    level = _checks.open_unit("level", level)
    labels = [str(name) for name in _checks.listed("names", "two names", names)]
    if isinstance(names, str) or len(labels) != 2:
        raise _checks.error("names", "two names", repr(names), verb="hold")
    drift = drifts.calibration_drift(first, second, num_bins=num_bins)
    return draw(drift, labels, level, title, ax)


def draw(
    drift: drifts.CalibrationDrift,
    names: Sequence[str],
    level: float,
    title: str | None,
    ax: Any,
) -> Any:
    """Draws the diagram of a drift; `drift_diagram` has the arguments."""
    ax, own = _series.axes(ax, 5, 6.4)
    ax.plot([0, 1], [0, 1], **_DIAGONAL)
    _shade(ax, drift, level)
    for i, name in enumerate(names):
        _draw_period(ax, drift, i, name, level)
    ticks = np.linspace(0, 1, 6)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks)
    ax.set(xlabel="Mean score", ylabel="Mean outcome")
    _draw_strip(ax, drift)
    text = f"p = {drift.p_value:.2g}, ECE {drift.ece_difference:+.3f}"
    _series.finish(ax, own, title, legend_title=text, columns=2)
    return ax


def _shade(ax: Any, drift: drifts.CalibrationDrift, level: float) -> None:
    """Shades the bins that changed by more than chance."""
    most = (1 - level) / max(drift.degrees_of_freedom, 1)
    with np.errstate(invalid="ignore"):  # A p-value may be NaN.
        changed = np.flatnonzero(drift.p_values < most)
    for i, b in enumerate(changed.tolist()):
        label = "Changed" if i == 0 else None
        ends = drift.edges[b : b + 2]
        _series.set_tips(ax.axvspan(*ends, label=label, **_CHANGED), _tip(drift, b))


def _tip(drift: drifts.CalibrationDrift, b: int) -> str:
    """Returns the tooltip of a bin: its gaps and its z."""
    low, high = drift.edges[b : b + 2]
    gaps = " to ".join(f"{gap:+.3f}" for gap in drift.gaps[:, b])
    return f"{low:.3g} to {high:.3g}: gap {gaps}, z = {drift.z[b]:.2f}"


def _draw_period(
    ax: Any, drift: drifts.CalibrationDrift, i: int, name: str, level: float
) -> None:
    """Draws the line of the i-th period and its band."""
    x, y, counts = drift.confidences[i], drift.accuracies[i], drift.counts[i]
    style = {**_series.line(i), "marker": _series.marker(i), "markersize": 4}
    label = _series.label(name, f"n = {counts.sum():.6g}")
    drawn = ax.plot(x, y, label=label, **style)
    _series.set_tips(*drawn, *(_tip(drift, b) for b in range(len(x))))
    lower, upper = _wilson.interval(np.clip(y, 0.0, 1.0), counts, level)
    if len(x) == 1:
        ax.vlines(x, lower, upper, color=_series.color(i))
        return
    fill = {"color": _series.color(i), "alpha": 0.2, "linewidth": 0}
    ax.fill_between(x, lower, upper, **fill)


def _draw_strip(ax: Any, drift: drifts.CalibrationDrift) -> None:
    """Draws the density of the examples; the pooled bins may differ in width."""
    widths = np.diff(drift.edges)
    densities = drift.counts / drift.counts.sum(axis=1, keepdims=True) / widths
    strip = _axes.strip(ax, np.max(densities), "Density")
    strip.set_ylabel("Density", fontsize="small")
    for i, heights in enumerate(densities):
        strip.stairs(heights, drift.edges, color=_series.color(i), linewidth=1.2)
