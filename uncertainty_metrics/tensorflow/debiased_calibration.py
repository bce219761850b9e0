"""Calibration error on tensors, without the bias of few examples in a bin.

Declared in `uncertainty_metrics.numpy.debiased_calibration`.
"""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import ConfidenceInterval
from uncertainty_metrics.numpy import debiased_calibration as declared
from uncertainty_metrics.ops import _binning, _error_interval, xp
from uncertainty_metrics.tensorflow._twin import twin

__all__ = ["calibration_error_interval", "debiased_calibration_error"]


@twin(declared.debiased_calibration_error)
def debiased_calibration_error(**arguments):
    squared = arguments["squared"]
    _checks.boolean("squared", squared)
    examples, spec = _binning.read(declared.PRESET, arguments)
    statistics, valid = _binning.bin_statistics(examples, spec)
    unit = _binning.unit_of(examples.weights, examples.dtype)
    return _binning.debiased_error(statistics, squared, unit), valid


@twin(declared.calibration_error_interval)
def calibration_error_interval(**arguments):
    level = _checks.open_unit("level", arguments["level"])
    examples, spec = _binning.read(declared.PRESET, arguments)
    sums, valid = _error_interval.sums_of(examples, spec)
    unit = _binning.unit_of(examples.weights, xp.float64)
    ends = _error_interval.interval(sums, unit, level)
    return ConfidenceInterval(*(xp.cast(end, examples.dtype) for end in ends)), valid
