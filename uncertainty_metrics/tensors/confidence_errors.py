"""Calibration errors of confidences on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.calibration.bins.confidence_errors`. The
precision, and the errors that are raised, are as in `binned_errors`.
"""

from __future__ import annotations

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import preset
from uncertainty_metrics.numpy.calibration.bins import (
    confidence_errors as np_confidence_errors,
)
from uncertainty_metrics.tensors._twin import twin
from uncertainty_metrics.tensors.binned_errors import error_of

__all__ = np_confidence_errors.__all__


@twin(
    np_confidence_errors.expected_calibration_error, data=ClassifierData, by_numpy=True
)
def expected_calibration_error(data, num_bins, threshold, positive_class):
    spec = preset("expected_calibration_error", num_bins, threshold, positive_class)
    return error_of(data, spec)


@twin(
    np_confidence_errors.maximum_calibration_error, data=ClassifierData, by_numpy=True
)
def maximum_calibration_error(data, num_bins, threshold, positive_class):
    spec = preset("maximum_calibration_error", num_bins, threshold, positive_class)
    return error_of(data, spec)


@twin(
    np_confidence_errors.root_mean_squared_calibration_error,
    data=ClassifierData,
    by_numpy=True,
)
def root_mean_squared_calibration_error(
    data, num_bins, threshold, datapoints_per_bin, positive_class
):
    spec = preset(
        "root_mean_squared_calibration_error",
        num_bins,
        threshold,
        positive_class,
        datapoints_per_bin,
    )
    return error_of(data, spec)


ece = expected_calibration_error
mce = maximum_calibration_error
rmsce = root_mean_squared_calibration_error
