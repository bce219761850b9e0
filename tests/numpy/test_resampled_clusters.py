"""The bootstrap of whole clusters and of blocks."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _clusters, _resamples


def mean(x):
    return x.mean()


def test_whole_clusters_are_drawn(rng):
    ids = rng.permutation(np.repeat(np.arange(25), rng.integers(1, 9, 25)))
    clusters = _clusters.cluster_codes(ids, len(ids))
    kind = _resamples.Dependence(clusters)
    seen = np.zeros(25)
    for times in kind.draws(rng, len(ids), 400):
        of_clusters = [set(times[ids == c]) for c in range(25)]
        assert all(len(values) == 1 for values in of_clusters)
        drawn = np.array([values.pop() for values in of_clusters])
        assert drawn.sum() == 25
        seen += drawn
    assert np.all(np.abs(seen - 400) < 5.5 * 20)
    left_out = [np.unique(ids[times == 0]) for times in kind.jackknife(rng, len(ids))]
    assert sorted(np.concatenate(left_out)) == list(range(25))
    assert len(left_out) == 25


@pytest.mark.parametrize(("n", "block"), [(20, 4), (23, 4), (7, 3)])
def test_blocks_of_consecutive_examples_are_drawn(rng, n, block):
    kind = _resamples.Dependence(None, block)
    seen = np.zeros(n)
    for times in kind.draws(rng, n, 2000):
        assert times.sum() == n
        seen += times
    assert np.all(np.abs(seen - 2000) < 5.5 * np.sqrt(2000 * block))
    for times in kind.jackknife(rng, n):
        (rows,) = np.nonzero(times == 0)
        np.testing.assert_array_equal(np.diff(rows), 1)
        assert len(rows) in (block, block + 1)


def test_the_interval_of_a_mean_is_that_of_sums_of_clusters(rng):
    ids = np.repeat(np.arange(200), rng.integers(1, 9, 200))
    x = rng.normal(size=200)[ids] + 0.3 * rng.normal(size=len(ids))
    interval = um.bootstrap(mean, x=x, clusters=ids, num_resamples=2000, seed=rng)
    sums = np.bincount(ids, x - x.mean())
    error = np.sqrt(np.sum(sums**2)) / len(ids)
    assert interval.upper - interval.lower == pytest.approx(3.92 * error, rel=0.15)
    assert interval.num_clusters == 200
    alone = um.bootstrap(mean, x=x, num_resamples=200, seed=rng)
    assert alone.upper - alone.lower < 0.7 * (interval.upper - interval.lower)
    assert alone.num_clusters is None


@pytest.mark.thorough
def test_the_interval_of_a_mean_holds_the_truth_of_a_series(rng):
    """An autoregressive series: too often missed without blocks."""
    draws, held, alone = 150, 0, 0
    for _ in range(draws):
        x = rng.normal(size=1000)
        for i in range(1, 1000):
            x[i] += 0.7 * x[i - 1]
        options = {"num_resamples": 200, "method": "percentile", "seed": rng}
        lower, _, upper = um.bootstrap(mean, x=x, block=25, **options)
        held += lower <= 0 <= upper
        lower, _, upper = um.bootstrap(mean, x=x, **options)
        alone += lower <= 0 <= upper
    assert stats.binomtest(held, draws, 0.9, "less").pvalue > 1e-5
    assert alone < 0.8 * draws


@pytest.mark.parametrize("metric", [um.accuracy, um.brier_score, um.aurc, um.auroc])
def test_rows_doubled_in_their_clusters_leave_the_interval(rng, metric):
    ids = np.repeat(np.arange(60), 3)
    p, labels = rng.random(180), rng.integers(2, size=180)
    predictions = "scores" if metric is um.auroc else "probabilities"
    options = {"num_resamples": 50, "seed": 3}
    expected = um.bootstrap(
        metric, labels=labels, **{predictions: p}, clusters=ids, **options
    )
    actual = um.bootstrap(
        metric,
        labels=np.repeat(labels, 2),
        **{predictions: np.repeat(p, 2)},
        clusters=[f"q{i}" for i in np.repeat(ids, 2)],
        **options,
    )
    if metric is um.aurc:  # The area depends on the number of examples.
        assert actual == pytest.approx(expected, abs=0.02)
    else:
        assert actual == pytest.approx(expected, abs=1e-12)


def test_clusters_of_one_example_and_blocks_of_one_change_nothing(rng):
    x = rng.normal(size=50)
    options = {"num_resamples": 50, "seed": 3}
    expected = um.bootstrap(mean, x=x, **options)
    own = um.bootstrap(mean, x=x, clusters=rng.permutation(50), **options)
    assert own == expected
    assert own.num_clusters == 50
    assert um.bootstrap(mean, x=x, block=1, **options) == expected


def test_the_difference_of_two_models_takes_clusters_and_blocks(rng):
    ids = np.repeat(np.arange(100), 5)
    labels = rng.integers(2, size=500)
    hard = rng.normal(size=100)[ids]
    first, second = ({"probabilities": 1 / (1 + np.exp(s * hard))} for s in (-1, 1))
    options = {"labels": labels, "num_resamples": 200, "seed": 1}
    alone = um.bootstrap_difference(um.brier_score, first, second, **options)
    for kind in ({"clusters": ids}, {"block": 5}):
        found = um.bootstrap_difference(
            um.brier_score, first, second, **options, **kind
        )
        assert found.estimate == alone.estimate
        assert found != alone
    with pytest.warns(UserWarning, match="Use `calibration_error_difference`"):
        um.bootstrap_difference(um.ece, first, second, **options)


@pytest.mark.parametrize(
    "metric",
    [
        *(um.ece, um.mce, um.rmsce, um.debiased_calibration_error),
        functools.partial(um.ece, num_bins=5),
    ],
)
def test_a_bootstrap_of_bins_warns_and_names_what_to_take(rng, metric):
    data = {"labels": rng.integers(2, size=100), "probabilities": rng.random(100)}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        um.bootstrap(metric, **data, num_resamples=5, seed=0)
    messages = [str(w.message) for w in given]
    assert any("Use `calibration_error_interval`" in message for message in messages)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": np.arange(40) // 2, "block": 2}, "not both"),
        ({"clusters": np.arange(39)}, "clusters"),
        ({"block": 21}, "at most half"),
        ({"block": 0}, "block"),
    ],
)
def test_wrong_clusters_and_blocks_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        um.bootstrap(mean, x=np.arange(40.0), **options)


def test_few_clusters_or_blocks_give_a_warning():
    x = np.arange(40.0)
    with pytest.warns(UserWarning, match="There are 10 clusters"):
        um.bootstrap(mean, x=x, clusters=np.arange(40) // 4, num_resamples=20)
    with pytest.warns(UserWarning, match="There are 10 blocks"):
        um.bootstrap(mean, x=x, block=4, num_resamples=20)
