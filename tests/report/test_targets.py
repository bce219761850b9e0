"""Where the commands write: only regular files are ever replaced."""

import io
import os
import pathlib
import socket
import stat
import subprocess
import sys

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import calibrated, write_csv
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report import _command, calibration_report

pytestmark = [
    pytest.mark.usefixtures("own_directory"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the files of Unix"),
]
LONG = "n" * 5000


def predictions(n=60):
    data = calibrated(n, 0.5, 1)
    rows = zip(data["labels"], data["probabilities"], strict=True)
    return write_csv("p.csv", ["label", "p"], rows)


def device(name):
    """Makes a device like /dev/null, which only the superuser may do."""
    try:
        os.mknod(name, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        with open(name, "wb") as file:
            file.write(b"a")
    except OSError as refused:
        pytest.skip(f"cannot make a device: {refused}")


def error_of(capsys, *arguments):
    """Runs a command that must fail with one line; returns the line."""
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture
def nothing_is_read(monkeypatch):
    """Fails if a command reads its files before it looks where it writes."""

    def refuse(*arguments):
        raise AssertionError("it has read")

    for name in ("_summary", "_read"):
        monkeypatch.setattr(_command, name, refuse)


def make(kind, name):
    if kind == "a named pipe":
        os.mkfifo(name)
    elif kind == "a directory":
        os.mkdir(name)
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("by_link", [False, True])
@pytest.mark.parametrize("kind", ["a named pipe", "a directory", "a socket"])
def test_what_is_no_file_is_refused_before_anything_is_read(kind, by_link, capsys):
    predictions()
    os.mkdir("out")
    make(kind, "there")
    if by_link:
        os.symlink("there", "link")
        os.symlink("../there", "out/report.json")
    else:
        make(kind, "out/report.json")
    before = os.lstat("there")
    out = "link" if by_link else "there"
    line = error_of(capsys, "sketch", "p.csv", "--out", out)
    assert line == f"error: {out}: cannot write there: it is {kind}\n"
    line = error_of(capsys, "report", "p.csv", "--out", "out")
    assert line == f"error: out: cannot write there: report.json is {kind}\n"
    if kind != "a directory":
        line = error_of(capsys, "report", "p.csv", "--out", "there")
        assert line == f"error: there: cannot write there: it is {kind}\n"
    assert os.path.samestat(before, os.lstat("there"))


@pytest.mark.usefixtures("nothing_is_read")
def test_a_directory_that_is_a_file_is_refused_before_anything_is_read(capsys):
    predictions()
    line = error_of(capsys, "report", "p.csv", "--out", "p.csv")
    assert line == "error: p.csv: cannot write there: it is a file\n"
    os.symlink("nothing", "dangling")
    line = error_of(capsys, "report", "p.csv", "--out", "dangling")
    assert line == "error: dangling: cannot write there: it is a link to nothing\n"
    for command in ("sketch", "report"):
        line = error_of(capsys, command, "p.csv", "--out", "p.csv/below")
        assert "cannot write there: Not a directory" in line


def test_a_report_in_python_replaces_no_pipe(monkeypatch):
    monkeypatch.setattr(calibration_report, "draw", lambda *arguments: {})
    report = um.report(**calibrated(60, 0.5, 1))
    os.mkdir("out")
    os.mkfifo("out/report.html")
    with pytest.raises(ValueError, match=r"report\.html is a named pipe"):
        report.save("out")
    assert stat.S_ISFIFO(os.stat("out/report.html").st_mode)
    assert os.listdir("out") == ["report.html"]


@pytest.mark.parametrize("name", ["null", "link"])
def test_a_summary_is_written_to_a_device(name, capsys):
    predictions()
    device("null")
    os.symlink("null", "link")
    assert main(["sketch", "p.csv", "--out", name]) == 0
    assert capsys.readouterr().out == ""
    found = os.stat("null")
    assert stat.S_ISCHR(found.st_mode)
    assert found.st_rdev == os.makedev(1, 3)
    assert os.path.islink("link")
    os.mkdir("out")
    os.link("null", "out/report.json")
    assert "report.json is a device" in error_of(
        capsys, "report", "p.csv", "--out", "out"
    )


def test_a_summary_replaces_files_and_links_to_files():
    predictions()
    for name in ("old.npz", "target"):
        pathlib.Path(name).write_text("old")
    os.symlink("target", "link.npz")
    os.symlink("nothing", "dangling.npz")
    for name in ("old.npz", "link.npz", "dangling.npz", "new/deep.npz"):
        assert main(["sketch", "p.csv", "--out", name]) == 0
        assert um.Summary.load(name).num_examples == 60
    assert pathlib.Path("target").read_text() == "old"
    assert not os.path.exists("nothing")


@pytest.mark.thorough
@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
@pytest.mark.parametrize("out", ["stdout", "link"])
def test_a_summary_is_written_to_standard_output(out, tmp_path):
    """It may be a pipe or a file. The links are like /dev/stdout, which a fault of the
    command must not reach: the superuser would replace it for the whole machine.
    """
    predictions()
    os.symlink("/dev/fd/1", "stdout")
    os.symlink("stdout", "link")
    command = [sys.executable, "-m", "uncertainty_metrics"]
    command += ["sketch", "p.csv", "--out", out]
    with open("made.npz", "wb") as file:
        subprocess.run(command, stdout=file, check=True)
    by_pipe = subprocess.run(command, capture_output=True, check=True)
    assert by_pipe.stderr == b""
    assert pathlib.Path("made.npz").read_bytes() == by_pipe.stdout
    assert um.Summary.load(io.BytesIO(by_pipe.stdout)).num_examples == 60
    assert sorted(os.listdir(tmp_path)) == ["link", "made.npz", "p.csv", "stdout"]
    assert os.readlink("stdout") == "/dev/fd/1"


@pytest.mark.parametrize(
    "path", [f"{LONG}.csv", f"{LONG}/p.csv", "a\0b.csv", "p.csv/b.csv"]
)
def test_a_path_that_the_system_refuses_is_one_line(path, capsys):
    predictions()
    reasons = ("File name too long", "null byte", "Not a directory")
    for arguments in (
        ["report", path],
        ["report", "p.csv", path],
        ["report", "p.csv", "--compare", path],
        ["report", "p.csv", "--out", path],
        ["sketch", path, "--out", "s.npz"],
        ["sketch", "p.csv", "--out", path],
    ):
        line = error_of(capsys, *arguments)
        assert any(reason in line for reason in reasons)
        assert os.listdir() == ["p.csv"]


def test_too_few_examples_for_a_summary_are_one_line(capsys, monkeypatch):
    predictions()

    def refuse(self, file, private=None):
        raise ValueError("fewer than 50 examples")

    monkeypatch.setattr(um.Summary, "save", refuse)
    line = error_of(capsys, "sketch", "p.csv", "--out", "s.npz")
    assert line == "error: p.csv: fewer than 50 examples\n"


def test_models_to_compare_are_never_pooled(capsys):
    predictions()
    for name in ("b.csv", "c.csv"):
        pathlib.Path(name).write_text("label,p\n1,0.5\n")
    line = error_of(
        capsys, "report", "p.csv", "--compare", "b.csv", "--compare", "c.csv"
    )
    assert line.startswith("error: b.csv holds other rows than p.csv, or in another")


def summary_of(data):
    summary = um.Summary()
    summary.update(**data)
    return summary


@pytest.mark.thorough
@pytest.mark.parametrize("first", ["rows", "summary"])
def test_rows_and_summaries_are_compared_as_periods(first):
    """The summary has no rows, so its decisions are compared with those of the rows."""
    rows, others = calibrated(400, 0.5, 1, seed=1), calibrated(900, 0.5, 1, gap=0.2)
    labels, p = rows.values()
    if first == "rows":
        report = um.report(labels, p, compare={"old": summary_of(others)})
    else:
        report = um.report(summary_of(others), compare={"new": summary_of(rows)})
    found = report.to_dict()["comparison"]
    assert not found["same_examples"]
    expected = um.calibration_drift(
        *(um.bin_statistics(**each, num_bins=15) for each in (rows, others))
    )
    np.testing.assert_allclose(found["drift"]["p_value"], expected.p_value, atol=1e-3)
    report.save("out")
    assert os.path.exists("out/drift_diagram.png")


@pytest.mark.thorough
def test_a_folder_is_compared_with_a_larger_one(monkeypatch):
    """Of different sizes, only one of them is read part by part to a sample."""
    monkeypatch.setattr(_command._large_files, "_MOST_ROWS", 100)
    monkeypatch.setattr(_command._large_files, "_LEAST_ROWS", 100)
    for folder, size in (("few", 40), ("many", 400)):
        os.mkdir(folder)
        for name in ("a", "b"):
            os.replace(predictions(size), f"{folder}/{name}.csv")
    assert main(["report", "few", "--compare", "many", "--out", "out"]) == 0
    assert os.path.exists("out/report.html")
