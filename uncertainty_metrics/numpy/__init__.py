"""The NumPy half: the same functions, exact and in float64, without TensorFlow."""

from uncertainty_metrics import _lazy
from uncertainty_metrics.numpy import (
    bayesian_calibration,
    calibration,
    scoring_rules,
)
from uncertainty_metrics.numpy.bayesian_calibration import *  # noqa: F403
from uncertainty_metrics.numpy.calibration import *  # noqa: F403
from uncertainty_metrics.numpy.scoring_rules import *  # noqa: F403

# Plots import matplotlib when they draw, and are themselves imported on first use.
_PLOTS = {
    "reliability_curve": "uncertainty_metrics.visualization.reliability",
    "reliability_diagram": "uncertainty_metrics.visualization.reliability",
}

__all__ = sorted(
    [
        *bayesian_calibration.__all__,
        *calibration.__all__,
        *scoring_rules.__all__,
        *_PLOTS,
    ]
)
__getattr__, __dir__ = _lazy.attach(__name__, _PLOTS, __all__)
