"""Damaged and hostile files, made of intact ones."""

from __future__ import annotations

import functools
import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.outcomes import Outcome, call

# Memory that reading a file of some kilobytes may take.
_MEMORY = 64 * 2**20


def damaged(rng, data: bytes) -> bytes:
    """Flips, cuts, doubles or overwrites some bytes."""
    data = bytearray(data)
    start, end = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    end = min(end, start + int(rng.choice([1, 16, 10**6])))
    change = rng.integers(5)
    if change == 0:
        for i in rng.integers(0, len(data), rng.integers(1, 9)):
            data[i] ^= 1 << rng.integers(8)
    elif change == 1:
        del data[start:]
    elif change == 2:
        del data[start:end]
    elif change == 3:
        data[end:end] = data[start:end]
    else:
        data[start:end] = rng.bytes(end - start)
    return bytes(data)


def damaged_archive(rng, data: bytes) -> bytes:
    """Damages an archive of arrays: its bytes, headers, members or declared sizes."""
    change = rng.integers(3)
    if change == 0:
        return damaged(rng, data)
    if change == 1:
        return _other_headers(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = str(rng.choice([*members]))
    content = _MEMBERS[rng.integers(len(_MEMBERS))](rng, members[name])
    kind = int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for other, value in members.items():
            archive.writestr(other, content if other == name else value)
        if rng.random() < 0.2:
            archive.writestr(f"{rng.choice(['x', 'a/../b', chr(0x202E)])}.npy", content)
        if rng.random() < 0.1:
            packed = zipfile.ZipInfo("zeros.npy")
            packed.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(packed, _zeros())
    return file.getvalue()


def _other_headers(rng, data):
    """Overwrites a number in a header of a member or of the directory."""
    data = bytearray(data)
    marks = [
        i
        for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
        for i in range(len(data))
        if data.startswith(mark, i)
    ]
    start = int(rng.choice(marks)) + int(rng.integers(4, 46))
    value = rng.choice([0, 1, 8, 12, 14, 2**16 - 1, 2**31, 2**32 - 1])
    size = 2 if value < 2**16 and rng.random() < 0.5 else 4
    data[start : start + size] = int(value).to_bytes(size, "little")
    return bytes(data)


@functools.cache
def _zeros():
    """Returns an array of twice the allowed memory, which packs into little."""
    return npy("<f8", (2 * _MEMORY // 8,), bytes(2 * _MEMORY))


def npy(descr: Any, shape: Any, content: bytes = b"") -> bytes:
    """Returns a file of an array, with any description in its header."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    header = text.encode() + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + content


_MEMBERS: tuple[Callable[[np.random.Generator, bytes], bytes], ...] = (
    damaged,
    lambda rng, data: npy("<f8", (2**40,), data[-64:]),
    lambda rng, data: npy("<i8", (2**31, 2**31)),
    lambda rng, data: npy("<i8", (-1, 3), data[-48:]),
    lambda rng, data: npy("<f8", "(" * 3000 + ")" * 3000),
    lambda rng, data: npy("|O", (3,), b"\x80\x04N."),
    lambda rng, data: npy("<U1000000000", ()),
    lambda rng, data: npy([("x", "<f8")], (3,), bytes(24)),
    lambda rng, data: npy("<f8", (), np.float64(rng.normal()).tobytes()),
    lambda rng, data: npy("<c16", (12,), bytes(192)),
    lambda rng, data: b"",
)


def bounded(function: Callable[[], Any]) -> tuple[Outcome, str | None]:
    """Calls a function; returns its outcome, and a complaint about too much memory."""
    tracemalloc.start()
    try:
        done = call(lambda: (function() and 0.0) or 0.0, {})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return done, f"took {peak >> 20} MiB" if peak > _MEMORY else None
