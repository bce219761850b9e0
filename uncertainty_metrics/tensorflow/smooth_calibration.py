"""Calibration error of smoothed residuals on tensors.

Declared in `uncertainty_metrics.numpy.smooth_calibration`. In compiled code, and on
other devices than a CPU, the bandwidth is sought from 2^-11 on: the error is within
1e-5 of that of NumPy, or both are below 2^-11.
"""

from __future__ import annotations

import functools

from uncertainty_metrics.numpy import smooth_calibration as declared
from uncertainty_metrics.ops import _cell_scores
from uncertainty_metrics.tensorflow._twin import twin
from uncertainty_metrics.tensorflow.cumulative_calibration import read_off

__all__ = declared.__all__


@twin(declared.smooth_calibration_error)
def smooth_calibration_error(**arguments):
    width = declared.checked_bandwidth(arguments["bandwidth"])
    arithmetic = functools.partial(_cell_scores.smooth_error, bandwidth=width)
    return read_off(declared.smooth_calibration_error, arithmetic, arguments)


smece = smooth_calibration_error
