"""The variables of a metric, and how a batch is added to them on every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics.keras import _tf_variables
from uncertainty_metrics.ops import IS_TENSORFLOW, _execution, _sums, xp
from uncertainty_metrics.ops._shared_values import once


def raw(variable: Any) -> Any:
    """Returns the variable of TensorFlow, to which a batch can be added in place.

    On other backends, and in a `StatelessScope` of Keras 3, there is none: there the
    value is returned, a tensor. For a tuple of vectors one tensor is returned, in which
    their values follow each other.
    """
    if isinstance(variable, tuple):
        return xp.concat([xp.convert_to_tensor(raw(v)) for v in variable], axis=-1)
    is_own = _tf_variables.is_variable(variable)
    return variable if is_own else variable.value


def _split(variables: tuple[Any, ...], value: Any) -> list[xp.Tensor]:
    """Returns the part of a tensor for each of the vectors, in the order of `raw`."""
    return xp.split(value, len(variables), axis=-1)


def add(variable: Any, value: xp.Tensor | _sums.Scattered) -> None:
    """Adds a value to a variable; `Scattered` values are added to their places alone.

    Nothing is lost that other workers add at the same time.
    """
    if isinstance(variable, tuple):
        for each, part in zip(variable, _split(variable, value), strict=True):
            add(each, part)
        return
    own = raw(variable)
    if isinstance(value, _sums.Scattered):
        if _tf_variables.is_plain(own) and not _execution.has_strategy():
            # This takes a quarter of the time of `scatter_nd_add`.
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
        own.assign_add(value)  # The one of Keras 3 would read, add and write.


@once
def read(variable: Any) -> xp.Tensor:
    """Returns the value of a variable, summed over the replicas if there are some."""
    if _tf_variables.is_replica():
        return _tf_variables.sum_over_replicas(variable)
    return _sums.loaded(xp.convert_to_tensor(variable))


class State(NamedTuple):
    """The variables of a metric.

    A collection may add to several metrics at once. Then each variable here is a tuple
    of the variables of these metrics, which are vectors of the same size.
    """

    invalid: Any
    units: Any
    hi: Any
    lo: Any


def joined(states: Iterable[State]) -> State:
    """Returns the states of several metrics as one, or the state of a single metric.

    The state of several has no `invalid`, because their collection counts that.
    """
    first, *others = states
    if not others:
        return first
    _, *parts = zip(first, *others, strict=True)
    return State(None, *parts)


def _zero_unless_valid(units: xp.Tensor, valid: xp.Tensor) -> xp.Tensor:
    # One operation; `where` would need a tensor of zeros, too.
    return units * xp.cast(valid, units.dtype)


def _steps(
    hi: Any, lo: Any, sums: _sums.Sums, valid: xp.Tensor, invalid: xp.Tensor | None
) -> list[Any]:
    """Returns the step to add to each variable of a state, in the order of `State`.

    If the sums are whole numbers alone, there are only the steps of `invalid` and
    `units`.

    Args:
      hi: the variable `hi` of the state, or its value.
      lo: the variable `lo` of the state, or its value.
      sums: the sums of a batch.
      valid: whether to add the sums.
      invalid: the number of invalid batches to add, or None.
    """
    sums = _sums.settled(sums)
    units, rows = sums.units, sums.rows
    if rows is not None and rows.shape[0] == hi.shape[0]:
        rows = None
    if isinstance(units, _sums.Scattered):
        units = units._replace(values=_zero_unless_valid(units.values, valid))
    else:
        units = _zero_unless_valid(units, valid)
    if sums.hi is None or sums.lo is None:
        return [invalid, units]
    hi, lo = (_value(part, rows) for part in (hi, lo))
    # A batch that is not valid adds -0.0, which changes no bit. Adding +0.0 could round
    # the pair (hi, lo) again.
    pair = (
        xp.where(valid, step, xp.constant(-0.0, step.dtype))
        for step in _sums.pair_steps(hi, lo, sums.hi, sums.lo)
    )
    steps = [units, *pair]
    if rows is not None:
        steps = [_sums.Scattered(rows, step) for step in steps]
    return [invalid, *steps]


def _value(variable: Any, rows: xp.Tensor | None) -> xp.Tensor:
    """Returns the value of a variable, or of some of its rows; a variable of TensorFlow
    is then read at these rows alone.
    """
    if rows is None or not _tf_variables.is_plain(variable):
        variable = xp.convert_to_tensor(variable)
    return variable if rows is None else xp.gather(variable, rows)


def _after_step(stored: xp.Tensor, step: xp.Tensor | _sums.Scattered) -> xp.Tensor:
    """Returns the value to store in a variable after a step, given the stored one."""
    if not isinstance(step, _sums.Scattered):
        return _sums.stored(_sums.loaded(stored) + step)
    num_rows, columns = stored.shape[-2:]
    rows = step.places
    before = _sums.loaded(xp.gather(stored, rows, axis=-2))
    # An int64 may be stored as two int32: all rows of the lower ones, then all rows of
    # the higher ones.
    flat = xp.reshape(stored, [-1, columns])
    limbs = range(flat.shape[0] // num_rows)
    return xp.reshape(
        xp.tensor_scatter_nd_update(
            flat,
            xp.concat([rows + limb * num_rows for limb in limbs], axis=0)[:, None],
            xp.reshape(_sums.stored(before + step.values), [-1, columns]),
        ),
        stored.shape,
    )


def _after_batch(
    state: list[Any],
    sums: _sums.Sums,
    valid: xp.Tensor,
    invalid: xp.Tensor | None,
) -> list[xp.Tensor]:
    """Returns the values to store in the variables after a batch.

    It serves JAX and PyTorch, whose variables cannot be added to in place.
    """
    steps = _steps(state[2], state[3], sums, valid, invalid)
    return [
        stored if step is None else _after_step(stored, step)
        for stored, step in zip(state, steps, strict=False)
    ]


_compiled_after_batch = (
    _after_batch if IS_TENSORFLOW else _execution.compiled(_after_batch)
)


def add_batch(
    state: State, sums: _sums.Sums, valid: xp.Tensor, invalid: xp.Tensor | None
) -> None:
    """Adds the sums of a batch if they are valid, and a number of invalid batches."""
    if IS_TENSORFLOW:
        steps = _steps(raw(state.hi), raw(state.lo), sums, valid, invalid)
        for variable, value in zip(state, steps, strict=False):
            if value is not None:
                add(variable, value)
    else:
        stored = [None if part is None else raw(part) for part in state]
        _assign_all(state, _compiled_after_batch(stored, sums, valid, invalid))


NO_INVALID_BATCHES = np.zeros([], np.int64)

# A function that adds up a batch: it takes options and data, and returns the sums and
# whether they are valid.
BatchSums = Callable[..., tuple[_sums.Sums, xp.Tensor]]


def _sum_or_add(
    batch_sums: BatchSums, state: State | None, invalid: xp.Tensor, *data: Any
) -> tuple[_sums.Sums | None, xp.Tensor]:
    """Returns the sums of a batch, or adds them to a state; and whether they are valid.

    If there is a state, None is returned instead of the sums.
    """
    sums, valid = batch_sums(*data)
    if state is None:
        return sums, valid
    add_batch(state, sums, valid, invalid)
    return None, valid


def compiled_update(
    batch_sums: BatchSums, options: tuple[Any, ...], shape: tuple[int, ...]
) -> Callable[..., tuple[_sums.Sums | None, xp.Tensor]]:
    """Returns `_sum_or_add` as one call, a function of state, `invalid` and data.

    One call takes less time than the sixty operations in it, and an interrupt cannot
    leave it half done.

    Args:
      batch_sums: adds up the batch.
      options: the first arguments of `batch_sums`, which can be hashed.
      shape: the shape of the data of one example. Each shape has a compiled function of
        its own, for which only the size of the batch varies from call to call.
    """
    return _compiled_updates(batch_sums, options)(shape)


@functools.lru_cache(maxsize=256)
def _compiled_updates(
    batch_sums: BatchSums, options: tuple[Any, ...]
) -> Callable[..., Any]:
    """Returns a function from the shape to a compiled function.

    It keeps the functions of a few shapes only, because one may take 2 MB.
    """

    @functools.lru_cache(maxsize=8)
    def of_shape(shape: tuple[int, ...]) -> Any:
        del shape
        add_up = functools.partial(batch_sums, *options)
        update = functools.partial(_sum_or_add, add_up)
        return _execution.compiled(update, any_size=True)

    return of_shape


def computed_sums(valid: xp.Tensor, *sums: Any) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns sums that were computed before, in the form of a `BatchSums`."""
    return _sums.Sums(*sums), valid


def assign(variables: list[Any], values: list[Any]) -> None:
    """Assigns a value to each variable; None stands for zeros."""
    stored = [
        xp.zeros(variable.shape, variable.dtype)
        if value is None
        else _sums.stored(value)
        for variable, value in zip(variables, values, strict=True)
    ]
    _assign_all(variables, stored)


def _assign_all(variables: Iterable[Any], values: Iterable[Any]) -> None:
    """Assigns the values that are not None.

    If an interrupt comes between, it is raised after all of them are assigned.
    """
    pairs: list[tuple[Any, Any]] = []
    for variable, value in zip(variables, values, strict=False):
        if isinstance(variable, tuple):
            pairs += zip(variable, _split(variable, value), strict=True)
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
def compiled_assign(shapes: tuple[tuple[int, ...], ...]) -> Callable[..., None]:
    """Returns `assign` as one call, which an interrupt cannot leave half done."""
    del shapes  # For each there is a graph of its own, so none is traced again.
    return _execution.compiled(assign)
