"""Calibrators by name, and data for them."""

import numpy as np
import pytest

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
ONE_AGAINST_REST = ("platt", "beta", "isotonic", "histogram")
LINEAR = ("vector", "matrix", "odir")
LEAST = 2.0**-24
every = pytest.mark.parametrize("name", CLASSES)
each_of_rest = pytest.mark.parametrize("name", ONE_AGAINST_REST)
each_linear = pytest.mark.parametrize("name", LINEAR)


def network(rng, n=600, classes=4):
    """Makes labels, and logits of a model that is overconfident, some classes more."""
    logits = rng.normal(size=[n, classes])
    sure = logits * (1 + 0.2 * rng.normal(size=classes)) + rng.normal(size=classes) / 2
    labels = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    return labels, 2 * sure + rng.normal(size=[n, 1])


def weighted(rng, **options):
    labels, logits = network(rng, **options)
    return labels, logits, rng.integers(0, 4, len(labels))
