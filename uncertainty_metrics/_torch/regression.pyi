# As written by scripts/write_stubs.py.
import collections.abc
from typing import Any, Literal

from uncertainty_metrics.regression import (
    calibration_error as calibration_error,
    compute_calibration_curve as compute_calibration_curve,
    expected_calibration_error as expected_calibration_error,
    interval_coverage as interval_coverage,
    ence as ence,
    evaluate_calibration as evaluate_calibration,
    expected_normalized_calibration_error as expected_normalized_calibration_error,
    interval_width as interval_width,
    negative_log_likelihood as negative_log_likelihood,
    root_mean_squared_error as root_mean_squared_error,
    sharpness as sharpness,
    calibration_loss as calibration_loss,
    TemperatureScaling as TemperatureScaling,
    PITInterval as PITInterval,
    probability_integral_transform as probability_integral_transform,
    quantile_pit as quantile_pit,
    sample_pit as sample_pit,
    pit_calibration_curve as pit_calibration_curve,
    pit_calibration_error as pit_calibration_error,
    pit_histogram as pit_histogram,
    distribution_pit as distribution_pit,
    PITCalibration as PITCalibration,
    ecdf_band as ecdf_band,
    quantile_coverage as quantile_coverage,
    seasonal_error as seasonal_error,
    crps_normal_score as crps_normal_score,
    crps_quantile_score as crps_quantile_score,
    crps_score as crps_score,
    energy_score as energy_score,
    interval_score as interval_score,
    pinball_loss as pinball_loss,
    threshold_weighted_crps as threshold_weighted_crps,
    weighted_interval_score as weighted_interval_score,
    weighted_interval_score_decomposition as weighted_interval_score_decomposition,
    dawid_sebastiani_score as dawid_sebastiani_score,
    variogram_score as variogram_score,
    pit_diagram as pit_diagram,
    plot_pit_histogram as plot_pit_histogram,
    calibration_comparison_diagram as calibration_comparison_diagram,
    create_calibration_report as create_calibration_report,
    plot_calibration_comparison as plot_calibration_comparison,
    plot_reliability_diagram as plot_reliability_diagram,
    plot_uncertainty_vs_error as plot_uncertainty_vs_error,
    reliability_diagram as reliability_diagram,
    uncertainty_error_diagram as uncertainty_error_diagram,
)
from uncertainty_metrics._torch.loss import Loss as Loss
from uncertainty_metrics._torch.metric import Metric as Metric

class ExpectedCalibrationError(Metric):
    def __init__(
        self,
        n_bins: int = 10,
        name: str | None = 'expected_calibration_error',
        dtype: Any = None,
        *,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        **of_torchmetrics: Any,
    ) -> None: ...

class IntervalCoverage(Metric):
    def __init__(
        self,
        level: float = 0.95,
        name: str | None = 'interval_coverage',
        dtype: Any = None,
        *,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        **of_torchmetrics: Any,
    ) -> None: ...

class IntervalWidth(Metric):
    def __init__(
        self,
        level: float = 0.95,
        name: str | None = 'interval_width',
        dtype: Any = None,
        *,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        **of_torchmetrics: Any,
    ) -> None: ...

class NegativeLogLikelihood(Metric):
    def __init__(
        self,
        name: str | None = 'negative_log_likelihood',
        dtype: Any = None,
        *,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        **of_torchmetrics: Any,
    ) -> None: ...

class QuantileCoverage(Metric):
    def __init__(
        self,
        quantiles: collections.abc.Sequence[float],
        level: float | None = None,
        name: str | None = 'quantile_coverage',
        dtype: Any = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class RootMeanSquaredError(Metric):
    def __init__(
        self,
        name: str | None = 'root_mean_squared_error',
        dtype: Any = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class Sharpness(Metric):
    def __init__(
        self,
        name: str | None = 'sharpness',
        dtype: Any = None,
        *,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        **of_torchmetrics: Any,
    ) -> None: ...
