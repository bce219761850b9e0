"""Means and variances, and whatever has a mask and weights, as tensors [N].

Examples that are wrong are made harmless, and told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.regression import _forecasts as declared
from uncertainty_metrics.tensorflow import _inputs

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


class Forecasts(NamedTuple):
    """Examples, of which those that are wrong are made harmless.

    Attributes:
      errors: targets less predictions, [N].
      variances: > 0, [N].
      weights: >= 0, [N], or None for ones.
      right: boolean [N].
      valid: boolean scalar, False if an example that counts is wrong, or none counts.
    """

    errors: tf.Tensor
    variances: tf.Tensor
    weights: tf.Tensor | None
    right: tf.Tensor
    valid: tf.Tensor

    @property
    def z(self) -> tf.Tensor:
        return self.errors / tf.sqrt(self.variances)


def included(
    tensors: dict[str, tf.Tensor],
    mask: TensorLike | None,
    sample_weight: TensorLike | None,
    dtype: tf.DType,
) -> tuple[list[tf.Tensor], tf.Tensor | None, tf.Tensor]:
    """Returns the tensors, of which the last tells the shape, and the weights, [N]
    each, 0 for what is masked out; and whether sizes and weights are right, some > 0.
    """
    reference, last = list(tensors.items())[-1]
    for name, tensor in tensors.items():
        _checks.paired(name, tensor.shape, reference, last.shape)
    kept = None if mask is None else _inputs.as_tensor("mask", mask)
    if kept is not None:
        _checks.aligned_shape("mask", kept.shape, last.shape)  # By its own name.
    weights, usable = _inputs.weights_and_ignored(sample_weight, last, None, dtype)
    if kept is not None:
        exact = kept if kept.dtype.is_floating else tf.cast(kept, tf.int64)
        usable &= tf.reduce_all((exact == 0) | (exact == 1))
        ones = _inputs.flat_weights(kept, last, dtype)
        weights = ones if weights is None else weights * ones
    usable &= tf.size(last) > 0 if weights is None else tf.reduce_any(weights > 0)
    # Sizes that only the graph knows may differ, and 1 would broadcast.
    usable &= tf.reduce_all([tf.size(t) == tf.size(last) for t in tensors.values()])
    return [tf.reshape(t, [-1]) for t in tensors.values()], weights, usable


def is_variance(values: tf.Tensor) -> tf.Tensor:
    return (values > 0) & (values < np.inf)


def variances(name: str, given: tf.Tensor) -> tf.Tensor:
    """Returns variances, 0 for standard deviations that are not positive."""
    if name != "stddevs":
        return given
    return tf.where(given > 0, given * given, tf.zeros_like(given))


def checked_forecasts(
    predictions: TensorLike,
    uncertainties: TensorLike | None,
    targets: TensorLike | None,
    mask: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
    names: tuple[str, str] = ("predictions", "uncertainties"),
) -> Forecasts:
    name, given = declared.spread(uncertainties, stddevs, names[1])
    declared.check_targets(targets)
    arguments = {names[0]: predictions, name: given, "targets": targets}
    tensors = {key: _inputs.as_tensor(key, value) for key, value in arguments.items()}
    dtype = _inputs.predictions_dtype(tensors[names[0]], tensors[name])
    flat, weights, usable = included(tensors, mask, sample_weight, dtype)
    mean, given, y = (tf.cast(tensor, dtype) for tensor in flat)
    spreads = variances(name, given)
    right = tf.math.is_finite(mean) & tf.math.is_finite(y) & is_variance(spreads)
    right &= usable
    return Forecasts(
        tf.where(right, y - mean, tf.zeros_like(y)),
        tf.where(right, spreads, tf.ones_like(spreads)),
        weights,
        right,
        usable & _inputs.live_rows(weights, right),
    )
