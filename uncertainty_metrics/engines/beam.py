"""Metrics of a dataset that Apache Beam processes on many machines.

`evaluate` returns metrics, `summarize` a sketch or a summary that answers questions
later; both take tables. `MetricsCombineFn` and `ScoreSketchCombineFn` do the same with
examples or batches. No other module of the package needs or imports Beam.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.engines import _columns, _totals
from uncertainty_metrics.numpy._inputs import as_array
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries.summary import Summary

if TYPE_CHECKING:
    import apache_beam as beam
    import keras
else:
    beam = _optional.require("apache_beam")

__all__ = ["MetricsCombineFn", "ScoreSketchCombineFn", "evaluate", "summarize"]

_KEYS = ("labels", "predictions", "sample_weight")


def _parts_of_element(element: Any) -> tuple[Any, Any, Any]:
    """Returns labels, predictions and weight; None for a part that is missing."""
    if isinstance(element, Mapping):
        if not {"predictions"} <= set(element) <= set(_KEYS):
            expected = "a dict of labels, predictions and perhaps sample_weight"
            raise _checks.error("element", expected, f"keys {list(element)}")
        labels, predictions, weight = map(element.get, _KEYS)
        return labels, predictions, weight
    if not isinstance(element, tuple):
        raise TypeError(
            "`element` must be a tuple (labels, predictions) or (labels, predictions, "
            f"sample_weight), or a dict of these. Received: {type(element).__name__}"
        )
    if len(element) not in (2, 3):
        expected = "(labels, predictions) or (labels, predictions, sample_weight)"
        raise _checks.error("element", expected, f"{len(element)} values")
    return (*element, None)[:3]


def _stacked(name: str, rows: Sequence[Any]) -> np.ndarray | None:
    """Returns the rows as one array; None if all rows are None."""
    is_given = [row is not None for row in rows]
    if not any(is_given):
        return None
    if not all(is_given):
        received = f"{sum(is_given)} of {len(is_given)} rows with it"
        raise _checks.error(name, "given in every row or in none", received)
    rows = [as_array(name, row) for row in rows]
    shapes = sorted({row.shape for row in rows})
    if len(shapes) > 1:
        raise _checks.error(
            name, "the same shape in all rows", f"shapes {shapes[:2]}", verb="have"
        )
    return np.stack(rows)


def _batch(rows: Sequence[tuple[Any, Any, Any]]) -> tuple[np.ndarray | None, ...]:
    """Returns rows as a batch; if some rows have a weight, the others weigh 1."""
    labels, predictions, weights = zip(*rows, strict=True)
    if any(weight is not None for weight in weights):
        weights = tuple(1.0 if weight is None else weight for weight in weights)
    columns = zip(_KEYS, (labels, predictions, weights), strict=True)
    return tuple(_stacked(name, column) for name, column in columns)


@dataclasses.dataclass
class _Accumulator:
    """The sum over a part of the data.

    Attributes:
      total: the sum of the elements that were added.
      elements: elements that wait until there are enough for a batch.
    """

    total: Any
    elements: list[tuple[Any, ...]]


class _Batching(beam.CombineFn):
    """Adds up elements in batches."""

    def __init__(self, totals: _totals.Totals, batch_size: int, batched: bool):
        _checks.boolean("batched", batched)
        # With `batched`, each element is an update.
        self._limit = (
            1 if batched else _checks.positive_integer("batch_size", batch_size)
        )
        self._totals = totals
        self._batched = batched

    def create_accumulator(self) -> _Accumulator:
        """Returns the accumulator of no data."""
        return _Accumulator(self._totals.empty(), [])

    def add_input(self, accumulator: _Accumulator, element: Any) -> _Accumulator:
        """Adds an example, or a batch."""
        accumulator.elements.append(_parts_of_element(element))
        return self._add_waiting(accumulator, self._limit)

    def merge_accumulators(self, accumulators: Iterable[_Accumulator]) -> _Accumulator:
        """Returns the accumulator of all parts of the data."""
        merged = self.create_accumulator()
        for accumulator in accumulators:
            merged.total = self._totals.sum(merged.total, accumulator.total)
            merged.elements += accumulator.elements
            self._add_waiting(merged, self._limit)
        return merged

    def compact(self, accumulator: _Accumulator) -> _Accumulator:
        """Adds all waiting elements to the total, which is smaller to send."""
        return self._add_waiting(accumulator, 1)

    def _add_waiting(self, accumulator: _Accumulator, minimum: int) -> _Accumulator:
        """Adds waiting elements to the total while at least `minimum` of them wait."""
        while len(accumulator.elements) >= minimum:
            rows = accumulator.elements[: self._limit]
            batch = rows[0] if self._batched else _batch(rows)
            more = self._totals.of_batch(*batch)
            accumulator.total = self._totals.sum(accumulator.total, more)
            del accumulator.elements[: self._limit]
        return accumulator

    def extract_output(self, accumulator: _Accumulator) -> Any:
        """Returns the result of all parts of the data."""
        return self._totals.result(self._add_waiting(accumulator, 1).total)


class _TablesCombineFn(_Batching):
    """Adds up the batches of tables."""

    def add_input(self, accumulator: _Accumulator, element: Any) -> _Accumulator:
        """Adds a batch."""
        accumulator.elements.append(element)
        return self._add_waiting(accumulator, self._limit)


class MetricsCombineFn(_Batching):
    """Combines labels and predictions into metrics: for `beam.CombineGlobally`, or for
    `beam.CombinePerKey` to get the metrics of each group.

    An element is one example: a tuple (labels, predictions) or (labels, predictions,
    sample_weight), or a dict of these keys. Its parts have the shapes that
    `update_state` takes, without the first axis: a label and [K] probabilities, say.
    Labels are None for metrics that need none. Examples are collected until there are
    `batch_size` of them for a call of `update_state`. With `batched` every element is a
    batch.

    The value does not depend on how Beam divides the data. Workers send compressed
    states: a kilobyte for means and even bins, more for adaptive bins (a megabyte for
    1000 classes), whatever the number of examples.

    Only the class and the options of the metrics are used, not their states: workers
    make new metrics, with the Keras that they load.

    Args:
      metrics: a Keras metric of this package, or a list or a dict of them. The results
        have the names of the metrics, or the keys of the dict.
      batch_size: number of examples in an update.
      batched: whether elements are batches instead of examples.
      return_states: whether to return the `MetricState` of each metric instead of its
        value. States can be saved, and added to the states of other runs.

    Returns:
      A dict of the results by name: floats, or lists and dicts of floats where `result`
      returns arrays and dicts. Without examples, the results of new metrics.

    Raises:
      ValueError: two metrics have one name, or an argument is not as described. In the
        pipeline: an example is not as the metrics expect it.
      TypeError: a metric is not one of this package. In the pipeline: an element is not
        as described.

    Example:
      >>> import apache_beam as beam
      >>> import uncertainty_metrics as um
      >>> from uncertainty_metrics.beam import MetricsCombineFn
      >>> metrics = {"ece": um.ExpectedCalibrationError(), "brier": um.BrierScore()}
      >>> examples = [(0, [0.9, 0.1]), (1, [0.2, 0.8]), (0, [0.3, 0.7])]
      >>> with beam.Pipeline() as pipeline:
      ...     _ = (
      ...         pipeline
      ...         | beam.Create(examples)
      ...         | beam.CombineGlobally(MetricsCombineFn(metrics))
      ...         | beam.Map(lambda values: print(round(values["ece"], 6)))
      ...     )
      0.333333
    """

    def __init__(
        self,
        metrics: keras.metrics.Metric
        | Iterable[keras.metrics.Metric]
        | Mapping[str, keras.metrics.Metric],
        batch_size: int = 1024,
        *,
        batched: bool = False,
        return_states: bool = False,
    ):
        totals = _totals.MetricTotals(metrics, return_states, rows_first=not batched)
        super().__init__(totals, batch_size, batched)


class ScoreSketchCombineFn(_Batching):
    """Combines labels and predictions into a `ScoreSketch`: for `beam.CombineGlobally`,
    or for `beam.CombinePerKey` to get the sketch of each group.

    Elements are as for `MetricsCombineFn`, with probabilities as predictions. The
    sketch has the same bits however Beam divides the data, and needs no Keras. Workers
    send some kilobytes to some hundred kilobytes, or megabytes if each of 1000 classes
    is a group.

    Args:
      sketch: a sketch with the options to use, or a `Summary`, from which
        `um.report` makes a report; its content is not used. By default
        `ScoreSketch()`: of P(class 1) if that is one column, else of decisions.
      batch_size: number of examples in an update.
      batched: whether elements are batches instead of examples.
      from_logits: whether predictions are logits.

    Returns:
      A `ScoreSketch`, or a `Summary` if `sketch` is one; an empty one if there are no
      examples.

    Raises:
      ValueError: an argument is not as described. In the pipeline: an example is not as
        a sketch expects it.
      TypeError: `sketch` is neither a `ScoreSketch` nor a `Summary`. In the pipeline:
        an element is not as described.

    Example:
      >>> import apache_beam as beam
      >>> import uncertainty_metrics.numpy as um
      >>> from uncertainty_metrics.beam import ScoreSketchCombineFn
      >>> examples = [(0, [0.9, 0.1]), (1, [0.2, 0.8]), (0, [0.3, 0.7])]
      >>> with beam.Pipeline() as pipeline:
      ...     _ = (
      ...         pipeline
      ...         | beam.Create(examples)
      ...         | beam.CombineGlobally(ScoreSketchCombineFn())
      ...         | beam.Map(lambda sketch: print(round(sketch.ece(), 6)))
      ...     )
      0.333333
    """

    def __init__(
        self,
        sketch: ScoreSketch | Summary | None = None,
        batch_size: int = 1024,
        *,
        batched: bool = False,
        from_logits: bool = False,
    ):
        super().__init__(_totals.SketchTotals(sketch, from_logits), batch_size, batched)


def evaluate(
    dataset: beam.PCollection,
    metrics: keras.metrics.Metric
    | Iterable[keras.metrics.Metric]
    | Mapping[str, keras.metrics.Metric],
    *,
    labels: str | None = "label",
    probabilities: str | Sequence[str] = "probabilities",
    sample_weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    return_states: bool = False,
) -> beam.PCollection:
    """Metrics of a collection of tables, of all rows or of each group.

    Args:
      dataset: a collection of pyarrow tables, as from `beam.io.ReadFromParquetBatched`.
        `rows | beam.BatchElements() | beam.Map(pyarrow.Table.from_pylist)` makes tables
        of dicts.
      metrics: a Keras metric of this package, or a list or a dict of them. The results
        have the names of the metrics, or the keys of the dict. Only the class and the
        options of the metrics are used, not their states: workers make new metrics,
        with the Keras that they load.
      labels: the column of the labels; None for metrics that need none.
      probabilities: the column of the predictions that the metrics take: numbers, or
        lists of K numbers; or the K columns of the classes.
      sample_weight: the column of the weights; by default every row weighs 1.
      groups: the column of the groups, or several columns; no real numbers.
      return_states: whether to return the `MetricState` of each metric instead of its
        value. States can be saved, and added to the states of other runs.

    Returns:
      A collection of one dict of the results by name: floats, or lists and dicts of
      floats where `result` returns arrays and dicts. Without rows, the results of new
      metrics. With `groups`, a collection of pairs of a group, which is a value or a
      tuple of the values of several columns, and such a dict.

    Raises:
      ValueError: two metrics have one name. In the pipeline: a value is missing, or is
        not as the metrics expect it.
      TypeError: an argument, or an element of the collection, is not as described.

    Example:
      >>> import apache_beam as beam
      >>> import pyarrow as pa
      >>> import uncertainty_metrics as um
      >>> from uncertainty_metrics.beam import evaluate
      >>> columns = {"label": [0, 1, 0], "p": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]}
      >>> with beam.Pipeline() as pipeline:
      ...     tables = pipeline | beam.Create([pa.table(columns)])
      ...     values = evaluate(
      ...         tables, {"ece": um.ExpectedCalibrationError()}, probabilities="p"
      ...     )
      ...     _ = values | beam.Map(lambda values: print(round(values["ece"], 6)))
      0.333333
    """
    columns = _columns.Columns(labels, probabilities, sample_weight, groups)
    totals = _totals.MetricTotals(metrics, return_states)
    return _combined(dataset, totals, columns)


def summarize(
    dataset: beam.PCollection,
    sketch: ScoreSketch | Summary | None = None,
    *,
    labels: str = "label",
    probabilities: str | Sequence[str] = "probabilities",
    sample_weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    clusters: str | None = None,
    from_logits: bool = False,
) -> beam.PCollection:
    """`ScoreSketch` or `Summary` of a collection of tables, of all rows or by group.

    The sketch has the same bits however Beam divides the rows, and needs no Keras.

    Args:
      dataset: a collection of pyarrow tables, as for `evaluate`.
      sketch: a sketch with the options to use, or a `Summary`, from which
        `um.report` makes a report; its content is not used. By default
        `ScoreSketch()`: of P(class 1) if that is one column, else of decisions.
      labels: the column of the labels.
      probabilities: the column of the predictions: P(class 1), or lists of K numbers;
        or the K columns of the classes.
      sample_weight: the column of the weights; by default every row weighs 1.
      groups: the column of the groups, or several columns; no real numbers.
      clusters: the column of the clusters of examples that depend on each other, such
        as questions; no real numbers. All rows of a cluster must be in one part of the
        dataset, else an error says how to repartition. 8 bytes a cluster are sent to
        find out.
      from_logits: whether predictions are logits.

    Returns:
      A collection of one `ScoreSketch`, or of one `Summary` if `sketch` is one. With
      `groups`, a collection of pairs of a group, which is a value or a tuple of the
      values of several columns, and its sketch or summary.

    Raises:
      ValueError: in the pipeline, a value is missing, or is not as a sketch expects it,
        or a cluster is in two tables.
      TypeError: an argument, or an element of the collection, is not as described.

    Example:
      >>> import apache_beam as beam
      >>> import pyarrow as pa
      >>> from uncertainty_metrics.beam import summarize
      >>> columns = {"label": [0, 1, 0], "p": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]}
      >>> with beam.Pipeline() as pipeline:
      ...     tables = pipeline | beam.Create([pa.table(columns)])
      ...     sketch = summarize(tables, probabilities="p")
      ...     _ = sketch | beam.Map(lambda sketch: print(round(sketch.ece(), 6)))
      0.333333
    """
    columns = _columns.Columns(labels, probabilities, sample_weight, groups, clusters)
    totals = _totals.sketch_totals(
        *(sketch, from_logits, clusters),
        f"Make tables of whole clusters, as after `beam.GroupBy({clusters!r})`.",
    )
    return _combined(dataset, totals, columns)


def _combined(
    dataset: beam.PCollection, totals: _totals.Totals, columns: _columns.Columns
) -> beam.PCollection:
    """Returns the result of all rows, or pairs of a group and its result."""
    if not isinstance(dataset, beam.PCollection):
        raise _checks.type_error("dataset", "a `beam.PCollection`", dataset)
    combine_fn = _TablesCombineFn(totals, 1, batched=True)
    # Beam wants another label for each step of a pipeline.
    number = len(dataset.pipeline.applied_labels)
    batches = dataset | f"Batches {number}" >> beam.FlatMap(columns.batches)
    if columns.groups is not None:
        return batches | f"Combine {number}" >> beam.CombinePerKey(combine_fn)
    return (
        batches
        | f"Values {number}" >> beam.Values()
        | f"Combine {number}" >> beam.CombineGlobally(combine_fn)
    )
