"""Proper scoring rules of real-valued forecasts, on tensors: losses to train with.

Declared in `uncertainty_metrics.numpy.forecast_scores`; differentiable in the
forecasts. float64 forecasts are computed in float64, all others in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import forecast_scores as declared
from uncertainty_metrics.tensorflow import _forecast_scores, _inputs
from uncertainty_metrics.tensorflow._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = [
    "crps_normal_score",
    "crps_score",
    "energy_score",
    "interval_score",
    "pinball_loss",
]


def _like_labels(labels: TensorLike, **parameters: TensorLike) -> list[tf.Tensor]:
    """Returns the labels and the parameters of forecasts, of one shape and type."""
    labels = _inputs.as_tensor("labels", labels)
    tensors = {
        name: _inputs.as_tensor(name, value) for name, value in parameters.items()
    }
    labels = tf.cast(labels, _inputs.predictions_dtype(*tensors.values()))
    return [
        labels,
        *(_inputs.like_labels(name, value, labels) for name, value in tensors.items()),
    ]


@twin(declared.crps_normal_score)
def crps_normal_score(labels, means, stddevs):
    return _forecast_scores.normal_scores(
        *_like_labels(labels, means=means, stddevs=stddevs)
    )


@twin(declared.crps_score)
def crps_score(labels, predictive_samples, *, estimator):
    labels = _inputs.as_tensor("labels", labels)
    samples = _inputs.as_tensor("predictive_samples", predictive_samples)
    _checks.last_axis("predictive_samples", samples.shape, labels.shape, "samples")
    declared.check_estimator(estimator, samples.shape[-1])
    samples = tf.cast(samples, _inputs.predictions_dtype(samples))
    shape = samples.shape[:-1]
    if not shape.is_fully_defined():
        shape = tf.shape(samples)[:-1]
    labels = tf.reshape(tf.cast(labels, samples.dtype), shape)
    scores, right = _forecast_scores.sample_scores(labels, samples, estimator)
    if estimator == "fair":
        right &= tf.shape(samples)[-1] > 1
    return scores, right


@twin(declared.pinball_loss)
def pinball_loss(labels, quantile_predictions, quantiles):
    levels = _checks.levels("quantiles", quantiles)
    labels = _inputs.as_tensor("labels", labels)
    predictions = _inputs.as_tensor("quantile_predictions", quantile_predictions)
    _checks.quantile_shape(predictions.shape, labels.shape, levels)
    dtype = _inputs.predictions_dtype(predictions)
    labels, predictions = tf.cast(labels, dtype), tf.cast(predictions, dtype)
    if isinstance(levels, tuple):
        labels = tf.reshape(
            labels, tf.concat([tf.shape(predictions)[:-1], [1]], axis=0)
        )
    else:
        predictions = _inputs.like_labels("quantile_predictions", predictions, labels)
    return _forecast_scores.pinball_losses(labels, predictions, levels)


@twin(declared.interval_score)
def interval_score(labels, lower, upper, alpha):
    alpha = _checks.open_unit("alpha", alpha)
    labels, lower, upper = _like_labels(labels, lower=lower, upper=upper)
    scores, right = _forecast_scores.interval_scores(labels, lower, upper, alpha)
    return scores, right & ~tf.reduce_all(lower > upper)


def _norm(vectors: tf.Tensor) -> tf.Tensor:
    """Returns the Euclidean norm over the last axis, whose gradient at 0 is 0."""
    squared = tf.reduce_sum(vectors * vectors, axis=-1)
    positive = squared > 0
    root = tf.sqrt(tf.where(positive, squared, tf.ones_like(squared)))
    return tf.where(positive, root, tf.zeros_like(root))


@tf.custom_gradient
def _pair_distances(
    samples: tf.Tensor,
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """Returns the sum of ||x_i - x_j|| over the pairs i < j of samples [..., m, d]."""
    m = tf.shape(samples)[-2]

    def over_shifts(add, start):
        # All pairs at once would take m^2 d numbers.
        def step(shift, total):
            # The pairs that are m/2 apart come twice.
            share = tf.where(2 * shift == m, 0.5, 1.0)
            vectors = samples - tf.roll(samples, shift, axis=-2)
            return shift + 1, total + tf.cast(share, samples.dtype) * add(
                shift, vectors
            )

        return tf.while_loop(
            lambda shift, _: 2 * shift <= m, step, [tf.constant(1), start]
        )[1]

    def gradient(upstream):
        def slopes(shift, vectors):
            units = tf.math.divide_no_nan(vectors, _norm(vectors)[..., None])
            return units - tf.roll(units, -shift, axis=-2)

        return upstream[..., None, None] * over_shifts(slopes, tf.zeros_like(samples))

    distances = over_shifts(
        lambda _, vectors: tf.reduce_sum(_norm(vectors), axis=-1),
        tf.zeros(tf.shape(samples)[:-2], samples.dtype),
    )
    return distances, gradient


@twin(declared.energy_score)
def energy_score(labels, predictive_samples, *, estimator):
    labels = _inputs.as_tensor("labels", labels)
    samples = _inputs.as_tensor("predictive_samples", predictive_samples)
    _checks.vector_samples("predictive_samples", samples.shape, labels.shape)
    declared.check_estimator(estimator, samples.shape[-2])
    samples = tf.cast(samples, _inputs.predictions_dtype(samples))
    strays = samples - tf.cast(labels, samples.dtype)[..., None, :]
    right = tf.reduce_all(tf.math.is_finite(strays), axis=[-2, -1])
    # Squares of very small or large numbers would leave the range of the type.
    scale = tf.stop_gradient(tf.reduce_max(tf.abs(strays), axis=[-2, -1]))
    scale = tf.where(scale > 0, scale, tf.ones_like(scale))
    strays /= scale[..., None, None]
    m = tf.cast(tf.shape(samples)[-2], samples.dtype)
    if estimator == "roll":
        steps = _norm(strays - tf.roll(strays, 1, axis=-2))
        spread = tf.reduce_mean(steps, axis=-1) / 2
    else:
        pairs = m * (m if estimator == "nrg" else m - 1)
        spread = _pair_distances(strays) / pairs
    scores = scale * (tf.reduce_mean(_norm(strays), axis=-1) - spread)
    if estimator == "fair":
        right &= m > 1
    return scores, right
