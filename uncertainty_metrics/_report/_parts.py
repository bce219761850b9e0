"""Reads files part by part, in memory that does not grow with the rows."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from uncertainty_metrics._report import _arrow_tables
from uncertainty_metrics._report._files import TABLES
from uncertainty_metrics._report._predictions import silent
from uncertainty_metrics._report._tables import CsvTable, Table
from uncertainty_metrics._report._text_files import TextFile
from uncertainty_metrics._report._value_tables import RecordTable

# The most numbers in a part of a table, and about the most characters of text.
_NUMBERS, _CHARACTERS = 2**19, 2**23


def parts(
    kind: str, file: IO[bytes], columns: Sequence[str] | None = None
) -> Iterator[Table]:
    """Yields the tables of the parts of a file, in their order.

    Args:
      kind: "parquet", "arrow", "csv", "json" or "excel". An Excel file, and a list of
        records in JSON, is one part.
      file: opened for reading bytes.
      columns: names of the columns that are used; None for all.

    A file without examples has no parts.
    """
    if kind in ("parquet", "arrow"):
        rows = max(1, _NUMBERS // (len(columns) if columns else 100))
        yield from _arrow_tables.parts(file, kind, rows, columns)
    elif kind == "csv":
        yield from _text_parts(CsvTable, "CSV", file, True)
    elif kind == "json" and not _is_list(file):
        yield from _text_parts(RecordTable, "JSON", file, False)
    else:  # A copy, since the file may be closed when the part is read.
        file.seek(0)
        yield TABLES[kind](io.BytesIO(file.read()), silent)


def _is_list(file: IO[bytes]) -> bool:
    lines = (line.strip() for line in TextFile(file).lines("JSON"))
    return next(filter(None, lines), "").startswith("[")


def _text_parts(
    table: Callable[..., Table], kind: str, file: IO[bytes], has_header: bool
) -> Iterator[Table]:
    """Yields tables of some lines each, every one with the header of the file."""
    lines = TextFile(file).lines(kind)
    header = _header(lines) if has_header else []
    before = 0
    while block := _block(lines):
        content = io.BytesIO("".join([*header, *block]).encode())
        yield table(content, silent, before)
        before += len(block)


def _header(lines: Iterator[str]) -> list[str]:
    """Returns the lines up to the end of the names of columns."""
    header: list[str] = []
    for line in lines:
        header.append(line)
        is_name = line.strip() and not line.startswith("sep=")
        if is_name and not _is_open(header):
            break
    return header


def _block(lines: Iterator[str]) -> list[str]:
    """Returns the next lines: whole rows, of which quoted text may have several."""
    block: list[str] = []
    size, quotes = 0, 0
    for line in lines:
        block.append(line)
        size += len(line)
        quotes += line.count('"')
        if size >= _CHARACTERS and quotes % 2 == 0:
            break
    return block


def _is_open(lines: list[str]) -> bool:
    """Says if a quoted text goes on after these lines."""
    return sum(line.count('"') for line in lines) % 2 == 1
