"""Recalibration of forecasts of numbers, by PIT values."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

import uncertainty_metrics.numpy as um

PITCalibration = um.regression.PITCalibration


def test_equals_isotonic_regression_of_the_empirical_distribution(rng):
    pit = rng.beta(2, 3, 60).round(2)
    weights = rng.integers(0, 3, 60)
    map = PITCalibration().fit(pit=pit, sample_weight=weights)
    order = np.argsort(pit)
    order = order[weights[order] > 0]
    share = np.array(
        [weights[pit <= value].sum() / (weights.sum() + 1) for value in pit[order]]
    )
    fit = optimize.isotonic_regression(share, weights=weights[order])
    np.testing.assert_allclose(map.transform(pit[order]), fit.x, atol=1e-14)
    repeated = PITCalibration().fit(pit=np.repeat(pit, weights))
    np.testing.assert_allclose(map.knots, repeated.knots, atol=1e-14)
    masked = PITCalibration().fit(pit=pit, mask=weights > 0)
    np.testing.assert_array_equal(masked.knots[0], map.knots[0])
    # Scaled to sum 100, sklearn's interpolation between the knots.
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression(
        out_of_bounds="clip"
    )
    peer = isotonic.fit([0.0, *pit[order], 1.0], [0.0, *share, 1.0])
    new = rng.uniform(size=300)
    np.testing.assert_allclose(map.transform(new), peer.predict(new), atol=1e-12)


def test_quantiles_cover_exactly_in_the_mean():
    # The n + 1 values are equally likely in every order: the quantile of level k / 5
    # of four of them is at least the fifth in k of 5 orders.
    values = np.array([0.1, 0.35, 0.4, 0.7, 0.95])
    for k in range(1, 5):
        covered = 0
        for new in range(5):
            map = PITCalibration().fit(pit=np.delete(values, new))
            covered += values[new] <= map.quantile(k / 5) + 1e-12
        assert Fraction(int(covered), 5) == Fraction(k, 5)


@pytest.mark.parametrize("kind", ["narrow", "biased", "skewed"])
def test_calibrated_forecasts_cover(kind, rng):
    n = 4000
    means = rng.normal(size=2 * n)
    stddevs = rng.uniform(0.5, 2, size=2 * n)
    error = {
        "narrow": 2 * rng.normal(size=2 * n),
        "biased": rng.normal(size=2 * n) + 0.7,
        "skewed": rng.exponential(size=2 * n),
    }[kind]
    targets = means + stddevs * error
    map = PITCalibration().fit(targets[:n], means[:n], stddevs[:n])
    levels = np.array([0.05, 0.25, 0.5, 0.9])
    found = map.quantile(levels, means[n:], stddevs[n:])
    assert found.shape == (n, 4)
    coverage = np.mean(targets[n:, None] <= found, axis=0)
    # The quantiles come from n examples, and their coverage from n others.
    noise = np.sqrt(2 * levels * (1 - levels) / n)
    assert np.all(np.abs(coverage - levels) < 4.5 * noise)
    before = stats.norm.cdf(error[n:])
    after = map.transform(before)
    ours = um.regression.pit_calibration_error
    assert ours(after) < ours(before) / 3
    assert stats.kstest(after, "uniform").statistic < 2.5 * np.sqrt(2 / n)


def test_quantile_and_transform_are_inverse(rng):
    map = PITCalibration().fit(pit=rng.beta(2, 2, 50))
    levels = np.linspace(0, 1, 101)
    np.testing.assert_allclose(map.transform(map.quantile(levels)), levels, atol=1e-12)
    assert map.quantile(0.5).shape == ()
    assert map.quantile(0.5, [0.0, 1.0], [1.0, 1.0]).shape == (2,)
    column = map.quantile([0.5], [[0.0], [1.0]], [[1.0], [1.0]])
    assert column.shape == (2, 1, 1)
    assert map.quantile([0.0, 1.0], 0.0, 1.0).tolist() == [-np.inf, np.inf]


def test_pit_values_of_0_and_1():
    map = PITCalibration().fit(pit=[0.0, 0.0, 0.5, 1.0])
    np.testing.assert_allclose(map.knots, [[0, 0.5, 1], [0.4, 0.6, 1]])
    assert map.quantile(0.3) == 0  # No quantile of the forecast is that low.
    only = PITCalibration().fit(pit=[1.0, 1.0])
    np.testing.assert_allclose(only.knots, [[0, 1], [0, 1]])


def test_intervals_equal_a_loop_over_their_shares(rng):
    lower = rng.choice([0.0, 0.2, 0.5], 40)
    upper = lower + rng.choice([0.1, 0.3, 0.5], 40)
    weights = rng.integers(0, 4, 40)
    map = PITCalibration().fit(pit=(lower, upper), sample_weight=weights)
    points = np.unique([0, *lower[weights > 0], *upper[weights > 0], 1])
    np.testing.assert_allclose(map.knots[0], points)
    for knot, below in map.knots.T:
        shares = np.clip((knot - lower) / (upper - lower), 0, 1)
        expected = (knot + np.sum(weights * shares)) / (weights.sum() + 1)
        assert below == pytest.approx(expected)


def test_the_map_of_right_quantiles_is_the_identity_up_to_chance(rng):
    # The middles of the intervals would leave jumps between the levels.
    levels, n = np.array([0.05, 0.25, 0.5, 0.9]), 20_000
    quantiles = np.broadcast_to(stats.norm.ppf(levels), (n, 4))
    pit = um.regression.quantile_pit(quantiles, levels, rng.normal(size=n))
    map = PITCalibration().fit(pit=pit)
    np.testing.assert_allclose(map.knots[0], [0, *levels, 1])
    points = np.linspace(0, 1, 201)
    noise = 4 * 0.5 / np.sqrt(n)  # The largest, at the median.
    assert np.all(np.abs(map.transform(points) - points) < noise)


def test_configurations_go_through_json(rng):
    map = PITCalibration().fit(pit=rng.uniform(size=20))
    again = PITCalibration.from_config(json.loads(json.dumps(map.get_config())))
    np.testing.assert_array_equal(again.knots, map.knots)
    assert not PITCalibration.from_config({"knots": None}).is_fitted
    for knots in ([[0, 1], [0, 0.5]], [[0, 0.5, 0.5, 1], [0, 0.1, 0.2, 1]], [0, 1]):
        with pytest.raises(ValueError, match="`config` must hold knots"):
            PITCalibration.from_config({"knots": knots})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pit": [0.5, 1.5]}, r"`pit` must be .*in \[0, 1\]"),
        ({"pit": [0.5, np.nan]}, r"`pit` must be"),
        ({"pit": [0.5]}, "at least two examples"),
        ({"pit": [0.5, 0.6], "sample_weight": [0.5, 0.5]}, "weights of sum 2"),
        ({"pit": [0.5, 0.6], "targets": [1.0, 2.0]}, "`pit` must be given without"),
        ({"targets": [0.0, 1.0], "means": [0.0, 0.0]}, "`stddevs` must be given"),
        ({"pit": ([0.1], [0.3])}, "at least two examples"),
        ({"pit": ([0.1, 0.5], [0.3, 0.4])}, "`lower` must be <= `upper`"),
        ({"targets": [0.0], "means": [0.0], "stddevs": [-1.0]}, "`stddevs`"),
    ],
)
def test_bad_calls_raise_and_keep_the_map(arguments, message):
    map = PITCalibration()
    with pytest.raises(ValueError, match="call `fit` first"):
        map.transform([0.5])
    map.fit(pit=[0.2, 0.8])
    before = map.knots
    with pytest.raises(ValueError, match=message):
        map.fit(**arguments)
    np.testing.assert_array_equal(map.knots, before)
    with pytest.raises(ValueError, match="`levels`"):
        map.quantile([0.5, 1.2])
    with pytest.raises(ValueError, match="`stddevs` must be given"):
        map.quantile(0.5, means=[0.0])
