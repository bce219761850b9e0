"""A plot of the e-values of a monitor of calibration against its examples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uncertainty_metrics.visualization import _series

_ALARM = {"color": "#cc3311", "linestyle": ":", "linewidth": 1.5}
# The vertical axis starts at an e-value of 0.001: smaller e-values say no more.
_LOWEST = -3.0


def draw_evidence(
    numbers: np.ndarray,
    log_values: np.ndarray,
    *,
    alpha: float,
    alarm: int | None = None,
    ax: Any = None,
) -> Any:
    """Draws e-values against the number of examples, with the bound of an alarm.

    Args:
      numbers: number of examples at each e-value, [points].
      log_values: natural logarithms of the e-values, [points].
      alpha: the alpha of the monitor; the bound is 1 / alpha.
      alarm: number of the example with the alarm, or None.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: `ax` is not as described.

    Example:
      >>> import numpy as np
      >>> from matplotlib.figure import Figure
      >>> from uncertainty_metrics.visualization import _evidence
      >>> numbers, log_values = np.array([1, 2, 3]), np.array([0.0, 1.0, 4.0])
      >>> ax = _evidence.draw_evidence(
      ...     numbers, log_values, alpha=0.05, alarm=3, ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Examples', 'log10 of the e-value')
    """
    ax, own = _series.axes(ax, 6.4, 3.6)
    decades = np.asarray(log_values) / math.log(10)
    bound = -math.log10(alpha)
    ax.plot(numbers, decades, label="E-value", **_series.line(0))
    ax.axhline(bound, label=f"1 / alpha = {1 / alpha:.4g}", **_series.REFERENCE)
    if alarm is not None:
        ax.axvline(alarm, label=f"Alarm at example {alarm}", **_ALARM)
    # If all e-values are below 0.001, the axis starts at the largest of them.
    low = max(min(0.0, np.min(decades)), min(_LOWEST, np.max(decades)))
    high = max(bound, np.max(decades))
    margin = 0.05 * (high - low)
    ax.set(xlabel="Examples", ylabel="log10 of the e-value")
    ax.set(xlim=(0, max(numbers[-1], 1)), ylim=(low - margin, high + margin))
    _series.finish(ax, own, None, columns=3)
    return ax
