"""Probability integral transform (PIT): where targets are in their forecasts.

Declared in `uncertainty_metrics.numpy.regression.pit`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import PITInterval
from uncertainty_metrics.numpy.regression import pit as declared
from uncertainty_metrics.tensorflow import _inputs
from uncertainty_metrics.tensorflow._twin import twin
from uncertainty_metrics.tensorflow.regression import _forecasts

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = ["probability_integral_transform", "quantile_pit", "sample_pit"]


@twin(declared.probability_integral_transform)
def probability_integral_transform(predictions, uncertainties, targets, *, stddevs):
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, stddevs=stddevs
    )
    shape = tf.shape(_inputs.as_tensor("targets", targets))
    pit = 0.5 * tf.math.erfc(forecasts.z * -math.sqrt(0.5))
    return tf.reshape(pit, shape), tf.reshape(forecasts.right, shape)


def _beside(
    name: str, value: TensorLike, targets: TensorLike, axis: str
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns values [..., m] and targets [..., 1] of one type, which rows of them are
    finite, and the shape of the targets.
    """
    values = _inputs.as_tensor(name, value)
    y = _inputs.as_tensor("targets", targets)
    declared.check_last_axis(name, values.shape, y.shape, axis)
    values = tf.cast(values, _inputs.predictions_dtype(values))
    batch = tf.shape(values)[:-1]
    column = tf.reshape(tf.cast(y, values.dtype), tf.concat([batch, [1]], axis=0))
    finite = tf.math.is_finite(values) & tf.math.is_finite(column)
    right = tf.reduce_all(finite, axis=-1) & (tf.size(y) == tf.reduce_prod(batch))
    return values, column, right, tf.shape(y)


@twin(declared.sample_pit)
def sample_pit(samples, targets):
    values, y, right, shape = _beside("samples", samples, targets, "samples")
    below, upto = (
        tf.reduce_sum(tf.cast(ranked, values.dtype), axis=-1)
        for ranked in (values < y, values <= y)
    )
    m = tf.cast(tf.shape(values)[-1], values.dtype)
    ends = (tf.reshape(rank / (m + 1), shape) for rank in (below, upto + 1))
    return PITInterval(*ends), tf.reshape(right & (m > 0), shape)


@twin(declared.quantile_pit)
def quantile_pit(quantile_predictions, quantiles, targets):
    levels = declared.check_quantiles(quantiles)
    name = "quantile_predictions"
    knots, y, right, shape = _beside(name, quantile_predictions, targets, "quantiles")
    _checks.quantile_shape(knots.shape, list(knots.shape)[:-1], levels)
    right &= tf.reduce_all(knots[..., :-1] <= knots[..., 1:], axis=-1)
    pit = _interpolated(y, knots, np.array(levels))
    return tf.reshape(pit, shape), tf.reshape(right, shape)


def _interpolated(y: tf.Tensor, knots: tf.Tensor, levels: np.ndarray) -> tf.Tensor:
    """Returns the PIT of y [..., 1] among knots [..., Q]."""
    dtype = knots.dtype
    left, right = knots[..., :-1], knots[..., 1:]
    width = right - left
    jump = width == 0
    part = (y - left) / tf.where(jump, tf.ones_like(width), width)
    step = 0.5 * (tf.cast(y > left, dtype) + tf.cast(y >= left, dtype))
    part = tf.where(jump, step, tf.clip_by_value(part, 0, 1))
    pit = levels[0] + tf.reduce_sum(tf.constant(np.diff(levels), dtype) * part, axis=-1)
    y = y[..., 0]
    pit = tf.where(y < knots[..., 0], tf.constant(levels[0] / 2, dtype), pit)
    above = tf.constant((1 + levels[-1]) / 2, dtype)
    return tf.where(y > knots[..., -1], above, pit)
