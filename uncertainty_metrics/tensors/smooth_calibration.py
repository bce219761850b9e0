"""Calibration error of smoothed residuals on tensors.

Declared in `uncertainty_metrics.numpy.calibration.smoothed.smooth_calibration`. The
search for the bandwidth starts at 2^-11 in compiled code, on other devices than a CPU,
and under a tape: the error is within 1e-5 of the error in NumPy, or both are below
2^-11.
"""

from __future__ import annotations

import functools

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy.calibration.smoothed import (
    smooth_calibration as np_smooth_calibration,
)
from uncertainty_metrics.ops import _pooled_errors
from uncertainty_metrics.tensors._twin import twin
from uncertainty_metrics.tensors.cumulative_calibration import read_off

__all__ = np_smooth_calibration.__all__


@twin(
    np_smooth_calibration.smooth_calibration_error, data=ClassifierData, by_numpy=True
)
def smooth_calibration_error(data, bandwidth, positive_class):
    width = np_smooth_calibration.checked_bandwidth(bandwidth)
    return read_off(
        data,
        positive_class,
        functools.partial(_pooled_errors.smooth_error, bandwidth=width),
    )


smece = smooth_calibration_error
