"""Metrics of a dataset that Apache Beam reads, on many machines: `MetricsCombineFn`;
and `ScoreSketchCombineFn`, for a sketch that answers questions later.

The one module that needs Beam; nothing else of the package imports it.
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


def _arguments(element: Any) -> tuple[Any, Any, Any]:
    """Returns labels, predictions and weight, None for those not given."""
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
    """Returns the rows as one array, None if there are none."""
    given = [row is not None for row in rows]
    if not any(given):
        return None
    if not all(given):
        raise _checks.error(
            name, "given in every row or in none", f"{sum(given)} of them"
        )
    rows = [as_array(name, row) for row in rows]
    shapes = sorted({row.shape for row in rows})
    if len(shapes) > 1:
        raise _checks.error(
            name, "the same shape in all rows", f"shapes {shapes[:2]}", verb="have"
        )
    return np.stack(rows)


def _batch(rows: Sequence[tuple[Any, Any, Any]]) -> tuple[np.ndarray | None, ...]:
    """Returns rows as a batch; a row without a weight among others weighs 1."""
    labels, predictions, weights = zip(*rows, strict=True)
    if any(weight is not None for weight in weights):
        weights = tuple(1.0 if weight is None else weight for weight in weights)
    columns = zip(_KEYS, (labels, predictions, weights), strict=True)
    return tuple(_stacked(name, column) for name, column in columns)


def _plain(result: Any) -> Any:
    """Returns a result as Python has it."""
    if isinstance(result, Mapping):
        return {name: _plain(part) for name, part in result.items()}
    return np.asarray(result).tolist()


def _named(metrics: Any) -> dict[str, Any]:
    """Returns metrics by name."""
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
    """Returns the empty state of a metric, and its type, to make it again."""
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
    """What a part of the data adds up to, and elements not yet in it."""

    total: Any
    elements: list[tuple[Any, Any, Any]]


class _Batching(beam.CombineFn):
    """Adds elements up in batches. Subclasses say what of."""

    def __init__(self, batch_size: int, batched: bool):
        _checks.boolean("batched", batched)
        # A batch is an update of its own.
        self._limit = (
            1 if batched else _checks.positive_integer("batch_size", batch_size)
        )
        self._batched = batched

    def _nothing(self) -> Any:
        """Returns the total of no data."""
        raise NotImplementedError

    def _of_batch(self, *batch: Any) -> Any:
        """Returns the total of labels, predictions and weights."""
        raise NotImplementedError

    def _sum(self, total: Any, more: Any) -> Any:
        """Returns the sum of two totals, of which the first may change."""
        raise NotImplementedError

    def create_accumulator(self) -> _Accumulator:
        """Returns what no data adds up to."""
        return _Accumulator(self._nothing(), [])

    def add_input(self, accumulator: _Accumulator, element: Any) -> _Accumulator:
        """Adds an example, or a batch."""
        accumulator.elements.append(_arguments(element))
        return self._settled(accumulator, self._limit)

    def merge_accumulators(self, accumulators: Iterable[_Accumulator]) -> _Accumulator:
        """Returns what all parts of the data add up to."""
        merged = self.create_accumulator()
        for accumulator in accumulators:
            merged.total = self._sum(merged.total, accumulator.total)
            merged.elements += accumulator.elements
            self._settled(merged, self._limit)
        return merged

    def compact(self, accumulator: _Accumulator) -> _Accumulator:
        """Returns the total alone, which is small to send."""
        return self._settled(accumulator, 1)

    def _settled(self, accumulator: _Accumulator, least: int) -> _Accumulator:
        """Moves elements into the total while there are `least` of them."""
        while len(accumulator.elements) >= least:
            rows = accumulator.elements[: self._limit]
            batch = rows[0] if self._batched else _batch(rows)
            more = self._of_batch(*batch)
            accumulator.total = self._sum(accumulator.total, more)
            del accumulator.elements[: self._limit]
        return accumulator


class MetricsCombineFn(_Batching):
    """Combines labels and predictions into metrics: `beam.CombineGlobally` of it, or
    `beam.CombinePerKey` for the metrics of each group.

    An element is one example: a tuple (labels, predictions) or (labels, predictions,
    sample_weight), or a dict of these keys. Its parts have the shapes that
    `update_state` takes, without the first axis: a label and [K] probabilities, say.
    Labels are None for metrics that need none. Examples are buffered, for one call of
    `update_state` with `batch_size` of them. With `batched` every element is a batch.

    The value does not depend on how Beam divides the data. Workers send compressed
    states: a kilobyte for means and even bins, more for adaptive bins (a megabyte for
    1000 classes), whatever the number of examples.

    Only the class and the options of the metrics are used, not their states; workers
    make their own, of the Keras that they load.

    Args:
      metrics: a Keras metric of this package, or a list of them, or a dict. The names
        of the results are those of the metrics, or the keys of the dict.
      batch_size: number of examples in an update.
      batched: whether elements are batches instead of examples.
      return_states: whether to return a `MetricState` instead of each value: to save,
        or to add to those of other runs.

    Returns:
      A dict of the results by name: floats, or what else `result` returns, dicts
      included, in Python's types. Of no examples, the result of a new metric.

    Raises:
      ValueError: two metrics have one name, or an argument is not as described. In the
        pipeline: an example is not as the metrics expect it.
      TypeError: not a metric of this package; in the pipeline, not such an element.

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
            name: _template(metric) for name, metric in _named(metrics).items()
        }
        self._check_axes()
        self._live: dict[tuple[int, ...], dict[str, keras.metrics.Metric]] = {}

    def _check_axes(self) -> None:
        """Raises ValueError where examples would be taken for members."""
        for name, (state, _) in self._templates.items():
            if not self._batched and state.config.get("ensemble_axis") == 0:
                raise _checks.error(
                    "metrics",
                    "an `ensemble_axis` other than 0, unless `batched=True`",
                    f"{name!r} with ensemble_axis=0",
                    verb="have",
                )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_live": {}}

    def _metrics(self, predictions: Any) -> dict[str, keras.metrics.Metric]:
        """Returns metrics without a state, for predictions of so many columns."""
        # Making metrics takes longer than an update, but some stay with the number of
        # classes that they saw first, which may differ from group to group.
        columns = np.shape(predictions)[1:][-1:]
        if columns not in self._live:
            self._live[columns] = self._made({})
        for metric in self._live[columns].values():
            metric.reset_state()
        return self._live[columns]

    def _made(
        self, states: Mapping[str, MetricState]
    ) -> dict[str, keras.metrics.Metric]:
        """Returns new metrics of these states."""
        return {
            name: states.get(name, empty).to_metric(dtype=dtype)
            for name, (empty, dtype) in self._templates.items()
        }

    def _nothing(self) -> dict[str, MetricState]:
        return {}

    def _of_batch(self, *batch: Any) -> dict[str, MetricState]:
        metrics = self._metrics(batch[1])
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
        """Returns the values of the metrics by their names, or their states."""
        metrics = self._made(self._settled(accumulator, 1).total)
        if self._return_states:
            return {name: metric.get_state() for name, metric in metrics.items()}
        return {name: _plain(metric.result()) for name, metric in metrics.items()}


