# Of means and variances.
from ..tensors.regression.coverage import (
    calibration_error as calibration_error,
    compute_calibration_curve as compute_calibration_curve,
    expected_calibration_error as expected_calibration_error,
    interval_coverage as interval_coverage,
)
from ..tensors.regression.normal_scores import (
    ence as ence,
    evaluate_calibration as evaluate_calibration,
    expected_normalized_calibration_error as expected_normalized_calibration_error,
    interval_width as interval_width,
    negative_log_likelihood as negative_log_likelihood,
    root_mean_squared_error as root_mean_squared_error,
    sharpness as sharpness,
)
from ..numpy.regression.crps_calibration import calibration_loss as calibration_loss
from ..tensors.regression.temperature_scaling import TemperatureScaling as TemperatureScaling

# Of any forecasts.
from .._results import PITInterval as PITInterval
from ..tensors.regression.pit import (
    probability_integral_transform as probability_integral_transform,
    quantile_pit as quantile_pit,
    sample_pit as sample_pit,
)
from ..tensors.regression.pit_calibration import (
    pit_calibration_curve as pit_calibration_curve,
    pit_calibration_error as pit_calibration_error,
    pit_histogram as pit_histogram,
)
from ..tensors.distributions.distribution_pit import distribution_pit as distribution_pit
from ..numpy.regression.pit_recalibration import PITCalibration as PITCalibration
from ..numpy.regression.ecdf import ecdf_band as ecdf_band
from ..numpy.regression.coverage_of_quantiles import quantile_coverage as quantile_coverage
from ..numpy.regression.seasonal_differences import seasonal_error as seasonal_error

# Scores, which are those of `um`.
from ..tensors.forecast_scores import (
    crps_normal_score as crps_normal_score,
    crps_quantile_score as crps_quantile_score,
    crps_score as crps_score,
    energy_score as energy_score,
    interval_score as interval_score,
    pinball_loss as pinball_loss,
    threshold_weighted_crps as threshold_weighted_crps,
    weighted_interval_score as weighted_interval_score,
    weighted_interval_score_decomposition as weighted_interval_score_decomposition,
)
from ..tensors.multivariate_scores import (
    dawid_sebastiani_score as dawid_sebastiani_score,
    variogram_score as variogram_score,
)

# Keras metrics.
from ..keras.metrics.regression import (
    ExpectedCalibrationError as ExpectedCalibrationError,
    IntervalCoverage as IntervalCoverage,
    IntervalWidth as IntervalWidth,
    NegativeLogLikelihood as NegativeLogLikelihood,
    QuantileCoverage as QuantileCoverage,
    RootMeanSquaredError as RootMeanSquaredError,
    Sharpness as Sharpness,
)

# Plots.
from ..visualization.pit import (
    pit_diagram as pit_diagram,
    plot_pit_histogram as plot_pit_histogram,
)
from ..visualization.regression import (
    calibration_comparison_diagram as calibration_comparison_diagram,
    create_calibration_report as create_calibration_report,
    plot_calibration_comparison as plot_calibration_comparison,
    plot_reliability_diagram as plot_reliability_diagram,
    plot_uncertainty_vs_error as plot_uncertainty_vs_error,
    reliability_diagram as reliability_diagram,
    uncertainty_error_diagram as uncertainty_error_diagram,
)
