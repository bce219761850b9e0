"""The columns of a dataset, as batches of the rows of each group."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.engines._totals import Batch

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = _optional.require("pyarrow")

# A batch takes at most so many bytes of a table.
_MAX_BYTES = 2**25


def _names(argument: str, value: Any) -> list[str]:
    """Returns the names of columns; raises TypeError for anything else but None."""
    if value is None:
        return []
    expected = "names of columns"
    names = (
        [value] if isinstance(value, str) else _checks.listed(argument, expected, value)
    )
    if not names or not all(isinstance(name, str) for name in names):
        raise _checks.type_error(argument, f"a name or a list of {expected}", value)
    return names


def _values(name: str, column: pa.Array) -> np.ndarray:
    """Returns a column of numbers or of lists as an array, with an axis for each list.

    Raises:
      ValueError: values are missing, or lists differ in their lengths.
    """
    if column.null_count:
        received = f"{column.null_count} missing values"
        raise _checks.error(name, "given in every row", received)
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):  # Arrays of one shape, of Ray say.
        return _values(name, column.storage).reshape(len(column), *kind.shape)
    if pa.types.is_fixed_size_list(kind):
        inner = _values(name, column.flatten())
        return inner.reshape(len(column), kind.list_size, *inner.shape[1:])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = np.unique(np.diff(column.offsets.to_numpy()))
        if len(lengths) > 1:
            expected = "the same length in all rows"
            received = f"lengths {lengths[:2].tolist()}"
            raise _checks.error(name, expected, received, verb="have")
        inner = _values(name, column.flatten())
        return inner.reshape(len(column), *lengths, *inner.shape[1:])
    if pa.types.is_decimal(kind):
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False)


@dataclasses.dataclass(frozen=True)
class Columns:
    """The columns of a dataset, by name.

    Attributes:
      labels: the column of the labels; None if the metrics need none.
      probabilities: a column of lists, or the columns of the classes.
      sample_weight: the column of the weights, or None.
      groups: the columns of groups, or None.
      clusters: the column of the ids of clusters, or None.
    """

    labels: str | None
    probabilities: str | Sequence[str]
    sample_weight: str | None
    groups: str | Sequence[str] | None
    clusters: str | None = None

    def __post_init__(self) -> None:
        for argument in ("labels", "sample_weight", "clusters"):
            name = getattr(self, argument)
            if not isinstance(name, str | None):
                raise _checks.type_error(argument, "the name of a column", name)
        if not _names("probabilities", self.probabilities):
            raise _checks.type_error("probabilities", "the name of a column", None)
        _names("groups", self.groups)

    @property
    def names(self) -> list[str]:
        """All columns, each once."""
        names = [
            name
            for argument in (
                *("labels", "probabilities", "sample_weight", "groups", "clusters"),
            )
            for name in _names(argument, getattr(self, argument))
        ]
        return list(dict.fromkeys(names))

    def batches(self, table: pa.Table) -> Iterator[tuple[Any, Batch]]:
        """Yields the group and the batch of each group of a table.

        The group is the value of the column `groups`, or a tuple of values if `groups`
        is a list; () without `groups`. With clusters, the batches hold the ids, too,
        and a large table is not divided.

        Raises:
          ValueError: values are missing, or lists differ in their lengths.
          TypeError: the table is no table, or a column of groups holds real numbers.
        """
        if not isinstance(table, pa.Table):
            raise TypeError(
                "The elements of a dataset must be pyarrow tables. Received: "
                f"{type(table).__name__}"
            )
        most = max(1, _MAX_BYTES * len(table) // max(1, table.nbytes))
        if self.clusters is not None:  # They must come whole in one batch.
            most = max(1, len(table))
        for start in range(0, len(table), most):
            part = table.slice(start, most)
            batch = self._batch(part)
            if self.groups is None:
                yield (), batch
                continue
            for group, rows in self._rows(part):
                yield (
                    group,
                    tuple(None if each is None else each[rows] for each in batch),
                )

    def _batch(self, table: pa.Table) -> Batch:
        labels, weights = (
            None if name is None else self._array(table, name)
            for name in (self.labels, self.sample_weight)
        )
        if isinstance(self.probabilities, str):
            probabilities = self._array(table, self.probabilities)
        else:
            columns = [self._array(table, name) for name in self.probabilities]
            probabilities = np.stack(columns, axis=1)
        if self.clusters is None:
            return labels, probabilities, weights
        return labels, probabilities, weights, self._array(table, self.clusters)

    def _array(self, table: pa.Table, name: str) -> np.ndarray:
        return _values(name, table[name].combine_chunks())

    def _rows(self, table: pa.Table) -> Iterator[tuple[Any, np.ndarray]]:
        """Yields each group of a table, and its rows."""
        names = _names("groups", self.groups)
        for name in names:
            if pa.types.is_floating(table[name].type):
                raise TypeError(
                    f"`{name}` must not hold real numbers, whose groups rounding and "
                    f"NaN would split. Received: {table[name].type}"
                )
        keys = [f"key {i}" for i in range(len(names))]  # A column may be named `row`.
        # Chunks of categories have dictionaries of their own, which `group_by` refuses.
        rows = table.select(names).unify_dictionaries().rename_columns(keys)
        rows = rows.append_column("row", pa.array(np.arange(len(table))))
        groups = rows.group_by(keys, use_threads=False).aggregate([("row", "list")])
        values = zip(*(groups[key].to_pylist() for key in keys), strict=True)
        for group, its_rows in zip(values, groups["row_list"], strict=True):
            key = group[0] if isinstance(self.groups, str) else group
            yield key, its_rows.values.to_numpy()
