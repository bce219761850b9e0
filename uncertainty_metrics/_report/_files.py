"""Reads predictions and what came from files, for the calibration report."""

from __future__ import annotations

import array
import collections
import contextlib
import csv
import pathlib
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy import _archive
from uncertainty_metrics._report._predictions import (
    Kind,
    Model,
    Predictions,
    Regression,
    ReportError,
    Spread,
)

FILE_FORMAT = """\
FILE and OTHER_FILE are each one of

  .npz  arrays named `labels`; exactly one of `probabilities` (or `probs`) and
        `logits`; optionally `sample_weight`. Pickled objects are never loaded.
  .csv  a header line, then one example a line, with the columns
          label           (or labels) the class, an integer from 0
          p0, p1, ...     (or probability_0, ...) a probability of each class,
          logit_0, ...    or a logit of each class,
          probability     or, for two classes, the probability of class 1 alone,
          logit           or its logit
          sample_weight   optional
  .parquet  the columns of .csv; needs pyarrow

Labels have shape [...], predictions [..., K]; or [...] or [..., 1] for class 1 of two.
Predictions of the M members of an ensemble, in .npz only, have shape [N, M, K], or
[N, M, 1] for class 1 of two; the report is that of the mean of their probabilities.

Of a regression the arrays or columns, of one shape, are

  mean                what was predicted
  variance or stddev  how sure of it, > 0
  target              (or targets) what came
  sample_weight       optional

Other arrays and columns are left out, and the report says so.
"""

_LABELS = ("label", "labels")
_PREDICTION_KEYS: dict[str, Kind] = {
    "probabilities": "probabilities",
    "probs": "probabilities",
    "logits": "logits",
}
# A column -> what it predicts, and of which class, if it says.
_PREDICTION_COLUMN = re.compile(
    r"(?:p(?=[0-9])|(?P<name>probability|logit)(?:_(?=[0-9])|$))(?P<index>[0-9]{0,9})"
)
_SPREADS: tuple[Spread, ...] = get_args(Spread)
_TARGETS = ("target", "targets")
_REGRESSION = ("mean", *_SPREADS, *_TARGETS)


