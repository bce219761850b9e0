"""Gaps of groups whose examples are in clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

import uncertainty_metrics.numpy as um
from tests.numpy.test_clustered_calibration import clustered
from uncertainty_metrics.numpy.calibration.watching import _outcome_counts


def table_of(labels, scores, ids, groups, **options):
    options = {"clusters": ids, "min_examples": 5, **options}
    return um.calibration_by_group(labels, scores, groups={"g": groups}, **options)


def test_the_p_value_is_that_of_sums_of_clusters_in_a_loop(rng):
    labels, scores, ids = clustered(rng, 60, error=0.1)
    groups = rng.integers(3, size=len(ids))
    table = table_of(labels, scores, ids, groups)
    assert table.num_clusters == 60
    for row in table:
        rows = groups == row.attributes["g"]
        sums = np.array(
            [np.sum((labels - scores)[rows & (ids == c)]) for c in np.unique(ids[rows])]
        )
        number = len(sums)
        error = np.sqrt(np.sum(sums**2) * number / (number - 1))
        expected = 2 * stats.t.sf(abs(sums.sum()) / error, number - 1)
        effect = np.sum(sums**2) / np.sum((labels - scores)[rows] ** 2)
        size = rows.sum() / max(effect, 1)
        values, masses = np.unique(scores[rows], return_counts=True)
        exact = _outcome_counts.p_of_effective(values, masses, size, row.gap)
        assert row.p_value == pytest.approx(max(expected, exact))


def test_the_interval_holds_the_gaps_that_pass_the_test(rng):
    labels, scores, ids = clustered(rng, 80, error=0.1)
    (row,) = table_of(labels, scores, ids, ["all"] * len(ids), level=0.9)
    sums = np.bincount(ids, labels - scores)
    sizes = np.bincount(ids)

    def excess(gap):
        moved = sums - gap * sizes
        error = np.sqrt(np.sum(moved**2) * 80 / 79)
        return abs(moved.sum()) / error - stats.t.ppf(0.95, 79)

    lower = optimize.brentq(excess, row.gap - 0.5, row.gap)
    upper = optimize.brentq(excess, row.gap, row.gap + 0.5)
    # Or that of Wilson, if this is wider.
    assert row.lower <= lower + 1e-9
    assert row.upper >= upper - 1e-9
    assert row.upper - row.lower < 1.2 * (upper - lower)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("high", [False, True])
def test_rows_doubled_in_their_clusters_change_no_group(rng, alone, high):
    labels, scores, ids = clustered(rng)
    if high:
        scores = 0.9 + scores / 20
    if alone:
        ids = np.arange(len(ids))
    groups = rng.integers(2, size=len(ids))
    expected = table_of(labels, scores, ids, groups)
    doubled = (np.repeat(values, 2) for values in (labels, scores, ids, groups))
    actual = table_of(*doubled, min_examples=10)
    assert [row.name for row in actual] == [row.name for row in expected]
    for one, two in zip(expected, actual, strict=True):
        assert two[3:] == pytest.approx(one[3:], abs=1e-9)


def test_clusters_of_one_example_give_the_table_without_clusters(rng):
    labels, scores, ids = clustered(rng)
    groups = rng.integers(3, size=len(ids))
    expected = table_of(labels, scores, None, groups)
    actual = table_of(labels, scores, rng.permutation(len(ids)), groups)
    assert actual.rows == expected.rows
    assert actual.design_effect == 1
    assert expected.num_clusters is expected.design_effect is None


def test_a_group_of_one_cluster_is_not_tested(rng):
    labels, scores, ids = clustered(rng)
    groups = np.where(ids == np.argmax(np.bincount(ids)), "one", "others")
    table = table_of(labels, scores, ids, groups)
    assert [row.name for row in table.tested] == ["g=others"]
    one = table[1]
    assert (one.lower, one.upper) == (-one.mean_score, 1 - one.mean_score)


def test_names_of_clusters_order_and_equal_weights_change_nothing(rng):
    labels, scores, ids = clustered(rng)
    groups = rng.integers(3, size=len(ids))
    expected = table_of(labels, scores, ids, groups)
    order = rng.permutation(len(ids))
    actual = table_of(
        labels[order],
        scores[order],
        [f"q{i}" for i in ids[order]],
        groups[order],
        sample_weight=np.full(len(ids), 0.3),
    )
    for one, two in zip(expected, actual, strict=True):
        assert two[3:] == pytest.approx(one[3:], abs=1e-9)


@pytest.mark.parametrize("high", [False, True])
def test_a_calibrated_model_of_dependent_examples_is_rarely_accused(rng, high):
    draws, found, without = 150, 0, 0
    for _ in range(draws):
        ids = np.repeat(np.arange(60), rng.integers(1, 20, 60))
        scores = rng.uniform(0.9 if high else 0.5, 0.99, len(ids))
        latent = np.sqrt(0.9) * rng.normal(size=60)[ids]
        latent += np.sqrt(0.1) * rng.normal(size=len(ids))
        labels = (stats.norm.cdf(latent) < scores).astype(int)
        groups = rng.integers(3, size=60)[ids]
        found += len(table_of(labels, scores, ids, groups).miscalibrated) > 0
        without += len(table_of(labels, scores, None, groups).miscalibrated) > 0
    assert stats.binomtest(found, draws, 0.07, "greater").pvalue > 1e-5
    assert without > 0.2 * draws
