"""Files that the calibration report reads, and files that it refuses in one line."""

import pathlib
import pickle
import sys

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    built,
    examples,
    fails,
    forecasts,
    members,
    of_kind,
    read,
    shown,
    write_csv,
    write_parquet,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main

pytestmark = pytest.mark.usefixtures("own_directory")

GOOD = examples()
LABELS, P = members().values()


@pytest.mark.parametrize("key", ["probabilities", "probs", "logits"])
def test_keys_of_npz_are_read(key):
    labels, p = GOOD.values()
    weight = np.arange(1.0, 61.0)
    values = np.log(p) if key == "logits" else p
    arrays = {"labels": labels, key: values, "sample_weight": weight}
    np.savez_compressed("p.npz", **arrays)
    found = built("p.npz")["calibration"]["metrics"]["ece"]["value"]
    assert found == pytest.approx(um.ece(labels, p, sample_weight=weight), rel=1e-12)


AS_COLUMNS = {
    "p": ("probabilities", "label", "p{}"),
    "probability": ("probabilities", "labels", "probability_{}"),
    "logit": ("logits", "label", "logit_{}"),
    "logit, labels": ("logits", "labels", "logit_{}"),
    "variance": ("variance", "target", None),
    "stddev, targets": ("stddev", "targets", None),
}


@pytest.mark.parametrize("case", AS_COLUMNS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_equal_npz(case, ending, rng):
    kind, label, column = AS_COLUMNS[case]
    weight = {"sample_weight": np.arange(60.0)}
    if column:
        arrays = of_kind(examples(), kind)
        columns = {**weight, label: arrays["labels"]}
        # Names of columns tell the class, so their order does not matter.
        columns |= {column.format(k): arrays[kind][:, k] for k in (2, 0, 1)}
    else:
        made = forecasts(rng, 60)
        spread = made["stddev"] ** (2 if kind == "variance" else 1)
        arrays = {label: made["target"], kind: spread, "mean": made["mean"]}
        columns = {**arrays, **weight}
    of_npz = dict(vars(read({**arrays, **weight})))
    if ending == "parquet":
        write_parquet("p.parquet", columns)
    else:
        write_csv("p.csv", columns, zip(*columns.values(), strict=True))
    of_table = dict(vars(read(f"p.{ending}")))
    assert (of_npz.pop("source"), of_table.pop("source")) == ("a.npz", f"p.{ending}")
    np.testing.assert_equal(of_table, of_npz)
    np.testing.assert_array_equal(of_table["sample_weight"], weight["sample_weight"])


@pytest.mark.parametrize("column", ["probability", "logit"])
def test_csv_of_two_classes_by_one_column(column):
    labels, p = of_kind(examples(classes=2), "binary").values()
    predictions = p if column == "probability" else np.log(p / (1 - p))
    write_csv("p.csv", ["label", column], zip(labels, predictions, strict=True))
    found = built("p.csv")
    assert found["data"]["classes"] == 2
    value = found["calibration"]["metrics"]["ece"]["value"]
    ece = um.ece(correct=labels, confidences=p)
    assert value == pytest.approx(ece, rel=1e-9)


def test_columns_left_out_are_noted():
    write_csv(
        "p.csv",
        ["label", "p0", "p1", "weights", "image"],
        [[0, 0.25, 0.75, 3, "a.png"], [1, 0.5, 0.5, 2, "b.png"]],
    )
    found, out = shown("p.csv")
    note = "Left out, because the names are not known: weights, image."
    assert found["notes"] == [note]
    assert f"Note: {note}" in out


def test_rows_that_do_not_sum_to_one_are_noted():
    found = built({"labels": [0, 1], "probabilities": [[0.5, 0.25], [0.75, 0.5]]})
    note = "The probabilities of an example sum to 0.75 to 1.25, not to 1."
    assert found["notes"] == [note]
    # Four pixels with P(class 1).
    labels = [[[0, 1], [1, 1]]]
    found = built({"labels": labels, "probabilities": np.full([1, 2, 2], 0.3)})
    assert not [text for text in found["notes"] if "sum to" in text]
    assert found["data"]["examples"] == 4


def test_parquet_equals_csv():
    labels, p = examples(classes=2, n=30).values()
    columns = {"sample_weight": np.arange(30, dtype=np.float32), "name": ["a"] * 30}
    columns |= {"labels": labels, "probability": p[:, 1]}
    write_parquet("p.parquet", columns)
    write_csv("p.csv", columns, zip(*columns.values(), strict=True))
    of_parquet, of_csv = built("p.parquet"), built("p.csv")
    assert (of_parquet.pop("source"), of_csv.pop("source")) == ("p.parquet", "p.csv")
    assert of_parquet == of_csv


def test_parquet_has_numbers_of_any_type():
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "label": pyarrow.array([1, 0, 1], pyarrow.uint8()).dictionary_encode(),
        "probability": pyarrow.array([0.9, 0.2, 0.6], pyarrow.float32()),
    }
    found = report.read_predictions(write_parquet("p.parquet", columns))
    assert found.labels.tolist() == [1.0, 0.0, 1.0]
    assert found.values.dtype == np.float64
    assert found.values.tolist() == [float(np.float32(p)) for p in (0.9, 0.2, 0.6)]


