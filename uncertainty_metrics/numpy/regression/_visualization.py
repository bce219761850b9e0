"""The plots, in their room; matplotlib is imported when one is drawn."""

from uncertainty_metrics.visualization.regression import *  # noqa: F403
