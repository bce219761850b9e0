"""Tensors and compiled functions of the backend in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from uncertainty_metrics.ops import IS_TENSORFLOW, backend

IS_JAX = backend() == "jax"
# One case in so many is compiled, as compiling takes most of the time. PyTorch compiles
# nothing: these cases pass tensors, and all others pass arrays.
RARELY = {"tensorflow": 10, "jax": 30, "torch": 2}[backend()]

if IS_TENSORFLOW:
    import tensorflow as tf

    tensor, flatten = tf.constant, tf.nest.flatten
else:
    from keras import ops, tree

    tensor, flatten = ops.convert_to_tensor, tree.flatten
if IS_JAX:
    import jax

# What the backends raise for a value that cannot be a tensor. PyTorch raises
# RuntimeError for an integer that is too large.
NOT_CONVERTIBLE = (TypeError, ValueError, OverflowError, RuntimeError)
# JAX turns float64 into float32, unless JAX_ENABLE_X64=1.
KEEPS_FLOAT64 = not IS_JAX or jax.config.jax_enable_x64


def compiled(
    function: Callable[..., Any],
    signature: Sequence[Any] | None = None,
    jit_compile: bool = False,
) -> Callable[..., Any]:
    """Returns the function compiled, or itself if the backend compiles nothing."""
    if IS_TENSORFLOW:
        return tf.function(
            function, signature, autograph=False, jit_compile=jit_compile
        )
    return jax.jit(function) if IS_JAX else function


def compiled_update(metric: Any) -> Callable[..., None]:
    """Returns `update_state` compiled; on JAX the metric must have its variables."""
    if not IS_JAX:
        return compiled(metric.update_state)
    step = compiled(metric.stateless_update_state)

    def update(*batch: Any) -> None:
        state = step([variable.value for variable in metric.variables], *batch)
        for variable, value in zip(metric.variables, state, strict=True):
            variable.assign(value)

    return update
