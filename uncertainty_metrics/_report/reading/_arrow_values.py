"""The values of columns of Apache Arrow as NumPy arrays.

`to_numpy` of pyarrow imports pandas where that is installed, which takes longer than to
read a million rows. So the buffers of a column are read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def values_of(column: Any) -> np.ndarray:
    """Returns the values of a `pyarrow.ChunkedArray` or `Array` of integers or floats,
    without missing ones; those of one chunk are not copied.
    """
    kind = str(column.type).replace("double", "float64").replace("halffloat", "float16")
    dtype = np.dtype(kind.replace("float", "float32") if kind == "float" else kind)
    chunks = [
        np.frombuffer(
            chunk.buffers()[1], dtype, len(chunk), chunk.offset * dtype.itemsize
        )
        for chunk in getattr(column, "chunks", [column])
        if len(chunk)
    ]
    if len(chunks) == 1:
        return chunks[0]
    return np.concatenate([np.empty(0, dtype), *chunks])


def floats(column: Any) -> np.ndarray:
    """Returns the numbers of a column, float32 or float64; a missing one is NaN."""
    if str(column.type) not in ("float", "double"):
        column = column.cast("float64")
    if column.null_count:
        column = column.fill_null(math.nan)
    return values_of(column)


def encoded(column: Any) -> tuple[list[str], np.ndarray]:
    """Returns the different texts of a column without missing values, and the index of
    the text of each row.
    """
    found = column.cast("string").dictionary_encode().unify_dictionaries()
    words = found.chunk(0).dictionary.to_pylist() if found.num_chunks else []
    codes = [values_of(chunk.indices) for chunk in found.chunks]
    return words, np.concatenate([np.empty(0, np.int32), *codes])
