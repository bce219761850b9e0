"""Streaming calibration errors that have a name: the Keras metrics."""

from __future__ import annotations

from uncertainty_metrics.keras._options import Option, with_options
from uncertainty_metrics.keras.metrics._calibration import GROUPED
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError

__all__ = [
    "AdaptiveCalibrationError",
    "ExpectedCalibrationError",
    "MaximumCalibrationError",
    "RootMeanSquaredCalibrationError",
    "StaticCalibrationError",
    "ThresholdedAdaptiveCalibrationError",
]

_THRESHOLD = Option(
    float | None,
    None,
    prose="scores at or below it are dropped; 0.0, the default, drops none.",
)


@with_options(GROUPED, threshold=_THRESHOLD)
class ExpectedCalibrationError(GeneralCalibrationError):
    """Expected calibration error (ECE) of all batches.

    Even bins of the decision's probability, l1 norm.

    See the function `expected_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Example:
      >>> metric = um.ExpectedCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15
    """

    _function = "expected_calibration_error"


@with_options(GROUPED, threshold=_THRESHOLD)
class MaximumCalibrationError(GeneralCalibrationError):
    """Maximum calibration error (MCE) of all batches.

    Even bins of the decision's probability, the largest gap.

    See the function `maximum_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Example:
      >>> metric = um.MaximumCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.2
    """

    _function = "maximum_calibration_error"


@with_options(GROUPED, threshold=_THRESHOLD)
class RootMeanSquaredCalibrationError(GeneralCalibrationError):
    """Root mean squared calibration error (RMSCE) of all batches.

    Adaptive bins of the decision's probability, l2 norm.

    See the function `root_mean_squared_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Example:
      >>> metric = um.RootMeanSquaredCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.158114
    """

    _function = "root_mean_squared_calibration_error"


@with_options(GROUPED, threshold=_THRESHOLD)
class StaticCalibrationError(GeneralCalibrationError):
    """Static calibration error (SCE) of all batches.

    Even bins of every class's probability, l1 norm, mean over the classes.

    See the function `static_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Example:
      >>> metric = um.StaticCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15
    """

    _function = "static_calibration_error"


@with_options(GROUPED, threshold=_THRESHOLD)
class AdaptiveCalibrationError(GeneralCalibrationError):
    """Adaptive calibration error (ACE) of all batches.

    Adaptive bins of every class's probability, l1 norm, mean over the classes.

    See the function `adaptive_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Example:
      >>> metric = um.AdaptiveCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15
    """

    _function = "adaptive_calibration_error"


@with_options(GROUPED, threshold=_THRESHOLD)
class ThresholdedAdaptiveCalibrationError(GeneralCalibrationError):
    """Thresholded adaptive calibration error (TACE) of all batches.

    ACE of the scores above `threshold`, by default 0.01.

    See the function `thresholded_adaptive_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Args:
      threshold: scores at or below it are dropped; by default 0.01.

    Example:
      >>> metric = um.ThresholdedAdaptiveCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15
    """

    _function = "thresholded_adaptive_calibration_error"
