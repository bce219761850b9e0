"""Checks of predictions of ensembles and of two models, and votes of members."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs, _threads

# Numbers of a block: results that do not fit in the cache take twice the time.
_BLOCK = 2**18


def check_members(name: str, shape: _checks.Shape, ensemble_axis: Any) -> int:
    """Returns the axis of the members, counted from the front.

    Raises:
      ValueError: the shape is not that of an ensemble, or it has no such axis.
    """
    shape = list(shape)
    if len(shape) < 3:
        raise _checks.error(
            name,
            "of rank 3 or more, with an axis of members, and classes on the last axis",
            f"shape {shape}",
        )
    check_shape(name, shape)
    try:
        axis = operator.index(ensemble_axis)
    except TypeError:
        axis = -1  # The axis of the classes.
    if isinstance(ensemble_axis, bool) or (
        not -len(shape) <= axis < len(shape) or axis % len(shape) == len(shape) - 1
    ):
        raise _checks.error(
            "ensemble_axis",
            f"an axis of `{name}`, of shape {shape}, other than the last",
            repr(ensemble_axis),
        )
    return axis % len(shape)


def check_shape(name: str, shape: _checks.Shape, rank: int = 1, size: int = 1) -> None:
    """Raises ValueError unless the shape is [..., K], not empty, of rank >= `rank`, and
    K is static and >= `size`.
    """
    shape = list(shape)
    if 0 in shape:
        raise _checks.error(name, "at least one example", f"shape {shape}", verb="hold")
    if len(shape) < rank or shape[-1] is None or shape[-1] < size:
        axes = "[N, ..., K]" if rank == 2 else "[..., K]"
        least = f" >= {size}" if size > 1 else ""
        raise _checks.error(
            name, f"of shape {axes} with a static K{least}", f"shape {shape}"
        )


def check_pair(
    names: tuple[str, str], shapes: Sequence[_checks.Shape], **least: int
) -> None:
    """Raises ValueError unless both shapes are the same and pass `check_shape`."""
    check_shape(names[0], shapes[0], **least)
    if not _checks.compatible(*shapes):
        raise _checks.error(
            names[1],
            f"of the shape of `{names[0]}`, {list(shapes[0])}",
            f"shape {list(shapes[1])}",
        )


def check_labels(
    labels: _checks.Shape, name: str, shape: _checks.Shape, leading: _checks.Shape
) -> None:
    """Raises ValueError unless the labels have the shape `leading`, or one more axis of
    1. `shape` is the shape of the predictions.
    """
    labels, shape, leading = list(labels), list(shape), list(leading)
    if labels[len(leading) :] == [1]:
        labels = labels[:-1]
    if not _checks.compatible(labels, leading):
        expected = f"of shape {leading}, for `{name}` of shape {shape}"
        if leading == shape[:-2] and _checks.compatible(labels, shape[1:-1]):
            expected += (
                "; if members are on axis 0, stack them with `np.stack(members, "
                "axis=1)` or pass `ensemble_axis=0`"
            )
        raise _checks.error("labels", expected, f"shape {labels}")


def check_not_swapped(
    labels: _checks.Shape, name: str, predictions: _checks.Shape
) -> None:
    """Raises ValueError if the labels have the rank of an ensemble's predictions."""
    if len(labels) > 2 and len(predictions) < 3:
        raise _checks.plain_error(
            _checks.SWAPPED,
            f"labels of shape {list(labels)}, {name} of shape {list(predictions)}",
        )


def check_members_first(
    shape: _checks.Shape, num_models: Any, least: int = 1
) -> int | None:
    """Returns the number of members M of `probs`, of static shape [M, ..., K].

    Raises:
      ValueError: the shape is another, or M is below `least` or not `num_models`.
    """
    check_members("probs", shape, 0)
    members = shape[0]
    if num_models is not None and members not in (
        None,
        _checks.positive_integer("num_models", num_models),
    ):
        raise _checks.error(
            "num_models",
            f"the size of the first axis of `probs`, {members}",
            num_models,
        )
    if members is not None and members < least:
        raise _checks.error(
            "probs", f"at least {least} members", f"shape {list(shape)}", verb="hold"
        )
    return members


