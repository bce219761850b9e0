"""Files as people have them: each gives a result, or one line on what is wrong."""

import gzip
import io
import sys

import numpy as np
import pytest

from tests.report.reports import fails, write_parquet
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data._predictions import Predictions
from uncertainty_metrics._report.reading import _csv_tables
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics.numpy import _archive

pytestmark = pytest.mark.usefixtures("own_directory")

# All good files have these labels, and these P(class 1) in percent.
LABELS, PERCENT = [1, 0, 1, 1], [75, 50, 25, 100]


def rows(*columns, header, separator=",", end="\n"):
    lines = [header, *zip(*columns, strict=True)]
    return "".join(separator.join(map(str, line)) + end for line in lines)


P1 = [p / 100 for p in PERCENT]
P0 = [1 - p for p in P1]
COMMAS = [str(p).replace(".", ",") for p in P1]
CATS = ["cat" if label else "ant" for label in LABELS]
BOOLEANS = [bool(label) for label in LABELS]
ONE_BASED = [label + 1 for label in LABELS]
LOGITS = np.log([1.5, 0.5, 0.25, 4.0])
TWO = rows(LABELS, P0, P1, header=("label", "p0", "p1"))
NAMED = rows(CATS, P1, P0, header=("class", "cat", "ant"))
NAMES_OF_LABELS = (
    "label",
    "labels",
    "y",
    "y_true",
    "target",
    "class",
    "Label",
    "Y_True",
)


def table(*names, labels=LABELS, **more):
    """Returns a file with these columns: labels, and P of all classes or class 1."""
    columns = (P0, P1) if len(names) == 3 else (P1,)
    return rows(labels, *columns, header=names, **more)


def packed(text):
    return gzip.compress(text.encode())


def arrays(**given):
    file = io.BytesIO()
    np.savez(file, **given)
    return file.getvalue()


