"""Files: hostile input is refused, and the report is written whole or not at all."""

import contextlib
import dataclasses
import errno
import io
import json
import os
import pathlib
import sys
import time
import tracemalloc

import numpy as np
import pytest

from tests.numpy.test_state import HOSTILE_ARRAYS, MiB, archive, saved
from tests.report.reports import examples, fails, write_parquet
from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report import calibration_report
from uncertainty_metrics._report.page import _picture_files, _writing
from uncertainty_metrics._report.page._visible_names import shown

OUT = pathlib.Path(report.DEFAULT_DIRECTORY)


pytestmark = pytest.mark.usefixtures("own_directory")


def good(name="p.npz", **more):
    np.savez(name, **examples(20), **more)
    return name


def listing():
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in pathlib.Path().rglob("*")
    }


# Written whole or not at all.


def test_complete_files_replace_old_ones_and_json_is_last(monkeypatch, undrawn):
    placed = []

    def replace(source, target):
        assert os.path.dirname(source) == os.path.dirname(target)
        placed.append(os.path.basename(target))
        return real(source, target)

    real = os.replace
    monkeypatch.setattr(os, "replace", replace)
    assert main(["report", good()]) == 0
    assert placed == ["report.html", "report.json"]
    assert sorted(os.listdir(OUT)) == sorted(placed)


def test_links_are_replaced_not_followed(undrawn):
    pathlib.Path("kept").write_text("kept")
    OUT.mkdir()
    (OUT / "report.json").symlink_to(pathlib.Path("kept").resolve())
    (OUT / "report.html").symlink_to(pathlib.Path("absent").resolve())
    assert main(["report", good()]) == 0
    assert pathlib.Path("kept").read_text() == "kept"
    assert not pathlib.Path("absent").exists()
    assert not any(path.is_symlink() for path in OUT.iterdir())


def test_a_full_disk_leaves_the_old_report(capsys, undrawn):
    resource = pytest.importorskip("resource")
    assert main(["report", good()]) == 0
    capsys.readouterr()
    before = listing()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, old[1]))
    try:
        line = fails(capsys, "p.npz")
        assert "cannot write there: File too large" in line
        fails(capsys, "p.npz", "--out", "new/below")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert listing() == before


@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_a_directory_in_the_way_leaves_the_old_report(name, capsys, undrawn):
    assert main(["report", good()]) == 0
    (OUT / name).unlink()
    (OUT / name).mkdir()
    capsys.readouterr()
    before = listing()
    np.savez("p.npz", labels=[0, 1], probs=[0.2, 0.7])
    assert f"{OUT}: cannot write there: {name} is a directory" in fails(capsys, "p.npz")
    before["p.npz"] = pathlib.Path("p.npz").read_bytes()
    assert listing() == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("call", ["mkdir", "fsync", "replace"])
def test_failed_writes_leave_nothing(call, code, capsys, monkeypatch, undrawn):
    good()
    before = listing()

    def fail(*arguments, **options):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        assert os.strerror(code) in fails(capsys, "p.npz")
    assert listing() == before


@pytest.mark.parametrize("arguments", [["--out", ""], ["--out", "a\0b"]])
def test_wrong_output_directories_fail(arguments, capsys, undrawn):
    before = listing()
    fails(capsys, *arguments)
    assert listing() == before


@pytest.mark.parametrize("place", ["build", "_png", "replace"])
@pytest.mark.first(1)
def test_an_interrupt_prints_one_line(place, capsys, monkeypatch):
    assert main(["report", good()]) == 0
    before = listing()
    capsys.readouterr()

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        module = {"build": calibration_report, "_png": _writing, "replace": os}[place]
        patch.setattr(module, place, interrupt)
        assert main(["report", "p.npz", "--num-bins", "3"]) == 130
    assert capsys.readouterr() == ("", "error: interrupted\n")
    assert listing() == before


# Output that the terminal does not accept.


class _Terminal(io.TextIOWrapper):
    def __init__(self, encoding, raw=None):
        super().__init__(raw or io.BytesIO(), encoding=encoding)

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


