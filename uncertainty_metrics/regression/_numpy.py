"""The functions of `um.regression` that take no tensors, in their room."""

from uncertainty_metrics.numpy.regression.ecdf import *  # noqa: F403
