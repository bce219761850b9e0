"""The negative log-likelihood at the best temperature, which SciPy searches."""

import numpy as np
from scipy import optimize, special


def likelihood(labels, logits, temperature, weights=None):
    scaled = np.float64(logits) / temperature
    at_label = scaled[np.arange(len(labels)), labels]
    return np.average(special.logsumexp(scaled, axis=1) - at_label, weights=weights)


def least(labels, logits, weights=None):
    """Returns the least negative log-likelihood, and its temperature in [1/16, 16]."""
    ends = -np.log(16), np.log(16)
    found = optimize.minimize_scalar(
        lambda s: likelihood(labels, logits, np.exp(-s), weights),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-10},
    )
    return found.fun, np.exp(-found.x)


def refined_negative_log_likelihood(
    labels, probabilities=None, logits=None, sample_weight=None, ignore_index=None
):
    """Returns the least value, from the arguments of a function of classifiers."""
    labels = np.asarray(labels)
    if logits is None:
        logits = np.log(np.asarray(probabilities, np.float64))
    weights = np.ones(1) if sample_weight is None else np.asarray(sample_weight)
    weights = weights.reshape(weights.shape + (1,) * (labels.ndim - weights.ndim))
    weights = np.broadcast_to(weights, labels.shape)
    live = (weights > 0) & (labels != ignore_index)
    return least(labels[live], np.asarray(logits)[live], weights[live])[0]
