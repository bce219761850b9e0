"""The NumPy half: the same functions, exact and in float64, without TensorFlow."""

from uncertainty_metrics import _lazy
from uncertainty_metrics._state import MetricState as MetricState
from uncertainty_metrics.numpy import (
    bayesian_calibration,
    calibration,
    calibration_tests,
    censored,
    debiased_calibration,
    detection,
    ensemble,
    information_criteria,
    member_calibration,
    recalibration,
    resampling,
    scoring_rules,
    selective,
    semiparametric,
)
from uncertainty_metrics.numpy import (
    regression as regression,
)
from uncertainty_metrics.numpy.bayesian_calibration import *  # noqa: F403
from uncertainty_metrics.numpy.calibration import *  # noqa: F403
from uncertainty_metrics.numpy.calibration_tests import *  # noqa: F403
from uncertainty_metrics.numpy.censored import *  # noqa: F403
from uncertainty_metrics.numpy.debiased_calibration import *  # noqa: F403
from uncertainty_metrics.numpy.detection import *  # noqa: F403
from uncertainty_metrics.numpy.ensemble import *  # noqa: F403
from uncertainty_metrics.numpy.information_criteria import *  # noqa: F403
from uncertainty_metrics.numpy.member_calibration import *  # noqa: F403
from uncertainty_metrics.numpy.recalibration import *  # noqa: F403
from uncertainty_metrics.numpy.resampling import *  # noqa: F403
from uncertainty_metrics.numpy.scoring_rules import *  # noqa: F403
from uncertainty_metrics.numpy.selective import *  # noqa: F403
from uncertainty_metrics.numpy.semiparametric import *  # noqa: F403

# Plots import matplotlib when they draw, and are themselves imported on first use.
_ENSEMBLE = "uncertainty_metrics.visualization.ensemble"
_RELIABILITY = "uncertainty_metrics.visualization.reliability"
_SELECTIVE = "uncertainty_metrics.visualization.selective"
_PLOTS = {
    "accuracy_confidence_curve": _SELECTIVE,
    "accuracy_confidence_diagram": _SELECTIVE,
    "ensemble_calibration_diagram": _ENSEMBLE,
    "rejection_curve": _SELECTIVE,
    "rejection_diagram": _SELECTIVE,
    "reliability_curve": _RELIABILITY,
    "reliability_diagram": _RELIABILITY,
    "risk_coverage_diagram": _SELECTIVE,
    "uncertainty_histogram": _ENSEMBLE,
}

__all__ = sorted(
    [
        "MetricState",
        *bayesian_calibration.__all__,
        *calibration.__all__,
        *calibration_tests.__all__,
        *censored.__all__,
        *debiased_calibration.__all__,
        *detection.__all__,
        *ensemble.__all__,
        *information_criteria.__all__,
        *member_calibration.__all__,
        *recalibration.__all__,
        *resampling.__all__,
        *scoring_rules.__all__,
        *selective.__all__,
        *semiparametric.__all__,
        "regression",
        *_PLOTS,
    ]
)
__getattr__, __dir__ = _lazy.attach(__name__, _PLOTS, __all__)
