"""The calibration report: predictions in a file become a table, a diagram and JSON.

Three steps, apart: `read_predictions` makes arrays of a file, `build` makes a report of
the arrays, a dict of plain numbers and strings with a key per section, and `render`,
`draw` and `write` show that dict. Another section is another key and its rendering.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import importlib.resources
import json
import pathlib
import re
import sys
import textwrap
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _optional
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, PRESETS, CalibrationKey
from uncertainty_metrics.numpy._inputs import ROW_SUM_TOLERANCE
from uncertainty_metrics.version import __version__

SHIPPED = "digits_predictions.npz"
DEFAULT_DIRECTORY = "uncertainty_report"

_FORMAT = """\
FILE is one of

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
_MAX_BINS = 100_000
_WIDTH = 88


class ReportError(Exception):
    """Something the user can put right; the message is one line."""

    def __init__(self, message: object):
        super().__init__(" ".join(str(message).split()))


@dataclasses.dataclass(frozen=True)
class Predictions:
    """What a file holds.

    Attributes:
      source: name of the file.
      labels: shape [...].
      kind: "probabilities" or "logits".
      values: the predictions, shape [..., K], [..., 1] or [...].
      sample_weight: or None.
      left_out: names of the arrays or columns that mean nothing here.
    """

    source: str
    labels: np.ndarray
    kind: str
    values: np.ndarray
    sample_weight: np.ndarray | None = None
    left_out: tuple[str, ...] = ()


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
    return Predictions(
        str(path),
        arrays["labels"],
        _PREDICTION_KEYS[given[0]],
        arrays[given[0]],
        arrays.get("sample_weight"),
        left_out,
    )


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
        str(path),
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


def build(predictions: Predictions, num_bins: int = DEFAULT_NUM_BINS) -> dict[str, Any]:
    """Computes the report.

    Args:
      predictions: labels and predictions.
      num_bins: number of bins of every metric.

    Returns:
      The report, ready for JSON: `source`, `version`, `options`, `data`, `notes` and
      the sections, of which there is `calibration`.

    Raises:
      ValueError: a label, a prediction or a weight is not valid.
      TypeError: they are not numbers.

    Example:
      >>> from uncertainty_metrics import report
      >>> labels, probabilities = np.array([0, 1, 1]), np.array([0.1, 0.2, 0.7])
      >>> here = report.Predictions("here", labels, "probabilities", probabilities)
      >>> report.build(here, num_bins=5)["data"]["examples"]
      3
    """
    data = {
        "labels": predictions.labels,
        predictions.kind: predictions.values,
        "sample_weight": predictions.sample_weight,
    }
    per_class = um.bin_statistics(
        **data, max_prob=False, class_conditional=True, num_bins=1
    )
    return {
        "package": "uncertainty_metrics",
        "version": __version__,
        "source": predictions.source,
        "options": {"num_bins": num_bins},
        "data": {
            "examples": int(np.size(predictions.labels)),
            "classes": len(per_class.counts),
            "predictions": predictions.kind,
            "total_weight": float(per_class.counts[0].sum()),
        },
        "notes": _notes(predictions),
        "calibration": _calibration(data, num_bins),
    }


def _notes(predictions: Predictions) -> list[str]:
    """Returns what the reader should know about the data."""
    notes = []
    if predictions.left_out:
        names = ", ".join(predictions.left_out)
        notes.append(f"Left out, as their names mean nothing here: {names}.")
    labels, values = predictions.labels, predictions.values
    # Else the predictions are those of class 1 alone.
    has_classes = values.shape != labels.shape and values.shape[-1] > 1
    if has_classes and predictions.kind == "probabilities":
        sums = values.sum(axis=-1, dtype=np.float64)
        if np.max(np.abs(sums - 1)) > ROW_SUM_TOLERANCE:
            notes.append(
                f"The probabilities of an example sum to {sums.min():.4g} to "
                f"{sums.max():.4g}, not to 1."
            )
    return notes


