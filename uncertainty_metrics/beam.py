"""Metrics of a dataset that Apache Beam processes on many machines.

`MetricsCombineFn` returns metrics, `ScoreSketchCombineFn` a sketch that answers
questions later. No other module of the package needs or imports Beam.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy._inputs import as_array
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch

if TYPE_CHECKING:
    import apache_beam as beam
    import keras
else:
    beam = _optional.require("apache_beam")

__all__ = ["MetricsCombineFn", "ScoreSketchCombineFn"]

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


@dataclasses.dataclass
class _Accumulator:
    """The sum over a part of the data.

    Attributes:
      total: the sum of the elements that were added.
      elements: elements that wait until there are enough for a batch.
    """

    total: Any
    elements: list[tuple[Any, Any, Any]]


class _Batching(beam.CombineFn):
    """Adds up elements in batches; subclasses define the totals that are added."""

    def __init__(self, batch_size: int, batched: bool):
        _checks.boolean("batched", batched)
        # With `batched`, each element is an update.
        self._limit = (
            1 if batched else _checks.positive_integer("batch_size", batch_size)
        )
        self._batched = batched

    def _empty_total(self) -> Any:
        """Returns the total of no data."""
        raise NotImplementedError

    def _total_of_batch(self, *batch: Any) -> Any:
        """Returns the total of labels, predictions and weights."""
        raise NotImplementedError

    def _sum(self, total: Any, more: Any) -> Any:
        """Returns the sum of two totals; may change the first in place."""
        raise NotImplementedError

    def create_accumulator(self) -> _Accumulator:
        """Returns the accumulator of no data."""
        return _Accumulator(self._empty_total(), [])

    def add_input(self, accumulator: _Accumulator, element: Any) -> _Accumulator:
        """Adds an example, or a batch."""
        accumulator.elements.append(_parts_of_element(element))
        return self._add_waiting(accumulator, self._limit)

    def merge_accumulators(self, accumulators: Iterable[_Accumulator]) -> _Accumulator:
        """Returns the accumulator of all parts of the data."""
        merged = self.create_accumulator()
        for accumulator in accumulators:
            merged.total = self._sum(merged.total, accumulator.total)
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
            more = self._total_of_batch(*batch)
            accumulator.total = self._sum(accumulator.total, more)
            del accumulator.elements[: self._limit]
        return accumulator


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
        super().__init__(batch_size, batched)
        _checks.boolean("return_states", return_states)
        self._return_states = return_states
        self._templates = {
            name: _template(metric)
            for name, metric in _metrics_by_name(metrics).items()
        }
        self._check_axes()
        self._metrics_by_columns: dict[
            tuple[int, ...], dict[str, keras.metrics.Metric]
        ] = {}

    def _check_axes(self) -> None:
        """Raises ValueError if a metric would take examples for members."""
        for name, (state, _) in self._templates.items():
            if not self._batched and state.config.get("ensemble_axis") == 0:
                raise _checks.error(
                    "metrics",
                    "an `ensemble_axis` other than 0, unless `batched=True`",
                    f"{name!r} with ensemble_axis=0",
                    verb="have",
                )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_metrics_by_columns": {}}

    def _reset_metrics(self, predictions: Any) -> dict[str, keras.metrics.Metric]:
        """Returns metrics in their initial state, for the columns of predictions."""
        # Metrics are reused, since making them takes longer than an update. But some
        # keep the number of classes of their first batch, and groups may differ in it.
        columns = np.shape(predictions)[1:][-1:]
        if columns not in self._metrics_by_columns:
            self._metrics_by_columns[columns] = self._new_metrics({})
        for metric in self._metrics_by_columns[columns].values():
            metric.reset_state()
        return self._metrics_by_columns[columns]

    def _new_metrics(
        self, states: Mapping[str, MetricState]
    ) -> dict[str, keras.metrics.Metric]:
        """Returns new metrics with these states; empty ones for missing states."""
        return {
            name: states.get(name, empty).to_metric(dtype=dtype)
            for name, (empty, dtype) in self._templates.items()
        }

    def _empty_total(self) -> dict[str, MetricState]:
        return {}

    def _total_of_batch(self, *batch: Any) -> dict[str, MetricState]:
        metrics = self._reset_metrics(batch[1])
        for metric in metrics.values():
            metric.update_state(*batch)
        return {name: metric.get_state() for name, metric in metrics.items()}

    def _sum(
        self, total: dict[str, MetricState], more: Mapping[str, MetricState]
    ) -> dict[str, MetricState]:
        return total | {
            name: total.get(name, 0) + state for name, state in more.items()
        }

    def extract_output(self, accumulator: _Accumulator) -> dict[str, Any]:
        """Returns a dict of the values, or of the states, of the metrics by name."""
        metrics = self._new_metrics(self._add_waiting(accumulator, 1).total)
        if self._return_states:
            return {name: metric.get_state() for name, metric in metrics.items()}
        return {name: _plain(metric.result()) for name, metric in metrics.items()}


class ScoreSketchCombineFn(_Batching):
    """Combines labels and predictions into a `ScoreSketch`: for `beam.CombineGlobally`,
    or for `beam.CombinePerKey` to get the sketch of each group.

    Elements are as for `MetricsCombineFn`, with probabilities as predictions. The
    sketch has the same bits however Beam divides the data, and needs no Keras. Workers
    send some kilobytes to some hundred kilobytes, or megabytes if each of 1000 classes
    is a group.

    Args:
      sketch: a sketch with the options to use; its content is not used. By default
        `ScoreSketch()`, which scores decisions.
      batch_size: number of examples in an update.
      batched: whether elements are batches instead of examples.
      from_logits: whether predictions are logits.

    Returns:
      A `ScoreSketch`; an empty one if there are no examples.

    Raises:
      ValueError: an argument is not as described. In the pipeline: an example is not as
        a sketch expects it.
      TypeError: `sketch` is not a `ScoreSketch`. In the pipeline: an element is not as
        described.

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
        sketch: ScoreSketch | None = None,
        batch_size: int = 1024,
        *,
        batched: bool = False,
        from_logits: bool = False,
    ):
        super().__init__(batch_size, batched)
        if not isinstance(sketch, ScoreSketch | None):
            raise TypeError(
                f"`sketch` must be a `ScoreSketch`. Received: {type(sketch).__name__}"
            )
        self._config = {} if sketch is None else sketch.config
        _checks.boolean("from_logits", from_logits)
        self._name = "logits" if from_logits else "probabilities"

    def _empty_total(self) -> ScoreSketch:
        return ScoreSketch(**self._config)

    def _total_of_batch(self, *batch: Any) -> ScoreSketch:
        labels, predictions, weights = batch
        sketch = self._empty_total()
        sketch.update(labels, sample_weight=weights, **{self._name: predictions})
        return sketch

    def _sum(self, total: ScoreSketch, more: ScoreSketch) -> ScoreSketch:
        return total + more

    def extract_output(self, accumulator: _Accumulator) -> ScoreSketch:
        """Returns the sketch of all parts of the data."""
        return self._add_waiting(accumulator, 1).total
