"""A Keras callback that writes reliability diagrams to TensorBoard."""

from __future__ import annotations

import collections
import dataclasses
import os
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics._calibration_spec import YAxis
from uncertainty_metrics.keras import _event_files
from uncertainty_metrics.keras._family import keras
from uncertainty_metrics.keras.metrics.bayesian_calibration import (
    BayesianExpectedCalibrationError,
)
from uncertainty_metrics.keras.metrics.brier_decompositions import BrierDecomposition
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
from uncertainty_metrics.ops import IS_TENSORFLOW, to_numpy

if TYPE_CHECKING:
    from uncertainty_metrics._results import AnyBinStatistics

__all__ = ["ReliabilityDiagramCallback"]

# Levels of the posterior: the ends of its central 95%, and the median.
_QUANTILES = (0.025, 0.5, 0.975)
# The attributes of `BinStatistics` that are tensors.
_PARTS = ("edges", "counts", "score_sums", "outcome_sums")


def _named(
    metrics: Iterable[Any], output: str | None = None
) -> Iterator[tuple[str, keras.metrics.Metric]]:
    """Yields the calibration metrics, each with its name in the logs of Keras."""
    for metric in metrics:
        # In Keras 3 one metric holds the metrics of `compile`, in a list for each
        # output. Their names do not contain the output, unlike in tf_keras.
        lists = (
            *getattr(metric, "_flat_metrics", ()),
            *getattr(metric, "_flat_weighted_metrics", ()),
        )
        for of_output in filter(None, lists):
            yield from _named(of_output.metrics, of_output.output_name)
        if isinstance(metric, GeneralCalibrationError | BrierDecomposition):
            yield (f"{output}_{metric.name}" if output else metric.name), metric


def _calibration_metrics(model: Any) -> dict[str, keras.metrics.Metric]:
    """Returns the calibration metrics of a model by name; equal names get numbers."""
    metrics: dict[str, keras.metrics.Metric] = {}
    times: collections.Counter[str] = collections.Counter()
    for name, metric in _named(model.metrics):
        metrics[f"{name}_{times[name]}" if times[name] else name] = metric
        times[name] += 1
    return metrics


def _statistics(metric: GeneralCalibrationError) -> AnyBinStatistics | None:
    """Returns the `bin_statistics` of a metric as NumPy arrays, or None."""
    statistics = metric.bin_statistics
    if statistics is None:
        return None
    arrays: dict[str, Any] = {
        part: to_numpy(getattr(statistics, part)) for part in _PARTS
    }
    return dataclasses.replace(statistics, **arrays)


def _scalars(metric: keras.metrics.Metric) -> dict[str, float]:
    """Returns the numbers to write for a metric, each with the end of its tag."""
    result = metric.result()
    if isinstance(result, dict):
        return {f"/{part}": float(value) for part, value in result.items()}
    scalars = {"": float(result)}
    if isinstance(metric, BayesianExpectedCalibrationError):
        drawn = to_numpy(metric.quantiles(_QUANTILES))
        for level, value in zip(_QUANTILES, drawn, strict=True):
            scalars[f"/quantile_{level:g}"] = float(value)
    statistics = _statistics(metric)
    if metric.spec.uses_decision and statistics is not None:
        n = np.sum(statistics.counts)
        gap = np.sum(statistics.outcome_sums) - np.sum(statistics.score_sums)
        if n != 0:
            scalars["/accuracy_minus_confidence"] = float(gap / n)
    return scalars


def _diagram(statistics: AnyBinStatistics, y_axis: YAxis, title: str) -> np.ndarray:
    """Draws the reliability diagram of one group: uint8 [height, width, 4]."""
    from uncertainty_metrics.visualization import reliability

    backend = _optional.require("matplotlib.backends.backend_agg")
    figure = _optional.require("matplotlib.figure")
    # Not a figure of pyplot, which would keep the figure and might show it.
    figure = figure.Figure(figsize=(5, 6.4), dpi=80, layout="constrained")
    canvas = backend.FigureCanvasAgg(figure)
    curve = reliability.curve_from_statistics(statistics, y_axis=y_axis)
    ax = reliability.draw_reliability(curve, title=title, ax=figure.add_subplot())
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, fontsize="small")
    canvas.draw()
    return np.array(canvas.buffer_rgba())


def _diagrams(
    name: str, metric: GeneralCalibrationError, most: int
) -> np.ndarray | None:
    """Draws the diagrams of the first `most` groups, [groups, height, width, 4]."""
    statistics = _statistics(metric)
    if statistics is None:
        return None
    y_axis: YAxis = "accuracy" if metric.spec.uses_decision else "frequency"
    groups = statistics.counts.shape[0]
    return np.stack(
        [
            _diagram(
                dataclasses.replace(
                    statistics, **{p: getattr(statistics, p)[k : k + 1] for p in _PARTS}
                ),
                y_axis,
                name if groups == 1 else f"{name}, class {k}",
            )
            for k in range(min(groups, most))
        ]
    )


