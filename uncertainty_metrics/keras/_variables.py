"""The variables of a metric, and how a batch is added to them: by each worker, in a
graph or in one call, on every backend.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics.keras import _tf_variables
from uncertainty_metrics.ops import IS_TENSORFLOW, _execution, _sums, xp


def raw(variable: Any) -> Any:
    """Returns the TensorFlow variable; a tensor inside a Keras 3 StatelessScope, and
    for the other backends; of several, which are vectors, one tensor.
    """
    if isinstance(variable, tuple):
        return xp.concat([xp.convert_to_tensor(raw(v)) for v in variable], axis=-1)
    is_own = _tf_variables.is_variable(variable)
    return variable if is_own else variable.value


def _parted(variables: tuple[Any, ...], value: Any) -> list[xp.Tensor]:
    """Returns the part of each, as `raw` puts them together."""
    return xp.split(value, len(variables), axis=-1)


def add(variable: Any, value: xp.Tensor | _sums.Scattered) -> None:
    """Adds to a variable, or to some places of it, without losing what other workers
    add meanwhile.
    """
    if isinstance(variable, tuple):
        for each, part in zip(variable, _parted(variable, value), strict=True):
            add(each, part)
        return
    own = raw(variable)
    if isinstance(value, _sums.Scattered):
        if _tf_variables.is_plain(own) and not _execution.has_strategy():
            # A quarter of the time of `scatter_nd_add`.
            _tf_variables.add_to_places(own, value.places, value.values)
        else:
            add(variable, _sums.dense(value, variable.shape))
    elif IS_TENSORFLOW and len(value.shape) != len(variable.shape):
        add(variable, xp.reshape(value, variable.shape))
    elif not _tf_variables.is_variable(own):
        variable.assign(_sums.stored(_sums.loaded(xp.convert_to_tensor(own)) + value))
    elif not (_tf_variables.is_plain(own) or _execution.has_strategy()):
        with own.distribute_strategy.scope():
            add(variable, value)
    elif _tf_variables.is_coordinator():
        _tf_variables.add_on_one_replica(own, value)
    else:
        own.assign_add(value)  # Keras 3's own assign_add reads, adds and writes.


def read(variable: Any) -> xp.Tensor:
    """Returns the value summed over replicas, inside a replica too."""
    if _tf_variables.is_replica():
        return _tf_variables.sum_over_replicas(variable)
    return _sums.loaded(xp.convert_to_tensor(variable))


class State(NamedTuple):
    """The variables of a metric, or tuples of those of several: vectors of one size,
    which are one, one after the other.
    """

    invalid: Any
    units: Any
    hi: Any
    lo: Any


def joined(states: Iterable[State]) -> State:
    """Returns the state of several, which counts no invalid batches, or of one."""
    first, *others = states
    if not others:
        return first
    _, *parts = zip(first, *others, strict=True)
    return State(None, *parts)


def _if_valid(valid: xp.Tensor, units: xp.Tensor) -> xp.Tensor:
    return units * xp.cast(valid, units.dtype)  # In one pass.


def _steps(
    hi: Any, lo: Any, sums: _sums.Sums, valid: xp.Tensor, invalid: xp.Tensor | None
) -> list[Any]:
    """Returns what to add to the first two variables of a state, or to all: the sums if
    they are valid, and a number of invalid batches.
    """
    sums = _sums.settled(sums)
    units, rows = sums.units, sums.rows
    if rows is not None and rows.shape[0] == hi.shape[0]:
        rows = None
    if isinstance(units, _sums.Scattered):
        units = units._replace(values=_if_valid(valid, units.values))
    else:
        units = _if_valid(valid, units)
    if sums.hi is None or sums.lo is None:
        return [invalid, units]
    hi, lo = (_held(part, rows) for part in (hi, lo))
    # Adding -0.0 changes no bit; adding a sum of nothing may round the pair anew.
    pair = (
        xp.where(valid, step, xp.constant(-0.0, step.dtype))
        for step in _sums.pair_steps(hi, lo, sums.hi, sums.lo)
    )
    steps = [units, *pair]
    if rows is not None:
        steps = [_sums.Scattered(rows, step) for step in steps]
    return [invalid, *steps]


def _held(variable: Any, rows: xp.Tensor | None) -> xp.Tensor:
    """Returns what a variable holds, or some rows, without reading the others."""
    if rows is None or not _tf_variables.is_plain(variable):
        variable = xp.convert_to_tensor(variable)
    return variable if rows is None else xp.gather(variable, rows)


def _plus(sums: xp.Tensor, step: xp.Tensor | _sums.Scattered) -> xp.Tensor:
    """Returns the sums after a step, which may be of some rows."""
    if not isinstance(step, _sums.Scattered):
        return _sums.stored(_sums.loaded(sums) + step)
    number, columns = sums.shape[-2:]
    rows = step.places
    held = _sums.loaded(xp.gather(sums, rows, axis=-2))
    flat = xp.reshape(sums, [-1, columns])  # There may be two for each, of limbs.
    limbs = range(flat.shape[0] // number)
    return xp.reshape(
        xp.tensor_scatter_nd_update(
            flat,
            xp.concat([rows + limb * number for limb in limbs], axis=0)[:, None],
            xp.reshape(_sums.stored(held + step.values), [-1, columns]),
        ),
        sums.shape,
    )


def _added(
    state: list[Any],
    sums: _sums.Sums,
    valid: xp.Tensor,
    invalid: xp.Tensor | None,
) -> list[xp.Tensor]:
    """Returns what the variables hold after a batch, where they are none of
    TensorFlow's.
    """
    steps = _steps(state[2], state[3], sums, valid, invalid)
    return [
        held if step is None else _plus(held, step)
        for held, step in zip(state, steps, strict=False)
    ]


_added_at_once = _added if IS_TENSORFLOW else _execution.compiled(_added)


def add_batch(
    state: State, sums: _sums.Sums, valid: xp.Tensor, invalid: xp.Tensor | None
) -> None:
    """Adds the sums if they are valid, and a number of invalid batches."""
    if IS_TENSORFLOW:
        steps = _steps(raw(state.hi), raw(state.lo), sums, valid, invalid)
        for variable, value in zip(state, steps, strict=False):
            if value is not None:
                add(variable, value)
    else:
        held = [None if part is None else raw(part) for part in state]
        _assign_all(state, _added_at_once(held, sums, valid, invalid))


NOTHING = np.zeros([], np.int64)

# What adds up a batch: called with options and data, returns the sums and whether they
# are valid.
BatchSums = Callable[..., tuple[_sums.Sums, xp.Tensor]]


def _batch(
    batch_sums: BatchSums, state: State | None, invalid: xp.Tensor, *data: Any
) -> tuple[_sums.Sums | None, xp.Tensor]:
    sums, valid = batch_sums(*data)
    if state is None:
        return sums, valid
    add_batch(state, sums, valid, invalid)
    return None, valid


def graph(
    batch_sums: BatchSums, options: tuple[Any, ...], shape: tuple[int, ...]
) -> Callable[..., tuple[_sums.Sums | None, xp.Tensor]]:
    """Returns an eager update as one call, which costs less than sixty, and which no
    interrupt leaves half done; without a state it returns the sums instead.

    There is one for each shape of what belongs to an example, so that only the size of
    the batch varies from call to call.
    """
    return _graphs(batch_sums, options)(shape)


@functools.lru_cache(maxsize=256)
def _graphs(batch_sums: BatchSums, options: tuple[Any, ...]) -> Callable[..., Any]:
    """Returns a function of the shape, which keeps few graphs: one may take 2 MB."""

    @functools.lru_cache(maxsize=8)
    def graph(shape: tuple[int, ...]) -> Any:
        del shape
        update = functools.partial(_batch, functools.partial(batch_sums, *options))
        return _execution.compiled(update, any_size=True)

    return graph


def given(valid: xp.Tensor, *sums: Any) -> tuple[_sums.Sums, xp.Tensor]:
    return _sums.Sums(*sums), valid


def assign(variables: list[Any], values: list[Any]) -> None:
    """Assigns the values, and zeros where there is none."""
    stored = [
        xp.zeros(variable.shape, variable.dtype)
        if value is None
        else _sums.stored(value)
        for variable, value in zip(variables, values, strict=True)
    ]
    _assign_all(variables, stored)


def _assign_all(variables: Iterable[Any], values: Iterable[Any]) -> None:
    """Assigns what there is: all of it if an interrupt comes between."""
    pairs: list[tuple[Any, Any]] = []
    for variable, value in zip(variables, values, strict=False):
        if isinstance(variable, tuple):
            pairs += zip(variable, _parted(variable, value), strict=True)
        elif value is not None:
            pairs.append((variable, value))
    try:
        for variable, value in pairs:
            variable.assign(value)
    except BaseException:
        for variable, value in pairs:
            variable.assign(value)
        raise


@functools.lru_cache(maxsize=64)
def assign_graph(shapes: tuple[tuple[int, ...], ...]) -> Callable[..., None]:
    """Returns `assign` as one call, which no interrupt leaves half done."""
    del shapes  # One graph for each: none is traced anew.
    return _execution.compiled(assign)
