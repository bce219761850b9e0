"""The command line of the calibration report."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.resources
import os
import re
import sys
import textwrap
import time

from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report._files import FILE_FORMAT, read_predictions
from uncertainty_metrics._report._names import Choice
from uncertainty_metrics._report._picture_table import PICTURES
from uncertainty_metrics._report._pictures import SHIPPED_REMARK
from uncertainty_metrics._report._predictions import Model, ReportError, visible
from uncertainty_metrics._report.calibration_report import DEFAULT_DIRECTORY, Report

SHIPPED = "digits_predictions.npz"

_MAX_BINS = 10_000
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
        "file",
        nargs="?",
        metavar="FILE",
        help="labels and predictions, or answers and confidences: .csv, .tsv, .jsonl, "
        ".json, .parquet, .feather, .arrow, .xlsx, .npz, or - for standard input; text "
        "may be packed, .csv.gz (default: predictions of handwritten digits that come "
        "with the package)",
    )
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
        "--group",
        action="append",
        default=[],
        metavar="NAME",
        help="a column or array that is an attribute of the examples, such as their "
        "language: reports the calibration of each of its values; for several "
        "attributes, say it several times",
    )
    parser.add_argument(
        "--classes",
        type=_names,
        metavar="NAMES",
        help="the labels in the order of the columns of predictions, commas between",
    )
    parser.add_argument(
        "--compare",
        metavar="OTHER_FILE",
        help="predictions of another model, at best of the same examples in the same "
        "order: shows both models side by side, the probability that each has the "
        "lower calibration error, and both in the pictures. Two regressions "
        "compare likewise. Without FILE they are compared with "
        "the handwritten digits, which makes sense as an example, or for predictions "
        "of these digits",
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


class _Progress:
    """Says on stderr what is done, once it takes long."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last > _PATIENCE:
            self._last = now
            print(f"... {visible(text)}", file=sys.stderr, flush=True)


def command(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code: 0, 2 for what the user can fix, or 1
    where nobody reads what it prints.
    """
    try:
        text = _run(arguments)
    except ReportError as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    except MemoryError:
        print("error: there is not enough memory", file=sys.stderr)
        return 2
    return _show(text)


def _run(arguments: argparse.Namespace) -> str:
    """Returns what to print."""
    tell = _Progress()
    choice = Choice(
        arguments.label,
        arguments.probabilities,
        arguments.classes,
        arguments.positive_class,
        arguments.correct,
        arguments.confidence,
        arguments.percent,
        tuple(dict.fromkeys(arguments.group)),
    )
    if arguments.file is None:
        model = _read_shipped()
    else:
        model = read_predictions(arguments.file, choice, tell)
    other = None
    if arguments.compare is not None:
        other = read_predictions(arguments.compare, choice, tell)
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
