"""Metrics of a dataset that Ray processes on many machines.

`evaluate` returns metrics, `summarize` a sketch or a summary that answers questions
later. No other module of the package needs or imports Ray.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.engines import _columns, _groups, _totals
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries.summary import Summary

if TYPE_CHECKING:
    import keras
    import pyarrow as pa
    from ray import data
else:
    data = _optional.require("ray.data")

__all__ = ["evaluate", "summarize"]


def _combined(
    dataset: data.Dataset, totals: _totals.Totals, columns: _columns.Columns
) -> Any:
    """Returns the result of all rows, or a dict of the results of the groups."""
    if not isinstance(dataset, data.Dataset):
        raise _checks.type_error("dataset", "a `ray.data.Dataset`", dataset)

    def of_block(table: pa.Table) -> pa.Table:
        return _groups.packed(_groups.totals_of([table], totals, columns))

    blocks = dataset.select_columns(columns.names).map_batches(
        of_block, batch_size=None, batch_format="pyarrow"
    )
    tables = blocks.iter_batches(batch_size=None, batch_format="pyarrow")
    return _groups.result(_groups.added(tables, totals), totals, columns)


def evaluate(
    dataset: data.Dataset,
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
    """Metrics of a dataset, of all rows or of each group.

    Each block becomes a state, of a kilobyte for means and even bins and of more
    for adaptive bins; the states are added by group. Nothing runs row by row in Python.

    Args:
      dataset: a dataset of rows that are dicts, or that Ray reads from files.
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
      ValueError: two metrics have one name. As a UserCodeException of Ray: a value is
        missing, or is not as the metrics expect it.
      TypeError: an argument is not as described.

    Example:
      >>> import pyarrow as pa
      >>> import ray
      >>> import uncertainty_metrics as um
      >>> from uncertainty_metrics.ray import evaluate
      >>> columns = {"label": [0, 1, 0], "p": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]}
      >>> dataset = ray.data.from_arrow(pa.table(columns))
      >>> values = evaluate(
      ...     dataset, {"ece": um.ExpectedCalibrationError()}, probabilities="p"
      ... )
      >>> round(values["ece"], 6)
      0.333333
    """
    columns = _columns.Columns(labels, probabilities, sample_weight, groups)
    return _combined(dataset, _totals.MetricTotals(metrics, return_states), columns)


def summarize(
    dataset: data.Dataset,
    sketch: ScoreSketch | Summary | None = None,
    *,
    labels: str = "label",
    probabilities: str | Sequence[str] = "probabilities",
    sample_weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    clusters: str | None = None,
    from_logits: bool = False,
) -> Any:
    """`ScoreSketch` or `Summary` of a dataset, of all rows or of each group.

    The sketch has the same bits however Ray divides the rows, and needs no Keras.

    Args:
      dataset: a dataset of rows that are dicts, or that Ray reads from files.
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
      ValueError: an argument is not as described, or a cluster is in two blocks. As a
        UserCodeException of Ray: a value is missing, or is not as a sketch expects it.
      TypeError: an argument is not as described.

    Example:
      >>> import pyarrow as pa
      >>> import ray
      >>> from uncertainty_metrics.ray import summarize
      >>> columns = {"label": [0, 1, 0], "p": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]}
      >>> dataset = ray.data.from_arrow(pa.table(columns))
      >>> round(summarize(dataset, probabilities="p").ece(), 6)
      0.333333
    """
    columns = _columns.Columns(labels, probabilities, sample_weight, groups, clusters)
    totals = _totals.sketch_totals(
        *(sketch, from_logits, clusters),
        f"Repartition it first: `dataset.repartition(n, keys=[{clusters!r}])`.",
    )
    return _combined(dataset, totals, columns)
