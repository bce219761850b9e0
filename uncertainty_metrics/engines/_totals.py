"""Totals of a dataset that add up: of metrics, and of sketches and summaries."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries.summary import Summary

if TYPE_CHECKING:
    import keras

# Labels, predictions and weights, each None if there are none; then ids of clusters, if
# there are clusters.
Batch = tuple[Any, ...]

# An update takes at most so many predicted values: larger ones are not faster and
# need memory.
_MAX_VALUES = 2**20


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

    def of_batch(
        self, labels: Any, predictions: Any, weights: Any, clusters: Any = None
    ) -> Any:
        """Returns the sketch or summary of a batch."""
        sketch = self.empty()
        sketch.update(
            labels,
            sample_weight=weights,
            clusters=clusters,
            **{self._name: predictions},
        )
        return sketch

    def sum(self, total: Any, more: Any) -> Any:
        """Returns the sum of two sketches or summaries."""
        return total + more

    def result(self, total: Any) -> Any:
        """Returns the sketch or summary."""
        return total


def sketch_totals(
    sketch: ScoreSketch | Summary | None,
    from_logits: bool,
    clusters: str | None,
    advice: str,
) -> SketchTotals | ClusteredTotals:
    """Returns the totals of a `ScoreSketch` or a `Summary`.

    Args:
      sketch: as for `SketchTotals`.
      from_logits: whether predictions are logits.
      clusters: the column of the ids of clusters, or None.
      advice: how to divide the data such that clusters are whole.
    """
    totals = SketchTotals(sketch, from_logits)
    return totals if clusters is None else ClusteredTotals(totals, advice)


class ClusteredTotals:
    """Totals of sketches or summaries of examples in clusters, which must be whole in
    one batch.

    A total is a pair of a sketch and of hashes of the ids of its clusters, 8 bytes a
    cluster. If two totals share a hash, a cluster was divided. Different ids share one
    with a probability of C^2 / 2^65 for C clusters, 3e-8 for a million.

    Args:
      sketches: the totals without clusters.
      advice: how to divide the data such that clusters are whole.
    """

    def __init__(self, sketches: SketchTotals, advice: str):
        self._sketches = sketches
        self._advice = advice

    def empty(self) -> tuple[Any, np.ndarray]:
        """Returns the total of no data."""
        return self._sketches.empty(), np.zeros(0, np.uint64)

    def of_batch(
        self, labels: Any, predictions: Any, weights: Any, *clusters: np.ndarray
    ) -> tuple[Any, np.ndarray]:
        """Returns the total of a batch of whole clusters, with one column of ids."""
        (ids,) = clusters
        sketch = self._sketches.of_batch(labels, predictions, weights, ids)
        # `hash` of a text differs from worker to worker.
        digests = [
            hashlib.blake2b(repr(value).encode(), digest_size=8).digest()
            for value in dict.fromkeys(ids.tolist())
        ]
        return sketch, np.sort(np.frombuffer(b"".join(digests), np.uint64))

    def sum(
        self, total: tuple[Any, np.ndarray], more: tuple[Any, np.ndarray]
    ) -> tuple[Any, np.ndarray]:
        """Returns the sum of two totals.

        Raises:
          ValueError: both have examples of one cluster.
        """
        hashes = np.sort(np.concatenate([total[1], more[1]]), kind="stable")
        number = int(np.count_nonzero(hashes[1:] == hashes[:-1]))
        if number:
            raise _checks.plain_error(
                "All examples of a cluster must be in one part of the data."
                + f" {self._advice}",
                f"clusters in two parts: {number}",
            )
        return self._sketches.sum(total[0], more[0]), hashes

    def result(self, total: tuple[Any, np.ndarray]) -> Any:
        """Returns the sketch or summary."""
        return self._sketches.result(total[0])
