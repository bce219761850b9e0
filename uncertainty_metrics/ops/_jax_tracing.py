"""Whether JAX is tracing a function, found without the cost of an operation."""

from __future__ import annotations

from typing import Any

import jax
import jax.extend
import jax.numpy as jnp

# Older versions have the function in `jax.core`.
_in_extend = getattr(jax.extend.core, "get_opaque_trace_state", None)
_trace_state: Any = _in_extend or jax.core.get_opaque_trace_state

with jax.ensure_compile_time_eval():
    _NO_TRACE = _trace_state("nnx")


def is_traced(value: Any) -> bool:
    """Returns whether the value of a tensor is not known yet."""
    return isinstance(value, jax.core.Tracer)


def values_are_known() -> bool:
    """Returns whether an operation on constants has a value at once.

    An operation is the sure test, and takes forty times as long as a comparison of
    trace states. It is needed where the states differ: inside of `jax.grad`, say,
    values are known.
    """
    return _trace_state("nnx") == _NO_TRACE or not is_traced(jnp.add(0, 0))
