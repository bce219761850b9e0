"""Small files as forecasting packages write them: read as they are, or refused."""

import json
import pathlib

import numpy as np
import pytest

from uncertainty_metrics import _optional
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data._predictions import QuantileForecasts
from uncertainty_metrics._report.reading._column_names import Choice

pytestmark = pytest.mark.usefixtures("own_directory")

NIXTLA = """\
unique_id,ds,cutoff,y,ETS,ETS-lo-80,ETS-hi-80
a,2024-01-02,2024-01-01,5,5,4,7
b,2024-01-02,2024-01-01,6,5,3,6
a,2024-01-03,2024-01-01,7,6,4,8
b,2024-01-03,2024-01-01,8,6,5,8
"""
PROPHET = "ds,yhat,yhat_lower,yhat_upper,y\n2024-01-01,5,4,6,5\n2024-01-02,6,5,7,8\n"
LONG = """\
location,target_end_date,horizon,observed,quantile_level,predicted
A,2024-01-08,1,5,0.1,3
A,2024-01-08,1,5,0.9,7
B,2024-01-08,1,9,0.9,8
B,2024-01-08,1,9,0.1,4
"""
LONG_SAMPLES = """\
location,observed,sample_id,predicted
A,5,1,4
A,5,2,6
A,5,3,5
B,9,1,8
B,9,2,7
B,9,3,7
"""
WIDE = "y,q0.1,q0.5,q0.9\n5,3,5,7\n6,4,5,8\n"
LIST = '{"y": 5, "samples": [4, 5, 6]}\n{"y": 6, "samples": [5, 7, 8]}\n'
RECORDS = [{"y": 5.0, "0.1": 3.0, "0.9": 7.0}, {"y": 6.0, "0.1": 4.0, "0.9": 8.0}]
ARRAYS = {
    "quantiles": [[3.0, 7.0], [4.0, 8.0]],
    "levels": [0.1, 0.9],
    "target": [5.0, 6.0],
}
OUTER, THREE = [0.1, 0.9], [0.1, 0.5, 0.9]

