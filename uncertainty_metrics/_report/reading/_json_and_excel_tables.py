"""Tables in files whose values have types: .json, .jsonl and .xlsx.

A text is never read as a number here, nor a boolean as a probability: a writer of "0.8"
in the place of a number may mean something else. "80%" can mean only 0.8.
"""

from __future__ import annotations

import abc
import contextlib
import itertools
import json
import reprlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics._report.data._predictions import ExampleError
from uncertainty_metrics._report.reading import (
    _chat_replies,
    _inspect_logs,
    _json_layouts,
)
from uncertainty_metrics._report.reading._column_names import BY_CLASS, VOTES
from uncertainty_metrics._report.reading._csv_tables import (
    PercentSigns,
    missing,
    percent,
)
from uncertainty_metrics._report.reading._plain_or_gzip_text import TextFile
from uncertainty_metrics.numpy import _archive

_EMPTY = "the file must hold at least one example"
# A file with more names has data where the names should be.
_MAX_NAMES = 10_000
_WHOLE = "the file"
# The columns of an object of votes, which may leave out classes without votes.
_OBJECT_OF_VOTES = f"{VOTES}."
# The reader reports its progress after so many records.
_RECORDS_PER_MESSAGE = 10_000


class ValueTable(abc.ABC):
    """A table whose cells are numbers, text, booleans, lists, or None."""

    header: list[str]
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cluster: str | None = None
    percents: tuple[str, ...] = ()

    @abc.abstractmethod
    def _rows(self, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yields the place of each example and its values in some columns."""

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        labels, places, numbers, signs = [], [], [], PercentSigns()
        for place, (value, *others) in self._rows([label, *names]):
            if value is None:
                raise missing(label, place)
            labels.append(value)
            places.append(place)
            numbers.append(
                [
                    _number(other, name, place, signs)
                    for other, name in zip(others, names, strict=True)
                ]
            )
        if not labels:
            raise ValueError(_EMPTY)
        table = np.array(numbers, np.float64).reshape(len(labels), len(names))
        self.percents = signs.columns(names, table)
        return _labels(labels, label, places), table

    def columns(self, names: Sequence[str]) -> list[list[Any]]:
        rows = [row for _, row in self._rows(names)]
        return [list(column) for column in zip(*rows, strict=True)]

    def place(self, index: int) -> str:
        return next(itertools.islice(self._rows([]), index, None))[0]


def _number(value: Any, name: str, place: str, signs: PercentSigns) -> float:
    if value is None:
        raise missing(name, place)
    with contextlib.suppress(OverflowError):  # An integer of 400 digits.
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    if isinstance(value, str) and (share := percent(value)) is not None:
        signs.add(name, share, value, place)
        return share
    raise ExampleError(f"{place}: `{name}` must be a number. Received: {_told(value)}")


def _told(value: Any) -> str:
    """Returns a value and its type, for a message."""
    kinds = {"str": "the text ", "list": "the list ", "dict": "the object "}
    return f"{kinds.get(type(value).__name__, '')}{reprlib.repr(value)}"


def _labels(labels: list[Any], name: str, places: list[str]) -> np.ndarray:
    """Returns labels as an array of one type; booleans among numbers become 0 and 1."""
    first = _type_of(labels[0])
    for label, place in zip(labels, places, strict=True):
        if _type_of(label) != first or first is None:
            alike = f", as in {places[0]}" if first else ""
            if isinstance(label, list):
                alike += (
                    "; for several labels of each example (--multilabel) write fields "
                    "`label_NAME`, 0 or 1, and `prob_NAME` for each label"
                )
            raise ExampleError(
                f"{place}: `{name}` must be {first or 'a number, text or a boolean'}"
                f"{alike}. Received: {_told(label)}"
            )
    if first == "text":
        return np.array(labels)
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels)
    numbers = [
        _number(
            int(label) if isinstance(label, bool) else label,
            name,
            place,
            PercentSigns(),
        )
        for label, place in zip(labels, places, strict=True)
    ]
    return np.array(numbers)


def _type_of(label: Any) -> str | None:
    if isinstance(label, str):
        return "text"
    return "a number or a boolean" if isinstance(label, int | float) else None


class RecordTable(ValueTable):
    """Records of JSON, one in each line or all in one list; perhaps packed by gzip.

    The fields of an object within a record are columns, too: `doc.subject`. The file
    may also be one object that holds a table, as other tools write it.

    Args:
      file: opened for reading bytes.
      tell: called with the progress of reading.
      before: if the table is a part of a file, the number of lines before this part;
        messages count them.

    Attributes:
      task: of a log of Inspect, the name of its task; else None.
    """

    task: str | None = None

    def __init__(self, file: IO[bytes], tell: Callable[[str], None], before: int = 0):
        self._file, self._tell, self._before = TextFile(file), tell, before
        self._list: list[Any] | None = None
        if not before and (found := _of_one_value(self._file)) is not None:
            self._list, self.notes, self.cluster, self.task = found
        names: dict[str, None] = {}
        by_tokens = False
        for place, record in self._records():
            by_tokens |= _chat_replies.with_reply(record)
            names.update(dict.fromkeys(record))
            if len(names) > _MAX_NAMES:
                raise ValueError(
                    f"{place}: the records must have at most {_MAX_NAMES} different "
                    f"fields. Received: {reprlib.repr([*record])}"
                )
        if not names:
            raise ValueError(_EMPTY)
        self.header = list(names)
        if by_tokens:
            self.notes = (*self.notes, _chat_replies.BY_TOKENS)

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the place of each record, and its values by the names of columns."""
        if self._list is not None:
            for number, value in enumerate(self._list, 1):
                yield f"record {number}", _columns(value, f"record {number}")
            return
        for number, line in enumerate(self._file.lines("JSON"), 1 + self._before):
            if line.strip():
                place = f"line {number}"
                yield place, _columns(_parsed(line, place), place)
            if number % _RECORDS_PER_MESSAGE == 0:
                self._tell(f"read {number:,} lines")

    def _rows(self, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        absent = {n: 0 for n in names if n.lower().startswith(_OBJECT_OF_VOTES)}
        for place, record in self._records():
            _chat_replies.with_reply(record)
            yield place, [record.get(name, absent.get(name)) for name in names]


class InspectTable(RecordTable):
    """The samples of a log of Inspect in an .eval archive.

    Args:
      file: opened for reading bytes.
      tell: called with the progress of reading.
    """

    def __init__(self, file: IO[bytes], tell: Callable[[str], None]):
        tell("reads the samples")
        found = _inspect_logs.read_archive(file)
        self._list, self.notes, self.cluster, self.task = found
        flat = (record for _, record in self._records())
        self.header = list(dict.fromkeys(name for record in flat for name in record))


def is_one_value(file: TextFile) -> bool:
    """Says whether a file is one JSON value: a list, or an object that is a table."""
    return _of_one_value(file) is not None


def _of_one_value(file: TextFile) -> _inspect_logs.Found | None:
    """Returns the records of a file that is one JSON value; None for records in lines.

    Raises:
      ValueError: the value is damaged.
    """
    first = file.first_character("JSON")
    if first == "[":
        text = "".join(file.lines("JSON", any_length=True))
        values = _parsed(text, _WHOLE)
        return _json_layouts.records_in(values) or _inspect_logs.Found(values)
    if first != "{":
        return None
    lines = (line for line in file.lines("JSON") if line.strip())
    beginning = next(lines)
    try:
        json.loads(beginning)
        if next(lines, None) is not None:
            return None  # The first of several records.
    except (ValueError, RecursionError):
        pass  # The object goes on in the next line, or is damaged.
    try:
        text = "".join(file.lines("JSON", any_length=True))
        value = _parsed(text, _WHOLE)
    except ExampleError:
        raise
    except ValueError:  # The reader of lines raises this error again.
        return None
    return _json_layouts.records_in(value)


def _parsed(text: str, place: str) -> Any:
    """Returns the value of a text in JSON.

    Raises:
      ValueError: the text is no JSON, or a record has the same field twice.
    """
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, place))
    except ExampleError:
        raise
    except json.JSONDecodeError as wrong:
        where, hint = f"line {wrong.lineno}, column {wrong.colno}", ""
        if place != _WHOLE:
            where = f"column {wrong.colno}"
            hint = "; a record must be on one line, or all of them in one list"
        raise ValueError(f"{place} is no JSON: {wrong.msg} at {where}{hint}") from None
    except ValueError as wrong:  # Python refuses an integer of thousands of digits.
        raise ValueError(f"{place}: {str(wrong).partition(';')[0]}") from None
    except RecursionError:
        raise ValueError(f"{place} is nested too deeply") from None


