"""Groups of examples as users have them: integers, strings, booleans, data frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _missing

# A column of more distinct values holds numbers or names, not groups.
_MOST_VALUES = 1000
# More distinct whole numbers are numbers, such as ages, and not names.
_MOST_WHOLE = 20
_MANY = 1000
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
        kinds = {
            str if issubclass(kind, str) else kind for kind in set(map(type, present))
        }
        integers = (bool, int, np.bool_, np.integer)
        if kinds != {str} and not all(issubclass(kind, integers) for kind in kinds):
            raise _wrong_type(name, ", ".join(sorted(kind.__name__ for kind in kinds)))
        # In an array of text each value would be as wide as the longest one.
        return (present if kinds == {str} else np.array(list(present))), missing
    if array.dtype.kind not in "biuU":
        raise _wrong_type(name, str(array.dtype))
    return present, missing


def ordered_numbers(values: Any, most_names: int = _MOST_WHOLE) -> np.ndarray | None:
    """Returns numbers that have an order, float64, flattened, NaN where one is missing;
    None for values that are names of groups.

    Fractions are numbers, and so are more than `most_names` distinct integers. A column
    of categories, of a data frame, holds names.
    """
    if str(getattr(values, "dtype", "")) == "category":
        return None
    array, missing = _missing.read_words("values", values)
    if array.dtype == object:
        kinds = set(map(type, array[~missing]))
        if not kinds or not all(
            issubclass(kind, int | float | np.integer | np.floating)
            and kind is not bool
            for kind in kinds
        ):
            return None
        array = np.where(missing, np.nan, array)
    elif array.dtype.kind not in "iuf":
        return None
    array = array.astype(np.float64).reshape(-1)
    array[missing.reshape(-1)] = np.nan
    present = array[~np.isnan(array)]
    if np.all(present == np.floor(present)):
        # A part of the numbers often has too many distinct ones already.
        parts = present[:_MANY], present
        if all(len(np.unique(part)) <= most_names for part in parts):
            return None
    return array


def intervals(numbers: np.ndarray, num_intervals: int) -> GroupColumn:
    """Returns the intervals between quantiles in which numbers are; NaN is missing.

    Each interval is named by the smallest and the largest number in it.
    """
    missing = np.isnan(numbers)
    present = np.sort(numbers[~missing])
    at = np.arange(1, num_intervals) * len(present) // num_intervals
    # An interval ends at the largest number of its share, with all of its copies.
    cuts = np.unique(present[np.maximum(at - 1, 0)])
    last = np.append(np.searchsorted(present, cuts, side="right"), len(present))
    first = np.append(0, last[:-1])
    filled = last > first
    lowest, highest = present[first[filled]], present[last[filled] - 1]
    codes = np.searchsorted(cuts, numbers, side="left")
    codes[missing] = len(lowest)
    names = _named_by_ends(lowest, highest)
    return GroupColumn(codes, [*names, *([MISSING] if np.any(missing) else [])])


def _named_by_ends(lowest: np.ndarray, highest: np.ndarray) -> list[str]:
    """Returns names of intervals, with as few digits as tell their ends apart."""
    ends = np.unique([lowest, highest])
    digits = next(
        digits
        for digits in range(4, 18)
        if digits == 17 or len({f"{end:.{digits}g}" for end in ends}) == len(ends)
    )
    return [
        f"{low:.{digits}g}" + ("" if low == high else f" to {high:.{digits}g}")
        for low, high in zip(lowest, highest, strict=True)
    ]


def group_column(
    name: str, values: Any, num_intervals: int | None = None
) -> GroupColumn:
    """Returns the group of each example, of values of any shape, flattened.

    Args:
      name: of the argument, for messages.
      values: the groups.
      num_intervals: number of intervals into which numbers are cut; None if numbers are
        no groups.

    Raises:
      ValueError: there are fractions, or too many distinct values to be groups.
      TypeError: the values are neither strings, integers nor booleans.
    """
    if num_intervals is not None:
        numbers = ordered_numbers(values)
        if numbers is not None:
            return intervals(numbers, num_intervals)
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
    words = sorted(map(str, set(present.tolist())))
    codes = {word: code for code, word in enumerate(words)}
    each = map(codes.__getitem__, present.tolist())
    return words, np.fromiter(each, np.int64, len(present))


def _wrong_type(name: str, received: str) -> TypeError:
    return TypeError(
        f"`{name}` must hold strings, integers or booleans. Received: {received}"
    )
