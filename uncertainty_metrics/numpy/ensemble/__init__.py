"""Uncertainty and diversity of ensembles, exact and in float64.

Most functions take the predictions of M members for N examples and K classes as

  logits: logarithms of the probabilities up to a constant, shape [..., M, K] with any
    number of leading axes; [..., M, 1] for logits of class 1 against class 0. -inf is
    probability 0.
  probabilities: instead of `logits`, in [0, 1]; P(class 1) of shape [..., M, 1] is read
    as `[1 - p, p]`. Rows need not sum to 1.
  ensemble_axis: axis of the members, any but the last; 1 for [N, M, K].

Entropies are in nats, with 0 log 0 = 0. Results have the shape of the predictions
without the axes of members and classes.
"""