def _twice(place: str, name: str) -> ExampleError:
    return ExampleError(
        f"{place}: the field `{name}` is there twice: rename one of them"
    )


def _once(pairs: list[tuple[str, Any]], place: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _twice(place, twice)
    return found


def _columns(record: Any, place: str) -> dict[str, Any]:
    """Returns the values of a record by the names of columns."""
    if not isinstance(record, dict):
        raise ValueError(
            f"{place} must be a record, such as "
            '{"correct": true, "confidence": 0.8}. '
            f"Received: {_told(record)}"
        )
    found: dict[str, Any] = {}
    for name, value in _flat(record, ""):
        if name in found:
            raise _twice(place, name)
        found[name] = value
    return found


def _flat(record: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        name = f"{prefix}{_clean(key)}"
        by_class = name.lower() in BY_CLASS
        value = _json_layouts.vector_of(value) or value
        is_object = isinstance(value, dict) and f"{name}.".lower() == _OBJECT_OF_VOTES
        if by_class and isinstance(value, list):
            value = {str(k): number for k, number in enumerate(value)}
        if isinstance(value, dict) and value:
            joint = "_" if by_class and not is_object else "."
            yield from _flat(value, f"{name}{joint}")
        else:
            yield name, _clean(value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    """Returns a text that any encoding of Unicode can hold.

    JSON allows a lone surrogate, which the encodings refuse: it is escaped.
    """
    return text.encode("utf-8", "backslashreplace").decode()


class ExcelTable(ValueTable):
    """The first sheet of an Excel file, which needs openpyxl.

    Args:
      file: opened for reading bytes.
      tell: called with the progress of reading.
    """

    def __init__(self, file: IO[bytes], tell: Callable[[str], None]):
        openpyxl = _optional.require("openpyxl")
        tell("reads the first sheet")
        try:
            unpacked = sum(info.file_size for info in zipfile.ZipFile(file).infolist())
        except Exception:
            raise ValueError("not an Excel file (.xlsx)") from None
        _archive.check_size(unpacked, file)
        file.seek(0)
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet, *others = book.worksheets
            sheet.reset_dimensions()  # The size that the file states may be wrong.
            rows = list(sheet.iter_rows(values_only=True))
        except Exception as failed:
            raise ValueError(f"a damaged Excel file: {str(failed)[:200]}") from None
        self.others = tuple(f"the sheet {other.title}" for other in others)
        numbered = [
            (f"row {number}", row)
            for number, row in enumerate(rows, 1)
            if any(cell is not None for cell in row)
        ]
        if len(numbered) < 2:
            raise ValueError(
                "the first sheet must hold a row of names and at least one example"
            )
        (_, names), *self._examples = numbered
        width = max(len(row) for _, row in numbered)
        padded = itertools.chain(names, itertools.repeat(None, width - len(names)))
        self.header = ["" if name is None else str(name).strip() for name in padded]

    def _rows(self, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        columns = [self.header.index(name) for name in names]
        for place, row in self._examples:
            yield place, [row[j] if j < len(row) else None for j in columns]