class ReliabilityDiagramCallback(keras.callbacks.Callback):
    """Writes reliability diagrams to TensorBoard while a model trains.

    The diagrams are drawn from the states of the compiled calibration metrics at the
    end of each validation, so nothing is predicted twice and no state changes. With the
    `log_dir` of `keras.callbacks.TensorBoard`, they are in its run `validation`. After
    an epoch without validation, the metrics of training are written to the run `train`.
    `evaluate` takes the callback, too; outside of `fit`, each call of `evaluate` is one
    more step, with a diagram.

    For a metric named `ece` the tags are

      calibration/ece                             value
      calibration/ece/accuracy_minus_confidence   negative for an overconfident model;
                                                  if the metric scores decisions
      calibration/ece/diagram                     image; a class-wise metric has one for
                                                  each class
      calibration/ece/quantile_0.025              quantile of the posterior of a
                                                  `BayesianExpectedCalibrationError`;
                                                  also 0.5 and 0.975

    The parts of a `BrierDecomposition` are written too, such as
    `calibration/brier_decomposition/reliability`. Metrics of a model with several
    outputs have the names that Keras gives them, `<output>_<name>`.

    Args:
      log_dir: directory of the logs, a string or a path; runs are folders in it.
      every: a diagram is drawn in epochs 0, `every`, 2 `every`, ...; scalars are
        written in all epochs.
      max_images: largest number of diagrams of a metric in an epoch; the first classes
        are drawn. A diagram takes some tenths of a second.

    Raises:
      ImportError: tensorboard or matplotlib is not installed.
      ValueError: `every` or `max_images` is not an integer of at least 1.

    Example:
      >>> import os, tempfile
      >>> import tensorflow as tf
      >>> import uncertainty_metrics as um
      >>> model = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Softmax()])
      >>> ece = um.ExpectedCalibrationError(name="ece")
      >>> model.compile(loss="sparse_categorical_crossentropy", metrics=[ece])
      >>> logs = tempfile.mkdtemp()
      >>> callback = um.ReliabilityDiagramCallback(logs)
      >>> features, labels = tf.constant([[0.0, 1.0], [1.0, 0.0]]), tf.constant([1, 1])
      >>> _ = model.evaluate(features, labels, callbacks=[callback], verbose=0)
      >>> os.listdir(logs)
      ['validation']

    References:
      Guo et al. (2017), On Calibration of Modern Neural Networks.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], *, every: int = 1, max_images: int = 3
    ):
        super().__init__()
        _optional.require("tensorboard")
        _optional.require("matplotlib")
        self.log_dir = os.fspath(log_dir)
        self.every = _checks.positive_integer("every", every)
        self.max_images = _checks.positive_integer("max_images", max_images)
        self._writers: dict[str, Any] = {}
        self._step = 0
        self._in_epoch = self._validated = False

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Remembers the epoch, which is the step of all that is written."""
        self._step = epoch
        self._in_epoch, self._validated = True, False

    def on_test_end(self, logs: Any = None) -> None:
        """Writes the metrics of the validation data."""
        self._write("validation")
        self._validated = True
        self._step = self._step + (not self._in_epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes the metrics of training, if there was no validation in this epoch."""
        if not self._validated:
            self._write("train")
        self._step = epoch + 1
        self._in_epoch = False

    def _write(self, run: str) -> None:
        metrics = _calibration_metrics(self.model)
        if not metrics:
            warnings.warn(
                "ReliabilityDiagramCallback has nothing to write: the model has no "
                "calibration metric. Pass one to `compile`, such as "
                "metrics=[um.ExpectedCalibrationError()].",
                stacklevel=2,
            )
            return
        scalars, images = {}, {}
        for name, metric in metrics.items():
            tag = f"calibration/{name}"
            for end, value in _scalars(metric).items():
                scalars[tag + end] = value
            left_out = self._in_epoch and self._step % self.every
            if left_out or isinstance(metric, BrierDecomposition) or metric.num_groups:
                continue
            drawn = _diagrams(name, metric, self.max_images)
            if drawn is not None:
                images[f"{tag}/diagram"] = drawn
        write = self._by_tensorflow if IS_TENSORFLOW else self._by_tensorboard
        write(os.path.join(self.log_dir, run), scalars, images)

    def _by_tensorflow(
        self, folder: str, scalars: dict[str, float], images: dict[str, np.ndarray]
    ) -> None:
        import tensorflow as tf

        step = self._step
        if folder not in self._writers:
            self._writers[folder] = tf.summary.create_file_writer(folder)
        writer = self._writers[folder]
        # Another callback may have set `record_if` so that only some steps are written.
        with writer.as_default(), tf.summary.record_if(True):
            for tag, value in scalars.items():
                tf.summary.scalar(tag, value, step)
            for tag, drawn in images.items():
                tf.summary.image(tag, drawn, step, max_outputs=self.max_images)
        writer.flush()

    def _by_tensorboard(
        self, folder: str, scalars: dict[str, float], images: dict[str, np.ndarray]
    ) -> None:
        if folder not in self._writers:
            self._writers[folder] = _event_files.EventFile(folder)
        self._writers[folder].scalars(self._step, scalars)
        if images:
            self._writers[folder].images(self._step, images)
