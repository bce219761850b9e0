"""Columns of tables become arrays of any type, and groups; bad columns raise."""

import decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
from uncertainty_metrics.engines import _columns, _groups, _totals  # noqa: E402

ROWS = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]


def only_batch(table, **columns):
    columns = {"labels": None, "sample_weight": None, "groups": None, **columns}
    ((group, batch),) = _columns.Columns(**columns).batches(table)
    assert group == ()
    return batch


class Counts:
    """Totals that are numbers of rows."""

    def empty(self):
        return 0

    def of_batch(self, labels, probabilities, sample_weight):
        return len(labels)

    def sum(self, first, second):
        return first + second

    def result(self, total):
        return total


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("g", {"a": 1, "b": 2, None: 1}),
        (["g", "h"], {("a", 1): 1, ("b", 0): 1, ("b", None): 1, (None, 0): 1}),
    ],
)
def test_groups_are_in_order_and_a_missing_one_is_last(groups, expected):
    table = pa.table(
        {
            "y": [0, 1, 1, 0],
            "p": ROWS + ROWS[:1],
            "g": ["b", None, "a", "b"],
            "h": [None, 0, 1, 0],
        }
    )
    columns = _columns.Columns("y", "p", None, groups)
    groups = _groups.totals_of([table], Counts(), columns)
    result = _groups.result(groups, Counts(), columns)
    assert list(result.items()) == list(expected.items())


@pytest.mark.parametrize(
    "column",
    [
        pa.array(ROWS),
        pa.array(ROWS, pa.list_(pa.float32())),
        pa.array(ROWS, pa.large_list(pa.float64())),
        pa.array(ROWS, pa.list_(pa.float16(), 2)),
        pa.array(
            [[decimal.Decimal(x) for x in row] for row in ROWS],
            pa.list_(pa.decimal128(4, 2)),
        ),
        pa.array([[9.0, 9.0], *ROWS])[1:],
        pa.chunked_array([pa.array(ROWS[:1]), pa.array(ROWS[1:])]),
        pa.FixedShapeTensorArray.from_numpy_ndarray(np.array(ROWS)),
    ],
)
def test_lists_of_any_type_become_rows(column):
    _, predictions, _ = only_batch(pa.table({"p": column}), probabilities="p")
    np.testing.assert_array_equal(predictions, ROWS)


def test_lists_of_lists_become_members():
    table = pa.table({"p": [[row, row, row] for row in ROWS]})
    _, predictions, _ = only_batch(table, probabilities="p")
    np.testing.assert_array_equal(predictions, np.stack([ROWS] * 3, axis=1))


def test_columns_of_classes_labels_and_weights():
    first, second = zip(*ROWS, strict=True)
    table = pa.table(
        {"a": first, "b": second, "y": [True, False, True], "w": [1, 2, 3]}
    )
    labels, predictions, weights = only_batch(
        table, labels="y", probabilities=["a", "b"], sample_weight="w"
    )
    np.testing.assert_array_equal(predictions, ROWS)
    np.testing.assert_array_equal(labels, [True, False, True])
    np.testing.assert_array_equal(weights, [1, 2, 3])


def test_groups_are_values_or_tuples():
    table = pa.table({"p": [0.1, 0.2, 0.3], "row": ["a", None, "a"], "day": [1, 1, 2]})
    for groups, expected in (
        ("row", {"a": [0.1, 0.3], None: [0.2]}),
        (["row"], {("a",): [0.1, 0.3], (None,): [0.2]}),
        (["day", "row"], {(1, "a"): [0.1], (1, None): [0.2], (2, "a"): [0.3]}),
    ):
        columns = _columns.Columns(None, "p", None, groups)
        found = {group: list(p) for group, (_, p, _) in columns.batches(table)}
        assert found == expected


def test_groups_may_be_categories_that_differ_by_chunk():
    parts = [
        pa.array(values).dictionary_encode() for values in (["a", "b"], ["b", "c"])
    ]
    table = pa.table({"p": [0.1, 0.2, 0.3, 0.4], "g": pa.chunked_array(parts)})
    columns = _columns.Columns(None, "p", None, "g")
    found = {group: list(p) for group, (_, p, _) in columns.batches(table)}
    assert found == {"a": [0.1], "b": [0.2, 0.3], "c": [0.4]}


def test_long_tables_come_in_pieces(monkeypatch):
    monkeypatch.setattr(_columns, "_MAX_BYTES", 800)
    table = pa.table({"p": np.arange(1000.0)})
    parts = [
        p for _, (_, p, _) in _columns.Columns(None, "p", None, None).batches(table)
    ]
    assert {len(part) for part in parts} == {100}
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(1000.0))


@pytest.mark.parametrize("rows", [1, 7, 64, 100])
def test_updates_have_few_sizes(monkeypatch, rows):
    monkeypatch.setattr(_totals, "_MAX_VALUES", 64)
    values = np.arange(2 * rows).reshape(rows, 2)
    pieces = list(_totals._pieces((values[:, 0], values, None)))
    np.testing.assert_array_equal(np.concatenate([p for _, p, _ in pieces]), values)
    assert {len(p) for _, p, _ in pieces} <= {1, 2, 4, 8, 16, 32}
    assert all(len(labels) == len(p) and w is None for labels, p, w in pieces)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[0.5, 0.5], None], "`p` must be given in every row. Received: 1 missing"),
        ([[0.5, 0.5], [0.5, None]], "`p` must be given in every row"),
        ([[0.5, 0.5], [1.0]], r"`p` must have the same length .* \[1, 2\]"),
    ],
)
def test_bad_columns_raise(column, message):
    with pytest.raises(ValueError, match=message):
        only_batch(pa.table({"p": column}), probabilities="p")


def test_real_groups_and_other_elements_raise():
    columns = _columns.Columns(None, "p", None, "p")
    with pytest.raises(TypeError, match="`p` must not hold real numbers"):
        list(columns.batches(pa.table({"p": [0.5]})))
    with pytest.raises(TypeError, match=r"pyarrow tables\. Received: dict"):
        list(columns.batches({"p": [0.5]}))


def test_missing_groups_come_last():
    class Totals:
        def result(self, total):
            return total

    columns = _columns.Columns("y", "p", None, "g")
    groups = {"b": 1, None: 2, "a": 3}
    assert list(_groups.result(groups, Totals(), columns)) == ["a", "b", None]
    groups = {("b", None): 1, (None, "a"): 2, ("b", "a"): 3, ("a", None): 4}
    assert list(_groups.result(groups, Totals(), columns)) == [
        *(("a", None), ("b", "a"), ("b", None), (None, "a"))
    ]
