"""Calibration of any forecasts, by the PIT values of their targets, on tensors.

Declared in `uncertainty_metrics.numpy.regression.pit_calibration`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncertainty_metrics import _checks, _results
from uncertainty_metrics._results import PITHistogram, PITInterval
from uncertainty_metrics.numpy.calibration.bins import _binning as np_binning
from uncertainty_metrics.numpy.regression import _levels as np_levels
from uncertainty_metrics.numpy.regression import pit_calibration as np_pit_calibration
from uncertainty_metrics.ops import (
    _binning,
    _forecasts,
    _inputs,
    _levels,
    _ranges,
    _validity,
    is_floating,
    numpy_dtype,
    xp,
)
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["pit_calibration_curve", "pit_calibration_error", "pit_histogram"]


def _pit_values(
    pit: TensorLike | PITInterval,
    mask: TensorLike | None,
    sample_weight: TensorLike | None,
) -> tuple[list[xp.Tensor], xp.Tensor | None, xp.Tensor]:
    """Returns a list, the weights, and whether all values are right.

    The list has PIT values in [0, 1], in the precision of the argument; or the lower
    and the upper ends of intervals.
    """
    arguments = _results.pit_ends(pit)
    tensors = {
        name: _inputs.as_tensor(name, value) for name, value in arguments.items()
    }
    dtype = _inputs.predictions_dtype(*tensors.values())
    ends, weights, usable = _forecasts.included(tensors, mask, sample_weight, dtype)
    right = xp.constant(True)
    for i, values in enumerate(ends):
        if not is_floating(values):
            values = xp.cast(values, xp.float32)
        inside = _ranges.rows_in_range(values[:, None])
        right = right & inside
        ends[i] = xp.where(inside, xp.minimum(values, 1), xp.zeros_like(values))
    if len(ends) > 1:
        lower, upper = (xp.cast(values, dtype) for values in ends)
        right = right & (lower <= upper)
        ends = [xp.where(right, lower, xp.zeros_like(lower)), upper]
    return ends, weights, usable & _validity.counted_are_right(right, weights)


@twin(np_pit_calibration.pit_histogram)
def pit_histogram(pit, n_bins, mask, *, sample_weight):
    n_bins = _checks.bins("n_bins", n_bins)
    ends, weights, valid = _pit_values(pit, mask, sample_weight)
    dtype = _inputs.sum_dtype(ends[0])
    cells = [_binning.even_index(values, n_bins) for values in ends]
    if len(ends) == 1:
        counts = _levels.masses(cells[0], weights, n_bins, dtype)
    else:
        edges = np_binning.even_edges(n_bins, numpy_dtype(dtype))
        counts = _levels.spread_masses(ends, cells, edges, weights)
    histogram = PITHistogram(
        edges=xp.constant(np_binning.even_edges(n_bins), dtype),
        counts=counts,
        density=counts / xp.reduce_sum(counts) * n_bins,
    )
    return histogram, valid


def _curve(
    pit: TensorLike | PITInterval,
    n_bins: int,
    mask: TensorLike | None,
    sample_weight: TensorLike | None,
) -> tuple[dict[str, xp.Tensor], xp.Tensor]:
    """Returns the curve, and whether to trust it."""
    levels = np_levels.curve_levels(n_bins)
    ends, weights, valid = _pit_values(pit, mask, sample_weight)
    limits = np_levels.pit_limits(levels, numpy_dtype(ends[0]))
    ends = [2 * xp.cast(values, _inputs.sum_dtype(values)) - 1 for values in ends]
    if len(ends) == 1:
        return _levels.curve(xp.abs(ends[0]), limits, levels, weights), valid
    within = xp.cumsum(_levels.ring_masses(ends, limits, weights))
    curve = _levels.of_coverage(levels, within[:-1] / within[-1], within[-1])
    return curve, valid


@twin(np_pit_calibration.pit_calibration_curve)
def pit_calibration_curve(pit, n_bins, mask, *, sample_weight):
    return _curve(pit, n_bins, mask, sample_weight)


@twin(np_pit_calibration.pit_calibration_error)
def pit_calibration_error(pit, n_bins, mask, *, sample_weight):
    curve, valid = _curve(pit, n_bins, mask, sample_weight)
    return _levels.curve_error(curve), valid
