"""The curve of the integrated calibration index at its optimum, where few events make
it hard to find: against Newton's method with 60 digits, and with exchanged outcomes.
"""

import decimal
from decimal import Decimal

import numpy as np
import pytest
from scipy import optimize, special

import uncertainty_metrics.numpy as um
from tests.numpy.test_risk_calibration import log_odds, percentiles, spline_of
from uncertainty_metrics.numpy.calibration.risk import _spline_curve
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import pooled

RIDGE = 1e-12  # As the docstring states it.


def drawn(rng, events, n=60):
    """Makes labels with this number of events, risks and integer weights."""
    z = rng.normal(-3, 1, n)
    chance = special.expit(z)
    labels = np.zeros(n, int)
    labels[rng.choice(n, events, replace=False, p=chance / chance.sum())] = 1
    return labels, special.expit(z), rng.integers(1, 4, n)


def basis(z, weights, shares=_spline_curve.PERCENTILES[0]):
    """Returns a constant and natural cubic splines, that are 1 at one knot; [n, 5]."""
    return spline_of(percentiles(z, weights, shares))(z)


def dot(first, second):
    return sum(a * b for a, b in zip(first, second, strict=True))


def solved(matrix, target):
    """Returns the solution of linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, target, strict=True)]
    for i in range(len(rows)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                factor = rows[j][i]
                rows[j] = [
                    x - factor * y for x, y in zip(rows[j], rows[i], strict=True)
                ]
    return [row[-1] for row in rows]


def objective(point, rows, labels, weights):
    """Returns value, slopes and curvatures of the penalised likelihood."""
    total, columns = sum(weights), list(zip(*rows, strict=True))
    rate = dot(weights, labels) / total
    mean = [dot(weights, column) / total for column in columns]
    value, slopes = 0, [0 for _ in point]
    curvatures = [[0 for _ in point] for _ in point]
    for row, label, weight in zip(rows, labels, weights, strict=True):
        share, q = weight / total, 1 / (1 + (-dot(row, point)).exp())
        value -= share * (q if label else 1 - q).ln()
        # The penalty is a variance of log-odds.
        away = [a - b for a, b in zip(row, mean, strict=True)]
        ridge, apart = Decimal(RIDGE) * rate * (1 - rate) * share, dot(away, point)
        value += ridge * apart**2 / 2
        for i, (a, b) in enumerate(zip(row, away, strict=True)):
            slopes[i] += share * (q - label) * a + ridge * apart * b
            for j, (c, d) in enumerate(zip(row, away, strict=True)):
                curvatures[i][j] += share * q * (1 - q) * a * c + ridge * b * d
    return value, slopes, curvatures


def optimum(rows, labels, weights):
    """Returns the curve at the examples, by Newton's method with halved steps."""
    with decimal.localcontext() as context:
        context.prec, context.traps[decimal.Overflow] = 60, False
        data = (
            [[Decimal(x) for x in row] for row in rows.tolist()],
            [Decimal(int(label)) for label in labels],
            [Decimal(int(weight)) for weight in weights],
        )
        rate = dot(data[2], data[1]) / sum(data[2])
        point = [(rate / (1 - rate)).ln()] * 5  # The five splines sum to 1.
        value, slopes, curvatures = objective(point, *data)
        for _ in range(300):
            step = solved(curvatures, [-x for x in slopes])
            descent, length = -dot(slopes, step), Decimal(1)
            if descent < Decimal("1e-35"):
                break
            while True:
                trial = [x + length * y for x, y in zip(point, step, strict=True)]
                there = objective(trial, *data)
                if there[0] <= value - length * descent / 10000:
                    break
                length /= 2
            point, (value, slopes, curvatures) = trial, there
        else:
            raise AssertionError("no convergence")
        return np.array([float(1 / (1 + (-dot(row, point)).exp())) for row in data[0]])


@pytest.mark.parametrize("events", [2, 3, 4])
def test_curve_of_few_events_is_at_the_optimum_of_60_digits(events, rng):
    for weighted in (False, True):
        labels, p, weights = drawn(rng, events, n=40)
        weights = weights if weighted else np.ones(40, int)
        expected = optimum(basis(log_odds(p), weights), labels, weights)
        curve = _spline_curve.fitted(pooled(p, labels == 1, weights.astype(float)))
        np.testing.assert_allclose(curve(p), expected, atol=1e-6)
        index = um.integrated_calibration_index(labels, p, sample_weight=weights)
        assert index.e_max == pytest.approx(np.abs(expected - p).max(), abs=1e-6)


def test_curve_with_knots_that_almost_coincide_is_at_the_optimum(rng):
    # Most risks are between 0.49998 and 0.50002, and so are three of the knots.
    z = np.concatenate([rng.uniform(-1e-4, 1e-4, 26), [-3, -2, -1] * 2, [1, 2, 3] * 2])
    labels, weights = np.zeros(38, int), np.ones(38, int)
    labels[:4] = 1
    p = special.expit(z)
    curve = _spline_curve.fitted(pooled(p, labels == 1, None))
    expected = optimum(basis(log_odds(p), weights), labels, weights)
    np.testing.assert_allclose(curve(p), expected, atol=1e-6)


@pytest.mark.parametrize("knots", [3, 4, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_exchanged_outcomes_turn_the_curve_around(weighted, knots, rng):
    for _ in range(25):
        labels, p, weights = drawn(rng, rng.integers(1, 7))
        weights = weights.astype(float) if weighted else None
        if knots < 5:  # Few distinct risks leave fewer knots.
            p = np.quantile(p, np.linspace(0.1, 0.9, knots))[rng.integers(0, knots, 60)]
        curve = _spline_curve.fitted(pooled(p, labels == 1, weights))
        other = _spline_curve.fitted(pooled(1 - p, labels == 0, weights))
        np.testing.assert_allclose(other(1 - p), 1 - curve(p), atol=1e-5)


def test_curve_is_the_largest_likelihood_where_that_exists(rng):
    """SciPy maximises the likelihood itself, without a penalty."""
    labels, p, weights = drawn(rng, 40, n=150)
    rows, signs = basis(log_odds(p), weights), np.where(labels == 1, 1, -1)

    def loss(point):
        return weights @ np.logaddexp(0, -signs * (rows @ point))

    def slopes(point):
        return rows.T @ (weights * (special.expit(rows @ point) - labels))

    def curvatures(point):
        q = special.expit(rows @ point)
        return rows.T @ (rows * (weights * q * (1 - q))[:, None])

    found = optimize.minimize(
        loss, np.full(5, -1.0), jac=slopes, hess=curvatures, method="trust-exact"
    )
    assert np.abs(found.jac).max() < 1e-3
    curve = _spline_curve.fitted(pooled(p, labels == 1, weights.astype(float)))
    np.testing.assert_allclose(curve(p), special.expit(rows @ found.x), atol=1e-4)


def test_spline_that_separates_has_the_curve_of_0_and_1_at_these_examples():
    # All events lie between two risks: no line separates them, but a spline does.
    p = np.linspace(0.02, 0.98, 49)
    labels = ((p > 0.4) & (p < 0.6)).astype(int)
    curve = _spline_curve.fitted(pooled(p, labels == 1, None))
    np.testing.assert_allclose(curve(p), labels, atol=1e-6)
    index = um.integrated_calibration_index(labels, p)
    assert index.ici == pytest.approx(np.abs(labels - p).mean(), abs=1e-6)
