"""Calibration by group against loops over groups, enumeration and simulation."""

import itertools
import json
import tracemalloc

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um

N = 600


def population(rng, n=N, shift=0.0):
    """Makes outcomes, confidences and attributes; one group may be overconfident."""
    p = rng.uniform(0.2, 1, n)
    sex, age = rng.choice(["F", "M"], n), rng.choice([0, 1, 2], n)
    truth = np.where((sex == "F") & (age == 2), np.maximum(p - shift, 0), p)
    return rng.random(n) < truth, p, {"sex": sex, "age": age}


def exact_p_value(scores, count):
    """Returns the two-sided p-value of a count, over all possible outcomes."""
    law = np.zeros(len(scores) + 1)
    for outcome in itertools.product((0, 1), repeat=len(scores)):
        law[sum(outcome)] += np.prod(np.where(outcome, scores, 1 - np.array(scores)))
    return mid_p(law, count)


def mid_p(law, count):
    """Returns twice the smaller tail, with half of the probability of the count."""
    half = law[count] / 2
    return 2 * min(law[:count].sum() + half, law[count + 1 :].sum() + half)


def looped_p_value(scores, count):
    """Returns the same by convolution, outcome by outcome."""
    law = np.array([1.0])
    for p in scores:
        law = np.convolve(law, [1 - p, p])
    return mid_p(law, int(count))


def holm(p_values):
    """Returns Holm's adjusted p-values, in the given order."""
    order, adjusted = np.argsort(p_values), np.empty(len(p_values))
    for place, i in enumerate(order):
        candidates = [
            min(1, (len(p_values) - k) * p_values[j])
            for k, j in enumerate(order[: place + 1])
        ]
        adjusted[i] = max(candidates)
    return adjusted


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_equal_a_loop_over_groups(rng, weighted):
    y, p, groups = population(rng, 2400, 0.2)
    weights = rng.choice([0.0, 1.0, 2.5], 2400) if weighted else None
    table = um.calibration_by_group(
        correct=y, confidences=p, groups=groups, depth=2, sample_weight=weights
    )
    assert len(table) == 2 + 3 + 6
    w = np.ones(2400) if weights is None else weights
    for row in table:
        inside = w > 0
        for name, value in row.attributes.items():
            inside &= groups[name] == value
        mass, size = w[inside].sum(), w[inside].sum() ** 2 / (w[inside] ** 2).sum()
        score = np.average(p[inside], weights=w[inside])
        outcome = np.average(y[inside], weights=w[inside])
        assert row.size == pytest.approx(size)
        assert row.mean_score == pytest.approx(score)
        assert row.gap == pytest.approx(outcome - score)
        z = stats.norm.ppf(0.975)  # Wilson's interval, by its formula.
        middle = (outcome + z**2 / (2 * size)) / (1 + z**2 / size)
        half = z * np.sqrt(outcome * (1 - outcome) / size + z**2 / (4 * size**2))
        ends = middle + np.array([-1, 1]) * half / (1 + z**2 / size) - score
        np.testing.assert_allclose([row.lower, row.upper], ends)
        variance = np.sum(w[inside] ** 2 * p[inside] * (1 - p[inside])) / mass**2
        normal = 2 * stats.norm.sf(abs(row.gap) / np.sqrt(variance))
        if size**2 * variance >= 100:
            assert row.p_value == pytest.approx(normal, rel=1e-9)
        elif weighted:
            assert row.p_value >= normal * (1 - 1e-9)
        else:
            expected = looped_p_value(p[inside], y[inside].sum())
            assert row.p_value == pytest.approx(expected, rel=1e-9)
    adjusted = [row.adjusted_p_value for row in table]
    np.testing.assert_allclose(adjusted, holm([row.p_value for row in table]))
    assert adjusted == sorted(adjusted)


def one_group(outcomes, scores, **options):
    (row,) = um.calibration_by_group(
        correct=outcomes,
        confidences=scores,
        groups=[0] * len(scores),
        min_examples=1,
        **options,
    )
    return row


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.uniform(size=12),
        lambda rng: rng.uniform(size=400),
        lambda rng: 1 - 0.002 * rng.random(5000),
        lambda rng: 0.01 * rng.random(5000),
        lambda rng: rng.beta(0.02, 0.02, 3000),
        lambda rng: np.concatenate([np.full(2000, 0.9999), rng.random(100), [0.0, 1]]),
    ],
    ids=["few", "some", "sure", "rare", "extreme", "mixed"],
)
def test_groups_are_tested_exactly(make, rng):
    scores = make(rng)
    assert np.sum(scores * (1 - scores)) < 100
    center = round(scores.sum())
    outcomes = np.zeros(len(scores), int)
    # The most likely outcomes, and more and fewer than these.
    order = np.argsort(-scores, kind="stable")
    for count in {max(center - 9, 0), center, min(center + 4, len(scores) - 1)}:
        outcomes[:] = 0
        outcomes[order[:count]] = 1
        expected = looped_p_value(scores, count)
        row = one_group(outcomes, scores)
        assert row.p_value == pytest.approx(expected, rel=1e-9)
        # Equal weights of any size change nothing.
        for weight in (1, 1.0, 0.3):
            weights = np.full(len(scores), weight)
            again = one_group(outcomes, scores, sample_weight=weights)
            assert again.p_value == row.p_value
    if len(scores) == 12:
        assert expected == pytest.approx(exact_p_value(scores, count), rel=1e-12)


