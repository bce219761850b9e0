"""The functions of `um.regression`, in their room."""

from uncertainty_metrics._statistics import PITInterval as PITInterval
from uncertainty_metrics.tensorflow.regression.coverage import *  # noqa: F403
from uncertainty_metrics.tensorflow.regression.normal_scores import *  # noqa: F403
from uncertainty_metrics.tensorflow.regression.pit import *  # noqa: F403
from uncertainty_metrics.tensorflow.regression.pit_calibration import *  # noqa: F403
from uncertainty_metrics.tensorflow.regression.temperature_scaling import *  # noqa: F403
