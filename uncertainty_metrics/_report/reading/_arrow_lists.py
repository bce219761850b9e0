"""Columns of lists in Arrow files, with a number for each class.

Like the list `"probabilities": [0.2, 0.8]` in JSON, such a column becomes a column for
each class: `probabilities_0`, `probabilities_1`, and so on. A vector of Spark ML, which
is a struct, is read as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics._report.data._predictions import ExampleError
from uncertainty_metrics._report.reading._arrow_values import values_of
from uncertainty_metrics._report.reading._column_names import BY_CLASS
from uncertainty_metrics._report.reading._json_layouts import vector_of

# A row with more numbers has something else than probabilities of classes.
_MAX_CLASSES = 10_000


class Lists:
    """The columns of lists of a table, and how many numbers each list has.

    Args:
      schema: the schema of the table.
      first: returns a `pyarrow.Table` of columns, of which the first row is read.
    """

    def __init__(self, schema: Any, first: Callable[[list[str]], Any]):
        types = _optional.require("pyarrow").types
        self._sizes: dict[str, int] = {}
        for field in schema:
            is_list = _is_list(field.type, types) or _is_vector(field.type, types)
            if field.name.lower() not in BY_CLASS or not is_list:
                continue
            value = first([field.name])[field.name][:1].to_pylist()
            value = [vector_of(each) or each for each in value]
            size = len(value[0]) if value and value[0] is not None else 0
            if 0 < size <= _MAX_CLASSES:
                self._sizes[field.name] = size

    def _names_of(self, name: str) -> list[str]:
        size = self._sizes.get(name)
        return [name] if size is None else [f"{name}_{k}" for k in range(size)]

    def expanded_names(self, header: Sequence[str]) -> list[str]:
        """Returns the names of columns, with a column for each class."""
        return [each for name in header for each in self._names_of(name)]

    def sources(self, names: Sequence[str]) -> list[str]:
        """Returns the columns of the file that hold the columns with these names."""
        holders = {each: name for name in self._sizes for each in self._names_of(name)}
        return list(dict.fromkeys(holders.get(name, name) for name in names))

    def holder(self, names: Sequence[str]) -> str | None:
        """Returns the column of lists that holds all columns with these names, and no
        other numbers; None if there is none.
        """
        holders = [name for name in self._sizes if self._names_of(name) == [*names]]
        return holders[0] if holders else None

    def expanded(self, table: Any, place: Callable[[int], str]) -> Any:
        """Returns a table with a column for each class.

        Args:
          table: a `pyarrow.Table`.
          place: returns the name of a row in errors, for its index.

        Raises:
          ExampleError: a list is missing, or has another length than the first.
        """
        arrow = _optional.require("pyarrow")
        columns: dict[str, Any] = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name not in self._sizes:
                columns[name] = column
                continue
            values, size = self.numbers(name, column, place), self._sizes[name]
            for k, each in enumerate(self._names_of(name)):
                columns[each] = values.take(np.arange(k, len(values), size))
        return arrow.table(columns)

    def numbers(self, name: str, column: Any, place: Callable[[int], str]) -> Any:
        """Returns the numbers of all lists of a column, one list after another.

        Raises:
          ExampleError: a list is missing, or has another length than the first.
        """
        arrow, compute = map(_optional.require, ("pyarrow", "pyarrow.compute"))
        if _is_vector(column.type, arrow.types):
            column = arrow.chunked_array([[*map(vector_of, column.to_pylist())]])
        lengths = values_of(compute.list_value_length(column).fill_null(-1))
        wrong = np.flatnonzero(lengths != self._sizes[name])
        if len(wrong):
            length = lengths[wrong[0]]
            received = "no list" if length < 0 else f"{length} numbers"
            raise ExampleError(
                f"{place(int(wrong[0]))}: `{name}` must be a list of "
                f"{self._sizes[name]} numbers, as in the first row. Received: "
                f"{received}"
            )
        return compute.list_flatten(column)


def _is_list(kind: Any, types: Any) -> bool:
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def _is_vector(kind: Any, types: Any) -> bool:
    if not types.is_struct(kind):
        return False
    return {"type", "values"} <= {field.name for field in kind}
