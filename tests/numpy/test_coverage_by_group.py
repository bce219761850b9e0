"""The table of coverages against naive counts, row by row."""

import numpy as np
import pytest
import scipy.stats

import uncertainty_metrics.numpy as um

table_of = um.conformal.coverage_by_group


def data(rng, n=300):
    labels = rng.choice([0, 1, 3], n, p=[0.7, 0.2, 0.1])  # No class 2.
    sets = rng.random((n, 4)) < 0.4
    sets[np.arange(n), labels] |= rng.random(n) < 0.7
    groups = rng.choice(["north", "south"], n)
    return labels, sets, groups


def test_each_row_is_the_coverage_of_its_examples(rng):
    labels, sets, groups = data(rng)
    held = sets[np.arange(300), labels]
    table = table_of(labels, sets, groups=groups, level=0.9)
    members = {
        ("all", "all"): held == held,
        **{("class", k): labels == k for k in (0, 1, 3)},
        **{("group", name): groups == name for name in ("north", "south")},
    }
    assert [(row.kind, row.name) for row in table] == list(members)
    for row, rows in zip(table, members.values(), strict=True):
        test = scipy.stats.binomtest(int(held[rows].sum()), int(rows.sum()))
        ends = test.proportion_ci(0.9, method="wilson")
        assert row.size == rows.sum()
        assert row.coverage == pytest.approx(held[rows].mean())
        assert (row.lower, row.upper) == pytest.approx((ends.low, ends.high))
        assert row.mean_set_size == pytest.approx(sets[rows].sum(axis=1).mean())
        assert row.num_empty == np.sum(~sets[rows].any(axis=1))
    shaped = table_of(labels.reshape(30, 10), sets.reshape(30, 10, 4))
    assert shaped.to_dict()["coverage"] == table.to_dict()["coverage"][:4]
    assert "300 examples" in repr(table)
    names = np.array(["cat", "cow", "dog", "fox"])
    named = table_of(names[labels], sets, class_names=names)
    assert [row.name for row in named] == ["all", "cat", "cow", "fox"]
    assert named.to_dict()["size"] == table.to_dict()["size"][:4]


def test_a_model_that_is_right_more_often_than_promised_has_empty_sets(rng):
    labels = rng.integers(0, 3, 400)
    p = rng.dirichlet([1, 1, 1], 400) + 5 * np.eye(3)[labels]
    p /= p.sum(axis=1, keepdims=True)
    model = um.conformal.ConformalClassifier(alpha=0.2).fit(labels, p)
    sets = model.predict(p)
    empty = int(np.sum(1 - p.max(axis=1) > model.quantile))
    assert empty > 50
    assert f"Empty sets, which miss the label: {empty}" in repr(table_of(labels, sets))
    sets[np.arange(400), p.argmax(axis=1)] = True
    assert "mpty sets" not in repr(table_of(labels, sets))


def test_clusters_change_the_intervals_alone(rng):
    labels, sets, groups = data(rng)
    ids = rng.integers(0, 30, 300)
    groups[ids == 3], ids = "one", np.where(groups == "one", 3, ids)
    groups[ids != 3] = "others"
    held = sets[np.arange(300), labels].astype(int)
    table = table_of(labels, sets, groups=groups, clusters=ids)
    alone = table_of(labels, sets, groups=groups)
    assert table.to_dict()["coverage"] == alone.to_dict()["coverage"]
    # The share of ones is the sensitivity of a decision of examples of label 1.
    expected = um.sensitivity(np.ones(300, int), held, 0.5, clusters=ids)
    assert table[0][4:6] == pytest.approx((expected.lower, expected.upper))
    assert table[-2].name == "one"
    assert table[-2][4:6] == (0, 1)  # One cluster.


def test_wrong_arguments():
    sets = np.ones((4, 2), bool)
    for given, message in (
        ({"groups": [1, 2]}, "`groups` must be of the shape of the labels"),
        ({"class_names": ["a", "b", "c"]}, "`labels` must be names"),
        ({"level": 1.0}, "`level` must"),
    ):
        with pytest.raises(ValueError, match=message):
            table_of([0, 1, 0, 1], sets, **given)
    with pytest.raises(ValueError, match="`class_names` must hold a name for each"):
        table_of(["a"] * 4, sets, class_names=["a", "b", "c"])