def _calibration(data: dict[str, Any], num_bins: int) -> dict[str, Any]:
    """Returns the section of the calibration family."""
    whole = um.bin_statistics(**data, num_bins=1)
    accuracy = float(whole.accuracies[0, 0])
    confidence = float(whole.confidences[0, 0])
    values = {
        "ece": um.ece(**data, num_bins=num_bins),
        "mce": um.mce(**data, num_bins=num_bins),
        "rmsce": um.rmsce(**data, num_bins=num_bins),
        "sce": um.sce(**data, num_bins=num_bins),
        "ace": um.ace(**data, num_bins=num_bins),
        "tace": um.tace(**data, num_bins=num_bins),
    }
    threshold = PRESETS["thresholded_adaptive_calibration_error"].threshold
    meanings = {
        "ece": "On average, confidence and accuracy differ by "
        f"{100 * values['ece']:.1f} percentage points.",
        "mce": f"In the worst bin they differ by {100 * values['mce']:.1f} points; "
        "it may hold few examples.",
        "rmsce": "As ece, in bins of equal mass; the root mean square, not the mean.",
        "sce": "As ece, for the probability of each class; the mean over classes.",
        "ace": "As sce, in bins of equal mass.",
        "tace": f"As ace, leaving out probabilities up to {threshold:g}.",
    }
    grid = um.compute_all_metrics(**data, num_bins=num_bins)
    curve = um.reliability_curve(**data, num_bins=num_bins)
    return {
        "accuracy": accuracy,
        "mean_confidence": confidence,
        "verdict": _verdict(accuracy, confidence, _sample_size(data)),
        "metrics": {
            name: {"value": float(value), "meaning": meanings[name]}
            for name, value in values.items()
        },
        "all_metrics": {_readable(key): float(value) for key, value in grid.items()},
        "diagram": {
            "edges": curve.edges[0].tolist(),
            "counts": curve.counts[0].tolist(),
            "confidences": _without_nan(curve.confidences[0]),
            "accuracies": _without_nan(curve.accuracies[0]),
        },
    }


def _sample_size(data: dict[str, Any]) -> float:
    """Returns the number of examples, or Kish's effective number of weighted ones."""
    if data["sample_weight"] is None:
        return float(np.size(data["labels"]))
    weights = np.asarray(data["sample_weight"], np.float64)
    weights = weights / weights.max()
    return float(np.size(data["labels"]) * weights.mean() ** 2 / (weights**2).mean())


def _verdict(accuracy: float, confidence: float, sample_size: float) -> str:
    """Says in a sentence which way the confidence is off, if the data show it."""
    gap = confidence - accuracy
    # Two more hits and misses (Agresti and Coull), or 3 of 3 would have no error.
    size = sample_size + 4
    rate = (accuracy * sample_size + 2) / size
    error = (rate * (1 - rate) / size) ** 0.5
    numbers = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
    if abs(gap) <= 2 * error:
        return (
            f"Neither clearly overconfident nor underconfident on average: {numbers}, "
            f"a difference of {abs(gap):.3f} where chance alone gives up to about "
            f"{2 * error:.3f}."
        )
    direction = "Overconfident" if gap > 0 else "Underconfident"
    return (
        f"{direction} on average, by {100 * abs(gap):.1f} percentage points: {numbers} "
        f"(standard error {error:.3f})."
    )


def _readable(key: CalibrationKey) -> str:
    score = "top label" if key.max_prob else "all classes"
    groups = "by class" if key.class_conditional else "pooled"
    return f"{key.binning_scheme}, {score}, {groups}, {key.norm}"


