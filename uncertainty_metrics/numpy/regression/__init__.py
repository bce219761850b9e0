"""Calibration of predicted means and variances, exact and in float64.

`um.regression` of the NumPy half. Every name is imported when it is first used. Most
functions read a mean and a variance as a Normal distribution. Functions of the
probability integral transform (PIT) serve any forecast: samples, quantiles, or a CDF.

For all functions:

  * Predictions, uncertainties and targets are finite and have one shape: [n], or any
    other. A last axis of 1 that only some of them have makes no difference.
  * Exactly one of `uncertainties`, which are variances, and `stddevs` is given.
  * `mask` holds booleans, or 0 and 1, broadcastable to the targets.
  * Weight 2 counts as the example twice. Examples that are masked out or of weight 0
    are left out, and may hold anything, even NaN.
  * `n_bins` is at most 10^6.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
