"""The NumPy half: the same functions, exact and in float64, without TensorFlow.

Every name is imported when it is first used.
"""

from uncertainty_metrics import _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
