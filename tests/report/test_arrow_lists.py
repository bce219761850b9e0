"""Reports of Arrow files in which the predictions of an example are a list."""

import numpy as np
import pyarrow
import pytest
from pyarrow import feather, parquet

from tests.report.reports import fails, numbers, run
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.reading import _file_parts

LISTS = {
    "list": pyarrow.list_(pyarrow.float32()),
    "large list": pyarrow.large_list(pyarrow.float32()),
    "fixed-size list": pyarrow.list_(pyarrow.float32(), 3),
}


pytestmark = pytest.mark.usefixtures("own_directory", "undrawn")


@pytest.fixture(autouse=True)
def in_small_parts(monkeypatch):
    monkeypatch.setattr(_file_parts, "_NUMBERS", 200)


def write(path, **columns):
    table = pyarrow.table(columns)
    if path.endswith(".parquet"):
        parquet.write_table(table, path, row_group_size=70)
    else:
        feather.write_feather(table, path, chunksize=70)


def draw(rng, size=400):
    p = rng.dirichlet([1, 1, 1], size).astype(np.float32)
    labels = np.argmax(np.cumsum(p, axis=1) > rng.random((size, 1)), axis=1)
    return labels, p


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("kind", LISTS)
def test_lists_are_read_as_a_column_for_each_class(rng, ending, kind):
    labels, p = draw(rng)
    lists = pyarrow.array(list(p), LISTS[kind])
    write(f"lists.{ending}", label=labels, Probabilities=lists)
    write(f"columns.{ending}", label=labels, p0=p[:, 0], p1=p[:, 1], p2=p[:, 2])
    found = []
    for name in ("lists", "columns"):
        run(f"{name}.{ending}", "--out", "whole")
        assert main(["sketch", f"{name}.{ending}", "--out", "sums.npz"]) == 0
        run("sums.npz", "--out", "summary")
        found.append((numbers("whole"), numbers("summary")))
    for of_lists, of_columns in zip(*found, strict=True):
        for section in ("calibration", "scoring_rules"):
            assert of_lists[section] == of_columns[section]


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize(
    ("row", "received"), [(None, "no list"), ([0.5, 0.5], "2 numbers")]
)
def test_a_list_of_another_length_is_refused(rng, capsys, ending, row, received):
    labels, p = draw(rng)
    rows = [*p[:300].tolist(), row, *p[301:].tolist()]
    write(f"good.{ending}", label=labels, probabilities=pyarrow.array(list(p)))
    write(f"bad.{ending}", label=labels, probabilities=pyarrow.array(rows))
    for files in ("bad",), ("good", "bad"):  # As a whole, and part by part.
        error = fails(capsys, *(f"{name}.{ending}" for name in files))
        assert "row 301: `probabilities` must be a list of 3 numbers" in error
        assert f"Received: {received}" in error


def test_a_file_without_rows_is_refused(capsys):
    empty = pyarrow.array([], LISTS["list"])
    write("empty.parquet", label=pyarrow.array([], "int64"), probabilities=empty)
    for files in ("empty.parquet",), ("empty.parquet", "."):
        assert "at least one example" in fails(capsys, *files)
