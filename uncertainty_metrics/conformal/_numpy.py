"""What of `um.conformal` needs no framework, in its room."""

from uncertainty_metrics.numpy.conformal.classifier import *  # noqa: F403
from uncertainty_metrics.numpy.conformal.quantile import *  # noqa: F403
from uncertainty_metrics.numpy.conformal.regressor import *  # noqa: F403
from uncertainty_metrics.numpy.conformal.set_coverage import *  # noqa: F403