def test_a_variance_of_exactly_100_is_normal():
    """400 scores of 1/2 have a variance of 100; 399 have less."""
    outcomes = np.arange(400) < 215
    normal = 2 * stats.norm.sf((215 - 200) / 10)
    assert one_group(outcomes, [0.5] * 400).p_value == pytest.approx(normal, rel=1e-12)
    fewer, law = np.arange(399) < 215, stats.binom(399, 0.5)
    exact = 2 * (law.sf(215) + law.pmf(215) / 2)
    assert one_group(fewer, [0.5] * 399).p_value == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_weighted_groups_are_tested_carefully(kind, rng):
    """The p-value is at least Normal, and near that of draws from the scores."""
    n, draws = 2000, 4000
    scores = 1 - 0.004 * rng.random(n)
    weights = getattr(rng, kind)(size=n)
    variance = np.sum(weights**2 * scores * (1 - scores))
    drawn = (rng.random((draws, n)) < scores) @ weights
    drawn -= weights @ scores
    for places in ([], [3], [3, 50], np.argsort(-weights)[:3], range(14)):
        outcomes = np.ones(n)
        outcomes[list(places)] = 0
        p = one_group(outcomes, scores, sample_weight=weights).p_value
        gap = weights @ (outcomes - scores)
        normal = 2 * stats.norm.sf(abs(gap) / np.sqrt(variance))
        assert p >= normal * (1 - 1e-9)
        tails = np.mean(drawn <= gap + 1e-9), np.mean(drawn >= gap - 1e-9)
        share = 2 * min(tails)
        # Not smaller than by the draws, but for their noise and half of a point.
        assert p > 0.4 * share - 5 * np.sqrt(share / draws)
        assert p < max(4 * share + 20 / draws, 1.5 * normal) or p > 0.5


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("confidence", [0.999, 0.9999])
@pytest.mark.parametrize("weighted", [False, True])
def test_nearly_certain_groups_of_a_calibrated_model_are_rarely_reported(
    confidence, weighted, rng
):
    """A Normal p-value reports 12.7% (.999) and 17.5% (.9999) of data sets."""
    n, draws, findings = 20_000, 40, 0
    confidences = np.full(n, confidence)
    groups = {"ten": np.arange(n) % 10, "four": np.arange(n) % 4}
    for _ in range(draws):
        table = um.calibration_by_group(
            correct=rng.random(n) < confidence,
            confidences=confidences,
            groups=groups,
            sample_weight=rng.exponential(size=n) if weighted else None,
        )
        findings += len(table.miscalibrated) > 0
    assert findings / draws <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / draws)


def test_certain_outcomes():
    # One outcome has probability 1 and did not happen.
    (row,) = um.calibration_by_group(
        correct=[0] + [1] * 9, confidences=[1.0] * 10, groups=[1] * 10, min_examples=2
    )
    assert row.p_value == 0
    (row,) = um.calibration_by_group(
        correct=[1] * 300, confidences=[1.0] * 300, groups=[1] * 300
    )
    assert (row.p_value, row.gap) == (1, 0)


@pytest.mark.parametrize("weight", [None, 0.1, 0.3, 7.7])
def test_a_group_of_just_the_least_size_is_tested(weight):
    for size in range(2, 60):
        data = {"correct": np.arange(size) % 2, "confidences": np.full(size, 0.4)}
        if weight is not None:
            data["sample_weight"] = np.full(size, weight)
        for least, is_tested in ((size, True), (size + 1, False)):
            table = um.calibration_by_group(
                **data, groups=np.zeros(size), min_examples=least
            )
            assert len(table.tested) == is_tested, (size, least)


def test_small_groups_are_listed_but_not_tested(rng):
    groups = ["large"] * 80 + ["small"] * 20
    table = um.calibration_by_group(
        correct=[1] * 100, confidences=[0.5] * 100, groups=groups
    )
    assert [row.name for row in table] == ["group=large", "group=small"]
    assert np.isnan(table[1].p_value)
    assert np.isnan(table[1].adjusted_p_value)
    assert table.tested == table.miscalibrated == (table.worst,)
    # With one test there is nothing to adjust.
    assert table.worst.adjusted_p_value == table.worst.p_value
    nothing = um.calibration_by_group(
        correct=[1] * 9, confidences=[0.5] * 9, groups=[0] * 9
    )
    assert nothing.worst is None
    assert "0 of 0 tested" in repr(nothing)


