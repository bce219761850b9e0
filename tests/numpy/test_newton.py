"""Newton's method for the fits of calibrators: where it ends, and where it must not."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.calibrators import _newton


def test_newton_raises_without_a_minimum():
    def falling(x):  # exp(-x): every step of Newton's method is 1.
        value = float(np.exp(-x[0]))
        return _newton.Local(value, np.array([-value]), hessian=np.array([[value]]))

    with pytest.raises(_newton.NotConverged):
        _newton.minimize(falling, np.zeros(1))

    def bent(x):
        value = float(np.cosh(x[0]))
        slope, curvature = np.sinh(x[:1]), np.cosh(x[:1])[:, None]
        return _newton.Local(value, slope, hessian=curvature)

    found = _newton.minimize(bent, np.array([3.0]))
    np.testing.assert_allclose(found.point, 0, atol=1e-12)
    assert found.gap < 1e-12


def test_newton_is_not_misled_by_a_large_parameter():
    def two(slow, top):
        def at(x):  # Quadratic in the first parameter, steep in the second.
            rest = x[0] - top
            value = slow * rest**2 / 2 + np.cosh(x[1])
            slopes = np.array([slow * rest, np.sinh(x[1])])
            curvatures = np.diag([slow, np.cosh(x[1])])
            return _newton.Local(float(value), slopes, hessian=curvatures)

        return at

    # The second parameter is at its minimum, too, though it is small beside the first.
    found = _newton.minimize(two(1e-9, 1e5), np.array([0.0, 2.0]))
    np.testing.assert_allclose(found.point, [1e5, 0], rtol=1e-12, atol=1e-9)
    assert found.gap < 1e-9
    # Parameters of this size mean that the function falls without end.
    with pytest.raises(_newton.NotConverged):
        _newton.minimize(two(1e-12, 1e8), np.array([0.0, 2.0]))


def test_matrix_scaling_ends_at_the_optimum(rng):
    for _ in range(60):
        classes, n = rng.integers(2, 6), rng.integers(6, 40)
        logits = rng.normal(size=(n, classes)) * 10 ** rng.uniform(-2, 2, classes)
        labels = rng.integers(0, classes, n)
        options = {"regularization": str(rng.choice(["ridge", "odir"]))}
        try:
            scaling = um.MatrixScaling(ridge=float(rng.choice([0.01, 1])), **options)
            scaling.fit(labels, logits)
        except ValueError:  # Some have no optimum.
            continue
        assert scaling.optimality_gap < 1e-9
