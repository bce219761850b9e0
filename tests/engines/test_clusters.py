"""Clusters that are whole in a partition, on fake partitions, without an engine."""

import os
import subprocess
import sys

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
import uncertainty_metrics.numpy as um  # noqa: E402
from uncertainty_metrics.engines import _columns, _groups, _totals  # noqa: E402

ADVICE = "Repartition it first."


def table_of(rng, rows=400, number=60):
    p = rng.random(rows)
    ids = rng.integers(0, number, rows)
    return pa.table(
        {
            "label": (rng.random(rows) < p).astype(int),
            "probabilities": p,
            "weight": rng.integers(1, 4, rows) / 2,
            "site": [["north", None][i % 2] for i in ids],
            "question": [f"question {i}" for i in ids],
            "number": ids,
        }
    )


def combined(partitions, clusters, sketch=None, groups=None):
    """Returns what an engine returns of partitions, which are lists of tables."""
    totals = _totals.sketch_totals(sketch, False, clusters, ADVICE)
    columns = _columns.Columns("label", "probabilities", "weight", groups, clusters)
    sent = [
        _groups.packed(_groups.totals_of(iter(tables), totals, columns))
        for tables in partitions
    ]
    halves = sent[: len(sent) // 2], sent[len(sent) // 2 :]
    again = [_groups.packed(_groups.added(half, totals)) for half in halves]
    return _groups.result(_groups.added(again, totals), totals, columns)


def whole(table, kind=um.ScoreSketch):
    sketch = kind()
    sketch.update(
        table["label"].to_numpy(),
        table["probabilities"].to_numpy(),
        sample_weight=table["weight"].to_numpy(),
        clusters=table["question"].to_pylist(),
    )
    return sketch


def partitions_of(rng, table, number=4):
    """Returns partitions of whole clusters, each of two tables that divide clusters."""
    index = rng.integers(0, number, 60)[table["number"].to_numpy()]
    parts = [table.filter(pa.array(index == i)) for i in range(number)]
    return [[part[: len(part) // 2], part[len(part) // 2 :]] for part in parts]


@pytest.mark.parametrize("column", ["question", "number"])
@pytest.mark.parametrize("kind", [um.ScoreSketch, um.Summary])
def test_whole_clusters_give_the_numbers_of_one_process(rng, column, kind):
    table = table_of(rng)
    found = combined([*partitions_of(rng, table), []], column, kind())
    expected = whole(table, kind)
    if kind is um.Summary:
        assert found.num_clusters == expected.num_clusters
        assert found.means()["gap"] == pytest.approx(expected.means()["gap"])
        found, expected = found.events, expected.events
    clusters, others = (each._content.clusters for each in (found, expected))
    assert clusters.number == others.number == len(set(table["number"].to_pylist()))
    np.testing.assert_allclose(clusters.products, others.products, atol=1e-9)
    error = found.debiased_calibration_error(squared=True)
    assert error == pytest.approx(expected.debiased_calibration_error(squared=True))


def test_groups_have_their_own_clusters(rng):
    table = table_of(rng)
    found = combined(partitions_of(rng, table), "question", groups="site")
    for site in ("north", None):
        rows = [x == site for x in table["site"].to_pylist()]
        expected = whole(table.filter(pa.array(rows)))
        error = found[site].debiased_calibration_error(squared=True)
        assert error == pytest.approx(expected.debiased_calibration_error(squared=True))


@pytest.mark.parametrize("column", ["question", "number"])
def test_a_cluster_in_two_partitions_is_refused(rng, column):
    table = table_of(rng)
    partitions = partitions_of(rng, table)
    partitions[-1].append(partitions[0][0][:1])
    with pytest.raises(ValueError, match=r"Repartition it first.*in two parts: 1"):
        combined(partitions, column)
    assert combined(partitions, None) is not None


def test_values_of_all_types_have_hashes_of_their_own():
    totals = _totals.sketch_totals(None, False, "c", ADVICE)
    for values in (
        np.array([0, 1, 1]),
        np.array(["0", "1", "1"], object),
        np.array([True, False, False]),
        np.array(["2020-01-01", "2020-01-02", "2020-01-02"], "datetime64[D]"),
    ):
        first, second = (totals.of_batch([0, 1], [0.2, 0.4], None, values[:2]),) * 2
        assert len(np.unique(first[1])) == 2
        with pytest.raises(ValueError, match="in two parts: 2"):
            totals.sum(first, second)
        one = totals.of_batch([0], [0.2], None, values[2:])
        with pytest.raises(ValueError, match="in two parts: 1"):
            totals.sum(first, one)


def test_hashes_are_the_same_in_every_process():
    code = (
        "import numpy as np\n"
        "from uncertainty_metrics.engines import _totals\n"
        "totals = _totals.sketch_totals(None, False, 'c', '')\n"
        "ids = np.array(['a', 'b'], object)\n"
        "print(totals.of_batch([0, 1], [0.2, 0.4], None, ids)[1].tolist())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_a_missing_id_or_another_argument_is_refused(rng):
    table = table_of(rng, 3)
    missing = table.set_column(4, "question", pa.array(["a", None, "b"]))
    with pytest.raises(ValueError, match=r"question.*given in every row"):
        combined([[missing]], "question")
    with pytest.raises(TypeError, match=r"clusters.*the name of a column"):
        _columns.Columns("label", "probabilities", None, None, 3)
