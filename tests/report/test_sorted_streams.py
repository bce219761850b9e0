"""Streams read what one file reads: parts may lack labels, fields and groups."""

import pathlib
import tracemalloc

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.data import _row_subsets
from uncertainty_metrics._report.data._predictions import ReportError
from uncertainty_metrics._report.reading import (
    _file_parts,
    _large_files,
    _plain_or_gzip_text,
)
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._files import read_predictions

CHOICES = ("yes", "no", "maybe")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_file_parts, "_CHARACTERS", 200)
    monkeypatch.setattr(_file_parts, "_NUMBERS", 100)
    monkeypatch.setattr(_plain_or_gzip_text, "_BLOCK", 64)


def csv_of(header, row):
    return header + "\n" + "".join(f"{row(i)}\n" for i in range(100))


def json_of(more):
    return "".join(
        f'{{"correct": {i % 2}, "confidence": 0.5{more(i)}}}\n' for i in range(100)
    )


def by_turns(i):
    return CHOICES[i % 3]


def in_order(i):
    return CHOICES[i // 40]


def no_then_yes(i):
    return "yes" if i > 50 else "no"


FILES = {
    "three labels": ("csv", csv_of("label,p", lambda i: f"{by_turns(i)},0.3"), "no"),
    "sorted": ("csv", csv_of("label,p", lambda i: f"{in_order(i)},0.3"), "no"),
    "two, sorted": ("csv", csv_of("label,p", lambda i: f"{no_then_yes(i)},0.3"), "yes"),
    "numbers": ("csv", csv_of("label,p", lambda i: f"{i // 40},0.3"), "1"),
    "booleans": ("csv", csv_of("label,p", lambda i: f"{i > 50},0.3"), "true"),
    "numbers, then text": (
        "csv",
        csv_of("label,p", lambda i: f"{i % 2 if i < 60 else 'x'},0.3"),
        "1",
    ),
    "columns of classes": (
        "csv",
        csv_of("label,p_no,p_yes", lambda i: f"{no_then_yes(i)},0.3,0.7"),
        None,
    ),
    "columns of labels": (
        "csv",
        csv_of("label,yes,no", lambda i: f"{no_then_yes(i)},0.3,0.7"),
        "yes",
    ),
    "columns with gaps": (
        "csv",
        csv_of("label,p_20,p_30", lambda i: f"{30 if i > 50 else 20},0.3,0.7"),
        None,
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_files_sorted_by_label_are_read_as_one(case):
    ending, text, positive = FILES[case]
    path = pathlib.Path(f"p.{ending}")
    path.write_text(text)
    choice = Choice(positive_class=positive)
    whole = read_predictions(path, choice)
    found = _large_files.read_stream([path], choice).result()
    assert found.classes == whole.classes
    assert found.event_class == whole.event_class
    np.testing.assert_array_equal(found.labels, whole.labels)
    np.testing.assert_array_equal(found.values, whole.values)


def test_files_of_one_label_each_are_read_as_one():
    for i, label in enumerate(CHOICES):
        pathlib.Path(f"{i}.csv").write_text(f"label,p\n{label},0.2\n{label},0.3\n")
    paths = _large_files.files_of(["*.csv"])
    found = _large_files.read_stream(paths, Choice(positive_class="no")).result()
    assert found.classes == ("not no", "no")
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 1, 0, 0])
    message = r"must be one of the labels. Received: maybe, no, yes"
    with pytest.raises(ReportError, match=message):
        _large_files.read_stream(paths, Choice(positive_class="owl"))
    pathlib.Path("3.csv").write_text("label,p\n,0.2\n")
    with pytest.raises(ReportError, match=r"^3\.csv: line 2: `label` is missing"):
        _large_files.read_stream(
            [*paths, pathlib.Path("3.csv")], Choice(positive_class="no")
        )


@pytest.mark.parametrize(
    ("first", "second", "positive", "expected"),
    [
        ("0", "x", "0", [1, 1, 0, 0]),
        ("x", "1", "1", [0, 0, 1, 1]),
        ("True", "maybe", "True", [1, 1, 0, 0]),
    ],
)
def test_labels_may_be_numbers_in_one_file_and_text_in_another(
    first, second, positive, expected
):
    for name, label in (("a.csv", first), ("b.csv", second)):
        pathlib.Path(name).write_text(f"label,p\n{label},0.2\n{label},0.3\n")
    paths, choice = _large_files.files_of(["*.csv"]), Choice(positive_class=positive)
    found = _large_files.read_stream(paths, choice).result()
    (other,) = {first, second} - {positive}
    assert found.classes == (other, positive)
    np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("first", [0, 30, 60])
def test_a_field_may_be_absent_from_parts_of_json(first):
    def more(i):
        if not first <= i < first + 40:
            return ""
        return f', "language": "{"abc"[i % 3]}", "id": {i}'

    path = pathlib.Path("p.jsonl")
    path.write_text(json_of(more))
    choice = Choice(groups=("language",))
    whole = read_predictions(path, choice)
    found = _large_files.read_stream([path], choice).result()
    np.testing.assert_array_equal(found.correct, whole.correct)
    np.testing.assert_array_equal(
        found.groups["language"], whole.groups["language"], strict=True
    )
    with pytest.raises(ReportError, match="there is no column `town`"):
        _large_files.read_stream([path], Choice(groups=("town",)))


def test_percent_may_be_sorted(capsys):
    text = csv_of("correct,confidence", lambda i: f"{i % 2},{0.5 if i < 60 else i}")
    pathlib.Path("p.csv").write_text(text)
    found = _large_files.read_stream(
        [pathlib.Path("p.csv")], Choice(percent=True)
    ).result()
    whole = read_predictions("p.csv", Choice(percent=True))
    np.testing.assert_array_equal(found.confidences, whole.confidences)
    text = csv_of("correct,confidence", lambda i: f"{i % 2},{i % 2}")
    for name in ("p.csv", "q.csv"):
        pathlib.Path(name).write_text(text)
    for files in (["p.csv"], ["p.csv", "q.csv"]):
        line = fails(capsys, *files, "--percent")
        assert "at most 1 everywhere, so they seem not to be percent" in line


def test_a_part_without_samples_leaves_all_out():
    path = pathlib.Path("p.jsonl")
    path.write_text(json_of(lambda i: ', "answers": ["a", "b"]' if i < 50 else ""))
    found = _large_files.read_stream([path]).result()
    assert found.samples is None
    assert any(note.startswith("Left out: ") for note in found.notes)
    assert len(_row_subsets.taken(found, np.arange(90, 100)).correct) == 10


def test_a_score_is_right_or_wrong_only_if_it_is_so_in_all_parts(capsys):
    text = csv_of("score,confidence", lambda i: f"{i % 2 if i < 60 else 0.5},0.3")
    pathlib.Path("p.csv").write_text(text)
    pathlib.Path("q.csv").write_text(text)
    for files in (["p.csv"], ["p.csv", "q.csv"]):
        assert main(["report", *files]) == 0
        assert "mean grade" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_a_long_name_of_a_group_takes_its_room_once():
    size = 20_000
    names = ["a" * 26_000, *["b" * (i % 2) for i in range(size - 1)]]
    correct, confidences = np.arange(size) % 2, np.full(size, 0.5)
    tracemalloc.start()
    try:
        table = um.calibration_by_group(
            correct=correct, confidences=confidences, groups={"name": names}
        )
        by_array = um.calibration_by_group(
            correct=correct,
            confidences=confidences,
            groups={"name": np.array(names, object)},
        )
        with open("p.jsonl", "w") as file:
            for i, name in enumerate(names[:2000]):
                file.write(
                    f'{{"correct": {i % 2}, "confidence": 0.5, "name": "{name}"}}\n'
                )
        run("p.jsonl", "p.jsonl", "--group", "name")
        assert tracemalloc.get_traced_memory()[1] < 2**26  # Words in rows: 2 GB.
    finally:
        tracemalloc.stop()
    assert [(row.attributes["name"], row.size) for row in table] == [
        ("", size / 2), ("b", size / 2 - 1), ("a" * 26_000, 1)
    ]  # fmt: skip
    assert [row.name for row in by_array] == [row.name for row in table]
    assert [row["size"] for row in numbers()["groups"]["rows"]] == [1000, 999, 1]


def test_a_file_of_booleans_and_one_of_numbers_are_read_as_one():
    pathlib.Path("1.csv").write_text("label,p\nTrue,0.2\nFalse,0.3\n")
    pathlib.Path("2.csv").write_text("label,p\n0,0.2\n1,0.3\n")
    pathlib.Path("whole.csv").write_text("label,p\nTrue,.2\nFalse,.3\n0,.2\n1,.3\n")
    choice = Choice(positive_class="1")
    whole = read_predictions(pathlib.Path("whole.csv"), choice)
    found = _large_files.read_stream(_large_files.files_of(["?.csv"]), choice).result()
    for model in (whole, found):
        assert model.classes == ("not 1", "1")
        np.testing.assert_array_equal(model.labels, [0, 0, 0, 1])


def test_a_file_without_the_column_of_labels_is_named():
    pathlib.Path("1.csv").write_text("label,p\nno,0.2\nyes,0.3\n")
    pathlib.Path("2.csv").write_text("other,p\nno,0.2\nyes,0.3\n")
    with pytest.raises(ReportError, match=r"^2\.csv: there is no column `label`"):
        _large_files.read_stream(
            _large_files.files_of(["*.csv"]), Choice(positive_class="no")
        )
