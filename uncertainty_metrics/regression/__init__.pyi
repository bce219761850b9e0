# Keras metrics.
from ._keras import (
    ExpectedCalibrationError as ExpectedCalibrationError,
)
from ._keras import (
    IntervalCoverage as IntervalCoverage,
)
from ._keras import (
    IntervalWidth as IntervalWidth,
)
from ._keras import (
    NegativeLogLikelihood as NegativeLogLikelihood,
)
from ._keras import (
    RootMeanSquaredError as RootMeanSquaredError,
)
from ._keras import (
    Sharpness as Sharpness,
)
from ._tensorflow import (
    TemperatureScaling as TemperatureScaling,
)
from ._tensorflow import (
    calibration_error as calibration_error,
)
from ._tensorflow import (
    compute_calibration_curve as compute_calibration_curve,
)
from ._tensorflow import (
    distribution_pit as distribution_pit,
)
from ._tensorflow import (
    ence as ence,
)
from ._tensorflow import (
    evaluate_calibration as evaluate_calibration,
)
from ._tensorflow import (
    expected_calibration_error as expected_calibration_error,
)
from ._tensorflow import (
    expected_normalized_calibration_error as expected_normalized_calibration_error,
)
from ._tensorflow import (
    interval_coverage as interval_coverage,
)
from ._tensorflow import (
    interval_width as interval_width,
)
from ._tensorflow import (
    negative_log_likelihood as negative_log_likelihood,
)
from ._tensorflow import (
    pit_calibration_curve as pit_calibration_curve,
)
from ._tensorflow import (
    pit_calibration_error as pit_calibration_error,
)
from ._tensorflow import (
    pit_histogram as pit_histogram,
)
from ._tensorflow import (
    probability_integral_transform as probability_integral_transform,
)
from ._tensorflow import (
    quantile_pit as quantile_pit,
)
from ._tensorflow import (
    root_mean_squared_error as root_mean_squared_error,
)
from ._tensorflow import (
    sample_pit as sample_pit,
)
from ._tensorflow import (
    sharpness as sharpness,
)

# Plots.
from ._visualization import (
    create_calibration_report as create_calibration_report,
)
from ._visualization import (
    plot_calibration_comparison as plot_calibration_comparison,
)
from ._visualization import (
    plot_pit_histogram as plot_pit_histogram,
)
from ._visualization import (
    plot_reliability_diagram as plot_reliability_diagram,
)
from ._visualization import (
    plot_uncertainty_vs_error as plot_uncertainty_vs_error,
)
