"""The calibration report: predictions in a file become a page, text, pictures and JSON.

Three steps, apart: `read_predictions` makes arrays of a file, `build` makes a report of
the arrays, a dict of plain numbers and strings with a key per section, and `render`,
`draw` and `write` show that dict. Another section is another key and its blocks.

The sections of a classifier:

  calibration           the calibration errors, those of up to 20 single classes, and
                        the reliability diagram
  bayesian_ece          the posterior of the ECE: its mean, median and 95% interval
  scoring_rules         Brier score, its parts, and negative log-likelihood
  intervals             95% intervals of accuracy, l2 calibration error and scoring
                        rules
  mending               what temperature, vector and isotonic maps would give,
                        cross-validated, and the size of conformal sets at 90%
  selective_prediction  AURC and more: does confidence tell right from wrong decisions?
                        And from which confidence on to decide at a promised risk
  ensemble              only where a file holds the predictions of several members, the
                        mean of which is what all other sections are of

Those of a regression:

  calibration           coverage of central intervals; ECE and ENCE
  pit                   the probability integral transform and its histogram
  scoring_rules         RMSE, CRPS and negative log-likelihood
  sharpness             how large the predicted standard deviations are
  intervals             95% bootstrap intervals
  recalibration         the temperature that would make the variances right

And of both `comparison`, only where a second file is given: both models side by side,
and the intervals of the difference, of the same examples.

The files, written on every run: `report.html`, the page; its pictures, of a classifier
`reliability_diagram.png`, `risk_coverage_diagram.png`, `posteriors.png`, where
something can be fitted `mended_reliability_diagram.png`, and of an ensemble
`ensemble_calibration_diagram.png`, of a regression `reliability_diagram.png`,
`pit_histogram.png` and `uncertainty_vs_error.png`; and `report.json`, the dict.
The JSON is strict: an infinite number is the string "inf" or "-inf", and null is what
is not defined, such as the mean of nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.resources
import io
import json
import os
import pathlib
import re
import secrets
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from uncertainty_metrics._spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report import _html
from uncertainty_metrics._report._files import FILE_FORMAT, read_predictions
from uncertainty_metrics._report._pictures import SHIPPED_REMARK, draw
from uncertainty_metrics._report._predictions import (
    Predictions,
    Regression,
    ReportError,
    visible,
)
from uncertainty_metrics._report._sections import build, errors_naming
from uncertainty_metrics._report._text import render

__all__ = [
    "Predictions",
    "Regression",
    "ReportError",
    "build",
    "draw",
    "read_predictions",
    "render",
    "run",
    "write",
]

SHIPPED = "digits_predictions.npz"
DEFAULT_DIRECTORY = "uncertainty_report"

_MAX_BINS = 10_000


def write(
    report: dict[str, Any], figures: Mapping[str, Any], directory: str | pathlib.Path
) -> list[pathlib.Path]:
    """Writes the page, the pictures and the numbers: all of them, or none.

    Files that are there are replaced, links too; what these show stays as it is.

    Args:
      report: of `build`.
      figures: of `draw`.
      directory: where to; made if it is not there.

    Returns:
      The files written.

    Raises:
      ReportError: they cannot be written.
    """
    directory = pathlib.Path(directory)
    with errors_naming(report["source"]):
        pictures = {name: _png(figure) for name, figure in figures.items()}
    numbers = as_json(report)
    contents = {
        "report.html": _html.page(report, pictures).encode(),
        **pictures,
        "report.json": f"{numbers}\n".encode(),
    }
    try:
        _replace(directory, contents)
    except (OSError, ValueError) as failed:
        reason = getattr(failed, "strerror", None) or failed
        raise ReportError(f"{directory}: cannot write there: {reason}") from None
    return [directory / name for name in contents]


def as_json(report: dict[str, Any]) -> str:
    """Returns the numbers of a report, of `build`, as they are written.

    Raises:
      ReportError: a metric is not defined.
    """
    try:
        return json.dumps(report, indent=2, allow_nan=False, ensure_ascii=False)
    except ValueError:
        raise ReportError(
            f"{report['source']}: its numbers are too large or too small to compute "
            "with: a metric is not defined"
        ) from None


def _replace(directory: pathlib.Path, contents: Mapping[str, bytes]) -> None:
    """Puts files in place once all of them are written, the last one last.

    Raises:
      OSError, ValueError: it cannot; what was there before is still there.
    """
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    token = secrets.token_hex(8)
    beside = {name: directory / f".{name}.{token}" for name in contents}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            target = directory / name
            if target.is_dir() and not target.is_symlink():
                raise ValueError(f"{name} is a directory")
            with open(beside[name], "xb") as file:  # Follows no link.
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # A disk may say only now that it is full.
        for name, path in beside.items():
            os.replace(path, directory / name)
    except BaseException:
        for path in beside.values():
            with contextlib.suppress(OSError, ValueError):
                path.unlink()
        for path in made:
            with contextlib.suppress(OSError, ValueError):
                path.rmdir()
        raise


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        # The name of a file may have letters that the font has not.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(file, dpi=150, format="png")
    return file.getvalue()


def run(
    file: str | None = None,
    out: str = DEFAULT_DIRECTORY,
    num_bins: int = DEFAULT_NUM_BINS,
    compare: str | None = None,
) -> str:
    """Makes the report of a file, or of the shipped predictions, and writes it.

    Args:
      file: predictions, .npz, .csv or .parquet; None for those shipped with the
        package.
      out: directory for the page, the pictures and the numbers.
      num_bins: number of bins.
      compare: predictions of another model, to compare.

    Returns:
      The text to show.

    Raises:
      ReportError: something the user can put right.
    """
    predictions = _read_shipped() if file is None else read_predictions(file)
    other = None if compare is None else read_predictions(compare)
    report = build(predictions, num_bins, other)
    written = write(report, draw(predictions, num_bins, other), out)
    return "\n".join(
        [render(report), "", *(f"Wrote {visible(str(path))}" for path in written)]
    )


def _read_shipped() -> Predictions | Regression:
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


def _directory(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the report to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Reports the calibration of a classifier: calibration errors, the posterior\n"
        "of the expected calibration error (Bayesian ECE), Brier score with its\n"
        "parts, negative log-likelihood, their intervals, what mending would give,\n"
        "and how well confidence tells right decisions from wrong ones; of an\n"
        "ensemble, what averaging gives. Or of a regression: coverage of its\n"
        "intervals, PIT, CRPS, negative log-likelihood, sharpness, and the\n"
        "temperature that would mend its variances. Writes\n"
        "\n"
        "  report.html                all of it on one page, which needs nothing else\n"
        "  report.json                all numbers; an infinite one is the string "
        '"inf"\n'
        "\n"
        "and the pictures of the page, of a classifier\n"
        "\n"
        "  reliability_diagram.png    accuracy against confidence, with error bars,\n"
        "                             and where chance leaves a calibrated model\n"
        "  risk_coverage_diagram.png  the error of the most confident, against their\n"
        "                             share; of both models of --compare\n"
        "  posteriors.png             the posterior of the ECE; of both models of\n"
        "                             --compare, with their overlap\n"
        "  mended_reliability_diagram.png  before and after the best map, on examples\n"
        "                             that it was not fitted to\n"
        "  ensemble_calibration_diagram.png  of an ensemble, beside its members\n"
        "\n"
        "or of a regression, with both models of --compare,\n"
        "\n"
        "  reliability_diagram.png    coverage of intervals against their level\n"
        "  pit_histogram.png          flat if calibrated\n"
        "  uncertainty_vs_error.png   errors against predicted standard deviations"
    )
    parser.epilog = FILE_FORMAT
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="labels and predictions, .npz, .csv or .parquet (default: predictions of "
        "handwritten digits that come with the package)",
    )
    parser.add_argument(
        "--compare",
        metavar="OTHER_FILE",
        help="predictions of another model, at best of the same examples in the same "
        "order: shows both models side by side, the probability that each has the "
        "lower calibration error, and both in the pictures; the reliability diagram "
        "of a classifier and that of an ensemble stay those of FILE. Two regressions "
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


def command(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code: 0, 2 for what the user can fix, or 1
    where nobody reads what it prints.
    """
    try:
        text = run(arguments.file, arguments.out, arguments.num_bins, arguments.compare)
    except ReportError as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    except MemoryError:
        print("error: there is not enough memory", file=sys.stderr)
        return 2
    return _show(text)


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
