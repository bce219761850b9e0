"""Calibration of predicted means and variances: `um.regression`.

Tensor functions and streaming Keras metrics; `uncertainty_metrics.numpy.regression` has
the functions for NumPy arrays. Every name is imported when it is first used.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