def check_number(name: str, shape: _checks.Shape) -> None:
    """Raises ValueError unless the shape is []."""
    if len(shape) > 0:
        raise _checks.error(name, "a number", f"shape {list(shape)}")


def check_order(p: Any) -> float:
    """Returns `p` as a float; raises ValueError unless it is >= 1 or inf."""
    order = _checks.number(p)
    if not order >= 1:
        raise _checks.error("p", "a number >= 1, or inf", repr(p))
    return order


def checked(name: str, array: np.ndarray) -> np.ndarray:
    """Returns floating predictions [..., K]; raises ValueError for invalid values."""
    array = _inputs.native_floating(array)
    if not name.startswith("logits"):
        return _inputs.check_probabilities(array, name)
    _inputs.check_logits(array, name)
    return array


def pair(
    names: tuple[str, str], values: tuple[ArrayLike, ArrayLike], **least: int
) -> list[np.ndarray]:
    """Returns the arrays of two arguments [..., K] of the same shape."""
    arrays = list(map(_inputs.as_array, names, values))
    check_pair(names, [array.shape for array in arrays], **least)
    return arrays


def classes(name: str, array: np.ndarray) -> np.ndarray:
    """Returns float64 predictions [..., K], also from those of class 1, [..., 1]."""
    array = array.astype(np.float64)
    if array.shape[-1] > 1:
        return array
    other = np.zeros_like(array) if name.startswith("logits") else 1 - array
    return np.concatenate([other, array], axis=-1)


def flat_labels(
    labels: ArrayLike, name: str, shape: tuple[int, ...], leading: tuple[int, ...]
) -> np.ndarray:
    """Returns int64 labels [N] in [0, K), for predictions of the shape `shape`, whose
    axes of examples are `leading`.
    """
    labels = _inputs.as_array("labels", labels)
    check_labels(labels.shape, name, shape, leading)
    return _inputs.integer_labels("labels", labels, max(shape[-1], 2)).reshape(-1)


def member_rows(
    probs: ArrayLike, num_models: int | None, least: int = 1
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Returns checked probabilities [M, N, K], or [M, N, 1] of class 1, and the shape
    of `probs`.
    """
    probs = _inputs.as_array("probs", probs)
    check_members_first(probs.shape, num_models, least)
    rows = checked("probs", probs)
    return rows.reshape(len(rows), -1, rows.shape[-1]), probs.shape


def in_blocks(
    function: Callable[[np.ndarray], np.ndarray],
    predictions: np.ndarray,
    axis: int,
    memory: int = 1,
) -> np.ndarray:
    """Returns the results of a function for all examples, [..., N].

    Args:
      function: maps predictions of a block of examples to results [..., n].
      predictions: predictions of all examples.
      axis: axis of the examples.
      memory: how many times more memory the function needs than others do.
    """
    n = predictions.shape[axis]
    step = max(1, _BLOCK * n // (memory * predictions.size))
    examples_first = np.moveaxis(predictions, axis, 0)

    def of_block(block: slice) -> np.ndarray:
        return function(np.moveaxis(examples_first[block], 0, axis))

    results = _threads.map_blocks(of_block, n, predictions.size // n, step)
    return np.concatenate(results, axis=-1)


def votes(decisions: np.ndarray, num_classes: int) -> np.ndarray:
    """Returns how many members decide as each member does, from decisions [N, M]."""
    cells = decisions + num_classes * np.arange(len(decisions))[:, None]
    return np.bincount(cells.reshape(-1))[cells]


def share_of_pairs(votes: np.ndarray) -> np.ndarray:
    """Returns the share of pairs of members that differ, [N], from `votes` [N, M]."""
    m = votes.shape[-1]
    return (m * m - votes.sum(axis=-1)) / max(m * (m - 1), 1)
