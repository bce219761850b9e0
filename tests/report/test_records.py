"""Answers in JSON, Arrow, Excel and tables: a result, or one line on what is wrong."""

import gzip
import io
import json
import pathlib
import sys

import numpy as np
import pytest

from tests.report.reports import fails, write_parquet
from tests.report.test_inputs import hide
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data._predictions import Confidences
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.sections._groups import Groups

pytestmark = pytest.mark.usefixtures("own_directory")

# All good files of answers hold these.
CORRECT, CONFIDENCES = [True, False, True, True], [0.75, 0.5, 0.25, 1.0]
RECORDS = [
    {"correct": right, "confidence": sure}
    for right, sure in zip(CORRECT, CONFIDENCES, strict=True)
]


def lines(records=RECORDS, end="\n"):
    return "".join(json.dumps(record) + end for record in records)


def renamed(correct="correct", confidence="confidence", **more):
    """Returns the records with other names, and fields that all of them have."""
    return lines(
        [
            {correct: record["correct"], confidence: record["confidence"], **more}
            for record in RECORDS
        ]
    )


def changed(**fields):
    """Returns the records, the third with these fields instead of its own."""
    records = [dict(record) for record in RECORDS]
    records[2] |= fields
    return lines(records)


def without(field):
    records = [dict(record) for record in RECORDS]
    del records[2][field]
    return lines(records)


def answered(*answers, confidence=True):
    """Returns records with sampled answers."""
    kept = ("correct", "confidence") if confidence else ("correct",)
    return lines(
        [
            {**{key: record[key] for key in kept}, "answers": of_one}
            for record, of_one in zip(RECORDS, answers, strict=True)
        ]
    )


def table(separator=",", correct=CORRECT, name="confidence"):
    rows = zip(correct, CONFIDENCES, strict=True)
    rows = [("correct", name), *rows]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def excel(*rows, other_sheets=()):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in other_sheets:
        book.create_sheet(name)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def arrow(columns, stream=False):
    pyarrow = pytest.importorskip("pyarrow")
    ipc = pytest.importorskip("pyarrow.ipc")
    data, file = pyarrow.table(columns), io.BytesIO()
    with (ipc.new_stream if stream else ipc.new_file)(file, data.schema) as writer:
        writer.write_table(data)
    return file.getvalue()


COLUMNS = {"correct": CORRECT, "confidence": CONFIDENCES}
EXCEL_ROWS = [("correct", "confidence"), *zip(CORRECT, CONFIDENCES, strict=True)]
GOOD = {
    "lines": ("a.jsonl", lines()),
    "another ending": ("a.ndjson", lines()),
    "upper case": ("A.JSONL", lines()),
    "a list": ("a.json", json.dumps(RECORDS)),
    "an indented list": ("a.json", json.dumps(RECORDS, indent=2)),
    "lines where a list is usual": ("a.json", lines()),
    "a list where lines are usual": ("a.jsonl", json.dumps(RECORDS)),
    "packed lines": ("a.jsonl.gz", gzip.compress(lines().encode())),
    "a packed list": ("a.json.gz", gzip.compress(json.dumps(RECORDS).encode())),
    "not packed after all": ("a.ndjson.gz", lines()),
    "a byte order mark": ("a.jsonl", "\ufeff" + lines()),
    "Windows": ("a.jsonl", lines(end="\r\n")),
    "blank lines": ("a.jsonl", "\n" + lines(end="\n\n  \n")),
    "no last end": ("a.jsonl", lines().rstrip()),
    "0 and 1": ("a.jsonl", lines().replace("true", "1").replace("false", "0")),
    "0.0 and 1.0": ("a.jsonl", lines().replace("true", "1.0").replace("false", "0.0")),
    "booleans and numbers": ("a.jsonl", changed(correct=1)),
    "text of booleans": (
        "a.jsonl",
        lines().replace("true", '"True"').replace("false", '"FALSE"'),
    ),
    **{
        f"correct is {name}": ("a.jsonl", renamed(correct=name))
        for name in ("is_correct", "accuracy", "acc", "Exact_Match", "score")
    },
    **{
        f"confidence is {name}": ("a.jsonl", renamed(confidence=name))
        for name in ("conf", "Certainty", "probability", "confidences")
    },
    "a label beside it": ("a.jsonl", renamed(target="Paris")),
    "a score beside it": ("a.jsonl", renamed(score=0.3)),
    "told names": (
        "a.jsonl",
        renamed("good", "sure", label=1, probability=0.3),
        {"correct": "good", "confidence": "sure"},
    ),
    "a told field of an object": (
        "a.jsonl",
        renamed().replace('"confidence": ', '"said": {"sure": ').replace("}", "}}"),
        {"confidence": "said.sure"},
    ),
    "percent": (
        "a.jsonl",
        lines([{**r, "confidence": 100 * r["confidence"]} for r in RECORDS]),
        {"percent": True},
    ),
    "a table": ("a.csv", table()),
    "a table with tabs": ("a.tsv", table("\t", name="conf")),
    "a table in capitals": (
        "a.csv",
        table(";", [str(right).upper() for right in CORRECT]),
    ),
    "arrays": ("a.npz", npz(correct=CORRECT, confidence=CONFIDENCES)),
    "arrays of text": ("a.npz", npz(correct=np.array(CORRECT, str), conf=CONFIDENCES)),
    "a column of arrays": (
        "a.npz",
        npz(correct=np.reshape(CORRECT, [-1, 1]), confidences=CONFIDENCES),
    ),
    "Arrow": ("a.arrow", lambda: arrow(COLUMNS)),
    "a stream of Arrow": ("a.arrow", lambda: arrow(COLUMNS, stream=True)),
    "Feather": ("a.feather", lambda: arrow(COLUMNS)),
    "Excel": ("a.xlsx", lambda: excel(*EXCEL_ROWS)),
    "Excel with blank rows": (
        "a.xlsx",
        lambda: excel((), *EXCEL_ROWS[:2], (None, None), *EXCEL_ROWS[2:]),
    ),
}


