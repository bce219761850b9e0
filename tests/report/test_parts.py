"""Parts of text files: they hold the rows of the file, whatever stands in the cells."""

import csv
import gzip
import io
import json
import pathlib
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from tests.report.reports import fails
from uncertainty_metrics._report.data._predictions import ReportError, silent
from uncertainty_metrics._report.reading import (
    _arrow_tables,
    _arrow_values,
    _csv_tables,
    _file_parts,
    _large_files,
    _plain_or_gzip_text,
)
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._csv_tables import CsvTable
from uncertainty_metrics._report.reading._files import read_predictions
from uncertainty_metrics._report.reading._json_and_excel_tables import RecordTable
from uncertainty_metrics.numpy import _archive

pytestmark = pytest.mark.usefixtures("own_directory")

# Pieces of a text in a cell, and of what may stand between two rows.
_PIECES = [
    *('"', '""', "a", " ", "\n", "\r", "\r\n", ",", ";"),
    *("\x0b", "\u2028", "\ufeff", "'", "\\"),
]
_BETWEEN = ["", "\n", "  \r\n", '" "\n', '""', "\t\n", " \x0b\n", '"\n"\n']


def rows_of(tables):
    """Returns labels, numbers, texts and places of all rows, or the error."""
    rows = []
    try:
        for table in tables:
            labels, numbers = table.read("label", ["p"])
            (texts,) = table.columns(["text"])
            for i, text in enumerate(texts):
                rows.append((labels[i], numbers[i, 0], text, table.place(i)))
    except ValueError as wrong:
        return str(wrong)
    return rows


