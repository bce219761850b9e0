"""Split conformal prediction: sets and intervals that hold the truth often enough.

`um.conformal` of the NumPy half. Every name is imported when it is first used.

Each held-out example, on which the model was not trained, has a score, which is large
if its forecast is bad. With q the `conformal_quantile` of n such scores, the set of all
labels (or targets) whose score is at most q holds the true one with a probability of at
least 1 - alpha, and of at most 1 - alpha + 1 / (n + 1) if no scores are equal. This is
so for any model, if new and held-out examples are exchangeable, on average over both;
with one held-out set the coverage is off by about sqrt(alpha (1 - alpha) / n).

If they are not exchangeable, weights correct for a known shift, and `AdaptiveConformal`
follows a stream that changes. `conformal_risk_control` is for losses other than a miss.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
