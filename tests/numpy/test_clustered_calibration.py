"""The l2 calibration error and its interval for examples in clusters."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE
from uncertainty_metrics.numpy import _clusters, _examples
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _clustered_error,
)
from uncertainty_metrics.numpy.calibration.without_bins import _clustered_test


def clustered(rng, num_clusters=60, correlation=0.5, error=0.0, shared=False):
    """Returns outcomes, scores and clusters of unequal sizes, in random order."""
    sizes = rng.integers(1, 20, num_clusters)
    ids = np.repeat(np.arange(num_clusters), sizes)
    scores = rng.uniform(0.5, 0.95, num_clusters)[ids]
    if not shared:
        scores = rng.uniform(0.5, 0.95, len(ids))
    latent = np.sqrt(correlation) * rng.normal(size=num_clusters)[ids]
    latent += np.sqrt(1 - correlation) * rng.normal(size=len(ids))
    labels = (stats.norm.cdf(latent) < scores - error).astype(int)
    order = rng.permutation(len(ids))
    return labels[order], scores[order], ids[order]


def naive_square(labels, scores, ids, bins, weights=None):
    """Returns the squared error by loops over pairs of clusters, in fractions."""
    weights = np.ones(len(labels)) if weights is None else weights
    total, square = Fraction(0), Fraction(0)
    for b in np.unique(bins):
        parts = []
        for c in np.unique(ids[bins == b]):
            rows = np.flatnonzero((bins == b) & (ids == c))
            w = [Fraction(float(weights[i])) for i in rows]
            u = [Fraction(int(labels[i])) - Fraction(float(scores[i])) for i in rows]
            parts.append((sum(w), sum(x * y for x, y in zip(w, u, strict=True))))
        mass = sum(n for n, _ in parts)
        total += mass
        products, pairs = Fraction(0), Fraction(0)
        for i, (n_i, s_i) in enumerate(parts):
            for n_j, s_j in parts[:i]:
                products, pairs = products + s_i * s_j, pairs + n_i * n_j
        own = sum(n**2 for n, _ in parts)
        if mass**2 > Fraction(3, 2) * own:
            square += mass * products / pairs
    return float(square / total)


def even_bins(scores, num_bins):
    return np.ceil(scores * num_bins).astype(int)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("function", ["debiased", "interval"])
def test_the_error_is_that_of_pairs_of_different_clusters(rng, function, weighted):
    labels, scores, ids = clustered(rng, 25, error=0.2)
    weights = rng.integers(1, 5, len(labels)) / 2 if weighted else None
    expected = naive_square(labels, scores, ids, even_bins(scores, 8), weights)
    options = {"binning_scheme": "even", "num_bins": 8, "clusters": ids}
    options["sample_weight"] = weights
    if function == "debiased":
        options["squared"] = True
        value = um.debiased_calibration_error(labels, scores, **options)
    else:
        value = um.calibration_error_interval(labels, scores, **options).estimate ** 2
        expected = max(expected, 0.0)
    assert value == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("class_conditional", [False, True])
def test_errors_of_all_classes_take_pairs_of_different_clusters(rng, class_conditional):
    ids = np.repeat(np.arange(30), 3)
    probabilities = rng.dirichlet(np.ones(3), len(ids))
    labels = rng.integers(3, size=len(ids))
    value = um.debiased_calibration_error(
        labels,
        probabilities,
        binning_scheme="even",
        num_bins=4,
        max_prob=False,
        class_conditional=class_conditional,
        squared=True,
        clusters=ids,
    )
    hits = labels[:, None] == np.arange(3)
    groups = range(3) if class_conditional else [slice(None)]
    expected = [
        naive_square(
            hits[:, g].reshape(-1),
            probabilities[:, g].reshape(-1),
            np.repeat(ids, 1 if class_conditional else 3),
            even_bins(probabilities[:, g].reshape(-1), 4),
        )
        for g in groups
    ]
    assert value == pytest.approx(np.mean(expected), abs=1e-14)


def test_clusters_of_one_example_give_the_value_without_clusters(rng):
    labels, scores, ids = clustered(rng, 20, error=0.1)
    own = rng.permutation(len(ids))
    for function in (um.calibration_error_interval, um.debiased_calibration_error):
        expected = function(labels, scores)
        assert function(labels, scores, clusters=own) == expected
    interval = um.calibration_error_interval(labels, scores, clusters=own)
    assert interval.num_clusters == len(own)
    assert interval.design_effect == pytest.approx(1)
    without = um.calibration_error_interval(labels, scores)
    assert without.num_clusters is without.design_effect is None


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_rows_doubled_in_their_clusters_change_nothing(rng, scheme, alone):
    labels, scores, ids = clustered(rng, error=0.15)
    if alone:
        ids = np.arange(len(ids))
    options = {"binning_scheme": scheme, "num_bins": 7}
    expected = um.calibration_error_interval(labels, scores, clusters=ids, **options)
    doubled = (np.repeat(values, 2) for values in (labels, scores, ids))
    labels2, scores2, ids2 = doubled
    actual = um.calibration_error_interval(labels2, scores2, clusters=ids2, **options)
    assert actual == pytest.approx(expected, abs=1e-12)
    assert actual.num_clusters == expected.num_clusters
    assert actual.design_effect == pytest.approx(2 * expected.design_effect, rel=0.3)
    weighted = um.calibration_error_interval(
        labels2,
        scores2,
        clusters=ids2,
        sample_weight=np.full(len(ids2), 0.3),
        **options,
    )
    assert weighted == pytest.approx(expected, abs=1e-12)


def difference_of_two(labels, scores, **options):
    return um.calibration_error_difference(
        scores, 0.3 + scores / 2, labels=labels, **options
    )


WITH_WEIGHTS = [
    difference_of_two,
    um.calibration_error_interval,
    um.calibration_intercept,
    um.calibration_slope,
    um.observed_expected_ratio,
    um.integrated_calibration_index,
    um.spiegelhalter_test,
    um.auroc_interval,
    um.debiased_calibration_error,
]


@pytest.mark.parametrize("function", WITH_WEIGHTS)
def test_a_weight_is_a_number_of_copies_in_the_cluster(rng, function):
    """Also if the cluster holds a single row: its copies depend on each other."""
    labels, scores, _ = clustered(rng, 20, error=0.1)
    own = np.arange(len(labels))
    weights = rng.integers(1, 4, len(own))
    twice = function(labels, scores, clusters=own, sample_weight=np.full(len(own), 2))
    np.testing.assert_allclose(twice, function(labels, scores), rtol=1e-9, atol=1e-9)
    actual = function(labels, scores, clusters=own, sample_weight=weights)
    rows = np.repeat(own, weights)
    repeated = function(labels[rows], scores[rows], clusters=rows)
    np.testing.assert_allclose(actual, repeated, rtol=1e-7, atol=1e-9)
    if function is not um.debiased_calibration_error:
        assert twice.design_effect == pytest.approx(2, rel=0.02)
        assert actual.design_effect == pytest.approx(repeated.design_effect)


def test_order_and_names_of_clusters_do_not_matter(rng):
    labels, scores, ids = clustered(rng, error=0.1)
    expected = um.calibration_error_interval(labels, scores, clusters=ids)
    order = rng.permutation(len(ids))
    names = [f"question {i}" for i in rng.permutation(60)[ids]]
    for rows, clusters in ((order, ids[order]), (slice(None), names)):
        actual = um.calibration_error_interval(
            labels[rows], scores[rows], clusters=clusters
        )
        assert actual == pytest.approx(expected, abs=1e-13)
        assert actual.design_effect == pytest.approx(expected.design_effect)


def test_examples_of_weight_0_and_the_ignored_label_have_no_clusters(rng):
    labels, scores, ids = clustered(rng)
    kept = ids < 40
    expected = um.calibration_error_interval(
        labels[kept], scores[kept], clusters=ids[kept]
    )
    for options in (
        {"labels": labels, "sample_weight": kept},
        {"labels": np.where(kept, labels, 9), "ignore_index": 9},
    ):
        actual = um.calibration_error_interval(
            probabilities=scores, clusters=ids, **options
        )
        assert actual == pytest.approx(expected, abs=1e-13)
        assert actual.num_clusters == 40


def test_the_covariance_is_that_of_sums_of_clusters_in_a_loop(rng):
    """One bin has a closed form; the variance of two bins is that of their sum."""
    labels, scores, ids = clustered(rng, 50, error=0.3)
    examples = _examples.examples(labels, scores, clusters=ids)
    spec = dataclasses.replace(OF_ONE_SCORE, num_bins=1).settled(True, False)
    found, _ = _clustered_error.moments(examples, examples.clusters, spec, 1.96, 0.95)
    residuals, gap = labels - scores, np.mean(labels - scores)
    sums = [np.sum(residuals[ids == c] - gap) / len(ids) for c in np.unique(ids)]
    sizes = np.bincount(ids) / len(ids)
    effective = 1 / np.sum(sizes**2)
    freedom = effective / (effective - 1)
    variance = freedom * np.sum(np.square(sums))
    assert found.of_data[0] == pytest.approx(2 * freedom * variance**2)
    assert found.of_data[1] == pytest.approx(4 * variance)
    assert found.spread == pytest.approx(0, abs=1e-20)


def test_small_blocks_of_clusters_give_the_same_interval(rng, monkeypatch):
    labels, scores, ids = clustered(rng, error=0.1)
    weights = rng.uniform(size=len(ids))
    options = {"clusters": ids, "sample_weight": weights}
    expected = um.calibration_error_interval(labels, scores, **options)
    monkeypatch.setattr(_clustered_error, "_BLOCK", 15 * 7)
    monkeypatch.setattr(_clustered_error, "_SMALL_BLOCK", 15 * 2)
    actual = um.calibration_error_interval(labels, scores, **options)
    assert actual == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("num_edges", [0, 1, 14, 3000])
def test_a_table_of_edges_finds_the_bins_of_a_search(rng, num_edges, dtype):
    scores = np.concatenate([rng.random(1000), [0, 1, 0.5]]).astype(dtype)
    inner = np.unique(rng.choice(scores, num_edges))
    np.testing.assert_array_equal(
        _binning.index_between(inner, scores), np.searchsorted(inner, scores, "left")
    )


def test_bins_of_one_cluster_count_nothing_in_the_estimate():
    scores = np.repeat([0.2, 0.8], 30)
    labels = np.repeat([1, 0], 30)
    ids = np.repeat([0, 1], 30)
    with pytest.warns(UserWarning, match="2 clusters"):
        interval = um.calibration_error_interval(
            labels, scores, clusters=ids, binning_scheme="even", num_bins=2
        )
    assert interval == (0, 0, 1)
    assert interval.num_clusters == 2
    assert interval.design_effect == 30  # Copies of one example.


def test_more_bins_than_a_matrix_can_hold_are_refused(rng):
    labels, scores, ids = clustered(rng)
    with pytest.raises(ValueError, match="`num_bins` must be at most 1000"):
        um.calibration_error_interval(labels, scores, clusters=ids, num_bins=1001)


@pytest.mark.parametrize("shared", [False, True])
def test_intervals_hold_the_error_of_dependent_examples(rng, shared):
    """At least 93%; without clusters a calibrated model is rejected more often."""
    draws, held, false, without = 150, 0, 0, 0
    for _ in range(draws):
        labels, scores, ids = clustered(rng, 60, 0.9, 0.1, shared)
        lower, _, upper = um.calibration_error_interval(labels, scores, clusters=ids)
        held += lower <= 0.1 <= upper
        labels, scores, ids = clustered(rng, 60, 0.9, 0.0, shared)
        false += um.calibration_error_interval(labels, scores, clusters=ids)[0] > 0
        without += um.calibration_error_interval(labels, scores)[0] > 0
    assert stats.binomtest(held, draws, 0.93, "less").pvalue > 1e-5
    assert stats.binomtest(false, draws, 0.07, "greater").pvalue > 1e-5
    assert without > 0.1 * draws


def test_wrong_clusters_are_refused(rng):
    labels, scores, ids = clustered(rng)
    for function in (um.calibration_error_interval, um.debiased_calibration_error):
        with pytest.raises(ValueError, match="clusters"):
            function(labels, scores, clusters=ids[:-1])
        with pytest.raises(ValueError, match="clusters"):
            function(labels, scores, clusters=np.where(ids == 3, np.nan, ids))


STATISTICS = ["gce", "ks", "kuiper", "smece", "atb", "spiegelhalter"]


def high(rng, num_clusters=60, correlation=0.5):
    """Returns calibrated outcomes with scores near 1, of which few are 0."""
    _, scores, ids = clustered(rng, num_clusters, correlation)
    scores = 0.9 + (scores - 0.5) / 5
    latent = np.sqrt(correlation) * rng.normal(size=num_clusters)[ids]
    latent += np.sqrt(1 - correlation) * rng.normal(size=len(ids))
    return (stats.norm.cdf(latent) < scores).astype(int), scores, ids


@pytest.mark.parametrize("draw", [clustered, high])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_rows_doubled_in_their_clusters_leave_the_p_value(rng, statistic, draw):
    labels, scores, ids = draw(rng)
    options = {"statistic": statistic, "num_resamples": 99, "seed": 1}
    expected = um.calibration_test(labels, scores, clusters=ids, **options)
    doubled = (np.repeat(values, 2) for values in (labels, scores, ids))
    labels2, scores2, ids2 = doubled
    actual = um.calibration_test(labels2, scores2, clusters=ids2, **options)
    assert actual.p_value == expected.p_value
    assert actual.num_clusters == expected.num_clusters == 60
    assert actual.design_effect == pytest.approx(2 * expected.design_effect)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_clusters_of_copies_of_one_example_give_the_test_without_clusters(
    rng, statistic
):
    labels, scores, _ = clustered(rng)
    options = {"statistic": statistic, "num_resamples": 99, "seed": 1}
    expected = um.calibration_test(labels, scores, **options)
    for times in (1, 2):
        repeated = (np.repeat(v, times) for v in (labels, scores))
        own = np.repeat([f"q{i}" for i in range(len(labels))], times)
        actual = um.calibration_test(*repeated, clusters=own, **options)
        assert actual == expected
        assert actual.num_clusters == len(labels)
        assert actual.design_effect == times
    assert expected.num_clusters is expected.design_effect is None


def test_flipped_sums_are_those_of_a_loop(rng, monkeypatch):
    labels, scores, ids = clustered(rng, 30)
    examples = _examples.examples(labels, scores, clusters=ids)
    spec = dataclasses.replace(OF_ONE_SCORE, num_bins=5).settled(True, False)
    statistics = _binning.bin_statistics(examples, spec)
    in_clusters = _clustered_test.of_examples(examples, spec, statistics)
    monkeypatch.setattr(_clusters, "_BLOCK", 100)
    drawn = list(in_clusters._flipped(7, np.random.default_rng(2)))
    signs = np.concatenate(
        list(_clusters.flipped_signs(np.random.default_rng(2), 30, 7))
    )
    assert len(drawn) == len(signs) == 7
    bins = even_bins(scores, 5) - 1
    for sums, sign in zip(drawn, signs, strict=True):
        flipped = np.zeros(5)
        for b, y, p, c in zip(bins, labels, scores, ids, strict=True):
            flipped[b] += p + sign[c] * (y - p)
        np.testing.assert_allclose(sums[0], flipped, atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_drawn_outcomes_have_the_forecasts_and_the_variance_of_the_data(rng, shared):
    labels, scores, ids = clustered(rng, 40, 0.6, shared=shared)
    examples = _examples.examples(labels, scores, clusters=ids)
    spec = dataclasses.replace(OF_ONE_SCORE, num_bins=1).settled(True, False)
    statistics = _binning.bin_statistics(examples, spec)
    in_clusters = _clustered_test.of_examples(examples, spec, statistics)
    drawn = np.array(list(in_clusters._drawn(4000, rng)))[:, 0, 0]
    share = in_clusters._share_together()
    together = 0.0
    for c in range(40):
        p = scores[ids == c]
        together += np.sum(np.minimum(p[:, None], p) - np.outer(p, p))
    apart = np.sum(scores * (1 - scores))
    variance = share * together + (1 - share) * apart
    assert 0 < share <= 1
    assert abs(drawn.mean() - scores.sum()) < 5 * np.sqrt(variance / 4000)
    assert drawn.var() == pytest.approx(variance, rel=0.2)
    if share < 1:
        assert variance == pytest.approx(in_clusters.design_effect * apart)


@pytest.mark.thorough
@pytest.mark.parametrize("draw", [clustered, high])
def test_the_test_keeps_its_level_for_dependent_examples(rng, draw):
    draws, rejected, without = 120, 0, 0
    for _ in range(draws):
        labels, scores, ids = draw(rng, 60, 0.9)
        options = {"num_resamples": 99, "seed": rng}
        test = um.calibration_test(labels, scores, clusters=ids, **options)
        rejected += test.p_value <= 0.05
        without += um.calibration_test(labels, scores, **options).p_value <= 0.05
    assert stats.binomtest(rejected, draws, 0.07, "greater").pvalue > 1e-5
    assert without > 0.2 * draws


def test_the_test_finds_errors_of_dependent_examples(rng):
    labels, scores, ids = clustered(rng, 300, 0.3, error=0.2)
    for statistic in STATISTICS[:-1]:
        test = um.calibration_test(
            labels, scores, clusters=ids, statistic=statistic, num_resamples=99
        )
        assert test.p_value == 0.01


def test_the_limit_of_many_examples_is_of_independent_ones(rng):
    labels, scores, ids = clustered(rng)
    with pytest.raises(ValueError, match="'resampling' with `clusters`"):
        um.calibration_test(
            labels, scores, clusters=ids, statistic="ks", method="asymptotic"
        )
