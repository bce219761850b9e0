"""The command line: `python -m uncertainty_metrics report [FILE] [--out DIR]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from uncertainty_metrics.version import __version__


class _Parser(argparse.ArgumentParser):
    """An argument parser that prints errors on one line."""

    def error(self, message: str) -> NoReturn:
        from uncertainty_metrics._report import visible

        self.exit(2, f"error: {visible(message)} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
      argv: the command-line arguments; None for the arguments of the process.

    Returns:
      The exit code: 0 for success, 2 for an error that the user can correct, 130 for an
      interrupt, 1 if the reader of the output has closed it.
    """
    try:
        return _run(argv)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130


def _run(argv: Sequence[str] | None) -> int:
    # Imported here: it takes so long that the user may interrupt it.
    from uncertainty_metrics import _report as report

    parser = _Parser(
        prog="python -m uncertainty_metrics",
        description="Uncertainty metrics on the command line.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    report_parser = commands.add_parser("report", help="calibration of predictions")
    report.add_arguments(report_parser)
    report_parser.set_defaults(run=report.command)
    sketch_parser = commands.add_parser(
        "sketch", help="a summary of predictions, which reports are made of"
    )
    report.add_sketch_arguments(sketch_parser)
    sketch_parser.set_defaults(run=report.sketch_command)
    compare_parser = commands.add_parser("compare", help="which model is best")
    report.add_compare_arguments(compare_parser)
    compare_parser.set_defaults(run=report.compare_command)
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
