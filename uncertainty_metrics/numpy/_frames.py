"""Data frames as arguments: the order of their rows, and the names of their columns.

Every public function that takes several arrays of examples has the decorator
`takes_frames`. Calls without a data frame pass through it as they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from uncertainty_metrics import _arguments, _checks, _typed_names
from uncertainty_metrics.numpy import class_names

F = TypeVar("F", bound=Callable[..., Any])

_LIBRARIES = frozenset({"pandas", "polars", "pyarrow"})
# The types of nearly all arguments, known to be no frames at once.
_PLAIN = frozenset({np.ndarray, list, str, int, float, bool, type(None)})
# Tuples of more values are data themselves; shorter ones may be pairs of data.
_FEW = 8
_LABELS = ("labels", "labels_predicted", "labels_true")
# Arguments that may be a data frame with a column for each class.
_BY_CLASS = (
    *("probabilities", "logits", "probs", "predictions", "sets", "scores"),
    *("scores_1", "scores_2", "first", "second", "label_distributions"),
)


def takes_frames(function: F) -> F:
    """Makes a function read arguments as users have them.

    Objects of pandas whose rows are in different orders are refused. If predictions are
    a data frame whose columns have the names of the classes, labels may be these names.
    The error for an argument that has another name elsewhere, such as `n_bins`, says
    the name here.
    """

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if has_frames(args, kwargs):
            args, kwargs = read_frames(function, args, kwargs)
        try:
            return function(*args, **kwargs)
        except TypeError:
            _typed_names.refuse_arguments(function, kwargs)
            raise

    return cast(F, checked)


def has_frames(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Says if an argument is a column or a frame of pandas, Polars or pyarrow."""
    values = (*args, *kwargs.values())
    return not _PLAIN.issuperset(map(type, values)) and any(map(_is_frame, values))


def _is_frame(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_frame, value.values()))
    if isinstance(value, tuple):
        return len(value) <= _FEW and any(map(_is_frame, value))
    return _library(value) in _LIBRARIES


def _library(value: Any) -> str:
    """Returns the package that has the type of a value."""
    return type(value).__module__.partition(".")[0]


def read_frames(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a call, with labels as indices of classes.

    Raises:
      ValueError: rows are in different orders, or text labels have no column.
    """
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return args, kwargs  # The function raises Python's own message.
    bound.arguments.update(read_data(bound.arguments))
    return bound.args, bound.kwargs


def read_data(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments by their names, with labels as indices of classes.

    Raises:
      ValueError: as for `read_frames`.
    """
    read = dict(arguments)
    check_order(
        {k: v for k, v in read.items() if _arguments.is_data(k, getattr(v, "ndim", 2))}
    )
    _read_classes(read)
    return read


# Rows.


def check_order(arguments: Mapping[str, Any]) -> None:
    """Raises ValueError if two objects of pandas have one index in two orders.

    Args:
      arguments: data of the examples by name; also several in a dict or in a pair.
    """
    first: dict[int, tuple[str, Any]] = {}
    for name, index in _indices(arguments, "{}"):
        known, other = first.setdefault(len(index), (name, index))
        if _is_reordered(other, index):
            raise ValueError(
                f"`{known}` and `{name}` must be in the same order. Received: the same "
                f"index in two orders; pass `{name}.loc[{known}.index]`, or arrays "
                "(`.to_numpy()`) if the order is right and the index is wrong"
            )


def _indices(arguments: Mapping[Any, Any], form: str) -> Iterator[tuple[str, Any]]:
    """Yields the names and the indices of the objects of pandas."""
    for key, value in arguments.items():
        name = form.format(key)
        if isinstance(value, dict):
            yield from _indices(value, name + "[{!r}]")
        elif isinstance(value, tuple) and len(value) <= _FEW:
            yield from _indices(dict(enumerate(value)), name + "[{!r}]")
        elif _library(value) == "pandas" and hasattr(value, "index"):
            yield name, value.index


def _is_reordered(index: Any, other: Any) -> bool:
    """Says if two indices of pandas have the same values in two orders."""
    if index is other or len(index) != len(other) or index.equals(other):
        return False
    return bool(index.isin(other).all() and other.isin(index).all())


# Columns.


def columns_by_name(values: Any) -> dict[str, Any] | None:
    """Returns the columns of a data frame or a mapping by their names; None for other
    values.
    """
    if not isinstance(values, Mapping) and not hasattr(values, "columns"):
        return None
    return {str(name): values[name] for name in _names_in(values)}


def _names_in(values: Any) -> Any:
    """Returns the names of the columns of a data frame or a mapping."""
    return getattr(values, "column_names", getattr(values, "columns", values))


def _read_classes(arguments: dict[str, Any]) -> None:
    """Replaces labels that are the names of columns by the indices of these columns.

    Columns that name the classes 0 to K - 1 in another order are put in order.
    """
    frames = {k: _columns(arguments[k]) for k in _BY_CLASS if k in arguments}
    columns = next((names for names in frames.values() if names), None)
    given = {k: arguments[k] for k in _LABELS if arguments.get(k) is not None}
    if columns is None or not given or any(map(_is_by_class, given.values())):
        return
    labels = {k: class_names.read_labels(k, value) for k, value in given.items()}
    first = next(iter(labels.values()))
    if first.dtype.kind in "iuf" and columns == [str(k) for k in range(len(columns))]:
        return
    ignored = arguments.get("ignore_index")
    counted = np.ones(first.shape, bool) if ignored is None else first != ignored
    order, names = class_names.by_columns(first[counted], columns)
    for name in frames:
        wanted = [columns[k] for k in order]
        arguments[name] = _in_order(name, arguments[name], wanted)
    occurring = class_names.texts(np.unique(first[counted]))
    if first.dtype.kind in "iuf" and not {*occurring} <= {*names}:
        return
    for name, values in labels.items():
        arguments[name] = codes = np.full(values.shape, -1)
        codes[counted] = class_names.encoded(values[counted], names)
    if not np.all(counted):
        arguments["ignore_index"] = -1


def _columns(value: Any) -> list[str] | None:
    """Returns the names of the columns of a data frame, or of the first of several
    models; None for what is no frame, or has a single column.
    """
    if isinstance(value, dict):
        return next(filter(None, map(_columns, value.values())), None)
    if not _is_frame(value) or isinstance(value, tuple):
        return None
    if not hasattr(value, "columns"):
        return None
    names = [str(name) for name in _names_in(value)]
    return names if len(names) > 1 else None


def _is_by_class(labels: Any) -> bool:
    """Says if labels are of several models, or have a column for each class."""
    shape = np.shape(labels)
    return isinstance(labels, dict) or (len(shape) > 1 and shape[-1] != 1)


def _in_order(name: str, value: Any, columns: list[str]) -> Any:
    """Returns predictions with the columns in an order; several models one by one."""
    if isinstance(value, dict):
        form = f"{name}[{{!r}}]"
        return {k: _in_order(form.format(k), v, columns) for k, v in value.items()}
    own = _columns(value)
    if own is None or own == columns:
        return value
    if sorted(own) != sorted(columns):
        raise _checks.error(
            name,
            f"the columns {class_names.listed(columns)}",
            class_names.listed(own),
            verb="have",
        )
    return np.asarray(value)[:, [own.index(column) for column in columns]]
