"""Calibration of any forecasts, by the PIT values of their targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _results
from uncertainty_metrics._results import PITHistogram, PITInterval
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.regression import _forecasts, _levels

__all__ = ["pit_calibration_curve", "pit_calibration_error", "pit_histogram"]


def pit_values(
    pit: ArrayLike | PITInterval,
    mask: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Returns PIT values in [0, 1], or the lower and upper ends of intervals, in the
    precision that was passed; and weights.
    """
    arguments = _results.pit_ends(pit)
    ends, weights = _forecasts.included(arguments, mask, sample_weight)
    ends = [
        _inputs.check_probabilities(_inputs.native_floating(values), name)
        for name, values in zip(arguments, ends, strict=True)
    ]
    if len(ends) > 1:
        single = all(values.dtype.itemsize <= 4 for values in ends)
        lower, upper = ends = [
            values.astype(np.float32 if single else np.float64) for values in ends
        ]
        bad = lower > upper
        if np.any(bad):
            raise _checks.error("lower", "<= `upper`", _inputs.first(bad, lower))
    return ends, weights


def spread_masses(
    ends: Sequence[np.ndarray],
    cells: Sequence[np.ndarray],
    edges: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Returns the weight in each cell; an example spreads its weight evenly from its
    lower to its upper end.

    Args:
      ends: lower and upper ends, [N] each.
      cells: the cells that hold these ends, [N] each.
      edges: edges of the cells, in the precision in which `cells` were found.
      weights: [N], or None for ones.
    """
    edges = edges.astype(np.float64)
    lower, upper = (values.astype(np.float64) for values in ends)
    first, last = cells
    n = len(edges) - 1
    mass = np.ones(len(lower)) if weights is None else weights
    width = np.where(first < last, upper - lower, 1.0)
    start = np.where(first < last, (edges[first + 1] - lower) / width, 1.0)
    end = np.where(first < last, (upper - edges[last]) / width, 0.0)
    masses = np.bincount(first, start * mass, n) + np.bincount(last, end * mass, n)
    # Each cell between the two gets mass by its width. Only then is `width` not tiny.
    slope = np.where(last - first > 1, mass / width, 0.0)
    steps = np.bincount(first + 1, slope, n + 1) - np.bincount(last, slope, n + 1)
    return masses + np.maximum(np.cumsum(steps[:-1]), 0) * np.diff(edges)


@takes_frames
def pit_histogram(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> PITHistogram:
    """Histogram of PIT values.

    It is flat if forecasts are calibrated, U-shaped if they are too narrow, hill-shaped
    if they are too wide, and sloped if they are biased. The mass of an interval is
    spread evenly over it.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or intervals of PIT values, a
        `PITInterval` or a tuple `(lower, upper)` of two arrays. An array or a list of
        two rows holds 2 n values.
      n_bins: number of bins `(a, b]` of equal width; the first bin includes 0.
      mask: True for the values to include.
      sample_weight: weight of each value, finite and >= 0, broadcastable to the values.

    Returns:
      A named tuple `(edges, counts, density)`: `edges` [n_bins + 1]; `counts` [n_bins]
      is the weight in each bin; `density` [n_bins] is 1 for a uniform distribution.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> histogram = um.regression.pit_histogram([0.0, 0.1, 0.5, 0.8], n_bins=2)
      >>> [float(value) for value in histogram.density]
      [1.5, 0.5]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness. Czado, Gneiting and Held (2009), Predictive Model Assessment for Count
      Data.
    """
    n_bins = _checks.bins("n_bins", n_bins)
    ends, weights = pit_values(pit, mask, sample_weight)
    cells = [_binning.even_index(values, n_bins) for values in ends]
    if len(ends) == 1:
        counts = np.bincount(cells[0], weights, n_bins)
    else:
        edges = _binning.even_edges(n_bins, ends[0].dtype)
        counts = spread_masses(ends, cells, edges, weights)
    return PITHistogram(
        edges=_binning.even_edges(n_bins),
        counts=counts.astype(np.float64),
        density=counts / counts.sum() * n_bins,
    )


@takes_frames
def pit_calibration_curve(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
    """Observed against expected coverage of central intervals, by PIT values.

      observed(p) = share of examples with |2 PIT - 1| <= p

    The mass of an interval is spread evenly over it.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or intervals of PIT values, a
        `PITInterval` or a tuple `(lower, upper)` of two arrays. An array or a list of
        two rows holds 2 n values.
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      mask: True for the values to include.
      sample_weight: weight of each value, finite and >= 0, broadcastable to the values.

    Returns:
      A dict with the entries of `compute_calibration_curve`, and equal to it for the
      PIT values of Normal forecasts.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.regression.pit_calibration_curve([0.4, 0.5, 0.9, 1.0], n_bins=3)
      >>> [float(value) for value in curve["observed_coverage"]]
      [0.25, 0.5, 0.75]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    levels = _levels.curve_levels(n_bins)
    ends, weights = pit_values(pit, mask, sample_weight)
    limits = _levels.pit_limits(levels, ends[0].dtype)
    ends = [2 * values.astype(np.float64) - 1 for values in ends]
    if len(ends) == 1:
        return _levels.curve(ends[0], limits, levels, weights)
    edges = _levels.interval_edges(limits)
    cells = [np.searchsorted(edges[1:-1], values) for values in ends]
    masses = spread_masses(ends, cells, edges, weights)
    below, middle, above = np.split(masses, [n_bins, n_bins + 1])
    within = np.cumsum(np.concatenate([middle, below[::-1] + above]))
    return _levels.of_coverage(levels, within[:-1] / within[-1], within[-1])


@takes_frames
def pit_calibration_error(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Expected calibration error of any forecasts, by their PIT values.

      ECE = mean over p of |observed(p) - p|

    over the levels of `pit_calibration_curve`.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or intervals of PIT values, a
        `PITInterval` or a tuple `(lower, upper)` of two arrays. An array or a list of
        two rows holds 2 n values.
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      mask: True for the values to include.
      sample_weight: weight of each value, finite and >= 0, broadcastable to the values.

    Returns:
      A number in [0, 1]. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.regression.pit_calibration_error([0.4, 0.5, 0.9, 1.0], n_bins=3)
      >>> round(float(error), 6)
      0.145

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    return _levels.curve_error(
        pit_calibration_curve(pit, n_bins, mask, sample_weight=sample_weight)
    )
