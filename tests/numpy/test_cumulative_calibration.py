"""Calibration errors and tests without bins, against loops over the scores."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics.numpy.calibration.without_bins import (
    _pooled_errors,
    _pooled_tests,
)
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells

SIGMAS = 5
NAMES = (
    "kolmogorov_smirnov_calibration_error",
    "kuiper_calibration_error",
    "averaged_two_bin_calibration_error",
    "spiegelhalter_test",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_a_naive_loop(name, weighted, dtype, rng):
    function, reference = getattr(um, name), getattr(references, name)
    data = catalogue.data(rng, dtype=dtype)  # Some scores are equal.
    arguments = data.arguments(weighted)
    more = {"labels_predicted": rng.integers(0, 3, len(data.labels))}
    for options in ({}, {"ignore_index": 1}, more):
        np.testing.assert_allclose(
            function(**arguments, **options),
            reference(**arguments, **options),
            rtol=1e-9,
            atol=1e-12,
        )
    labels, p = rng.integers(0, 2, 50), rng.integers(0, 11, 50).astype(dtype) / 10
    weights = {"sample_weight": rng.random(50)} if weighted else {}
    for given in (p, p[:, None], np.stack([1 - p, p], -1)):
        found = function(labels, given, **weights, positive_class=True)
        expected = reference(labels, p, **weights, positive_class=True)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_by_hand():
    options = {"labels": [0, 1, 1, 0], "positive_class": True}
    p = [0.25, 0.5, 0.5, 0.75]  # Sums of (y - p): -0.25, 0.75, 0.
    assert um.ks_calibration_error(probabilities=p, **options) == 0.75 / 4
    assert um.kuiper_calibration_error(probabilities=p, **options) == 1 / 4
    two_bins = 0.25 * (2 * 0.25**2 + 2 * 0.75**2) / 16
    assert um.atb(probabilities=p, **options) == pytest.approx(two_bins)
    z, p_value = um.spiegelhalter_test(probabilities=p, **options)
    expected = (-0.25 * 0.5 + 0.75 * 0.5) / np.sqrt(2 * 0.25 * 3 / 16)
    assert z == pytest.approx(expected)
    assert p_value == pytest.approx(2 * stats.norm.sf(z))


def test_error_of_gaps_of_one_sign_is_their_mean(rng):
    p = rng.random(30)
    for labels in (np.zeros(30, int), np.ones(30, int)):
        gap = abs(np.mean(labels - p))
        for error in (um.ks_calibration_error, um.kuiper_calibration_error):
            assert error(labels, p, positive_class=True) == pytest.approx(gap)


def test_error_of_no_scores_is_0():
    nothing = Cells(*np.zeros((3, 0)))
    for error in ("kolmogorov_smirnov", "kuiper", "averaged_two_bin"):
        assert getattr(_pooled_errors, error)(nothing) == 0
    assert np.isnan(_pooled_errors.spiegelhalter(nothing)).all()


def test_averaged_two_bin_error_is_truthful():
    # Honest forecasts minimise the expectation over all labels of three events.
    truth = np.array([0.2, 0.5, 0.9])

    def expected(p):
        return sum(
            np.prod(np.where(labels, truth, 1 - truth))
            * um.atb(np.array(labels), np.array(p), positive_class=True)
            for labels in itertools.product([0, 1], repeat=3)
        )

    honest = expected(truth)
    for i, move in itertools.product(range(3), (-0.15, 0.05, 0.08)):
        other = truth.copy()
        other[i] += move
        assert expected(other) >= honest - 1e-12


def test_scores_of_half_and_of_certainty_alone_raise():
    for probabilities in ([0.5, 1.0], [[0.5, 0.5], [0.0, 1.0]]):
        with pytest.raises(ValueError, match="`probabilities` must hold a score other"):
            um.spiegelhalter_test([0, 1], probabilities)
        with pytest.raises(ValueError, match="`probabilities` must hold a score other"):
            um.calibration_test([0, 1], probabilities, statistic="spiegelhalter")


# The tests without bins.

OF = {
    "ks": um.ks_calibration_error,
    "kuiper": um.kuiper_calibration_error,
    "smece": um.smece,
    "atb": um.atb,
    "spiegelhalter": lambda *data, **options: abs(
        um.spiegelhalter_test(*data, **options).z
    ),
}
LIMITS = ("ks", "kuiper", "spiegelhalter")


@pytest.mark.parametrize("statistic", OF)
def test_resampled_p_value_counts_draws(statistic, rng):
    p = rng.choice([0.1, 0.3, 0.8], 12)
    labels = (rng.random(12) < 0.5).astype(int)
    options = {"positive_class": True}
    found = um.calibration_test(
        labels, p, statistic=statistic, num_resamples=400, seed=rng, **options
    )
    function = OF[statistic]
    assert found.statistic == pytest.approx(function(labels, p, **options), abs=1e-8)
    naive = [
        function((rng.random(12) < p).astype(int), p, **options) for _ in range(200)
    ]
    share = np.mean(np.array(naive) >= found.statistic - 1e-12)
    noise = np.sqrt(found.p_value * (1 - found.p_value) * (1 / 200 + 1 / 400))
    assert abs(share - found.p_value) < SIGMAS * noise + 0.01


@pytest.mark.parametrize("statistic", ["ks", "atb"])
def test_resampling_rejects_at_its_level(statistic, rng):
    p_values = []
    for _ in range(100):
        p = np.round(rng.random(30), 2)
        test = um.calibration_test(
            rng.random(30) < p,
            p,
            statistic=statistic,
            positive_class=True,
            num_resamples=19,
            seed=rng,
        )
        p_values.append(test.p_value)
    for level in (0.1, 0.5):
        noise = SIGMAS * np.sqrt(level * (1 - level) / 100)
        assert abs(np.mean(np.array(p_values) <= level) - level) <= noise + 0.02


def test_p_values_are_the_laws_of_brownian_motion():
    # Moments of the largest absolute value and of the range (Feller, 1951).
    def moment(tail, power):
        value, _ = integrate.quad(
            lambda x: power * x ** (power - 1) * tail(x), 0, 12, limit=300
        )
        return value

    largest, spread = _pooled_tests._p_of_largest, _pooled_tests.p_of_range
    assert moment(largest, 1) == pytest.approx(np.sqrt(np.pi / 2), abs=1e-9)
    assert moment(spread, 1) == pytest.approx(np.sqrt(8 / np.pi), abs=1e-9)
    assert moment(spread, 2) == pytest.approx(4 * np.log(2), abs=1e-9)
    # Another series, that converges for small x: P(max abs(B) <= x).
    for x in (0.2, 0.5, 1.0, 3.0):
        k = np.arange(50)
        terms = np.exp(-(((2 * k + 1) * np.pi / x) ** 2) / 8) / (2 * k + 1)
        expected = 1 - 4 / np.pi * np.sum((-1.0) ** k * terms)
        assert largest(x) == pytest.approx(expected, abs=1e-12)
    assert largest(0.0) == spread(0.0) == 1
    assert largest(60.0) == spread(60.0) == 0


@pytest.mark.parametrize("statistic", LIMITS)
def test_asymptotic_tests_reject_at_most_at_their_level(statistic, rng):
    data_sets, p_values = 600, []
    for _ in range(data_sets):
        p = rng.beta(0.5, 0.5, 400)  # sum p (1 - p) is about 50.
        test = um.calibration_test(
            rng.random(400) < p,
            p,
            statistic=statistic,
            method="asymptotic",
            positive_class=True,
        )
        p_values.append(test.p_value)
    for level in (0.05, 0.2):
        share = np.mean(np.array(p_values) <= level)
        noise = SIGMAS * np.sqrt(level * (1 - level) / data_sets)
        assert 0.75 * level - noise <= share <= 1.05 * level + noise


@pytest.mark.parametrize("statistic", LIMITS)
def test_asymptotic_p_value_agrees_with_resampling(statistic, rng):
    p = rng.random(3000)
    options = {"statistic": statistic, "positive_class": True}
    labels = rng.random(3000) < p + 0.05 * (p - 0.5)
    limit = um.calibration_test(labels, p, method="asymptotic", **options)
    drawn = um.calibration_test(labels, p, num_resamples=400, seed=rng, **options)
    assert limit.statistic == drawn.statistic
    noise = SIGMAS * np.sqrt(limit.p_value * (1 - limit.p_value) / 400)
    assert abs(limit.p_value - drawn.p_value) <= noise + 0.03


def test_asymptotic_method_refuses_few_examples(rng):
    p = np.full(90, 0.4)  # sum p (1 - p) is 21.6; for Spiegelhalter's test it is 0.9.
    labels = rng.random(90) < p
    options = {"method": "asymptotic", "positive_class": True}
    for statistic in LIMITS:
        with pytest.raises(
            ValueError, match=r"`method` must be 'resampling' for .* at least (25|10)"
        ):
            um.calibration_test(labels, p, statistic=statistic, **options)
    for statistic in ("gce", "smece", "atb"):
        with pytest.raises(
            ValueError, match=f"`method` must be 'resampling' for .*'{statistic}'"
        ):
            um.calibration_test(labels, p, statistic=statistic, **options)


def test_tests_without_bins_need_one_group_of_scores():
    p = [[0.2, 0.3, 0.5]]
    for options in ({"max_prob": False}, {"class_conditional": True}):
        with pytest.raises(ValueError, match="unless `statistic` is 'gce'"):
            um.calibration_test([0], p, statistic="ks", **options)
