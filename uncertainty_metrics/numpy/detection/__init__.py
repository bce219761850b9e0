"""Calibration of object detectors: which detections are right.

`um.detection` of the NumPy half. Every name is imported when it is first used.

`match_detections` compares detected boxes with the true ones, as COCO's evaluation
does. Detections are then answers with confidences: `ece`, `calibration_by_group`, the
report, and everything else that takes `correct=` and `confidences=` serves them.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
