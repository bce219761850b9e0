"""How often targets lie in the central intervals of Normal forecasts, on tensors.

Declared in `uncertainty_metrics.numpy.regression.coverage`.
"""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.regression import coverage as np_coverage
from uncertainty_metrics.ops import _forecasts, _levels, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = np_coverage.__all__


@twin(np_coverage.compute_calibration_curve, by_numpy=True)
def compute_calibration_curve(
    predictions, uncertainties, targets, n_bins, mask, *, sample_weight, stddevs
):
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    curve = _levels.normal_curve(forecasts.z, forecasts.weights, n_bins)
    return curve, forecasts.valid


@twin(np_coverage.expected_calibration_error, by_numpy=True)
def expected_calibration_error(
    predictions, uncertainties, targets, n_bins, mask, *, sample_weight, stddevs
):
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    curve = _levels.normal_curve(forecasts.z, forecasts.weights, n_bins)
    return _levels.curve_error(curve), forecasts.valid


@twin(np_coverage.interval_coverage)
def interval_coverage(
    predictions, uncertainties, targets, level, mask, *, sample_weight, stddevs
):
    levels = _checks.levels("level", level)
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    shares = _levels.level_coverage(forecasts.z, forecasts.weights, levels)
    return shares, forecasts.valid


@twin(np_coverage.calibration_error)
def calibration_error(
    predictions, uncertainties, targets, level, mask, *, sample_weight, stddevs
):
    levels = _checks.levels("level", level)
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    shares = _levels.level_coverage(forecasts.z, forecasts.weights, levels)
    return xp.abs(shares - xp.constant(levels, shares.dtype)), forecasts.valid
