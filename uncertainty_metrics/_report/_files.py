"""Reads predictions from the files that the calibration report is made of."""

from __future__ import annotations

import codecs
import contextlib
import io
import pathlib
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any

import numpy as np

from uncertainty_metrics._report import _names, _tables
from uncertainty_metrics._report._answer_names import AnswerNames, names_of
from uncertainty_metrics._report._answers import answers_of
from uncertainty_metrics._report._arrow_tables import ArrowTable, ParquetTable
from uncertainty_metrics._report._classes import classified
from uncertainty_metrics._report._names import Choice, among, existing, listed
from uncertainty_metrics._report._predictions import (
    Kind,
    Model,
    Questions,
    Regression,
    ReportError,
    silent,
)
from uncertainty_metrics._report._tables import CsvTable, Table
from uncertainty_metrics._report._text_files import GZIP
from uncertainty_metrics._report._value_tables import ExcelTable, RecordTable
from uncertainty_metrics.numpy import _archive

FILE_FORMAT = """\
FILE and OTHER_FILE are each one of

  .csv, .tsv  a header line, then one example a line; between the columns commas,
        semicolons or tabs; .csv.gz and .tsv.gz as well
  .jsonl, .ndjson
        JSON, one example a line; with .gz after it as well
  .json       a list of such examples; .json.gz as well
  .parquet, .feather, .arrow
        the same columns; need pyarrow
  .xlsx       the same columns, on the first sheet; needs openpyxl
  .npz        arrays. Pickled objects are never loaded
  -           any of these on standard input

Of a classifier the columns are, in any case of letters,

  label             (or labels, y, y_true, target, class) numbers from 0, text or
                    booleans
  p0, p1, ...       (or p_0, prob_0, probability_0, class_0, 0) a probability of each
                    class; or a column for each class that is called as the class, with
                    `p_`, `prob_` or `probability_` before it or not; in JSON also a
                    list `probabilities`
  logit_0, ...      or a logit of each class
  p, prob, probability, logit
                    or, for two classes, that of class 1 alone
  sample_weight     optional

and of .npz the arrays `labels`, one of `probabilities` (or `probs`) and `logits`, and
perhaps `classes`, the names of the classes. Labels have shape [...], predictions
[..., K]; or [...] or [..., 1] for class 1 of two. Predictions of the M members of an
ensemble, in .npz only, have shape [N, M, K], or [N, M, 1] for class 1 of two; the
report is that of the mean of their probabilities.

Of answers (of a language model, an expert, an alarm) the columns or arrays are

  correct           (or is_correct, accuracy, acc, exact_match, or score if it is 0
                    or 1) whether the answer is right: true or false, or 1 and 0
  confidence        (or conf, certainty, probability) how sure it is, in [0, 1], or
                    with --percent in [0, 100]
  filtered_resps    instead of confidence, in the samples of lm-evaluation-harness: the
                    log-likelihoods of the options of multiple-choice questions, whose
                    softmax is the confidence; `acc` says whether the answer is right
  answers           optional, in JSON or Arrow: a list of several sampled answers to the
                    question, as many for each; without `confidence` their agreement is
                    the confidence
  id                (or question_id, doc_id, question, prompt) optional, which question
                    it is, for --compare
  sample_weight     optional

Of a regression the arrays or columns, of one shape, are

  mean              what was predicted
  variance, or std or stddev
                    how sure of it, > 0
  target            (or label, y, ...) what came
  sample_weight     optional

Other arrays and columns are left out, and the report says so. Where names leave open
what is meant, an error lists what was found, and --label, --probabilities, --classes,
--positive-class, --correct and --confidence tell. --group names an attribute of the
examples, such as their language, by which the calibration is reported group by group.
In .json and .jsonl the field `subject` of an object `doc` is the column `doc.subject`.
"""

