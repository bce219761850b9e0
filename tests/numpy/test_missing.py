"""Missing entries are refused, and among groups they are a group of their own."""

import re

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue
from tests.catalogue import each
from uncertainty_metrics.numpy import _missing

ROWS = [
    row for row in (*catalogue.CALLABLES, *catalogue.PLOTS) if row.half != "tensors"
]
LABELS = np.array([0, 1, 1, 0])
P = np.array([[0.8, 0.2], [0.3, 0.7], [0.1, 0.9], [0.6, 0.4]])


def masked_rows(array):
    """Returns an array as a list of masked rows; its first entry is masked."""
    mask = np.zeros(array.shape, bool)
    mask.reshape(-1)[0] = True
    if array.ndim > 1:
        return [np.ma.array(x, mask=m) for x, m in zip(array, mask, strict=True)]
    return [
        np.ma.masked if hidden else x for x, hidden in zip(array, mask, strict=True)
    ]


@each(ROWS)
def test_masked_entries_are_refused_by_name(row, rng):
    arguments = row.draw(rng, (8,))
    arrays = {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}
    for name in arrays.keys() - {"groups"}:
        array = arrays[name]
        mask = np.zeros(array.shape, bool)
        mask.reshape(-1)[0] = True
        for bad in (np.ma.array(array, mask=mask), masked_rows(array)):
            if array.ndim == 0:
                continue
            with pytest.raises(ValueError, match=f"`{name}`"):
                row.find(um)(**{**arguments, name: bad})


@pytest.mark.parametrize(
    "groups",
    [
        np.ma.array(["x", "a", "b", "b"], mask=[1, 0, 0, 0]),
        np.ma.array([7, 1, 2, 2], mask=[1, 0, 0, 0]),
        [np.ma.masked, "a", "b", "b"],
        [np.nan, "a", "b", "b"],
        [None, "a", "b", "b"],
        [np.nan, 1, 2, 2],
        np.array([np.nan, 1, 2, 2]),
        np.array([None, 1, 2, 2]),
    ],
    ids=str,
)
def test_examples_without_a_group_are_a_group(groups):
    result = um.brier_score(LABELS, P, groups=groups)
    names = [str(name) for name in result.names]
    assert names in (["a", "b", "(missing)"], ["1", "2", "(missing)"])
    values = um.brier_score(LABELS, P, groups=[2, 0, 1, 1], num_groups=3).values
    np.testing.assert_array_equal(result.values, values)
    tested = um.calibration_by_group(LABELS, P, groups=groups, min_examples=1)
    assert "(missing)" in str(tested)
    report = um.report(LABELS, P, groups={"g": groups})
    assert "(missing)" in str(report.to_dict()["groups"])


def test_conformal_sets_of_examples_without_a_group_have_their_own_quantile(rng):
    labels = rng.integers(0, 2, 60)
    p = rng.dirichlet([1, 1], 60)
    groups = rng.integers(0, 3, 60)
    whole = um.conformal.ConformalClassifier(alpha=0.3).fit(labels, p, groups=groups)
    masked = np.ma.array(groups, mask=groups == 2)
    model = um.conformal.ConformalClassifier(alpha=0.3).fit(labels, p, groups=masked)
    quantiles = list(whole.quantile.values())
    assert model.quantile == {
        "0": quantiles[0],
        "1": quantiles[1],
        "(missing)": quantiles[2],
    }
    expected = whole.predict(p, groups=groups)
    np.testing.assert_array_equal(model.predict(p, groups=masked), expected)
    few = groups < 2
    np.testing.assert_array_equal(
        model.predict(p[few], groups=groups[few]), expected[few]
    )
    # Held-out examples of ten groups, and a new one without a group.
    many = np.arange(60) % 12
    model = um.conformal.ConformalClassifier(alpha=0.3).fit(labels, p, groups=many)
    expected = model.predict(p, groups=many)
    expected[0] = True
    hidden = np.ma.array(many, mask=np.arange(60) == 0)
    np.testing.assert_array_equal(model.predict(p, groups=hidden), expected)


@pytest.mark.parametrize(
    "answers",
    [
        np.ma.array([["a", "b"], ["b", "b"]], mask=[[0, 1], [0, 0]]),
        [np.ma.array([1, 2], mask=[0, 1]), [2, 2]],
        [["a", np.nan], ["b", "b"]],
        [[1, np.nan], [2, 2]],
        [["a", None], ["b", "b"]],
    ],
    ids=str,
)
def test_every_question_has_all_its_answers(answers):
    where = re.escape("Received: none at [0, 1]")
    with pytest.raises(ValueError, match=f"`answers` must hold an answer.*{where}"):
        um.sampled_agreement(answers)
    with pytest.raises(ValueError, match=f"`clusters` must hold an answer.*{where}"):
        um.semantic_entropy(answers)


def test_masked_arrays_without_masked_entries_are_arrays():
    rows = [np.ma.array(row) for row in P]
    groups = np.ma.array(["a", "b", "b", "a"])
    given = um.ece(np.ma.array(LABELS), rows, groups=groups)
    np.testing.assert_array_equal(
        given.values, um.ece(LABELS, P, groups=groups.data).values
    )
    answers = np.ma.array([["a", "a"], ["b", "c"]])
    assert um.sampled_agreement(answers).agreement.tolist() == [1.0, 0.5]


def test_columns_of_pandas_may_hold_missing_values():
    pd = pytest.importorskip("pandas")
    right = pd.array([0, 1, 1, 0], dtype="Int64")
    expected = um.ece(LABELS, P[:, 1])
    assert um.ece(right, pd.array(P[:, 1], dtype="Float64")) == expected
    # A frame of several types is an array of objects.
    frame = pd.DataFrame({"p": pd.array(P[:, 1], dtype="Float64"), "y": right})
    assert um.ece(frame[["y"]], frame[["p"]].astype(object)) == expected
    for kind in ("Int64", "boolean"):
        with pytest.raises(ValueError, match=r"`labels` must .*Received: .* at \[1\]"):
            um.ece(pd.array([0, None, 1, 0], dtype=kind), P)
    words = pd.Series(["a", None, "b", "b"], dtype="string")
    for column in (words, words.astype("category")):
        assert um.ece(LABELS, P, groups=column).names == ("a", "b", "(missing)")
    with pytest.raises(ValueError, match="`answers` must hold an answer everywhere"):
        um.sampled_agreement([["a", pd.NA]])


def test_objects_that_are_numbers_are_numbers():
    assert um.ece(LABELS.astype(object), P.astype(object)) == um.ece(LABELS, P)
    for wrong in ([0, 1, 10**30, 0], [0, 1, {}, 0]):
        with pytest.raises(ValueError, match="`labels` must be a rectangular array"):
            um.ece(np.array(wrong, object), P)


def test_lists_of_numbers_are_not_searched():
    assert not _missing.is_masked([0.5] * 10 + [np.float64(0.5)])
    assert not _missing.is_masked([[0.5, 0.5], (0.1, 0.9), np.ma.array([0.5, 0.5])])
    assert _missing.is_masked([[[0.5, np.ma.masked]]])