GOOD = {
    **{
        f"label is {name}": ("p.csv", table(name, "p0", "p1"))
        for name in NAMES_OF_LABELS
    },
    **{
        f"columns are {first}": ("p.csv", table("label", first, second))
        for first, second in (
            ("p_0", "p_1"),
            ("prob_0", "prob_1"),
            ("Prob0", "Prob1"),
            ("probability_0", "probability_1"),
            ("proba_0", "proba_1"),
            ("class_0", "class_1"),
            ("0", "1"),
        )
    },
    **{
        f"class 1 is {name}": ("p.csv", table("label", name))
        for name in ("p", "prob", "proba", "Probability", "y_prob", "y_score")
    },
    "tabs": ("p.tsv", table("label", "p0", "p1", separator="\t")),
    "semicolons": ("p.csv", table("label", "p0", "p1", separator=";")),
    "decimal commas": (
        "p.csv",
        rows(LABELS, COMMAS, header=("label", "p"), separator=";"),
    ),
    "as Excel says": ("p.csv", "sep=;\n" + table("label", "p", separator=";")),
    "Windows": ("p.csv", "\ufeff" + table("label", "p", end="\r\n")),
    "blank lines and spaces": ("p.csv", TWO.replace("\n", "\n\n").replace(",", " , ")),
    "lines of spaces": ("p.csv", TWO.replace("\n", "\n  \n") + "   "),
    "no last end": ("p.csv", TWO.rstrip()),
    "quotes": (
        "p.csv",
        rows([f'"{c}"' for c in CATS], P1, P0, header=('"label"', '"cat"', "ant")),
        {"classes": ("ant", "cat")},
    ),
    "packed": ("p.csv.gz", packed(TWO)),
    "packed tabs": ("p.tsv.gz", packed(table("label", "p", separator="\t"))),
    "upper case": ("P.CSV", TWO),
    "booleans": ("p.csv", table("label", "p", labels=BOOLEANS)),
    "booleans in upper case": (
        "p.csv",
        table("label", "p0", "p1", labels=[str(b).upper() for b in BOOLEANS]),
    ),
    "whole numbers with a point": (
        "p.csv",
        table("label", "p0", "p1", labels=[float(label) for label in LABELS]),
    ),
    "columns named by the classes": ("p.csv", NAMED, {"classes": ("ant", "cat")}),
    "columns named after a prefix": (
        "p.csv",
        rows(CATS, P0, P1, header=("label", "prob_ant", "prob_cat")),
    ),
    "numbered from 1": (
        "p.csv",
        rows(ONE_BASED, P0, P1, header=("label", "p1", "p2")),
    ),
    "given classes": (
        "p.csv",
        table("label", "p0", "p1", labels=CATS),
        {"classes": ("ant", "cat")},
    ),
    "given positive class": (
        "p.csv",
        table("label", "p", labels=CATS),
        {"positive_class": "cat"},
    ),
    "given columns of booleans": (
        "p.csv",
        rows(BOOLEANS, P1, P0, header=("label", "p_true", "p_false")),
        {"probabilities": "p_false,p_true"},
    ),
    "columns of booleans": (
        "p.csv",
        rows(BOOLEANS, P0, P1, header=("label", "false", "true")),
    ),
    "given positive boolean": (
        "p.csv",
        table("label", "p", labels=BOOLEANS),
        {"positive_class": "true"},
    ),
    "numbers of the labels": (
        "p.csv",
        rows([30 if y else 20 for y in LABELS], P1, P0, header=("y", "p_30", "p_20")),
    ),
    "class 1 of two columns": (
        "p.csv",
        TWO,
        {"probabilities": "p1"},
    ),
    "given label": (
        "p.csv",
        rows(P1, LABELS, [7] * 4, header=("p", "truth", "label")),
        {"label": "truth"},
    ),
    "given columns": (
        "p.csv",
        rows(LABELS, P0, P1, P1, header=("y", "no", "yes", "p")),
        {"probabilities": "no, yes"},
    ),
    "given a pattern": (
        "p.csv",
        rows(LABELS, P0, P1, P1, header=("y", "out_0", "out_1", "p")),
        {"probabilities": "out_*", "classes": ("0", "1")},
    ),
    "columns left out": (
        "p.csv",
        rows([0, 1, 2, 3], LABELS, P1, CATS, header=("", "label", "p", "image")),
    ),
    "arrays of other names": ("p.npz", arrays(y_true=LABELS, Probs=P1)),
    "arrays of text": (
        "p.npz",
        arrays(label=CATS, proba=np.transpose([P0, P1]), classes=["ant", "cat"]),
    ),
    "arrays of bytes": (
        "p.npz",
        arrays(
            label=np.array(CATS, "S"),
            proba=np.transpose([P0, P1]),
            classes=np.array(["ant", "cat"], "S"),
        ),
    ),
    "arrays of columns": (
        "p.npz",
        arrays(labels=np.reshape(LABELS, [-1, 1]), probabilities=P1),
    ),
    "arrays of booleans": ("p.npz", arrays(Labels=BOOLEANS, probabilities=P1)),
}


@pytest.mark.parametrize("case", GOOD)
def test_good_files_are_read(case):
    name, content, *choice = GOOD[case]
    content = content if isinstance(content, bytes) else content.encode()
    with open(name, "wb") as file:
        file.write(content)
    choice = Choice(**choice[0]) if choice else None
    check(report.read_predictions(name, choice))


LARGE = [case for case in GOOD if GOOD[case][0].lower().endswith("csv")]


@pytest.mark.parametrize("case", LARGE)
def test_large_files_are_read_alike(case, monkeypatch):
    pytest.importorskip("pyarrow.csv")
    read = []

    def by_arrow(self, *arguments):
        read.append(real(self, *arguments))
        return read[-1]

    real = _csv_tables.CsvTable._by_arrow
    monkeypatch.setattr(_csv_tables.CsvTable, "_by_arrow", by_arrow)
    monkeypatch.setattr(_csv_tables, "_LARGE", 0)
    test_good_files_are_read(case)
    assert (read[-1] is None) == (case in ("decimal commas", "lines of spaces"))


def test_large_bad_files_say_what_was_found(monkeypatch, capsys):
    monkeypatch.setattr(_csv_tables, "_LARGE", 0)
    for case in ("fields", "a cell missing", "a label missing", "percent", "UTF-16"):
        test_bad_files_say_what_was_found(case, capsys)