def test_scores_are_of_decisions_or_of_class_1(rng):
    labels, p = rng.integers(0, 2, N), rng.random(N)
    (row,) = um.calibration_by_group(labels, p, groups=[1] * N, positive_class=False)
    right = (p > 0.5) == labels
    assert row.mean_score == pytest.approx(np.maximum(p, 1 - p).mean())
    assert row.mean_outcome == pytest.approx(right.mean())
    (row,) = um.calibration_by_group(labels, p, groups=[1] * N, positive_class=True)
    assert row.gap == pytest.approx(labels.mean() - p.mean())
    same = um.calibration_by_group(correct=labels, confidences=p, groups=[1] * N)
    assert same.rows == (row,)


def test_groups_may_be_columns_dicts_or_data_frames(rng):
    pandas = pytest.importorskip("pandas")
    y, p, groups = population(rng)
    table = um.calibration_by_group(correct=y, confidences=p, groups=groups)
    frame = pandas.DataFrame(groups)
    for form in (frame, {"sex": frame["sex"], "age": frame["age"].astype("category")}):
        again = um.calibration_by_group(correct=y, confidences=p, groups=form)
        assert again.rows == table.rows
    column = um.calibration_by_group(correct=y, confidences=p, groups=frame["sex"])
    assert {row.name for row in column} == {"sex=F", "sex=M"}
    for missing in (None, float("nan"), pandas.NA):
        holes = frame["sex"].astype(object).where(frame["age"] > 0, missing)
        found = um.calibration_by_group(correct=y, confidences=p, groups=holes)
        assert sum(row.size for row in found) == N
        assert "sex=(missing)" in {row.name for row in found}


def test_result_prints_as_a_table_and_converts_to_json(rng):
    y, p, groups = population(rng, 3000, 0.3)
    table = um.calibration_by_group(correct=y, confidences=p, groups=groups, depth=2)
    assert table.worst.attributes == {"sex": "F", "age": 2}
    lines = repr(table).splitlines()
    assert len(lines) == 2 + len(table)
    assert lines[2].split("  ")[-1] == "<0.001"
    columns = json.loads(json.dumps(table.to_dict()))
    assert columns["name"] == [row.name for row in table]
    assert columns["attributes"][0] == {"sex": "F", "age": 2}


BAD = {
    "no attribute": ({"groups": {}}, "at least one attribute"),
    "ragged": ({"groups": [[1], *range(N - 1)]}, "must be a rectangular array"),
    "too few": (
        {"groups": {"a": [1, 2]}},
        r"`groups\['a'\]` must hold a value for each",
    ),
    "too many": (
        {"groups": [f"id {i}" for i in range(2000)]},
        "at most 1000 distinct values",
    ),
    "statistic": ({"statistic": "ks"}, "`statistic` must be"),
    "adjust": ({"adjust": "bonferroni"}, "`adjust` must be"),
    "num_intervals": ({"num_intervals": 0}, "num_intervals"),
    "seed": ({"seed": -1}, "seed"),
    "depth": ({"depth": 3}, "depth"),
    "min_examples": ({"min_examples": 0}, "min_examples"),
    "level": ({"level": 1.0}, "level"),
    "percent": ({"confidences": np.full(N, 70.0)}, "divide percent by 100"),
    "labels": ({"labels": np.ones(N, int)}, "Either `labels` .* or `correct`"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_raise(name, rng):
    y, p, groups = population(rng)
    good = {"correct": y, "confidences": p, "groups": groups}
    with pytest.raises(ValueError, match=BAD[name][1]):
        um.calibration_by_group(**{**good, **BAD[name][0]})


def test_a_calibrated_model_is_rarely_reported(rng):
    """At most 5% of data sets report any group, however many groups there are."""
    draws, findings = 200, 0
    for _ in range(draws):
        y, p, groups = population(rng, 500)
        table = um.calibration_by_group(
            correct=y, confidences=p, groups=groups, depth=2
        )
        findings += len(table.miscalibrated) > 0
    # Five standard errors of a share of 5%.
    assert findings / draws <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / draws)


def test_many_attributes_need_the_memory_of_one_partition(rng):
    n, attributes = 20_000, 12
    groups = {f"a{k}": rng.integers(0, 3, n) for k in range(attributes)}
    confidences = rng.random(n)
    given = {"correct": rng.random(n) < confidences, "confidences": confidences}
    tracemalloc.start()
    table = um.calibration_by_group(**given, groups=groups, depth=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(table) == 3 * attributes + 9 * attributes * (attributes - 1) // 2
    partitions = attributes * (attributes + 1) // 2
    assert peak < partitions / 2 * 8 * n  # Not the rows of all partitions, [78, n].
