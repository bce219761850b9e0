"""Groups of examples as users have them: integers, strings, booleans, data frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _missing

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


def present_groups(name: str, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns the groups of the examples that have one, integers, booleans or strings,
    flattened; and which examples have none, boolean [N].

    Raises:
      ValueError: there are fractions.
      TypeError: the values are neither strings, integers nor booleans.
    """
    array, missing = _missing.read_words(name, values)
    present, missing = array[~missing], missing.reshape(-1)
    if array.dtype.kind == "f":
        numbers = present.astype(np.float64)  # float16 has no 2^53.
        if not np.all((numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)):
            raise _checks.error(
                name,
                "strings, integers or booleans: cut numbers into ranges first",
                "other numbers",
                verb="hold",
            )
        return numbers.astype(np.int64), missing
    if array.dtype == object:
        kinds = {str if isinstance(v, str) else type(v) for v in present}
        integers = (bool, int, np.bool_, np.integer)
        if kinds != {str} and not all(issubclass(kind, integers) for kind in kinds):
            raise _wrong_type(name, ", ".join(sorted(kind.__name__ for kind in kinds)))
        # In an array of text each value would be as wide as the longest one.
        return (present if kinds == {str} else np.array(list(present))), missing
    if array.dtype.kind not in "biuU":
        raise _wrong_type(name, str(array.dtype))
    return present, missing


def group_column(name: str, values: Any) -> GroupColumn:
    """Returns the group of each example, of values of any shape, flattened.

    Raises:
      ValueError: there are fractions, or too many distinct values to be groups.
      TypeError: the values are neither strings, integers nor booleans.
    """
    present, missing = present_groups(name, values)
    distinct, index = _distinct(present)
    codes = np.full(len(missing), len(distinct), np.int64)  # Those missing are last.
    codes[~missing] = index.reshape(-1)
    names = [MISSING] if np.any(missing) else []
    column = GroupColumn(codes, [*distinct, *names])
    if len(column.values) > _MOST_VALUES:
        raise _checks.error(
            name,
            f"at most {_MOST_VALUES} distinct values",
            len(column.values),
            verb="hold",
        )
    return column


def _distinct(present: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Returns the distinct values in ascending order, and which one each value is."""
    if present.dtype != object:
        values, index = np.unique(present, return_inverse=True)
        return values.tolist(), index
    words = sorted({str(value) for value in present})
    codes = {word: code for code, word in enumerate(words)}
    return words, np.array([codes[value] for value in present], np.int64)


def _wrong_type(name: str, received: str) -> TypeError:
    return TypeError(
        f"`{name}` must hold strings, integers or booleans. Received: {received}"
    )
