"""Contenders in the environment of the package: its functions, and plain baselines."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from data import Data, Logits, Predictions, Samples, Scores
from harness import EAGER, NUMPY, XLA, Timed

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

_BINS = 15
_ROOT = Path(um.__file__).resolve().parents[1]
_FEATURES = 32
_EXAMPLES = 10_000  # The number of examples for a Row.
# Steps of one evaluation or epoch: many, because its start costs a few milliseconds.
_STEPS = 200


def _compiled(function: Callable, mode: str) -> Callable:
    if mode in (NUMPY, EAGER):
        return function
    return tf.function(function, jit_compile=mode == XLA)


def _number(result: Any) -> float:
    """Returns the value of a result: the mean of the scores, or of its parts."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        result = [np.mean(part) for part in result]
    return float(np.mean(result))


def _tensors(data: Data) -> dict[str, tf.Tensor]:
    return {name: tf.constant(values) for name, values in data._asdict().items()}


def _one_shot(function: Callable, arguments: dict[str, Any]) -> Timed:
    return Timed(
        call=lambda: function(**arguments),
        value=lambda: _number(function(**arguments)),
    )


def _named(room: ModuleType, name: str) -> Callable:
    return operator.attrgetter(name)(room)  # The name may be `regression.name`.


def numpy_function(data: Data, name: str, **options: Any) -> Timed:
    """A function of `uncertainty_metrics.numpy` on all the data."""
    function = functools.partial(_named(um_np, name), **options)
    return _one_shot(function, data._asdict())


def with_numba(data: Data, name: str, **options: Any) -> Timed:
    """A function of `uncertainty_metrics.numpy` in a process that uses Numba."""
    _start_numba()
    return numpy_function(data, name, **options)


def calibrator_with_numba(data: Logits | Predictions, name: str) -> Timed:
    """Fit of a calibrator in a process that uses Numba."""
    _start_numba()
    return calibrator(data, name)


def _start_numba() -> None:
    import numba

    numba.njit(lambda: 0)()  # From now on all functions of the process use it.


def on_threads(data: Data, name: str, threads: int, **options: Any) -> Timed:
    """A function of `uncertainty_metrics.numpy` with this number of threads."""
    timed = numpy_function(data, name, **options)

    def call():
        # The package reads the variable in each call, the libraries below it do not.
        told = os.environ.get("OMP_NUM_THREADS")
        os.environ["OMP_NUM_THREADS"] = str(threads)
        try:
            timed.call()
        finally:
            if told is None:
                del os.environ["OMP_NUM_THREADS"]
            else:
                os.environ["OMP_NUM_THREADS"] = told

    return Timed(call=call, value=timed.value)


def tensorflow_function(data: Data, name: str, mode: str, **options: Any) -> Timed:
    """A function of `uncertainty_metrics` on all the data."""
    function = functools.partial(_named(um, name), **options)
    return _one_shot(_compiled(function, mode), _tensors(data))


def plain_function(data: Data, name: str, mode: str) -> Timed:
    """A function as one would write it first, without checks."""
    return _one_shot(_compiled(_PLAIN[name], mode), _tensors(data))


def tensorflow_gradient(data: Samples, name: str, mode: str, **options: Any) -> Timed:
    """The mean of a score of samples, and its gradient in the samples."""
    return _gradient(functools.partial(getattr(um, name), **options), data, mode)


def plain_gradient(data: Samples, name: str, mode: str) -> Timed:
    """The mean and the gradient of a plain score."""
    return _gradient(_PLAIN[name], data, mode)


def _gradient(score: Callable, data: Samples, mode: str) -> Timed:
    def value_and_gradient(labels, predictive_samples):
        with tf.GradientTape() as tape:
            tape.watch(predictive_samples)
            value = tf.reduce_mean(score(labels, predictive_samples))
        return value, tape.gradient(value, predictive_samples)

    function = _compiled(value_and_gradient, mode)
    tensors = _tensors(data)

    def value():
        score, gradient = function(**tensors)
        # One number of the gradient: its component along the samples.
        return float(score) + float(np.vdot(gradient, data.predictive_samples))

    return Timed(call=lambda: function(**tensors), value=value)


