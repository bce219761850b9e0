"""The command line of the calibration report."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.resources
import io
import os
import pathlib
import re
import sys
import textwrap
import time
from collections.abc import Callable

from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report import _streams
from uncertainty_metrics._report._files import FILE_FORMAT, read_predictions
from uncertainty_metrics._report._names import Choice
from uncertainty_metrics._report._picture_table import PICTURES
from uncertainty_metrics._report._pictures import SHIPPED_REMARK
from uncertainty_metrics._report._predictions import Model, ReportError, visible
from uncertainty_metrics._report._writing import write_files
from uncertainty_metrics._report.calibration_report import DEFAULT_DIRECTORY, Report
from uncertainty_metrics.numpy.sketch.summary import Summary

SHIPPED = "digits_predictions.npz"

_MAX_BINS = 10_000
_FILES = (
    "labels and predictions, or answers and confidences: .csv, .tsv, .jsonl, .json, "
    ".parquet, .feather, .arrow, .xlsx or .npz; text may be packed, .csv.gz. One file, "
    "or several of the same columns; a pattern such as 'shards/*.parquet'; a folder"
)
# Seconds of quiet, before what takes long says where it is.
_PATIENCE = 5.0


def _read_shipped() -> Model:
    shipped = importlib.resources.files("uncertainty_metrics.data") / SHIPPED
    with importlib.resources.as_file(shipped) as path:
        predictions = read_predictions(path)
    return dataclasses.replace(predictions, source=f"{SHIPPED}{SHIPPED_REMARK}")


def _bins(text: str) -> int:
    num_bins = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if not 1 <= num_bins <= _MAX_BINS:
        raise argparse.ArgumentTypeError(
            f"must be an integer in [1, {_MAX_BINS}]. Received: {text!r}"
        )
    return num_bins


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _directory(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _listed(task: str) -> str:
    """Returns lines of the help: the pictures of a task, and what they show."""
    return "\n".join(
        textwrap.fill(
            picture.shows,
            width=80,
            initial_indent=f"  {picture.file:<25}  ",
            subsequent_indent=29 * " ",
        )
        for picture in PICTURES[task]
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the report to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Reports the calibration of a classifier: calibration errors, the posterior\n"
        "of the expected calibration error (Bayesian ECE), Brier score with its\n"
        "parts, negative log-likelihood, their intervals, what mending would give,\n"
        "and how well confidence tells right decisions from wrong ones; of an\n"
        "ensemble, what averaging gives. Or of the answers of a language model, an\n"
        "expert or an alarm that says how sure it is: the same, and from which\n"
        "confidence on it may answer alone. Of groups of examples, for whom the model\n"
        "is wrong more often than it says. Or of a regression: coverage of its\n"
        "intervals, PIT, CRPS, negative log-likelihood, sharpness, and the\n"
        "temperature that would mend its variances. Writes\n"
        "\n"
        "  report.html                all of it on one page, which needs nothing else\n"
        "  report.json                all numbers; an infinite one is the string "
        '"inf"\n'
        "\n"
        "and the pictures of the page, of a classifier\n"
        "\n"
        f"{_listed('classification')}\n"
        "\n"
        "of answers\n"
        "\n"
        f"{_listed('confidences')}\n"
        "\n"
        "or of a regression\n"
        "\n"
        f"{_listed('regression')}\n"
        "\n"
        "With --compare they show both models."
    )
    parser.epilog = FILE_FORMAT
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help=f"{_FILES}; or - for standard input; or what the command `sketch` wrote. "
        "Several files are read part by part: numbers are of all rows, and what needs "
        "rows is of a sample of 200,000 (default: predictions of handwritten digits "
        "that come with the package)",
    )
    _add_choices(parser)
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME",
        help="a column or array that is an attribute of the examples, such as their "
        "language: reports the calibration of each of its values; for several "
        "attributes, say it several times",
    )
    parser.add_argument(
        "--compare",
        metavar="OTHER_FILE",
        action="append",
        default=[],
        help="predictions of another model, at best of the same examples in the same "
        "order: shows both models side by side, the probability that each has the "
        "lower calibration error, and both in the pictures. Of other examples, such as "
        "those of another week, it says whether the calibration has changed. Two "
        "regressions compare likewise. For several files, say it several times. "
        "Without FILE they are compared with the handwritten digits, which makes sense "
        "as an example, or for predictions of these digits",
    )
    parser.add_argument(
        "--out",
        type=_directory,
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


def add_sketch_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `sketch` to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Writes a summary of predictions: what a report needs, in a file of some\n"
        "hundred kilobytes that holds no prediction. `report` takes such files: of\n"
        "several it reports the sum, and with --compare whether calibration has\n"
        "changed; `sketch` adds several to one. `um.Summary` says what exactly they\n"
        "hold."
    )
    parser.epilog = FILE_FORMAT
    parser.add_argument("files", nargs="+", metavar="FILE", help=_FILES)
    _add_choices(parser)
    parser.add_argument(
        "--out", required=True, metavar="SUMMARY.npz", help="the file to write"
    )


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that say what the names in a file mean."""
    for option, metavar, text in (
        ("--label", "NAME", "the column or array of labels"),
        (
            "--probabilities",
            "NAMES",
            "the columns of predictions in the order of the classes, with commas "
            "between, or a pattern such as 'p_*'; or the array",
        ),
        ("--positive-class", "LABEL", "of two classes, the label that is class 1"),
        (
            "--correct",
            "NAME",
            "of answers, the column or array that says whether each is right",
        ),
        (
            "--confidence",
            "NAME",
            "of answers, the column or array that says how sure each is",
        ),
    ):
        parser.add_argument(option, metavar=metavar, help=text)
    parser.add_argument(
        "--percent",
        action="store_true",
        help="the confidences of answers are percent: they are divided by 100",
    )
    parser.add_argument(
        "--classes",
        type=_names,
        metavar="NAMES",
        help="the labels in the order of the columns of predictions, commas between",
    )


