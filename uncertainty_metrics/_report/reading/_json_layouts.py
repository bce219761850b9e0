"""Tables that are one JSON object: of pandas, MLflow, W&B and Inspect.

pandas writes a frame by `to_json` in several layouts, its `orient`; MLflow and W&B
write tables in the layout "split".
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from uncertainty_metrics._report.reading import _inspect_logs
from uncertainty_metrics._report.reading._inspect_logs import Found


def records_in(value: Any) -> Found | None:
    """Returns the records of a JSON object or list; None if it has no such layout.

    Raises:
      ValueError: its lists do not fit each other.
    """
    if isinstance(value, list):
        return _values(value)
    if not isinstance(value, dict):
        return None
    if _inspect_logs.is_log(value):
        return _inspect_logs.records_of(value)
    columns, data = value.get("columns"), value.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        return Found(_split(columns, data))
    if isinstance(value.get("schema"), dict) and isinstance(data, list):
        return Found(data)
    parts = list(value.values())
    if parts and all(isinstance(part, list) for part in parts):
        lengths = {len(part) for part in parts}
        # A single record may hold lists, too, such as `probabilities`.
        if len(lengths) == 1 and len(parts) > 1:
            return Found(_split(list(value), list(zip(*parts, strict=True))))
    if len(parts) > 1 and all(isinstance(part, dict) and part for part in parts):
        keys = [frozenset(part) for part in parts]
        if len(set(keys)) == 1:
            return Found(_by_two_keys(value))
    return None


def _split(columns: list[Any], data: list[Any]) -> list[dict[str, Any]]:
    names = [str(name) for name in columns]
    for number, row in enumerate(data, 1):
        if not isinstance(row, list | tuple) or len(row) != len(names):
            raise ValueError(
                f"record {number} must be a list of {len(names)} values, one for each "
                "of the `columns`"
            )
    return [dict(zip(names, row, strict=True)) for row in data]


def _by_two_keys(value: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the records of pandas' layouts "columns" and "index".

    Both are objects of objects. Rows have numbers where columns have names; otherwise
    a table has more rows than columns.
    """
    outer, inner = list(value), list(next(iter(value.values())))
    outer_counts, inner_counts = _are_numbers(outer), _are_numbers(inner)
    by_row = outer_counts and not inner_counts
    if outer_counts == inner_counts:
        by_row = len(outer) > len(inner)
    if by_row:
        return list(value.values())
    return [{name: value[name][row] for name in outer} for row in inner]


def _are_numbers(keys: list[str]) -> bool:
    return all(re.fullmatch("[0-9]+", key) for key in keys)


def _values(value: list[Any]) -> Found | None:
    """Returns the records of rows without names, which are called 0, 1, and so on."""
    rows = value if all(isinstance(row, list) for row in value) else []
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or lengths == {0}:
        return None
    return Found(_split([*range(lengths.pop())], rows))


def vector_of(value: Any) -> list[Any] | None:
    """Returns the numbers of a vector of Spark ML, in JSON or Arrow; None if `value` is
    something else.

    A dense one is `{"type": 1, "values": [...]}`. Of a sparse one, type 0, `indices`
    are the places of `values`, and `size` is the number of all.
    """
    if not isinstance(value, dict) or not {"type", "values"} <= {*value}:
        return None
    numbers = value["values"]
    if not isinstance(numbers, list):
        return None
    if value["type"] == 1:
        return numbers
    with contextlib.suppress(LookupError, TypeError, ValueError):
        return sparse(int(value["size"]), value["indices"], numbers)
    return None


def sparse(size: int, indices: list[Any], numbers: list[Any]) -> list[Any]:
    """Returns a vector of which these are the numbers that are not 0.

    Raises:
      ValueError: there are other numbers of indices, or too many values.
    """
    if not 0 <= size <= _MOST:
        raise ValueError("too large a vector")
    found: list[Any] = [0.0] * size
    for index, number in zip(indices, numbers, strict=True):
        found[int(index)] = number
    return found


# A vector with more numbers has something else than probabilities of classes.
_MOST = 10_000
