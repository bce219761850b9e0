"""Calibration errors class by class on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.calibration.bins.class_wise_errors`. The
precision, and the errors that are raised, are as in `binned_errors`.
"""

from __future__ import annotations

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import preset
from uncertainty_metrics.numpy.calibration.bins import (
    class_wise_errors as np_class_wise_errors,
)
from uncertainty_metrics.tensors._twin import twin
from uncertainty_metrics.tensors.binned_errors import error_of

__all__ = np_class_wise_errors.__all__


@twin(np_class_wise_errors.static_calibration_error, data=ClassifierData, by_numpy=True)
def static_calibration_error(data, num_bins, threshold, positive_class):
    spec = preset("static_calibration_error", num_bins, threshold, positive_class)
    return error_of(data, spec)


@twin(
    np_class_wise_errors.adaptive_calibration_error, data=ClassifierData, by_numpy=True
)
def adaptive_calibration_error(
    data, num_bins, threshold, datapoints_per_bin, positive_class
):
    spec = preset(
        "adaptive_calibration_error",
        num_bins,
        threshold,
        positive_class,
        datapoints_per_bin,
    )
    return error_of(data, spec)


@twin(
    np_class_wise_errors.thresholded_adaptive_calibration_error,
    data=ClassifierData,
    by_numpy=True,
)
def thresholded_adaptive_calibration_error(
    data, num_bins, threshold, datapoints_per_bin, positive_class
):
    spec = preset(
        "thresholded_adaptive_calibration_error",
        num_bins,
        threshold,
        positive_class,
        datapoints_per_bin,
    )
    return error_of(data, spec)


sce = static_calibration_error
ace = adaptive_calibration_error
tace = thresholded_adaptive_calibration_error
