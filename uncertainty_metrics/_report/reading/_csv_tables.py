"""Tables in text files, .csv and .tsv, which are read column by column on request."""

from __future__ import annotations

import array
import collections
import csv
import importlib
import io
import itertools
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Protocol

import numpy as np

from uncertainty_metrics._report.data._predictions import ExampleError
from uncertainty_metrics._report.reading import _arrow_values, _plain_or_gzip_text
from uncertainty_metrics._report.reading._column_names import BY_CLASS
from uncertainty_metrics._report.reading._plain_or_gzip_text import (
    LongLineError,
    TextFile,
    lines_of,
    number_of_lines,
    readable,
)

# Number of cells in the lines that are read at once.
_CELLS = 200_000
# From this number of bytes on, reading by pyarrow is worth its import.
_LARGE = 2**23
_EMPTY = "the file must hold a header line and at least one example"
_DELIMITERS = ",;\t"


class Table(Protocol):
    """A table with named columns.

    Attributes:
      header: names of the columns.
      others: other contents of the file, such as further sheets, in words.
      notes: on what the file says, for the reader of the report.
      cluster: the column of clusters, if the file says that there is one, or None.
      percents: names of the columns of numbers, of those read, whose cells have the
        sign %.
    """

    header: list[str]
    others: tuple[str, ...]
    notes: tuple[str, ...]
    cluster: str | None
    percents: tuple[str, ...]

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the column of labels [N] and columns of numbers [N, columns].

        Labels are numbers, text or booleans.

        Raises:
          ValueError: a cell has no valid value, or there are no examples.
        """

    def columns(self, names: Sequence[str]) -> list[list[Any]]:
        """Returns the values of columns, of any type; None where a value is missing.

        The values of a text file stay text.
        """

    def place(self, index: int) -> str:
        """Returns where in the file an example is, for a message."""


def missing(name: str, place: str) -> ExampleError:
    """Returns the error for an example without a value in a column."""
    return ExampleError(
        f"{place}: `{name}` is missing; fill it in, or remove the example"
    )


def percent(text: str) -> float | None:
    """Returns the share that a text such as "90%" says; None for another text."""
    number, sign, rest = text.strip().partition("%")
    if not sign or rest or "_" in number:
        return None
    try:
        return float(number) / 100
    except ValueError:
        return None


class PercentSigns:
    """Counts the cells of some columns that have the sign %."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._counts: collections.Counter[str] = collections.Counter()

    def add(self, name: str, share: float, cell: str, place: str) -> None:
        """Counts a cell, which says a share."""
        self._first.setdefault(name, f"{reprlib.repr(cell)} in {place}")
        self._counts[name] += share != 0

    def columns(self, names: Sequence[str], numbers: np.ndarray) -> tuple[str, ...]:
        """Returns the names of the columns with the sign.

        Args:
          names: of the columns.
          numbers: [N, columns].

        Raises:
          ValueError: a column also has numbers without the sign, which may be percent
            or not; 0 is the same in both.
        """
        for name, column in zip(names, numbers.T, strict=True):
            both = name in self._first
            if both and np.count_nonzero(column) > self._counts[name]:
                raise ValueError(
                    f"the column `{name}` has numbers with the sign %, such as "
                    f"{self._first[name]}, and numbers without it: write all of them "
                    "with the sign, or none; for confidences without it that are "
                    "percent say --percent"
                )
        return tuple(self._first)


def check_once(header: Sequence[str], names: Sequence[str]) -> None:
    """Raises ValueError if the header has one of these names twice."""
    counts = collections.Counter(header)
    repeated = [name for name in names if counts[name] > 1]
    if repeated:
        raise ValueError(
            f"the column `{repeated[0]}` is there twice: rename or remove one of them"
        )