class ScoreSketchCombineFn(_Batching):
    """Combines labels and predictions into a `ScoreSketch`: `beam.CombineGlobally` of
    it, or `beam.CombinePerKey` for the sketch of each group.

    Elements are those of `MetricsCombineFn`, with probabilities as predictions. What
    comes out has the same bits however Beam divides the data, and needs no Keras;
    workers send some kilobytes to some hundred of them, and megabytes for a group for
    each of 1000 classes.

    Args:
      sketch: has the options of the sketch; what is in it is not used. By default
        `ScoreSketch()`, of decisions.
      batch_size: number of examples in an update.
      batched: whether elements are batches instead of examples.
      from_logits: whether predictions are logits.

    Returns:
      A `ScoreSketch`, an empty one of no examples.

    Raises:
      ValueError: an argument is not as described. In the pipeline: an example is not.
      TypeError: not a `ScoreSketch`; in the pipeline, not such an element.

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

    def _nothing(self) -> ScoreSketch:
        return ScoreSketch(**self._config)

    def _of_batch(self, *batch: Any) -> ScoreSketch:
        labels, predictions, weights = batch
        sketch = self._nothing()
        sketch.update(labels, sample_weight=weights, **{self._name: predictions})
        return sketch

    def _sum(self, total: ScoreSketch, more: ScoreSketch) -> ScoreSketch:
        return total + more

    def extract_output(self, accumulator: _Accumulator) -> ScoreSketch:
        """Returns the sketch of all parts of the data."""
        return self._settled(accumulator, 1).total