def by_csv(text, delimiter):
    """Returns the rows by Python's own reader; None if they are not valid."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows, is_header = [], True
    for row in reader:
        if not row or (len(row) == 1 and row[0].isspace()):
            continue
        if not is_header:
            try:
                label, p, cell = row
                numbers = float(label), float(p)
            except ValueError:
                return None
            rows.append((*numbers, cell.strip() or None, f"line {reader.line_num}"))
        is_header = False
    return rows


def nasty_csv(rng, delimiter):
    """Returns a file of quoted texts, and of some that are written as people do."""
    end = str(rng.choice(["\n", "\r", "\r\n"]))
    names = ["label", "p", str(rng.choice(["text", '"text"']))]
    text = f"{rng.choice(['', ' ' + end, chr(0xFEFF)])}{delimiter.join(names)}{end}"
    for _ in range(rng.integers(1, 12)):
        cell = "".join(rng.choice(_PIECES, rng.integers(0, 6)))
        if rng.random() < 0.8:
            cell = cell.replace('"', '""').join('""')
        text += f"{rng.integers(2)}{delimiter}0.5{delimiter}{cell}{end}"
        if rng.random() < 0.2:
            text += str(rng.choice(_BETWEEN))
    return text


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("large", [False, True])
def test_parts_of_csv_have_the_rows_of_the_file(rng, monkeypatch, delimiter, large):
    if large:  # pyarrow reads large files.
        pytest.importorskip("pyarrow.csv")
        monkeypatch.setattr(_csv_tables, "_LARGE", 0)
    counts = {"read": 0, "refused": 0, "of several lines": 0}
    for _ in range(200):
        monkeypatch.setattr(_file_parts, "_CHARACTERS", int(rng.integers(1, 60)))
        monkeypatch.setattr(_plain_or_gzip_text, "_BLOCK", int(rng.integers(1, 60)))
        text = nasty_csv(rng, delimiter)
        file = io.BytesIO(text.encode())
        found = rows_of(_file_parts.parts("csv", file))
        assert found == rows_of([CsvTable(file, silent)]), text
        expected = by_csv(text.removeprefix("\ufeff"), delimiter)
        if expected is None:
            assert isinstance(found, str)
            counts["refused"] += 1
        else:
            assert found == expected, text
            counts["read"] += 1
            counts["of several lines"] += any("\n" in (row[2] or "") for row in found)
    assert min(counts.values()) > 5


def test_parts_of_json_have_the_rows_of_the_file(rng, monkeypatch):
    for _ in range(100):
        monkeypatch.setattr(_file_parts, "_CHARACTERS", int(rng.integers(1, 200)))
        monkeypatch.setattr(_plain_or_gzip_text, "_BLOCK", int(rng.integers(1, 60)))
        text, rows = "", []
        for _ in range(rng.integers(1, 12)):
            cell = "".join(rng.choice([*_PIECES, "[", "{"], rng.integers(0, 6)))
            text += str(rng.choice(["", "\n", "  \n", "\t\r\n"]))
            row = {"label": int(rng.integers(2)), "p": 0.5, "text": cell}
            text += json.dumps(row, ensure_ascii=False) + "\n"
            rows.append((row["label"], 0.5, cell, f"line {text.count(chr(10))}"))
        file = io.BytesIO(text.encode())
        found = rows_of(_file_parts.parts("json", file))
        assert found == rows_of([RecordTable(file, silent)]) == rows


def test_a_stray_quote_opens_no_text(monkeypatch):
    """A quote within a cell, such as of inches, is a character."""
    monkeypatch.setattr(_file_parts, "_CHARACTERS", 2**16)
    with open("p.csv", "w") as file:
        file.write('label,p,text\n0,0.1,5" pipe\n')
        file.writelines(f'{i % 2},0.{i % 9 + 1},"a, b\n{i}"\n' for i in range(20_000))
    assert _large_files.read_stream(_large_files.files_of(["p.csv"])).rows == 20_001


def test_a_line_that_begins_a_list_is_refused_by_every_part(monkeypatch):
    good = '{"correct": 1, "confidence": 0.5}\n'
    with open("p.jsonl", "w") as file:
        file.write(f"{good}[{good.strip()}]\n")
    for size in (1, 2**20):
        monkeypatch.setattr(_file_parts, "_CHARACTERS", size)
        monkeypatch.setattr(_plain_or_gzip_text, "_BLOCK", size)
        with pytest.raises(ReportError, match=r"p\.jsonl: line 2 must be a record"):
            _large_files.read_stream(_large_files.files_of(["p.jsonl"]))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "jsonl.gz"])
def test_a_long_line_is_refused_before_it_fills_the_memory(
    ending, whole, monkeypatch, capsys
):
    monkeypatch.setattr(_plain_or_gzip_text, "LONGEST", 2**20)
    opened = gzip.open if ending.endswith(".gz") else open
    start = b"label,p\n1,0." if "csv" in ending else b'{"label": 1, "p": 0.5}\n'
    with opened(f"p.{ending}", "wb") as file:
        file.write(start)
        for _ in range(64):
            file.write(b"5" * 2**20)
    files = _large_files.files_of([f"p.{ending}"])
    tracemalloc.start()
    try:
        if whole:
            line = fails(capsys, f"p.{ending}")
        else:
            with pytest.raises(ReportError) as refused:
                _large_files.read_stream(files)
            line = str(refused.value)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    assert f"p.{ending}: line 2 begins an example of more than 1 MiB: the" in line


def test_the_number_of_a_long_line_counts_each_end_once(monkeypatch):
    """Its two bytes may be read at different times."""
    monkeypatch.setattr(_plain_or_gzip_text, "LONGEST", 2**16)
    text = b"label,p\r\n" + 20_000 * b"1,0.5\r\n" + b"1" * 2**17
    with pytest.raises(ValueError, match=r"^line 20002 begins"):
        list(_plain_or_gzip_text.TextFile(io.BytesIO(text)).lines("CSV"))


def test_parts_have_the_header_of_the_file(monkeypatch):
    """Its first name may begin with the character that marks the order of bytes."""
    monkeypatch.setattr(_file_parts, "_CHARACTERS", 1)
    monkeypatch.setattr(_plain_or_gzip_text, "_BLOCK", 1)
    file = io.BytesIO("\ufeff\ufefftext,label,p\na,1,0.5\na,1,0.5\n".encode())
    headers = [table.header for table in _file_parts.parts("csv", file)]
    assert headers == [["\ufefftext", "label", "p"]] * 2
    assert CsvTable(file, silent).header == headers[0]


def test_a_packed_list_on_one_line_is_counted_as_it_comes(monkeypatch, capsys):
    monkeypatch.setattr(_archive, "MAX_BYTES", 2**20)
    with gzip.open("p.json.gz", "wb") as file:
        file.write(b"[" + b" " * 2**26)
    tracemalloc.start()
    try:
        assert "more than 128 times" in fails(capsys, "p.json.gz")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_an_example_of_many_lines_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(_plain_or_gzip_text, "LONGEST", 2**16)
    with open("p.csv", "w") as file:
        file.write('label,p,text\n0,0.5,a\n0,0.5,"\n')
        for _ in range(2**14):
            file.write('a long text\n","\n')  # A cell ends, and the next one begins.
    with pytest.raises(ReportError, match=r"p\.csv: line 3 begins an example of more"):
        _large_files.read_stream(_large_files.files_of(["p.csv"]))


def test_an_end_of_a_line_that_two_reads_share_is_one_end(monkeypatch):
    monkeypatch.setattr(_plain_or_gzip_text, "LONGEST", 2**12)
    # At every even place "\r" and "\n" are on both sides.
    file = io.BytesIO(b"a" + 10_000 * b"\r\n" + 2**14 * b"5")
    with pytest.raises(ValueError, match=r"^line 10001 begins an example of more"):
        list(_plain_or_gzip_text.TextFile(file).lines("CSV"))


def test_the_line_of_a_long_example_counts_each_line_before_it_once(monkeypatch):
    monkeypatch.setattr(_plain_or_gzip_text, "LONGEST", 2**12)
    monkeypatch.setattr(_plain_or_gzip_text, "_BLOCK", 50)
    with open("p.csv", "w") as file:
        file.write("label,p,text\n")
        file.writelines(f'{i % 2},0.5,"a\n{i}"\n' for i in range(40))
        file.write('0,0.5,"\n' + 2**12 * "a\n")
    with pytest.raises(ReportError, match=r"p\.csv: line 82 begins an example of more"):
        _large_files.read_stream(_large_files.files_of(["p.csv"]))


def test_a_block_of_lines_of_spaces_has_no_example():
    for text in ("label,p\n\t\n", "label,p\n" + 100_000 * "0,0.5\n" + "\t\n"):
        table = CsvTable(io.BytesIO(text.encode()), silent)
        rows = text.count("0.5")
        if rows:
            assert len(table.read("label", ["p"])[0]) == rows
        else:
            with pytest.raises(ValueError, match="at least one example"):
                table.read("label", ["p"])


def test_an_excel_line_may_follow_blank_ones():
    text = "\n\nsep=;\nlabel;p\n1;0,5\n"
    for table in (
        CsvTable(io.BytesIO(text.encode()), silent),
        *_file_parts.parts("csv", io.BytesIO(text.encode())),
    ):
        labels, numbers = table.read("label", ["p"])
        assert (labels, numbers, table.place(0)) == ([1], [[0.5]], "line 5")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("in_parts", [False, True])
def test_equal_texts_of_a_column_take_their_room_once(ending, in_parts, monkeypatch):
    pa, parquet, feather = map(
        pytest.importorskip, ("pyarrow", "pyarrow.parquet", "pyarrow.feather")
    )
    size, word = 20_000, "x" * 5000
    codes = pa.array([None, *[0] * (size - 1)], pa.int32())
    columns = {
        "correct": [True, False] * (size // 2),
        "confidence": [0.5] * size,
        "g": pa.DictionaryArray.from_arrays(codes, pa.array([word])),
    }
    write = parquet.write_table if ending == "parquet" else feather.write_feather
    write(pa.table(columns), f"p.{ending}")
    choice = Choice(groups=("g",))

    def read():
        if in_parts:
            paths = _large_files.files_of([f"p.{ending}"])
            return _large_files.read_stream(paths, choice).result()
        return read_predictions(f"p.{ending}", choice)

    read()  # Imports take room, too.
    tracemalloc.start()
    try:
        found = read()
        assert tracemalloc.get_traced_memory()[1] < 2**24  # Texts of rows: 100 MB.
    finally:
        tracemalloc.stop()
    assert found.groups["g"].tolist() == [None, *[word] * (size - 1)]


def test_a_packed_arrow_file_is_counted_batch_by_batch(monkeypatch):
    pa, feather = map(pytest.importorskip, ("pyarrow", "pyarrow.feather"))
    zeros = [0.0] * 2**18
    table = pa.table({"correct": zeros, "confidence": zeros})
    feather.write_feather(table, "p.feather", compression="zstd", chunksize=2**12)
    monkeypatch.setattr(_archive, "MAX_BYTES", 2**17)
    real, taken = _arrow_tables._arrow_batches, []

    def counted(file):
        schema, read = real(file)
        return schema, lambda *given: (taken.append(b) or b for b in read(*given))

    monkeypatch.setattr(_arrow_tables, "_arrow_batches", counted)
    with pytest.raises(ReportError, match="would unpack to"):
        read_predictions("p.feather")
    assert 1 < len(taken) < 2**6


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_blocks_are_whole_lines_and_their_lines_are_counted(monkeypatch, size):
    monkeypatch.setattr(_plain_or_gzip_text, "_BLOCK", size)
    text = 'a,b\r\n1,2\r3,"4\n5"\n\n\r\n\x0b,\u2028\n6,7'
    expected = list(io.StringIO(text, newline=""))
    file = _plain_or_gzip_text.TextFile(io.BytesIO(text.encode()))
    blocks = list(file.blocks("CSV"))
    assert "".join(blocks) == text
    assert [line for each in blocks for line in _plain_or_gzip_text.lines_of(each)] == (
        expected
    )
    counts = map(_plain_or_gzip_text.number_of_lines, blocks)
    assert sum(counts) == len(expected)


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["no", "yes"], [1.0, 0.0]])
@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "int8"])
def test_columns_of_arrow_hold_the_numbers_and_labels_of_the_file(labels, kind):
    pa, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    rng = np.random.default_rng(0)
    p = np.round(rng.random(1000)).astype(kind)
    parts = [pa.array(p[:0]), pa.array(p[:300]), pa.array(p)[300:]]
    columns = {"label": np.array(labels * 500), "p": pa.chunked_array(parts)}
    parquet.write_table(pa.table(columns), "p.parquet")
    choice = Choice(positive_class="yes" if "yes" in labels else None)
    for found in (
        read_predictions("p.parquet", choice),
        _large_files.read_stream([pathlib.Path("p.parquet")], choice).result(),
    ):
        assert found.values.dtype == np.float64
        assert found.values.tolist() == p.tolist()
        expected = np.unique(labels, return_inverse=True)[1].tolist() * 500
        assert found.labels.tolist() == expected


def test_parquet_is_read_without_an_import_of_pandas():
    pa, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    table = pa.table(
        {"label": ["no", "yes"] * 50, "p_no": [0.6] * 100, "p_yes": [0.4] * 100}
    )
    parquet.write_table(table, "p.parquet")
    code = (
        "import sys\n"
        "from uncertainty_metrics._report.reading import _large_files as f\n"
        "f.read_stream(f.files_of(['p.parquet'])).result()\n"
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("kind", ["float32", "float64", "int32"])
def test_missing_numbers_of_arrow_are_nan(kind):
    pa = pytest.importorskip("pyarrow")
    column = pa.chunked_array([pa.array([1, None, 0], kind), pa.array([None], kind)[:]])
    found = _arrow_values.floats(column)
    assert np.array_equal(found, [1, np.nan, 0, np.nan], equal_nan=True)
    words, codes = _arrow_values.encoded(
        pa.chunked_array([["b", "a"], ["c", "b", "a"]])
    )
    assert [words[i] for i in codes.tolist()] == ["b", "a", "c", "b", "a"]
