"""Maps that are curved in the log-odds: quadratic and spline calibration."""

import numpy as np
import pytest
from scipy import interpolate, special

import uncertainty_metrics.numpy as um
from tests.calibrators import LEAST

CURVED = [um.QuadraticCalibration, um.SplineCalibration]
each = pytest.mark.parametrize("cls", CURVED)


def drawn(rng, n=2000):
    """Makes outcomes, and forecasts that are too low at the low end."""
    z = 2 * rng.normal(size=n)
    labels = rng.uniform(size=n) < special.expit(np.where(z > 0, z / 2, z / 4) + 0.3)
    return labels, special.expit(z)


def likelihood(labels, q):
    return -np.mean(special.xlogy(labels, q) + special.xlogy(~labels, 1 - q))


def test_quadratic_without_ridge_equals_scikit_learn(rng):
    linear = pytest.importorskip("sklearn.linear_model")
    labels, p = drawn(rng)
    weights = rng.uniform(0.1, 2.0, 2000)
    z = special.logit(p)
    peer = linear.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    peer.fit(np.stack([z**2, z], axis=1), labels, weights)
    map = um.QuadraticCalibration(ridge=0)
    map.fit(labels, probabilities=p, sample_weight=weights)
    np.testing.assert_allclose([*map.a, *map.b], peer.coef_[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(map.c, peer.intercept_, rtol=1e-4, atol=1e-5)


def test_spline_without_ridge_is_the_curve_of_the_integrated_index(rng):
    labels, p = drawn(rng)
    map = um.SplineCalibration(ridge=0).fit(labels, probabilities=p)
    distances = np.abs(map.transform(probabilities=p) - p)
    index = um.integrated_calibration_index(labels, p)
    assert np.mean(distances) == pytest.approx(index.ici, abs=1e-7)
    assert np.max(distances) == pytest.approx(index.e_max, abs=1e-7)


@each
def test_a_large_ridge_changes_nothing(cls, rng):
    labels, p = drawn(rng, n=300)
    found = cls(ridge=1e12).fit(labels, probabilities=p).transform(probabilities=p)
    np.testing.assert_allclose(found, p, atol=1e-6)


@each
@pytest.mark.parametrize("sharpness", [0.01, 0.3, 1.0, 5.0])
def test_separable_scores_have_a_map(cls, sharpness, rng):
    z = sharpness * rng.normal(size=200)
    labels, p = z > sharpness * 0.2, special.expit(z)
    map = cls().fit(labels, probabilities=p)
    q = map.transform(probabilities=p)
    assert 0 <= map.optimality_gap < 1e-10
    assert likelihood(labels, q) < likelihood(labels, p) < np.inf
    with pytest.raises(ValueError, match="overlap between the labels"):
        cls(ridge=0).fit(labels, probabilities=p)


@each
def test_scores_that_a_curve_separates_need_a_ridge(cls):
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
    labels = np.array([1, 1, 0, 0, 0, 0, 1, 1])  # The ends against the middle.
    with pytest.raises(ValueError, match="`probabilities` must hold scores that over"):
        cls(ridge=0).fit(labels, probabilities=p)
    q = cls(ridge=0.1).fit(labels, probabilities=p).transform(probabilities=p)
    assert q[labels == 1].min() > q[labels == 0].max()


CASES = {
    "one event": (lambda rng: (np.arange(300) == 7, rng.uniform(0, 0.1, 300))),
    "ties": (lambda rng: (rng.uniform(size=90) < 0.4, np.repeat([0.2, 0.5, 0.8], 30))),
    "tiny": (lambda rng: (np.array([0, 1, 0]) > 0, np.array([0.2, 0.6, 0.9]))),
    "sure": (lambda rng: (rng.uniform(size=500) < 0.9, rng.uniform(0.999, 1, 500))),
    "0 and 1": (
        lambda rng: (rng.uniform(size=400) < 0.5, rng.choice([0, 0.3, 0.7, 1.0], 400))
    ),
    "far outlier": (
        lambda rng: (
            rng.uniform(size=400) < 0.5,
            np.append(rng.uniform(0.49, 0.51, 399), 1e-7),
        )
    ),
    "nearly one score": (
        lambda rng: (rng.uniform(size=99) < 0.5, 0.5 + 1e-9 * rng.normal(size=99))
    ),
    "hardly apart": (
        lambda rng: (
            rng.uniform(size=400) < 0.5,
            np.append(0.5 + 1e-5 * rng.normal(size=380), rng.uniform(size=20)),
        )
    ),
}


@each
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_fits_are_at_the_minimum(cls, case, unit, rng):
    labels, p = CASES[case](rng)
    weights = unit * rng.uniform(0.2, 1.0, len(p))
    map = cls().fit(labels, probabilities=p, sample_weight=weights)
    assert 0 <= map.optimality_gap < 1e-10
    # At the minimum a shift of the log-odds changes likelihood and penalty alike. It
    # changes only the constant of the closest line.
    z = special.logit(np.clip(p, LEAST, 1 - LEAST))
    mapped = map.transform(logits=z)
    _, constant = np.polyfit(z, mapped, 1, w=np.sqrt(weights))
    residual = weights @ (special.expit(mapped) - labels) + constant
    scale = weights.sum() + abs(constant)
    assert residual == pytest.approx(0, abs=1e-6 * scale)


def test_two_scores_are_joined_by_a_line():
    labels, p = np.array([0, 0, 1, 0, 1, 1]), np.array([0.2, 0.2, 0.2, 0.6, 0.6, 0.6])
    map = um.SplineCalibration(ridge=0).fit(labels, probabilities=p)
    found = map.transform(probabilities=[0.2, 0.6])
    np.testing.assert_allclose(found, [1 / 3, 2 / 3], atol=1e-8)
    assert map.knots[0].shape == (2, 2)
    with pytest.raises(ValueError, match="at least 3 different values"):
        um.QuadraticCalibration().fit(labels, probabilities=p)
    with pytest.raises(ValueError, match="at least 2 values that differ once clipped"):
        um.SplineCalibration().fit([0, 1], probabilities=[0.0, 1e-9])


def test_knots_determine_the_spline(rng):
    labels, p = drawn(rng)
    map = um.SplineCalibration().fit(labels, probabilities=p)
    (knots,) = map.knots
    z = special.logit(p)
    shares = [0.05, 0.275, 0.5, 0.725, 0.95]
    expected = np.quantile(z, shares, method="averaged_inverted_cdf")
    np.testing.assert_allclose(knots[0], expected)
    spline = interpolate.CubicSpline(*knots, bc_type="natural")
    new = rng.uniform(knots[0, 0], knots[0, -1], 50)
    np.testing.assert_allclose(map.transform(logits=new), spline(new), atol=1e-12)
    outside = knots[0, -1] + np.array([0.0, 1.0, 2.0])
    steps = np.diff(map.transform(logits=outside))
    np.testing.assert_allclose(steps, spline(knots[0, -1], 1), rtol=1e-9)


@each
def test_curved_maps_are_better_where_a_line_does_not_fit(cls, rng):
    (labels, p), (new_labels, new_p) = drawn(rng, n=4000), drawn(rng, n=20_000)
    after = [
        um.negative_log_likelihood(
            new_labels,
            map.fit(labels, probabilities=p).transform(probabilities=new_p),
            aggregate=False,
        )
        for map in (cls(), um.PlattScaling())
    ]
    difference = after[0] - after[1]
    assert np.mean(difference) < -3 * np.std(difference) / np.sqrt(len(difference))


@each
def test_options(cls):
    for ridge in (-1, np.inf, np.nan, "some"):
        with pytest.raises(ValueError, match="`ridge` must be finite and >= 0"):
            cls(ridge=ridge)
    assert repr(cls(ridge=2)) == f"{cls.__name__}(ridge=2.0)"
