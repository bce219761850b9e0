"""What stands at the path of a file to write: only a regular file is ever replaced."""

from __future__ import annotations

import os
import pathlib
import stat
from collections.abc import Iterable

from uncertainty_metrics._report.data._predictions import ReportError

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a device",
}
_MOST_LINKS = 40


def refused(path: pathlib.Path, reason: object) -> ReportError:
    """Returns the error for a path where nothing can be written."""
    return ReportError(f"{path}: cannot write there: {reason}")


def reason_of(failed: OSError | ValueError) -> object:
    """Returns in words why the system refuses something."""
    return getattr(failed, "strerror", None) or failed


def kind_of(path: pathlib.Path) -> str | None:
    """Returns what stands at a path, links followed, if it is no regular file.

    Raises:
      OSError, ValueError: the system refuses the path.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no file")


def check_directory(directory: pathlib.Path, names: Iterable[str]) -> None:
    """Checks that files with these names can be made, or replaced, in a directory.

    Raises:
      ReportError: something stands there that is no directory, or no regular file.
    """
    try:
        if os.path.lexists(directory) and not directory.is_dir():
            there = "a file" if directory.exists() else "a link to nothing"
            raise refused(directory, f"it is {kind_of(directory) or there}")
        for name in names:
            if kind := kind_of(directory / name):
                raise refused(directory, f"{name} is {kind}")
    except (OSError, ValueError) as failed:
        if isinstance(failed, ReportError):
            raise
        raise refused(directory, reason_of(failed)) from None


def is_replaced(path: pathlib.Path) -> bool:
    """Says whether a file is put at a path, in the place of what may stand there.

    Bytes for a device, such as /dev/null, or for a file that the process has open, such
    as /dev/stdout, are written to it instead.

    Raises:
      ReportError: something else than a regular file stands there.
    """
    try:
        if open_file(path) is not None:
            return False
        kind = kind_of(path)
    except (OSError, ValueError) as failed:
        raise refused(path, reason_of(failed)) from None
    if kind not in (None, _KINDS[stat.S_IFCHR]):
        raise refused(path, f"it is {kind}")
    return kind is None


def open_file(path: pathlib.Path) -> int | None:
    """Returns the number of the open file that a path names, as /dev/stdout names 1.

    Raises:
      OSError, ValueError: the system refuses the path.
    """
    numbers = os.path.realpath("/dev/fd")
    for _ in range(_MOST_LINKS):
        if path.name.isdecimal() and os.path.realpath(path.parent) == numbers:
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / os.readlink(path)
    return None


def write_into(path: pathlib.Path, content: bytes) -> None:
    """Writes to what stands at a path for which `is_replaced` is False.

    Raises:
      ReportError: it cannot be written to.
    """
    try:
        number = open_file(path)
        with open(path if number is None else os.dup(number), "wb") as file:
            file.write(content)
    except (OSError, ValueError) as failed:
        raise refused(path, reason_of(failed)) from None
