"""Contenders of the package's own environment, and baselines that live there too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from data import Data
from harness import Timed

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

_BINS = 15
_ROOT = Path(__file__).resolve().parent.parent
_FEATURES = 32
# Steps of one evaluation: many, as starting it costs a few milliseconds.
_STEPS = 200

EAGER, GRAPH, XLA = "eager", "tf.function", "tf.function(jit_compile=True)"


def _compiled(function: Callable, mode: str) -> Callable:
    if mode == EAGER:
        return function
    return tf.function(function, jit_compile=mode == XLA)


def numpy_function(data: Data, name: str) -> Timed:
    """A function of `uncertainty_metrics.numpy` on all the data."""
    function = getattr(um_np, name)

    def call():
        return function(data.labels, data.probabilities)

    return Timed(call=call, value=call)


def tensorflow_function(data: Data, name: str, mode: str) -> Timed:
    """A function of `uncertainty_metrics` on all the data."""
    function = _compiled(getattr(um, name), mode)
    labels, probabilities = map(tf.constant, data)

    def call():
        return function(labels, probabilities)

    return Timed(call=call, value=lambda: float(call()))


def keras_update(data: Data, name: str, mode: str) -> Timed:
    """`update_state` of a Keras metric with one batch."""
    return _update(
        getattr(um, name)(num_classes=data.probabilities.shape[1]), data, mode
    )


def plain_update(data: Data, mode: str) -> Timed:
    """The same with `PlainCalibrationError`."""
    return _update(PlainCalibrationError(), data, mode)


def _update(metric: keras.metrics.Metric, data: Data, mode: str) -> Timed:
    update = _compiled(metric.update_state, mode)
    labels, probabilities = map(tf.constant, data)

    def call():
        update(labels, probabilities)

    def value():
        metric.reset_state()
        call()
        return float(metric.result())

    return Timed(call=call, value=value, reset=metric.reset_state)


class PlainCalibrationError(keras.metrics.Metric):
    """Expected calibration error as one writes it first: no checks, float32 sums."""

    def __init__(self, name: str = "plain"):
        super().__init__(name=name, dtype="float32")
        self._sums = [
            self.add_weight(name=part, shape=(_BINS,), initializer="zeros")
            for part in ("counts", "confidences", "outcomes")
        ]

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        decision = tf.argmax(y_pred, axis=-1, output_type=tf.int32)
        score = tf.reduce_max(y_pred, axis=-1)
        right = tf.cast(decision == tf.cast(y_true, tf.int32), tf.float32)
        index = tf.cast(tf.math.ceil(score * _BINS), tf.int32) - 1
        index = tf.clip_by_value(index, 0, _BINS - 1)
        values = (tf.ones_like(score), score, right)
        for variable, value in zip(self._sums, values, strict=True):
            variable.assign_add(tf.math.unsorted_segment_sum(value, index, _BINS))

    def result(self):
        """Returns the error of all batches."""
        counts, confidences, outcomes = map(tf.convert_to_tensor, self._sums)
        gaps = tf.reduce_sum(tf.abs(confidences - outcomes))
        return tf.math.divide_no_nan(gaps, tf.reduce_sum(counts))


_METRICS = {
    "none": lambda: [],
    "accuracy": lambda: [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
    "ece": lambda: [um.ExpectedCalibrationError(name="ece")],
    "plain": lambda: [PlainCalibrationError()],
}


def evaluate(data: Data, metric: str, jit_compile: bool) -> Timed:
    """`model.evaluate` of one dense layer with a cross-entropy loss and a metric."""
    examples, classes = data.probabilities.shape
    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).standard_normal((examples, _FEATURES))
    # Weights of variance 1 make decided predictions, as training would.
    dense = keras.layers.Dense(
        classes,
        activation="softmax",
        kernel_initializer=keras.initializers.RandomNormal(0.0, 1.0),
    )
    model = keras.Sequential([keras.Input((_FEATURES,)), dense])
    model.compile(
        loss="sparse_categorical_crossentropy",
        metrics=_METRICS[metric](),
        jit_compile=jit_compile,
    )
    # One batch, again and again: the input costs next to nothing.
    batch = tf.data.Dataset.from_tensors((inputs.astype(np.float32), data.labels))
    batches = batch.repeat(_STEPS)

    def call():
        return model.evaluate(batches, verbose=0, return_dict=True)

    return Timed(call=call, value=lambda: call()[metric], steps=_STEPS)


def import_time(data: None, module: str) -> Timed:
    """`import module` in a fresh process, without the start of Python itself."""
    code = (
        "import time; start = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - start)"
    )

    def seconds():
        child = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            text=True,
        )
        return float(child.stdout)

    return Timed(seconds=seconds)
