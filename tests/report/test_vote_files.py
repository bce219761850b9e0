"""Files with the votes of people for classes, instead of labels."""

import json
import pathlib

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, read, run, write_csv, write_parquet
from tests.report.test_votes import voted
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.reading import _csv_tables
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._large_files import read_stream

pytestmark = pytest.mark.usefixtures("own_directory", "undrawn")

NAMES = ["cat", "dog", "emu"]
P = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]
VOTES = [[3, 2, 0], [1, 4, 0], [0, 0, 2]]
SHARES = [[0.6, 0.4, 0], [0.2, 0.8, 0], [0, 0, 1]]


def in_columns(votes="votes_{}", p="p_{}", names=NAMES):
    header = [*(p.format(name) for name in names), *(votes.format(n) for n in names)]
    return write_csv("a.csv", header, np.hstack([P, VOTES]).tolist())


def in_lines(records, name="a.jsonl"):
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    pathlib.Path(name).write_text(text, "utf-8")
    return name


def by_class(row):
    return dict(zip(NAMES, row, strict=True))


def records(votes, p=by_class):
    return [
        {"probabilities": p(row), "votes": votes(counts)}
        for row, counts in zip(P, VOTES, strict=True)
    ]


FILES = {
    "names": lambda: in_columns(),
    "points": lambda: in_columns("votes.{}", "prob.{}"),
    "the same names": lambda: in_columns("Votes {}", "{}"),
    "objects": lambda: in_lines(records(by_class)),
    "objects without zeros": lambda: in_lines(
        records(lambda row: {n: v for n, v in by_class(row).items() if v})
    ),
    "numbers": lambda: in_columns(names=range(3)),
    "short numbers": lambda: in_columns("votes{}", "p{}", range(3)),
    "lists": lambda: in_lines(records(list, list)),
    "a list in Parquet": lambda: write_parquet(
        "a.parquet", {"probabilities": P, "votes": VOTES}
    ),
}


@pytest.mark.parametrize("form", FILES)
def test_votes_become_shares(form):
    model = read(FILES[form]())
    np.testing.assert_array_equal(model.votes.shares, SHARES)
    np.testing.assert_array_equal(model.votes.values, P)
    np.testing.assert_array_equal(model.correct, [0.6, 0.8, 1])
    has_names = "number" not in form and "list" not in form
    assert model.votes.classes == (tuple(NAMES) if has_names else ())
    assert model.left_out == ()


def test_a_list_of_votes_is_in_the_order_of_the_classes():
    path = in_lines(records(list))
    model = report.read_predictions(path, Choice(classes=tuple(NAMES)))
    np.testing.assert_array_equal(model.votes.shares, SHARES)
    assert model.votes.classes == tuple(NAMES)


@pytest.mark.parametrize("names", [(0, 1), ("no", "yes")])
def test_one_column_predicts_the_second_class(names):
    header = ["p", *(f"votes_{name}" for name in names)]
    write_csv("a.csv", header, [(0.75, 1, 3), (0.25, 2, 0)])
    positive = None if names == (0, 1) else "yes"
    model = report.read_predictions("a.csv", Choice(positive_class=positive))
    np.testing.assert_array_equal(model.votes.shares, [[0.25, 0.75], [1, 0]])
    np.testing.assert_array_equal(model.votes.values, [[0.25, 0.75], [0.75, 0.25]])
    model = report.read_predictions("a.csv", Choice(positive_class=str(names[0])))
    np.testing.assert_array_equal(model.votes.shares, [[0.75, 0.25], [0, 1]])


