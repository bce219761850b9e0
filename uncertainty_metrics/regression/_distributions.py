"""What of `um.regression` needs TensorFlow, apart: to import it may fail."""

from uncertainty_metrics.tensorflow.regression.distribution_pit import *  # noqa: F403
