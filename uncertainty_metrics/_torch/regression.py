"""The names of `uncertainty_metrics.torch.regression`."""

from uncertainty_metrics._torch import names

__getattr__, __dir__, __all__ = names.attach(__name__, "regression")
