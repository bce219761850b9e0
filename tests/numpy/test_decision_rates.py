"""Sensitivity, specificity and predictive values against naive counts, roots of the
equations of their intervals, and simulated coverage.
"""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import sklearn.metrics

import uncertainty_metrics.numpy as um

RATES = {
    "sensitivity": um.sensitivity,
    "specificity": um.specificity,
    "positive": um.positive_predictive_value,
    "negative": um.negative_predictive_value,
}


def members_and_hits(name, labels, scores, threshold):
    """Returns which examples a rate is of, and which of them are hits."""
    decided = scores >= threshold
    right = decided == (labels == 1)
    members = {
        "sensitivity": labels == 1,
        "specificity": labels == 0,
        "positive": decided,
        "negative": ~decided,
    }
    return members[name], right


def roots(share, inverse, quantile):
    """Returns the q with (share - q)^2 = quantile^2 q (1 - q) `inverse`, by search; the
    share must not be 0 or 1.
    """

    def excess(q):
        return (share - q) ** 2 - quantile**2 * q * (1 - q) * inverse

    return tuple(
        scipy.optimize.brentq(excess, *sorted((share, end)), xtol=1e-14)
        for end in (0, 1)
    )


def data(rng, n=60):
    return rng.integers(0, 2, n), np.round(rng.normal(size=n), 1)


def test_rates_are_those_of_the_confusion_matrix(rng):
    labels, scores = data(rng, 200)
    decided = scores >= 0.1
    given = labels, decided
    expected = {
        "sensitivity": sklearn.metrics.recall_score(*given),
        "specificity": sklearn.metrics.recall_score(*given, pos_label=0),
        "positive": sklearn.metrics.precision_score(*given),
        "negative": sklearn.metrics.precision_score(*given, pos_label=0),
    }
    for name, rate in RATES.items():
        found = rate(labels, scores, 0.1)
        assert found.estimate == pytest.approx(expected[name], abs=1e-12)
        # Integers and float32 are compared in their own type.
        single = rate(labels, scores.astype(np.float32), 0.1)
        assert tuple(single) == tuple(found)


@pytest.mark.parametrize("name", RATES)
def test_ends_are_wilsons(name, rng):
    labels, scores = data(rng)
    level = rng.uniform(0.5, 0.99)
    members, hits = members_and_hits(name, labels, scores, 0.1)
    test = scipy.stats.binomtest(int(hits[members].sum()), int(members.sum()))
    expected = test.proportion_ci(level, method="wilson")
    found = RATES[name](labels, scores, 0.1, level=level)
    assert found.lower == pytest.approx(expected.low, abs=1e-12)
    assert found.upper == pytest.approx(expected.high, abs=1e-12)
    assert found.num_clusters is None
    # Weights count examples, and a weight of 0 leaves one out.
    weights = rng.integers(0, 4, len(labels))
    again = np.repeat(np.arange(len(labels)), weights)
    weighted = RATES[name](labels, scores, 0.1, sample_weight=weights)
    repeated = RATES[name](labels[again], scores[again], 0.1)
    assert tuple(weighted) == pytest.approx(tuple(repeated), abs=1e-12)
    ignored = np.where(weights == 0, -1, labels)
    kept = RATES[name](labels[weights > 0], scores[weights > 0], 0.1)
    assert tuple(RATES[name](ignored, scores, 0.1, ignore_index=-1)) == tuple(kept)


@pytest.mark.parametrize("name", RATES)
def test_ends_with_clusters_solve_their_equation(name, rng):
    labels, scores = data(rng, 400)
    ids = rng.integers(0, 40, 400)
    weights = rng.integers(0, 4, 400)
    members, hits = members_and_hits(name, labels, scores, 0.1)
    members &= weights > 0
    found = RATES[name](labels, scores, 0.1, sample_weight=weights, clusters=ids)
    # Of each cluster, one by one.
    here = np.unique(ids[members])
    masses = np.array([weights[members & (ids == c)].sum() for c in here], float)
    sums = np.array([weights[members & hits & (ids == c)].sum() for c in here], float)
    share, mass, number = sums.sum() / masses.sum(), masses.sum(), len(here)
    variance = np.sum((sums - share * masses) ** 2) / mass**2 * number / (number - 1)
    own, unit = variance / (share * (1 - share)), np.sum(masses**2) / mass**2
    rare = np.sum((sums if share <= 0.5 else masses - sums) > 0)
    inverse = max(own, (rare * own + unit) / (rare + 1))
    expected = roots(share, inverse, scipy.stats.t.ppf(0.975, number - 1))
    assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-9)
    assert found.num_clusters == number
    assert found.design_effect == pytest.approx(own * mass)
    named = [f"patient {i}" for i in ids]
    again = RATES[name](labels, scores, 0.1, sample_weight=weights, clusters=named)
    assert tuple(again) == pytest.approx(tuple(found), abs=1e-12)


