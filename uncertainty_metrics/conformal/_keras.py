"""The Keras classes of `um.conformal`, in their rooms."""

from uncertainty_metrics.keras.layers import ConformalSetLayer as ConformalSetLayer
from uncertainty_metrics.keras.metrics.conformal import *  # noqa: F403
