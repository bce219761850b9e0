"""Says when compiled loops take the place of NumPy: if Numba is installed, as with the
extra `fast`, and arrays are large.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from uncertainty_metrics.numpy import _threads

# In a process that has imported Numba, a loop takes less time than NumPy from about
# this many numbers on.
_MANY = 2**16
# For this many numbers a loop saves, in one call, the time that the import of Numba
# takes. With fewer no call imports it.
_WORTH_AN_IMPORT = 10**8


def loops(*arrays: np.ndarray) -> ModuleType | None:
    """Returns the module of compiled loops if it is worth to use it for these arrays;
    None if not, or if Numba is not installed.

    The arrays must share one of two types, because each combination of types takes
    about a second to compile, once on a machine.
    """
    many = _MANY if "numba" in sys.modules else _WORTH_AN_IMPORT
    if max(array.size for array in arrays) < many:
        return None
    kinds = {array.dtype for array in arrays}
    if kinds not in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        return None
    contiguous = all(array.flags.c_contiguous for array in arrays)
    return _module() if contiguous else None


@functools.cache
def _module() -> ModuleType | None:
    try:
        from uncertainty_metrics.numpy import _numba_loops
    except (ImportError, RuntimeError):  # Not installed; no folder for compiled code.
        return None
    return _numba_loops


def fill(
    out: np.ndarray, loop: Callable[..., bool], *arrays: np.ndarray, options: Any = ()
) -> bool:
    """Fills an array by a compiled loop, and says if all results are ordinary.

    Args:
      out: the array to fill, [n, ...].
      loop: function of the rows of the arrays, the options and the rows of `out`.
      *arrays: of n rows.
      options: other arguments.
    """

    def of_rows(rows: slice) -> bool:
        return loop(*(array[rows] for array in arrays), *options, out[rows])

    row_size = max(array.size for array in arrays) // len(out)
    return all(_threads.map_rows(of_rows, len(out), row_size))
