"""Groups of examples as users have them: integers, strings, booleans, data frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks

# A column of more distinct values holds numbers or names, not groups.
_MOST_VALUES = 1000
MISSING = "(missing)"


class GroupColumn(NamedTuple):
    """The group of each example.

    Attributes:
      codes: integers [N], in [0, len(values)).
      values: the distinct values, in ascending order, those that are missing last.
    """

    codes: np.ndarray
    values: list[Any]


def _is_missing(value: Any) -> bool:
    """Says if a value is None, NaN, or what pandas has for a missing value."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def group_column(name: str, values: Any) -> GroupColumn:
    """Returns the group of each example, of values of any shape, flattened.

    Raises:
      ValueError: there are fractions, or too many distinct values to be groups.
      TypeError: the values are neither strings, integers nor booleans.
    """
    try:
        # In an array of text each value would be as wide as the longest one.
        is_text = isinstance(values, list | tuple) and {*map(type, values)} == {str}
        array = np.asarray(values, object if is_text else None)
    except ValueError as ragged:
        raise _checks.error(name, "a rectangular array", str(ragged)) from None
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        present = ~np.isnan(flat)
        numbers = flat[present].astype(np.float64)  # float16 has no 2^53.
        if not np.all((numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)):
            raise _checks.error(
                name,
                "strings, integers or booleans: cut numbers into ranges first",
                "other numbers",
                verb="hold",
            )
        whole = np.where(present, flat, 0).astype(np.int64)
        distinct, index = np.unique(whole, return_inverse=True)
        column = _with_missing(distinct.tolist(), index, ~present)
    elif array.dtype == object:
        missing = np.array([_is_missing(value) for value in flat], bool)
        present = list(flat[~missing])
        kinds = {str if isinstance(v, str) else type(v) for v in present}
        integers = (bool, int, np.bool_, np.integer)
        if kinds != {str} and not all(issubclass(kind, integers) for kind in kinds):
            raise _wrong_type(name, ", ".join(sorted(kind.__name__ for kind in kinds)))
        values_in_order, index_of_present = _distinct(present, kinds == {str})
        index = np.zeros(len(flat), np.int64)
        index[~missing] = index_of_present.reshape(-1)
        column = _with_missing(values_in_order, index, missing)
    elif array.dtype.kind in "biuU":
        distinct, index = np.unique(flat, return_inverse=True)
        column = GroupColumn(index.reshape(-1), distinct.tolist())
    else:
        raise _wrong_type(name, str(array.dtype))
    if len(column.values) > _MOST_VALUES:
        raise _checks.error(
            name,
            f"at most {_MOST_VALUES} distinct values",
            len(column.values),
            verb="hold",
        )
    return column


def _distinct(values: list[Any], are_words: bool) -> tuple[list[Any], np.ndarray]:
    """Returns the distinct values in ascending order, and which of them each value is.

    In an array of words each would be as wide as the longest one.
    """
    if not are_words:
        numbers, index = np.unique(np.array(values), return_inverse=True)
        return numbers.tolist(), index
    words = sorted({str(value) for value in values})
    codes = {word: code for code, word in enumerate(words)}
    return words, np.array([codes[value] for value in values], np.int64)


def _wrong_type(name: str, received: str) -> TypeError:
    return TypeError(
        f"`{name}` must hold strings, integers or booleans. Received: {received}"
    )


def _with_missing(
    values: list[Any], index: np.ndarray, missing: np.ndarray
) -> GroupColumn:
    """Returns the column in which missing values, if there are any, are a group."""
    if not np.any(missing):
        return GroupColumn(index.reshape(-1), values)
    present = np.unique(index.reshape(-1)[~missing])
    numbers = np.zeros(len(values) + 1, np.int64)
    numbers[present] = np.arange(len(present))
    present_values = [values[i] for i in present]
    numbered = np.where(missing, len(present_values), numbers[index.reshape(-1)])
    return GroupColumn(numbered, [*present_values, MISSING])
