"""The NumPy half: the same functions, exact and in float64, without TensorFlow.

Every name is imported when it is first used.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
