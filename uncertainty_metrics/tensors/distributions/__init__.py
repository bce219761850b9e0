"""Scores of TensorFlow Probability's distributions; they need TensorFlow."""

from uncertainty_metrics.tensors import _needs_tensorflow

_needs_tensorflow.check()
