"""Groups that a tree finds: rules, honest tests, and the split of a naive search."""

import operator

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.calibration.watching import _residual_tree
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored

SIGNS = {
    "<=": operator.le,
    ">": operator.gt,
    "=": operator.eq,
    "!=": operator.ne,
}


def hospital(rng, n=4000, shift=0.2):
    """Returns outcomes, confidences and features; one rule is promised too much."""
    features = {"age": rng.integers(18, 98, n), "ward": rng.choice(list("ABC"), n)}
    confidences = rng.uniform(0.3, 1, n)
    wrong = (features["age"] > 61) & (features["ward"] == "B")
    truth = np.where(wrong, confidences - shift, confidences)
    return rng.random(n) < truth, confidences, features


def members(table_row, features):
    """Returns the examples of a rule, read word by word."""
    inside = np.ones(len(features["age"]), bool)
    if table_row.name == "all":
        return inside
    for term in table_row.name.split(" and "):
        name, sign, value = term.split(" ")
        column = features[name]
        compare = SIGNS[sign]
        inside &= compare(column, value if name == "ward" else float(value))
    return inside


@pytest.mark.parametrize("statistic", ["gap", "kuiper"])
def test_a_rule_is_found_and_its_numbers_are_those_of_the_other_half(rng, statistic):
    outcomes, confidences, features = hospital(rng)
    table = um.find_miscalibrated_groups(
        features,
        correct=outcomes,
        confidences=confidences,
        seed=0,
        statistic=statistic,
    )
    assert table.worst.attributes["ward"] == "= B"
    assert table.worst.adjusted_p_value < 0.01
    assert table.worst.gap < -0.1
    # The halves are those of the permutation that the seed gives.
    other = np.ones(len(outcomes), bool)
    order = np.random.default_rng(0).permutation(len(outcomes))
    other[order[: len(outcomes) // 2]] = False
    assert sum(row.size for row in table) == other.sum()
    for row in table:
        inside = members(row, features) & other
        assert row.size == inside.sum()
        assert row.mean_outcome == pytest.approx(outcomes[inside].mean())
        assert row.mean_score == pytest.approx(confidences[inside].mean())
        assert np.sum(members(row, features) & ~other) >= 50


@pytest.mark.parametrize("num_parts", [1, 4])
def test_the_first_split_is_that_of_a_naive_search(rng, num_parts):
    outcomes, confidences, features = hospital(rng, 1500, 0.3)
    scored = Scored(confidences, outcomes.astype(float), np.ones(1500), None)
    used = np.arange(1500) % 3 > 0
    examples = _examples.examples(outcomes, confidences)
    columns = _residual_tree.features_of(features, examples, used)
    leaves = _residual_tree.leaves(columns, scored, used, 1, 50, num_parts)
    residuals, variances = outcomes - confidences, confidences * (1 - confidences)
    edges = np.sort(confidences[used])[
        [i * used.sum() // num_parts for i in range(1, num_parts)]
    ]
    parts = [
        used & (np.searchsorted(edges, confidences, side="right") == i)
        for i in range(num_parts)
    ]

    def chi_squared(inside):
        return sum(
            residuals[inside & part].sum() ** 2
            / (variances[inside & part].sum() + 0.25)
            for part in parts
        )

    sides = [features["ward"] == ward for ward in "ABC"]
    sides += [features["age"] <= cut for cut in columns[0].cuts]
    gains = {
        chi_squared(side) + chi_squared(~side): side
        for side in sides
        if 50 <= np.sum(side & used) <= used.sum() - 50
    }
    best = gains[max(gains)]
    assert len(leaves) == 2
    np.testing.assert_array_equal(np.sort(leaves[0].rows), np.flatnonzero(best))


def test_a_calibrated_model_is_rarely_accused(rng):
    draws, findings = 80, 0
    for _ in range(draws):
        outcomes, confidences, features = hospital(rng, 800, 0.0)
        table = um.find_miscalibrated_groups(
            features,
            correct=outcomes,
            confidences=confidences,
            seed=rng.integers(2**31),
            min_examples=30,
        )
        findings += len(table.miscalibrated) > 0
    assert stats.binomtest(findings, draws, 0.05, "greater").pvalue > 1e-5


def test_a_cluster_stays_in_one_half(rng):
    ids = np.repeat(np.arange(100), 8)
    outcomes, confidences, _ = hospital(rng, 800, 0.0)
    table = um.find_miscalibrated_groups(
        {"id": ids.astype(float)},
        correct=outcomes,
        confidences=confidences,
        clusters=ids,
        seed=1,
    )
    assert table.num_clusters == 50
    assert sum(row.size for row in table) == 400


def test_missing_values_and_the_names_of_rules():
    n = 2000
    age = np.where(np.arange(n) % 4 == 0, np.nan, np.arange(n) % 50)
    outcomes = np.isnan(age) | (np.arange(n) // 4 % 2 == 0)
    table = um.find_miscalibrated_groups(
        {"age": age}, correct=outcomes, confidences=np.full(n, 0.5), seed=0, depth=1
    )
    assert table.worst.name == "age is missing"
    assert table[1].name == "age is known"


def test_an_array_has_names_of_columns_and_nothing_to_find_is_all(rng):
    features = rng.normal(size=(400, 2))
    table = um.find_miscalibrated_groups(
        features, correct=np.arange(400) % 2, confidences=np.full(400, 0.5), seed=0
    )
    assert {row.name.split(" ")[0] for row in table} <= {"all", "x0", "x1"}
    (row,) = um.find_miscalibrated_groups(
        {"same": ["a"] * 400},
        correct=np.arange(400) % 2,
        confidences=np.full(400, 0.5),
        seed=0,
    )
    assert (row.name, row.attributes, row.size) == ("all", {}, 200)


BAD = {
    "one column": ({"features": np.ones(100)}, "`features` must be a mapping"),
    "no column": ({"features": {}}, "at least one column"),
    "too few": ({"features": {"a": [1, 2]}}, r"`features\['a'\]` must hold a value"),
    "depth": ({"depth": 0}, "depth"),
    "statistic": ({"statistic": "ks"}, "statistic"),
    "seed": ({"seed": -1}, "seed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_raise(name, rng):
    outcomes, confidences, features = hospital(rng, 100)
    good = {"features": features, "correct": outcomes, "confidences": confidences}
    with pytest.raises(ValueError, match=BAD[name][1]):
        um.find_miscalibrated_groups(**{**good, **BAD[name][0]})
