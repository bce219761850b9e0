"""The report searches for groups that nobody named."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run, tiles, write_csv
from uncertainty_metrics._report.sections import _audit

pytestmark = pytest.mark.usefixtures("own_directory", "undrawn")


def patients(n=4000, gap=0.25, seed=0):
    """Returns answers that are too sure for the old in ward B; age and ward."""
    rng = np.random.default_rng(seed)
    age, ward = rng.integers(18, 98, n), rng.choice(["A", "B", "C"], n)
    confidences = rng.uniform(0.3, 1, n)
    p = np.where((age > 61) & (ward == "B"), confidences - gap, confidences)
    given = {"correct": rng.random(n) < p, "confidences": confidences}
    return given, {"age": age, "ward": ward}


def rules(table):
    return [row.name for row in table.miscalibrated]


def searched(features, given, **options):
    return um.find_miscalibrated_groups(features, **given, seed=0, **options)


def test_the_rules_are_those_of_the_function():
    given, features = patients()
    found = um.report(**given, audit=features).to_dict()
    table = searched(features, given)
    rows = found["audit"]["rows"]
    assert [row["name"] for row in rows] == [row.name for row in table]
    for row, expected in zip(rows, table, strict=True):
        for key in ("gap", "p_value", "adjusted_p_value", "detectable", "size"):
            assert row[key] == pytest.approx(getattr(expected, key), abs=1e-12)
    assert found["audit"]["features"] == {"age": "numbers", "ward": "names"}
    assert found["audit"]["miscalibrated"] == rules(table)
    tile = tiles(found)["Search among age, ward"]
    assert (tile["value"], tile["level"]) == ("2 groups found", "bad")
    assert "overconfident by" in tile["detail"]
    assert "groups" not in found


def test_nothing_found_says_what_would_have_been():
    given, features = patients(gap=0.0)
    found = um.report(**given, audit=features).to_dict()
    tile = tiles(found)["Search among age, ward"]
    assert (tile["value"], tile["level"]) == ("No group found", "good")
    size = found["audit"]["findable_size"]
    assert f"about {float(f'{size:.2g}'):,.0f} examples" in tile["detail"]
    # Half of the group is tested: its standard error is about sqrt(p (1 - p) / n).
    deviation = np.sqrt(np.mean(given["confidences"] * (1 - given["confidences"])))
    assert deviation * (2 / size) ** 0.5 * (2.5 + 0.84) < 0.1 < 0.15
    few = {name: values[:300] for name, values in given.items()}
    noise = np.random.default_rng(5).random(300)
    assert (
        "would often go unnoticed" in um.report(**few, audit={"noise": noise}).summary()
    )


def test_true_searches_by_the_groups():
    given, features = patients()
    found = um.report(**given, groups=features["ward"], audit=True).to_dict()
    assert found["audit"]["features"] == {"group": "names"}
    assert "group = B" in found["audit"]["miscalibrated"][0]
    found = um.report(**given, groups={"ward": features["ward"]}, audit=features)
    assert "ward = B" in found.to_dict()["audit"]["miscalibrated"][0]


def test_two_classes_are_searched_by_the_event():
    given, features = patients()
    labels = given["correct"].astype(int)
    p = np.stack([1 - given["confidences"], given["confidences"]], axis=1)
    found = um.report(labels, p, audit=features).to_dict()
    assert found["audit"]["miscalibrated"] == rules(searched(features, given))


@pytest.mark.parametrize("graded", [False, True])
def test_clusters_weights_and_grades(graded):
    given, features = patients()
    if graded:
        rng = np.random.default_rng(1)
        p = np.clip(given["confidences"] - 0.3 * (features["ward"] == "B"), 0, 1)
        given["correct"] = rng.binomial(5, p) / 5
    clusters, weights = np.arange(4000) // 2, np.linspace(0, 2, 4000)
    options = {"clusters": clusters, "sample_weight": weights}
    found = um.report(**given, **options, audit=features).to_dict()
    table = searched(features, given, **options)
    assert [row["name"] for row in found["audit"]["rows"]] == [r.name for r in table]
    assert found["audit"]["rows"][0]["lower"] == pytest.approx(table[0].lower)
    assert "ward = B" in found["audit"]["miscalibrated"][0]


def test_grades_vary_less_than_right_and_wrong():
    rng = np.random.default_rng(0)
    confidences = rng.uniform(0.3, 0.9, 2000)
    grades = np.clip(confidences + rng.normal(scale=0.05, size=2000), 0, 1)
    (row,) = um.find_miscalibrated_groups(
        {"x": rng.integers(0, 2, 2000)}, correct=grades, confidences=confidences, seed=0
    )
    gaps = grades - confidences
    assert row.upper - row.lower == pytest.approx(
        2 * 1.96 * gaps.std() / 1000**0.5, rel=0.1
    )


def write(given, features):
    columns = [given["correct"].astype(int), given["confidences"], *features.values()]
    header = ["correct", "confidence", "age", "ward"]
    write_csv("a.csv", header, zip(*columns, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        ("--audit", "--feature", "age", "--feature", "ward"),
        ("--feature", "age", "--feature", "ward"),
        ("--audit", "--group", "ward", "--feature", "age"),
    ],
)
def test_columns_of_files(options):
    given, features = patients()
    write(given, features)
    run("a.csv", *options)
    found = numbers()
    kinds = found["audit"]["features"]
    assert kinds == {"age": "numbers", "ward": "names"}
    order = {name: features[name] for name in kinds}
    assert found["audit"]["miscalibrated"] == rules(searched(order, given))
    assert "Left out" not in " ".join(found["notes"])


def test_archives_and_several_files():
    given, features = patients()
    arrays = {"correct": given["correct"], "confidence": given["confidences"]}
    for i, part in enumerate((slice(0, 1500), slice(1500, 4000))):
        columns = {**arrays, **features}
        np.savez(f"{i}.npz", **{name: column[part] for name, column in columns.items()})
    run("0.npz", "1.npz", "--audit", "--feature", "age", "--feature", "ward")
    assert numbers()["audit"]["miscalibrated"] == rules(searched(features, given))


def test_missing_numbers_stay_numbers():
    given, features = patients()
    age = features["age"].astype(object)
    age[::7] = None
    write(
        given, {"age": ["" if a is None else a for a in age], "ward": features["ward"]}
    )
    run("a.csv", "--feature", "age", "--feature", "ward")
    assert numbers()["audit"]["features"]["age"] == "numbers"


def test_what_cannot_be_searched_is_refused(capsys):
    given, features = patients(100)
    write(given, features)
    wrong = fails(capsys, "a.csv", "--audit")
    assert "--audit needs the columns by which to search" in wrong
    assert "there is no column `sex`" in fails(capsys, "a.csv", "--feature", "sex")
    with pytest.raises(ValueError, match="True without groups"):
        um.report(**given, audit=True)
    with pytest.raises(ValueError, match="a mapping"):
        um.report(**given, audit=[1, 2])
    with pytest.raises(ValueError, match="`audit` needs a classifier"):
        um.report(
            np.ones((9, 2)), np.ones((9, 2)), multilabel=True, audit={"a": np.ones(9)}
        )
    with pytest.raises(ValueError, match="a value for each"):
        um.report(**given, audit={"age": [1, 2]})


def test_few_examples_are_not_tested():
    given, features = patients(60)
    found = um.report(**given, audit=features).to_dict()
    assert tiles(found)["Search among age, ward"]["value"] == "Too few to say"
    assert found["audit"]["findable_size"] is None


def test_a_tree_has_at_most_so_many_rules():
    given, features = patients()
    assert len(searched(features, given)) <= _audit._MOST_RULES
