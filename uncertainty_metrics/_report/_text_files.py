"""Text files, perhaps packed by gzip."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

from uncertainty_metrics.numpy import _archive

GZIP = b"\x1f\x8b"
# The size that was unpacked is checked after so many lines.
_LINES_PER_CHECK = 1000


class TextFile:
    """A text file in UTF-8.

    Args:
      file: opened for reading bytes, at any position.

    Attributes:
      size: number of bytes of the file.
      packed: whether the file is packed by gzip; known after `lines` was called.
    """

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.size = file.seek(0, os.SEEK_END)
        self._unzipped: gzip.GzipFile | None = None

    @property
    def packed(self) -> bool:
        return self._unzipped is not None

    def read(self) -> bytes:
        """Returns the bytes of the file as they are."""
        self._file.seek(0)
        return self._file.read()

    def lines(self, kind: str) -> Iterator[str]:
        """Yields the lines of the file from its start; errors name the kind of file.

        Raises:
          ValueError: the file is no text, or unpacks to suspiciously many bytes.
        """
        self._file.seek(0)
        packed = self._file.read(len(GZIP)) == GZIP
        self._file.seek(0)
        raw: Any = self._file
        if packed:
            raw = self._unzipped = gzip.GzipFile(fileobj=self._file)
        lines = io.TextIOWrapper(raw, "utf-8-sig", newline="")
        try:
            with readable(kind):
                for number, line in enumerate(lines):
                    if self._unzipped is not None and number % _LINES_PER_CHECK == 0:
                        _archive.check_growth(self._unzipped.tell(), self.size)
                    yield line
        finally:
            lines.detach()  # Otherwise the file, still needed, would be closed.


@contextlib.contextmanager
def readable(kind: str) -> Iterator[None]:
    """Turns the errors of reading a file that is no text in UTF-8 into ValueError."""
    try:
        yield
    except (UnicodeDecodeError, csv.Error, EOFError, zlib.error) as failed:
        raise ValueError(f"not a {kind} file in UTF-8: {failed}") from None
    except gzip.BadGzipFile as failed:  # An OSError without a number.
        raise ValueError(f"a damaged .gz file: {failed}") from None
