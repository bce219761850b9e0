"""Tables in files of Apache Arrow: .parquet, .feather and .arrow."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics._report.data._predictions import silent
from uncertainty_metrics._report.reading._arrow_lists import Lists
from uncertainty_metrics._report.reading._arrow_values import encoded, floats
from uncertainty_metrics._report.reading._csv_tables import missing
from uncertainty_metrics.numpy import _archive

_ARROW = b"ARROW1"
_ALL_ROWS = 2**62
# Yields batches of a file: of at most so many rows, with the columns of these names.
_Read = Callable[[int, Sequence[str]], Iterator[Any]]


class ArrowTable:
    """The columns of a Feather or Arrow file, which needs pyarrow.

    Args:
      file: opened for reading bytes.
      tell: called with the progress of reading.
    """

    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cluster: str | None = None
    percents: tuple[str, ...] = ()
    _kind = "Arrow"

    def __init__(self, file: IO[bytes], tell: Callable[[str], None]):
        self._arrow = _optional.require("pyarrow")
        self._file, self._tell = file, tell
        with _damaged(self._kind):
            schema = self._open(file)
            self._lists = Lists(schema, self._select)
            self.header = self._lists.expanded_names(schema.names)

    def _open(self, file: IO[bytes]) -> Any:
        """Opens the file, and returns its schema."""
        schema, read = _arrow_batches(file)
        batches, size = [], 0
        for batch in read(_ALL_ROWS, schema.names):
            size += batch.nbytes
            self._check_size(size)
            batches.append(batch)
        self._table = self._arrow.Table.from_batches(batches, schema)
        self._size = len(self._table)
        return schema

    def _select(self, names: Sequence[str]) -> Any:
        """Returns a table of these columns of the file."""
        return self._table.select(list(names))

    def _table_of(self, names: Sequence[str]) -> Any:
        """Returns a table of these columns, which have one value in each row."""
        with _damaged(self._kind):
            table = self._select(self._lists.sources(names))
        return self._lists.expanded(table, self.place).select(list(names))

    def _check_size(self, size: int) -> None:
        """Raises ValueError if `size` bytes are too many for a file of this length."""
        _archive.check_size(size, self._file)

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        types = self._arrow.types
        if not self._size:
            raise ValueError("the file must hold at least one example")
        self._check_size(8 * self._size * (1 + len(names)))
        self._tell(f"reads {self._size:,} examples")
        numbers = self._lists_of(names)
        if numbers is not None:
            return self._labels(self._table_of([label]), label), numbers
        table = self._table_of([*dict.fromkeys([label, *names])])
        for name in names:
            kind = _value_type(table.schema.field(name).type, types)
            if not _is_numeric(kind, types):
                raise ValueError(
                    f"the column `{name}` must hold numbers. Received: {kind}"
                )
        with _damaged(self._kind):
            numbers = np.empty((self._size, len(names)))
            for j, name in enumerate(names):
                numbers[:, j] = floats(table[name])
        return self._labels(table, label), numbers

    def _lists_of(self, names: Sequence[str]) -> np.ndarray | None:
        """Returns the numbers of columns that are those of one column of lists, without
        a copy for each; None for other columns.
        """
        holder = self._lists.holder(names)
        if holder is None:
            return None
        with _damaged(self._kind):
            column = self._select([holder])[holder]
        found = self._lists.numbers(holder, column, self.place)
        if not _is_numeric(found.type, self._arrow.types):
            return None
        with _damaged(self._kind):
            return floats(found).astype(np.float64).reshape(self._size, len(names))

    def _labels(self, table: Any, label: str) -> np.ndarray:
        types = self._arrow.types
        column = table[label]
        kind = _value_type(column.type, types)
        if types.is_boolean(kind) and not column.null_count:
            return floats(column.cast(kind)).astype(bool)
        if _is_numeric(kind, types):
            with _damaged(self._kind):
                return floats(column).astype(np.float64)
        if not _is_text(kind, types):
            raise ValueError(
                f"the column `{label}` must hold numbers, text or booleans. Received: "
                f"{kind}"
            )
        if column.null_count:
            index = column.is_null().to_pylist().index(True)
            raise missing(label, self.place(index))
        with _damaged(self._kind):
            words, codes = encoded(column)
            return np.array(words, str)[codes]

    def columns(self, names: Sequence[str]) -> list[list[Any]]:
        table = self._table_of(names)
        with _damaged(self._kind):
            return [_listed(table[name], self._arrow.types) for name in names]

    def place(self, index: int) -> str:
        return f"row {index + 1}"


class ParquetTable(ArrowTable):
    """The columns of a Parquet file, which needs pyarrow."""

    _kind = "Parquet"

    def _open(self, file: IO[bytes]) -> Any:
        self._parquet = _parquet_file(file)
        self._size = self._parquet.metadata.num_rows
        return self._parquet.schema_arrow

    def _select(self, names: Sequence[str]) -> Any:
        return self._parquet.read(columns=list(names))


class ArrowPart(ArrowTable):
    """Some rows of a table that is read part by part.

    Args:
      batch: a `pyarrow.RecordBatch` of the columns that are used.
      header: names of all columns of the table, with one value in each row.
      lists: the columns of lists of the table.
      before: number of rows in the parts before this one.
      kind: "Parquet" or "Arrow".
    """

    def __init__(
        self, batch: Any, header: Sequence[str], lists: Lists, before: int, kind: str
    ):
        self._arrow = _optional.require("pyarrow")
        self._table = self._arrow.Table.from_batches([batch])
        self._lists, self._before, self._kind = lists, before, kind
        self._tell = silent
        self._size = batch.num_rows
        self.header = list(header)

    def _check_size(self, size: int) -> None:
        """Checks nothing: the reader of the parts has limited the rows of each part."""

    def place(self, index: int) -> str:
        return super().place(self._before + index)


def parts(
    file: IO[bytes], kind: str, rows: int, columns: Sequence[str] | None
) -> Iterator[ArrowPart]:
    """Yields the rows of a file part by part.

    Args:
      file: opened for reading bytes.
      kind: "parquet" or "arrow".
      rows: largest number of rows of a part.
      columns: names of the columns to read, where the file has them; None reads all.
    """
    title = kind.capitalize()
    before = 0
    batches = _parquet_batches if kind == "parquet" else _arrow_batches
    with _damaged(title):
        schema, read = batches(file)

        def first(names: list[str]) -> Any:
            arrow = _optional.require("pyarrow")
            found = list(itertools.islice(read(1, names), 1))
            fields = arrow.schema([schema.field(name) for name in names])
            return arrow.Table.from_batches(found, fields)

        lists = Lists(schema, first)
        header = lists.expanded_names(schema.names)
        found = read(rows, schema.names if columns is None else lists.sources(columns))
    while True:
        with _damaged(title):
            batch = next(found, None)
        if batch is None:
            return
        if batch.num_rows:
            yield ArrowPart(batch, header, lists, before, title)
        before += batch.num_rows


def _parquet_batches(file: IO[bytes]) -> tuple[Any, _Read]:
    """Returns the schema, and a function that reads."""
    reader = _parquet_file(file)

    def read(rows: int, names: Sequence[str]) -> Iterator[Any]:
        # One call for all row groups would keep the whole file in memory.
        for groups in _row_groups(reader.metadata, rows):
            yield from reader.iter_batches(rows, groups, list(names))

    return reader.schema_arrow, read


def _row_groups(metadata: Any, rows: int) -> Iterator[list[int]]:
    """Yields the numbers of row groups that have at least so many rows together."""
    groups, size = [], 0
    for i in range(metadata.num_row_groups):
        groups.append(i)
        size += metadata.row_group(i).num_rows
        if size >= rows:
            yield groups
            groups, size = [], 0
    if groups:
        yield groups


def _parquet_file(file: IO[bytes]) -> Any:
    """Opens a file, whose equal texts in a column share their memory."""
    types = _optional.require("pyarrow").types
    module = _optional.require("pyarrow.parquet")
    schema = module.ParquetFile(file).schema_arrow
    words = [field.name for field in schema if _is_text(field.type, types)]
    return module.ParquetFile(file, read_dictionary=words)


def _arrow_batches(file: IO[bytes]) -> tuple[Any, _Read]:
    """Returns the schema, and a function that reads."""

    def read(rows: int, names: Sequence[str]) -> Iterator[Any]:
        reader = _arrow_reader(file)
        # The reader of a stream does not know the number of batches.
        count = getattr(reader, "num_record_batches", None)
        batches = reader if count is None else map(reader.get_batch, range(count))
        chosen = [name for name in reader.schema.names if name in names]
        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                yield batch.select(chosen).slice(start, rows)

    return _arrow_reader(file).schema, read


def _arrow_reader(file: IO[bytes]) -> Any:
    ipc = _optional.require("pyarrow.ipc")
    file.seek(0)
    start = file.read(len(_ARROW))
    file.seek(0)
    # A file begins with "ARROW1". The library `datasets` writes streams, which do not.
    return ipc.open_file(file) if start == _ARROW else ipc.open_stream(file)


@contextlib.contextmanager
def _damaged(kind: str) -> Iterator[None]:
    """Turns the many kinds of errors that damaged files raise into ValueError."""
    try:
        yield
    except Exception as failed:
        shown = str(failed)[:200]
        raise ValueError(f"a damaged {kind} file: {shown}") from None


def _listed(column: Any, types: Any) -> list[Any]:
    """Returns the values of a column; equal ones of a dictionary are one object."""
    if not types.is_dictionary(column.type):
        return column.to_pylist()
    found: list[Any] = []
    for chunk in column.chunks:
        values = chunk.dictionary.to_pylist()
        indices = chunk.indices.to_pylist()
        found += [None if index is None else values[index] for index in indices]
    return found


def _value_type(kind: Any, types: Any) -> Any:
    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: Any, types: Any) -> bool:
    # The third test exists since pyarrow 16.
    tests = ("is_string", "is_large_string", "is_string_view")
    return any(getattr(types, name)(kind) for name in tests if hasattr(types, name))


def _is_numeric(kind: Any, types: Any) -> bool:
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in (*tests, types.is_null))
