"""Conformal prediction: `um.conformal`, sets and intervals with a guarantee.

What is fitted and the scores are those of `uncertainty_metrics.numpy.conformal`, which
says what they promise; with Keras metrics and a layer. Every name is imported when it
is first used.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
