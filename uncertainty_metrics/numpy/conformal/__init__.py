"""Split conformal prediction: sets and intervals that hold the truth often enough.

`um.conformal` of the NumPy half. Every name is imported when it is first used.

Held-out examples that were not trained on give each a score, which is large where the
forecast is bad. With q the `conformal_quantile` of n such scores, the set of all labels
(or targets) whose score is at most q holds the true one with a probability of at least
1 - alpha, and of at most 1 - alpha + 1 / (n + 1) where no scores are equal. So it does
for any model, if new examples and held-out ones are exchangeable, on average over both;
of one held-out set the coverage is off by about sqrt(alpha (1 - alpha) / n).

Where they are not exchangeable, weights make up for a known shift, and
`AdaptiveConformal` follows a stream; `conformal_risk_control` is about losses other
than a miss.
"""

from uncertainty_metrics import _public_names

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