# By name: the ending, the content, the choice; targets; levels, or number of samples.
READ = {
    "two models": (
        "csv",
        "y,A-lo-80,A-hi-80,B-lo-80,B-hi-80\n5,3,7,3,7\n",
        {},
        [5, 5],
        OUTER,
    ),
    "wide": ("csv", WIDE, {}, [5, 6], THREE),
    "wide, semicolons": ("csv", WIDE.replace(",", ";"), {}, [5, 6], THREE),
    "percentiles": (
        "csv",
        WIDE.replace("q0.1,q0.5,q0.9", "p10,p50,p90"),
        {},
        [5, 6],
        THREE,
    ),
    "GluonTS": ("csv", WIDE.replace("q", ""), {}, [5, 6], THREE),
    "Darts": ("csv", WIDE.replace("q", "load_q"), {}, [5, 6], THREE),
    "sktime": ("csv", WIDE.replace("q", "quantile_"), {}, [5, 6], THREE),
    "Nixtla": ("csv", NIXTLA, {}, [5, 6, 7, 8], OUTER),
    "Prophet": ("csv", PROPHET, {"level": 0.8}, [5, 8], OUTER),
    "scoringutils": ("csv", LONG, {}, [5, 9], OUTER),
    "scoringutils, samples": ("csv", LONG_SAMPLES, {}, [5, 9], 3),
    "samples": ("csv", "y,sample_0,sample_1\n5,4,6\n6,5,8\n", {}, [5, 6], 2),
    "lists of samples": ("jsonl", LIST, {}, [5, 6], 3),
    "JSON records": ("json", json.dumps(RECORDS), {}, [5, 6], OUTER),
    "arrays": ("npz", ARRAYS, {}, [5, 6], OUTER),
    "array of samples": (
        "npz",
        {"samples": [[4.0, 6.0], [5.0, 8.0]], "target": [5.0, 6.0]},
        {},
        [5, 6],
        2,
    ),
    "Parquet": (
        "parquet",
        {"target": [5.0, 6.0], "q0.1": [3.0, 4.0], "q0.9": [7.0, 8.0]},
        {},
        [5, 6],
        OUTER,
    ),
    "Parquet, lists": (
        "parquet",
        {"target": [5.0, 6.0], "samples": [[4.0, 6.0], [5.0, 8.0]]},
        {},
        [5, 6],
        2,
    ),
}
# By name: the ending, the content, the choice, and a part of the line.
REFUSED = {
    "a level of 1": ("csv", WIDE.replace("q0.9", "q1.0"), {}, "names the level 1"),
    "descending": (
        "csv",
        WIDE.replace("q0.1,q0.5,q0.9", "q0.9,q0.5,q0.1"),
        {},
        "must ascend",
    ),
    "no target": ("csv", WIDE.replace("y,", "price,"), {}, "what was observed"),
    "a target missing": ("csv", WIDE.replace("\n6", "\n"), {}, "`y` is missing"),
    "a quantile missing": ("csv", WIDE.replace("4,5,8", "4,,8"), {}, "`q0.5` must"),
    "words": ("csv", WIDE.replace("4,5,8", "4,five,8"), {}, "`q0.5` must"),
    "Prophet, no level": ("csv", PROPHET, {}, "need --level"),
    "rows twice": ("csv", LONG + LONG.partition("\n")[2], {}, "several times"),
    "a row missing": ("csv", LONG.replace("B,2024-01-08,1,9,0.1,4\n", ""), {}, "all 2"),
    "whole numbers": ("csv", "y,q10,q90\n5,3,7\n", {}, "call that of level 0.1 q0.1"),
    "levels of arrays": ("npz", ARRAYS | {"levels": [0.1, 1.0]}, {}, "levels"),
    "no levels": ("npz", {k: ARRAYS[k] for k in ("quantiles", "target")}, {}, "levels"),
    "more targets": ("npz", ARRAYS | {"target": [5.0, 6.0, 7.0]}, {}, "target"),
    "no rows": ("csv", WIDE.partition("\n")[0] + "\n", {}, "at least one"),
}


def written(ending, content):
    """Writes a file; returns its name."""
    path = f"forecasts.{ending}"
    if ending == "npz":
        np.savez(path, **content)
    elif ending == "parquet":
        pa = _optional.require("pyarrow")
        _optional.require("pyarrow.parquet").write_table(pa.table(content), path)
    else:
        pathlib.Path(path).write_text(content)
    return path


@pytest.mark.parametrize("form", READ)
def test_forms_are_read(form):
    ending, content, choice, targets, of_forecasts = READ[form]
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    model = report.read_predictions(written(ending, content), Choice(**choice))
    assert isinstance(model, QuantileForecasts)
    order = np.argsort(model.target)
    assert model.target[order].tolist() == targets
    if isinstance(of_forecasts, int):
        assert model.samples.shape == (len(targets), of_forecasts)
        return
    assert model.samples is None
    np.testing.assert_allclose(model.levels, of_forecasts, atol=1e-12)
    first = model.quantiles[order[0]]
    expected = [4, 6 if form == "Prophet" else 7]
    if form not in ("Nixtla", "Prophet"):
        expected[0] = 3
    assert [first[0], first[-1]] == expected


def test_series_horizons_and_times_are_found():
    nixtla = report.read_predictions(written("csv", NIXTLA))
    assert nixtla.clusters.values.tolist() == ["a", "b", "a", "b"]
    assert (np.diff(nixtla.times) > 0).tolist() == [False, True, False]
    long = report.read_predictions(written("csv", LONG))
    assert long.horizons.tolist() == [1, 1]


def read_and_built(form):
    ending, content, choice, _ = REFUSED[form]
    return report.build(
        report.read_predictions(written(ending, content), Choice(**choice))
    )


@pytest.mark.parametrize("form", REFUSED)
def test_other_forms_are_refused_in_one_line(form):
    with pytest.raises(report.ReportError) as caught:
        read_and_built(form)
    (line,) = str(caught.value).splitlines()
    assert REFUSED[form][-1] in line