def test_clusters_of_one_example_or_of_copies_are_independent(rng):
    labels, scores = data(rng, 200)
    for rate in RATES.values():
        alone = rate(labels, scores, 0.1)
        once = rate(labels, scores, 0.1, clusters=np.arange(200))
        copies = [np.repeat(values, 3) for values in (labels, scores)]
        ids = np.repeat(np.arange(200), 3)
        for found in (once, rate(*copies, 0.1, clusters=ids)):
            assert tuple(found) == tuple(alone)
            assert found.design_effect == 1
        # Every row doubled inside its cluster changes nothing.
        of_two = rate(labels, scores, 0.1, clusters=np.arange(200) // 2)
        ids = np.repeat(np.arange(200) // 2, 2)
        doubled = rate(*(np.repeat(v, 2) for v in (labels, scores)), 0.1, clusters=ids)
        assert tuple(doubled) == pytest.approx(tuple(of_two), abs=1e-12)


def test_a_share_of_0_or_1_counts_clusters():
    sizes = np.arange(1, 21)
    labels, ids = np.ones(210, int), np.repeat(np.arange(20), sizes)
    number = 210**2 / np.sum(sizes**2)
    for score, share in ((1.0, 1.0), (0.0, 0.0)):
        found = um.sensitivity(labels, np.full(210, score), 0.5, clusters=ids)
        # (1 - q)^2 = t^2 q (1 - q) / n for the lower end of a share of 1.
        other = 1 / (1 + scipy.stats.t.ppf(0.975, 19) ** 2 / number)
        expected = (other, 1.0) if share else (0.0, 1 - other)
        assert tuple(found)[::2] == pytest.approx(expected, abs=1e-9)
        assert found.estimate == share
        assert found.design_effect is None


def test_what_is_undefined_is_an_error():
    labels, scores = [0, 0, 1], [0.1, 0.2, 0.3]
    for wrong, message in (
        (lambda: um.sensitivity([0, 0, 0], scores, 0.5), "`labels` must be 1 for"),
        (lambda: um.specificity([1, 1, 1], scores, 0.5), "`labels` must be 0 for"),
        (
            lambda: um.positive_predictive_value(labels, scores, 0.5),
            "`scores` must be >= `threshold` for at least one example",
        ),
        (
            lambda: um.negative_predictive_value(labels, scores, 0.0),
            "`scores` must be < `threshold` for at least one example",
        ),
        (lambda: um.sensitivity(labels, scores, np.nan), "`threshold` must be a fin"),
        (lambda: um.sensitivity(labels, scores, "0.5"), "`threshold` must be a fin"),
        (
            lambda: um.sensitivity(labels, scores, 0.1, clusters=[1, 2, 3]),
            "`clusters` must hold at least two ids",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_intervals_of_clusters_hold_the_share_often_enough(share, correlation, rng):
    held, runs = 0, 300
    for _ in range(runs):
        ids = np.repeat(np.arange(50), rng.integers(1, 51, 50))
        latent = np.sqrt(correlation) * rng.normal(size=50)[ids]
        latent += np.sqrt(1 - correlation) * rng.normal(size=len(ids))
        found = um.sensitivity(
            np.ones(len(ids), int),
            -latent,
            -scipy.stats.norm.ppf(share),
            clusters=ids,
        )
        held += found.lower <= share <= found.upper
    assert scipy.stats.binom.cdf(held, runs, 0.93) > 1e-6
