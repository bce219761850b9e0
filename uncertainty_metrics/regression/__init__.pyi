from ._tensorflow import (
    PITInterval as PITInterval,
    TemperatureScaling as TemperatureScaling,
    calibration_error as calibration_error,
    compute_calibration_curve as compute_calibration_curve,
    ence as ence,
    evaluate_calibration as evaluate_calibration,
    expected_calibration_error as expected_calibration_error,
    expected_normalized_calibration_error as expected_normalized_calibration_error,
    interval_coverage as interval_coverage,
    interval_width as interval_width,
    negative_log_likelihood as negative_log_likelihood,
    pit_calibration_curve as pit_calibration_curve,
    pit_calibration_error as pit_calibration_error,
    pit_histogram as pit_histogram,
    probability_integral_transform as probability_integral_transform,
    quantile_pit as quantile_pit,
    root_mean_squared_error as root_mean_squared_error,
    sample_pit as sample_pit,
    sharpness as sharpness,
)
from ._distributions import distribution_pit as distribution_pit
from ._numpy import ecdf_band as ecdf_band

# Keras metrics.
from ._keras import (
    ExpectedCalibrationError as ExpectedCalibrationError,
    IntervalCoverage as IntervalCoverage,
    IntervalWidth as IntervalWidth,
    NegativeLogLikelihood as NegativeLogLikelihood,
    RootMeanSquaredError as RootMeanSquaredError,
    Sharpness as Sharpness,
)

# Plots.
from ._visualization import (
    create_calibration_report as create_calibration_report,
    plot_calibration_comparison as plot_calibration_comparison,
    plot_pit_histogram as plot_pit_histogram,
    plot_reliability_diagram as plot_reliability_diagram,
    plot_uncertainty_vs_error as plot_uncertainty_vs_error,
)
