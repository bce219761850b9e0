"""The command line: `python -m uncertainty_metrics report [FILE] [--out DIR]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from uncertainty_metrics.version import __version__


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        from uncertainty_metrics._report import visible

        self.exit(2, f"error: {visible(message)} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
      argv: the arguments; None for those of the process.

    Returns:
      The exit code: 0; 2 for what the user can put right; 130 where interrupted; 1
      where nobody reads what is printed.
    """
    try:
        return _run(argv)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130


def _run(argv: Sequence[str] | None) -> int:
    # It takes long enough to be interrupted.
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
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
