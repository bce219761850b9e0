"""The arithmetic of tensors, written once: pure functions of static shapes, which
return a value and whether to trust it.

`xp` is TensorFlow, or `_on_keras`, the same names for the other backends of Keras.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = [
    "IS_TENSORFLOW",
    "LEGACY",
    "backend",
    "is_floating",
    "no_gradients",
    "numpy_dtype",
    "plain",
    "to_numpy",
    "wide",
    "xp",
]

# As TensorFlow reads it.
LEGACY = os.environ.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1")


def backend() -> str:
    """Returns the backend of Keras, without importing Keras to know it."""
    if LEGACY:
        return "tensorflow"
    told = os.environ.get("KERAS_BACKEND")
    home = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    if "keras" in sys.modules or (not told and (home / "keras.json").exists()):
        import keras

        return str(keras.config.backend())
    return told or "tensorflow"


IS_TENSORFLOW = backend() == "tensorflow"
if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as xp
else:
    from uncertainty_metrics.ops import _tensorflow_names as xp


def numpy_dtype(of: Any) -> np.dtype:
    """Returns NumPy's type for that of a tensor, or for a type."""
    dtype = of.dtype if xp.is_tensor(of) else of
    if IS_TENSORFLOW:
        return np.dtype(dtype.as_numpy_dtype)
    return np.dtype(xp.name(dtype))


def is_floating(tensor: xp.Tensor) -> bool:
    """Says if a tensor is real, not of integers or booleans."""
    if IS_TENSORFLOW:
        return bool(tensor.dtype.is_floating)
    return "float" in xp.name(tensor.dtype)


def to_numpy(tensor: xp.Tensor) -> np.ndarray:
    """Returns the values, without a copy where that can be."""
    return np.asarray(tensor) if IS_TENSORFLOW else xp.to_numpy(tensor)


def plain(argument: Any) -> Any:
    """Returns an argument as the functions of NumPy take it, who know no backend."""
    if IS_TENSORFLOW or not (xp.is_tensor(argument) or xp.is_variable(argument)):
        return argument
    return to_numpy(xp.convert_to_tensor(argument))


def no_gradients() -> contextlib.AbstractContextManager[object]:
    """Returns a context of metrics, whose values nobody takes gradients of."""
    return contextlib.nullcontext() if IS_TENSORFLOW else xp.no_gradients()


def wide() -> contextlib.AbstractContextManager[object]:
    """Returns a context with numbers of 64 bits, which JAX lacks elsewhere."""
    return contextlib.nullcontext() if IS_TENSORFLOW else xp.wide()
