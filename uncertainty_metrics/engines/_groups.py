"""The totals of the groups of a dataset: made by workers, sent as tables, and added.

`beam`, `spark` and `ray` divide a dataset among workers. A worker makes a total for
each group of its rows, and the totals of all workers are added.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from uncertainty_metrics import _optional
from uncertainty_metrics.engines._columns import Columns
from uncertainty_metrics.engines._totals import Totals

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = _optional.require("pyarrow")

Groups = dict[Any, Any]  # The total of each group.

# The columns of the tables that workers send: pickles of a group and of its total.
SCHEMA = "group binary, total binary"


def totals_of(tables: Iterable[pa.Table], totals: Totals, columns: Columns) -> Groups:
    """Returns the total of each group of these tables. With clusters all tables are
    held in memory, since a cluster may be in several.
    """
    if columns.clusters is not None:
        parts = list(tables)
        tables = [pa.concat_tables(parts)] if parts else []
    batches = (pair for table in tables for pair in columns.batches(table))
    return _sums(((group, totals.of_batch(*batch)) for group, batch in batches), totals)


def _sums(pairs: Iterable[tuple[Any, Any]], totals: Totals) -> Groups:
    found: Groups = {}
    for group, total in pairs:
        found[group] = totals.sum(found.get(group, totals.empty()), total)
    return found


def packed(groups: Groups) -> pa.Table:
    """Returns groups as a table to send; `SCHEMA` has its types."""
    columns = {
        "group": [pickle.dumps(group) for group in groups],
        "total": [pickle.dumps(total) for total in groups.values()],
    }
    return pa.table({name: pa.array(x, pa.binary()) for name, x in columns.items()})


def added(tables: Iterable[pa.Table | pa.RecordBatch], totals: Totals) -> Groups:
    """Returns the sum of the groups of tables of `packed`."""
    return _sums(
        (
            (pickle.loads(group.as_py()), pickle.loads(total.as_py()))
            for table in tables
            for group, total in zip(table["group"], table["total"], strict=True)
        ),
        totals,
    )


def result(groups: Groups, totals: Totals, columns: Columns) -> Any:
    """Returns the result of the dataset, or a dict of the results of its groups."""
    if columns.groups is None:
        return totals.result(groups.get((), totals.empty()))
    in_order = sorted(groups, key=_with_missing_last)
    return {group: totals.result(groups[group]) for group in in_order}


def _with_missing_last(group: Any) -> list[tuple[bool, Any]]:
    values = group if isinstance(group, tuple) else (group,)
    return [(value is None, value) for value in values]