def _without_nan(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def render(report: dict[str, Any]) -> str:
    """Returns the report as text."""
    data, section = report["data"], report["calibration"]
    facts = [
        ("predictions", report["source"]),
        ("examples", f"{data['examples']}"),
        ("classes", f"{data['classes']}"),
        ("accuracy", f"{section['accuracy']:.4f}"),
        ("mean confidence", f"{section['mean_confidence']:.4f}"),
    ]
    lines = ["Calibration report", ""]
    lines += [f"  {name:<16} {value}" for name, value in facts]
    lines += ["", textwrap.fill(section["verdict"], _WIDTH), ""]
    lines += [f"  {'metric':<6}  {'value':<6}  meaning"]
    lines += [
        f"  {name:<6}  {row['value']:.4f}  {row['meaning']}"
        for name, row in section["metrics"].items()
    ]
    lines += [
        "",
        f"All are in [0, 1], 0 is best; {report['options']['num_bins']} bins. "
        "Bins of few examples tend to make them too large.",
    ]
    lines += [f"Note: {note}" for note in report["notes"]]
    return "\n".join(lines)


def draw(predictions: Predictions, num_bins: int = DEFAULT_NUM_BINS) -> Any:
    """Returns a matplotlib Figure, unknown to pyplot, of the reliability diagram.

    Raises:
      ImportError: matplotlib is not installed.
    """
    figure = _optional.require("matplotlib.figure", extra="plot").Figure(
        figsize=(5.5, 6.8), layout="constrained"
    )
    ax = um.reliability_diagram(
        predictions.labels,
        **{predictions.kind: predictions.values},
        sample_weight=predictions.sample_weight,
        num_bins=num_bins,
        title="Reliability diagram",
        ax=figure.add_subplot(),
    )
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=2,
        fontsize="small",
    )
    return figure


def write(
    report: dict[str, Any], figure: Any, directory: str | pathlib.Path
) -> list[pathlib.Path]:
    """Writes the diagram and the numbers.

    Args:
      report: of `build`.
      figure: of `draw`.
      directory: where to; made if it is not there.

    Returns:
      The files written.

    Raises:
      ReportError: they cannot be written.
    """
    directory = pathlib.Path(directory)
    diagram = directory / "reliability_diagram.png"
    numbers = directory / "report.json"
    text = json.dumps(report, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        figure.savefig(diagram, dpi=150)
        numbers.write_text(text + "\n", encoding="utf-8")
    except OSError as failed:
        raise ReportError(
            f"{directory}: cannot write there: {failed.strerror or failed}"
        ) from None
    return [diagram, numbers]


def run(
    file: str | None = None,
    out: str = DEFAULT_DIRECTORY,
    num_bins: int = DEFAULT_NUM_BINS,
) -> str:
    """Makes the report of a file, or of the shipped predictions, and writes it.

    Args:
      file: predictions, .npz or .csv; None for those shipped with the package.
      out: directory for the diagram and the numbers.
      num_bins: number of bins.

    Returns:
      The text to show.

    Raises:
      ReportError: something the user can put right.
    """
    if file is None:
        shipped = importlib.resources.files("uncertainty_metrics.data") / SHIPPED
        with importlib.resources.as_file(shipped) as path:
            predictions = read_predictions(path)
        predictions = dataclasses.replace(
            predictions, source=f"{SHIPPED} (shipped with the package)"
        )
    else:
        predictions = read_predictions(file)
    try:
        report = build(predictions, num_bins)
        figure = draw(predictions, num_bins)
    except (TypeError, ValueError, MemoryError) as wrong:
        raise ReportError(f"{predictions.source}: {wrong}") from wrong
    except ImportError as missing:
        raise ReportError(missing) from missing
    written = write(report, figure, out)
    return "\n".join([render(report), "", *(f"Wrote {path}" for path in written)])


def _bins(text: str) -> int:
    try:
        num_bins = int(text)
    except ValueError:
        num_bins = 0
    if not 1 <= num_bins <= _MAX_BINS:
        raise argparse.ArgumentTypeError(
            f"must be an integer in [1, {_MAX_BINS}]. Received: {text!r}"
        )
    return num_bins


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the report to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Reports the calibration of a classifier: a table of calibration errors, a\n"
        "reliability diagram (reliability_diagram.png) and the numbers (report.json)."
    )
    parser.epilog = _FORMAT
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="labels and predictions, .npz or .csv (default: predictions of "
        "handwritten digits that come with the package)",
    )
    parser.add_argument(
        "--out",
        default=DEFAULT_DIRECTORY,
        metavar="DIR",
        help="where to write, made if it is not there (default: %(default)s)",
    )
    parser.add_argument(
        "--num-bins",
        type=_bins,
        default=DEFAULT_NUM_BINS,
        metavar="N",
        help="number of bins (default: %(default)s)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code: 0, or 2 for what the user can fix."""
    try:
        text = run(arguments.file, arguments.out, arguments.num_bins)
    except ReportError as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    print(text)
    return 0
