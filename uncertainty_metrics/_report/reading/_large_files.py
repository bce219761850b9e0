"""Predictions that are read part by part: sums over all rows, and a sample of rows."""

from __future__ import annotations

import dataclasses
import functools
import glob
import io
import itertools
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics._report.data import _row_subsets
from uncertainty_metrics._report.data._bad_rows import first_bad_row
from uncertainty_metrics._report.data._decided import examples_of
from uncertainty_metrics._report.data._label_scores import label_examples
from uncertainty_metrics._report.data._normal_forecasts import forecasts_of
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    ExampleError,
    Model,
    MultiLabel,
    QuantileForecasts,
    Regression,
    ReportError,
    Stream,
    Survival,
    silent,
)
from uncertainty_metrics._report.data._quantile_sums import (
    MOST_SERIES,
    QuantileSums,
    sums_of_rows,
)
from uncertainty_metrics._report.data._time_blocks import in_blocks_of_time
from uncertainty_metrics._report.reading import _file_parts, _files
from uncertainty_metrics._report.reading._answers_from_columns import check_percent
from uncertainty_metrics._report.reading._classifier_from_columns import classified
from uncertainty_metrics._report.reading._column_names import Choice, existing
from uncertainty_metrics._report.reading._column_plans import (
    Plan,
    all_labels,
    labels_in,
    model_of_table,
    plan_of,
)
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics._report.reading._json_and_excel_tables import RecordTable
from uncertainty_metrics._report.reading._logs_together import of_all_logs, of_one_log
from uncertainty_metrics._report.reading._long_tables import (
    in_rows_of_forecasts,
    long_names_of,
)
from uncertainty_metrics._report.reading._reading_progress import Progress
from uncertainty_metrics.numpy import _threads
from uncertainty_metrics.numpy.summaries.summary import Summary, summary_of

Item = TypeVar("Item")

# Rows of the sample: as many, or fewer where these have so many numbers together.
_MOST_ROWS, _MOST_NUMBERS, _LEAST_ROWS = 200_000, 2**24, 10_000
# Every report draws alike. Data that a user simulates may come from the generator of a
# small seed, and a sample by the same numbers would not be uniform.
_SEED = 2_718_281_828
# A single file is read part by part from so many rows, or bytes, on.
_LARGE_ROWS, _LARGE_BYTES = 5_000_000, 2**29


class _Sample:
    """A uniform sample of rows, whichever parts they come in.

    Each row gets a random number; the rows with the smallest ones stay.
    """

    def __init__(self) -> None:
        self._generator = np.random.default_rng(_SEED)
        self._models: list[Any] = []
        self._keys: list[np.ndarray] = []
        self._largest = np.inf
        self._most = _MOST_ROWS
        self.rows = 0  # Of all parts, in the sample or not.

    def add(self, model: Any) -> None:
        size = _row_subsets.num_rows(model)
        if not self.rows and size:
            name = "samples" if isinstance(model, QuantileForecasts) else "values"
            width = np.size(getattr(model, name, 0)) // size + 1
            self._most = min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_NUMBERS // width))
        self.rows += size
        keys = self._generator.random(size)
        chosen = np.flatnonzero(keys < self._largest)
        self._models.append(_row_subsets.taken(model, chosen))
        self._keys.append(keys[chosen])
        if sum(map(len, self._keys)) > 2 * self._most:
            self._shrink()

    def _shrink(self) -> None:
        keys = np.concatenate(self._keys)
        model = _row_subsets.joined(self._models)
        if len(keys) > self._most:
            chosen = np.sort(np.argpartition(keys, self._most)[: self._most])
            keys, model = keys[chosen], _row_subsets.taken(model, chosen)
            self._largest = keys.max()
        self._models, self._keys = [model], [keys]

    @property
    def is_whole(self) -> bool:
        """Whether all rows are in the sample."""
        return self.rows <= self._most

    def model(self) -> Any:
        """Returns the rows of the sample, in their order."""
        self._shrink()
        return self._models[0]


class _Part(NamedTuple):
    """Predictions that are read together.

    Attributes:
      model: the predictions.
      has_examples: whether there are any of positive weight.
      summary: the sums over them; None without examples, of a regression, forecasts or
        a model of survival.
      sums: the sums over forecasts by quantiles or samples; else None.
    """

    model: Any
    has_examples: bool
    summary: Summary | None
    sums: QuantileSums | None = None