def _plain_brier(labels, probabilities):
    at_label = tf.gather(probabilities, labels, batch_dims=1)
    scores = tf.reduce_sum(probabilities * probabilities, axis=-1) - 2 * at_label
    return tf.reduce_mean(scores)


def _plain_likelihood(labels, logits):
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    )


def _plain_decomposition(labels, probabilities):
    classes = probabilities.shape[1]
    decisions = tf.argmax(probabilities, axis=1)
    counts = tf.math.confusion_matrix(decisions, labels, classes, dtype=tf.float32)
    counts_of_decision = tf.reduce_sum(counts, axis=1)
    shares = counts_of_decision / tf.reduce_sum(counts_of_decision)
    dbar = tf.math.divide_no_nan(counts, counts_of_decision[:, None])
    pbar = tf.linalg.matvec(dbar, shares, transpose_a=True)
    gaps = tf.math.squared_difference(probabilities, tf.gather(dbar, decisions))
    resolution = tf.reduce_sum(tf.math.squared_difference(dbar, pbar), axis=1)
    return [
        -tf.reduce_sum(pbar * pbar),
        tf.reduce_sum(shares * resolution),
        tf.reduce_mean(tf.reduce_sum(gaps, axis=1)),
    ]


def _plain_normal(labels, means, stddevs):
    z = (labels - means) / stddevs
    density = tf.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    part = z * tf.math.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi)
    return stddevs * part


def _plain_crps(labels, predictive_samples):
    m = predictive_samples.shape[1]
    weights = tf.range(1.0 - m, m, 2.0) / (m * (m - 1))
    error = tf.reduce_mean(tf.abs(predictive_samples - labels[:, None]), axis=1)
    return error - tf.linalg.matvec(tf.sort(predictive_samples, axis=1), weights)


def _plain_energy(labels, predictive_samples):
    pairs = predictive_samples[:, :, None] - predictive_samples[:, None]
    error = tf.norm(predictive_samples - labels[:, None], axis=-1)
    spread = tf.reduce_mean(tf.norm(pairs, axis=-1), axis=[1, 2])
    return tf.reduce_mean(error, axis=1) - spread / 2


def _plain_diversity(probs):
    def of_pair(p, q):
        different = tf.argmax(p, axis=-1) != tf.argmax(q, axis=-1)
        dot = tf.reduce_sum(p * q, axis=-1)
        return [
            tf.reduce_mean(tf.cast(different, tf.float32)),
            tf.reduce_mean(tf.reduce_sum(p * tf.math.log(p / q), axis=-1)),
            tf.reduce_mean(dot / (tf.norm(p, axis=-1) * tf.norm(q, axis=-1))),
        ]

    pairs = itertools.combinations(tf.unstack(probs), 2)
    return tf.reduce_mean([of_pair(p, q) for p, q in pairs], axis=0)


_PLAIN = {
    "brier_score": _plain_brier,
    "negative_log_likelihood": _plain_likelihood,
    "brier_decomposition": _plain_decomposition,
    "crps_normal_score": _plain_normal,
    "crps_score": _plain_crps,
    "energy_score": _plain_energy,
    "average_pairwise_diversity": _plain_diversity,
}


def row(data: None, name: str, mode: str) -> Timed:
    """A function with the arguments that its Row in the tests makes."""
    from tests.catalogue import TWINS

    found = next(row for row in TWINS if row.name == name)
    arguments = found.draw(np.random.default_rng(0), (_EXAMPLES,))
    if mode == NUMPY:
        return Timed(call=lambda: found.find(um_np)(**arguments))
    tensors = {
        name: tf.constant(value)
        for name, value in arguments.items()
        if isinstance(value, np.ndarray)
    }
    options = {name: arguments[name] for name in arguments.keys() - tensors.keys()}
    function = _compiled(functools.partial(found.find(um), **options), mode)
    return Timed(call=lambda: function(**tensors))


def bayesian(data: Predictions, num_bins: int, draws: int, mode: str) -> Timed:
    """Draws from the posterior of the ECE."""
    name = "bayesian_expected_calibration_error"
    options = {"num_bins": num_bins, "num_ece_samples": draws}
    if mode == NUMPY:
        function, arguments = getattr(um_np, name), data._asdict()
    else:
        function, arguments = getattr(um, name), _tensors(data)
    function = _compiled(functools.partial(function, **options), mode)
    arguments["labels_true"] = arguments.pop("labels")
    return _one_shot(function, arguments)