def read_predictions(path: str | pathlib.Path) -> Model:
    """Reads predictions and what came from an .npz, .csv or .parquet file.

    Args:
      path: the file.

    Returns:
      What it holds; the values are checked where they are used.

    Raises:
      ReportError: it cannot be read, or an array or a column is missing.
    """
    path = pathlib.Path(path)
    readers = {".npz": _read_npz, ".csv": _read_csv, ".parquet": _read_parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ReportError(
            f"{path}: the name must end in .npz, .csv or .parquet. Received: "
            f"{path.suffix!r}"
        )
    try:
        return reader(path)
    except OSError as failed:
        raise ReportError(f"{path}: {failed.strerror or failed}") from None
    except ValueError as wrong:
        raise ReportError(f"{path}: {wrong}") from None


def _source(path: pathlib.Path) -> str:
    """Returns the name of a file as text that any encoding of Unicode can hold."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def _is_regression(names: Iterable[str]) -> bool:
    """Says if names are those of a regression: without labels there is no other."""
    names = set(names)
    return names.isdisjoint(_LABELS) and not names.isdisjoint(_REGRESSION)


def _regression_names(names: Iterable[str]) -> tuple[str, Spread, str]:
    """Returns the names of mean, spread and target.

    Raises:
      ValueError: one of them is missing, or there twice.
    """
    found = [name for name in _REGRESSION if name in names]
    spreads = [name for name in _SPREADS if name in found]
    targets = [name for name in _TARGETS if name in found]
    if not ("mean" in found and len(spreads) == len(targets) == 1):
        raise ValueError(
            "without labels there must be those of a regression: `mean`, one of "
            f"`variance` and `stddev`, and `target`. Received: {', '.join(found)}"
        )
    return "mean", spreads[0], targets[0]


def _regression(
    path: pathlib.Path, arrays: Mapping[str, np.ndarray], left_out: tuple[str, ...]
) -> Regression:
    mean, spread, target = _regression_names(arrays)
    return Regression(
        _source(path),
        arrays[mean],
        spread,
        arrays[spread],
        arrays[target],
        arrays.get("sample_weight"),
        left_out,
    )


def _read_npz(path: pathlib.Path) -> Model:
    with path.open("rb") as file:
        archive = _archive.Archive(file)
        is_regression = _is_regression(archive.names)
        known = _REGRESSION if is_regression else ("labels", *_PREDICTION_KEYS)
        wanted = {*known, "sample_weight"}
        names = dict.fromkeys(archive.names)  # One of them may be there twice.
        arrays = archive.read(name for name in names if name in wanted)
        left_out = tuple(sorted(names.keys() - wanted))
    if is_regression:
        return _regression(path, arrays, left_out)
    if "labels" not in arrays:
        raise ValueError("the array `labels` is missing")
    given = [name for name in _PREDICTION_KEYS if name in arrays]
    if len(given) != 1:
        raise ValueError(
            "exactly one of the arrays `probabilities`, `probs` and `logits` must be "
            f"there. Received: {', '.join(given) or 'none of them'}"
        )
    kind, values = _PREDICTION_KEYS[given[0]], arrays[given[0]]
    labels = _labels_of(arrays["labels"], kind, values)
    return Predictions(
        _source(path), labels, kind, values, arrays.get("sample_weight"), left_out
    )


def _labels_of(labels: np.ndarray, kind: str, values: np.ndarray) -> np.ndarray:
    """Returns the labels; of an ensemble [N, ...] for predictions [N, M, ..., K].

    Raises:
      ValueError: predictions of this rank are not those of an ensemble.
    """
    shape = values.shape
    if labels.ndim > len(shape) + 1:
        raise ValueError(
            f"{_checks.SWAPPED} Received: labels of shape {list(labels.shape)}, {kind} "
            f"of shape {list(shape)}"
        )
    # Keras passes labels as [N, 1]; but [N, 1, K] are predictions of one model.
    if 1 < labels.ndim == len(shape) - 1 and labels.shape[-1] == 1 != shape[-2]:
        labels = labels[..., 0]
    if labels.ndim == 0 or len(shape) < labels.ndim + 2:
        return labels
    size, *others = labels.shape
    if shape[:-1] != (size, shape[1], *others):
        expected = ", ".join(map(str, [size, "M", *others, "K"]))
        hint = ""
        if shape[1:-1] == labels.shape:
            hint = f"; np.moveaxis({kind}, 0, 1) puts the members second"
        raise _checks.error(
            kind,
            f"of shape [{expected}] for M members, with `labels` of shape "
            f"{list(labels.shape)}",
            f"shape {list(shape)}{hint}",
        )
    return labels


def _read_csv(path: pathlib.Path) -> Model:
    numbers = array.array("d")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = filter(None, reader)
            header = [name.strip() for name in next(rows, [])]
            names = _used(header) if header else []
            places = {name: place for place, name in enumerate(header)}
            for row in rows:  # A loop, to say which line is wrong.
                if len(row) != len(header):
                    raise ValueError(
                        f"line {reader.line_num} must have {len(header)} fields, as "
                        f"the header. Received: {len(row)}"
                    )
                for name in names:
                    numbers.append(_number(row[places[name]], name, reader.line_num))
    except (UnicodeDecodeError, csv.Error) as failed:
        raise ValueError(f"not a CSV file in UTF-8: {failed}") from None
    if not numbers:
        raise ValueError("a header line and an example must be there")
    table = np.ascontiguousarray(np.reshape(numbers, (-1, len(names))).T)
    return _of_columns(path, header, dict(zip(names, table, strict=True)))


def _number(cell: str, name: str, line: int) -> float:
    try:
        if "_" not in cell:  # Python would read 1_0 as 10.
            return float(cell)
    except ValueError:
        pass
    raise ValueError(
        f"line {line}, column `{name}` must be a number. Received: {reprlib.repr(cell)}"
    )


def _read_parquet(path: pathlib.Path) -> Model:
    try:
        arrow = _optional.require("pyarrow")
        parquet = _optional.require("pyarrow.parquet")
    except ImportError as missing:
        raise ReportError(f"{path}: {missing}") from None
    with path.open("rb") as source:
        with _damaged():
            file = parquet.ParquetFile(source)
            schema, size = file.schema_arrow, file.metadata.num_rows
            header = list(schema.names)
        names = _used(header)
        for name in names:
            _check_numeric(name, schema.field(name).type, arrow.types)
        if not size:
            raise ValueError("at least one example must be there")
        _archive.check_size(8 * size * len(names), source)
        with _damaged():
            table = file.read(columns=names)
            columns = {
                name: np.asarray(table[name].cast("float64").to_numpy(), np.float64)
                for name in names  # What is missing is NaN.
            }
    return _of_columns(path, header, columns)


@contextlib.contextmanager
def _damaged() -> Iterator[None]:
    """Makes one error of the many kinds that damaged Parquet files raise."""
    try:
        yield
    except Exception as failed:
        raise ValueError(f"a damaged Parquet file: {str(failed)[:200]}") from None


def _check_numeric(name: str, kind: Any, types: Any) -> None:
    """Raises ValueError unless a column of a Parquet file holds numbers."""
    value = kind.value_type if types.is_dictionary(kind) else kind
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if not any(test(value) for test in (*numeric, types.is_null)):
        raise ValueError(f"the column `{name}` must hold numbers. Received: {kind}")


def _used(header: Sequence[str]) -> list[str]:
    """Returns the names of the columns that mean something.

    Raises:
      ValueError: one of them is missing, or there twice.
    """
    counts = collections.Counter(header)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        raise ValueError(f"the column `{repeated[0]}` is there twice")
    if _is_regression(header):
        names = [*_regression_names(header)]
    else:
        label, _, predictions = _columns(header)
        names = [label, *predictions]
    return [*names, "sample_weight"] if "sample_weight" in header else names


def _of_columns(
    path: pathlib.Path, header: Sequence[str], columns: Mapping[str, np.ndarray]
) -> Model:
    """Returns what the columns [N] of a table hold."""
    left_out = tuple(name for name in header if name not in columns)
    if _is_regression(header):
        return _regression(path, columns, left_out)
    label, kind, names = _columns(header)
    values = np.stack([columns[name] for name in names], axis=-1)
    return Predictions(
        _source(path),
        columns[label],
        kind,
        values[:, 0] if names[0] in ("probability", "logit") else values,
        columns.get("sample_weight"),
        left_out,
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{', '.join(names[:10])}{more}"


def _columns(header: Sequence[str]) -> tuple[str, Kind, list[str]]:
    """Returns the label's column, the kind of predictions and their columns, in order.

    Raises:
      ValueError: the header does not name them.
    """
    labels = [name for name in _LABELS if name in header]
    if len(labels) != 1:
        raise ValueError(
            "one column `label` or `labels` must be there. Received: "
            f"{_listed(labels or header)}"
        )
    found: dict[Kind, dict[int | None, str]] = {}
    for name in header:
        match = _PREDICTION_COLUMN.fullmatch(name)
        if match:
            kind: Kind = "logits" if match["name"] == "logit" else "probabilities"
            index = int(match["index"]) if match["index"] else None
            of_kind = found.setdefault(kind, {})
            if index in of_kind:
                raise ValueError(f"`{of_kind[index]}` and `{name}` are the same column")
            of_kind[index] = name
    if len(found) != 1:
        raise ValueError(
            "columns of either probabilities (p0, p1, ...) or logits (logit_0, ...) "
            f"must be there. Received: {' and '.join(found) or _listed(header)}"
        )
    kind, columns = found.popitem()
    if set(columns) == {None}:
        return labels[0], kind, [columns[None]]
    given = list(columns.values())
    if len(columns) < 2 or set(columns) != set(range(len(columns))):
        raise ValueError(
            f"the columns of {kind} must be one per class from 0, or one for class 1 "
            f"alone (`probability` or `logit`). Received: {_listed(given)}"
        )
    return labels[0], kind, [columns[k] for k in range(len(columns))]
