"""Contenders of this package on compiled JAX or on PyTorch, by `KERAS_BACKEND`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from data import Data
from harness import JAX, Timed

import uncertainty_metrics as um

_COMPILES = keras.backend.backend() == JAX


def _compiled(function: Callable) -> Callable:
    """Compiles a function on JAX; it returns only when its results are computed."""
    if not _COMPILES:
        return function
    import jax

    compiled = jax.jit(function)
    return lambda *args, **named: jax.block_until_ready(compiled(*args, **named))


def _tensors(data: Data) -> dict[str, Any]:
    return {
        name: keras.ops.convert_to_tensor(values)
        for name, values in data._asdict().items()
    }


def _number(result: Any) -> float:
    """Returns the mean of a result; for several parts, the mean of their means."""
    parts = keras.tree.flatten(result)
    return float(np.mean([np.mean(keras.ops.convert_to_numpy(x)) for x in parts]))


def function(data: Data, name: str, **options: Any) -> Timed:
    """A function of `uncertainty_metrics` on all the data."""
    compute = functools.partial(operator.attrgetter(name)(um), **options)
    compute, tensors = _compiled(compute), _tensors(data)
    return Timed(
        call=lambda: compute(**tensors), value=lambda: _number(compute(**tensors))
    )


def update(data: Data, name: str, **options: Any) -> Timed:
    """An update of a Keras metric with one batch."""
    metric = getattr(um, name)(**options)
    batch = list(_tensors(data).values())
    metric.update_state(*batch)  # The first update creates the state.

    def value() -> float:
        metric.reset_state()
        metric.update_state(*batch)
        return _number(metric.result())

    if not _COMPILES:
        update_state = functools.partial(metric.update_state, *batch)
        return Timed(call=update_state, value=value, reset=metric.reset_state)
    step = _compiled(metric.stateless_update_state)
    state = [[variable.value for variable in metric.variables]]

    def call():
        state[0] = step(state[0], *batch)

    return Timed(call=call, value=value)
