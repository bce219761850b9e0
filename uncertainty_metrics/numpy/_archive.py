"""Reads .npz archives that may be damaged or hostile: checks sizes before unpacking."""

from __future__ import annotations

import io
import math
import os
import warnings
import zipfile
from collections.abc import Iterable
from typing import IO

import numpy as np

# A hostile archive of a few bytes may unpack to gigabytes. Compression seldom makes
# numbers more than ten times smaller, but a state that is mostly zeros may shrink more.
MAX_BYTES = 128 * 2**20
_MAX_RATIO = 128
# The compression methods that NumPy writes. Other methods may need gigabytes to unpack
# a byte.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# By the version of the .npy format: size of the length field, and reader of the header.
_HEADERS = {
    (1, 0): (2, np.lib.format.read_array_header_1_0),
    (2, 0): (4, np.lib.format.read_array_header_2_0),
}
_MAX_HEADER = 10_000


def bytes_of(shape: Iterable[int], dtype: np.dtype) -> int:
    """Returns the memory of an array in computations, at least 8 bytes a number."""
    return math.prod(shape) * max(dtype.itemsize, 8)


def check_size(size: int, file: IO[bytes]) -> None:
    """Raises ValueError if `size` is suspiciously large for the content of a file."""
    check_growth(size, file.seek(0, os.SEEK_END))


def check_growth(size: int, packed: int) -> None:
    """Raises ValueError if `packed` bytes would unpack to suspiciously many, `size`."""
    if size > max(MAX_BYTES, _MAX_RATIO * packed):
        raise ValueError(
            f"its {packed} bytes would unpack to {size}, more than {_MAX_RATIO} times "
            f"as many and more than {MAX_BYTES // 2**20} MiB; a file without "
            "compression may have any size"
        )


class Archive:
    """An .npz archive.

    Args:
      file: a file opened for reading bytes.

    Attributes:
      names: names of the arrays, in the order of the file.

    Raises:
      ValueError: the file is no such archive.
    """

    def __init__(self, file: IO[bytes]):
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except Exception:  # Damaged archives raise some ten types of errors.
            raise ValueError(
                "not an .npz archive of arrays; pickles are never loaded"
            ) from None
        members = self._zip.infolist()
        self.names = [member.filename.removesuffix(".npy") for member in members]
        self._members = dict(zip(self.names, members, strict=True))

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Returns the named arrays; checks the sizes of all before it unpacks any.

        Raises:
          ValueError: an array cannot be read, or they are suspiciously large.
        """
        names = list(names)
        check_size(sum(map(self.stated_bytes, names)), self._file)
        return {name: self._array(name) for name in names}

    def stated_bytes(self, name: str) -> int:
        """Returns the memory of an array by its header; raises ValueError unless the
        header can be read and the archive has as many bytes as it says.
        """
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
                # NumPy would read all of a header, which may declare a length of 4 GB.
                header = io.BytesIO(start + file.read(min(length, _MAX_HEADER)))
                header_end = file.tell()
            with warnings.catch_warnings():  # Python may warn when it parses a header.
                warnings.simplefilter("ignore")
                shape, _, dtype = read_header(header)
            size = math.prod(shape) * dtype.itemsize
        except Exception:
            raise _unreadable(name, "it is damaged") from None
        if dtype.hasobject:
            raise _unreadable(name, "it holds pickled objects")
        if header_end + size != member.file_size:
            raise _unreadable(name, "it is damaged")
        return bytes_of(shape, dtype)

    def _array(self, name: str) -> np.ndarray:
        try:
            with self._zip.open(self._members[name]) as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = np.lib.format.read_array(file, allow_pickle=False)
                file.read()  # The CRC is checked at the end of the file.
            return array
        except Exception:
            raise _unreadable(name, "it is damaged") from None


def _unreadable(name: str, reason: str) -> ValueError:
    return ValueError(f"cannot read `{name}`: {reason}")
