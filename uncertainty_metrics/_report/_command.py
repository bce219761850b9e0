"""The command line of the calibration report."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.resources
import io
import os
import pathlib
import sys
import time
from collections.abc import Callable

from uncertainty_metrics._report import _arguments
from uncertainty_metrics._report.calibration_report import Report
from uncertainty_metrics._report.data._predictions import (
    TASKS,
    Model,
    ReportError,
    visible,
)
from uncertainty_metrics._report.data._series_in_time import with_season
from uncertainty_metrics._report.page import _target_paths
from uncertainty_metrics._report.page._picture_files import SHIPPED_REMARK
from uncertainty_metrics._report.page._writing import write_files
from uncertainty_metrics._report.reading import _large_files
from uncertainty_metrics._report.reading._coco_files import read_detections
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._files import (
    errors_of,
    read_predictions,
)
from uncertainty_metrics._report.reading._unlabelled_files import (
    read_unlabelled,
    with_unlabelled,
)
from uncertainty_metrics._report.sections._list import pictures_of
from uncertainty_metrics.numpy.summaries.summary import Summary

SHIPPED = "digits_predictions.npz"

# The files of a report on any task.
_WRITTEN = (
    "report.html",
    "report.json",
    *(picture.file for task in TASKS for picture in pictures_of(task)),
)
# Seconds between messages on the progress, where stderr is no terminal.
_PATIENCE = 5.0


def _read_shipped() -> Model:
    shipped = importlib.resources.files("uncertainty_metrics.data") / SHIPPED
    with importlib.resources.as_file(shipped) as path:
        predictions = read_predictions(path)
    return dataclasses.replace(predictions, source=f"{SHIPPED}{SHIPPED_REMARK}")


class _Progress:
    """Prints the progress on stderr if the work takes long."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last > (1.0 if self._is_terminal else _PATIENCE):
            self._last = now
            # On a terminal each line replaces the previous one.
            start, end = ("\r\x1b[K", "") if self._is_terminal else ("... ", "\n")
            print(f"{start}{visible(text)}", end=end, file=sys.stderr, flush=True)

    def done(self) -> None:
        """Clears the line of a terminal."""
        if self._is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def command(arguments: argparse.Namespace) -> int:
    """Runs the command and returns the exit code.

    The code is 0, or 2 for an error that the user can correct, or 1 if the reader of
    the output closed the pipe.
    """
    return told(_run, arguments)


def sketch_command(arguments: argparse.Namespace) -> int:
    """Runs the command `sketch`; returns the exit code, as `command` does."""
    return told(_sketch, arguments)


def told(
    run: Callable[[argparse.Namespace, _Progress], str], arguments: argparse.Namespace
) -> int:
    """Prints the text that a command returns, or the error; returns the exit code."""
    progress = _Progress()
    try:
        text = run(arguments, progress)
    except ReportError as wrong:
        message = str(wrong)
        if getattr(arguments, "horizon", None) is not None:
            message = message.replace("`at`", "`--horizon`")
        print(f"error: {message}", file=sys.stderr)
        return 2
    except MemoryError:
        print("error: there is not enough memory", file=sys.stderr)
        return 2
    finally:
        progress.done()
    return _show(text) if text else 0


def _sketch(arguments: argparse.Namespace, tell: _Progress) -> str:
    """Writes a summary; returns the text to print, if any."""
    path = pathlib.Path(arguments.out)
    is_replaced = _target_paths.is_replaced(path)
    summary = _summary(arguments.files, _arguments.choice_of(arguments), tell)
    content = io.BytesIO()
    with errors_of(" ".join(arguments.files)):
        summary.save(content, private=arguments.private)
    if not is_replaced:
        _target_paths.write_into(path, content.getvalue())
        return ""  # The path may be standard output.
    write_files(path.parent, {path.name: content.getvalue()})
    size = len(content.getvalue()) / 1000
    return (
        f"Wrote {visible(str(path))}: {summary.num_examples:,} examples in {size:,.0f} "
        "kB"
    )


def _summary(files: list[str], choice: Choice, tell: _Progress) -> Summary:
    """Returns the sums over the rows of files, or over summaries."""
    if files == ["-"]:
        alone = _large_files.Accumulator("standard input")
        alone.add(read_predictions("-", choice, tell))
        return alone.summary()
    paths = _large_files.files_of(files)
    if summaries := _large_files.summaries_in(paths):
        return summaries.summary
    return _large_files.read_stream(paths, choice, tell).summary()


def _read(files: list[str], choice: Choice, tell: _Progress) -> Model:
    """Returns the model in the files, or in the sum of summaries."""
    if files == ["-"]:
        return read_predictions("-", choice, tell)
    paths = _large_files.files_of(files)
    if choice.cluster is not None and len(paths) > 1:
        raise ReportError(
            "--cluster needs all rows of a model in one file, because a cluster may be "
            f"in several. Received: {len(paths)} files"
        )
    if choice.ignore_index is not None and len(paths) > 1:
        raise ReportError(
            "--ignore-index needs all rows of a model in one file. Received: "
            f"{len(paths)} files"
        )
    if summaries := _large_files.summaries_in(paths):
        if choice.cluster is not None:
            raise ReportError(
                "--cluster needs the predictions, because a summary does not hold the "
                f"clusters of its examples. Received: {summaries.source}, a summary"
            )
        if choice.groups or choice.searched or choice.ignore_index is not None:
            raise ReportError(
                "--group, --feature and --ignore-index need the predictions, because a "
                "summary does not hold its examples. Received: "
                f"{summaries.source}, a summary"
            )
        return summaries
    is_whole = choice.cluster is not None or choice.ignore_index is not None
    is_whole = is_whole or not _large_files.is_large(paths[0])
    if len(paths) == 1 and is_whole:
        return read_predictions(paths[0], choice, tell)
    return _large_files.read_stream(paths, choice, tell).result()


def _run(arguments: argparse.Namespace, tell: _Progress) -> str:
    """Writes a report; returns the text to print."""
    _target_paths.check_directory(pathlib.Path(arguments.out), _WRITTEN)
    choice = _arguments.choice_of(arguments)
    if arguments.coco:
        if arguments.files or arguments.compare or choice != Choice():
            raise ReportError(
                "--coco names all that the report reads: leave out other files, "
                "--compare, --group, and the options that name columns"
            )
        model: Model = read_detections(*arguments.coco)
    elif arguments.files:
        model = _read(arguments.files, choice, tell)
    else:
        model = _read_shipped()
    if arguments.unlabelled is not None:
        if len(arguments.files) != 1 or arguments.files == ["-"]:
            raise ReportError("--unlabelled needs one FILE with labels")
        new = read_unlabelled(arguments.unlabelled, arguments.files[0], choice)
        model = with_unlabelled(model, new)
    if arguments.season is not None:
        model = with_season(model, arguments.season, "--season")
    others = [_read([file], choice, tell) for file in arguments.compare]
    report = Report(model, arguments.num_bins, others, tell)
    written = report.save(arguments.out)
    return "\n".join(
        [report.summary(), "", *(f"Wrote {visible(str(path))}" for path in written)]
    )


def _show(text: str) -> int:
    """Prints a text, with letters escaped that stdout lacks; returns the exit code."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as failed:
        # Python writes the rest of the buffer when the process ends. This write goes to
        # the null device, so that it does not fail, too.
        with contextlib.suppress(OSError):  # Not every stream has a file number.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(failed, BrokenPipeError):
            return 1
        print(f"error: standard output: {failed.strerror or failed}", file=sys.stderr)
        return 2
    return 0
