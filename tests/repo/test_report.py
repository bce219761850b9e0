"""The command `python -m uncertainty_metrics report`."""

import csv
import json
import os
import pathlib
import pickle
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest

import uncertainty_metrics as package
import uncertainty_metrics.numpy as um
from uncertainty_metrics import report
from uncertainty_metrics.__main__ import main

METRICS = ("ece", "mce", "rmsce", "sce", "ace", "tace")


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def examples(n=60, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(classes, size=n), rng.dirichlet(np.ones(classes), n)


def write_csv(name, header, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return name


def numbers(directory=report.DEFAULT_DIRECTORY):
    return json.loads((pathlib.Path(directory) / "report.json").read_text("utf-8"))


def built(name):
    """The numbers of a file, without the picture."""
    return report.build(report.read_predictions(name))


def fails(capsys, *arguments):
    """Runs a command that must fail as promised; returns its one line."""
    before = sorted(os.listdir())
    assert main(["report", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before  # Nothing is half written.
    return err


# What it does.


def test_shipped_predictions(capsys):
    assert main(["report"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    path = pathlib.Path(package.__file__).parent / "data" / "digits_predictions.npz"
    with np.load(path, allow_pickle=False) as file:
        labels, logits = file["labels"], file["logits"]
    assert path.stat().st_size < 100_000
    assert len(labels) >= 900

    found = numbers()
    assert found["version"] == package.__version__
    assert found["data"]["examples"] == len(labels)
    assert found["data"]["classes"] == 10
    section = found["calibration"]
    accuracy = np.mean(logits.argmax(axis=-1) == labels)
    assert section["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    for name in METRICS:
        value = getattr(um, name)(labels, logits=logits)
        assert section["metrics"][name]["value"] == value
        (line,) = (row for row in out.splitlines() if row.split()[:1] == [name])
        assert line.split()[1] == f"{value:.4f}"
        assert section["metrics"][name]["meaning"] in line
    table = [row for row in out.splitlines() if row.strip().startswith(METRICS)]
    assert len({row.index(".") for row in table}) == 1  # It is aligned.
    # A modest, overconfident model, and the report says so.
    assert 0.8 < accuracy < 0.95
    assert section["metrics"]["ece"]["value"] > 0.03
    assert section["verdict"].startswith("Overconfident on average")
    assert "Overconfident on average" in out
    written = [row.split()[1] for row in out.splitlines() if row.startswith("Wrote")]
    assert [pathlib.Path(name).name for name in written] == [
        "reliability_diagram.png",
        "report.json",
    ]
    assert all(pathlib.Path(name).is_file() for name in written)


def test_json_holds_every_metric_and_the_diagram():
    labels, probabilities = examples()
    np.savez("p.npz", labels=labels, probabilities=probabilities)
    assert main(["report", "p.npz", "--out", "there/below", "--num-bins", "7"]) == 0
    found = numbers("there/below")
    assert found["options"] == {"num_bins": 7}
    assert found["source"] == "p.npz"
    grid = um.compute_all_metrics(labels, probabilities, num_bins=7)
    assert list(found["calibration"]["all_metrics"].values()) == list(grid.values())
    assert (
        found["calibration"]["all_metrics"]["adaptive, all classes, by class, l1"]
        == grid["adaptive", False, True, "l1"]
    )
    assert len(found["calibration"]["all_metrics"]) == 24
    stats = um.bin_statistics(labels, probabilities, num_bins=7)
    diagram = found["calibration"]["diagram"]
    assert diagram["counts"] == stats.counts[0].tolist()
    assert [value or 0.0 for value in diagram["accuracies"]] == (
        stats.accuracies[0].tolist()
    )
    assert diagram["accuracies"][0] is None  # Below 1/3 is no decision.


def test_png_is_a_picture_of_the_data():
    assert main(["report", "--out", "a"]) == 0
    labels, probabilities = examples()
    np.savez("p.npz", labels=labels, probs=probabilities)
    assert main(["report", "p.npz", "--out", "b"]) == 0
    pictures = []
    for directory in "ab":
        path = pathlib.Path(directory) / "reliability_diagram.png"
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        pictures.append(matplotlib.image.imread(path)[..., :3])
    assert min(pictures[0].shape[:2]) > 400
    assert len(np.unique(pictures[0])) > 50
    blue = np.abs(pictures[0] - [0x44 / 255, 0x77 / 255, 0xAA / 255]).max(-1) < 0.02
    assert 0.05 < blue.mean() < 0.6  # The bars.
    assert np.mean(pictures[0] != pictures[1]) > 0.01


@pytest.mark.parametrize("key", ["probabilities", "probs", "logits"])
def test_keys_of_npz(key):
    labels, probabilities = examples()
    values = np.log(probabilities) if key == "logits" else probabilities
    weight = np.arange(1.0, 61.0)
    np.savez_compressed(
        "p.npz", **{"labels": labels, key: values, "sample_weight": weight}
    )
    found = built("p.npz")["calibration"]["metrics"]["ece"]["value"]
    expected = um.ece(labels, probabilities, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("probabilities", ["p0", "p1", "p2"]),
        ("probabilities", ["probability_0", "probability_1", "probability_2"]),
        ("logits", ["logit_0", "logit_1", "logit_2"]),
    ],
)
@pytest.mark.parametrize("label", ["label", "labels"])
def test_csv_equals_npz(kind, columns, label):
    labels, values = examples()
    if kind == "logits":
        values = np.log(values)
    weight = np.arange(60.0)
    np.savez("p.npz", **{"labels": labels, kind: values, "sample_weight": weight})
    # The columns say which class they are of, whatever their order.
    header = ["sample_weight", columns[2], label, columns[0], columns[1]]
    rows = np.column_stack([weight, values[:, 2], labels, values[:, 0], values[:, 1]])
    write_csv("p.csv", header, rows.tolist())
    of_npz, of_csv = built("p.npz"), built("p.csv")
    assert of_npz.pop("source") == "p.npz"
    assert of_csv.pop("source") == "p.csv"
    assert of_csv == of_npz
    assert of_csv["data"]["total_weight"] == weight.sum()


@pytest.mark.parametrize("column", ["probability", "logit"])
def test_csv_of_two_classes_by_one_column(column):
    labels, probabilities = examples(classes=2)
    p = probabilities[:, 1]
    values = p if column == "probability" else np.log(p / (1 - p))
    rows = zip(labels.tolist(), values.tolist(), strict=True)
    write_csv("p.csv", ["label", column], rows)
    found = built("p.csv")
    assert found["data"]["classes"] == 2
    value = found["calibration"]["metrics"]["ece"]["value"]
    assert value == pytest.approx(um.ece(labels, p), rel=1e-9)


def test_what_is_left_out_is_said(capsys):
    labels, probabilities = examples(n=2)
    write_csv(
        "p.csv",
        ["label", "p0", "p1", "p2", "weights", "image"],
        [[y, *p, 3, "a.png"] for y, p in zip(labels, probabilities, strict=True)],
    )
    assert main(["report", "p.csv"]) == 0
    assert "Note: Left out" in capsys.readouterr().out
    assert numbers()["notes"] == [
        "Left out, as their names mean nothing here: weights, image."
    ]


def test_rows_that_do_not_sum_to_one_are_said():
    np.savez("p.npz", labels=[0, 1], probabilities=[[0.5, 0.25], [0.75, 0.5]])
    assert built("p.npz")["notes"] == [
        "The probabilities of an example sum to 0.75 to 1.25, not to 1."
    ]
    np.savez("q.npz", labels=[[0, 1], [1, 1]], probabilities=np.full([2, 2], 0.3))
    assert built("q.npz")["notes"] == []  # Four examples of P(class 1).
    assert built("q.npz")["data"]["examples"] == 4


@pytest.mark.parametrize(
    ("correct", "confidence", "start"),
    [
        # Of 100; 2 standard errors are about 0.1.
        (50, 0.9, "Overconfident on average, by 40.0 percentage points"),
        (90, 0.6, "Underconfident on average, by 30.0 percentage points"),
        (80, 0.85, "Neither clearly overconfident nor underconfident"),
    ],
)
def test_verdict(correct, confidence, start):
    labels = np.repeat([1, 0], [correct, 100 - correct])
    np.savez("p.npz", labels=labels, probabilities=np.full(100, confidence))
    assert built("p.npz")["calibration"]["verdict"].startswith(start)


def test_verdict_of_few_examples_claims_nothing():
    np.savez("p.npz", labels=[1, 1, 1], probabilities=[0.7, 0.7, 0.7])
    assert built("p.npz")["calibration"]["verdict"].startswith("Neither clearly")
    # Nor does the scale of weights make examples of nothing.
    np.savez(
        "p.npz",
        labels=[1, 1, 1],
        probabilities=[0.7, 0.7, 0.7],
        sample_weight=[1e6, 1e6, 1e6],
    )
    assert built("p.npz")["calibration"]["verdict"].startswith("Neither clearly")


def test_process_of_its_own_is_quiet_and_imports_no_tensorflow(tmp_path):
    code = (
        "import sys\n"
        "from uncertainty_metrics.__main__ import main\n"
        "code = main(['report'])\n"
        "loaded = {'tensorflow', 'keras', 'matplotlib.pyplot'} & set(sys.modules)\n"
        "sys.exit(code or sorted(loaded) or 0)\n"
    )
    root = pathlib.Path(package.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(root)}
    for arguments in (["-c", code], ["-m", "uncertainty_metrics", "report"]):
        run = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
        )
        # The first use of matplotlib on a machine may speak of its fonts.
        said = [row for row in run.stderr.splitlines() if "atplotlib" not in row]
        assert (run.returncode, said) == (0, [])
        assert "  ece " in run.stdout
    missing = subprocess.run(
        [sys.executable, "-m", "uncertainty_metrics", "report", "missing.npz"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert missing.returncode == 2
    assert missing.stderr == "error: missing.npz: No such file or directory\n"


def test_help_documents_the_formats(capsys):
    assert main(["report", "--help"]) == 0
    text = capsys.readouterr().out
    for word in (
        "labels",
        "probabilities",
        "logits",
        "sample_weight",
        "p0, p1",
        "--out",
    ):
        assert word in text
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{package.__version__}\n"


# What it refuses.


def good():
    labels, probabilities = examples()
    return {"labels": labels, "probabilities": probabilities}


def changed(name, index, value):
    arrays = {key: array.astype(float) for key, array in good().items()}
    arrays[name][index] = value
    return arrays


BAD_NPZ = {
    "no labels": ({"probabilities": np.ones([2, 2])}, "array `labels` is missing"),
    "no predictions": ({"labels": np.zeros(2)}, "Received: none of them"),
    "two predictions": ({**good(), "logits": np.ones(60)}, "probabilities, logits"),
    "lengths": ({**good(), "labels": np.zeros(59)}, "of shape"),
    "rank": ({"labels": np.zeros(4), "logits": np.zeros([4, 3, 2])}, "of shape"),
    "NaN": (changed("probabilities", (3, 1), np.nan), "Received: nan at [3, 1]"),
    "NaN label": (changed("labels", 3, np.nan), "Received: nan at [3]"),
    "above 1": (changed("probabilities", (3, 1), 1.5), "in [0, 1]"),
    "label too large": (changed("labels", 5, 3), "integers in [0, 3)"),
    "label too small": (changed("labels", 5, -1), "integers in [0, 3)"),
    "label a fraction": (changed("labels", 5, 0.5), "integers in [0, 3)"),
    "text": ({**good(), "labels": np.array(["a"] * 60)}, "must hold numbers"),
    "no examples": ({"labels": np.ones(0), "logits": np.ones([0, 2])}, "at least one"),
    "weights": ({**good(), "sample_weight": -np.ones(60)}, "finite and >= 0"),
    "no weight": ({**good(), "sample_weight": np.zeros(60)}, "positive weight"),
    "weights' shape": ({**good(), "sample_weight": np.ones(3)}, "broadcastable"),
    "swapped": (
        dict(zip(["probs", "labels"], good().values(), strict=True)),
        "swapped",
    ),
    "objects": ({**good(), "labels": np.array([0, None] * 30)}, "pickled objects"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_bad_npz(case, capsys):
    arrays, message = BAD_NPZ[case]
    np.savez("p.npz", **arrays)
    line = fails(capsys, "p.npz")
    assert line.startswith("error: p.npz: ")
    assert message in line


BAD_CSV = {
    "empty": ("", "a header line and an example"),
    "no examples": ("label,p0,p1\n", "a header line and an example"),
    "no label": ("p0,p1\n1,0\n", "`label` or `labels` must be there. Received: p0, p1"),
    "two labels": ("label,labels,p0,p1\n1,1,0,1\n", "Received: label, labels"),
    "no predictions": ("label,q\n1,0\n", "Received: label, q"),
    "both kinds": ("label,probability,logit\n1,0,0\n", "probabilities and logits"),
    "a class missing": ("label,p0,p2\n0,1,0\n", "one per class from 0"),
    "one class": ("label,p0\n0,1\n", "one per class from 0"),
    "class 1 twice": ("label,p0,p1,probability_1\n0,1,0,0\n", "are the same column"),
    "alone and by class": ("label,p0,p1,probability\n0,1,0,0\n", "one per class"),
    "a column twice": ("label,p0,p1,p1\n0,1,0,0\n", "`p1` is there twice"),
    "ragged": ("label,p0,p1\n0,1,0\n1,1\n", "line 3 must have 3 fields, as the header"),
    "text": ("label,p0,p1\n0,1,0\n1,x,0\n", "line 3, column `p0` must be a number"),
    "empty field": ("label,p0,p1\n0,,0\n", "line 2, column `p0` must be a number"),
    "NaN": ("label,p0,p1\n0,nan,0\n", "Received: nan at [0, 0]"),
    "label too large": ("label,p0,p1\n2,1,0\n", "integers in [0, 2)"),
    "label a fraction": ("label,p0,p1\n0.5,0.3,0.7\n", "integers in [0, 2)"),
    "weights": ("label,probability,sample_weight\n1,0.5,-1\n", "finite and >= 0"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_bad_csv(case, capsys):
    text, message = BAD_CSV[case]
    pathlib.Path("p.csv").write_text(text)
    line = fails(capsys, "p.csv")
    assert line.startswith("error: p.csv: ")
    assert message in line


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


def test_corrupt_files(capsys):
    np.savez("good.npz", **good())
    data = pathlib.Path("good.npz").read_bytes()
    file = pathlib.Path("p.npz")
    for content in (b"", b"PK\x03\x04", b"text", data[: len(data) // 2]):
        file.write_bytes(content)
        assert "p.npz: not an .npz archive" in fails(capsys, "p.npz")
    start = data.index(b"NUMPY") + 200
    file.write_bytes(data[:start] + b"\xff" * 64 + data[start + 64 :])
    assert "it is damaged" in fails(capsys, "p.npz")
    np.save("array.npy", np.ones(3))
    pathlib.Path("array.npy").rename(file)
    assert "p.npz: not an .npz archive" in fails(capsys, "p.npz")
    pathlib.Path("p.csv").write_bytes(b"label,p0,p1\n0,\xff\xfe,1\n")
    assert "not a CSV file in UTF-8" in fails(capsys, "p.csv")


def test_bad_paths(capsys):
    assert fails(capsys, "no.npz") == "error: no.npz: No such file or directory\n"
    assert "must end in .npz or .csv. Received: '.pkl'" in fails(capsys, "no.pkl")
    pathlib.Path("folder.csv").mkdir()
    assert "folder.csv: Is a directory" in fails(capsys, "folder.csv")
    pathlib.Path("taken").write_text("")
    assert "error: taken: cannot write there" in fails(capsys, "--out", "taken")
    assert "taken/below: cannot write" in fails(capsys, "--out", "taken/below")


@pytest.mark.parametrize(
    "arguments",
    [["--num-bins", "0"], ["--num-bins", "x"], ["--num-bins", "999999999"], ["--what"]],
)
def test_bad_arguments(arguments, capsys):
    assert "--help" in fails(capsys, *arguments)


def test_no_command(capsys):
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_without_matplotlib(capsys, monkeypatch):
    for module in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    line = fails(capsys)
    assert "This needs matplotlib" in line
    assert "pip install" in line
