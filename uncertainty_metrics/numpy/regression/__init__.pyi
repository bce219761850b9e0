# Of means and variances.
from .coverage import (
    calibration_error as calibration_error,
    compute_calibration_curve as compute_calibration_curve,
    expected_calibration_error as expected_calibration_error,
    interval_coverage as interval_coverage,
)
from .normal_scores import (
    ence as ence,
    evaluate_calibration as evaluate_calibration,
    expected_normalized_calibration_error as expected_normalized_calibration_error,
    interval_width as interval_width,
    negative_log_likelihood as negative_log_likelihood,
    root_mean_squared_error as root_mean_squared_error,
    sharpness as sharpness,
)
from .crps_calibration import calibration_loss as calibration_loss
from .temperature_scaling import TemperatureScaling as TemperatureScaling

# Of any forecasts.
from .pit import (
    PITInterval as PITInterval,
    probability_integral_transform as probability_integral_transform,
    quantile_pit as quantile_pit,
    sample_pit as sample_pit,
)
from .pit_calibration import (
    pit_calibration_curve as pit_calibration_curve,
    pit_calibration_error as pit_calibration_error,
    pit_histogram as pit_histogram,
)
from .pit_recalibration import PITCalibration as PITCalibration
from .ecdf import ecdf_band as ecdf_band
from .coverage_of_quantiles import quantile_coverage as quantile_coverage
from .seasonal_differences import seasonal_error as seasonal_error

# Scores, which are those of `um`.
from ..scoring.forecast_scores import (
    crps_normal_score as crps_normal_score,
    crps_score as crps_score,
    interval_score as interval_score,
    pinball_loss as pinball_loss,
    threshold_weighted_crps as threshold_weighted_crps,
    weighted_interval_score as weighted_interval_score,
)
from ..scoring.quantile_scores import (
    crps_quantile_score as crps_quantile_score,
    weighted_interval_score_decomposition as weighted_interval_score_decomposition,
)
from ..scoring.multivariate_scores import (
    dawid_sebastiani_score as dawid_sebastiani_score,
    energy_score as energy_score,
    variogram_score as variogram_score,
)

# Plots.
from ...visualization.pit import (
    pit_diagram as pit_diagram,
    plot_pit_histogram as plot_pit_histogram,
)
from ...visualization.regression import (
    calibration_comparison_diagram as calibration_comparison_diagram,
    create_calibration_report as create_calibration_report,
    plot_calibration_comparison as plot_calibration_comparison,
    plot_reliability_diagram as plot_reliability_diagram,
    plot_uncertainty_vs_error as plot_uncertainty_vs_error,
    reliability_diagram as reliability_diagram,
    uncertainty_error_diagram as uncertainty_error_diagram,
)
