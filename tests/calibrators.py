"""Calibrators by name, other solvers of their fits, and data for them.

The tests of all calibrators read these tables, and so does the catalogue.
"""

import itertools

import numpy as np
import pytest
from scipy import optimize, special

import uncertainty_metrics.numpy as um

CLASSES = {
    "temperature": um.TemperatureScaling,
    "vector": um.VectorScaling,
    "matrix": um.MatrixScaling,
    "odir": lambda: um.MatrixScaling(regularization="odir"),
    "platt": um.PlattScaling,
    "beta": um.BetaCalibration,
    "isotonic": um.IsotonicCalibration,
    "histogram": um.HistogramBinning,
}
LINEAR = ("vector", "matrix", "odir")
LEAST = 2.0**-24


def _logistic(features, bounds):
    def solve(p, outcomes, weights):
        rows = features(p)

        def objective(x):
            z = x[:-1] @ rows + x[-1]
            value = weights @ (np.logaddexp(0, z) - outcomes * z)
            slopes = weights * (special.expit(z) - outcomes)
            return value, np.append(rows @ slopes, slopes.sum())

        x = optimize.minimize(
            objective,
            np.zeros(len(rows) + 1),
            jac=True,
            bounds=[*[bounds] * len(rows), (None, None)],
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000},
        ).x
        return lambda p: special.expit(x[:-1] @ features(p) + x[-1])

    return solve


def _odds(p):
    return special.logit(np.clip(p, LEAST, 1 - LEAST))[None]


def _logs(p):
    p = np.clip(p, LEAST, 1 - LEAST)
    return np.stack([np.log(p), -np.log(1 - p)])


def _isotonic(p, outcomes, weights):
    peer = pytest.importorskip("sklearn.isotonic").IsotonicRegression(
        out_of_bounds="clip"
    )
    return peer.fit(p, outcomes, weights).predict


def _binned(p, outcomes, weights):
    edges = np.linspace(0, 1, 16)

    def found(score):
        for low, high in itertools.pairwise(edges):
            if (low < score <= high) or score == low == 0:
                held = ((p > low) & (p <= high)) | ((low == 0) & (p == 0))
                mass = weights[held].sum()
                return (weights * outcomes)[held].sum() / mass if mass else score
        raise AssertionError(score)

    return lambda p: np.array([found(score) for score in p])


# For a calibrator of each class against the rest another solver, and the largest
# difference of its probabilities. A solver takes probabilities of the class [N],
# outcomes and weights, and returns the map as a function.
SOLVERS = {
    "platt": (_logistic(_odds, (None, None)), 1e-4),
    "beta": (_logistic(_logs, (0, None)), 1e-4),
    "isotonic": (_isotonic, 1e-12),
    "histogram": (_binned, 1e-12),
}
ONE_AGAINST_REST = tuple(SOLVERS)


def _each(names):
    """Parametrizes over calibrators; the ids have their classes, for `--name`."""
    ids = [f"{name}-{type(CLASSES[name]()).__name__}" for name in names]
    return pytest.mark.parametrize("name", names, ids=ids)


every, each_of_rest, each_linear = map(_each, (CLASSES, ONE_AGAINST_REST, LINEAR))


def network(rng, n=600, classes=4):
    """Makes labels, and logits of a model that is overconfident, some classes more."""
    logits = rng.normal(size=[n, classes])
    sure = logits * (1 + 0.2 * rng.normal(size=classes)) + rng.normal(size=classes) / 2
    labels = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    return labels, 2 * sure + rng.normal(size=[n, 1])


def weighted(rng, **options):
    labels, logits = network(rng, **options)
    return labels, logits, rng.integers(0, 4, len(labels))
