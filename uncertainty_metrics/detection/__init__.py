"""Calibration of object detectors: `um.detection`, which detections are right.

The functions are those of `uncertainty_metrics.numpy.detection`. Every name is imported
when it is first used.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