class CsvTable:
    """A table in a text file, perhaps packed by gzip.

    Args:
      file: opened for reading bytes, at any position.
      tell: called with the progress of reading.
      before: if the table is a part of a file, the number of lines between the header
        and this part; messages count them.

    Attributes:
      delimiter: what separates the cells.
      header_lines: number of lines up to the end of the header.
    """

    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cluster: str | None = None
    percents: tuple[str, ...] = ()

    def __init__(self, file: IO[bytes], tell: Callable[[str], None], before: int = 0):
        self._file, self._tell, self._before = TextFile(file), tell, before
        self._signs = PercentSigns()
        first = [""]
        for line in self._lines():
            first.append(line)
            if line.strip():
                break
        separator = re.fullmatch(r"sep=(.)\s*", first[-1])  # Excel writes such a line.
        self._skipped = len(first) - 1 if separator else 0
        unquoted = re.sub('"[^"]*"', "", first[-1])
        self.delimiter = (
            separator[1] if separator else max(_DELIMITERS, key=unquoted.count)
        )
        reader, rows = self._rows()
        with readable("CSV"):
            self.header = [name.strip() for name in next(rows, [])]
            title = reader.line_num
            row = next(rows, [])
        self._plain = title == 1  # The header is the first line.
        self.header_lines = title + self._skipped
        if not self.header:
            raise ValueError(_EMPTY)
        self._check_title(first[-1], row)
        self._expand_vectors(row)

    def _check_title(self, line: str, row: list[str]) -> None:
        """Raises ValueError if a comment stands where the names should be.

        Args:
          line: the first line that is not empty.
          row: the first row after it.
        """
        is_comment = line.lstrip().startswith("#") or len(self.header) == 1
        if self._before or len(row) <= len(self.header) or not is_comment:
            return
        raise ValueError(
            f"line {self.header_lines} must hold the names of the columns, and seems "
            "to be a comment: remove it, as `tail -n +2` does. Received: "
            f"{reprlib.repr(line.strip())}"
        )

    def _expand_vectors(self, row: list[str]) -> None:
        """Makes a column for each number of vectors such as "[0.1,0.9]".

        Spark ML writes them, and pandas writes arrays so. The lines stay where they
        are.
        """
        if len(row) != len(self.header):
            return
        sizes = {
            j: len(numbers)
            for j, name in enumerate(self.header)
            if name.lower() in BY_CLASS and (numbers := _vector(row[j]))
        }
        if not sizes:
            return
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.delimiter)
        reader = csv.reader(self._lines(), delimiter=self.delimiter)
        for cells in reader:
            if reader.line_num > self.header_lines and len(cells) == len(self.header):
                cells = self._expanded(cells, sizes, reader.line_num)
            writer.writerow(cells)
        names = [
            [f"{name}_{k}" for k in range(sizes[j])] if j in sizes else [name]
            for j, name in enumerate(self.header)
        ]
        self.header = [*itertools.chain(*names)]
        self._file = TextFile(io.BytesIO(text.getvalue().encode("utf-8-sig")))

    def _expanded(
        self, cells: list[str], sizes: dict[int, int], line: int
    ) -> list[str]:
        """Returns a row with a cell for each number of the vectors of some columns."""
        parts = []
        for j, cell in enumerate(cells):
            parts.append(_vector(cell) if j in sizes else [cell])
            if len(parts[j]) != sizes.get(j, 1):
                raise ExampleError(
                    f"line {line + self._before}, column `{self.header[j]}` must be a "
                    f"list of {sizes[j]} numbers, as in the first row. Received: "
                    f"{reprlib.repr(cell)}"
                )
        return [*itertools.chain(*parts)]

    def _lines(self) -> Iterator[str]:
        """Yields the lines of the file from its start."""
        return self._file.lines("CSV")

    def _rows(self) -> tuple[Any, Iterator[list[str]]]:
        """Returns a reader, and its rows without empty ones, the header first."""
        lines = itertools.islice(self._lines(), self._skipped, None)
        reader = csv.reader(lines, delimiter=self.delimiter)
        return reader, _not_blank(reader)

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        columns = {name: i for i, name in enumerate(self.header)}
        places = [columns[name] for name in names]
        if (quickly := self._by_arrow(columns[label], places)) is not None:
            return quickly
        blocks: list[np.ndarray] = []
        self._signs = PercentSigns()
        codes = array.array("q")
        cells: dict[str, int] = {}  # In the order of their codes.
        for found, numbers, line in self._blocks(columns[label], places):
            codes.extend([cells.setdefault(cell, len(cells)) for cell in found])
            blocks.append(numbers)
            self._tell(f"read {line:,} lines")
        if not blocks:
            raise ValueError(_EMPTY)
        for cell, code in cells.items():
            if not cell.strip():
                raise missing(label, self.place(codes.index(code)))
        labels = _values(list(cells))[np.array(codes)]
        table = np.concatenate(blocks)
        self.percents = self._signs.columns(names, table)
        return labels, table

    def columns(self, names: Sequence[str]) -> list[list[Any]]:
        found = []
        for name in names:  # The file is read once for each column, to save memory.
            column: list[Any] = []
            for cells, _, _ in self._blocks(self.header.index(name), []):
                column.extend([cell.strip() or None for cell in cells])
            found.append(column)
        return found

    def place(self, index: int) -> str:
        reader, rows = self._rows()
        with readable("CSV"):
            next(itertools.islice(rows, index + 1, None))  # The header is a row, too.
        return f"line {reader.line_num + self._skipped + self._before}"

    def _by_arrow(
        self, label: int, places: list[int]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns labels and numbers of a large file, read 5 times faster by pyarrow.

        Returns None if pyarrow is not installed, or if the file is wrong somewhere: the
        slow reader then says where.
        """
        is_plain = self._plain and self._file.encoding != "utf-16"
        # The last part of a large file may be small.
        is_large = self._file.size >= _LARGE or self._before > 0
        if not is_large or self._file.packed or not is_plain:
            return None
        try:
            module = importlib.import_module("pyarrow.csv")
        except ImportError:
            return None
        all_names = [str(place) for place in range(len(self.header))]
        names = [str(place) for place in places]
        kinds = {str(label): "string", **dict.fromkeys(names, "float64")}
        try:
            table = module.read_csv(
                io.BytesIO(self._file.read()),
                module.ReadOptions(column_names=all_names, skip_rows=1 + self._skipped),
                module.ParseOptions(delimiter=self.delimiter),
                module.ConvertOptions(
                    column_types=kinds, include_columns=[*kinds], null_values=[]
                ),
            )
        except (NotImplementedError, ValueError):  # pyarrow raises these for bad cells.
            return None
        numbers = np.empty((len(table), len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = _arrow_values.floats(table[name])
        # The labels may be one of the columns of numbers.
        words, codes = _arrow_values.encoded(table[str(label)])
        if not all(map(str.strip, words)):
            return None
        return (_values(words)[codes], numbers) if len(table) else None

    def _blocks(
        self, label: int, places: list[int]
    ) -> Iterator[tuple[list[str], np.ndarray, int]]:
        """Yields label cells, numbers and number of the last line, block by block."""
        lines = itertools.islice(self._lines(), self._skipped, None)
        most = max(16, _CELLS // len(self.header))
        with readable("CSV"):
            reader = csv.reader(lines, delimiter=self.delimiter)
            next(_not_blank(reader), None)  # Skips the header.
            line = reader.line_num + self._skipped + self._before
            while block := list(itertools.islice(lines, most)):
                quoted = any('"' in text for text in block)
                if quoted:  # A quoted cell may go on in the next line.
                    yield from self._slow(
                        itertools.chain(block, lines), line, label, places
                    )
                    return
                plain = [text for text in block if text.strip(" \r\n")]
                quick = plain and self._fast(plain, line + len(block), label, places)
                if quick:
                    yield quick
                else:
                    yield from self._slow(block, line, label, places)
                line += len(block)

    def _fast(
        self, lines: list[str], last: int, label: int, places: list[int]
    ) -> tuple[list[str], np.ndarray, int] | None:
        """Returns a block of lines without quotes; None if the lines are not valid."""
        delimiter, width = self.delimiter, len(self.header)
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
        """Yields blocks of any lines; an error says which line or cell is wrong."""
        reader = csv.reader(lines, delimiter=self.delimiter)
        rows, width = _not_blank(reader), len(self.header)
        while True:
            cells: list[str] = []
            numbers = array.array("d")
            for row in itertools.islice(rows, max(16, _CELLS // width)):
                here = line + reader.line_num
                if len(row) != width:
                    raise ExampleError(
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
        if self.delimiter != "," and "." not in cell:  # A comma marks decimals here.
            text = cell.replace(",", ".")
        try:
            if "_" not in text:
                return float(text)
        except ValueError:
            pass
        if (share := percent(text)) is not None:
            self._signs.add(name, share, cell, f"line {line}")
            return share
        raise ExampleError(
            f"line {line}, column `{name}` must be a number. Received: "
            f"{reprlib.repr(cell)}"
        )


def whole_records(
    blocks: Iterator[str], delimiter: str, before: int
) -> Iterator[tuple[str, int]]:
    """Yields the text of some whole records, and how many lines they have.

    A quoted cell may have several lines. `csv.reader` says which quotes begin and end
    one: a block of lines goes on for as long as it asks for further lines.

    Args:
      blocks: whole lines, at least one in each block.
      delimiter: the delimiter of the cells.
      before: number of lines of the file before these.

    Raises:
      ValueError: a record is too long.
    """
    rest = ""
    while text := rest or next(blocks, ""):
        rest = ""
        if '"' in text:
            lines = lines_of(text)
            end = _end_of_records(lines, blocks, delimiter, before)
            text, rest = "".join(lines[:end]), "".join(lines[end:])
        number = number_of_lines(text)
        before += number
        yield text, number


def _end_of_records(
    block: list[str], blocks: Iterator[str], delimiter: str, before: int
) -> int:
    """Returns at which line the last record of a block ends.

    Further blocks are added to the block until the record ends.
    """
    size, taken, end, added = len(block), 0, 0, 0

    def asked() -> Iterator[str]:
        nonlocal taken, added
        while True:
            if taken == len(block):
                more = next(blocks, "")
                if not more:
                    return
                added += len(more)
                if added > _plain_or_gzip_text.LONGEST:
                    raise LongLineError(before + end + 1)
                block.extend(lines_of(more))
            taken += 1
            yield block[taken - 1]

    for _ in csv.reader(asked(), delimiter=delimiter):
        end = taken
        if end >= size:
            break
    return end


def _vector(cell: str) -> list[str]:
    """Returns the numbers of a vector in a cell; none if it holds something else.

    It may be "[0.1,0.9]", "[0.1 0.9]", or of Spark ML, where most numbers are 0, the
    size, the places and the values of the others: "(3,[0,2],[0.2,0.8])".
    """
    if match := re.fullmatch(r"\s*\[([^\[\]]*)\]\s*", cell):
        return re.split(r"[\s,;]+", match[1].strip())
    match = re.fullmatch(r"\((\d{1,4}),\[([\d,]*)\],\[([^\[\]]*)\]\)", cell.strip())
    if not match:
        return []
    found = ["0"] * int(match[1])
    places, numbers = (part.split(",") if part else [] for part in match.groups()[1:])
    for place, number in zip(places, numbers, strict=False):
        if int(place) < len(found):
            found[int(place)] = number
    return found


def is_blank(text: str, delimiter: str) -> bool:
    """Says whether records are all empty, or single cells of spaces."""
    lines = io.StringIO(text, newline="")
    return next(_not_blank(csv.reader(lines, delimiter=delimiter)), None) is None


def _not_blank(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yields the rows without rows that are empty or a single cell of spaces."""
    return (row for row in rows if row and not (len(row) == 1 and row[0].isspace()))


def _values(cells: list[str]) -> np.ndarray:
    """Returns the labels in these cells: as numbers if all of them are numbers."""
    cells = [cell.strip() for cell in cells]
    try:
        if "_" not in "".join(cells):
            return np.array([float(cell) for cell in cells])
    except ValueError:
        pass
    return np.array(cells)