def content_of(made):
    made = made() if callable(made) else made
    return made if isinstance(made, bytes) else made.encode()


def check(found):
    assert isinstance(found, Confidences)
    assert found.correct.tolist() == CORRECT
    assert found.confidences.tolist() == CONFIDENCES


@pytest.mark.parametrize("case", GOOD)
def test_good_files_are_read(case):
    name, made, *choice = GOOD[case]
    pathlib.Path(name).write_bytes(content_of(made))
    check(report.read_predictions(name, Choice(**choice[0]) if choice else None))


def test_confidences_that_may_be_no_percent_are_noted():
    pathlib.Path("a.jsonl").write_text(
        lines([{"correct": 1, "confidence": value} for value in (80, 0.8, 0, 100)])
    )
    found = report.read_predictions("a.jsonl", Choice(percent=True))
    np.testing.assert_allclose(found.confidences, [0.8, 0.008, 0, 1], rtol=1e-12)
    assert found.notes[0].startswith("1 of the confidences are above 0% and at most")


def test_parquet():
    write_parquet("a.parquet", {**COLUMNS, "n": [1, 2, 3, 4]})
    found = report.read_predictions("a.parquet", Choice(groups=("n",)))
    check(found)
    assert found.groups["n"].tolist() == [1, 2, 3, 4]


