"""Text files, perhaps packed by gzip."""

from __future__ import annotations

import codecs
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
# The most bytes of a line, and characters of an example in a file that is read part by
# part. A longer one is damaged or hostile, and would fill the memory.
LONGEST = 64 * 2**20
# Number of characters that are read at once.
_BLOCK = 2**16


class LongLineError(ValueError):
    """A line, or an example of several lines, is longer than `LONGEST`."""

    def __init__(self, line: int):
        super().__init__(
            f"line {line} begins an example of more than {LONGEST / 2**20:g} MiB: the "
            "file is damaged, or no table with an example in each line"
        )


class _Counted(io.BufferedIOBase):
    """The bytes of a file, counted as they are read.

    Args:
      file: opened for reading bytes.
      packed_size: number of bytes of the file, if it is packed; else None.
      any_length: whether lines may be longer than `LONGEST`.
    """

    def __init__(self, file: Any, packed_size: int | None, any_length: bool):
        self._file, self._packed_size = file, packed_size
        self._any_length = any_length
        self._lines = self._of_line = 0  # Whole lines, and bytes of the next line.
        self._last = b""

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        found: bytes = self._file.read1(size)
        if self._packed_size is not None:
            _archive.check_growth(self._file.tell(), self._packed_size)
        if not self._any_length:
            self._count(found)
        return found

    def _count(self, found: bytes) -> None:
        """Raises LongLineError if a line is too long."""
        ends = found.count(b"\n") + found.count(b"\r") - found.count(b"\r\n")
        if self._last == b"\r" and found.startswith(b"\n"):
            ends -= 1
        self._lines += ends
        self._last = found[-1:]
        end = max(found.rfind(b"\n"), found.rfind(b"\r"))
        self._of_line = len(found) - end - 1 + (self._of_line if end < 0 else 0)
        if self._of_line > LONGEST:
            raise LongLineError(self._lines + 1)


class TextFile:
    """A text file in UTF-8, or in UTF-16 with a mark of the byte order.

    Args:
      file: opened for reading bytes, at any position.

    Attributes:
      size: number of bytes of the file.
      packed: whether the file is packed by gzip.
      encoding: of the text.
    """

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.size = file.seek(0, os.SEEK_END)
        file.seek(0)
        self.packed = file.read(len(GZIP)) == GZIP
        self.encoding = "utf-8-sig"
        with contextlib.suppress(OSError, EOFError, zlib.error):  # Raised again later.
            self.encoding = encoding_of(self._counted(any_length=True).read1(2))

    def read(self) -> bytes:
        """Returns the bytes of the file as they are."""
        self._file.seek(0)
        return self._file.read()

    def lines(self, kind: str, any_length: bool = False) -> Iterator[str]:
        """Yields the lines of the file from its start.

        Args:
          kind: the kind of file, which errors name.
          any_length: whether lines may be longer than `LONGEST`.

        Raises:
          ValueError: as `blocks` does.
        """
        with readable(kind), _as_text(self._counted(any_length), self.encoding) as text:
            while block := text.readlines(_BLOCK):
                yield from block

    def blocks(self, kind: str) -> Iterator[str]:
        """Yields blocks of whole lines of the file from its start.

        Args:
          kind: the kind of file, which errors name.

        Raises:
          ValueError: the file is no text, a line is too long, or the file unpacks to
            suspiciously many bytes.
        """
        with readable(kind), _as_text(self._counted(False), self.encoding) as text:
            while block := text.read(_BLOCK):
                yield block + text.readline()

    def first_character(self, kind: str) -> str:
        """Returns the first character that is no space, or "" if there is none."""
        counted = self._counted(any_length=True)
        with readable(kind), _as_text(counted, self.encoding) as text:
            while found := text.read(_BLOCK):
                if found.strip():
                    return found.lstrip()[0]
        return ""

    def _counted(self, any_length: bool) -> _Counted:
        self._file.seek(0)
        if self.packed:
            unpacked = gzip.GzipFile(fileobj=self._file)
            return _Counted(unpacked, self.size, any_length)
        return _Counted(self._file, None, any_length)


def number_of_lines(text: str) -> int:
    """Returns the number of lines of a text, which end as those of files do."""
    ends = text.count("\n") + text.count("\r") - text.count("\r\n")
    return ends + (text[-1:] not in ("", "\n", "\r"))


def lines_of(text: str) -> list[str]:
    """Returns the lines of a text with their ends; `splitlines` knows more ends."""
    return list(io.StringIO(text, newline=""))


def encoding_of(start: bytes) -> str:
    """Returns the encoding of a text by its first two bytes."""
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if start.startswith(marks) else "utf-8-sig"


@contextlib.contextmanager
def _as_text(file: Any, encoding: str) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(file, encoding, newline="")
    try:
        yield text
    finally:
        text.detach()  # Otherwise the file, still needed, would be closed.


@contextlib.contextmanager
def readable(kind: str) -> Iterator[None]:
    """Turns the errors of reading a file that is no text in UTF-8 into ValueError."""
    try:
        yield
    except (UnicodeDecodeError, csv.Error, EOFError, zlib.error) as failed:
        raise ValueError(f"not a {kind} file in UTF-8: {failed}") from None
    except gzip.BadGzipFile as failed:  # An OSError without a number.
        raise ValueError(f"a damaged .gz file: {failed}") from None
