"""Reports of many files, of summaries, and of batches: part by part."""

import gzip
import json
import pathlib
import shutil

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import answers, calibrated, fails, numbers, run
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report import build
from uncertainty_metrics._report.data import _row_subsets
from uncertainty_metrics._report.data._predictions import (
    Predictions,
    ReportError,
    Stream,
)
from uncertainty_metrics._report.reading import _file_parts, _large_files
from uncertainty_metrics._report.reading._arrays import model_of

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch, tmp_path):
    """Parts of few rows, and a sample that is smaller than the data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_file_parts, "_NUMBERS", 200)
    monkeypatch.setattr(_file_parts, "_CHARACTERS", 2000)
    monkeypatch.setattr(_large_files, "_MOST_ROWS", 300)
    monkeypatch.setattr(_large_files, "_LEAST_ROWS", 300)


def reported(*arguments):
    """Runs the command; returns the numbers of the report."""
    run(*arguments, "--out", "out")
    return numbers("out")


def columns_of(data):
    """Returns the columns of a table, by their names."""
    names = {"probabilities": "p", "labels": "label", "confidences": "confidence"}
    return {names.get(name, name): values for name, values in data.items()}


def write(columns, ending, name):
    """Writes a file of a format; returns its name."""
    from pyarrow import feather, parquet

    path = f"{name}.{ending}"
    table = pyarrow.table(columns)
    if ending == "parquet":
        parquet.write_table(table, path, row_group_size=70)
    elif ending == "feather":
        feather.write_feather(table, path, chunksize=70)
    elif ending == "npz":
        renamed = {"p": "probabilities", "label": "labels"}
        np.savez(path, **{renamed.get(key, key): v for key, v in columns.items()})
    else:
        rows = table.to_pylist()
        if ending == "json":
            text = json.dumps(rows)
        elif ending == "jsonl":
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
        else:
            lines = [",".join(map(str, row.values())) for row in rows]
            text = "\n".join([",".join(columns), *lines, ""])
        opened = gzip.open if ending.endswith(".gz") else open
        with opened(path, "wt") as file:
            file.write(text)
    return path


ENDINGS = ["parquet", "feather", "csv", "csv.gz", "jsonl", "json", "npz"]


@pytest.mark.first(4, "thorough")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("data", [calibrated(1200, 0.5, 1, gap=0.1), answers(1200)])
def test_numbers_of_several_files_are_those_of_all_rows(data, ending):
    columns = columns_of(data)
    whole = um.report(**data).to_dict()
    for i, rows in enumerate(np.array_split(np.arange(1200), 3)):
        write({name: v[rows] for name, v in columns.items()}, ending, f"shard{i}")
    found = _large_files.read_stream(
        _large_files.files_of([f"shard*.{ending}"])
    ).result()
    assert isinstance(found, Stream)
    assert found.sample_size == 300
    report = build(found).to_dict()
    assert report["data"]["examples"] == 1200
    assert report["basis"] == {"rows": 1200, "sample": 300}
    # Sums are equal.
    for name in ("accuracy", "mean_confidence"):
        np.testing.assert_allclose(
            report["calibration"][name], whole["calibration"][name], rtol=1e-9
        )
    for section in ("scoring_rules", "selective_prediction", "calibration"):
        for name, row in whole[section]["metrics"].items():
            # Metrics of the sketch are within its bounds, for cells of 2^-13.
            exact = section == "scoring_rules"
            np.testing.assert_allclose(
                report[section]["metrics"][name]["value"],
                row["value"],
                rtol=1e-9 if exact else 0.02,
                atol=0 if exact else 2e-3,
                err_msg=name,
            )
    for name in ("model", "constant", "gain", "p_value"):
        np.testing.assert_allclose(
            report["scoring_rules"]["constant"][name],
            whole["scoring_rules"]["constant"][name],
            rtol=1e-6,
        )
    for name, row in report["intervals"]["metrics"].items():
        for end, value in row.items():  # The others are by the bootstrap.
            np.testing.assert_allclose(
                value, whole["intervals"]["metrics"][name][end], rtol=0.03, atol=0.005
            )


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_few_rows_in_several_files_make_the_report_of_one(ending):
    columns = columns_of(calibrated(200, 0.5, 1))
    write(columns, ending, "whole")
    halves = [
        write({name: v[rows] for name, v in columns.items()}, ending, f"half{i}")
        for i, rows in enumerate((slice(0, 90), slice(90, None)))
    ]
    whole, parts = (reported(*files) for files in ([f"whole.{ending}"], halves))
    assert whole | {"source": ""} == parts | {"source": ""}


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "jsonl", "npz"])
def test_a_bad_row_is_named_with_its_file(ending):
    columns = columns_of(calibrated(400, 0.5, 1))
    write(columns, ending, "good")
    columns["p"] = columns["p"].copy()
    columns["p"][233] = 1.5
    bad = write(columns, ending, "wrong")
    place = {"csv": "line 235", "jsonl": "line 234", "npz": "example 233"}
    with pytest.raises(ReportError) as refused:
        _large_files.read_stream(_large_files.files_of([f"good.{ending}", bad]))
    assert f"{bad}: {place.get(ending, 'row 234')}: " in str(refused.value)


def test_a_field_of_several_lines_is_not_cut():
    rows = "".join(f'{i % 2},0.{i % 9 + 1},"a\nb, ""c"" {i}"\n' for i in range(700))
    for name in ("one.csv", "two.csv"):
        with open(name, "w") as file:
            file.write(f"label,p,text\n{rows}")
    found = _large_files.read_stream(_large_files.files_of(["one.csv", "two.csv"]))
    assert found.rows == 1400


def test_the_first_of_two_bad_rows_is_named():
    columns = columns_of(calibrated(60, 0.5, 1))
    columns["p"] = columns["p"].copy()
    columns["p"][[2, 6]] = 1.5
    write(columns, "csv", "wrong")
    with pytest.raises(ReportError, match=r"^wrong\.csv: line 4: "):
        _large_files.read_stream(_large_files.files_of(["wrong.csv"]))


def test_folders_and_patterns_name_files():
    write(columns_of(calibrated(90, 0.5, 1)), "csv", "a")
    pathlib.Path("data/deep").mkdir(parents=True)
    pathlib.Path("data/_temporary").mkdir()
    for name in ("data/b", "data/deep/c", "data/_temporary/d"):
        write(columns_of(calibrated(90, 0.5, 1)), "csv", name)
    for name in ("data/_SUCCESS", "data/.hidden.csv", "data/readme.txt"):
        pathlib.Path(name).write_text("?")
    found = _large_files.files_of(["a.csv", "data", "data/*.csv"])
    assert [str(path) for path in found] == ["a.csv", "data/b.csv", "data/deep/c.csv"]
    pathlib.Path("empty").mkdir()
    for nothing in ("*.parquet", "empty"):
        with pytest.raises(ReportError, match="there is no file"):
            _large_files.files_of([nothing])
    with pytest.raises(ReportError, match="standard input is read alone"):
        _large_files.files_of(["a.csv", "-"])


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "jsonl"])
@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"label": [0, 1], "prob": [0.1, 0.2]}, "there is no column `p`. Received: "),
        ({"correct": [0, 1], "confidence": [0.1, 0.2]}, "there is no column `label`"),
        (
            {"label": [0, 1], "p": [0.1, 0.2], "sample_weight": [1, 2]},
            "there are weights, `sample_weight`, which the first file does not have",
        ),
        ({"label": [0, 1], "p": [10, 20]}, r" [12] on: .* seem to be percent"),
    ],
)
def test_files_of_other_columns_are_refused(ending, second, message):
    columns = columns_of(calibrated(90, 0.5, 1))
    files = [write(columns, ending, "first"), write(second, ending, "second")]
    with pytest.raises(ReportError, match=rf"^second\.{ending}: .*{message}"):
        _large_files.read_stream(_large_files.files_of(files))


@pytest.mark.parametrize(
    ("ending", "place"),
    [
        ("parquet", "row 3"),
        ("feather", "row 3"),
        ("csv", "line 4"),
        ("jsonl", "line 3"),
    ],
)
@pytest.mark.parametrize(("name", "bad"), [("correct", 2), ("confidence", 7)])
def test_an_error_that_names_an_example_has_one_place(ending, place, name, bad):
    columns = {"correct": [0, 1, 1], "confidence": [0.5, 0.5, 0.5]}
    first = write(columns, ending, "first")
    columns[name][2] = bad
    second = write(columns, ending, "second")
    with pytest.raises(ReportError, match=rf"^second\.{ending}: {place}: "):
        _large_files.read_stream(_large_files.files_of([first, second]))


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "csv.gz", "jsonl"])
def test_files_without_examples_are_left_out(ending):
    columns = columns_of(calibrated(90, 0.5, 1))
    weighted = {**columns, "sample_weight": np.ones(90)}
    unused = {**columns, "sample_weight": np.zeros(90)}
    empty = {name: values[:0] for name, values in weighted.items()}
    parts = {"a": empty, "b": unused, "c": weighted, "d": empty, "e": unused}
    files = [write(part, ending, name) for name, part in parts.items()]
    assert (
        _large_files.read_stream(_large_files.files_of(files)).result().labels.size
        == 90
    )
    with pytest.raises(ReportError, match="at least one example whose weight"):
        _large_files.read_stream(_large_files.files_of([files[0], files[1]])).result()


def test_the_sample_is_uniform(rng):
    """Each row is in the sample with the same probability, whatever the parts."""
    counts = np.zeros(1000)
    size = 100
    for seed in range(60):
        sample = _large_files._Sample()
        sample._most = size
        sample._generator = np.random.default_rng([seed, int(rng.integers(2**31))])
        start = 0
        while start < 1000:
            rows = np.arange(start, min(1000, start + int(rng.integers(1, 300))))
            start = rows[-1] + 1
            sample.add(Predictions("a", rows, "probabilities", rows / 1000))
            sample._most = size
        labels = sample.model().labels
        assert len(labels) == size
        assert np.all(np.diff(labels) > 0)
        counts[labels] += 1
    by_tenth = counts.reshape(20, -1).sum(axis=1)
    assert stats.chisquare(by_tenth).pvalue > 1e-6


def test_rows_of_answers_are_taken_and_joined():
    data = answers(50)
    samples = [[str(i % 3), "a", "a"] for i in range(50)]
    given = {**data, "answers": samples}
    model = model_of("a", None, given, None, None, {"group": np.arange(50) % 4})
    parts = [
        _row_subsets.taken(model, slice(0, 20)),
        _row_subsets.taken(model, np.arange(20, 50)),
    ]
    joined = _row_subsets.joined(parts)
    for name in ("correct", "confidences"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(model, name))
    np.testing.assert_array_equal(joined.samples.agreement, model.samples.agreement)
    np.testing.assert_array_equal(joined.groups["group"], np.arange(50) % 4)


def test_summaries_add_and_tell_drift():
    shifted = calibrated(1500, 0.5, 1, gap=0.15, seed=1)
    weeks = {
        "week1": calibrated(1500, 0.5, 1, seed=2),
        "week2": calibrated(1500, 0.5, 1, seed=3),
        "week3": shifted,
    }
    for name, data in weeks.items():
        path = write(columns_of(data), "parquet", name)
        assert main(["sketch", path, "--out", f"{name}.npz"]) == 0
    both = reported("week1.npz", "week2.npz")
    assert both["data"]["examples"] == 3000
    right = np.concatenate([w["labels"] for w in (weeks["week1"], weeks["week2"])])
    np.testing.assert_allclose(both["calibration"]["accuracy"], right.mean())
    assert "recalibration" not in both
    for name, changed in (("week2", False), ("week3", True)):
        found = reported(f"{name}.npz", "--compare", "week1.npz")
        drift = found["comparison"]["drift"]
        assert (drift["p_value"] < 0.01) == changed
        assert found["tiles"][-1]["value"] == (
            "Calibration has changed" if changed else "No clear change"
        )
    # The first is the later week, so no text may call it the one before.
    assert not {"before", "after"} & set(drift["verdict"].split())
    page = pathlib.Path("out/report.html").read_text()
    assert "intervals from standard errors" in page
    assert "The band is where chance" not in page  # There is none.
    pictures = ("reliability_diagram.png", "drift_diagram.png")
    assert len({pathlib.Path("out", name).read_bytes() for name in pictures}) == 2


def test_predictions_and_summaries_do_not_mix(capsys):
    path = write(columns_of(calibrated(400, 0.5, 1)), "parquet", "a")
    with open("s.npz", "wb") as file:
        summary = um.Summary()
        summary.update(**calibrated(60, 0.5, 1))
        summary.save(file)
    assert "1 of 2 are summaries" in fails(capsys, "s.npz", path)
    wrong = fails(capsys, "s.npz", "--group", "site")
    assert "--group, --feature and --ignore-index need the predictions" in wrong
    pathlib.Path("broken.npz").write_bytes(pathlib.Path("s.npz").read_bytes()[:400])
    assert "broken.npz" in fails(capsys, "broken.npz")


def test_sketch_adds_summaries(capsys):
    path = write(columns_of(calibrated(400, 0.5, 1)), "parquet", "a")
    assert main(["sketch", path, "--out", "a.npz"]) == 0
    assert main(["sketch", "a.npz", path, "--out", "b.npz"]) == 2
    assert "1 of 2 are summaries" in capsys.readouterr().err
    shutil.copy("a.npz", "b.npz")
    assert main(["sketch", "a.npz", "b.npz", "--out", "both.npz"]) == 0
    one, both = um.Summary.load("a.npz"), um.Summary.load("both.npz")
    assert both.num_examples == 800
    assert both.decisions == one.decisions + one.decisions


def test_batches_and_summaries_are_reported():
    data = calibrated(900, 0.5, 1, gap=0.1)
    batches = [{k: v[i::3] for k, v in data.items()} for i in range(3)]
    summary = um.Summary()
    for batch in batches:
        summary.update(**batch)
    streamed = um.report(batches=iter(batches)).to_dict()
    summed = um.report(summary).to_dict()
    for name in ("calibration", "scoring_rules", "bayesian_ece", "intervals"):
        assert streamed[name] == summed[name]
    assert streamed["basis"]["sample"] == 300
    report = um.report(summary, compare={"before": summary}).to_dict()
    assert report["comparison"]["drift"]["p_value"] == 1
    for wrong, message in (
        ({"batches": batches, "labels": [0]}, "without other data"),
        ({"batches": [*batches, {"labels": [3]}]}, "batch 4|probabilities"),
        ({"labels": summary, "probabilities": [0.4]}, "without other data"),
        ({"labels": summary, "compare": {"b": [0.2]}}, "a `Summary`"),
    ):
        with pytest.raises(ValueError, match=message):
            um.report(**wrong)


def test_of_a_regression_there_is_a_sample(rng):
    mean = rng.normal(size=900)
    batches = [
        {"labels": mean[i::3] + rng.normal(size=300), "means": mean[i::3],
         "stddevs": np.ones(300)}
        for i in range(3)
    ]  # fmt: skip
    found = um.report(batches=batches).to_dict()
    assert found["data"]["examples"] == 300
    assert "uniform sample of 300" in found["notes"][0]


def test_sketch_writes_private_files_and_refuses_few_examples(capsys):
    path = write(columns_of(calibrated(2000, 0.5, 1)), "parquet", "a")
    assert main(["sketch", path, "--out", "a.npz"]) == 0
    assert main(["sketch", path, "--out", "p.npz", "--private", "2"]) == 0
    assert um.Summary.load("p.npz").private == 2.0
    assert main(["report", "p.npz", "--out", "out"]) == 0
    capsys.readouterr()
    assert "only to another one" in fails(capsys, "a.npz", "p.npz")
    few = write(columns_of(calibrated(49, 0.5, 1)), "parquet", "few")
    assert main(["sketch", few, "--out", "few.npz"]) == 2
    assert "50 examples or more" in capsys.readouterr().err
    assert not pathlib.Path("few.npz").exists()
    assert main(["sketch", path, "--out", "a.npz", "--private", "-1"]) == 2
    assert "--private: must be a finite number > 0" in capsys.readouterr().err