# Files and arguments that it refuses.


def changed(arrays, name, index, value):
    arrays = {key: array.astype(float) for key, array in arrays.items()}
    arrays[name][index] = value
    return arrays


LOGITS = of_kind(members(), "logits")
BAD_NPZ = {
    "no labels": ({"probabilities": np.ones([2, 2])}, "one array must hold the labels"),
    "no predictions": (
        {"labels": np.zeros(2)},
        "name the predictions with --probabilities. Received: labels",
    ),
    "votes": (
        {"votes": np.zeros([2, 2]), "probabilities": np.zeros([2, 2])},
        "with --label; votes for classes are read from columns `votes_NAME`, and their",
    ),
    "two predictions": ({**GOOD, "logits": np.ones(60)}, "probabilities, logits"),
    "lengths": ({**GOOD, "labels": np.zeros(59)}, "of shape"),
    "rank": ({"labels": np.zeros(4), "logits": np.zeros([4, 3, 2, 2])}, "[4, M, K]"),
    "NaN": (changed(GOOD, "probabilities", (3, 1), np.nan), "Received: nan at [3, 1]"),
    "NaN label": (changed(GOOD, "labels", 3, np.nan), "Received: nan at [3]"),
    "above 1": (changed(GOOD, "probabilities", (3, 1), 1.5), "in [0, 1]"),
    "label too large": (changed(GOOD, "labels", 5, 3), "integers in [0, 3)"),
    "text": ({**GOOD, "labels": np.array(["a"] * 60)}, "labels are text: name"),
    "no examples": ({"labels": np.ones(0), "logits": np.ones([0, 2])}, "at least one"),
    "weights": ({**GOOD, "sample_weight": -np.ones(60)}, "finite and >= 0"),
    "no weight": ({**GOOD, "sample_weight": np.zeros(60)}, "positive weight"),
    "sum of weights": (
        {**GOOD, "sample_weight": np.full(60, 1e308)},
        "must have a sum up to 1e+300",
    ),
    "weights' shape": ({**GOOD, "sample_weight": np.ones(3)}, "broadcastable"),
    "swapped": (dict(zip(["probs", "labels"], GOOD.values(), strict=True)), "swapped"),
    "objects": ({**GOOD, "labels": np.array([0, None] * 30)}, "pickled objects"),
    # Of ensembles.
    "other N": (
        {"labels": np.zeros(119), "probs": P},
        "`probabilities` must be of shape [119, M, K] for M members, with `labels` of "
        "shape [119]. Received: shape [120, 4, 3]\n",
    ),
    "members first": (
        {"labels": LABELS, "logits": np.moveaxis(np.log(P), 1, 0)},
        "Received: shape [4, 120, 3]; np.moveaxis(logits, 0, 1) puts the members "
        "second\n",
    ),
    "members last": (
        {"labels": LABELS, "probs": np.moveaxis(P, 1, 2)},
        "must be of shape [N, M, K], with the classes on the last axis. Received: "
        "shape [120, 3, 4], which sums to 1 over axis 1",
    ),
    "swapped members": (
        {"labels": P, "probs": LABELS.astype(float)},
        "seem to be swapped: `labels` come first",
    ),
    "rank of members": (
        {"labels": np.zeros([5, 2]), "probs": np.full([5, 3, 3, 2], 0.5)},
        "must be of shape [5, M, 2, K] for M members",
    ),
    "scalar": ({"labels": 2, "probs": P[0]}, "of shape [..., K]"),
    "no members": ({"labels": np.zeros(4), "probs": np.zeros([4, 0, 3])}, "[4, 0, 3]"),
    "no N": ({"labels": np.zeros(0), "probs": np.zeros([0, 2, 3])}, "at least"),
    "a member above 1": (
        changed(members(), "probabilities", (3, 1, 2), 1.5),
        "Received: 1.5 at [3, 1, 2]",
    ),
    "a NaN member": (
        changed(members(), "probabilities", (3, 1, 2), np.nan),
        "Received: nan at [3, 1, 2]",
    ),
    "NaN logit": (changed(LOGITS, "logits", (3, 1, 2), np.nan), "nan at [3, 1, 2]"),
    "label": (
        {"labels": np.full(120, 3), "probs": P},
        "`labels` must be integers in [0, 3)",
    ),
    "text of members": (
        {"labels": LABELS, "probs": P.astype(str)},
        "must hold numbers",
    ),
    "weights of members": (
        {"labels": LABELS, "probs": P, "sample_weight": -np.ones(120)},
        "finite and >= 0",
    ),
    "their sum": (
        {"labels": LABELS, "probs": P, "sample_weight": np.full(120, 1e308)},
        "must have a sum up to 1e+300",
    ),
}
FORECASTS = {"mean": np.arange(6.0), "stddev": np.ones(6), "target": np.arange(6.0)}
BAD_FORECASTS = {
    "no target": ({"mean": 0, "stddev": 0}, "must hold the labels: call it one of"),
    "no spread": ({"mean": 0, "target": 0}, "one of `variance`, `std` and"),
    "both": ({**FORECASTS, "variance": np.ones(6)}, "Received: mean, stddev, variance"),
    "targets": (
        {**FORECASTS, "targets": np.ones(6)},
        "each of target, targets may hold",
    ),
    "zero": ({**FORECASTS, "stddev": np.arange(6.0)}, "`stddev` must be standard"),
    "negative": ({**FORECASTS, "stddev": -np.ones(6)}, "> 0. Received: -1"),
    "NaN mean": ({**FORECASTS, "mean": np.full(6, np.nan)}, "`mean` must"),
    "infinite": ({**FORECASTS, "stddev": np.full(6, np.inf)}, "`stddev` must"),
    "other lengths": ({**FORECASTS, "mean": np.ones(5)}, "mean"),
    "letters": ({**FORECASTS, "mean": np.array(list("abcdef"))}, "must hold numbers"),
    "nothing": ({name: np.ones(0) for name in FORECASTS}, "at least one"),
    "their weights": ({**FORECASTS, "sample_weight": -np.ones(6)}, "finite and >= 0"),
}
BAD_CSV = {
    "empty": ("", "a header line and at least one example"),
    "no examples": ("label,p0,p1\n", "a header line and at least one example"),
    "no label": (
        "p0,p1\n1,0\n",
        "or name it with --label; answers have `correct` and `confidence` instead",
    ),
    "columns that are no labels": (
        "image_id,kind,prob_cat\n1,0,1\n",
        "--label, as in `python -m uncertainty_metrics report p.csv --label kind`; ans",
    ),
    "two labels": (
        "label,labels,p0,p1\n1,1,0,1\n",
        "each of label, labels may hold the labels",
    ),
    "no predictions": ("label,q\n1,0\n", "Received: label, q"),
    "both kinds": (
        "label,probability,logit\n1,0,0\n",
        "probability or logit? Choose with",
    ),
    "a class missing": ("label,p0,p2\n0,1,0\n", "one per class, numbered"),
    "one class": ("label,p0\n0,1\n", "one per class, numbered"),
    "class 1 twice": (
        "label,p0,p1,probability_1\n0,1,0,0\n",
        "p0, p1 or probability_1? Choose",
    ),
    "alone and by class": ("label,p0,p1,probability\n0,1,0,0\n", "Choose with"),
    "a column twice": ("label,p0,p1,p1\n0,1,0,0\n", "`p1` is there twice"),
    "ragged": ("label,p0,p1\n0,1,0\n1,1\n", "line 3 must have 3 fields, as the header"),
    "text": ("label,p0,p1\n0,1,0\n1,x,0\n", "line 3, column `p0` must be a number"),
    "empty field": ("label,p0,p1\n0,,0\n", "line 2, column `p0` must be a number"),
    "NaN": (
        "label,p0,p1\n0,nan,0\n",
        "line 2, column `p0` must be a number. Received: NaN",
    ),
    "label too large": ("label,p0,p1\n2,1,0\n", "integers in [0, 2)"),
    "label of no class": (
        "label,p0,p1\n255,1,0\n",
        "integers in [0, 2); leave out examples without a label, or pass "
        "ignore_index=255 to a function that takes it (for a file, --ignore-index 255)",
    ),
    "label a fraction": ("label,p0,p1\n0.5,0.3,0.7\n", "integers in [0, 2)"),
    "weights": ("label,probability,sample_weight\n1,0.5,-1\n", "finite and >= 0"),
    "no UTF-8": (b"label,p0,p1\n0,\xff\xfe,1\n", "not a CSV file in UTF-8"),
}
NOTHING = np.zeros(0)
BAD_PARQUET = {
    "no label": ({"p0": [0.5], "p1": [0.5]}, "one column must hold the labels"),
    "text": (
        {"label": ["x"], "probability": [0.5]},
        "labels are text: say which",
    ),
    "lists": ({"label": [1], "p0": [[1.0]], "p1": [[0.0]]}, "`p0` must hold numbers"),
    "missing": (
        {"label": [1, 0], "probability": [None, 0.5]},
        "row 1, column `probability` must be a",
    ),
    "empty": ({"label": NOTHING, "probability": NOTHING}, "at least one example"),
    "no spread": ({"mean": [1.0], "target": [1.0]}, "one of `variance`, `std` and"),
}