@pytest.mark.parametrize("encoding", ["ascii", "latin1", "utf-8"])
def test_characters_that_the_terminal_cannot_encode_are_escaped(
    encoding, monkeypatch, undrawn
):
    monkeypatch.setattr(sys, "stdout", terminal := _Terminal(encoding))
    assert main(["report", good("日本.npz"), "--out", "é"]) == 0
    expected = {
        "ascii": ("\\u65e5\\u672c.npz", "\\xe9"),
        "latin1": ("\\u65e5\\u672c.npz", "é"),
        "utf-8": ("日本.npz", "é"),
    }[encoding]
    assert all(name in terminal.text() for name in expected)


class _Full(io.RawIOBase):
    def __init__(self, code):
        self._code = code

    def writable(self):
        return True

    def write(self, data):
        raise OSError(self._code, os.strerror(self._code))


@pytest.mark.parametrize(
    ("code", "returned", "said"),
    [
        (errno.ENOSPC, 2, "error: standard output: No space left on device\n"),
        (errno.EPIPE, 1, ""),
    ],
)
def test_a_full_or_closed_terminal_is_an_error(
    code, returned, said, monkeypatch, capsys, undrawn
):
    stream = _Terminal("utf-8", io.BufferedWriter(_Full(code)))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        assert main(["report", good()]) == returned
    assert capsys.readouterr().err == said
    assert (OUT / "report.json").is_file()
    with pytest.raises(OSError, match=os.strerror(code)):
        stream.close()


# Names with characters that control the terminal.

SPITEFUL = "a\x1b[2Jb\x07\x9bc\u202egnp\u2066\u200f\u2028d\rz"
ESCAPED = "a\\x1b[2Jb\\x07\\x9bc\\u202egnp\\u2066\\u200f\\u2028d\\rz"


def is_plain(text):
    return all(character.isprintable() for character in text.replace("\n", ""))


def test_names_are_shown_escaped(capsys):
    name = f"{SPITEFUL}.npz"
    good(name, **{SPITEFUL: np.zeros(2)})
    assert main(["report", name, "--compare", name, "--out", SPITEFUL]) == 0
    out = capsys.readouterr().out
    assert is_plain(out)
    assert out.count(f"{ESCAPED}.npz") == 5  # Title, data, both models, their tile.
    assert f"the names are not known: {ESCAPED}." in " ".join(out.split())
    assert f"Wrote {ESCAPED}/report.html" in out
    page = (pathlib.Path(SPITEFUL) / "report.html").read_text("utf-8")
    assert is_plain(page)
    assert f"<title>Calibration report: {ESCAPED}.npz</title>" in page
    found = json.loads((pathlib.Path(SPITEFUL) / "report.json").read_text("utf-8"))
    assert found["source"] == f"{ESCAPED}.npz"


def test_names_in_errors_are_escaped(capsys):
    for name in (f"{SPITEFUL}.npz", f"{SPITEFUL}.pkl"):
        line = fails(capsys, name)
        assert is_plain(line)
        assert ESCAPED in line.replace("\\\\", "\\")
    pathlib.Path("p.csv").write_text(f"{SPITEFUL},{SPITEFUL}\n1,2\n", "utf-8")
    assert is_plain(fails(capsys, "p.csv"))
    assert is_plain(fails(capsys, f"--{SPITEFUL}"))
    assert is_plain(fails(capsys, good(), "--out", f"p.npz/{SPITEFUL}"))


def test_names_in_pictures_are_escaped():
    here = report.Predictions(SPITEFUL, **{"kind": "probs", "labels": 0, "values": 0})
    here = shown(here)
    there = dataclasses.replace(here, source="there.npz")
    names = [ESCAPED[:8] + "..." + ESCAPED[-9:], "there.npz"]
    assert list(_picture_files._named(here, there)) == names


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes")
def test_names_that_are_no_text_are_shown_escaped(capsys, undrawn):
    name = os.fsdecode(b"\xff\xfe.npz")
    assert main(["report", good(name), "--out", os.fsdecode(b"\xfd")]) == 0
    out = capsys.readouterr().out
    assert "\\udcff\\udcfe.npz" in out
    assert "Wrote \\udcfd/report.html" in out


# Hostile files.


def hostile(**changes):
    """Writes `p.npz` of good arrays, but for the given bytes."""
    contents = {k: saved(array) for k, array in examples(20).items()}
    content = archive((contents | changes).items())
    pathlib.Path("p.npz").write_bytes(content)
    return content