class _Progress:
    """Says on stderr what is done, once it takes long."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last > (1.0 if self._is_terminal else _PATIENCE):
            self._last = now
            # On a terminal each line takes the place of the one before.
            start, end = ("\r\x1b[K", "") if self._is_terminal else ("... ", "\n")
            print(f"{start}{visible(text)}", end=end, file=sys.stderr, flush=True)

    def done(self) -> None:
        """Clears the line of a terminal."""
        if self._is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def command(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code: 0, 2 for what the user can fix, or 1
    where nobody reads what it prints.
    """
    return _told(_run, arguments)


def sketch_command(arguments: argparse.Namespace) -> int:
    """Runs the command `sketch`; returns the exit code, as `command` does."""
    return _told(_sketch, arguments)


def _told(
    run: Callable[[argparse.Namespace, _Progress], str], arguments: argparse.Namespace
) -> int:
    """Prints what a command returns, or the error; returns the exit code."""
    progress = _Progress()
    try:
        text = run(arguments, progress)
    except ReportError as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    except MemoryError:
        print("error: there is not enough memory", file=sys.stderr)
        return 2
    finally:
        progress.done()
    return _show(text)


def _sketch(arguments: argparse.Namespace, tell: _Progress) -> str:
    """Writes a summary; returns what to print."""
    summary = _summary(arguments.files, _choice(arguments), tell)
    content = io.BytesIO()
    summary.save(content)
    path = pathlib.Path(arguments.out)
    write_files(path.parent, {path.name: content.getvalue()})
    size = len(content.getvalue()) / 1000
    return (
        f"Wrote {visible(str(path))}: {summary.num_examples:,} examples in {size:,.0f} "
        "kB"
    )


def _summary(files: list[str], choice: Choice, tell: _Progress) -> Summary:
    """Returns the sums over the rows of files, or over summaries."""
    if files == ["-"]:
        alone = _streams.Accumulator("standard input")
        alone.add(read_predictions("-", choice, tell))
        return alone.summary()
    paths = _streams.files_of(files)
    if summaries := _streams.summaries_in(paths):
        return summaries.summary
    return _streams.read_stream(paths, choice, tell).summary()


def _choice(arguments: argparse.Namespace) -> Choice:
    groups = getattr(arguments, "group", ())  # `sketch` has none.
    return Choice(
        arguments.label,
        arguments.probabilities,
        arguments.classes,
        arguments.positive_class,
        arguments.correct,
        arguments.confidence,
        arguments.percent,
        tuple(dict.fromkeys(groups)),
    )


def _read(files: list[str], choice: Choice, tell: _Progress) -> Model:
    """Returns what files hold, or the sum of summaries."""
    if files == ["-"]:
        return read_predictions("-", choice, tell)
    paths = _streams.files_of(files)
    if summaries := _streams.summaries_in(paths):
        return summaries
    if len(paths) == 1 and not _streams.is_large(paths[0]):
        return read_predictions(paths[0], choice, tell)
    return _streams.read_stream(paths, choice, tell).result()


def _run(arguments: argparse.Namespace, tell: _Progress) -> str:
    """Writes a report; returns what to print."""
    choice = _choice(arguments)
    model = _read(arguments.files, choice, tell) if arguments.files else _read_shipped()
    other = _read(arguments.compare, choice, tell) if arguments.compare else None
    report = Report(model, arguments.num_bins, other, tell)
    written = report.save(arguments.out)
    return "\n".join(
        [report.summary(), "", *(f"Wrote {visible(str(path))}" for path in written)]
    )


def _show(text: str) -> int:
    """Prints a text, escaped where it cannot be shown; returns the exit code."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as failed:
        # What is left must not fail again when the process ends.
        with contextlib.suppress(OSError):  # Not every stream has a number.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(failed, BrokenPipeError):
            return 1
        print(f"error: standard output: {failed.strerror or failed}", file=sys.stderr)
        return 2
    return 0
