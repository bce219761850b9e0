"""What the engines share: the columns of a dataset, and totals that add up.

`beam`, `spark` and `ray` divide a dataset among workers. A worker makes a total for
each group of its rows, and the totals of all workers are added.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.sketch.summary import Summary

if TYPE_CHECKING:
    import keras
    import pyarrow as pa
else:
    pa = _optional.require("pyarrow")

Batch = tuple[Any, Any, Any]  # Labels, predictions and weights; None if there are none.
Groups = dict[Any, Any]  # The total of each group.

# An update takes at most so many predicted values, or so many bytes of a table. Larger
# ones are not faster and need memory.
_MAX_VALUES = 2**20
_MAX_BYTES = 2**25

# The columns of the tables that workers send: pickles of a group and of its total.
SCHEMA = "group binary, total binary"


class Totals(Protocol):
    """What to add up."""

    def empty(self) -> Any:
        """Returns the total of no data."""

    def of_batch(self, labels: Any, predictions: Any, weights: Any) -> Any:
        """Returns the total of a batch."""

    def sum(self, total: Any, more: Any) -> Any:
        """Returns the sum of two totals."""

    def result(self, total: Any) -> Any:
        """Returns what the caller gets for a total."""


def _plain(result: Any) -> Any:
    """Returns a result as Python numbers, lists and dicts."""
    if isinstance(result, Mapping):
        return {name: _plain(part) for name, part in result.items()}
    return np.asarray(result).tolist()


def _metrics_by_name(metrics: Any) -> dict[str, Any]:
    """Returns a dict of metrics; raises ValueError if two have the same name."""
    if isinstance(metrics, Mapping):
        return dict(metrics)
    metrics = metrics if isinstance(metrics, Iterable) else [metrics]
    pairs = [(getattr(metric, "name", ""), metric) for metric in metrics]
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise _checks.error(
            "metrics", "different names, or be a dict", names, verb="have"
        )
    return dict(pairs)


def _template(metric: Any) -> tuple[MetricState, str | None]:
    """Returns the empty state and the dtype of a metric, to make it on a worker."""
    if not hasattr(metric, "get_state"):
        raise TypeError(
            "`metrics` must be Keras metrics of uncertainty_metrics. Received: "
            f"{type(metric).__name__}"
        )
    state = metric.get_state()
    empty = {"invalid": np.zeros([], np.int64)}
    state = dataclasses.replace(state, arrays=empty, classes=None)
    return state, "float64" if metric.dtype == "float64" else None


def _pieces(batch: Batch) -> Iterator[Batch]:
    """Yields pieces of a batch, whose numbers of rows are powers of two.

    JAX and TensorFlow compile an update for every number of rows, for a second or so.
    A group, or the end of a part of the data, may have any number of rows.
    """
    predictions = batch[1]
    rows = 0 if predictions is None else len(predictions)
    if not rows:
        yield batch
        return
    largest = max(1, _MAX_VALUES * rows // max(1, np.size(predictions)))
    start = 0
    while start < rows:  # Pieces, not rows.
        stop = start + 2 ** (min(rows - start, largest).bit_length() - 1)
        labels, predictions, weights = (
            None if part is None else part[start:stop] for part in batch
        )
        yield labels, predictions, weights
        start = stop


class MetricTotals:
    """Totals of Keras metrics: a `MetricState` of each, by name.

    Args:
      metrics: a metric, or a list or a dict of them; their states are not used.
      return_states: whether results are states instead of values.
      rows_first: whether the first axis of batches is that of the examples.
    """

    def __init__(self, metrics: Any, return_states: bool, rows_first: bool = True):
        _checks.boolean("return_states", return_states)
        self._return_states = return_states
        self._rows_first = rows_first
        self._templates = {
            name: _template(metric)
            for name, metric in _metrics_by_name(metrics).items()
        }
        for name, (state, _) in self._templates.items():
            if rows_first and state.config.get("ensemble_axis") == 0:
                raise _checks.error(
                    "metrics",
                    "an `ensemble_axis` other than 0, which is the axis of the rows",
                    f"{name!r} with ensemble_axis=0",
                    verb="have",
                )
        self._metrics: dict[tuple[int | None, ...], dict[str, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_metrics": {}}

    def _metrics_of(self, *classes: int | None) -> dict[str, keras.metrics.Metric]:
        """Returns the metrics for these numbers of classes, with any state."""
        # Metrics are reused, since making them takes longer than an update. But some
        # keep the number of classes of their first batch, and groups may differ in it.
        if classes not in self._metrics:
            self._metrics[classes] = {
                name: empty.to_metric(dtype=dtype)
                for name, (empty, dtype) in self._templates.items()
            }
        return self._metrics[classes]

    def empty(self) -> dict[str, MetricState]:
        """Returns the total of no data."""
        return {}

    def of_batch(
        self, labels: Any, predictions: Any, weights: Any
    ) -> dict[str, MetricState]:
        """Returns the states after a batch."""
        metrics = self._metrics_of(*np.shape(predictions)[1:][-1:])
        for metric in metrics.values():
            metric.reset_state()
        batch = (labels, predictions, weights)
        for piece in _pieces(batch) if self._rows_first else [batch]:
            for metric in metrics.values():
                metric.update_state(*piece)
        return {name: metric.get_state() for name, metric in metrics.items()}

    def sum(
        self, total: Mapping[str, MetricState], more: Mapping[str, MetricState]
    ) -> dict[str, MetricState]:
        """Returns the sum of two totals."""
        return {**total} | {
            name: total.get(name, 0) + state for name, state in more.items()
        }

    def result(self, total: Mapping[str, MetricState]) -> dict[str, Any]:
        """Returns the values, or the states, of the metrics by name."""
        metrics = self._metrics_of(*(state.classes for state in total.values()))
        for name, (empty, _) in self._templates.items():
            metrics[name].set_state(total.get(name, empty))
        if self._return_states:
            return {name: metric.get_state() for name, metric in metrics.items()}
        return {name: _plain(metric.result()) for name, metric in metrics.items()}


class SketchTotals:
    """Totals that are a `ScoreSketch` or a `Summary`.

    Args:
      sketch: a sketch with the options to use, a summary with the names of the classes,
        or None, which means `ScoreSketch()`; its content is not used.
      from_logits: whether predictions are logits.
    """

    def __init__(self, sketch: ScoreSketch | Summary | None, from_logits: bool):
        if not isinstance(sketch, ScoreSketch | Summary | None):
            raise TypeError(
                "`sketch` must be a `ScoreSketch` or a `Summary`. Received: "
                f"{type(sketch).__name__}"
            )
        _checks.boolean("from_logits", from_logits)
        self._kind: type = ScoreSketch
        self._config: dict[str, Any] = {}
        if isinstance(sketch, Summary):
            self._kind, self._config = Summary, {"class_names": sketch.class_names}
        elif sketch is not None:
            self._config = sketch.config
        self._name = "logits" if from_logits else "probabilities"

    def empty(self) -> Any:
        """Returns the sketch or summary of no data."""
        return self._kind(**self._config)

    def of_batch(self, labels: Any, predictions: Any, weights: Any) -> Any:
        """Returns the sketch or summary of a batch."""
        sketch = self.empty()
        sketch.update(labels, sample_weight=weights, **{self._name: predictions})
        return sketch

    def sum(self, total: Any, more: Any) -> Any:
        """Returns the sum of two sketches or summaries."""
        return total + more

    def result(self, total: Any) -> Any:
        """Returns the sketch or summary."""
        return total


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
      by: the columns of groups, or None.
    """

    labels: str | None
    probabilities: str | Sequence[str]
    sample_weight: str | None
    by: str | Sequence[str] | None

    def __post_init__(self) -> None:
        for argument in ("labels", "sample_weight"):
            name = getattr(self, argument)
            if not isinstance(name, str | None):
                raise _checks.type_error(argument, "the name of a column", name)
        if not _names("probabilities", self.probabilities):
            raise _checks.type_error("probabilities", "the name of a column", None)
        _names("by", self.by)

    @property
    def names(self) -> list[str]:
        """All columns, each once."""
        names = [
            name
            for argument in ("labels", "probabilities", "sample_weight", "by")
            for name in _names(argument, getattr(self, argument))
        ]
        return list(dict.fromkeys(names))

    def batches(self, table: pa.Table) -> Iterator[tuple[Any, Batch]]:
        """Yields the group and the batch of each group of a table.

        The group is the value of the column `by`, or a tuple of values if `by` is a
        list; () without `by`.

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
        for start in range(0, len(table), most):
            part = table.slice(start, most)
            batch = self._batch(part)
            if self.by is None:
                yield (), batch
                continue
            for group, rows in self._rows(part):
                labels, probabilities, weights = (
                    None if values is None else values[rows] for values in batch
                )
                yield group, (labels, probabilities, weights)

    def _batch(self, table: pa.Table) -> Batch:
        labels, weights = (
            None if name is None else self._array(table, name)
            for name in (self.labels, self.sample_weight)
        )
        if isinstance(self.probabilities, str):
            return labels, self._array(table, self.probabilities), weights
        columns = [self._array(table, name) for name in self.probabilities]
        return labels, np.stack(columns, axis=1), weights

    def _array(self, table: pa.Table, name: str) -> np.ndarray:
        return _values(name, table[name].combine_chunks())

    def _rows(self, table: pa.Table) -> Iterator[tuple[Any, np.ndarray]]:
        """Yields each group of a table, and its rows."""
        names = _names("by", self.by)
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
            key = group[0] if isinstance(self.by, str) else group
            yield key, its_rows.values.to_numpy()


def totals_of(tables: Iterable[pa.Table], totals: Totals, columns: Columns) -> Groups:
    """Returns the total of each group of these tables."""
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
    if columns.by is None:
        return totals.result(groups.get((), totals.empty()))
    in_order = sorted(groups, key=_with_missing_last)
    return {group: totals.result(groups[group]) for group in in_order}


def _with_missing_last(group: Any) -> list[tuple[bool, Any]]:
    values = group if isinstance(group, tuple) else (group,)
    return [(value is None, value) for value in values]
