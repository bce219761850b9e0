"""Plots of posterior densities of calibration errors, to compare models by eye."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibration.bins import bayesian_calibration
from uncertainty_metrics.visualization import _series

__all__ = ["posterior_diagram"]

_OVERLAP = {"facecolor": "none", "edgecolor": "0.3", "hatch": "////", "linewidth": 0}
# Fewer than _MIN_BINS bins show no shape; more than _MAX_BINS are too narrow to see.
_MIN_BINS, _MAX_BINS = 10, 400
# A line of a legend inside the Axes is _LINE inches high, and the legend gets at most
# _MOST_ROOM of their height. Without a legend, _MARGIN is free above the densities.
_LINE, _MOST_ROOM, _MARGIN = 0.17, 0.5, 0.05


def _checked(samples: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    if not isinstance(samples, Mapping):
        return {"": bayesian_calibration.checked_samples("samples", samples)}
    if not samples:
        raise _checks.error("samples", "at least one model", "{}", verb="hold")
    return {
        str(name): bayesian_calibration.checked_samples(f"samples[{name!r}]", draws)
        for name, draws in samples.items()
    }


def _common_edges(samples: list[np.ndarray]) -> np.ndarray:
    """Returns the edges of bins as narrow as the narrowest posterior needs."""
    low, high = (f([f(draws) for draws in samples]) for f in (np.min, np.max))
    # Scott's rule, by the standard deviation.
    widths = [3.5 * np.std(draws) / np.cbrt(len(draws)) for draws in samples]
    width = min((w for w in widths if w > 0), default=0.0)
    if not high - low > 1e-6 * max(abs(low), abs(high), 1e-6):  # All draws are equal.
        margin = 0.01 * max(abs(low), abs(high), 0.1)
        low, high = low - margin, high + margin
    number = np.ceil((high - low) / width) if width > 0 else _MIN_BINS
    return np.linspace(low, high, int(np.clip(number, _MIN_BINS, _MAX_BINS)) + 1)


def posterior_diagram(
    samples: ArrayLike | Mapping[str, ArrayLike],
    *,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Posterior densities of the calibration errors of one or some models.

    Each model has a filled histogram, with its mean (line) and its central 95% interval
    (bar below the axis). All histograms have the same bins. For two models the overlap
    is hatched, and the title of the legend has two numbers:

      P(a < b)  as `probability_of_lower_calibration_error` defines it
      overlap = integral of min(density of a, density of b)

    The overlap is the hatched area of the two histograms. With few draws it is smaller
    than the overlap of the densities.

    The draws must be those of independent examples; there are no `clusters`.

    Args:
      samples: draws, finite, shape [S], as `bayesian_expected_calibration_error`
        returns them; or a mapping from the names of models to their draws, whose
        numbers may differ.
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> samples = {"small": [0.01, 0.02, 0.03], "large": [0.03, 0.04, 0.05]}
      >>> ax = um.posterior_diagram(samples, ax=Figure().subplots())
      >>> ax.get_legend().get_title().get_text().splitlines()[0]
      'P(small < large) = 0.944'
    """
    checked = _checked(samples)
    ax, own = _series.axes(ax, 6.4, 4.4)
    edges = _common_edges(list(checked.values()))
    densities = {
        name: np.histogram(draws, edges, density=True)[0]
        for name, draws in checked.items()
    }
    top = max(np.max(density) for density in densities.values())
    for i, (name, draws) in enumerate(checked.items()):
        color, height = _series.color(i), -0.04 * top * (i + 1)
        _draw_model(ax, name, draws, densities[name], edges, color, height)
    comparison = None
    if len(checked) == 2:
        comparison = _draw_overlap(ax, checked, densities, edges)
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="Calibration error", ylabel="Posterior density")
    room = _MARGIN
    if not own:  # For the legend inside: a line for each model, and two for its title.
        height = ax.get_window_extent().height / ax.get_figure().dpi
        room = min(_LINE * (len(checked) + 2) / height, _MOST_ROOM)
    ax.set_ylim(-0.04 * top * (len(checked) + 1), top / (1 - room))
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    _series.finish(ax, own, title, legend_title=comparison)
    return ax


def _draw_model(
    ax: Any,
    name: str,
    draws: np.ndarray,
    density: np.ndarray,
    edges: np.ndarray,
    color: str,
    height: float,
) -> None:
    """Draws a density, its mean and, at `height`, its central 95% interval."""
    mean = np.mean(draws)
    low, high = np.quantile(draws, [0.025, 0.975])
    label = _series.label(name, f"{mean:.3g}, 95% in [{low:.3g}, {high:.3g}]")
    filled = ax.stairs(density, edges, fill=True, color=color, alpha=0.35, label=label)
    ax.stairs(density, edges, color=color)
    top = np.interp(mean, *_steps(edges, density))
    lines = [
        *ax.plot([mean, mean], [0, top], color=color),
        *ax.plot([low, high], [height, height], color=color, linewidth=3),
        *ax.plot([mean], [height], "o", color=color, markersize=4),
    ]
    for mark in (filled, *lines):
        _series.set_tips(mark, label)


def _steps(edges: np.ndarray, density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the corners of a histogram."""
    return np.repeat(edges, 2)[1:-1], np.repeat(density, 2)


def _draw_overlap(
    ax: Any,
    samples: dict[str, np.ndarray],
    densities: dict[str, np.ndarray],
    edges: np.ndarray,
) -> str:
    """Hatches the overlap of two densities; returns the comparison as text."""
    (first, a), (second, b) = samples.items()
    shared = np.minimum(densities[first], densities[second])
    overlap = float(np.sum(shared * np.diff(edges)))
    filled = ax.stairs(shared, edges, fill=True, **_OVERLAP)
    lower = bayesian_calibration.probability_of_lower_calibration_error(a, b)
    names = f"{_series.plain(first)} < {_series.plain(second)}"
    _series.set_tips(filled, f"Overlap = {overlap:.3f}")
    return f"P({names}) = {lower:.3f}\nOverlap = {overlap:.3f}"
