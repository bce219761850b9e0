"""What a sample would show, and how many examples are needed."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.calibration.bins._detectable_error import (
    Bins,
    ClusterTable,
    clustered_bins,
    intraclass_correlation,
)


def test_the_needed_examples_show_the_error():
    for error in (0.02, 0.1):
        n = um.examples_needed(error=error, num_bins=10)

        def detectable(n):
            # Forecasts of 0.5 have the largest variance; ten bins of equal mass.
            p = 0.5 + np.linspace(-1e-9, 1e-9, n)
            return um.smallest_detectable_error(p, num_bins=10)

        assert detectable(10 * (n // 10)) == pytest.approx(error, rel=0.01)


def even_bins(num_bins):
    """Returns bins of equal mass whose forecasts are all 0.5."""
    each = np.full(num_bins, 0.25)
    return Bins(np.full(num_bins, 1 / num_bins), each, 2 * each)


@pytest.mark.parametrize("num_bins", [10, 30, 100])
def test_the_squared_error_of_equal_bins_is_a_chi_square(num_bins):
    n, power = 1000 * num_bins, 0.8
    limit = stats.chi2.ppf(0.975, num_bins)  # The lower end of an interval of 95%.
    shift = optimize.brentq(
        lambda shift: stats.ncx2.sf(limit, num_bins, shift) - power, 0.01, 300
    )
    found = even_bins(num_bins).detectable(n, power, 0.95)
    assert found == pytest.approx(0.25 * shift / n, rel=0.005)


@pytest.mark.parametrize("rho", [0.0, 0.1, 0.3])
def test_clusters_that_go_through_all_bins_are_a_quadratic_form(rho):
    # The sums of all bins are Normal with the correlation rho. Their squares are a sum
    # of chi-squares, with the eigenvalues of the correlations as weights.
    number, num_bins = 5000, 20
    codes = np.repeat(np.arange(number), num_bins)
    bins = np.tile(np.arange(num_bins), number)
    table = ClusterTable(Clusters(codes, number), bins, num_bins)
    half = np.full(len(codes), 0.5)
    found = clustered_bins(table, half, rho).detectable(len(codes), 0.8, 0.95)
    drawn = np.random.default_rng(0).standard_normal((200_000, num_bins))
    first, others = 1 + (num_bins - 1) * rho, 1 - rho
    rest = others * np.sum(drawn[:, 1:] ** 2, axis=1)
    limit = np.quantile(rest + first * drawn[:, 0] ** 2, 0.975)

    def excess(error):  # Equal gaps of all bins are along the first eigenvector.
        shift = math.sqrt(num_bins * number * error / 0.25)
        moved = (math.sqrt(first) * drawn[:, 0] + shift) ** 2
        return np.quantile(rest + moved, 0.2) - limit

    assert found == pytest.approx(optimize.brentq(excess, 0, 0.5), rel=0.01)


def test_more_examples_show_smaller_errors(rng):
    p = rng.uniform(size=5000)
    errors = [um.smallest_detectable_error(p[:n]) for n in (50, 200, 1000, 5000)]
    assert sorted(errors, reverse=True) == errors
    powers = [um.smallest_detectable_error(p, power=q) for q in (0.5, 0.8, 0.99)]
    assert sorted(powers) == powers
    levels = [um.smallest_detectable_error(p, level=q) for q in (0.8, 0.95, 0.99)]
    assert sorted(levels) == levels
    assert um.smallest_detectable_error([0.2, 0.4]) == math.inf
    assert um.smallest_detectable_error(np.ones(1000)) == 0


def test_all_forms_of_forecasts_give_the_same_error(rng):
    p = rng.uniform(size=300)
    expected = um.smallest_detectable_error(p)
    both = np.stack([1 - p, p], axis=1)
    assert um.smallest_detectable_error(confidences=p) == expected
    assert um.smallest_detectable_error(both, positive_class=True) == expected
    decided = um.smallest_detectable_error(both)
    assert decided == pytest.approx(
        um.smallest_detectable_error(confidences=np.maximum(p, 1 - p))
    )
    logits = np.log(both)
    assert um.smallest_detectable_error(logits=logits) == pytest.approx(decided)


def test_the_power_is_that_of_simulated_intervals(rng):
    shown, draws = 0, 200
    for _ in range(draws):
        p = rng.uniform(0.3, 0.7, 1000)
        error = um.smallest_detectable_error(p)
        labels = rng.uniform(size=1000) < p + error * rng.choice([-1, 1])
        shown += um.calibration_error_interval(labels, p).lower > 0
    low, high = (stats.binom.ppf(q, draws, 0.8) for q in (1e-6, 1 - 1e-6))
    assert low - 0.03 * draws <= shown <= high + 0.03 * draws


@pytest.mark.parametrize(("low", "high", "sign"), [(0.03, 0.07, 1), (0.8, 0.95, -1)])
def test_forecasts_that_are_too_sure_show_their_error_with_the_power(
    rng, low, high, sign
):
    """Their outcomes vary more than the forecasts say."""
    shown, draws, n = 0, 300, 1500
    for _ in range(draws):
        p = rng.uniform(low, high, n)
        error = um.smallest_detectable_error(p, positive_class=True)
        labels = rng.uniform(size=n) < p + sign * error
        interval = um.calibration_error_interval(labels, p, positive_class=True)
        shown += interval.lower > 0
    low, high = (stats.binom.ppf(q, draws, 0.8) for q in (1e-6, 1 - 1e-6))
    assert low - 0.02 * draws <= shown <= high + 0.02 * draws


def test_the_ratio_and_the_slope_need_what_riley_et_al_say(rng):
    p = special.expit(rng.normal(-2, 1.2, 400))
    q, z = p.mean(), stats.norm.ppf(0.975)
    n = um.examples_needed(p, ratio_width=0.3)
    error = math.sqrt((1 - q) / (n * q))
    assert 2 * math.sinh(z * error) == pytest.approx(0.3, rel=0.01)
    n = um.examples_needed(p, slope_width=0.3)
    # The information matrix of intercept and slope, by its definition.
    information = np.zeros((2, 2))
    for risk in p:
        x = np.array([1.0, special.logit(risk)])
        information += np.outer(x, x) * risk * (1 - risk) / len(p)
    variance = np.linalg.inv(n * information)[1, 1]
    assert 2 * z * math.sqrt(variance) == pytest.approx(0.3, rel=0.01)


def test_the_auroc_needs_the_variance_of_hanley_and_mcneil(rng):
    p = special.expit(rng.normal(-1, 1.5, 60))
    pairs = [
        (a * (1 - b), (a > b) + (a == b) / 2) for a in p.tolist() for b in p.tolist()
    ]
    area = np.average([hit for _, hit in pairs], weights=[w for w, _ in pairs])
    n = um.examples_needed(p, auroc_width=0.1)
    ones = n * p.mean()
    # Newcombe's variance has (n / 2 - 1) in place of the numbers of both classes.
    spread = (1 - area) / (2 - area) + area / (1 + area)
    variance = area * (1 - area) * (1 + (n / 2 - 1) * spread) / (ones * (n - ones))
    width = 2 * stats.norm.ppf(0.975) * math.sqrt(variance)
    assert width == pytest.approx(0.1, rel=0.01)
    assert um.examples_needed(p, auroc_width=0.05) > 3 * n


def clustered(rng, number=60, correlation=0.5, shared=False, sizes=(1, 15)):
    """Returns outcomes, calibrated scores and clusters of different sizes."""
    ids = np.repeat(np.arange(number), rng.integers(*sizes, number))
    p = (
        rng.uniform(0.3, 0.9, number)[ids]
        if shared
        else rng.uniform(0.3, 0.9, len(ids))
    )
    z = correlation**0.5 * rng.normal(size=number)[ids]
    z += (1 - correlation) ** 0.5 * rng.normal(size=len(ids))
    return (stats.norm.cdf(z) < p).astype(int), p, ids


def test_the_moments_of_clusters_are_those_of_a_loop_over_pairs(rng):
    labels, p, ids = clustered(rng, 12)
    rho, bins = 0.3, (p * 4).astype(int)
    table = ClusterTable(Clusters(ids, 12), bins, 4)
    found = clustered_bins(table, p, rho)
    total, squares = np.zeros((2, 4, 4))
    for c in range(12):
        own = np.zeros((4, 4))
        for i in np.flatnonzero(ids == c):
            for j in np.flatnonzero(ids == c):
                spread = math.sqrt(p[i] * (1 - p[i]) * p[j] * (1 - p[j]))
                own[bins[i], bins[j]] += spread * (1.0 if i == j else rho)
        total, squares = total + own, squares + own**2
    np.testing.assert_allclose(found.covariance, total)
    np.testing.assert_allclose(found.own_squares, squares)
    # The intraclass correlation, from pairs of examples.
    products, numbers, apart, others = np.zeros((4, 4, 4))
    possible = 0.0
    u = labels - p
    for i in range(len(p)):
        for j in range(len(p)):
            where = bins[i], bins[j]
            if ids[i] != ids[j]:
                apart[where] += u[i] * u[j]
                others[where] += 1
            elif i != j:
                products[where] += u[i] * u[j]
                numbers[where] += 1
                possible += math.sqrt(p[i] * (1 - p[i]) * p[j] * (1 - p[j]))
    gaps = apart / np.maximum(others, 1)
    expected = np.sum(products - numbers * gaps) / possible
    assert intraclass_correlation(table, p, labels) == pytest.approx(expected)


@pytest.mark.parametrize("shared", [True, False])
def test_more_correlation_hides_larger_errors(rng, shared):
    labels, p, ids = clustered(rng, shared=shared)

    def smallest(rho):
        given = {"clusters": ids, "intraclass_correlation": rho}
        return um.smallest_detectable_error(p, **given)

    errors = [smallest(rho) for rho in (0.0, 0.1, 0.5, 1.0)]
    assert sorted(errors) == errors
    assert errors[-1] > 1.3 * um.smallest_detectable_error(p)
    assert errors[0] > 0.99 * um.smallest_detectable_error(p)
    # From labels, the correlation is estimated.
    found = um.smallest_detectable_error(p, clusters=ids, labels=labels)
    assert errors[0] <= found <= errors[-1]
    given = {"confidences": p, "clusters": ids, "correct": labels}
    assert um.smallest_detectable_error(**given) == found


def test_clusters_of_one_example_are_independent_examples(rng):
    p = rng.uniform(size=200)
    given = {"clusters": rng.permutation(200), "intraclass_correlation": 0.7}
    assert um.smallest_detectable_error(p, **given) == um.smallest_detectable_error(p)
    for aim in ({"error": 0.1}, {"ratio_width": 0.2}, {"slope_width": 0.5}):
        expected = um.examples_needed(p, **aim)
        assert um.examples_needed(p, **aim, **given) == expected


def test_as_many_clusters_as_are_needed_show_the_error(rng):
    _, p, ids = clustered(rng, 100)
    design = {"clusters": ids, "intraclass_correlation": 0.4}
    error = um.smallest_detectable_error(p, **design)
    n = um.examples_needed(p, error=error, **design)
    assert n == pytest.approx(len(p), abs=2)
    one_example = {"clusters": [0, 0, 1], "intraclass_correlation": 0.4}
    with pytest.warns(UserWarning, match="2 clusters"):
        found = um.smallest_detectable_error([0.2, 0.2, 0.6], **one_example)
    assert found == math.inf


@pytest.mark.parametrize("aim", ["ratio_width", "slope_width", "auroc_width"])
def test_copies_in_a_cluster_count_once(rng, aim):
    p = special.expit(rng.normal(-1, 1.5, 100))
    three = {"clusters": np.arange(300) // 3, "intraclass_correlation": 1.0}
    n = um.examples_needed(np.repeat(p, 3), **{aim: 0.2}, **three)
    assert n == pytest.approx(3 * um.examples_needed(p, **{aim: 0.2}), rel=0.01)


def test_the_design_effect_is_that_of_an_interval(rng):
    labels, p, ids = clustered(rng, 3000, correlation=0.6, shared=True)
    alone = um.examples_needed(p, ratio_width=0.1)
    n = um.examples_needed(p, ratio_width=0.1, clusters=ids, labels=labels)
    interval = um.observed_expected_ratio(labels, p, clusters=ids)
    assert n / alone == pytest.approx(interval.design_effect, rel=0.2)
    alone = um.examples_needed(p, auroc_width=0.1)
    n = um.examples_needed(p, auroc_width=0.1, clusters=ids, labels=labels)
    interval = um.auroc_interval(labels, p, clusters=ids)
    assert n / alone == pytest.approx(interval.design_effect, rel=0.2)


def test_the_power_is_that_of_simulated_intervals_of_clusters(rng):
    shown, draws = 0, 200
    for _ in range(draws):
        labels, p, ids = clustered(rng, 150)
        error = um.smallest_detectable_error(p, clusters=ids, labels=labels)
        z = 0.5**0.5 * (rng.normal(size=150)[ids] + rng.normal(size=len(ids)))
        came = stats.norm.cdf(z) < p - error
        data = {"positive_class": True, "clusters": ids}
        shown += um.calibration_error_interval(came, p, **data).lower > 0
    low, high = (stats.binom.ppf(q, draws, 0.8) for q in (1e-6, 1 - 1e-6))
    assert low - 0.08 * draws <= shown <= high + 0.08 * draws


BAD = {
    "no forecasts": (um.smallest_detectable_error, {}, "`probabilities`, `logits`"),
    "two": (
        um.smallest_detectable_error,
        {"probabilities": [0.5], "confidences": [0.5]},
        "Exactly one of",
    ),
    "range": (um.smallest_detectable_error, {"confidences": [1.5]}, "`confidences`"),
    "power": (
        um.smallest_detectable_error,
        {"confidences": [0.5], "power": 1},
        "`power`",
    ),
    "no aim": (um.examples_needed, {}, "Exactly one of `error`"),
    "aims": (um.examples_needed, {"error": 0.1, "auroc_width": 0.1}, "Exactly one of"),
    "error": (um.examples_needed, {"error": 0}, "`error`"),
    "tiny": (um.examples_needed, {"error": 1e-12}, "`error` must be larger"),
    "width": (
        um.examples_needed,
        {"probabilities": [0.5], "ratio_width": -1},
        "`ratio_width` must be finite and above 0",
    ),
    "slope": (
        um.examples_needed,
        {"probabilities": [0.5, 0.5], "slope_width": 1},
        "`probabilities` must be of different sizes",
    ),
    "sure": (
        um.examples_needed,
        {"probabilities": [1.0, 1.0], "ratio_width": 1},
        "neither all 0 nor all 1",
    ),
    "no correlation": (
        um.smallest_detectable_error,
        {"confidences": [0.5, 0.5], "clusters": [0, 1]},
        "With `clusters`, exactly one of `intraclass_correlation`",
    ),
    "two correlations": (
        um.examples_needed,
        {
            "error": 0.1,
            "confidences": [0.5, 0.5],
            "clusters": [0, 1],
            "correct": [0, 1],
            "intraclass_correlation": 0.1,
        },
        "Received: `intraclass_correlation` and `correct`",
    ),
    "no clusters": (
        um.smallest_detectable_error,
        {"confidences": [0.5], "correct": [1]},
        "`correct` is for `clusters`",
    ),
    "correlation": (
        um.smallest_detectable_error,
        {"confidences": [0.5], "clusters": [0], "intraclass_correlation": 1.5},
        "`intraclass_correlation` must be in",
    ),
    "clusters alone": (
        um.examples_needed,
        {"error": 0.1, "clusters": [0, 1], "intraclass_correlation": 0.1},
        "Exactly one of `prob",
    ),
    "none": (um.examples_needed, {"auroc_width": 0.1}, "Exactly one of `prob"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_say_what_is_wrong(name):
    function, given, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        function(**given)