def check(found):
    assert isinstance(found, Predictions)
    np.testing.assert_array_equal(found.labels, LABELS)
    p = found.values if found.values.ndim == 1 else found.values[:, 1]
    np.testing.assert_array_equal(p, P1)


@pytest.mark.parametrize("kind", ["csv", "packed", "npz"])
def test_standard_input(kind, monkeypatch):
    content = {
        "csv": TWO.encode(),
        "packed": packed(TWO),
        "npz": arrays(labels=LABELS, probabilities=P1),
    }[kind]
    stdin = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stdin)
    found = report.read_predictions("-")
    assert found.source == "standard input"
    check(found)


def test_parquet_of_text_and_booleans():
    write_parquet("a.parquet", {"Class": CATS, "p_cat": P1, "p_ant": P0})
    found = report.read_predictions("a.parquet", Choice(classes=("ant", "cat")))
    check(found)
    assert found.classes == ("ant", "cat")
    write_parquet("b.parquet", {"y": BOOLEANS, "prob": P1, "x": CATS})
    check(report.read_predictions("b.parquet"))


@pytest.mark.parametrize(
    ("spread", "kind"),
    [("std", "stddev"), ("STD", "stddev"), ("stddev", "stddev"), ("variance",) * 2],
)
@pytest.mark.parametrize("label", ["target", "y", "label"])
def test_regressions(spread, kind, label):
    columns = ([0.5, 1, 2], [1, 2, 3], [0.4, 1.5, -2])
    with open("p.csv", "w") as file:
        file.write(rows(*columns, header=("Mean", spread, label)))
    found = report.read_predictions("p.csv")
    assert found.kind == kind
    for read, column in zip(
        (found.mean, found.values, found.target), columns, strict=True
    ):
        np.testing.assert_array_equal(read, column)


