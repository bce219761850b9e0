"""Metrics of a DataFrame that Apache Spark processes on many machines.

`evaluate` returns metrics, `summarize` a sketch or a summary that answers questions
later. No other module of the package needs or imports Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.engines import _columns, _groups, _totals
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries.summary import Summary

if TYPE_CHECKING:
    import keras
    import pyarrow as pa
    from pyspark import sql
else:
    pa = _optional.require("pyarrow")
    sql = _optional.require("pyspark.sql")

__all__ = ["evaluate", "summarize"]


def _combined(
    dataset: sql.DataFrame, totals: _totals.Totals, columns: _columns.Columns
) -> Any:
    """Returns the result of all rows, or a dict of the results of the groups."""
    if not isinstance(dataset, sql.DataFrame):
        raise _checks.type_error("dataset", "a Spark DataFrame", dataset)

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        groups = _groups.totals_of(tables, totals, columns)
        yield from _groups.packed(groups).to_batches()

    def of_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _groups.packed(_groups.added(batches, totals)).to_batches()

    parts = _arrays(dataset, columns.names).mapInArrow(of_partition, _groups.SCHEMA)
    whole = parts.repartition("group").mapInArrow(of_groups, _groups.SCHEMA)
    groups = _groups.added([whole.toArrow()], totals)
    return _groups.result(groups, totals, columns)


def _arrays(dataset: sql.DataFrame, names: Sequence[str]) -> sql.DataFrame:
    """Returns these columns, with arrays instead of the vectors of `pyspark.ml`."""
    dataset = dataset.select(*names)
    vectors = [
        field.name
        for field in dataset.schema.fields
        if field.dataType.typeName() == "vectorudt"
    ]
    if not vectors:
        return dataset
    to_array = _optional.require("pyspark.ml.functions").vector_to_array
    return dataset.withColumns({name: to_array(dataset[name]) for name in vectors})


def evaluate(
    dataset: sql.DataFrame,
    metrics: keras.metrics.Metric
    | Iterable[keras.metrics.Metric]
    | Mapping[str, keras.metrics.Metric],
    *,
    labels: str | None = "label",
    probabilities: str | Sequence[str] = "probabilities",
    sample_weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    return_states: bool = False,
) -> dict[Any, Any]:
    """Metrics of a DataFrame, of all rows or of each group.

    Each partition becomes a state, of a kilobyte for means and even bins and of more
    for adaptive bins; the states are added by group. Nothing runs row by row in Python.

    Args:
      dataset: a DataFrame.
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
      A dict of the results by name: floats, or lists and dicts of floats where `result`
      returns arrays and dicts. Without rows, the results of new metrics. With `groups`,
      a dict of such dicts by group, which is a value or a tuple of the values of
      several columns.

    Raises:
      ValueError: two metrics have one name. As a PythonException of Spark: a value is
        missing, or is not as the metrics expect it.
      TypeError: an argument is not as described.

    Example:
      >>> from pyspark.sql import SparkSession
      >>> import uncertainty_metrics as um
      >>> from uncertainty_metrics.spark import evaluate
      >>> spark = SparkSession.builder.getOrCreate()
      >>> rows = [(0, [0.9, 0.1]), (1, [0.2, 0.8]), (0, [0.3, 0.7])]
      >>> frame = spark.createDataFrame(rows, ["label", "probabilities"])
      >>> values = evaluate(frame, {"ece": um.ExpectedCalibrationError()})
      >>> round(values["ece"], 6)
      0.333333
    """
    columns = _columns.Columns(labels, probabilities, sample_weight, groups)
    return _combined(dataset, _totals.MetricTotals(metrics, return_states), columns)


def summarize(
    dataset: sql.DataFrame,
    sketch: ScoreSketch | Summary | None = None,
    *,
    labels: str = "label",
    probabilities: str | Sequence[str] = "probabilities",
    sample_weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    clusters: str | None = None,
    from_logits: bool = False,
) -> Any:
    """`ScoreSketch` or `Summary` of a DataFrame, of all rows or of each group.

    The sketch has the same bits however Spark divides the rows, and needs no Keras.

    Args:
      dataset: a DataFrame.
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
      A `ScoreSketch`, or a `Summary` if `sketch` is one; an empty one if there are no
      rows. With `groups`, a dict of them by group, which is a value or a tuple of the
      values of several columns.

    Raises:
      ValueError: an argument is not as described. As a PythonException of Spark: a
        value is missing, or is not as a sketch expects it. Either: a cluster is in two
        partitions.
      TypeError: an argument is not as described.

    Example:
      >>> from pyspark.sql import SparkSession
      >>> from uncertainty_metrics.spark import summarize
      >>> spark = SparkSession.builder.getOrCreate()
      >>> rows = [(0, [0.9, 0.1]), (1, [0.2, 0.8]), (0, [0.3, 0.7])]
      >>> frame = spark.createDataFrame(rows, ["label", "probabilities"])
      >>> round(summarize(frame).ece(), 6)
      0.333333
    """
    columns = _columns.Columns(labels, probabilities, sample_weight, groups, clusters)
    totals = _totals.sketch_totals(
        *(sketch, from_logits, clusters),
        f"Repartition it first: `dataset.repartition({clusters!r})`.",
    )
    return _combined(dataset, totals, columns)
