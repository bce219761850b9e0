"""The plots, in their room; matplotlib is imported when one is drawn."""

from uncertainty_metrics.visualization.decisions import *  # noqa: F403
from uncertainty_metrics.visualization.ensemble import *  # noqa: F403
from uncertainty_metrics.visualization.posterior import *  # noqa: F403
from uncertainty_metrics.visualization.reliability import *  # noqa: F403
from uncertainty_metrics.visualization.selective import *  # noqa: F403
