"""Calibrators by name, other solvers of their fits, and data for them.

The tests of all calibrators read these tables, and so does the catalogue.
"""

import itertools

import numpy as np
import pytest
from scipy import interpolate, optimize, special

import uncertainty_metrics.numpy as um

CLASSES = {
    "temperature": um.TemperatureScaling,
    "vector": um.VectorScaling,
    "matrix": um.MatrixScaling,
    "odir": lambda: um.MatrixScaling(regularization="odir"),
    "platt": um.PlattScaling,
    "beta": um.BetaCalibration,
    "quadratic": um.QuadraticCalibration,
    "spline": um.SplineCalibration,
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


def _harrell_knots(z, weights):
    """Returns the knots of examples, of which each is repeated by its weight."""
    repeated = np.repeat(z, weights.astype(int))
    for percents in ([5, 27.5, 50, 72.5, 95], [5, 35, 65, 95], [10, 50, 90]):
        knots = np.percentile(repeated, percents, method="averaged_inverted_cdf")
        if len(set(knots)) == len(percents):
            return knots
    return np.array([z.min(), z.max()])


def _natural(z, knots):
    """Returns the natural splines [J, N] that are 1 at a knot and 0 at the others."""
    spline = interpolate.CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    inside = np.clip(z, knots[0], knots[-1])
    slopes = np.where((z < inside)[:, None], *spline(knots[[0, -1]], 1))
    return (spline(inside) + (z - inside)[:, None] * slopes).T


def _curved(curves):
    """Solves with a penalty on the line closest to the log-odds, and on the rest.

    curves: returns functions [D, N] of log-odds, given them and what `fit` gave.
    """

    def solve(p, outcomes, weights):
        z, (kept,) = _odds(p)[0], np.nonzero(weights)
        knots = _harrell_knots(z, weights)
        rows, masses = curves(z, knots)[:, kept], weights[kept]
        line = np.stack([np.ones(len(kept)), z[kept]])
        weighted_line = line * masses
        spread = np.sqrt(np.cov(z[kept], aweights=masses, ddof=0))
        unit = min(spread, 1.0)
        # The line closest to each function, [2, D].
        closest = np.linalg.solve(weighted_line @ line.T, weighted_line @ rows.T)
        bent = rows - closest.T @ line
        products = (bent * masses / masses.sum()) @ bent.T

        def objective(x):
            log_odds = x @ rows
            c, b = closest @ x
            value = masses @ (np.logaddexp(0, log_odds) - outcomes[kept] * log_odds)
            penalty = c**2 + unit**2 * (b - 1) ** 2 + 4 * x @ products @ x
            slopes = rows @ (masses * (special.expit(log_odds) - outcomes[kept]))
            of_line = closest.T @ np.array([c, unit**2 * (b - 1)])
            return value + penalty / 2, slopes + of_line + 4 * products @ x

        start = np.zeros(len(rows))
        for _ in range(3):  # A search that starts again has forgotten its curvatures.
            found = optimize.minimize(
                objective, start, jac=True, method="BFGS", options={"gtol": 1e-8}
            )
            start = found.x
        return lambda p: special.expit(start @ curves(_odds(p)[0], knots))

    return solve


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
    "quadratic": (_curved(lambda z, knots: np.stack([z**0, z, z**2])), 1e-4),
    "spline": (_curved(_natural), 1e-4),
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
