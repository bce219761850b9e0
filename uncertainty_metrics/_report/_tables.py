"""Tables of files, .csv and .parquet: their columns, read as they are asked for."""

from __future__ import annotations

import array
import collections
import contextlib
import csv
import gzip
import importlib
import io
import itertools
import os
import re
import reprlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Protocol

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics.numpy import _archive

# Cells of the lines that are read at once.
_CELLS = 200_000
# Bytes from which on another reader is worth its import.
_LARGE = 2**23
_EMPTY = "the file must hold a header line and at least one example"
_NO_LABEL = "the label of an example is missing: fill it in, or remove the example"
_DELIMITERS = ",;\t"
GZIP = b"\x1f\x8b"


class Table(Protocol):
    """A table with named columns.

    Attributes:
      header: names of the columns.
    """

    header: list[str]

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns a column of numbers, text or booleans [N], and others, numbers
        [N, columns].

        Raises:
          ValueError: a cell is not as it must be, or there are no examples.
        """


def check_once(header: Sequence[str], names: Sequence[str]) -> None:
    """Raises ValueError if one of these columns is there twice."""
    counts = collections.Counter(header)
    repeated = [name for name in names if counts[name] > 1]
    if repeated:
        raise ValueError(f"the column `{repeated[0]}` is there twice")


class CsvTable:
    """A table in text, perhaps packed by gzip.

    Args:
      file: opened for reading bytes, at any place.
      tell: is told how far it is read.
    """

    def __init__(self, file: IO[bytes], tell: Callable[[str], None]):
        self._file, self._tell = file, tell
        self._packed = file.seek(0, os.SEEK_END)
        self._unzipped: gzip.GzipFile | None = None
        first = next((line for line in self._lines() if line.strip()), "")
        separator = re.fullmatch(r"sep=(.)\s*", first)  # As Excel writes it.
        self._skipped = 1 if separator else 0
        unquoted = re.sub('"[^"]*"', "", first)
        self._delimiter = (
            separator[1] if separator else max(_DELIMITERS, key=unquoted.count)
        )
        reader, rows = self._rows()
        with _readable():
            self.header = [name.strip() for name in next(rows, [])]
        self._plain = reader.line_num == 1  # A header in the first line.
        if not self.header:
            raise ValueError(_EMPTY)

    def _lines(self) -> Iterator[str]:
        """Yields the lines of the file from its start."""
        self._file.seek(0)
        packed = self._file.read(len(GZIP)) == GZIP
        self._file.seek(0)
        raw: Any = self._file
        if packed:
            raw = self._unzipped = gzip.GzipFile(fileobj=self._file)
        lines = io.TextIOWrapper(raw, "utf-8-sig", newline="")
        try:
            with _readable():
                # Not from it, which would be closed with this generator.
                yield from (line for line in lines)
        finally:
            lines.detach()  # Or it would close the file, which may be read again.

    def _rows(self) -> tuple[Any, Iterator[list[str]]]:
        """Returns the reader, and its rows that are not empty, the header first."""
        lines = itertools.islice(self._lines(), self._skipped, None)
        reader = csv.reader(lines, delimiter=self._delimiter)
        return reader, _not_blank(reader)

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        columns = {name: i for i, name in enumerate(self.header)}
        places = [columns[name] for name in names]
        if (quickly := self._by_arrow(columns[label], places)) is not None:
            return quickly
        blocks: list[np.ndarray] = []
        codes = array.array("q")
        cells: dict[str, int] = {}  # In the order of their codes.
        for found, numbers, line in self._blocks(columns[label], places):
            codes.extend([cells.setdefault(cell, len(cells)) for cell in found])
            blocks.append(numbers)
            if self._unzipped is not None:
                _archive.check_growth(self._unzipped.tell(), self._packed)
            self._tell(f"read {line:,} lines")
        if not blocks:
            raise ValueError(_EMPTY)
        labels = _values(list(cells))[np.array(codes)]
        return labels, np.concatenate(blocks)

    def _by_arrow(
        self, label: int, places: list[int]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns what pyarrow reads of a large file, in a fifth of the time; None
        where it is not installed, or finds what is to be told.
        """
        if self._packed < _LARGE or self._unzipped is not None or not self._plain:
            return None
        try:
            module = importlib.import_module("pyarrow.csv")
        except ImportError:
            return None
        all_names = [str(place) for place in range(len(self.header))]
        names = [str(place) for place in places]
        kinds = {**dict.fromkeys(names, "float64"), str(label): "string"}
        self._file.seek(0)
        try:
            table = module.read_csv(
                io.BytesIO(self._file.read()),
                module.ReadOptions(column_names=all_names, skip_rows=1 + self._skipped),
                module.ParseOptions(delimiter=self._delimiter),
                module.ConvertOptions(
                    column_types=kinds, include_columns=[*kinds], null_values=[]
                ),
            )
        except (NotImplementedError, ValueError):  # As those of pyarrow are.
            return None
        numbers = np.empty((len(table), len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = table[name].to_numpy()
        cells = table[str(label)].combine_chunks().dictionary_encode()
        labels = _values(cells.dictionary.to_pylist())
        return (labels[cells.indices.to_numpy()], numbers) if len(table) else None

    def _blocks(
        self, label: int, places: list[int]
    ) -> Iterator[tuple[list[str], np.ndarray, int]]:
        """Yields cells of the label, numbers and the last line, block by block."""
        lines = itertools.islice(self._lines(), self._skipped, None)
        most = max(16, _CELLS // len(self.header))
        with _readable():
            reader = csv.reader(lines, delimiter=self._delimiter)
            next(_not_blank(reader), None)  # The header.
            line = reader.line_num + self._skipped
            while block := list(itertools.islice(lines, most)):
                quoted = any('"' in text for text in block)
                if quoted:  # A row may be more than a line.
                    yield from self._slow(
                        itertools.chain(block, lines), line, label, places
                    )
                    return
                plain = [text for text in block if text.strip(" \r\n")]
                if plain:
                    yield self._fast(plain, line + len(block), label, places) or next(
                        self._slow(block, line, label, places)
                    )
                line += len(block)

    def _fast(
        self, lines: list[str], last: int, label: int, places: list[int]
    ) -> tuple[list[str], np.ndarray, int] | None:
        """Returns what lines without quotes hold; None where a cell is no number."""
        delimiter, width = self._delimiter, len(self.header)
        if any(text.count(delimiter) != width - 1 for text in lines):
            return None
        numbers = np.empty((len(lines), 0))
        if places:
            try:
                numbers = np.loadtxt(
                    lines, delimiter=delimiter, usecols=places, ndmin=2, comments=None
                )
            except ValueError:
                return None
        cells = [text.split(delimiter, label + 1)[label] for text in lines]
        return cells, numbers, last

    def _slow(
        self, lines: Iterable[str], line: int, label: int, places: list[int]
    ) -> Iterator[tuple[list[str], np.ndarray, int]]:
        """Yields what any lines hold, and says which cell is wrong."""
        reader = csv.reader(lines, delimiter=self._delimiter)
        rows, width = _not_blank(reader), len(self.header)
        while True:
            cells: list[str] = []
            numbers = array.array("d")
            for row in itertools.islice(rows, max(16, _CELLS // width)):
                here = line + reader.line_num
                if len(row) != width:
                    raise ValueError(
                        f"line {here} must have {width} fields, as the header has. "
                        f"Received: {len(row)}"
                    )
                cells.append(row[label])
                numbers.extend(
                    [self._number(row[p], self.header[p], here) for p in places]
                )
            if not cells:
                return
            table = np.array(numbers).reshape(len(cells), len(places))
            yield cells, table, line + reader.line_num

    def _number(self, cell: str, name: str, line: int) -> float:
        text = cell
        if self._delimiter != "," and "." not in cell:  # Then a comma is for decimals.
            text = cell.replace(",", ".")
        try:
            if "_" not in text:
                return float(text)
        except ValueError:
            pass
        hint = "; percent divided by 100 are probabilities" if "%" in cell else ""
        raise ValueError(
            f"line {line}, column `{name}` must be a number{hint}. Received: "
            f"{reprlib.repr(cell)}"
        )


def _not_blank(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yields the rows but those that are empty, or one cell of spaces."""
    return (row for row in rows if row and not (len(row) == 1 and row[0].isspace()))


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Makes one error of those that files raise that are no text in UTF-8."""
    try:
        yield
    except (UnicodeDecodeError, csv.Error, EOFError, zlib.error) as failed:
        raise ValueError(f"not a CSV file in UTF-8: {failed}") from None
    except gzip.BadGzipFile as failed:  # An OSError without a number.
        raise ValueError(f"a damaged .gz file: {failed}") from None


def _values(cells: list[str]) -> np.ndarray:
    """Returns labels that are written so: numbers if all of them are."""
    cells = [cell.strip() for cell in cells]
    try:
        if "_" not in "".join(cells):
            return np.array([float(cell) for cell in cells])
    except ValueError:
        pass
    if "" in cells:
        raise ValueError(_NO_LABEL)
    return np.array(cells)


class ParquetTable:
    """The columns of a Parquet file, which needs pyarrow.

    Args:
      file: opened for reading bytes.
      tell: is told how far it is read.
    """

    def __init__(self, file: IO[bytes], tell: Callable[[str], None]):
        self._arrow = _optional.require("pyarrow")
        parquet = _optional.require("pyarrow.parquet")
        self._file, self._tell = file, tell
        with _damaged():
            self._parquet = parquet.ParquetFile(file)
            self._schema = self._parquet.schema_arrow
            self._size = self._parquet.metadata.num_rows
            self.header = list(self._schema.names)

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        types = self._arrow.types
        for name in names:
            kind = _value_type(self._schema.field(name).type, types)
            if not _is_numeric(kind, types):
                raise ValueError(
                    f"the column `{name}` must hold numbers. Received: {kind}"
                )
        wanted = [label, *names]
        if not self._size:
            raise ValueError("the file must hold at least one example")
        _archive.check_size(8 * self._size * len(wanted), self._file)
        self._tell(f"reads {self._size:,} examples")
        with _damaged():
            table = self._parquet.read(columns=wanted)
            numbers = np.empty((self._size, len(names)))
            for j, name in enumerate(names):  # What is missing is NaN.
                numbers[:, j] = table[name].cast("float64").to_numpy()
        return self._labels(table, label), numbers

    def _labels(self, table: Any, label: str) -> np.ndarray:
        types = self._arrow.types
        kind = _value_type(self._schema.field(label).type, types)
        column = table[label]
        if types.is_boolean(kind) and not column.null_count:
            return column.cast(kind).to_numpy().astype(bool)
        if _is_numeric(kind, types):
            with _damaged():
                return np.asarray(column.cast("float64").to_numpy(), np.float64)
        if not (types.is_string(kind) or types.is_large_string(kind)):
            raise ValueError(
                f"the column `{label}` must hold numbers, text or booleans. Received: "
                f"{kind}"
            )
        if column.null_count:
            raise ValueError(_NO_LABEL)
        with _damaged():
            return column.cast("string").to_numpy().astype(str)


def _value_type(kind: Any, types: Any) -> Any:
    return kind.value_type if types.is_dictionary(kind) else kind


def _is_numeric(kind: Any, types: Any) -> bool:
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in (*tests, types.is_null))


@contextlib.contextmanager
def _damaged() -> Iterator[None]:
    """Makes one error of the many kinds that damaged Parquet files raise."""
    try:
        yield
    except Exception as failed:
        raise ValueError(f"a damaged Parquet file: {str(failed)[:200]}") from None
