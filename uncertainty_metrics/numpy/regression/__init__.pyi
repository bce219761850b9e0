from ._functions import (
    PITInterval as PITInterval,
    TemperatureScaling as TemperatureScaling,
)
from ._functions import (
    calibration_error as calibration_error,
)
from ._functions import (
    compute_calibration_curve as compute_calibration_curve,
)
from ._functions import (
    ence as ence,
)
from ._functions import (
    evaluate_calibration as evaluate_calibration,
)
from ._functions import (
    expected_calibration_error as expected_calibration_error,
)
from ._functions import (
    expected_normalized_calibration_error as expected_normalized_calibration_error,
)
from ._functions import (
    interval_coverage as interval_coverage,
)
from ._functions import (
    interval_width as interval_width,
)
from ._functions import (
    negative_log_likelihood as negative_log_likelihood,
)
from ._functions import (
    pit_calibration_curve as pit_calibration_curve,
)
from ._functions import (
    pit_calibration_error as pit_calibration_error,
)
from ._functions import (
    pit_histogram as pit_histogram,
)
from ._functions import (
    probability_integral_transform as probability_integral_transform,
)
from ._functions import (
    quantile_pit as quantile_pit,
)
from ._functions import (
    root_mean_squared_error as root_mean_squared_error,
)
from ._functions import (
    sample_pit as sample_pit,
)
from ._functions import (
    sharpness as sharpness,
)
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
