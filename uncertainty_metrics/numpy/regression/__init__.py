"""Calibration of predicted means and variances, exact and in float64.

`um.regression` of the NumPy half. Every name is imported when it is first used. Most
functions read a mean and a variance as a Normal distribution. Those of the probability
integral transform (PIT) do for any forecast: of samples, of quantiles, or of a CDF.

Arguments that the functions share:

  predictions: predicted means, real, shape [n] or [n, 1], or any other.
  uncertainties: predicted variances, not standard deviations; finite and > 0.
  stddevs: predicted standard deviations, likewise. Exactly one of the two is given.
  targets: what was observed, real. Predictions, uncertainties and targets have one
    shape; a last axis of 1 that some of them lack is no difference.
  mask: True (or 1) for the examples to include, broadcastable to the targets; what is
    left out may hold anything, NaN too.
  sample_weight: finite and >= 0, broadcastable to the targets. Weight 2 is the example
    twice, weight 0 the example left out.
  n_bins: number of levels of coverage, or of bins, up to 10^6.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
