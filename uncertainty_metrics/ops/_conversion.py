"""From tensors and their types to NumPy's."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics.ops._backend import IS_JAX, IS_TENSORFLOW, xp

if TYPE_CHECKING or not IS_TENSORFLOW:
    import keras
if TYPE_CHECKING or IS_JAX:
    import jax
if TYPE_CHECKING or not (IS_TENSORFLOW or IS_JAX):
    import torch


@functools.cache
def dtype_name(dtype: Any) -> str:
    """Returns the name of a type of JAX or PyTorch, such as "float32"."""
    return keras.backend.standardize_dtype(dtype)


def numpy_dtype(of: Any) -> np.dtype:
    """Returns NumPy's type for a type of the backend, or for the type of a tensor."""
    dtype = of.dtype if xp.is_tensor(of) else of
    if IS_TENSORFLOW:
        return np.dtype(dtype.as_numpy_dtype)
    return np.dtype(dtype_name(dtype))


def is_floating(tensor: xp.Tensor) -> bool:
    """Returns whether a tensor holds real numbers, not integers or booleans."""
    if IS_TENSORFLOW:
        return bool(tensor.dtype.is_floating)
    return "float" in dtype_name(tensor.dtype)


def to_numpy(tensor: Any) -> np.ndarray:
    """Returns the values as an array, without a copy where that is possible, and
    without gradients.
    """
    if IS_TENSORFLOW:
        return np.asarray(tensor)
    if IS_JAX:
        return np.asarray(jax.lax.stop_gradient(tensor))
    if not xp.is_tensor(tensor):
        return np.asarray(tensor)
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:  # PyTorch has no NumPy type for it.
        return tensor.float().numpy().astype(dtype_name(tensor.dtype))
    return tensor.numpy()


def tensor_of(value: Any) -> Any:
    """Returns the tensor of a Keras variable, and any other value as it is."""
    return value.value if isinstance(value, keras.Variable) else value


def for_numpy(argument: Any) -> Any:
    """Returns an argument as the functions of the NumPy half take it: NumPy converts
    tensors of TensorFlow by itself, but not all tensors of JAX and PyTorch.
    """
    if IS_TENSORFLOW:
        return argument
    argument = tensor_of(argument)
    return to_numpy(argument) if xp.is_tensor(argument) else argument
