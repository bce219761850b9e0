"""The functions of `um.regression`, in their room."""

from uncertainty_metrics.tensorflow.regression import *  # noqa: F403