@pytest.mark.parametrize(
    ("ending", "content", "message"),
    [
        pytest.param(ending, *bad, id=f"{ending}-{case}")
        for ending, table in (
            ("npz", BAD_NPZ | BAD_FORECASTS),
            ("csv", BAD_CSV),
            ("parquet", BAD_PARQUET),
        )
        for case, bad in table.items()
    ],
)
def test_bad_files(ending, content, message, capsys, recwarn):
    file = f"p.{ending}"
    if ending == "npz":
        np.savez(file, **content)
    elif ending == "parquet":
        write_parquet(file, content)
    else:
        content = content.encode() if isinstance(content, str) else content
        pathlib.Path(file).write_bytes(content)
    line = fails(capsys, file)
    assert line.startswith(f"error: {file}: ")
    assert message in line
    assert [str(warning.message) for warning in recwarn] == []


def test_corrupt_parquet(capsys):
    arrays = of_kind(examples(classes=2), "binary")
    columns = {"label": arrays["labels"], "probability": arrays["probabilities"]}
    file = pathlib.Path(write_parquet("p.parquet", columns))
    data = file.read_bytes()
    middle = data[:4] + b"\xff" * (len(data) // 2) + data[4 + len(data) // 2 :]
    for content in (b"", b"text", data[: len(data) // 2], data[:-9], middle):
        file.write_bytes(content)
        assert fails(capsys, "p.parquet").startswith("error: p.parquet: ")


def hide(monkeypatch, package):
    """Makes the import of an installed package fail."""
    loaded = [name for name in sys.modules if name.partition(".")[0] == package]
    for module in (package, *loaded):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(
    ("package", "arguments", "message"),
    [
        ("pyarrow", ["p.parquet"], "error: p.parquet: This needs pyarrow"),
        ("matplotlib", [], "error: This needs matplotlib"),
    ],
)
def test_missing_packages_name_their_extra(
    package, arguments, message, capsys, monkeypatch
):
    pathlib.Path("p.parquet").write_bytes(b"PAR1")
    hide(monkeypatch, package)
    line = fails(capsys, *arguments)
    assert line.startswith(message)
    extra = {"pyarrow": "parquet", "matplotlib": "plot"}[package]
    assert f"the extra `{extra}`: pip install '.[{extra}]'" in line


class _Trap:
    """Leaves a trace if it is unpickled."""

    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path("unpickled"),)


def test_pickles_are_never_loaded(capsys):
    pathlib.Path("p.npz").write_bytes(pickle.dumps(_Trap()))
    assert "pickles are never loaded" in fails(capsys, "p.npz")
    labels = np.empty(2, dtype=object)
    labels[:] = [_Trap(), _Trap()]
    np.savez("p.npz", labels=labels, probabilities=[0.2, 0.7])
    assert "pickled objects" in fails(capsys, "p.npz")
    assert not pathlib.Path("unpickled").exists()


def test_corrupt_archives(capsys):
    np.savez("good.npz", **GOOD)
    data = pathlib.Path("good.npz").read_bytes()
    np.save("array.npy", np.ones(3))
    array = pathlib.Path("array.npy").read_bytes()
    file = pathlib.Path("p.npz")
    for content in (b"", b"PK\x03\x04", b"text", data[: len(data) // 2], array):
        file.write_bytes(content)
        assert "p.npz: not an .npz archive" in fails(capsys, "p.npz")
    start = data.index(b"NUMPY") + 200
    file.write_bytes(data[:start] + b"\xff" * 64 + data[start + 64 :])
    assert "it is damaged" in fails(capsys, "p.npz")


BAD_ARGUMENTS = {
    "no.npz": "error: no.npz: No such file or directory\n",
    "no.parquet": "error: no.parquet: No such file or directory\n",
    "no.pkl": ".arrow, .xlsx, .eval, or be - for standard input. Received: '.pkl'",
    "folder.csv": "folder.csv: there is no file of predictions",
    "folder.parquet": "folder.parquet: there is no file of predictions",
    "good.npz --out taken": "error: taken: cannot write there",
    "good.npz --out taken/below": "taken/below: cannot write",
    "--num-bins 0": "--help",
    "--num-bins x": "--help",
    "--num-bins 999999999": "--help",
    "--what": "--help",
    "--compare no.npz": "error: no.npz: No such file or directory\n",
    "good.npz --compare b.x": "must end in .npz, .parquet, .csv",
    "good.npz --compare": "expected one argument",
}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("arguments", BAD_ARGUMENTS)
def test_bad_arguments(arguments, capsys):
    np.savez("good.npz", **GOOD)
    for folder in ("folder.csv", "folder.parquet"):
        pathlib.Path(folder).mkdir()
    pathlib.Path("taken").write_text("")
    assert BAD_ARGUMENTS[arguments] in fails(capsys, *arguments.split())


@pytest.mark.parametrize(
    "case", ["lengths", "NaN", "no labels", "label too large", "weights"]
)
def test_errors_name_the_bad_file_of_two(case, capsys):
    arrays, message = BAD_NPZ[case]
    np.savez("good.npz", **GOOD)
    np.savez("bad.npz", **arrays)
    line = fails(capsys, "good.npz", "--compare", "bad.npz")
    assert line.startswith("error: bad.npz: ")
    assert message in line
    assert fails(capsys, "bad.npz", "--compare", "good.npz") == line


def test_nothing_is_written_if_a_picture_fails(capsys, monkeypatch):
    def no_memory(*args, **kwargs):
        raise MemoryError("no memory")

    figure = pytest.importorskip("matplotlib.figure").Figure
    monkeypatch.setattr(figure, "savefig", no_memory)
    np.savez("good.npz", **GOOD)
    assert "no memory" in fails(capsys, "good.npz")


def test_no_command(capsys):
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("error: ")