def _summed(model: Model) -> _Part:
    """Returns checked predictions with their sums.

    Raises:
      ValueError: a value is not as it must be.
    """
    assert not isinstance(model, Stream)
    weights = model.sample_weight
    if not _row_subsets.num_rows(model) or (
        weights is not None and not np.any(weights)
    ):
        return _Part(model, False, None)
    if isinstance(model, Regression):
        forecasts_of(model)
    if isinstance(model, MultiLabel):
        label_examples(model)
    if isinstance(model, QuantileForecasts):
        return _Part(model, True, None, sums_of_rows(model))
    if isinstance(model, Regression | Survival | MultiLabel):
        return _Part(model, True, None)
    summary = summary_of(examples_of(model), isinstance(model, Confidences))
    return _Part(model, True, summary)


class Accumulator:
    """Takes parts of predictions, and returns what a report needs.

    Args:
      source: the name of the predictions in the report and in errors.
    """

    def __init__(self, source: str):
        self._source = source
        self._left_out: dict[str, None] = {}
        self._sample = _Sample()
        self._summary: Summary | None = None
        self._sums: QuantileSums | None = None

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return self._sample.rows

    def add(self, model: Model) -> None:
        """Adds a part.

        Raises:
          ValueError: a value is not as it must be.
        """
        self._add(_summed(model))

    def _add(self, part: _Part) -> None:
        model = part.model
        self._left_out |= dict.fromkeys(model.left_out)
        if not part.has_examples:
            return
        if part.summary is not None:
            if self._summary is None:
                classes = getattr(model, "classes", ())
                self._summary = Summary(class_names=classes)
            self._summary.add_batch(part.summary, getattr(model, "kind", "correct"))
        if part.sums is not None:
            if self._sums is None:
                self._sums = part.sums
            else:
                self._sums.add(part.sums)
        self._sample.add(model)

    def result(self) -> Model:
        """Returns the rows if all of them fit into the sample, or else a `Stream`.

        Of a regression it is the sample, which says so; of forecasts by quantiles it is
        the sample with sums over all rows.

        Raises:
          ReportError: there was no part.
        """
        if not self.rows:
            raise ReportError(
                f"{self._source}: there must be at least one example whose weight is "
                "not 0"
            )
        left_out = tuple(self._left_out)
        sample: Any = dataclasses.replace(
            self._sample.model(), source=self._source, left_out=left_out
        )
        if isinstance(sample, QuantileForecasts):
            sample = in_blocks_of_time(sample)
        with _files.errors_of(self._source):
            sample = of_all_logs(sample, self.rows)
        if self._sample.is_whole:
            return sample
        size = _row_subsets.num_rows(sample)
        note = f"Of {self.rows:,} rows this is a uniform sample of {size:,}."
        if isinstance(sample, Regression | Survival | MultiLabel):
            return dataclasses.replace(sample, notes=(note,))
        if isinstance(sample, QuantileForecasts):
            return self._forecasts(sample, note)
        assert self._summary is not None
        return Stream(self._source, self._summary, sample, left_out)

    def _forecasts(self, sample: QuantileForecasts, note: str) -> QuantileForecasts:
        """Returns the sample of forecasts with the sums over all rows, if these know
        which rows depend on each other.
        """
        sums = self._sums
        assert sums is not None
        if (sums.num_series is None) == (sample.clusters is None):
            note = (
                "Coverage, PIT values, scores and the numbers of each horizon are of "
                f"all {sums.rows:,} rows; the constant forecast, the skill and all "
                f"other sections are of a uniform sample of {len(sample.target):,}."
            )
            if sums.are_groups:
                note += (
                    f" There are more than {MOST_SERIES:,} series, which the intervals "
                    f"take in {sums.num_series:,} groups."
                )
            sample = dataclasses.replace(sample, sums=sums)
        return dataclasses.replace(sample, notes=(*sample.notes, note))

    def summary(self) -> Summary:
        """Returns the sums over all rows.

        Raises:
          ReportError: there are none.
        """
        if self._summary is None or not self._summary.num_examples:
            raise ReportError(
                f"{self._source}: a summary needs a classifier, or answers with "
                "confidences, and at least one example"
            )
        return self._summary


def files_of(arguments: Sequence[str]) -> list[pathlib.Path]:
    """Returns the files that paths, patterns and folders name, each once.

    Raises:
      ReportError: an argument names none.
    """
    found: list[pathlib.Path] = []
    for argument in arguments:
        with _files.errors_of(_files.source_of(pathlib.Path(argument))):
            files = _named_by(argument)
        if not files:
            raise ReportError(f"{argument}: there is no file of predictions")
        found.extend(files)
    return list(dict.fromkeys(found))


def _named_by(argument: str) -> list[pathlib.Path]:
    """Returns the files that a path, a pattern or a folder names.

    Raises:
      OSError, ValueError: the system refuses the path.
    """
    path = pathlib.Path(argument)
    if path.is_dir():
        inside = sorted(path.rglob("*"))
        return [file for file in inside if _is_data(file, path)]
    if argument == "-":
        raise ReportError(
            "-: standard input is read alone, without other files or summaries"
        )
    if path.exists() or not glob.has_magic(argument):
        return [path]
    return sorted(map(pathlib.Path, glob.glob(argument, recursive=True)))


