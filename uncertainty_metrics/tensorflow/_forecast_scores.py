"""Scores of real-valued forecasts, and where they can be trusted.

The functions, the Keras metrics and the losses are made of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from uncertainty_metrics.tensorflow import _pairwise


def _finite(*tensors: tf.Tensor) -> tf.Tensor:
    """Returns where all of the tensors, of one shape, are finite."""
    finite = tf.math.is_finite(tensors[0])
    for tensor in tensors[1:]:
        finite &= tf.math.is_finite(tensor)
    return finite


@tf.custom_gradient
def _crps_normal(
    labels: tf.Tensor, means: tf.Tensor, stddevs: tf.Tensor
) -> tuple[tf.Tensor, Callable[..., tuple[tf.Tensor, ...]]]:
    difference = labels - means
    # Where this divides by the smallest normal number, erf is -1, 0 or 1.
    z = difference / tf.maximum(stddevs, stddevs.dtype.as_numpy_dtype(_TINY))
    sign = tf.math.erf(z / math.sqrt(2))
    density = tf.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    slope = 2 * density - 1 / math.sqrt(math.pi)

    def gradient(upstream):
        # The terms in which z is differentiated cancel; written out, they would
        # overflow for small stddevs.
        return upstream * sign, -upstream * sign, upstream * slope

    return difference * sign + stddevs * slope, gradient


_TINY = np.finfo(np.float32).tiny


def normal_scores(
    labels: tf.Tensor, means: tf.Tensor, stddevs: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the CRPS of Normal forecasts, all of one shape, and which are right."""
    right = _finite(labels, means, stddevs) & (stddevs >= 0)
    return _crps_normal(labels, means, stddevs), right


def sample_scores(
    labels: tf.Tensor,
    samples: tf.Tensor,
    estimator: str,
    with_gradient: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the CRPS of samples [..., m] and which are right.

    `with_gradient` tells that a gradient is sure to be taken, which is faster then.
    """
    right = tf.math.is_finite(labels) & tf.reduce_all(
        tf.math.is_finite(samples), axis=-1
    )
    error = tf.reduce_mean(tf.abs(samples - tf.expand_dims(labels, -1)), axis=-1)
    if estimator == "roll":
        neighbours = tf.abs(samples - tf.roll(samples, 1, axis=-1))
        return error - tf.reduce_mean(neighbours, axis=-1) / 2, right
    fair = estimator == "fair"
    return error - _pairwise.pairwise_spread(samples, fair, with_gradient), right


def pinball_losses(
    labels: tf.Tensor, predictions: tf.Tensor, quantiles: float | tuple[float, ...]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the losses of predictions [..., Q] for labels [...] or [..., 1], and
    which are right.
    """
    error = labels - predictions
    levels = tf.constant(quantiles, predictions.dtype)
    losses = tf.maximum(levels * error, (levels - 1) * error)
    return losses, tf.math.is_finite(error)


def interval_scores(
    labels: tf.Tensor, lower: tf.Tensor, upper: tf.Tensor, alpha: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the interval scores, all arguments of one shape, and which are right."""
    outside = tf.nn.relu(lower - labels) + tf.nn.relu(labels - upper)
    return upper - lower + (2 / alpha) * outside, _finite(labels, lower, upper)