def plain_bayesian(data: Predictions, num_bins: int, draws: int, of: int) -> Timed:
    """Draws from the posterior, one by one, eagerly, as the definition says.

    The time is that of `of` draws, extrapolated from `draws`.
    """
    import tensorflow_probability as tfp

    labels, probabilities = map(tf.constant, data)
    edges = tf.linspace(0.0, 1.0, num_bins + 1)
    low, high = edges[:-1], edges[1:]

    def call():
        right = tf.cast(tf.argmax(probabilities, axis=1) == labels, tf.float32)
        score = tf.reduce_max(probabilities, axis=1)
        index = tf.histogram_fixed_width_bins(score, [0.0, 1.0], num_bins)

        def sums(values):
            return tf.math.unsorted_segment_sum(values, index, num_bins)

        counts, rights = sums(tf.ones_like(score)), sums(right)
        cells = tf.concat([counts - rights, rights], axis=0) + 1 / (2 * num_bins)
        location = ((low + high) / 2 + sums(score)) / (1 + counts)
        scale = (high - low) / tf.sqrt(12 * (1 + counts))

        def draw():
            q = tfp.distributions.Dirichlet(cells).sample()
            m = tfp.distributions.TruncatedNormal(location, scale, low, high).sample()
            wrong, right = tf.split(q, 2)
            share = wrong + right
            return tf.reduce_sum(share * tf.abs(right / share - m))

        return tf.stack([draw() for _ in range(draws)])

    return Timed(call=call, value=lambda: _number(call()), steps=draws / of)


def bootstrap(data: Predictions, metric: str, resamples: int) -> Timed:
    """BCa interval of a metric."""
    arguments = {"num_resamples": resamples, "seed": 0, **data._asdict()}

    def compute():
        interval = um_np.bootstrap(getattr(um_np, metric), **arguments)
        return interval.lower, interval.upper

    return Timed(call=compute, value=lambda: _number(compute()))


def temperature(data: Logits, mode: str) -> Timed:
    """Fit of a temperature."""
    room, arguments = (um_np, data) if mode == NUMPY else (um, map(tf.constant, data))
    labels, logits = arguments

    def compute():
        return room.TemperatureScaling().fit(labels, logits).temperature

    return Timed(call=compute, value=compute)


def calibrator(data: Logits | Predictions, name: str) -> Timed:
    """Fit of a calibrator; the likelihood after it must agree."""

    def compute():
        return getattr(um_np, name)().fit(**data._asdict())

    def value():
        given = {**data._asdict()}
        labels = given.pop("labels")
        recalibrated = {
            form: compute().transform(**{form: a}) for form, a in given.items()
        }
        return um_np.negative_log_likelihood(labels, **recalibrated)

    return Timed(call=compute, value=value)


def smece(data: Scores) -> Timed:
    """The smooth calibration error of P(class 1)."""

    def compute():
        return um_np.smece(*data, positive_class=True)

    return Timed(call=compute, value=compute)


def isotonic(data: Scores) -> Timed:
    """Fit of the isotonic map; the mean of its squares must agree."""

    def compute():
        return um_np.IsotonicCalibration().fit(data.labels, probabilities=data.scores)

    def value():
        recalibrated = compute().transform(probabilities=data.scores.astype(np.float64))
        return float(np.mean(recalibrated**2))

    return Timed(call=compute, value=value)


def sketched_isotonic(data: Scores) -> Timed:
    """The isotonic map of a sketch that holds the scores."""
    sketch = um_np.ScoreSketch(positive_class=True)
    sketch.update(*data)

    def compute():
        return sketch.isotonic()

    return Timed(
        call=compute,
        value=lambda: float(np.mean(np.interp(data.scores, *compute()) ** 2)),
    )


def keras_update(data: Data, name: str, mode: str, **options: Any) -> Timed:
    """`update_state` of a Keras metric with one batch."""
    metric = getattr(um, name)(**options)
    return _streaming(metric, metric.update_state, data, mode)