def _is_data(file: pathlib.Path, folder: pathlib.Path) -> bool:
    """Says if a file in a folder is read: not markers such as Spark's `_SUCCESS`."""
    inside = file.relative_to(folder).parts
    hidden = any(part.startswith((".", "_")) for part in inside)
    endings = tuple(_files.ENDINGS)
    return file.is_file() and not hidden and file.name.lower().endswith(endings)


def is_large(path: pathlib.Path) -> bool:
    """Says if a file is so large that it is read part by part."""
    try:
        size = path.stat().st_size
        if path.name.lower().endswith(".parquet"):
            parquet = _optional.require("pyarrow.parquet")
            return bool(parquet.read_metadata(path).num_rows > _LARGE_ROWS)
    except (ImportError, OSError, ValueError):  # The reader says what is wrong.
        return False
    return size > _LARGE_BYTES


def read_stream(
    paths: Sequence[pathlib.Path],
    choice: Choice | None = None,
    tell: Callable[[str], None] = silent,
) -> Accumulator:
    """Reads files part by part.

    Args:
      paths: the files.
      choice: what the names in the files leave open; all have the same names.
      tell: is told how far they are read.

    Raises:
      ReportError: a file cannot be read, or a value is not as it must be; it names the
        file, and the row where there is one.
    """
    accumulator = Accumulator(_source_of_all(paths))
    sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
    progress = Progress(sum(sizes), tell)
    before = dict(zip(paths, itertools.accumulate([0, *sizes]), strict=False))
    choice = choice or Choice()
    pieces = _pieces(paths, choice, tell)
    largest = 0.0
    for piece, part in _threads.map_ahead(_read_piece, pieces):
        with _files.errors_of(_files.source_of(piece.path)):
            accumulator._add(part)
        if part.has_examples and isinstance(part.model, Confidences):
            largest = max(largest, part.model.confidences.max())
        progress.at(before[piece.path] + piece.end, accumulator.rows)
    if choice.percent and accumulator.rows:  # A part may hold small percent alone.
        with _files.errors_of(_source_of_all(paths)):
            check_percent(largest)
    return accumulator


class _Piece(NamedTuple):
    """A part of a file.

    Attributes:
      path: the file.
      read: returns the predictions.
      place: returns the name of a row in errors, for its index.
      end: up to which byte the file has been read.
    """

    path: pathlib.Path
    read: Callable[[], Model]
    place: Callable[[int], str]
    end: int


def _pieces(
    paths: Sequence[pathlib.Path], choice: Choice, tell: Callable[[str], None]
) -> Iterator[_Piece]:
    """Yields the parts of files, whose tables all have the plan of the first.

    Raises:
      ReportError: a file cannot be read.
    """
    plan: Plan | None = None
    is_long = False
    for path in paths:
        name = _files.source_of(path)
        with _files.errors_of(name):
            kind = _files.kind_of(path)
            if kind == "npz":
                read: Callable[[], Model] = functools.partial(_read_npz, path, choice)
                yield _Piece(path, read, _example, path.stat().st_size)
                continue
            with open(path, "rb") as file:
                if plan is None:
                    first = next(_file_parts.parts(kind, file), None)
                    if first is None:
                        continue  # There are no examples in this file.
                    is_long = long_names_of(first.header, choice) is not None
                    if is_long:
                        first = _whole_table(path, file, kind, choice)
                    plan = _plan(first, name, paths, choice, tell)
                tables: Iterator[Table] = _file_parts.parts(kind, file, plan.used)
                if is_long:
                    tables = iter([_whole_table(path, file, kind, choice)])
                for table in tables:
                    read = functools.partial(_model_of_table, name, table, plan)
                    yield _Piece(path, read, table.place, file.tell())


def _whole_table(
    path: pathlib.Path, file: IO[bytes], kind: str, choice: Choice
) -> Table:
    """Returns a row for each forecast of a file with a row for each quantile, whose
    forecasts may have rows anywhere in the file.
    """
    if is_large(path):
        raise ValueError(
            "the file has a row for each quantile or sample of a forecast, and is too "
            "large for them to be put together: make a column for each, such as q0.1 "
            "(in pandas with `pivot`), or several files"
        )
    file.seek(0)
    table = _files.TABLES[kind](io.BytesIO(file.read()), silent)
    return in_rows_of_forecasts(table, choice)


def _read_npz(path: pathlib.Path, choice: Choice) -> Model:
    with open(path, "rb") as file:
        return _files.read_npz(_files.source_of(path), file, choice)


