"""Writes files whole: a reader finds the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO, Any

# Files that programs write to whatever is behind them.
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


@contextlib.contextmanager
def written_whole(path: str | bytes | os.PathLike[Any]) -> Iterator[IO[bytes]]:
    """Yields a file to write bytes to, which takes the place of the one at `path`.

    The bytes go to a new file in the same folder, which is renamed when the context
    ends. If it ends with an error, such as that of a full disk, the new file is removed
    and the old one stays as it was. A new file has the permissions of the old one. If
    `path` is a link, the file that it points to is replaced. What is not a regular
    file, such as a pipe or `/dev/null`, is written to, and never replaced.

    Raises:
      OSError: the file cannot be written.
    """
    name = os.fsdecode(path)
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(name).st_mode
        if not stat.S_ISREG(mode) or name.startswith(_STREAMS):
            with open(name, "wb") as file:  # An error for a folder.
                content = io.BytesIO()  # Devices say wrong places, and pipes none.
                yield content
                file.write(content.getbuffer())
            return
    target = os.path.realpath(name)
    beside = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:  # "x" follows no link.
            yield file
            file.flush()
            os.fsync(file.fileno())  # A full disk may raise its error only here.
        with contextlib.suppress(FileNotFoundError):
            _copy_permissions(os.stat(target), beside)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _copy_permissions(old: os.stat_result, path: str) -> None:
    """Gives a file the owner of another file, if this user may, and its mode."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(path, old.st_uid, old.st_gid)
    os.chmod(path, stat.S_IMODE(old.st_mode))
