"""Names of functions and data for the tests of ensembles."""

import mpmath
import numpy as np

from uncertainty_metrics.numpy.ensemble import (
    cross_entropy,
    distances,
    diversity,
    uncertainty,
)

ROOMS = (uncertainty, cross_entropy, diversity, distances)
NAMES = [name for room in ROOMS for name in room.__all__]
# These functions return one number for each example.
SCORES = [name for name in uncertainty.__all__ if name != "knowledge_uncertainty"]
CROSS_ENTROPIES = ["ensemble_cross_entropy", "gibbs_cross_entropy"]
VECTORS = ["lp_distance", "cosine_similarity", "cosine_distance"]
AGGREGATING = [*CROSS_ENTROPIES, *distances.__all__]


def members(rng, dtype, shape=(6, 5, 4), zeros=True):
    """Makes probabilities; with zeros, some rows sum to less than 1."""
    p = rng.dirichlet(np.full(shape[-1], 0.4), shape[:-1])
    if zeros:
        p[rng.uniform(size=shape) < 0.1] = 0
    else:
        p = 0.9 * p + 0.1 / shape[-1]
    return p.astype(dtype)


def logits(rng, dtype, shape=(6, 5, 4)):
    z = 3 * rng.normal(size=shape)
    z[1, ..., 0, 2] = -np.inf
    return z.astype(dtype)


def arguments(name, rng, dtype=np.float64):
    """Makes arguments of a function: arrays of 6 examples, 5 members, 4 classes."""
    z, p = logits(rng, dtype), members(rng, dtype)
    labels = rng.integers(0, 4, 6)
    if name in SCORES:
        return {"logits": z}
    if name in CROSS_ENTROPIES:
        return {"labels": labels, "logits": 5 * z}
    if name in VECTORS:
        x, y = rng.normal(size=[2, 6, 5, 4]).astype(dtype)
        x[2, 3], x[3] = 0, y[3]
        return {"x": x, "y": y}
    probs = members(rng, dtype, (5, 6, 4), zeros=name == "variance_bound")
    pair = {"logits_1": z[:, 0], "logits_2": logits(rng, dtype)[:, 0]}
    return {
        "knowledge_uncertainty": {
            "alphas": np.exp(2 * rng.normal(size=[6, 2, 4])).astype(dtype)
        },
        "disagreement": pair,
        "double_fault": {**pair, "labels": labels},
        "kl_divergence": {"p": p, "q": members(rng, dtype, zeros=False)},
        "logit_kl_divergence": {
            "logits_1": z,
            "logits_2": rng.normal(size=(6, 5, 4)).astype(dtype),
        },
        "variance_bound": {"probs": probs, "labels": labels},
        "average_pairwise_diversity": {"probs": probs},
    }[name]


def exact_divergence(p, q):
    """Returns the divergence of p from q by its definition, in 50 digits."""
    with mpmath.workdps(50):
        p, q = ([mpmath.mpf(float(x)) for x in row] for row in (p, q))
        return float(
            mpmath.fsum(
                (a * mpmath.log(a / b) if a else 0) - a + b
                for a, b in zip(p, q, strict=True)
            )
        )