ONE_LIST = [["a", "b"], ["b", "b"], ["c", "a"], ["a", "a"]]
BAD = {
    "no JSON": (
        lines() + '{"correct": tru}',
        "line 5 is no JSON: Expecting value at column 13; a record must be on one line",
    ),
    "Python": (lines().replace("true", "True"), "line 1 is no JSON: Expecting value"),
    "cut off": (lines()[:-9], "line 4 is no JSON: "),
    "a list cut off": (json.dumps(RECORDS)[:-9], "the file is no JSON: "),
    "a list with lines": (
        json.dumps(RECORDS) + "\n" + lines(),
        "the file is no JSON: Extra data at line 2, column 1",
    ),
    "lists as lines": ("[true, 0.5]\n[false, 0.25]\n", "the file is no JSON: Extra"),
    "an indented record": (
        json.dumps(RECORDS[0], indent=2),
        "line 1 is no JSON: ",
    ),
    "nothing": ("", "must hold at least one example"),
    "spaces": (" \n\n", "must hold at least one example"),
    "an empty list": ("[]", "must hold at least one example"),
    "an empty record": ("{}\n", "must hold at least one example"),
    "a number": ("5\n", "line 1 must be a record, such as"),
    "a text": ('"correct"', "Received: the text 'correct'"),
    "a list of numbers": ("[1, 2]", "record 1 must be a record"),
    "an object of it": (json.dumps({"data": COLUMNS}), "Received: data.correct, data."),
    "a field twice": (
        lines() + '{"correct": true, "correct": false, "confidence": 0.5}',
        "line 5: the field `correct` is there twice",
    ),
    "a nested field twice": (
        renamed(a=1).replace('"a": 1', '"a.b": 1, "a": {"b": 2}'),
        "line 1: the field `a.b` is there twice",
    ),
    "NaN": (
        changed(confidence=float("nan")),
        "line 3, column `confidence` must be a number. Received: NaN",
    ),
    "infinite": (changed(confidence=float("inf")), "in [0, 1]. Received: inf"),
    "missing": (without("confidence"), "line 3: `confidence` is missing; fill it in"),
    "null": (changed(confidence=None), "line 3: `confidence` is missing"),
    "correct missing": (without("correct"), "line 3: `correct` is missing"),
    "correct null": (changed(correct=None), "line 3: `correct` is missing"),
    "an object": (changed(confidence={"p": 0.5}), "line 3: `confidence` is missing"),
    "objects": (
        renamed(confidence="sure")
        .replace('"sure": ', '"confidence": {"p": ')
        .replace("}", "}}"),
        "must say how sure each answer is: call it one of confidence, confidences, "
        "conf, certainty, probability, or name it with --confidence; if `confidence.p` "
        "is it, type `python -m uncertainty_metrics report a.jsonl --confidence "
        "confidence.p`. Received: correct, confidence.p",
    ),
    "a list in it": (
        changed(confidence=[0.5]),
        "line 3: `confidence` must be a number",
    ),
    "text of a number": (
        changed(confidence="0.8"),
        "line 3: `confidence` must be a number. Received: the text '0.8'",
    ),
    "text of percent": (changed(confidence="80 %x"), "Received: the text '80 %x'"),
    "a boolean": (changed(confidence=True), "must be a number. Received: True"),
    "percent": (
        lines([{**r, "confidence": 80} for r in RECORDS]),
        "line 1: `confidence` must be in [0, 1] (divide percent by 100; for a file, "
        "--percent does). Received: 80.0",
    ),
    "percent and more": (changed(confidence=120), "line 3: `confidence` must be in [0"),
    "log-probabilities": (
        lines([{**r, "confidence": -r["confidence"]} for r in RECORDS]),
        "(take the exponential of log-probabilities). Received: -0.75",
    ),
    "400 digits": (
        lines().replace("0.25", "1" * 400),
        "line 3: `confidence` must be a number. Received: 11111",
    ),
    "5000 digits": (
        lines().replace("0.25", "1" * 5000),
        "line 3: Exceeds the limit (4300 digits)",
    ),
    "nested too deeply": (lines() + "[" * 100_000, "line 5 is nested too deeply"),
    "several types": (
        changed(correct="yes"),
        "line 3: `correct` must be a number or a boolean, as in line 1. Received: the "
        "text 'yes'",
    ),
    "yes and no": (
        lines([{**r, "correct": "yes" if r["correct"] else "no"} for r in RECORDS]),
        "line 1: `correct` must be true or false, a number in [0, 1], or votes",
    ),
    "2": (changed(correct=2), "line 3: `correct` must be true or false, a number in"),
    "a score of many points": (
        changed(correct=7).replace("correct", "score"),
        "one column must say whether each answer is right: call it one of correct, ",
    ),
    "grades under another name": (
        changed(correct=0.7).replace("correct", "rubric_points"),
        "under another name, type `python -m uncertainty_metrics report a.jsonl "
        "--correct rubric_points`. Received: ",
    ),
    "no confidence": (
        renamed(confidence="sure"),
        "one column must say how sure each answer is: call it one of confidence",
    ),
    "points under another name": (
        changed(correct=7).replace("correct", "rubric_grade"),
        "`rubric_grade` holds no grades, which are numbers in [0, 1] or votes such as "
        "3/5: divide by the highest possible grade. Received: ",
    ),
    "neither name known": (
        lines().replace("correct", "judge_score").replace("conf", "stated conf"),
        "or name it with --label; for answers with confidences type `python -m "
        "uncertainty_metrics report a.jsonl --correct judge_score --confidence "
        "'stated confidence'`. Received: ",
    ),
    "two confidences": (
        renamed(conf=0.3),
        "each of confidence, conf may say how sure each answer is: choose the column "
        "with --confidence",
    ),
    "right twice": (renamed(acc=1), "each of correct, acc may say whether each answer"),
    "a classifier as well": (
        renamed(label=1, p0=0.25, p1=0.75),
        "the file may hold answers (correct, confidence) or predictions (label, p0, "
        "p1): choose with --correct and --confidence, or with --label and",
    ),
    "a regression as well": (renamed(y=1, mean=0, std=1), "(y, mean, std): choose"),
    "probabilities of a class or of answers": (
        renamed(confidence="probability", label=1),
        "the file may hold answers (correct, probability) or predictions (label",
    ),
    "UTF-16": (lines().encode("utf-16")[:-1], "not a JSON file in UTF-8"),
    "Latin-1": ('{"correct": 1, "q": "é"}'.encode("latin-1"), "not a JSON file in UTF"),
    "other numbers of answers": (
        answered(["a"], *ONE_LIST[1:], confidence=False),
        "line 2: `answers` must hold a list of equally many answers to each question. "
        "Received: 2 answers, but 1 to the first question",
    ),
    "one answer": (
        answered("a", "b", "c", "d", confidence=False),
        "line 1: `answers` must hold a list of equally many answers to each question",
    ),
    "answers of numbers": (
        answered([0.5], [0.1], [0.2], [0.3], confidence=False),
        "`answers` must hold strings, or integers that stand for them",
    ),
    "many fields": (
        "".join(json.dumps({f"f{i}": 1}) + "\n" for i in range(10_001)),
        "line 10001: the records must have at most 10000 different fields",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_say_what_was_found(case, capsys):
    content, message = BAD[case]
    pathlib.Path("a.jsonl").write_bytes(content_of(content))
    line = fails(capsys, "a.jsonl")
    assert line.startswith("error: a.jsonl: ")
    assert message in line


BAD_OTHERS = {
    "a damaged .gz": ("a.jsonl.gz", gzip.compress(lines().encode())[:-9], "not a JSON"),
    "no .gz": ("a.json.gz", b"\x1f\x8b\x07" + bytes(30), "a damaged .gz file"),
    "no .xlsx": ("a.xlsx", table(), "not an Excel file (.xlsx)"),
    "another archive": ("a.xlsx", npz(correct=[1]), "a damaged Excel file"),
    "an Excel file without rows": (
        "a.xlsx",
        lambda: excel(EXCEL_ROWS[0]),
        "must hold a row of names and at least one example",
    ),
    "text in Excel": (
        "a.xlsx",
        lambda: excel(*EXCEL_ROWS[:3], (True, "0.8")),
        "row 4: `confidence` must be a number. Received: the text '0.8'",
    ),
    "a cell missing in Excel": (
        "a.xlsx",
        lambda: excel(*EXCEL_ROWS[:3], (None, 0.8)),
        "row 4: `correct` is missing",
    ),
    "no Arrow": ("a.arrow", table(), "a damaged Arrow file"),
    "text in Arrow": (
        "a.feather",
        lambda: arrow({**COLUMNS, "confidence": ["0.8"] * 4}),
        "the column `confidence` must hold numbers. Received: string",
    ),
    "missing in Arrow": (
        "a.arrow",
        lambda: arrow({**COLUMNS, "confidence": [0.5, None, 0.5, 0.5]}),
        "row 2, column `confidence` must be a number. Received: NaN",
    ),
    "correct missing in Arrow": (
        "a.arrow",
        lambda: arrow({**COLUMNS, "correct": ["true", None, "true", "true"]}),
        "row 2: `correct` is missing",
    ),
    "missing in a table": (
        "a.csv",
        table(correct=["true", "", "false", "true"]),
        "line 3: `correct` is missing",
    ),
    "yes in a table": (
        "a.csv",
        "\n" + table(correct=["true", "yes", "false", "true"]),
        "line 4: `correct` must be true or false, a number in [0, 1], or votes",
    ),
    "arrays of other lengths": (
        "a.npz",
        npz(correct=CORRECT, confidence=CONFIDENCES[1:]),
        "`confidence` must be of the shape of `correct`, [4]",
    ),
    "arrays of words": (
        "a.npz",
        npz(correct=CORRECT, confidence=np.array(CONFIDENCES, str)),
        "`confidence` must hold numbers. Received: text",
    ),
    "no arrays": ("a.npz", npz(correct=[], confidence=[]), "at least one"),
}


@pytest.mark.parametrize("case", BAD_OTHERS)
def test_other_bad_files_say_what_was_found(case, capsys):
    name, made, message = BAD_OTHERS[case]
    pathlib.Path(name).write_bytes(content_of(made))
    line = fails(capsys, name)
    assert line.startswith(f"error: {name}: ")
    assert message in line


BAD_OPTIONS = {
    "--percent": "the confidences are at most 1 everywhere, so they seem not to be",
    "--correct good": "there is no column `good`. Received: correct, confidence",
    "--confidence sure": "there is no column `sure`",
    "--group language": "there is no column `language`. Received: correct, confidence",
    "--correct correct --label y": "use options of one kind only",
}


@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_bad_options_say_what_was_found(options, capsys):
    pathlib.Path("a.jsonl").write_text(lines())
    assert BAD_OPTIONS[options] in fails(capsys, "a.jsonl", *options.split())


@pytest.mark.parametrize("kind", ["lines", "list", "packed", "Excel", "Arrow"])
def test_standard_input(kind, monkeypatch):
    content = {
        "lines": "\ufeff\n" + lines(),
        "list": json.dumps(RECORDS),
        "packed": gzip.compress(lines().encode()),
        "Excel": lambda: excel(*EXCEL_ROWS),
        "Arrow": lambda: arrow(COLUMNS),
    }[kind]
    stdin = io.TextIOWrapper(io.BytesIO(content_of(content)))
    monkeypatch.setattr(sys, "stdin", stdin)
    check(report.read_predictions("-"))


def test_openpyxl_is_an_extra(capsys, monkeypatch):
    pathlib.Path("a.xlsx").write_bytes(content_of(GOOD["Excel"][1]))
    hide(monkeypatch, "openpyxl")
    line = fails(capsys, "a.xlsx")
    assert "needs openpyxl" in line
    assert "the extra `excel`: pip install '.[excel]'" in line


def test_left_out_columns_are_noted():
    text = renamed(question="Who?", meta={"run": {"id": 3}, "tags": []}, empty={})
    pathlib.Path("a.jsonl").write_text(text)
    found = report.read_predictions("a.jsonl")
    assert found.left_out == ("meta.run.id", "meta.tags", "empty")
    assert found.questions.name == "question"
    pathlib.Path("a.xlsx").write_bytes(
        excel(
            (*EXCEL_ROWS[0], "n"), *EXCEL_ROWS[1:], (True, 0.5, 1, 7), other_sheets="B"
        )
    )
    found = report.read_predictions("a.xlsx")
    assert found.left_out == ("n", "", "the sheet B")


def test_a_lone_surrogate_is_escaped():
    text = renamed(language="x").replace('"x"', '"\\ud800"')
    pathlib.Path("a.jsonl").write_text(text)
    found = report.read_predictions("a.jsonl", Choice(groups=("language",)))
    built = report.build(found)
    assert report.as_json(built).encode()
    assert built.to_dict()["groups"]["rows"][0]["name"] == "language=\\ud800"


def test_groups_may_be_of_any_type_and_missing():
    groups = ["a", None, True, 3]
    records = [{**r, "g": g} for r, g in zip(RECORDS, groups, strict=True)]
    for content, name in ((lines(records), "a.jsonl"), (json.dumps(records), "a.json")):
        pathlib.Path(name).write_text(content)
        found = report.read_predictions(name, Choice(groups=("g",)))
        assert found.groups["g"].tolist() == groups
    # A column of several types is refused where groups are made of it.
    with pytest.raises(report.ReportError, match="must hold strings, integers or"):
        report.build(found)
    pathlib.Path("a.csv").write_text("correct,conf,g\n1,0.5,a\n0,0.25, \n")
    found = report.build(report.read_predictions("a.csv", Choice(groups=("g",))))
    assert {row.name for row in found[Groups].rows} == {"g=a", "g=(missing)"}


# Classifiers and regressions have the same formats.

P = [[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]


def of_classes(**fields):
    return lines([{"label": y, **fields} for y in (1, 0, 0)])


@pytest.mark.parametrize(
    "records",
    [
        [
            {"label": y, "p0": p[0], "p1": p[1]}
            for y, p in zip((1, 0, 0), P, strict=True)
        ],
        [{"y": y, "probabilities": p} for y, p in zip((1, 0, 0), P, strict=True)],
        [
            {"class": "ab"[y], "Probs": {"b": p[1], "a": p[0]}}
            for y, p in zip((1, 0, 0), P, strict=True)
        ],
    ],
    ids=["columns", "lists", "objects"],
)
def test_classifiers_in_json(records):
    pathlib.Path("a.jsonl").write_text(lines(records))
    found = report.read_predictions("a.jsonl")
    p = found.values if found.classes != ("b", "a") else found.values[:, ::-1]
    labels = found.labels if found.classes != ("b", "a") else 1 - found.labels
    np.testing.assert_array_equal(p, P)
    np.testing.assert_array_equal(labels, [1, 0, 0])


def test_logits_and_regressions_in_json():
    pathlib.Path("a.json").write_text(
        json.dumps([{"label": 1, "logits": [-2, 3]}, {"label": 0, "logits": [0.5, 0]}])
    )
    found = report.read_predictions("a.json")
    assert found.kind == "logits"
    assert found.values.tolist() == [[-2, 3], [0.5, 0]]
    rows = [{"target": 1.5, "mean": 1, "std": 0.5}, {"target": 2, "mean": 3, "std": 1}]
    pathlib.Path("a.json").write_text(json.dumps(rows))
    found = report.read_predictions("a.json")
    assert (found.kind, found.target.tolist()) == ("stddev", [1.5, 2.0])


BAD_CLASSIFIERS = {
    "other lengths": (
        lines([{"y": 1, "probs": [0.5, 0.5]}, {"y": 0, "probs": [1.0]}]),
        [],
        "line 2: `probs_1` is missing",
    ),
    "labels of two types": (
        lines([{"y": 1, "probs": [0.5, 0.5]}, {"y": "a", "probs": [1.0, 0]}]),
        [],
        "line 2: `y` must be a number or a boolean, as in line 1",
    ),
    "a list as a label": (
        lines([{"y": [1], "probs": [0.5, 0.5]}]),
        [],
        "line 1: `y` must be a number, text or a boolean; for several labels of each "
        "example (--multilabel) write fields `label_NAME`, 0 or 1, and `prob_NAME` for "
        "each label. Received: the list [1]",
    ),
    "numbers as text": (
        lines([{"y": 1, "p0": "0.5", "p1": 0.5}]),
        [],
        "line 1: `p0` must be a number. Received: the text '0.5'",
    ),
    "correct, but how sure": (
        lines([{"target": "a", "acc": 1, "resps": [["-1.5", True]]}]),
        [],
        "of logits (logit_0, ...), `mean` with one of `variance`, `std` and `stddev`, "
        "or `correct` with `confidence`; or",
    ),
    "groups of a regression": (
        lines([{"y": 1, "mean": 0, "std": 1, "g": 1}]),
        ["--group", "g"],
        "--group and --feature need a classifier, or answers with confidences. Re",
    ),
}


@pytest.mark.parametrize("case", BAD_CLASSIFIERS)
def test_bad_records_of_classifiers(case, capsys):
    content, options, message = BAD_CLASSIFIERS[case]
    pathlib.Path("a.jsonl").write_text(content)
    assert message in fails(capsys, "a.jsonl", *options)


def test_a_packed_file_that_unpacks_to_too_much_fails(capsys, monkeypatch):
    from uncertainty_metrics.numpy import _archive

    monkeypatch.setattr(_archive, "MAX_BYTES", 2**16)
    pathlib.Path("a.jsonl.gz").write_bytes(gzip.compress(lines().encode() * 2**14))
    assert "more than 128 times" in fails(capsys, "a.jsonl.gz")
