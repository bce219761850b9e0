"""Kuiper statistics of groups, the largest of all groups, and attributes of numbers."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.calibration.watching import (
    _group_walks,
    _outcome_counts,
    _redrawn_walks,
)
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored

# The slope of the log-odds with which uniform probabilities have an ECE of 0.10.
SLOPE = 2.0565


def looped_range(scores, residuals):
    """Returns the range of the sums of residuals up to each score, in a loop."""
    sums = [0.0] + [residuals[scores <= score].sum() for score in np.unique(scores)]
    return max(sums) - min(sums)


def sizes(walks):
    """Returns the statistics of groups, not divided by anything."""
    steps = _group_walks.steps_of(walks.scored.residuals[:, None])
    return walks.sizes_of_walks(steps)[0]


def all_walks(scored, statistic, partitions):
    """Returns the tests of groups, whose examples are in arrays."""
    groups = [
        _redrawn_walks.TestedGroups(
            lambda codes=codes: codes, chosen, np.bincount(codes, minlength=len(chosen))
        )
        for codes, chosen in partitions
    ]
    return _redrawn_walks.WalkTests(scored, statistic, groups)


@pytest.mark.parametrize("statistic", ["gap", "kuiper"])
@pytest.mark.parametrize("adjust", ["holm", "max"])
@pytest.mark.parametrize("kind", ["plain", "weighted", "clustered"])
def test_blocks_do_not_change_a_bit(rng, statistic, adjust, kind, monkeypatch):
    n = 400
    scores = rng.beta(0.5, 0.5, n).round(2)
    options = {
        "correct": rng.random(n) < scores,
        "confidences": scores,
        "groups": {name: rng.integers(0, 4, n).astype(str) for name in "abc"},
        "sample_weight": rng.exponential(size=n) if kind == "weighted" else None,
        "clusters": rng.integers(0, 90, n) if kind == "clustered" else None,
    }
    options |= {"depth": 2, "statistic": statistic, "adjust": adjust, "seed": 3}
    expected = um.calibration_by_group(**options, min_examples=20)
    monkeypatch.setattr(_redrawn_walks, "_STEPS_AT_ONCE", 900)
    monkeypatch.setattr(_redrawn_walks, "_OUTCOMES_AT_ONCE", 200 * n)
    actual = um.calibration_by_group(**options, min_examples=20)
    assert actual.tested == expected.tested
    monkeypatch.setattr(_redrawn_walks, "_OUTCOMES_AT_ONCE", 1)
    actual = um.calibration_by_group(**options, min_examples=20)
    assert actual.tested == expected.tested


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pieces", [512, 3])
def test_walks_equal_a_loop_over_groups_and_scores(
    rng, tied, weighted, pieces, monkeypatch
):
    monkeypatch.setattr(_group_walks, "_PIECES", pieces)
    n = 300
    scores = rng.random(n).round(1) if tied else rng.random(n)
    outcomes = (rng.random(n) < scores).astype(float)
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    scored = Scored(scores, outcomes, weights, None)
    first, second = rng.integers(0, 3, n), rng.integers(0, 5, n)
    chosen = np.array([True, False, True, True, False])
    partitions = [(first, np.ones(3, bool)), (second, chosen)]
    masks = [first == i for i in range(3)] + [second == i for i in (0, 2, 3)]
    walks = _group_walks.Walks.of(scored, "kuiper", partitions)
    expected = [looped_range(scores[m], scored.residuals[m]) for m in masks]
    actual = sizes(walks)
    np.testing.assert_allclose(actual, expected, atol=1e-12)
    np.testing.assert_allclose(walks.observed, expected, atol=1e-12)
    tests = all_walks(scored, "kuiper", partitions)
    some = tests._only(np.array([False, True, True, False, True, False]))
    actual = np.concatenate([sizes(each) for each in some._walks()])
    np.testing.assert_allclose(actual, np.array(expected)[[1, 2, 4]], atol=1e-12)
    ends = _group_walks.Walks.of(scored, "gap", partitions)
    expected = [abs(scored.residuals[m].sum()) for m in masks]
    actual = sizes(ends)
    np.testing.assert_allclose(actual, expected, atol=1e-12)
    np.testing.assert_allclose(ends.observed, expected, atol=1e-12)
    variances = [np.sum(weights[m] ** 2 * scores[m] * (1 - scores[m])) for m in masks]
    np.testing.assert_allclose(ends.variances, variances)


@pytest.mark.parametrize("statistic", ["gap", "kuiper"])
@pytest.mark.parametrize("block", [8, 64])
def test_redrawn_walks_have_the_law_of_a_loop(rng, statistic, block, monkeypatch):
    monkeypatch.setattr(_redrawn_walks, "_MOST_AT_ONCE", block)
    n, draws = 90, 1000
    scores, groups = np.append(rng.random(60), [0.01] * 30), np.arange(n) % 2
    weights = rng.exponential(size=n)
    scored = Scored(scores, np.zeros(n), weights, None)
    partitions = [(groups, np.ones(2, bool))]
    walks = _group_walks.Walks.of(scored, statistic, partitions)
    tests = all_walks(scored, statistic, partitions)
    drawn = np.concatenate(list(tests._drawn(rng, draws)))
    assert drawn.shape == (draws, 2)
    expected = np.empty((draws, 2))
    for draw in range(draws):
        residuals = weights * ((rng.random(n) < scores) - scores)
        for i in range(2):
            inside = groups == i
            expected[draw, i] = abs(residuals[inside].sum())
            if statistic == "kuiper":
                expected[draw, i] = looped_range(scores[inside], residuals[inside])
    expected = tests._standardized(expected, walks.variances)
    for i in range(2):
        assert stats.ks_2samp(drawn[:, i], expected[:, i]).pvalue > 1e-5


def test_outcomes_come_with_their_probabilities(rng):
    # Some of them are far below the step of 16 bits.
    scores = np.array([0.0, 1e-6, 0.3 / 2**16, 1.7 / 2**16, 0.3, 1 - 1e-6, 1.0])
    draws = 2**20
    counts = _redrawn_walks._outcomes(rng, scores, draws).sum(axis=1)
    assert counts[0] == 0
    assert counts[-1] == draws
    for score, count in zip(scores, counts, strict=True):
        assert stats.binomtest(int(count), draws, score).pvalue > 1e-6


def test_variances_of_clusters_equal_a_loop(rng):
    n = 200
    scores, codes = rng.random(n), rng.integers(0, 20, n)
    outcomes = (rng.random(20)[codes] < scores).astype(float)
    scored = Scored(scores, outcomes, np.ones(n), Clusters(codes, 20))
    groups = rng.integers(0, 2, n)
    walks = _group_walks.Walks.of(scored, "kuiper", [(groups, np.ones(2, bool))])
    for i in range(2):
        inside = groups == i
        sums = [scored.residuals[inside & (codes == c)].sum() for c in range(20)]
        apart = np.sum(scores[inside] * (1 - scores[inside]))
        expected = max(np.sum(np.square(sums)), apart)
        assert walks.variances[i] == pytest.approx(expected)


def test_laws_of_many_groups_equal_those_of_each(rng):
    sizes = rng.integers(1, 250, 40)
    starts = np.append(0, np.cumsum(sizes))
    scores = rng.beta(0.3, 0.3, starts[-1])
    groups = [scores[a:b] for a, b in itertools.pairwise(starts)]
    counts = np.array([np.sum(rng.random(len(g)) < g) for g in groups])
    actual = _outcome_counts.two_sided_p_of_each(scores, starts, counts)
    expected = [
        _outcome_counts.two_sided_p(g, c) for g, c in zip(groups, counts, strict=True)
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def answers(rng, n, groups):
    """Returns calibrated answers, and groups of equal sizes."""
    truth = rng.random(n)
    return truth, rng.random(n) < truth, np.arange(n) % groups


def test_one_score_makes_the_kuiper_statistic_the_gap(rng):
    """All examples of a group are one step, whose size is the sum of (y - p)."""
    scores = np.full(300, 0.5)
    outcomes = rng.random(300) < 0.5
    groups = np.arange(300) % 3
    of = [
        um.calibration_by_group(
            correct=outcomes,
            confidences=scores,
            groups=groups,
            statistic=statistic,
            adjust="max",
            seed=3,
        )
        for statistic in ("gap", "kuiper")
    ]
    # The standard errors are the same, because at 1/2 outcomes have no skewness.
    first, second = ({r.name: (r.detectable, r.gap) for r in table} for table in of)
    assert first == second


def test_signs_that_even_out_are_found_by_kuiper_alone(rng):
    draws, found = 25, {"gap": 0, "kuiper": 0}
    for _ in range(draws):
        truth, outcomes, groups = answers(rng, 1000, 2)
        stated = np.where(
            groups == 0, special.expit(SLOPE * special.logit(truth)), truth
        )
        for statistic in found:
            table = um.calibration_by_group(
                correct=outcomes,
                confidences=stated,
                groups=groups,
                statistic=statistic,
                adjust="max",
                seed=rng.integers(2**31),
            )
            found[statistic] += "group=0" in {row.name for row in table.miscalibrated}
    assert stats.binomtest(found["kuiper"], draws, 0.9, "less").pvalue > 1e-5
    assert stats.binomtest(found["gap"], draws, 0.2, "greater").pvalue > 1e-5


def _of(kind, rng, n):
    """Returns calibrated answers of a kind that is hard to test, and their options."""
    scores, options = rng.random(n), {}
    if kind == "certain":
        scores = np.full(n, 0.999)
    elif kind == "rare":
        scores = 0.02 * scores
    elif kind == "tied":
        scores = scores.round(1)
    elif kind == "weighted":
        options["sample_weight"] = rng.exponential(size=n)
    outcomes = rng.random(n) < scores
    if kind.startswith("clusters"):
        ids = np.arange(n) // 8
        options["clusters"] = ids
        scores = 0.5 + scores / 2
        if kind == "clusters, certain":
            scores = np.full(n, 0.99)
        latent = 0.95 * rng.normal(size=n)[ids]
        latent += np.sqrt(1 - 0.95**2) * rng.normal(size=n)
        outcomes = stats.norm.cdf(latent) < scores
    return outcomes, scores, options


@pytest.mark.parametrize(
    "kind",
    ["certain", "rare", "tied", "weighted", "clusters", "clusters, certain"],
)
@pytest.mark.parametrize(
    ("statistic", "adjust"), [("kuiper", "holm"), ("kuiper", "max"), ("gap", "max")]
)
@pytest.mark.first(1, "thorough")
def test_a_calibrated_model_is_rarely_accused(rng, kind, statistic, adjust):
    draws, findings, n = 60, 0, 800
    for _ in range(draws):
        outcomes, scores, options = _of(kind, rng, n)
        # Sizes from 50 to 400.
        sizes = np.repeat(np.arange(4), [400, 200, 150, 50])
        if "clusters" not in kind:
            sizes = rng.permutation(sizes)
        table = um.calibration_by_group(
            correct=outcomes,
            confidences=scores,
            groups={"size": sizes, "half": np.arange(n) % 2},
            statistic=statistic,
            adjust=adjust,
            depth=2,
            seed=rng.integers(2**31),
            **options,
        )
        findings += len(table.miscalibrated) > 0
    assert stats.binomtest(findings, draws, 0.05, "greater").pvalue > 1e-5


def test_a_group_counted_twice_costs_no_power_with_max(rng):
    truth, outcomes, groups = answers(rng, 1200, 2)
    stated = np.where(groups == 0, np.maximum(truth - 0.07, 0), truth)

    def detectable(copies, adjust):
        table = um.calibration_by_group(
            correct=outcomes,
            confidences=stated,
            groups={f"copy {i}": groups for i in range(copies)},
            adjust=adjust,
            seed=0,
        )
        return table[0].detectable

    assert detectable(20, "max") == pytest.approx(detectable(1, "max"))
    assert detectable(20, "holm") > 1.2 * detectable(1, "holm")


def test_a_detectable_gap_is_found_with_its_power(rng):
    draws, found = 150, 0
    for _ in range(draws):
        n = 1500
        scores, groups = np.full(n, 0.5), np.arange(n) % 3
        first = um.calibration_by_group(
            correct=np.arange(n) % 2, confidences=scores, groups=groups
        )
        truth = scores + np.where(groups == 0, first[0].detectable, 0.0)
        table = um.calibration_by_group(
            correct=rng.random(n) < truth, confidences=scores, groups=groups
        )
        found += "group=0" in {row.name for row in table.miscalibrated}
    assert stats.binomtest(found, draws, 0.8).pvalue > 1e-5


def test_numbers_are_cut_at_quantiles_and_named_by_their_ends(rng):
    n = 800
    scores = rng.random(n)
    ages = rng.permutation(np.arange(n) % 80 + 18)
    shares = rng.random(n)
    shares[:40] = np.nan
    table = um.calibration_by_group(
        correct=rng.random(n) < scores,
        confidences=scores,
        groups={"age": ages, "share": shares, "ward": np.arange(n) % 20},
        min_examples=20,
    )
    rows = {row.name: row for row in table}
    ends = ("18 to 37", "38 to 57", "58 to 77", "78 to 97")
    assert {name for name in rows if name.startswith("age=")} == {
        f"age={end}" for end in ends
    }
    assert all(rows[f"age={end}"].size == 200 for end in ends)
    # Up to 20 distinct integers are names.
    assert sum(name.startswith("ward=") for name in rows) == 20
    cut = [row for name, row in rows.items() if name.startswith("share=")]
    assert sorted(row.size for row in cut) == [40, 190, 190, 190, 190]
    assert rows["share=(missing)"].size == 40
    for row in cut:
        if " to " in row.name:
            low, high = map(float, row.attributes["share"].split(" to "))
            inside = (shares > low - 1e-3) & (shares < high + 1e-3)
            assert abs(np.sum(inside) - 190) < 10


@pytest.mark.parametrize("form", ["list", "objects", "categories"])
def test_forms_of_numbers(rng, form):
    pandas = pytest.importorskip("pandas")
    n = 400
    values = [float(i % 40) for i in range(n)]
    if form == "objects":
        values = np.array([None, *values[1:]], object)
    elif form == "categories":
        values = pandas.Series([i % 40 for i in range(n)]).astype("category")
    table = um.calibration_by_group(
        correct=rng.integers(0, 2, n),
        confidences=np.full(n, 0.5),
        groups=values,
        num_intervals=2,
        min_examples=5,
    )
    names = {row.name for row in table}
    if form == "categories":
        assert len(names) == 40
    else:
        missing = {"group=(missing)"} if form == "objects" else set()
        assert names == {"group=0 to 19", "group=20 to 39"} | missing


def test_many_copies_of_a_number_are_not_torn(rng):
    values = np.concatenate([np.zeros(500), rng.random(100) + 1])
    table = um.calibration_by_group(
        correct=rng.integers(0, 2, 600), confidences=np.full(600, 0.5), groups=values
    )
    sizes = {row.name: row.size for row in table}
    assert sizes.pop("group=0") == 500
    assert list(sizes.values()) == [100]


def test_seeds_make_results_repeatable(rng):
    scores, outcomes, groups = answers(rng, 300, 3)
    tables = [
        um.calibration_by_group(
            correct=outcomes,
            confidences=scores,
            groups=groups,
            statistic="kuiper",
            adjust="max",
            seed=5,
        )
        for _ in range(2)
    ]
    assert tables[0].rows == tables[1].rows
    assert "(max)" in repr(tables[0])
