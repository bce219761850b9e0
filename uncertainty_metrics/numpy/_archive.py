"""Reads .npz archives that may be damaged or hostile: it looks before it unpacks."""

from __future__ import annotations

import io
import math
import os
import warnings
import zipfile
from collections.abc import Iterable
from typing import IO

import numpy as np

# Some bytes of an archive may become gigabytes. Numbers seldom shrink by more than ten,
# but a state that is mostly zeros may.
MOST_BYTES = 128 * 2**20
_MOST_RATIO = 128
# Those that NumPy writes. Others may ask for gigabytes to unpack a byte.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADERS = {
    (1, 0): (2, np.lib.format.read_array_header_1_0),
    (2, 0): (4, np.lib.format.read_array_header_2_0),
}
_MOST_HEADER = 10_000


def bytes_of(shape: Iterable[int], dtype: np.dtype) -> int:
    """Returns what an array may take once it is computed with."""
    return math.prod(shape) * max(dtype.itemsize, 8)


def check_size(size: int, file: IO[bytes]) -> None:
    """Raises ValueError if a file says that it holds far more than it can."""
    check_growth(size, file.seek(0, os.SEEK_END))


def check_growth(size: int, packed: int) -> None:
    """Raises ValueError if so many bytes say that they are far more than they can."""
    if size > max(MOST_BYTES, _MOST_RATIO * packed):
        raise ValueError(
            f"its {packed} bytes would become {size}, more than {_MOST_RATIO} times as "
            f"many and than {MOST_BYTES // 2**20} MiB; without compression a file may "
            "have any size"
        )


class Archive:
    """An .npz archive.

    Args:
      file: opened for reading bytes.

    Attributes:
      names: of the arrays, in the order of the file.

    Raises:
      ValueError: it is no such archive.
    """

    def __init__(self, file: IO[bytes]):
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except Exception:  # Damaged archives raise some ten types.
            raise ValueError(
                "not an .npz archive of arrays; pickles are never loaded"
            ) from None
        members = self._zip.infolist()
        self.names = [member.filename.removesuffix(".npy") for member in members]
        self._members = dict(zip(self.names, members, strict=True))

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Returns some of the arrays; their sizes are looked at before any is unpacked.

        Raises:
          ValueError: one cannot be read, or they are suspiciously large.
        """
        names = list(names)
        check_size(sum(map(self.declared, names)), self._file)
        return {name: self._array(name) for name in names}

    def declared(self, name: str) -> int:
        """Returns the bytes that an array says it takes, which must be there."""
        member = self._members[name]
        if self.names.count(name) > 1:
            raise ValueError(f"`{name}` is there twice")
        if member.compress_type not in _METHODS:
            raise _unreadable(name, "it is compressed in a way that NumPy never does")
        try:
            with self._zip.open(member) as file:
                width, read_header = _HEADERS[np.lib.format.read_magic(file)]
                start = file.read(width)
                length = int.from_bytes(start, "little")
                # One of 4 GB may be declared, and NumPy would read it all.
                header = io.BytesIO(start + file.read(min(length, _MOST_HEADER)))
                place = file.tell()
            with warnings.catch_warnings():  # Of Python, which parses it.
                warnings.simplefilter("ignore")
                shape, _, dtype = read_header(header)
            size = math.prod(shape) * dtype.itemsize
        except Exception:
            raise _unreadable(name, "it is damaged") from None
        if dtype.hasobject:
            raise _unreadable(name, "it holds pickled objects")
        if place + size != member.file_size:
            raise _unreadable(name, "it is damaged")
        return bytes_of(shape, dtype)

    def _array(self, name: str) -> np.ndarray:
        try:
            with self._zip.open(self._members[name]) as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = np.lib.format.read_array(file, allow_pickle=False)
                file.read()  # Only its end shows a wrong CRC.
            return array
        except Exception:
            raise _unreadable(name, "it is damaged") from None


def _unreadable(name: str, reason: str) -> ValueError:
    return ValueError(f"cannot read `{name}`: {reason}")
