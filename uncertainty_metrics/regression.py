"""Calibration of predicted means and variances: `um.regression`.

Tensor functions and streaming Keras metrics; `uncertainty_metrics.numpy.regression` has
the functions for NumPy arrays. Every name is imported when it is first used.
"""

from uncertainty_metrics import _lazy

_FUNCTIONS = "uncertainty_metrics.tensorflow.regression"
_METRICS = "uncertainty_metrics.keras.metrics.regression"
_PLOTS = "uncertainty_metrics.visualization.regression"

_HOMES = {
    "PITInterval": "uncertainty_metrics._statistics",
    "TemperatureScaling": _FUNCTIONS,
    "calibration_error": _FUNCTIONS,
    "compute_calibration_curve": _FUNCTIONS,
    "distribution_pit": _FUNCTIONS,
    "ence": _FUNCTIONS,
    "evaluate_calibration": _FUNCTIONS,
    "expected_calibration_error": _FUNCTIONS,
    "expected_normalized_calibration_error": _FUNCTIONS,
    "interval_coverage": _FUNCTIONS,
    "interval_width": _FUNCTIONS,
    "negative_log_likelihood": _FUNCTIONS,
    "pit_calibration_curve": _FUNCTIONS,
    "pit_calibration_error": _FUNCTIONS,
    "pit_histogram": _FUNCTIONS,
    "probability_integral_transform": _FUNCTIONS,
    "quantile_pit": _FUNCTIONS,
    "root_mean_squared_error": _FUNCTIONS,
    "sample_pit": _FUNCTIONS,
    "sharpness": _FUNCTIONS,
    # Keras metrics.
    "ExpectedCalibrationError": _METRICS,
    "IntervalCoverage": _METRICS,
    "IntervalWidth": _METRICS,
    "NegativeLogLikelihood": _METRICS,
    "RootMeanSquaredError": _METRICS,
    "Sharpness": _METRICS,
    # Plots.
    "create_calibration_report": _PLOTS,
    "plot_calibration_comparison": _PLOTS,
    "plot_pit_histogram": _PLOTS,
    "plot_reliability_diagram": _PLOTS,
    "plot_uncertainty_vs_error": _PLOTS,
}

__all__ = sorted(_HOMES)
__getattr__, __dir__ = _lazy.attach(__name__, _HOMES, __all__)