THREE = rows(CATS, P0, P1, [0] * 4, header=("label", "ant", "cat", "owl"))
BAD = {
    "two labels": (
        rows(LABELS, LABELS, P1, header=("y", "Label", "p")),
        [],
        "each of y, Label may hold the labels: choose the column with --label",
    ),
    "no label": (table("tag", "p"), [], "call it one of label, labels, y, y_true"),
    "no such label": (TWO, ["--label", "truth"], "no column `truth`. Received: label"),
    "no such column": (
        TWO,
        ["--probabilities", "q0,p1"],
        "no column `q0`. Received: p0, p1",
    ),
    "two styles": (
        rows(LABELS, P0, P1, P0, P1, header=("label", "p0", "p1", "0", "1")),
        [],
        "which columns hold the predictions: p0, p1 or 0, 1? Choose with",
    ),
    "both kinds": (
        rows(LABELS, P1, P1, header=("label", "p", "logit")),
        [],
        "which columns hold the predictions: p or logit?",
    ),
    "regression or classifier": (
        rows(LABELS, P1, P1, P1, header=("y", "mean", "std", "p")),
        [],
        "mean, std may be a regression, and p a classifier: leave out",
    ),
    "percent": (
        rows(LABELS, PERCENT, header=("label", "p")),
        [],
        "seem to be percent, so divide them by 100. Received: a row 75",
    ),
    "percent of two": (
        rows(LABELS, [100 - p for p in PERCENT], PERCENT, header=("label", "p0", "p1")),
        [],
        "seem to be percent",
    ),
    "logits": (
        rows(LABELS, -3 * LOGITS, 3 * LOGITS, header=("label", "p0", "p1")),
        [],
        "seem to be logits, so call the columns logit_0",
    ),
    "text and numbers": (
        table("label", "p0", "p1", labels=CATS),
        [],
        "labels are text: name the class of each column",
    ),
    "text and class 1": (
        table("label", "p", labels=CATS),
        [],
        "file with --positive-class, as in `python -m uncertainty_metrics report p.csv "
        "--positive-class ant` or",
    ),
    "no such class": (
        table("label", "p", labels=CATS),
        ["--positive-class", "owl"],
        "the positive class `owl` must be one of the labels. Received: ant, cat",
    ),
    "other classes": (
        table("label", "p0", "p1", labels=CATS),
        ["--classes", "ant,owl"],
        "each label must be one of the classes ant, owl. Received: cat",
    ),
    "too many classes": (
        TWO,
        ["--classes", "a,b,c"],
        "there must be 2 names of classes, one for each column of "
        "predictions. Received: a, b, c",
    ),
    "labels from 1": (
        table("label", "p0", "p1", labels=ONE_BASED),
        [],
        "integers in [0, 2); subtract 1 if they count from 1. Received: 2.0 at [0]",
    ),
    "numbers missing": (
        rows(LABELS, P0, P1, header=("label", "p0", "p2")),
        [],
        "numbered without gaps",
    ),
    "a class without labels": (
        rows(CATS, P0, [p / 2 for p in P1], P1, header=("label", "ant", "cat", "owl")),
        [],
        "ant, cat have names of labels, but their rows do not sum to 1: name",
    ),
    "a label missing": (
        table("label", "p", labels=[1, 0, "", 1]),
        [],
        "line 4: `label` is missing; fill it in, or remove the example",
    ),
    "a label of text": (
        table("label", "p", labels=[1, 0, "?", 1]),
        [],
        "Received: 0, 1, ?",
    ),
    "a cell missing": (
        TWO.replace("0.5,0.5", "0.5,"),
        [],
        "line 3, column `p1` must be",
    ),
    "a quote": (
        TWO.replace("label", '"label"').replace("0.75", '"x\ny"'),
        [],
        "line 3, column `p1` must be a number. Received: 'x\\ny'",
    ),
    "thousands": (
        rows(LABELS, ["0.7,5"] * 4, header=("label", "p"), separator=";"),
        [],
        "line 2, column `p` must be a number. Received: '0.7,5'",
    ),
    "fields": (
        TWO + "1,0.5\n",
        [],
        "line 6 must have 3 fields, as the header has. Received: 2",
    ),
    "no header": (
        TWO.partition("\n")[2],
        [],
        "Received: 1, 0.25, 0.75; the first line must hold the names of the",
    ),
    "class 0 alone": (
        TWO,
        ["--probabilities", "p0"],
        "`p0` seems to predict class 0, but a single column must predict class 1",
    ),
    "members as classes": (
        rows(LABELS, P1, P1, P1, header=("label", "p0", "p1", "p2")),
        [],
        "must sum to 1: columns cannot be members of an ensemble, or several labels of "
        "one example. Received: a row 0.75, 0.75, 0.75; a median sum of 1.875",
    ),
    "signs of percent": (
        rows(LABELS, [f"{p}%%" for p in PERCENT], header=("label", "p")),
        [],
        "must be a number. Received: '75%%'",
    ),
    "a comment before the names": (
        "# made by hand\n" + TWO,
        [],
        "line 1 must hold the names of the columns, and seems to be a comment: remove "
        "it, as `tail -n +2` does. Received: '# made by hand'",
    ),
    "other numbers": (
        rows(LABELS, P0, P1, header=("label", "p2", "p3")),
        [],
        "each label must be one of the classes 2, 3. Received: 0, 1",
    ),
    "UTF-16": (TWO.encode("utf-16")[:-1], [], "not a CSV file in UTF-8"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), [], "UTF-8"),
    "damaged": (packed(TWO)[:-9], [], "not a CSV file in UTF-8"),
    "two means": (
        rows(P1, P1, P1, LABELS, header=("mean", "std", "variance", "y")),
        [],
        "one mean and one of `variance`, `std` and `stddev`: choose the columns",
    ),
    "a regression of text": (
        rows(P1, P1, CATS, header=("mean", "std", "y")),
        [],
        "`y` of a regression must hold numbers. Received: text",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_say_what_was_found(case, capsys):
    content, arguments, message = BAD[case]
    with open("p.csv", "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    line = fails(capsys, "p.csv", *arguments)
    assert line.startswith("error: p.csv: ")
    assert message in line


def test_class_names_are_shown():
    with open("p.csv", "w") as file:
        file.write(THREE)
    # The column of a class without a label needs a prefix, or the names of classes.
    choice = Choice(classes=("ant", "cat", "owl"))
    found = report.read_predictions("p.csv", choice)
    built = report.build(found)
    assert list(built.to_dict()["calibration"]["classes"]) == ["ant", "cat", "owl"]
    assert "owl" in report.render(built)
    found = report.read_predictions("p.csv")
    assert found.left_out == ("owl",)
    prefixed = THREE.replace("ant,cat,owl", "p_ant,p_cat,p_owl")
    with open("p.csv", "w") as file:
        file.write(prefixed)
    assert report.read_predictions("p.csv").classes == ("ant", "cat", "owl")


@pytest.mark.parametrize("order", ["true,false", "false,true"])
def test_classes_of_booleans(order):
    first, second = (P1, P0) if order == "true,false" else (P0, P1)
    with open("p.csv", "w") as file:
        file.write(rows(BOOLEANS, first, second, header=("label", "p0", "p1")))
    found = report.read_predictions("p.csv", Choice(classes=tuple(order.split(","))))
    given = found.values[np.arange(4), found.labels]
    expected = np.where(BOOLEANS, P1, P0)
    np.testing.assert_array_equal(given, expected)


def noted(**given):
    found = report.build(Predictions(kind="probabilities", source="it", **given))
    return list(found.notes)


def test_labels_that_start_at_1_are_noted(rng):
    values = rng.dirichlet([1, 1, 1], 60)
    labels = rng.integers(1, 3, 60)
    (note,) = noted(labels=labels, values=values)
    total = values[:, 0].sum()
    assert note.startswith("No label is 0, though the probabilities of class 0 sum")
    assert f"{total:.4g}" in note
    assert noted(labels=labels - 1, values=values) == []
    assert noted(labels=labels, values=values, classes=("a", "b", "c")) == []
    assert noted(labels=labels[:5], values=values[:5]) == []


def test_confidences_in_place_of_probabilities_are_noted(rng):
    p = rng.uniform(0.5, 1, 60)
    labels = rng.integers(0, 2, 60)
    (note,) = noted(labels=labels, values=p)
    assert note.startswith("Every probability is at least 0.5")
    assert noted(labels=labels, values=1 - p) == []
    assert noted(labels=np.ones_like(labels), values=p) == []


@pytest.mark.parametrize(("small", "count"), [(1, 1), (1.01, 0), (0, 0), (0.5, 1)])
def test_percent_that_may_be_no_percent_are_noted(small, count):
    with open("p.csv", "w") as file:
        file.write(rows(LABELS, [80, small, 0, 100], header=("correct", "confidence")))
    found = report.read_predictions("p.csv", Choice(percent=True))
    np.testing.assert_array_equal(found.confidences, [0.8, small / 100, 0, 1])
    expected = f"{count} of the confidences are above 0% and at most 1%"
    assert [note.partition(":")[0] for note in found.notes] == [expected] * count


def test_columns_left_out_are_noted():
    name, content = GOOD["columns left out"]
    with open(name, "w") as file:
        file.write(content)
    note, *_ = report.build(report.read_predictions(name)).to_dict()["notes"]
    assert note == "Left out, because the names are not known: (no name), image."


def test_a_packed_file_that_unpacks_to_too_much_fails(capsys, monkeypatch):
    monkeypatch.setattr(_archive, "MAX_BYTES", 2**16)
    with gzip.open("p.csv.gz", "wb") as file:
        file.write(b"label,p\n" + b"0,0.5\n" * 2**20)
    assert "more than 128 times" in fails(capsys, "p.csv.gz")


def test_long_work_shows_progress(monkeypatch, capsys):
    from uncertainty_metrics._report import _command

    monkeypatch.setattr(_command, "_PATIENCE", -1.0)
    tell = _command._Progress()
    with open("p.csv", "w") as file:
        file.write(TWO)
    report.build(report.read_predictions("p.csv", tell=tell), tell=tell)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "... read 5 lines"
    assert all(line.startswith("... ") for line in said)
    assert len(said) > 5
