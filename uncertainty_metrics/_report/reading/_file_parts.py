"""Reads files part by part, in memory that does not grow with the rows."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from uncertainty_metrics._report.data._predictions import silent
from uncertainty_metrics._report.reading import _arrow_tables, _csv_tables
from uncertainty_metrics._report.reading._csv_tables import CsvTable, Table
from uncertainty_metrics._report.reading._files import TABLES
from uncertainty_metrics._report.reading._json_and_excel_tables import (
    RecordTable,
    is_one_value,
)
from uncertainty_metrics._report.reading._plain_or_gzip_text import (
    TextFile,
    lines_of,
    number_of_lines,
    readable,
)

# The most numbers in a part of a table, and about the most characters of text.
_NUMBERS, _CHARACTERS = 2**20, 2**23


def parts(
    kind: str, file: IO[bytes], columns: Sequence[str] | None = None
) -> Iterator[Table]:
    """Yields the tables of the parts of a file, in their order.

    Args:
      kind: "parquet", "arrow", "csv", "json", "inspect" or "excel". An Excel file, a
        log of Inspect, and a list or a table in one JSON value are one part.
      file: opened for reading bytes.
      columns: names of the columns that are used; None for all.

    A file without examples has no parts.
    """
    if kind in ("parquet", "arrow"):
        rows = max(1, _NUMBERS // (len(columns) if columns else 100))
        yield from _arrow_tables.parts(file, kind, rows, columns)
    elif kind == "csv":
        yield from _csv_parts(file)
    elif kind == "json" and not is_one_value(TextFile(file)):
        # JSON escapes the ends of lines in text, so that each line is a record.
        blocks = TextFile(file).blocks("JSON")
        texts = ((text, number_of_lines(text)) for text in blocks)
        yield from _text_parts(RecordTable, "", texts, lambda text: not text.strip())
    else:  # A copy, since the file may be closed when the part is read.
        file.seek(0)
        yield TABLES[kind](io.BytesIO(file.read()), silent)


def _csv_parts(file: IO[bytes]) -> Iterator[Table]:
    """Yields tables that all have the header of the file."""
    if not TextFile(file).first_character("CSV"):
        return
    whole = CsvTable(file, silent)
    blocks = TextFile(file).blocks("CSV")
    header: list[str] = []
    while len(header) < whole.header_lines:
        header += lines_of(next(blocks))
    header, rest = header[: whole.header_lines], header[whole.header_lines :]
    rows = itertools.chain(["".join(rest)] if rest else [], blocks)
    # A single "\r" would make one end of a line with a "\n" that follows.
    title = "".join(header).rstrip("\r\n") + "\n"
    with readable("CSV"):
        yield from _text_parts(
            CsvTable,
            title,
            _csv_tables.whole_records(rows, whole.delimiter, len(header)),
            lambda text: _csv_tables.is_blank(text, whole.delimiter),
        )


def _text_parts(
    table: Callable[..., Table],
    header: str,
    texts: Iterator[tuple[str, int]],
    is_blank: Callable[[str], bool],
) -> Iterator[Table]:
    """Yields tables of some records each.

    Args:
      table: makes a table of a file.
      header: text before the records of each table.
      texts: text of whole records, and how many lines they have.
      is_blank: says whether a text has no example. Every table has an example.
    """
    before = lines = size = 0
    block: list[str] = []

    def part() -> Table:
        # With a mark of the byte order, as a first character may be one, too.
        content = io.BytesIO("".join([header, *block]).encode("utf-8-sig"))
        return table(content, silent, before)

    for text, number in texts:
        if not block and is_blank(text):
            before += number
            continue
        block.append(text)
        lines += number
        size += len(text)
        if size >= _CHARACTERS:
            yield part()
            before += lines
            block, lines, size = [], 0, 0
    if block:
        yield part()
