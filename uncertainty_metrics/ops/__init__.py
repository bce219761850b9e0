"""The arithmetic of tensors, written once for TensorFlow, JAX and PyTorch.

`xp` has the names of TensorFlow, as `xp.reduce_sum` or `xp.math.log`: it is the module
`tensorflow` itself, or, on JAX and PyTorch, the table of the same names on `keras.ops`
at the end of `_tensorflow_names.py`. It is not the `xp` of NumPy, CuPy and the array
API, whose names are others (`xp.sum`, `xp.log`), and it holds arithmetic alone:
`_execution` has what else the backends do differently, such as compilation.

The functions are pure, shapes are static, and no Python branch depends on a value. Most
functions return a value and whether to trust it.
"""

from __future__ import annotations

from uncertainty_metrics.ops._backend import (
    IS_JAX,
    IS_TENSORFLOW,
    LEGACY,
    backend,
    xp,
)
from uncertainty_metrics.ops._conversion import (
    for_numpy,
    is_floating,
    numpy_dtype,
    to_numpy,
)

__all__ = [
    "IS_JAX",
    "IS_TENSORFLOW",
    "LEGACY",
    "backend",
    "for_numpy",
    "is_floating",
    "numpy_dtype",
    "to_numpy",
    "xp",
]