@pytest.mark.first(8, "thorough")
@pytest.mark.parametrize("case", HOSTILE_ARRAYS)
def test_hostile_arrays_fail_in_one_line(case, capsys, recwarn):
    assert len(hostile(labels=HOSTILE_ARRAYS[case]())) < MiB
    tracemalloc.start()
    try:
        line = fails(capsys, "p.npz")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert line.startswith("error: p.npz: ")
    assert "labels" in line or "128 MiB" in line
    assert len(line) < 300
    assert most < 16 * MiB
    assert [str(warning.message) for warning in recwarn] == []


def test_unused_arrays_are_not_unpacked():
    hostile(other=HOSTILE_ARRAYS["a bomb"](), **{"../labels": b"text"})
    found = report.read_predictions("p.npz")
    assert found.left_out == ("../labels", "other")


def contents_of(kind):
    """Returns the bytes of a good file of a kind."""
    data = examples(8)
    file = io.BytesIO()
    if kind == "csv":
        rows = np.column_stack(list(data.values())).tolist()
        text = "\n".join(",".join(map(str, row)) for row in rows)
        return f"label,p0,p1,p2\n{text}\n".encode()
    if kind == "parquet":
        columns = {f"p{k}": data["probabilities"][:, k] for k in range(3)}
        write_parquet(file, {"label": data["labels"], **columns})
        return file.getvalue()
    {"npz": np.savez, "packed": np.savez_compressed}[kind](file, **data)
    return file.getvalue()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["npz", "packed", "csv", "parquet"])
@pytest.mark.first(2)
def test_bit_flips_give_a_result_or_one_line(kind, rng, recwarn):
    content = contents_of(kind)
    path = pathlib.Path(f"p.{kind.replace('packed', 'npz')}")
    results = 0
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 4)):
            damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged[: None if rng.random() < 0.9 else place])
        with contextlib.suppress(report.ReportError):
            found = report.read_predictions(path)
            if results < 5:
                results += 1
                report.render(report.build(found))
    assert [str(warning.message) for warning in recwarn] == []


def test_parquet_that_unpacks_to_too_much_fails(capsys):
    zeros = np.zeros(4_900_000, np.int8)
    columns = {"label": zeros, **{f"p{k}": zeros.astype(np.float32) for k in range(4)}}
    write_parquet("p.parquet", columns)
    assert os.path.getsize("p.parquet") < MiB
    assert "more than 128 times" in fails(capsys, "p.parquet")


# Large headers and odd numbers.


def test_many_columns_take_linear_time(capsys):
    names = [*(f"p{k}" for k in range(15_000)), *(f"x{k}" for k in range(15_000))]
    row = ",".join(["0"] * len(names))
    pathlib.Path("p.csv").write_text(f"label,{','.join(names)}\n0,{row}\n")
    start = time.process_time()
    found = report.read_predictions("p.csv")
    assert time.process_time() - start < 3  # 35 s if it searched each name.
    assert found.values.shape == (1, 15_000)
    assert len(found.left_out) == 15_000
    pathlib.Path("p.csv").write_text(f"{','.join(names)}\n{row}\n")
    start = time.process_time()
    assert "Received: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 and 29990 more" in fails(
        capsys, "p.csv"
    )
    assert time.process_time() - start < 5  # 400 s if it compared each two names.


@pytest.mark.parametrize("cell", ["1_0", "0_1", "0.2_5"])
def test_underscores_are_no_part_of_numbers(cell, capsys):
    pathlib.Path("p.csv").write_text(f"label,probability\n0,{cell}\n")
    assert f"column `probability` must be a number. Received: {cell!r}" in fails(
        capsys, "p.csv"
    )
    assert "must be an integer" in fails(capsys, "--num-bins", "1_0")


@pytest.mark.parametrize(
    ("stddev", "target"),
    [
        ("1", "1e200"),
        ("1", "-1.7e308"),
        ("1e60", "1"),
        ("1e-55", "1"),
        ("1e-45", "1e49"),
    ],
)
def test_numbers_that_overflow_are_one_line(stddev, target, capsys, recwarn):
    rows = f"0,{stddev},{target}\n0,1,0.5\n0.5,2,0\n"
    pathlib.Path("p.csv").write_text(f"mean,stddev,target\n{rows}")
    assert "must be at most 1e50. Received: errors" in fails(capsys, "p.csv")
    assert [str(warning.message) for warning in recwarn] == []
