"""The plots of `um.regression`, in their room."""

from uncertainty_metrics.visualization.regression import *  # noqa: F403
