"""Reads labels and predictions from files, for the calibration report."""

from __future__ import annotations

import csv
import dataclasses
import pathlib
import re
import zipfile
import zlib
from collections.abc import Sequence

import numpy as np

from uncertainty_metrics import _checks

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

Labels have shape [...], predictions [..., K]; or [...] or [..., 1] for class 1 of two.
Predictions of the M members of an ensemble, in .npz only, have shape [N, M, K], or
[N, M, 1] for class 1 of two; the report is that of the mean of their probabilities.
Other arrays and columns are left out, and the report says so.
"""

_PREDICTION_KEYS = {
    "probabilities": "probabilities",
    "probs": "probabilities",
    "logits": "logits",
}
# A CSV column -> what it predicts, and of which class, if it says.
_PREDICTION_COLUMN = re.compile(
    r"(?:p(?=\d)|(?P<name>probability|logit)(?:_(?=\d)|$))(?P<index>\d*)"
)
# What a corrupt archive raises, besides OSError. A bad header may ask for any size.
_UNREADABLE = (
    EOFError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


class ReportError(Exception):
    """Something the user can put right; the message is one line."""

    def __init__(self, message: object):
        super().__init__(" ".join(str(message).split()))


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """What a file holds.

    Attributes:
      source: name of the file.
      labels: shape [...].
      kind: "probabilities" or "logits".
      values: the predictions, shape [..., K], [..., 1] or [...]; or, of an ensemble,
        [N, M, ..., K] or [N, M, ..., 1] of M members for labels [N, ...].
      sample_weight: or None.
      left_out: names of the arrays or columns that mean nothing here.
    """

    source: str
    labels: np.ndarray
    kind: str
    values: np.ndarray
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()

    @property
    def is_ensemble(self) -> bool:
        """Says if the predictions have an axis of members."""
        return np.ndim(self.values) == np.ndim(self.labels) + 2 > 2

    @property
    def members(self) -> int:
        """Number of models that the predictions are of."""
        return self.values.shape[1] if self.is_ensemble else 1

    @property
    def arguments(self) -> dict[str, np.ndarray | None]:
        """The arguments by which functions take what the file holds."""
        return {
            "labels": self.labels,
            self.kind: self.values,
            "sample_weight": self.sample_weight,
        }


def _source(path: pathlib.Path) -> str:
    """Returns the name of a file as text that any encoding of Unicode can hold."""
    return str(path).encode("utf-8", "replace").decode("utf-8")


def read_predictions(path: str | pathlib.Path) -> Predictions:
    """Reads labels and predictions from an .npz or .csv file.

    Args:
      path: the file.

    Returns:
      What it holds; the values are checked where they are used.

    Raises:
      ReportError: it cannot be read, or an array or a column is missing.
    """
    path = pathlib.Path(path)
    readers = {".npz": _read_npz, ".csv": _read_csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ReportError(
            f"{path}: the name must end in .npz or .csv. Received: {path.suffix!r}"
        )
    try:
        return reader(path)
    except OSError as failed:
        raise ReportError(f"{path}: {failed.strerror or failed}") from None


def _read_npz(path: pathlib.Path) -> Predictions:
    arrays = {}
    with path.open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
        except _UNREADABLE:
            archive = None
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ReportError(
                f"{path}: not an .npz archive of arrays; pickles are never loaded"
            )
        wanted = {"labels", "sample_weight", *_PREDICTION_KEYS}
        for name in wanted.intersection(archive.files):
            try:
                arrays[name] = archive[name]
            except _UNREADABLE as failed:
                reason = (
                    "it holds pickled objects"
                    if "pickle" in str(failed)
                    else "it is damaged"
                )
                raise ReportError(f"{path}: cannot read `{name}`: {reason}") from None
            if not isinstance(arrays[name], np.ndarray):
                raise ReportError(f"{path}: `{name}` is not an array")
        left_out = tuple(sorted(set(archive.files) - wanted))
    if "labels" not in arrays:
        raise ReportError(f"{path}: the array `labels` is missing")
    given = [name for name in _PREDICTION_KEYS if name in arrays]
    if len(given) != 1:
        raise ReportError(
            f"{path}: exactly one of the arrays `probabilities`, `probs` and `logits` "
            f"must be there. Received: {', '.join(given) or 'none of them'}"
        )
    labels, kind, values = (
        arrays["labels"],
        _PREDICTION_KEYS[given[0]],
        arrays[given[0]],
    )
    try:
        labels = _labels_of(labels, kind, values)
    except ValueError as wrong:
        raise ReportError(f"{path}: {wrong}") from None
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


def _read_csv(path: pathlib.Path) -> Predictions:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as failed:
        raise ReportError(f"{path}: not a CSV file in UTF-8: {failed}") from None
    if len(rows) < 2:
        raise ReportError(f"{path}: a header line and an example must be there")
    header = [name.strip() for name in rows.pop(0)[1]]
    try:
        label, kind, predictions = _columns(header)
    except ValueError as wrong:
        raise ReportError(f"{path}: {wrong}") from None
    used = [label, *predictions]
    if "sample_weight" in header:
        used.append("sample_weight")

    places = [header.index(name) for name in used]
    table = np.empty((len(rows), len(used)))
    for i, (line, row) in enumerate(rows):  # A loop, to say which line is wrong.
        if len(row) != len(header):
            raise ReportError(
                f"{path}: line {line} must have {len(header)} fields, as the header. "
                f"Received: {len(row)}"
            )
        for j, place in enumerate(places):
            try:
                table[i, j] = float(row[place])
            except ValueError:
                raise ReportError(
                    f"{path}: line {line}, column `{used[j]}` must be a number. "
                    f"Received: {row[place]!r}"
                ) from None
    values = table[:, 1 : 1 + len(predictions)]
    single = predictions[0] in ("probability", "logit")
    return Predictions(
        _source(path),
        table[:, 0],
        kind,
        values[:, 0] if single else values,
        table[:, -1] if "sample_weight" in used else None,
        tuple(name for name in header if name not in used),
    )


def _columns(header: Sequence[str]) -> tuple[str, str, list[str]]:
    """Returns the label's column, the kind of predictions and their columns, in order.

    Raises:
      ValueError: the header does not name them.
    """
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ValueError(f"the column `{repeated[0]}` is there twice")
    labels = [name for name in ("label", "labels") if name in header]
    if len(labels) != 1:
        raise ValueError(
            "one column `label` or `labels` must be there. Received: "
            f"{', '.join(labels or header)}"
        )
    found: dict[str, dict[int | None, str]] = {}
    for name in header:
        match = _PREDICTION_COLUMN.fullmatch(name)
        if match:
            kind = "logits" if match["name"] == "logit" else "probabilities"
            index = int(match["index"]) if match["index"] else None
            of_kind = found.setdefault(kind, {})
            if index in of_kind:
                raise ValueError(f"`{of_kind[index]}` and `{name}` are the same column")
            of_kind[index] = name
    if len(found) != 1:
        raise ValueError(
            "columns of either probabilities (p0, p1, ...) or logits (logit_0, ...) "
            f"must be there. Received: {' and '.join(found) or ', '.join(header)}"
        )
    kind, columns = found.popitem()
    if set(columns) == {None}:
        return labels[0], kind, [columns[None]]
    if len(columns) < 2 or set(columns) != set(range(len(columns))):
        raise ValueError(
            f"the columns of {kind} must be one per class from 0, or one for class 1 "
            f"alone (`probability` or `logit`). Received: {', '.join(columns.values())}"
        )
    return labels[0], kind, [columns[k] for k in range(len(columns))]
