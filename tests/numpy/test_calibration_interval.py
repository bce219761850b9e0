"""The interval of the calibration error: coverage, ends, and too few data."""

import numpy as np
import pytest
from scipy import special

import uncertainty_metrics.numpy as um
from tests.interval_reference import calibration_error_interval

SIGMAS = 5  # One false alarm in two million.
DATA_SETS = 300


def drawn(rng, law, n, error):
    """Returns scores and outcomes whose l2 calibration error is `error`, or nearly."""
    p = {
        "uniform": lambda: rng.uniform(error, 1, n),
        "saturated": lambda: special.expit(4 + 2.5 * rng.normal(size=n)),
        "constant": lambda: np.full(n, 0.8),
        "few": lambda: rng.choice([0.55, 0.7, 0.8, 0.9, 0.97], n),
    }[law]()
    return p, rng.uniform(size=n) < np.maximum(p - error, 0)


@pytest.mark.first(4, "thorough")
@pytest.mark.parametrize("error", [0.0, 0.02, 0.15])
@pytest.mark.parametrize("law", ["uniform", "saturated", "constant", "few"])
def test_interval_holds_the_true_error(law, error, rng):
    n, held, widest = 500, 0, 0.0
    estimates = np.empty(DATA_SETS)
    for i in range(DATA_SETS):
        p, outcomes = drawn(rng, law, n, error)
        ends = um.calibration_error_interval(outcomes, p, positive_class=True)
        assert 0 <= ends.lower <= ends.estimate <= ends.upper <= 1
        truth = np.sqrt(np.mean((p - np.maximum(p - error, 0)) ** 2))
        held += ends.lower <= truth + 0.002 * (error > 0) and truth <= ends.upper
        estimates[i], widest = ends.estimate, max(widest, ends.upper - ends.lower)
    share = 0.93
    noise = np.sqrt(share * (1 - share) / DATA_SETS)
    assert held / DATA_SETS > share - SIGMAS * noise
    # The width is bounded by a few times the spread of the estimates.
    apart = np.quantile(estimates, 0.99) - np.quantile(estimates, 0.01)
    assert widest < 3.5 * apart + 0.03


def test_interval_holds_0_where_the_bootstrap_does_not(rng):
    # The model is calibrated, but every resample has an error above 0.
    p = rng.uniform(size=500)
    outcomes = rng.uniform(size=500) < p
    data = {"labels": outcomes, "probabilities": p, "positive_class": True}
    assert um.bootstrap(um.rmsce, **data, num_resamples=50, seed=0).lower > 0
    ends = um.calibration_error_interval(outcomes, p, positive_class=True, level=0.9999)
    assert ends.lower == 0 < ends.upper


@pytest.mark.parametrize("scheme", ["adaptive", "even"])
@pytest.mark.parametrize("level", [0.5, 0.99])
def test_ends_equal_the_reference(scheme, level, rng):
    options = {"binning_scheme": scheme, "level": level, "positive_class": True}
    for power in (1, 3):
        p = np.round(rng.uniform(size=80), 2)
        labels = (rng.uniform(size=80) < p**power).astype(int)
        weights = rng.choice([0, 0.5, 1, 3], 80)
        for weight in (None, weights):
            found = um.calibration_error_interval(
                labels, p, **options, sample_weight=weight
            )
            expected = calibration_error_interval(
                labels, p, **options, sample_weight=weight
            )
            np.testing.assert_allclose(
                np.square(found), np.square(expected), atol=1e-12
            )


def test_intervals_of_higher_levels_contain_lower_levels(rng):
    p = rng.uniform(size=300)
    labels = rng.uniform(size=300) < p**1.5
    ends = [
        um.calibration_error_interval(labels, p, positive_class=True, level=level)
        for level in (0.01, 0.5, 0.9, 0.95, 0.9999)
    ]
    assert len({end.estimate for end in ends}) == 1
    assert np.all(np.diff([end.lower for end in ends]) <= 0)
    assert np.all(np.diff([end.upper for end in ends]) > 0)


def test_few_data_give_wide_intervals():
    interval = um.calibration_error_interval
    assert interval([1], [0.7]) == (0, 0, 1)
    # No bin has two examples.
    assert interval([1, 0, 1], [0.7, 0.2, 0.9]) == (0, 0, 1)
    # Twenty right decisions do not prove that an error has probability 0.
    sure = interval([1] * 20, [1.0] * 20)
    assert sure[:2] == (0, 0)
    assert 0.05 < sure.upper < 0.3
    assert interval([0] * 20, [1.0] * 20, positive_class=True) == (1, 1, 1)
    # A bin of one example is taken to be like the others.
    labels, p = [1, 1, 0, 0, 1], [0.6, 0.6, 0.6, 0.6, 0.9]
    with_one = interval(labels, p, binning_scheme="even")
    assert with_one.upper == interval(labels[:4], p[:4]).upper == 1


def test_rounding_of_scores_does_not_move_the_ends():
    """The first bin has a gap of 1/3 and a standard error of 1/3: no error is left."""
    outcomes = [1, 1, 0, 1, 0, 0, 0]
    scores = np.repeat([1 / 3, 1 / 2, 1], [3, 3, 1])
    exact, rounded, smaller = (
        um.calibration_error_interval(outcomes, p, positive_class=True, num_bins=7)
        for p in (scores, scores.astype(np.float32), scores * (1 - 1e-9))
    )
    for other in (rounded, smaller):
        np.testing.assert_allclose(other, exact, rtol=0, atol=1e-6)


def test_weights_are_numbers_of_examples(rng):
    p = rng.uniform(size=60)
    labels = rng.uniform(size=60) < p
    options = {"positive_class": True, "num_bins": 5}
    once = um.calibration_error_interval(labels, p, **options)
    light = um.calibration_error_interval(labels, p, **options, sample_weight=1e-3)
    np.testing.assert_allclose(light, once)
    twice = um.calibration_error_interval(labels, p, **options, sample_weight=2.0)
    assert twice.upper - twice.lower < once.upper - once.lower


def test_errors_of_bin_statistics_are_those_of_each_class(rng):
    rows = rng.dirichlet(np.ones(4), 200)
    labels = rng.integers(0, 4, 200)
    options = {"max_prob": False, "num_bins": 5}
    by_class = um.bin_statistics(labels, rows, class_conditional=True, **options)
    for norm in ("l1", "l2", "max"):
        expected = [
            um.gce(labels == k, rows[:, k], "even", True, False, norm, 5,
                   positive_class=True)
            for k in range(4)
        ]  # fmt: skip
        np.testing.assert_allclose(by_class.errors(norm), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="`norm` must be one of"):
        by_class.errors("l3")
    empty = um.bin_statistics([0], [[0.9, 0.1]], class_conditional=True)
    np.testing.assert_allclose(empty.errors("l1"), [0.1, 0])