_ARRAYS: dict[str, Kind] = {
    **dict.fromkeys(
        ("probabilities", "probs", "proba", "y_prob", "y_proba"), "probabilities"
    ),
    "logits": "logits",
}
_CLASSES = ("classes", "class_names")
_ENDINGS = {
    ".npz": "npz",
    ".parquet": "parquet",
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".jsonl.gz", ".ndjson.gz", ".json.gz"), "json"),
    **dict.fromkeys((".feather", ".arrow"), "arrow"),
    ".xlsx": "excel",
}
_TABLES: dict[str, Callable[..., Table]] = {
    "parquet": ParquetTable,
    "csv": CsvTable,
    "json": RecordTable,
    "arrow": ArrowTable,
    "excel": ExcelTable,
}
_STDIN = "standard input"
# Bytes that tell the format of standard input; the second is a file of every .xlsx.
_START, _EXCEL = 4096, b"[Content_Types].xml"
# What is missing of a sum of 1 where there are other classes.
_OFF = 0.01


def read_predictions(
    path: str | pathlib.Path,
    choice: Choice | None = None,
    tell: Callable[[str], None] = silent,
) -> Model:
    """Reads predictions and what came from a file.

    Args:
      path: the file, whose format is that of its name; "-" for standard input.
      choice: what the names in the file leave open.
      tell: is told how far it is read.

    Returns:
      What it holds; the values are checked where they are used.

    Raises:
      ReportError: it cannot be read, or an array or a column is missing.
    """
    choice = choice or Choice()
    source = _STDIN if str(path) == "-" else _source(pathlib.Path(path))
    try:
        if str(path) == "-":
            content = io.BytesIO(sys.stdin.buffer.read())
            return _read(source, content, _format_of(content), choice, tell)
        kind = _kind_of(pathlib.Path(path))
        with open(path, "rb") as file:
            return _read(source, file, kind, choice, tell)
    except ReportError:
        raise
    except OSError as failed:
        raise ReportError(f"{source}: {failed.strerror or failed}") from None
    except (ImportError, TypeError, ValueError) as wrong:
        raise ReportError(f"{source}: {wrong}") from None