def _example(index: int) -> str:
    return f"example {index}"


def _read_piece(piece: _Piece) -> tuple[_Piece, _Part]:
    """Returns a part of a file with its predictions and sums.

    Raises:
      ReportError: a value is not as it must be; the error names the first bad row.
    """
    with _files.errors_of(_files.source_of(piece.path)):
        model = piece.read()
        try:
            return piece, _summed(model)
        except ValueError as wrong:
            row = first_bad_row(model)
            where = "" if row is None else f"{piece.place(row)}: "
            raise ValueError(f"{where}{wrong}") from None


def _source_of_all(paths: Sequence[pathlib.Path]) -> str:
    """Returns what to call several files: the first, and how many more there are."""
    others = len(paths) - 1
    more = f" and {'one' if others == 1 else others} more" if others else ""
    return f"{_files.source_of(paths[0])}{more}"


def _plan(
    first: Table,
    name: str,
    paths: Sequence[pathlib.Path],
    choice: Choice,
    tell: Callable[[str], None],
) -> Plan:
    """Returns how to read all parts of files, of which `first` is the first.

    What depends on the labels depends on those of all parts, because the files may be
    sorted by label.
    """

    @functools.cache
    def labels_of(column: str) -> np.ndarray:
        tell(f"reads the different values of {column}")
        return all_labels(
            _of_all_tables(paths, [column], lambda table: labels_in(table, column))
        )

    if isinstance(first, RecordTable) and not {*choice.groups} <= {*first.header}:
        # The first records may lack a field of the groups.
        headers = _of_all_tables(paths, None, lambda table: table.header)
        first.header = list(dict.fromkeys(itertools.chain(first.header, *headers)))
    plan = plan_of(first, choice, labels_of)
    columns = plan.columns
    if columns is None or choice.positive_class is None or choice.classes:
        return plan.with_classes_of(model_of_table(name, first, plan))
    labels = labels_of(plan.label)
    # Any predictions do: the classes depend on the names and on the labels alone.
    size = len(columns.names)
    values = np.full((len(labels), size), 1 / size)
    model = classified(
        name,
        labels,
        columns.kind,
        values[:, 0] if columns.alone else values,
        columns.classes,
        choice,
    )
    return plan.with_classes_of(model)


def _of_all_tables(
    paths: Iterable[pathlib.Path],
    columns: Sequence[str] | None,
    function: Callable[[Table], Item],
) -> Iterator[Item]:
    """Yields a function of each part of files, with these columns; None reads all."""
    for path in paths:
        with _files.errors_of(_files.source_of(path)):
            kind = _files.kind_of(path)
            if kind == "npz":
                continue
            with open(path, "rb") as file:
                for table in _file_parts.parts(kind, file, columns):
                    for name in columns or ():
                        existing(name, table.header, "column")
                    yield function(table)


def _model_of_table(name: str, table: Table, plan: Plan) -> Model:
    plan.check_header(table)
    try:
        return of_one_log(name, model_of_table(name, table, plan), table)
    except ExampleError:
        raise
    except ValueError as wrong:
        raise ValueError(f"from {table.place(0)} on: {wrong}") from None


def of_batches(source: str, batches: Iterable[Model]) -> Model:
    """Returns what a report needs, from predictions that come batch by batch.

    Raises:
      ValueError: a batch is not as it must be; it names the batch.
    """
    accumulator = Accumulator(source)
    for number, model in enumerate(batches, 1):
        try:
            accumulator.add(model)
        except ValueError as wrong:
            raise ValueError(f"batch {number}: {wrong}") from None
    return accumulator.result()


def summaries_in(paths: Sequence[pathlib.Path]) -> Stream | None:
    """Returns the sum of the summaries in files; None if the files hold none.

    Raises:
      ReportError: some files are summaries and others are not, a summary is damaged, or
        they are of different classes.
    """
    found = [summary for summary in _summaries(paths) if summary is not None]
    if not found:
        return None
    if len(found) < len(paths):
        raise ReportError(
            "files must all hold predictions, or all be written by the command "
            f"`sketch`. Received: {len(found)} of {len(paths)} are summaries"
        )
    source = _source_of_all(paths)
    with _files.errors_of(source):
        total: Summary = sum(found[1:], found[0])
    return Stream(source, total)


def _summaries(paths: Sequence[pathlib.Path]) -> Iterator[Summary | None]:
    for path in paths:
        name = _files.source_of(path)
        with _files.errors_of(name):
            is_archive = path.name.lower().endswith(".npz")
            if not is_archive or not _files.is_summary(path):
                yield None
            else:
                yield Summary.load(os.fspath(path))
