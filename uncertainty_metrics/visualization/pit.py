"""Plots of the probability integral transform of forecasts."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import PITHistogram, PITInterval
from uncertainty_metrics.numpy import regression
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.regression.ecdf import NUM_STEPS
from uncertainty_metrics.visualization import _axes, _series

__all__ = ["pit_diagram", "plot_pit_histogram"]

PitPlot = Literal["histogram", "ecdf"]

_BAND_STYLE = {"facecolor": _series.BAND_FILL, "edgecolor": _series.BAND_EDGE}


@takes_frames
def pit_diagram(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    ax: Any = None,
    title: str | None = None,
    color: str = "steelblue",
    *,
    kind: PitPlot = "histogram",
    consistency_band: float | None = 0.95,
) -> Any:
    """Histogram of the probability integral transform: flat if calibrated.

    A U says that the predicted distributions are too narrow (overconfident), a hump
    that they are too wide, a slope that they are biased. Chance alone leaves each bar
    of calibrated predictions in the band, with the probability of its level:

      quantiles of Binomial(n, 1 / n_bins), divided by n / n_bins

    The intervals that samples have spread their mass over the bars. Chance then moves
    the bars less, so they are in the band at least as often as the level says.

    `kind="ecdf"` needs no bins. It draws the share of the values up to each point minus
    that of a uniform distribution, and the band of `ecdf_band`, in which chance alone
    leaves the whole curve. If the predicted distributions are too wide, the curve is
    first below 0 and then above; if they are too narrow, first above and then below.

    The bands are those of independent examples. They need only the number of values, so
    they take no `clusters`.

    Args:
      pit: values in [0, 1] of any shape, as `probability_integral_transform` returns
        them; or intervals, as `sample_pit` and `quantile_pit` return them: a
        `PITInterval` or a tuple `(lower, upper)` of two arrays.
      n_bins: Only for "histogram": number of bins of equal width.
      mask: True for the examples to include; all by default.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.
      title: title of the diagram; by default "PIT Histogram" or "PIT ECDF".
      color: color of the bars, or of the curve.
      kind: "histogram" or "ecdf".
      consistency_band: level in (0, 1) of the band; None draws none.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.regression.pit_diagram(
      ...     [0.1, 0.3, 0.4, 0.9], n_bins=2, ax=Figure().subplots()
      ... )
      >>> [float(bar.get_height()) for bar in ax.containers[0]]
      [1.5, 0.5]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness. Säilynoja, Bürkner and Vehtari (2022), Graphical Test for Discrete
      Uniformity and Its Applications in Goodness-of-Fit Evaluation and Multiple Sample
      Comparison.
    """
    _checks.one_of("kind", kind, get_args(PitPlot))
    bars = kind == "histogram"
    histogram = regression.pit_histogram(pit, n_bins if bars else NUM_STEPS, mask)
    _axes.check_color("color", color)
    consistency_band = _series.level("consistency_band", consistency_band)
    if title is None:
        title = "PIT Histogram" if bars else "PIT ECDF"
    return draw_pit(histogram, ax, title, color, consistency_band, kind)


def draw_pit(
    histogram: PITHistogram,
    ax: Any,
    title: str,
    color: str,
    consistency_band: float | None,
    kind: PitPlot = "histogram",
) -> Any:
    """Draws a histogram of PIT values, and returns its axes."""
    ax, own = _series.axes(ax, 6, 4)
    draw = _draw_bars if kind == "histogram" else _draw_ecdf
    draw(ax, own, histogram, color, consistency_band)
    ax.set(xlabel="Probability integral transform", xlim=(0, 1))
    _series.finish(ax, own, title, columns=2)
    return ax


def _draw_bars(
    ax: Any,
    own: bool,
    histogram: PITHistogram,
    color: str,
    consistency_band: float | None,
) -> None:
    density, edges = histogram.density, histogram.edges
    style = {"color": color, "edgecolor": "white", "linewidth": 0.6}
    bars = ax.bar(edges[:-1], density, np.diff(edges), align="edge", **style)
    each = zip(bars, edges[:-1], edges[1:], density, histogram.counts, strict=True)
    for bar, low, high, height, count in each:
        tip = f"PIT {low:.3g} to {high:.3g}: density {height:.3f}, n = {count:.6g}"
        _series.set_tips(bar, tip)
    top = np.max(density)
    if consistency_band is not None:
        label = _series.band_label(consistency_band)
        ends = _chance(histogram.counts, consistency_band)
        ax.axhspan(*ends, zorder=0, label=label, **_BAND_STYLE)
        ax.hlines(ends, 0, 1, color=_series.BAND_EDGE)
        top = max(top, ends[1])
    ax.axhline(1, label="Perfect calibration", **_series.REFERENCE)
    ax.set(ylabel="Density", ylim=(0, (1.05 if own else _series.LEGEND_ROOM) * top))


def _draw_ecdf(
    ax: Any,
    own: bool,
    histogram: PITHistogram,
    color: str,
    consistency_band: float | None,
) -> None:
    counts, points = histogram.counts, histogram.edges
    share = np.append(0, np.cumsum(counts)) / np.sum(counts)
    ax.plot(points, share - points, color=color, label="Observed", zorder=3)
    top = np.max(np.abs(share - points))
    if consistency_band is not None:
        # Intervals split their mass, so the sum is whole only up to rounding.
        number = int(np.rint(np.sum(counts)))
        _, *ends = regression.ecdf_band(number, consistency_band)
        low, high = (end - points for end in ends)
        label = _series.band_label(consistency_band)
        ax.fill_between(points, low, high, label=label, **_BAND_STYLE)
        top = max(top, np.max(high))
    ax.axhline(0, label="Perfect calibration", **_series.REFERENCE)
    ax.set(
        ylabel="Share of values minus uniform",
        ylim=(-1.05 * top, (1.05 if own else 2 * _series.LEGEND_ROOM - 1) * top),
    )


def _chance(counts: np.ndarray, level: float) -> np.ndarray:
    """Returns the lower and upper end of the band of the density in a bin."""
    from scipy import stats

    total, share = np.rint(np.sum(counts)), 1 / len(counts)  # Intervals split mass.
    tail = (1 - level) / 2
    return stats.binom.ppf([tail, 1 - tail], total, share) / (total * share)


plot_pit_histogram = pit_diagram
