"""Sizes of tensors that only a running graph of TensorFlow knows.

Where it finds that they do not fit, TensorFlow would raise an error of its own, and XLA
might compute with rows that are not there. These functions make the sizes fit, and say
that they did not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics.ops import _validity, is_floating, xp


def fitted(tensor: xp.Tensor, labels: xp.Tensor) -> xp.Tensor:
    """Returns a tensor that broadcasts to labels of the same rank: the same numbers, or
    NaN, or -1, if the tensor does not broadcast.
    """
    if not is_floating(tensor):
        tensor = xp.cast(tensor, xp.int64)
    sizes, goals = xp.shape(tensor), xp.shape(labels)
    goals = xp.where(sizes == 1, sizes, goals)
    wrong = xp.constant(-1 if tensor.dtype == xp.int64 else np.nan, tensor.dtype)
    fits = xp.reduce_all(sizes == goals)
    tensor = tensor[tuple(slice(None, goal) for goal in xp.unstack(goals))]
    missing = goals - xp.shape(tensor)
    tensor = xp.pad(tensor, xp.stack([xp.zeros_like(missing), missing], axis=1))
    return xp.where(fits, tensor, wrong)


def of_equal_number(
    tensors: list[xp.Tensor | None],
) -> tuple[list[Any], xp.Tensor | bool]:
    """Returns tensors [n, ...] of one n, and whether they had it before.

    For static numbers, which were compared before, nothing changes. Where a graph finds
    that they differ, all tensors lose what the shortest one lacks.
    """
    given = [tensor for tensor in tensors if tensor is not None]
    if None not in [tensor.shape[0] for tensor in given]:
        return tensors, True
    numbers = xp.stack([xp.shape(tensor)[0] for tensor in given])
    least = xp.reduce_min(numbers)
    same = xp.reduce_all(numbers == least)
    return [None if tensor is None else tensor[:least] for tensor in tensors], same


def of_one_length(*tensors: xp.Tensor | None) -> list[Any]:
    """Returns the tensors [n, ...], all with the static n that one of them has.

    A result of a tensor of static and of a tensor of dynamic n would have no static
    rank in TensorFlow.
    """
    sizes = {t.shape[0] for t in tensors if t is not None} - {None}
    if len(sizes) != 1:  # No static size, or data of several sizes, which are wrong.
        return list(tensors)
    (size,) = sizes
    return [
        t
        if t is None or t.shape[0] is not None
        else xp.ensure_shape(t, [size, *t.shape[1:]])
        for t in tensors
    ]


def alike(
    values: xp.Tensor, others: xp.Tensor, axes: int | None = None
) -> xp.Tensor | bool:
    """Returns whether two tensors have equally many numbers, or equally many rows if
    `axes` says how many of the first axes count; a boolean scalar.

    It is True for static shapes, which were compared before. Only a running graph knows
    the others, where a single row could broadcast to many.
    """
    if None not in [*values.shape[:axes], *others.shape[:axes]]:
        return True
    number, number_of_others = (
        xp.reduce_prod(xp.shape(tensor)[:axes]) for tensor in (values, others)
    )
    return number == number_of_others


def nan_unless_alike(
    values: xp.Tensor, others: xp.Tensor, axes: int | None = None
) -> xp.Tensor:
    """Returns floating values; all are NaN where a graph finds that they are not as
    many as the others, as of `alike`.
    """
    same = alike(values, others, axes)
    return values if same is True else _validity.nan_where_wrong(same, values)
