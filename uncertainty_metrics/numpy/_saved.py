"""Files of states: .npz archives of arrays and a header, which is a JSON text."""

from __future__ import annotations

import contextlib
import json
import os
import reprlib
from collections.abc import Callable, Collection, Mapping
from typing import IO, Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._whole_files import written_whole
from uncertainty_metrics.numpy import _archive

# Bytes of the header, limited because megabytes of JSON may become gigabytes of lists.
_MAX_HEADER = 2**22

Path = str | os.PathLike[str] | IO[bytes]


def opened(path: Path, mode: str) -> Any:
    """Returns a context with an open file; a file that the caller opened stays open.

    For the mode "wb" the file at `path` is replaced when the context ends without an
    error.

    Raises:
      TypeError: `path` is neither a path nor a file. `open` would take an integer for a
        file descriptor.
    """
    if hasattr(path, "read") or hasattr(path, "write"):
        return contextlib.nullcontext(path)
    if not isinstance(path, str | bytes | os.PathLike):
        raise _checks.type_error("path", "a path, or a file opened for bytes", path)
    return written_whole(path) if mode == "wb" else open(path, mode)


class Format(NamedTuple):
    """The format of the files that a class saves.

    Attributes:
      name: name of the class, which has the method `save`.
      version: version of the format.
      entries: names of the entries of the header, besides the format, the version and
        the names of the arrays.
    """

    name: str
    version: int
    entries: tuple[str, ...]

    @property
    def _full_name(self) -> str:
        return f"uncertainty_metrics.{self.name}"

    def broken(self, reason: object) -> ValueError:
        """Returns the error for a file that cannot be read."""
        return _checks.error("path", f"a file that `{self.name}.save` wrote", reason)

    def write(
        self, path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> None:
        """Writes a file. Equal contents make equal files with one version of NumPy."""
        text = json.dumps(
            {
                "format": self._full_name,
                "version": self.version,
                **header,
                "arrays": list(arrays),
            },
            sort_keys=True,
        )
        # Large arrays are not compressed: `read` might refuse them as suspicious.
        sizes = (_archive.bytes_of(a.shape, a.dtype) for a in arrays.values())
        pack = np.savez if sum(sizes) > _archive.MAX_BYTES else np.savez_compressed
        members: dict[str, Any] = {"header": np.array(text), **arrays}
        with opened(path, "wb") as file:
            pack(file, **members)

    def read(
        self, path: Path, check_names: Callable[[Collection[str]], None]
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Returns the header and the arrays of a file; nothing in it is executed.

        Raises:
          ValueError: the file has another format or a later version, or is damaged.
        """
        with opened(path, "rb") as file:
            archive, header = self._header(file)
            names = [name for name in archive.names if name != "header"]
            if names != header["arrays"]:
                expected = f"the arrays {reprlib.repr(header['arrays'])}"
                raise _checks.error("path", expected, reprlib.repr(names), verb="hold")
            check_names(names)
            try:
                return header, archive.read(names)
            except ValueError as broken:
                raise self.broken(broken) from None

    def _header(self, file: IO[bytes]) -> tuple[_archive.Archive, dict[str, Any]]:
        try:
            archive = _archive.Archive(file)
            if archive.stated_bytes("header") > _MAX_HEADER:
                raise ValueError("the header is too long")
            header = json.loads(archive.read(["header"])["header"].item())
            format_name, version = header["format"], header["version"]
        except ValueError as broken:
            raise self.broken(broken) from None
        except Exception as broken:  # A header of another kind may raise any type.
            raise self.broken(ValueError(f"no header: {broken!r}")) from None
        if format_name != self._full_name:
            raise _checks.error(
                "format", repr(self._full_name), reprlib.repr(format_name)
            )
        if version != self.version:
            raise _checks.error(
                "version",
                f"{self.version}; later ones need a later uncertainty_metrics",
                reprlib.repr(version),
            )
        expected = (*self.entries, "arrays")
        if not set(expected) <= set(header):
            raise _checks.error(
                "header",
                f"{', '.join(expected)}",
                reprlib.repr(sorted(header)),
                verb="hold",
            )
        return archive, header