def plain_update(data: Predictions, mode: str, gather: bool = False) -> Timed:
    """`update_state` of `PlainCalibrationError` with one batch."""
    metric = PlainCalibrationError(gather)
    return _streaming(metric, metric.update_state, data, mode)


def keras_value(data: Data, name: str, mode: str, **options: Any) -> Timed:
    """`update_state` of a Keras metric with all the data, and `result`."""
    metric = getattr(um, name)(**options)

    def update_and_result(labels, predictions):
        metric.update_state(labels, predictions)
        return metric.result()

    return _streaming(metric, update_and_result, data, mode)


def _streaming(
    metric: keras.metrics.Metric, step: Callable, data: Data, mode: str
) -> Timed:
    step = _compiled(step, mode)
    labels, predictions = map(tf.constant, data)

    def call():
        step(labels, predictions)

    def value():
        metric.reset_state()
        call()
        return _number(metric.result())

    return Timed(call=call, value=value, reset=metric.reset_state)


class PlainCalibrationError(keras.metrics.Metric):
    """ECE as one would write it first: without checks, with float32 sums."""

    def __init__(self, gather: bool = False, name: str = "plain"):
        super().__init__(name=name, dtype="float32")
        self._gather = gather  # The fastest way, but a tie always counts as right.
        self._sums = [
            self.add_weight(name=part, shape=(_BINS,), initializer="zeros")
            for part in ("counts", "confidences", "outcomes")
        ]

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        labels = tf.cast(y_true, tf.int32)
        score = tf.reduce_max(y_pred, axis=-1)
        if self._gather:
            is_right = tf.gather(y_pred, labels, batch_dims=1) >= score
        else:
            is_right = tf.argmax(y_pred, axis=-1, output_type=tf.int32) == labels
        right = tf.cast(is_right, tf.float32)
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
    "aurc": lambda: [um.AURC(name="aurc")],
    "plain": lambda: [PlainCalibrationError()],
}


def _batches(inputs: np.ndarray, labels: np.ndarray) -> tf.data.Dataset:
    """Returns one batch many times, so that the input costs next to nothing."""
    batch = tf.data.Dataset.from_tensors((inputs.astype(np.float32), labels))
    return batch.repeat(_STEPS)


def evaluate(
    data: Predictions, metric: str, jit_compile: bool, hidden: tuple[int, ...] = ()
) -> Timed:
    """`model.evaluate` of dense layers with a cross-entropy loss and a metric."""
    examples, classes = data.probabilities.shape
    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).standard_normal((examples, _FEATURES))
    # With weights of variance 1 the predictions are as sure as after training.
    dense = keras.layers.Dense(
        classes,
        activation="softmax",
        kernel_initializer=keras.initializers.RandomNormal(0.0, 1.0),
    )
    below = [keras.layers.Dense(units, "relu") for units in hidden]
    model = keras.Sequential([keras.Input((_FEATURES,)), *below, dense])
    model.compile(
        loss="sparse_categorical_crossentropy",
        metrics=_METRICS[metric](),
        jit_compile=jit_compile,
    )
    batches = _batches(inputs, data.labels)

    def call():
        return model.evaluate(batches, verbose=0, return_dict=True)

    return Timed(call=call, value=lambda: call()[metric], steps=_STEPS)


_LOSSES = {
    "cross-entropy": lambda: keras.losses.SparseCategoricalCrossentropy(True),
    "brier": lambda: um.BrierLoss(from_logits=True),
    "squared error": keras.losses.MeanSquaredError,
    "crps": um.CRPSSampleLoss,
}


def fit(data: Predictions | Samples, loss: str, jit_compile: bool) -> Timed:
    """`model.fit` of two dense layers, whose outputs are logits or samples."""
    labels, outputs = data
    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).standard_normal((len(labels), _FEATURES))
    model = keras.Sequential(
        [
            keras.Input((_FEATURES,)),
            keras.layers.Dense(64, "relu"),
            keras.layers.Dense(outputs.shape[1]),
        ]
    )
    model.compile("adam", loss=_LOSSES[loss](), jit_compile=jit_compile)
    batches = _batches(inputs, labels[:, None])
    return Timed(
        call=lambda: model.fit(batches, shuffle=False, verbose=0), steps=_STEPS
    )


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