def test_the_report_is_that_of_the_arrays():
    votes, shares, p = voted(120)
    weights, groups = np.arange(120) % 4, np.arange(120) % 2
    counts = (votes[:, :, None] == np.arange(3)).sum(axis=1)
    header = [*(f"logit_{n}" for n in NAMES), *(f"votes_{n}" for n in NAMES)]
    table = np.column_stack([np.log(p), counts, weights, groups, np.arange(120) // 2])
    write_csv("a.csv", [*header, "sample_weight", "lang", "who"], table.tolist())
    run("a.csv", "--group", "lang", "--cluster", "who")
    found = numbers()
    expected = um.report(
        label_distributions=shares,
        logits=np.log(p),
        sample_weight=weights,
        classes=NAMES,
        groups={"lang": groups.astype(float).astype(str)},
        clusters=np.arange(120) // 2,
    ).to_dict()
    for name in ("votes", "calibration", "scoring_rules", "groups"):
        assert found[name] == expected[name]


def test_labels_and_votes_leave_open_which(capsys):
    header = ["label", *(f"p_{n}" for n in NAMES), *(f"votes_{n}" for n in NAMES)]
    rows = np.hstack([P, VOTES]).tolist()
    rows = [[name, *row] for name, row in zip(NAMES, rows, strict=True)]
    write_csv("a.csv", header, rows)
    wrong = fails(capsys, "a.csv")
    assert "a.csv --label label` or" in wrong
    assert "a.csv --label votes`" in wrong
    assert read_labels("label").labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(read_labels("votes").votes.shares, SHARES)
    # Votes that are of no class may be anything, and are left out as before.
    header[4:] = ["votes_total", "votes_a", "votes_b"]
    write_csv("a.csv", header, rows)
    assert read("a.csv").left_out == ("votes_total", "votes_a", "votes_b")


def read_labels(label):
    return report.read_predictions("a.csv", Choice(label=label))


def test_many_files_are_read_in_parts():
    in_lines(records(by_class))
    in_lines(
        records(lambda row: {n: v for n, v in by_class(row).items() if v}), "b.jsonl"
    )
    paths = [pathlib.Path("a.jsonl"), pathlib.Path("b.jsonl")]
    model = read_stream(paths).result()
    np.testing.assert_array_equal(model.votes.shares, SHARES * 2)
    in_lines([{"probabilities": by_class(P[0]), "votes": {"cow": 2}}], "b.jsonl")
    with pytest.raises(report.ReportError, match=r"b\.jsonl: `votes\.cow` has votes"):
        read_stream(paths)


def test_answers_are_the_decisions():
    answers = um.read_answers(in_columns())
    np.testing.assert_array_equal(answers.correct, [0.6, 0.8, 1])
    np.testing.assert_array_equal(answers.confidences, [0.7, 0.7, 0.4])


def test_examples_of_weight_0_need_no_votes():
    header = ["p0", "p1", "votes_0", "votes_1", "sample_weight"]
    write_csv("a.csv", header, [(0.25, 0.75, 0, 0, 0), (0.5, 0.5, 1, 3, 1)])
    np.testing.assert_array_equal(read("a.csv").votes.shares[1], [0.25, 0.75])


HALF = {"p0": 0.5, "p1": 0.5}
BAD = {
    "no vote": ([{**HALF, "votes": {"0": 1}}, {**HALF, "votes": {}}], "line 2: the "),
    "no votes": ([{**HALF, "votes": [1, 2]}, HALF], "line 2: `votes_0` is missing"),
    "zeros": ([{**HALF, "votes": [0, 0]}], "line 1: the example has no vote for any"),
    "below 0": ([{**HALF, "votes": [2, -1]}], "`votes_1` must be a number of votes"),
    "null": ([{**HALF, "votes": {"0": 1, "1": None}}], "line 1: `votes.1` is missing"),
    "another class": ([{**HALF, "votes": [1, 2, 3]}], "`votes_2` has votes for a cla"),
    "a column less": ([{**HALF, "votes": [3]}], "a column of votes for each of the c"),
    "no predictions": ([{"votes": [3, 1]}], "need a column of predictions for each"),
    "one column": ([{"p": 0.5, "votes": {"a": 1, "b": 2}}], "with --positive-class"),
    "twice": ([{**HALF, "votes_0": 1, "votes": {"0": 1, "1": 2}}], "may both hold"),
    "percent": ([{"p0": 70, "p1": 30, "votes": [1, 2]}], "divide them by 100"),
    "text": ([{**HALF, "votes": ["1", "2"]}], "`votes_0` must be a number"),
}  # fmt: skip


@pytest.mark.parametrize("form", BAD)
def test_what_is_wrong_is_said_in_one_line(form, capsys):
    rows, expected = BAD[form]
    assert expected in fails(capsys, in_lines(rows))


def test_an_empty_cell_is_no_0(capsys):
    write_csv("a.csv", ["p0", "p1", "votes_0", "votes_1"], [(0.5, 0.5, 1, "")])
    assert "line 2, column `votes_1` must be a number" in fails(capsys, "a.csv")


@pytest.mark.parametrize(
    "options", [("--ignore-index", "1"), ("--positive-class", "1"), ("--multilabel",)]
)
def test_options_of_labels_are_refused(options, capsys):
    assert "error: " in fails(capsys, in_columns(names=range(3)), *options)


def test_large_files_are_read_by_arrow(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(_csv_tables, "_LARGE", 0)
    np.testing.assert_array_equal(read(in_columns()).votes.shares, SHARES)
