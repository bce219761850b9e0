"""The Keras metrics of `um.regression`, in their room."""

from uncertainty_metrics.keras.metrics.regression import *  # noqa: F403