def _source(path: pathlib.Path) -> str:
    """Returns the name of a file as text that any encoding of Unicode can hold."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def _kind_of(path: pathlib.Path) -> str:
    for ending, kind in _ENDINGS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise ValueError(
        f"the name must end in {', '.join(_ENDINGS)}, or be - for standard input. "
        f"Received: {path.suffix!r}"
    )


def _format_of(content: io.BytesIO) -> str:
    """Returns the format of what begins so."""
    start = content.read(_START)
    known = {b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARRO": "arrow"}
    kind = known.get(start[:4], "csv")
    if kind == "npz":
        return "excel" if _EXCEL in content.getvalue() else "npz"
    if start.startswith(GZIP):
        with contextlib.suppress(zlib.error):  # Which its reader tells.
            start = zlib.decompressobj(wbits=31).decompress(start, _START)
    text = start.removeprefix(codecs.BOM_UTF8).lstrip()
    return "json" if text.startswith((b"{", b"[")) else kind


def _read(
    source: str,
    file: IO[bytes],
    kind: str,
    choice: Choice,
    tell: Callable[[str], None],
) -> Model:
    if kind == "npz":
        return _read_npz(source, file, choice)
    return _of_table(source, _TABLES[kind](file, tell), choice)


def _weights(header: list[str]) -> list[str]:
    """Returns the name of the weights, if there are any."""
    return among(header, (_names.WEIGHTS,))[:1]


def _both(regression: tuple[str, str], predictions: list[str]) -> ValueError:
    return ValueError(
        f"this may be a regression, by {listed(regression)}, or a classifier, by "
        f"{listed(predictions)}: leave out one of them, or choose with --probabilities"
    )


# Tables.


def _of_table(source: str, table: Table, choice: Choice) -> Model:
    header = table.header

    def is_binary(name: str) -> bool:
        try:
            return bool(np.all(np.isin(table.read(name, [])[0], [0, 1])))
        except ValueError:  # One is missing, or is no number.
            return False

    groups = [existing(name, header, "column") for name in choice.groups]
    if names := names_of(header, choice, "column", is_binary):
        return _answers_of_table(source, table, names, choice)
    label = _names.label_of(header, choice)
    regression = None if choice.probabilities else _names.regression_of(header)

    def values() -> list[str]:
        labels, _ = table.read(label, [])
        return _names.texts(np.unique(_names.text_array(labels)))

    # The labels of a regression name no columns.
    columns = _names.columns_of(header, label, choice, None if regression else values)
    if regression and columns:
        raise _both(regression, columns.names)
    if columns:
        predictions = columns.names
    elif regression:
        predictions = list(regression)
    else:
        raise ValueError(
            "the file must have columns of probabilities (p0, p1, ..., or the names of "
            "the classes), of logits (logit_0, ...), `mean` with one of `variance`, "
            "`std` and `stddev`, or `correct` with `confidence`; or choose columns "
            f"with --probabilities. Received: {listed(header)}"
        )
    weights = _weights(header)
    names_ = [*predictions, *weights]
    _tables.check_once(header, [label, *names_, *groups])
    left_out = _left_out(table, [label, *names_, *groups])
    labels, numbers = table.read(label, names_)
    weight = numbers[:, -1] if weights else None
    if columns:
        found = numbers[:, : len(predictions)]
        if columns.guessed and np.median(found.sum(axis=1)) < 1 - _OFF:
            raise ValueError(
                f"the columns {listed(predictions)} have names of labels, but their "
                "rows do not sum to 1: name the columns of all classes with "
                "--classes. "
                f"Received: {listed(header)}"
            )
        return classified(
            source,
            labels,
            columns.kind,
            found[:, 0] if columns.alone else found,
            columns.classes,
            choice,
            sample_weight=weight,
            left_out=left_out,
            groups=_columns(table, groups),
        )
    _refuse_groups(groups)
    mean, spread = numbers[:, 0], numbers[:, 1]
    kind = _names.SPREADS[predictions[1].lower()]
    target = _reals(label, labels)
    return Regression(source, mean, kind, spread, target, weight, left_out)


def _answers_of_table(
    source: str, table: Table, names: AnswerNames, choice: Choice
) -> Model:
    weights = _weights(table.header)
    numbers_of = [*([names.confidence] if names.confidence else []), *weights]
    lists = (names.samples, names.likelihoods)
    others = [name for name in (*lists, names.questions) if name]
    used = [names.correct, *numbers_of, *others, *choice.groups]
    _tables.check_once(table.header, list(dict.fromkeys(used)))
    correct, numbers = table.read(names.correct, numbers_of)
    columns = _columns(table, dict.fromkeys([*others, *choice.groups]))
    confidence, questions = names.confidence, names.questions
    samples, likelihoods = lists
    asked = Questions(questions, columns[questions].tolist()) if questions else None
    return answers_of(
        source,
        (names.correct, correct),
        (confidence, numbers[:, 0]) if confidence else None,
        (samples, columns[samples]) if samples else None,
        table.place,
        likelihoods=columns[likelihoods] if likelihoods else None,
        percent=choice.percent,
        sample_weight=numbers[:, -1] if weights else None,
        left_out=_left_out(table, used),
        groups={name: columns[name] for name in choice.groups},
        questions=asked,
    )


def _columns(table: Table, names: Iterable[str]) -> dict[str, Any]:
    """Returns columns of any values, objects [N], by their names."""
    names = list(names)
    if not names:
        return {}
    found = {}
    for name, values in zip(names, table.columns(names), strict=True):
        found[name] = np.empty(len(values), object)
        found[name][:] = values
    return found


def _left_out(table: Table, used: Iterable[str]) -> tuple[str, ...]:
    used = set(used)
    return (*(name for name in table.header if name not in used), *table.others)


def _refuse_groups(groups: Sequence[str]) -> None:
    """Raises ValueError if a regression shall have groups."""
    if groups:
        raise ValueError(
            "--group needs a classifier, or answers with confidences. Received: a "
            "regression"
        )


def _reals(name: str, labels: np.ndarray) -> np.ndarray:
    if _names.is_text(labels):
        raise ValueError(f"`{name}` of a regression must hold numbers. Received: text")
    return labels


# Archives.


def _read_npz(source: str, file: IO[bytes], choice: Choice) -> Model:
    archive = _archive.Archive(file)
    names = list(dict.fromkeys(archive.names))  # One of them may be there twice.
    groups = [existing(name, names, "array") for name in choice.groups]

    def is_binary(name: str) -> bool:
        return bool(np.all(np.isin(archive.read([name])[name], [0, 1])))

    if found := names_of(names, choice, "array", is_binary):
        return _answers_of_npz(source, archive, names, found, choice)
    label = _names.label_of(names, choice, "array")
    regression = None if choice.probabilities else _names.regression_of(names)
    predictions = _prediction_arrays(names, choice, regression is not None)
    if regression and predictions:
        raise _both(regression, predictions)
    weights = _weights(names)
    classes = [] if regression else among(names, _CLASSES)[:1]
    wanted = [label, *(regression or predictions), *weights, *classes, *groups]
    arrays: Mapping[str, np.ndarray] = archive.read(wanted)
    left_out = tuple(sorted(set(names) - set(wanted)))
    weight = arrays[weights[0]] if weights else None
    if regression:
        _refuse_groups(groups)
        mean, spread = regression
        kind = _names.SPREADS[spread.lower()]
        target = _reals(label, arrays[label])
        return Regression(
            source, arrays[mean], kind, arrays[spread], target, weight, left_out
        )
    name = predictions[0]
    given = tuple(_names.words(arrays[classes[0]].reshape(-1))) if classes else ()
    return classified(
        source,
        arrays[label],
        _ARRAYS.get(
            name.lower(), "logits" if "logit" in name.lower() else "probabilities"
        ),
        arrays[name],
        given,
        choice,
        sample_weight=weight,
        left_out=left_out,
        groups={name: arrays[name] for name in groups},
    )


def _answers_of_npz(
    source: str,
    archive: _archive.Archive,
    names: list[str],
    found: AnswerNames,
    choice: Choice,
) -> Model:
    weights = _weights(names)
    wanted = [name for name in (*found, *weights, *choice.groups) if name]
    arrays = archive.read(dict.fromkeys(wanted))

    def named(name: str | None) -> tuple[str, np.ndarray] | None:
        return (name, arrays[name]) if name else None

    questions = named(found.questions)
    return answers_of(
        source,
        (found.correct, _names.text_array(arrays[found.correct])),
        named(found.confidence),
        named(found.samples),
        lambda index: f"example {index}",
        percent=choice.percent,
        sample_weight=arrays[weights[0]] if weights else None,
        left_out=tuple(sorted(set(names) - set(wanted))),
        groups={name: arrays[name] for name in choice.groups},
        questions=questions and Questions(questions[0], questions[1].tolist()),
    )


def _prediction_arrays(
    names: list[str], choice: Choice, is_regression: bool
) -> list[str]:
    """Returns the name of the array of predictions, alone in a list."""
    if choice.probabilities is not None:
        if choice.probabilities not in names:
            raise ValueError(
                f"there is no array `{choice.probabilities}`. Received: {listed(names)}"
            )
        return [choice.probabilities]
    found = among(names, _ARRAYS)
    if len(found) != 1 and not (is_regression and not found):
        raise ValueError(
            "the file must hold exactly one of the arrays `probabilities`, `probs` "
            "and `logits`, or `mean` with one of `variance`, `std` and `stddev`. "
            f"Received: {listed(found or names)}"
        )
    return found
