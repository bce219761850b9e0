"""Intervals of AUROCs and of their differences, against all pairs and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um

Z = 4.5  # The limit in standard errors, for any seed.


def drawn(rng, n=60, ties=True):
    """Makes labels, and two scores that depend on them and on each other."""
    labels = (rng.random(n) < 0.4).astype(int)
    labels[:3], labels[3:6] = 0, 1
    common = labels + rng.normal(size=n)
    first, second = common + rng.normal(size=n), 0.5 * common + rng.normal(size=n)
    return (labels, first.round(), second.round()) if ties else (labels, first, second)


def pairs(labels, scores):
    """Returns [m, n]: 1 if the positive example has the larger score, 1/2 if equal."""
    x, y = scores[labels == 1][:, None], scores[labels == 0]
    return (x > y) + (x == y) / 2


def delong(wins):
    """Returns the mean and the parts of DeLong's variance for pairs [m, n], or their
    differences.
    """
    of_positives, of_negatives = wins.mean(axis=1), wins.mean(axis=0)
    parts = [np.var(v, ddof=1) / len(v) for v in (of_positives, of_negatives)]
    return wins.mean(), parts


def relative_variance(auroc, variance, m, n):
    """Returns the variance over A (1 - A) that is not too small if few are wrong."""
    s = (1 - auroc) / (2 - auroc) + auroc / (1 + auroc)
    hanley = (1 + ((m + n) / 2 - 1) * s) / (m * n)
    if variance == 0:
        return hanley
    own, wrong = variance / auroc / (1 - auroc), min(m, n) * min(auroc, 1 - auroc)
    return max(own, (wrong * own + 10 * hanley) / (wrong + 10))


def wilson(auroc, variance, m, n, level=0.95):
    """Returns the ends of the interval, as roots of (theta - A)^2 = z^2 theta (1 -
    theta) / N.
    """
    k = min(m, n)
    inverse = (1 + 2 / k) * relative_variance(auroc, variance, m, n)
    share = stats.norm.ppf((1 + level) / 2) ** 2 * min(inverse, 1 / k)
    roots = np.roots([1 + share, -2 * auroc - share, auroc**2])
    return roots.min(), auroc, roots.max()


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_equal_sums_over_all_pairs(rng, weighted, ties, level):
    labels, first, second = drawn(rng, ties=ties)
    weights = rng.integers(0, 4, len(labels)) if weighted else None
    times = np.repeat(np.arange(len(labels)), 1 if weights is None else weights)
    options = {"level": level, "sample_weight": weights}

    wins = [pairs(labels[times], scores[times]) for scores in (first, second)]
    m, n = wins[0].shape
    found = um.auroc_interval(labels, first, **options)
    auroc, parts = delong(wins[0])
    np.testing.assert_allclose(found, wilson(auroc, sum(parts), m, n, level), atol=1e-9)
    assert found.standard_error == pytest.approx(math.sqrt(sum(parts)))
    assert found.estimate == pytest.approx(
        um.auroc(labels, first, sample_weight=weights), abs=1e-14
    )

    mean, parts = delong(wins[0] - wins[1])
    apart = [(each.mean(), sum(delong(each)[1])) for each in wins]
    ratio = sum(a * (1 - a) * relative_variance(a, v, m, n) for a, v in apart)
    ratio /= sum(v for _, v in apart)
    error = math.sqrt(sum(parts) * ratio)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))
    t = stats.t(freedom)
    half = t.ppf((1 + level) / 2) * error
    found = um.auroc_difference(labels, first, second, **options)
    expected = [mean - half, mean, mean + half]
    np.testing.assert_allclose(found[:3], np.clip(expected, -1, 1), atol=1e-9)
    assert found.p_value == pytest.approx(2 * t.sf(abs(mean) / error), abs=1e-9)
    assert found.standard_error == pytest.approx(math.sqrt(sum(parts)))


def test_other_forms_of_the_same_data_give_the_same_intervals(rng):
    labels, first, second = drawn(rng)
    found = um.auroc_difference(labels, first, second)
    turned = um.auroc_difference(labels, second, first)
    np.testing.assert_allclose(turned[:3], [-end for end in found[2::-1]])
    assert turned.p_value == pytest.approx(found.p_value)
    # An increasing function of the scores changes nothing. Nor does an exchange of the
    # classes, if the scores change their sign.
    np.testing.assert_allclose(
        um.auroc_interval(1 - labels, -np.exp(first)), um.auroc_interval(labels, first)
    )
    more = np.append(labels, [7, 7])
    scores = [np.append(of, [0.0, np.nan]) for of in (first, second)]
    ignored = um.auroc_difference(more, *scores, ignore_index=7)
    assert ignored == found


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 50), (5, 5), (20, 300)])
def test_interval_has_a_length_if_the_variance_is_0(m, n):
    """So the AUROC of separated classes or of constant scores is not certain."""
    labels = np.repeat([1, 0], [m, n])
    for scores, auroc in ((labels, 1.0), (-labels, 0.0), (0 * labels, 0.5)):
        found = um.auroc_interval(labels, scores, level=0.9)
        np.testing.assert_allclose(found, wilson(auroc, 0, m, n, 0.9), atol=1e-9)
        assert found.upper - found.lower > 0.3 / (m + n)
        assert found.standard_error == 0


def test_interval_by_hand():
    # For one pair and A = 1, (1 - t)^2 = z^2 t (1 - t), so t = 1 / (1 + z^2). This is
    # Wilson's interval of 1 success in 1 trial.
    lower, *_ = um.auroc_interval([0, 1], [0, 1])
    assert lower == pytest.approx(1 / (1 + stats.norm.ppf(0.975) ** 2))


def test_interval_if_a_class_has_one_example(rng):
    labels = np.repeat([1, 0], [1, 40])
    scores = rng.normal(size=41)
    scores[0] = np.median(scores)
    found = um.auroc_interval(labels, scores)
    expected = wilson(um.auroc(labels, scores), 0, 1, 40)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    difference = um.auroc_difference(labels, scores, rng.normal(size=41))
    assert difference.upper - difference.lower > 0.5
    # A weight counts as a number of examples; less than one example has no variance.
    labels, scores = np.array([0, 0, 1, 1]), [1, 3, 2, 4]
    few = um.auroc_interval(labels, scores, sample_weight=[1, 1, 0.25, 0.25])
    np.testing.assert_allclose(few, wilson(0.75, 0, 0.5, 2), atol=1e-9)


def test_differences_without_variance_use_the_sides_of_the_intervals(rng):
    labels, first, _ = drawn(rng)
    # If both scores have the same order, the difference is 0 for any examples.
    assert um.auroc_difference(labels, first, 2 * first) == (0, 0, 0, 1)
    m, n = labels.sum(), len(labels) - labels.sum()
    z = stats.norm.ppf(0.975)

    def spread(auroc):
        lower, _, upper = wilson(auroc, 0, m, n)
        return max(upper - auroc, auroc - lower) / z

    constant = 0 * labels
    for scores, other, aurocs in (
        (labels, labels, (1, 1)),
        (labels, labels + 0.1 * rng.random(len(labels)), (1, 1)),
        (labels, constant, (1, 0.5)),
        (constant, -labels, (0.5, 0)),
    ):
        found = um.auroc_difference(labels, scores, other)
        mean, error = aurocs[0] - aurocs[1], math.hypot(*map(spread, aurocs))
        expected = np.clip([mean - z * error, mean, mean + z * error], -1, 1)
        np.testing.assert_allclose(found[:3], expected, atol=1e-8)
        assert found.p_value == pytest.approx(2 * stats.norm.sf(mean / error))


def test_constant_scores_add_no_uncertainty_to_a_difference(rng):
    labels, first, _ = drawn(rng, ties=False)
    m, n = labels.sum(), len(labels) - labels.sum()
    found = um.auroc_difference(labels, first, 0 * first)
    auroc, parts = delong(pairs(labels, first))
    variance = auroc * (1 - auroc) * relative_variance(auroc, sum(parts), m, n)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))
    p_value = 2 * stats.t.sf(abs(auroc - 0.5) / math.sqrt(variance), freedom)
    assert found.p_value == pytest.approx(p_value)


def test_bad_input_raises():
    for label in (0, 1):
        with pytest.raises(ValueError, match=rf"`labels` must be {1 - label} for at"):
            um.auroc_interval([label] * 3, [1, 2, 3])
        with pytest.raises(ValueError, match=rf"`labels` must be {1 - label} for at"):
            um.auroc_difference([label] * 3, [1, 2, 3], [1, 2, 3])
    for name in ("scores_1", "scores_2"):
        given = {"scores_1": [0, 1], "scores_2": [0, 1]}
        for wrong, words in (([0, 1, 2], "shape"), ([0, np.nan], "finite")):
            with pytest.raises(ValueError, match=rf"`{name}` must be .*{words}"):
                um.auroc_difference([0, 1], **given | {name: wrong})
    with pytest.raises(ValueError, match=r"`level` must be in \(0, 1\)"):
        um.auroc_difference([0, 1], [0, 1], [0, 1], level=95)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_coverage_and_level_of_correlated_scores(shift, rng):
    """The scores are Normal, so the AUROC of both is Phi(shift / sqrt(2))."""
    repeats, m, n = 400, 40, 120
    truth = stats.norm.cdf(shift / math.sqrt(2))
    labels = np.repeat([1, 0], [m, n])
    held = rejected = 0
    for _ in range(repeats):
        common = rng.normal(size=m + n)
        first, second = (
            shift * labels + 0.8 * common + 0.6 * rng.normal(size=m + n)
            for _ in range(2)
        )
        lower, _, upper = um.auroc_interval(labels, first)
        held += lower <= truth <= upper
        found = um.auroc_difference(labels, first, second)
        assert (found.p_value < 0.05) == (not found.lower <= 0 <= found.upper)
        rejected += found.p_value < 0.05
    noise = Z * math.sqrt(0.95 * 0.05 / repeats)
    assert abs(held / repeats - 0.95) < noise + 0.02
    assert abs(rejected / repeats - 0.05) < noise + 0.02


@pytest.mark.parametrize(
    ("auroc", "m", "n"), [(0.5, 2, 20), (0.9, 5, 50), (0.97, 20, 200), (0.99, 50, 500)]
)
def test_coverage_with_few_positive_examples_or_few_on_the_wrong_side(auroc, m, n, rng):
    repeats, labels = 800, np.repeat([1, 0], [m, n])
    shift = math.sqrt(2) * stats.norm.ppf(auroc) * labels
    held = 0
    for _ in range(repeats):
        lower, _, upper = um.auroc_interval(labels, shift + rng.normal(size=m + n))
        held += lower <= auroc <= upper
    assert held / repeats > 0.95 - Z * math.sqrt(0.95 * 0.05 / repeats)


@pytest.mark.parametrize(("m", "n"), [(3, 97), (5, 95)])
def test_level_of_the_difference_with_few_events(m, n, rng):
    repeats, labels, rejected = 800, np.repeat([1, 0], [m, n]), 0
    for _ in range(repeats):
        common = 0.7 * labels + rng.normal(size=m + n)
        first, second = (common + rng.normal(size=m + n) for _ in range(2))
        rejected += um.auroc_difference(labels, first, second).p_value < 0.05
    assert rejected / repeats < 0.05 + Z * math.sqrt(0.95 * 0.05 / repeats)
