"""Intercept, slope, O/E and ICI against root finders, weighted least squares on another
basis of the spline, and closed forms; coverage of the intervals by simulation.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import interpolate, optimize, special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.calibration.risk import (
    _likelihood_intervals,
    _spline_curve,
)
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    pooled,
)

Z = 4.5  # The limit in standard errors, for any seed.
INTERVALS = um.calibration_intercept, um.calibration_slope, um.observed_expected_ratio
FUNCTIONS = (*INTERVALS, um.integrated_calibration_index)


def drawn(rng, n=200, intercept=0.3, slope=0.7, weighted=False, ties=False):
    """Makes labels, risks with a known miscalibration, and integer weights."""
    z = rng.normal(-0.5, 1.5, n)
    labels = (rng.random(n) < special.expit(intercept + slope * z)).astype(int)
    p = special.expit(z)
    weights = rng.integers(0, 4, n) if weighted else np.ones(n, int)
    return labels, np.round(p, 1) if ties else p, weights


def log_odds(p):
    return special.logit(np.clip(np.asarray(p, np.float64), 2.0**-24, 1 - 2.0**-24))


def likelihood(u, labels, weights):
    """Returns the log-likelihood of log-odds u."""
    signs = np.where(labels == 1, 1, -1)
    return -float(weights @ np.logaddexp(0, -signs * u))


def best_intercept(u, labels, weights):
    """Returns the a with the largest likelihood of log-odds a + u."""

    def surplus(a):
        return weights @ (special.expit(a + u) - labels)

    reach = np.abs(u).max() + 60
    return optimize.brentq(surplus, -reach, reach, xtol=1e-13)


def by_root_finding(profile, best, tested, level):
    """Returns interval and p-value of a profile log-likelihood, by a root finder."""
    top, drop = profile(best), stats.chi2(1).ppf(level) / 2

    def end(sign):
        far = 1.0
        while profile(best + sign * far) > top - drop:
            far *= 2
        ends = sorted((best, best + sign * far))
        return optimize.brentq(lambda x: profile(x) - top + drop, *ends, xtol=1e-13)

    p_value = stats.chi2(1).sf(2 * (top - profile(tested)))
    return end(-1), best, end(1), p_value


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_intercept_equals_root_finding(rng, weighted, ties, level):
    labels, p, weights = drawn(rng, weighted=weighted, ties=ties)
    z = log_odds(p)
    expected = by_root_finding(
        lambda a: likelihood(a + z, labels, weights),
        best_intercept(z, labels, weights),
        0.0,
        level,
    )
    found = um.calibration_intercept(labels, p, level=level, sample_weight=weights)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    q = special.expit(found.estimate + z)
    # As many events are expected as came.
    assert weights @ q == pytest.approx(weights @ labels)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_slope_equals_root_finding(rng, weighted, ties, level):
    labels, p, weights = drawn(rng, weighted=weighted, ties=ties)
    z = log_odds(p)

    def profile(b):
        return likelihood(
            best_intercept(b * z, labels, weights) + b * z, labels, weights
        )

    options = {"bounds": (-3, 3), "method": "bounded", "options": {"xatol": 1e-12}}
    best = optimize.minimize_scalar(lambda b: -profile(b), **options).x
    expected = by_root_finding(profile, best, 1.0, level)
    found = um.calibration_slope(labels, p, level=level, sample_weight=weights)
    np.testing.assert_allclose(found, expected, atol=2e-7)  # The reference's error.
    # At the optimum the residuals are uncorrelated with the log-odds.
    a = best_intercept(found.estimate * z, labels, weights)
    residuals = weights * (labels - special.expit(a + found.estimate * z))
    assert abs(residuals @ z) < 1e-8


def test_two_risks_by_hand():
    """The line goes through two points, so it fits both shares of events exactly."""
    labels, p = [1] * 30 + [0] * 70 + [1] * 60 + [0] * 40, [0.2] * 100 + [0.8] * 100
    slope = (special.logit(0.6) - special.logit(0.3)) / (2 * special.logit(0.8))
    assert um.calibration_slope(labels, p).estimate == pytest.approx(slope)
    one = um.calibration_intercept(labels[:100], p[:100])
    assert one.estimate == pytest.approx(special.logit(0.3) - special.logit(0.2))
    # For one risk, the interval of the intercept is the likelihood interval of the
    # share of events.
    for rate in special.expit(np.array([one.lower, one.upper]) + special.logit(0.2)):
        lost = 30 * math.log(0.3 / rate) + 70 * math.log(0.7 / (1 - rate))
        assert 2 * lost == pytest.approx(stats.chi2(1).ppf(0.95))
    fall = 30 * math.log(0.3 / 0.2) + 70 * math.log(0.7 / 0.8)
    assert one.p_value == pytest.approx(stats.chi2(1).sf(2 * fall))
    found = um.integrated_calibration_index(labels, p)
    np.testing.assert_allclose(found, [0.15, 0.15, 0.2, 0.2], atol=1e-9)


def test_ratio_equals_its_formula(rng):
    labels, p, weights = drawn(rng, weighted=True)
    total, observed, expected = weights.sum(), weights @ labels, weights @ p
    error = stats.norm.ppf(0.95) * math.sqrt((1 - observed / total) / observed)
    found = um.observed_expected_ratio(labels, p, level=0.9, sample_weight=weights)
    ends = [observed / expected * math.exp(sign * error) for sign in (-1, 0, 1)]
    np.testing.assert_allclose(found, ends)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_interval_of_the_ratio_is_clopper_and_pearsons_if_all_labels_are_equal(n):
    p = np.linspace(0.1, 0.3, n)
    for label, side in ((0, 1), (1, 0)):
        found = um.observed_expected_ratio([label] * n, p)
        share = stats.binomtest(label * n, n).proportion_ci(method="exact")[side]
        assert found[2 * side] == pytest.approx(share * n / p.sum())
        assert found.estimate == found[2 - 2 * side] == label * n / p.sum()


def spline_of(knots):
    """Returns another basis of the restricted cubic splines: the natural cubic splines
    that are 1 at one knot and 0 at the others, and straight beyond the knots.
    """
    inside = interpolate.CubicSpline(knots, np.eye(len(knots)), bc_type="natural")

    def rows(z):
        z = np.asarray(z)[:, None]
        near = np.clip(z, knots[0], knots[-1])
        return inside(near[:, 0]) + inside(near[:, 0], 1) * (z - near)

    return rows


def fitted_by_least_squares(rows, labels, weights):
    """Returns log-odds and information of logistic regression, by iterated weighted
    least squares.
    """
    u = np.full(len(labels), special.logit(np.average(labels, weights=weights)))
    for _ in range(60):
        q = special.expit(u)
        variance = q * (1 - q)
        root = np.sqrt(weights * variance)
        target = u + (labels - q) / variance
        solved = np.linalg.lstsq(root[:, None] * rows, root * target, rcond=1e-12)[0]
        u = rows @ solved
    return u, rows.T @ (rows * (weights * variance)[:, None])


def percentiles(values, weights, shares):
    """Returns percentiles in fractions; between two examples it is their mean."""
    ordered = np.sort(np.repeat(values, weights))
    found = []
    for share in shares:
        place = Fraction(str(share)) * len(ordered)
        below = ordered[math.ceil(place) - 1]
        found.append((below + ordered[math.floor(place)]) / 2)
    return np.array(found)


# Kind of the risks -> number of knots.
KNOTS = {
    "continuous": 5,
    "one large group": 4,
    "a larger group": 3,
    "few": 0,
    "5 risks": 5,
    "4 risks": 4,
    "3 risks": 3,
}


def crowded(rng, case):
    labels, p, weights = drawn(rng, n=300, weighted=True)
    order = np.argsort(p)
    # The percentiles 27.5 and 50 are equal, but not 35 and 65.
    if case == "one large group":
        p[order[60:170]] = np.median(p)
        weights = np.ones_like(weights)
    # The percentiles 35 and 65 are equal, too, but not 50 and 90.
    if case == "a larger group":
        p[order[60:230]] = np.median(p)
        weights = np.ones_like(weights)
    if case == "few":
        p = np.where(p < 0.5, 0.2, 0.7)
    if case.endswith(" risks"):
        number = int(case[0])
        p[order] = np.repeat(np.linspace(0.1, 0.9, number), 300 // number)
    return labels, p, weights


@pytest.mark.parametrize("case", KNOTS)
def test_index_equals_least_squares_on_another_basis(rng, case):
    labels, p, weights = crowded(rng, case)
    z = log_odds(p)
    kept = weights > 0
    rows, number = np.stack([np.ones(len(z)), z], axis=1), 0
    for shares in _spline_curve.PERCENTILES:
        knots = percentiles(z, weights, shares)
        if len(np.unique(z[kept])) >= len(shares) and np.all(np.diff(knots) > 1e-6):
            rows, number = spline_of(knots)(z), len(shares)
            break
    assert number == KNOTS[case]
    u, _ = fitted_by_least_squares(rows[kept], labels[kept], weights[kept])
    distances = np.repeat(np.abs(special.expit(u) - p[kept]), weights[kept])
    expected = [
        distances.mean(),
        *percentiles(distances, 1, [0.5, 0.9]),
        distances.max(),
    ]
    found = um.integrated_calibration_index(labels, p, sample_weight=weights)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_index_does_not_depend_on_the_rounding_of_sums_of_weights(rng):
    # If the median is between two distances, the sum of the weights up to the lower one
    # is half of all weights, but for rounding.
    labels, p, _ = drawn(rng, n=100)
    expected = um.integrated_calibration_index(labels, p)
    for unit in (0.1, 1 / 3):
        found = um.integrated_calibration_index(labels, p, sample_weight=[unit] * 100)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_band_equals_standard_errors_from_the_information(rng):
    labels, p, weights = drawn(rng)
    cells = pooled(p, labels == 1, None)
    curve = _spline_curve.fitted(cells)
    z, at = log_odds(p), np.array([0.05, 0.3, 0.9])
    basis = spline_of(percentiles(z, weights, _spline_curve.PERCENTILES[0]))
    u, information = fitted_by_least_squares(basis(z), labels, weights)
    rows = basis(log_odds(at))
    middle = rows @ np.linalg.lstsq(basis(z), u, rcond=None)[0]
    error = np.sqrt(np.einsum("pi,ij,pj->p", rows, np.linalg.inv(information), rows))
    lower, upper = curve.band(at, 0.9, size=len(p))
    half = stats.norm.ppf(0.95) * error
    np.testing.assert_allclose(lower, special.expit(middle - half), atol=1e-7)
    np.testing.assert_allclose(upper, special.expit(middle + half), atol=1e-7)


def test_exchange_of_the_classes_changes_only_the_sign_of_the_intercept(rng):
    labels, p, _ = drawn(rng)
    for function in (um.calibration_intercept, um.calibration_slope):
        lower, estimate, upper, p_value = function(1 - labels, 1 - p)
        expected = (lower, estimate, upper, p_value)
        if function is um.calibration_intercept:
            expected = (-upper, -estimate, -lower, p_value)
        np.testing.assert_allclose(function(labels, p), expected, atol=1e-9)
    np.testing.assert_allclose(
        um.integrated_calibration_index(1 - labels, 1 - p),
        um.integrated_calibration_index(labels, p),
        atol=1e-8,
    )


def test_shift_and_factor_of_all_log_odds_are_found(rng):
    labels, p, _ = drawn(rng, n=400)
    z = log_odds(p)
    slope, intercept = (
        um.calibration_slope(labels, p),
        um.calibration_intercept(labels, p),
    )
    steeper = um.calibration_slope(labels, special.expit(2 * z - 1))
    np.testing.assert_allclose(steeper[:3], np.divide(slope[:3], 2), atol=1e-9)
    shifted = um.calibration_intercept(labels, special.expit(z + 0.5))
    np.testing.assert_allclose(shifted[:3], np.subtract(intercept[:3], 0.5), atol=1e-9)
    # Platt scaling fits intercept and slope together, so its intercept differs.
    scaling = um.PlattScaling().fit(labels, probabilities=p)
    assert slope.estimate == pytest.approx(scaling.a[0], abs=1e-8)
    assert abs(intercept.estimate - scaling.c[0]) > 0.01
    recalibrated = scaling.transform(probabilities=p)
    assert um.calibration_slope(labels, recalibrated).estimate == pytest.approx(
        1, abs=1e-7
    )
    assert um.calibration_intercept(labels, recalibrated).estimate == pytest.approx(
        0, abs=1e-7
    )
    assert um.observed_expected_ratio(labels, recalibrated).estimate == pytest.approx(1)


def test_cells_with_fractions_of_outcomes_give_the_same_values(rng):
    labels, p, _ = drawn(rng, ties=True)
    exact = pooled(p, labels == 1, None)
    halves = np.repeat(exact.weights / 2, 2), np.repeat(exact.outcome_sums / 2, 2)
    # As in a sketch, these cells have no `own_scores`.
    split = Cells(halves[0], np.repeat(exact.score_sums / 2, 2), halves[1])
    for function in (_likelihood_intervals.intercept, _likelihood_intervals.slope):
        np.testing.assert_allclose(function(split, 0.95), function(exact, 0.95))
    np.testing.assert_allclose(
        *(_spline_curve.fitted(cells).index(cells) for cells in (split, exact)),
        atol=1e-9,
    )


# Degenerate data.

RISKS = np.array([0.1, 0.2, 0.3, 0.4, 0.5])


def test_labels_that_are_all_equal():
    z = log_odds(RISKS)
    half_chi2 = stats.chi2(1).ppf(0.95) / 2
    none = um.calibration_intercept([0] * 5, RISKS)
    assert none[:2] == (-math.inf, -math.inf)
    # Without an event the supremum of the likelihood is 1.
    loss = np.logaddexp(0, none.upper + z).sum()
    assert loss == pytest.approx(half_chi2)
    fall = -np.log1p(-RISKS).sum()
    assert none.p_value == pytest.approx(stats.chi2(1).sf(2 * fall))
    every = um.calibration_intercept([1] * 5, 1 - RISKS)
    np.testing.assert_allclose(every, [-none.upper, math.inf, math.inf, none.p_value])
    for label, words in ((0, "1 for at least"), (1, "0 for at least")):
        with pytest.raises(ValueError, match=rf"`labels` must be {words}"):
            um.calibration_slope([label] * 5, RISKS)
    index = um.integrated_calibration_index([0] * 5, RISKS)
    np.testing.assert_allclose(index, [0.3, 0.3, 0.5, 0.5])
    index = um.integrated_calibration_index([1] * 5, RISKS)
    np.testing.assert_allclose(index, [0.7, 0.7, 0.9, 0.9])


def test_interval_of_many_examples_without_an_event():
    n = 10**5
    found = um.calibration_intercept([0] * n, np.full(n, 0.5))
    rate = special.expit(found.upper)
    assert -n * math.log1p(-rate) == pytest.approx(stats.chi2(1).ppf(0.95) / 2)


@pytest.mark.parametrize("boundary", [False, True])
def test_slope_of_separated_labels_is_infinite(boundary):
    """The other end of the interval and the p-value follow from the supremum."""
    p, labels = RISKS, np.array([0, 0, 0, 1, 1])
    if boundary:  # Both labels occur at the threshold, so the supremum is below 1.
        p, labels = np.append(p, [0.4, 0.4]), np.append(labels, [0, 0])
    z, weights = log_odds(p), np.ones(len(p))
    supremum = math.log(1 / 3) + 2 * math.log(2 / 3) if boundary else 0.0

    def fall(b):
        a = best_intercept(b * z, labels, weights)
        return 2 * (supremum - likelihood(a + b * z, labels, weights))

    found = um.calibration_slope(labels, p)
    assert found[1:3] == (math.inf, math.inf)
    assert fall(found.lower) == pytest.approx(stats.chi2(1).ppf(0.95))
    assert found.p_value == pytest.approx(stats.chi2(1).sf(fall(1.0)))
    turned = um.calibration_slope(1 - labels, p)
    np.testing.assert_allclose(turned[:3], [-math.inf, -math.inf, -found.lower])
    if not boundary:
        index = um.integrated_calibration_index(labels, p)
        distances = np.sort(np.abs(p - labels))
        expected = [distances.mean(), distances[2], distances[4], distances[4]]
        np.testing.assert_allclose(index, expected, atol=1e-8)


def test_one_event_has_finite_values(rng):
    p = rng.random(60)
    labels = (np.arange(60) == np.argsort(p)[30]).astype(int)
    for function in INTERVALS:
        found = function(labels, p)
        assert found.lower < found.estimate < found.upper
        assert np.isfinite(found).all()
    ratio = um.observed_expected_ratio(labels, p).estimate
    assert ratio == pytest.approx(1 / p.sum())


def test_constant_risks_have_an_intercept_but_no_slope():
    labels, p = [0, 0, 1, 1, 1], [0.25] * 5
    found = um.calibration_intercept(labels, p)
    assert found.estimate == pytest.approx(math.log(1.5) - math.log(1 / 3))
    np.testing.assert_allclose(um.integrated_calibration_index(labels, p), 0.35)
    for same in (0.25, 0.0, 1.0, [0.0, 1e-9, 0.0, 1e-8, 0.0]):
        with pytest.raises(
            ValueError, match=r"`probabilities` must hold two values that"
        ):
            um.calibration_slope(labels, np.broadcast_to(same, 5))
    with pytest.raises(ValueError, match="`probabilities` must be above 0 so that"):
        um.observed_expected_ratio(labels, [0.0] * 5)


def test_risks_of_0_and_1_are_clipped():
    near = np.array([2.0**-24, 1 - 2.0**-24])
    for function in FUNCTIONS:
        for labels in ([0, 1, 0, 1], [1, 0, 0, 1]):
            sure = function(labels, np.tile([0.0, 1.0], 2))
            clipped = function(labels, np.tile(near, 2))
            np.testing.assert_allclose(sure, clipped, rtol=1e-6, atol=1e-7)
            assert not np.isnan(sure).any()
    assert um.calibration_slope([1, 0], [0.0, 1.0]).estimate == -math.inf
    np.testing.assert_allclose(
        um.integrated_calibration_index([1, 0], [0.0, 1.0]), 1.0, atol=1e-7
    )


def test_weight_of_0_leaves_an_example_out(rng):
    labels, p, _ = drawn(rng, n=50)
    more = np.append(labels, [1, 0, 1]), np.append(p, [0.0, 1.0, 0.5])
    weights = np.append(np.full(50, 2.0), [0.0, 0.0, 0.0])
    for function in FUNCTIONS:
        np.testing.assert_allclose(
            function(*more, sample_weight=weights),
            function(np.tile(labels, 2), np.tile(p, 2)),
            atol=1e-9,
        )


def test_more_classes_and_bad_levels_are_refused():
    for function in FUNCTIONS:
        with pytest.raises(ValueError, match=r"`probabilities` must be forecasts of"):
            function([0, 1, 2], np.full((3, 3), 1 / 3))
    for function in INTERVALS:
        for level in (0.0, 1.0, 95, None, [0.5, 0.9]):
            with pytest.raises(ValueError, match=r"`level` must be in \(0, 1\)"):
                function([0, 1], [0.2, 0.7], level=level)


def test_ratio_that_would_overflow_is_refused():
    with pytest.raises(ValueError, match="`probabilities` must be above 0"):
        um.observed_expected_ratio([0, 1], [0.0, 1e-310])


@pytest.mark.thorough
def test_random_small_data_have_ordered_ends_or_an_error(rng):
    for _ in range(300):
        n = int(rng.integers(1, 40))
        p = rng.random(n) ** rng.choice([0.2, 1, 4])
        p = rng.choice([0, 0.5, 1, 1e-300], n) if rng.random() < 0.2 else p
        p = np.round(p, 1) if rng.random() < 0.3 else p
        labels = (rng.random(n) < p ** rng.choice([0.2, 1, 5])).astype(int)
        weights = rng.choice([0.1, 1, 2, 10], n)
        for function in FUNCTIONS:
            try:
                found = function(labels, p, sample_weight=weights)
            except ValueError:
                constant = np.ptp(log_odds(p)) == 0 or np.ptp(labels) == 0
                assert constant or p.sum() < 1e-200
                continue
            assert not np.isnan(found).any()
            if function is not um.integrated_calibration_index:
                assert found[0] <= found[1] <= found[2]


# Simulations of the intervals. The whole study is `studies/risk_interval_coverage.py`.


@pytest.mark.thorough
def test_intervals_hold_the_truth(rng):
    repeats, n, intercept, slope = 400, 400, 0.4, 0.8
    held = np.zeros(3)
    z = rng.normal(-1.0, 1.2, 10**6)
    true, p = special.expit(intercept + slope * z), special.expit(z)
    shift = optimize.brentq(lambda a: np.mean(special.expit(a + z) - true), -3, 3)
    truths = shift, slope, true.mean() / p.mean()
    for _ in range(repeats):
        chosen = rng.integers(len(z), size=n)
        labels = (rng.random(n) < true[chosen]).astype(int)
        for k, function in enumerate(INTERVALS):
            lower, _, upper, *_ = function(labels, p[chosen])
            held[k] += lower <= truths[k] <= upper
    noise = Z * math.sqrt(0.95 * 0.05 / repeats)
    assert np.all(np.abs(held / repeats - 0.95) < noise + 0.02)


@pytest.mark.thorough
def test_tests_reject_calibrated_models_as_often_as_their_level_says(rng):
    repeats, n = 400, 200
    rejected = np.zeros(2)
    for _ in range(repeats):
        p = special.expit(rng.normal(-1, 1, n))
        labels = (rng.random(n) < p).astype(int)
        rejected[0] += um.calibration_intercept(labels, p).p_value <= 0.1
        rejected[1] += um.calibration_slope(labels, p).p_value <= 0.1
    noise = Z * math.sqrt(0.1 * 0.9 / repeats)
    assert np.all(np.abs(rejected / repeats - 0.1) < noise + 0.01)


@pytest.mark.thorough
def test_weights_that_differ_too_much_give_an_answer_or_are_named_in_the_error(rng):
    refused = []
    for _ in range(300):
        n = int(rng.integers(5, 40))
        p, labels = rng.random(n), rng.integers(0, 2, n)
        weights = rng.choice([1e-9, 1.0, 1e6], n)
        for function in FUNCTIONS:
            try:
                found = function(labels, p, sample_weight=weights)
            except ValueError as error:
                refused += [str(error)] * int(np.ptp(labels))
                continue
            if function is not um.integrated_calibration_index:
                assert found[0] <= found[1] <= found[2]
    assert all("`sample_weight` must be of more similar" in text for text in refused)
    assert len(refused) < 30
