"""Bayesian calibration error on tensors: a posterior over the ECE.

Declared in `uncertainty_metrics.numpy.bayesian_calibration`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import bayesian_calibration as declared
from uncertainty_metrics.tensorflow import _binning, _inputs, _posterior, _search
from uncertainty_metrics.tensorflow._twin import twin

__all__ = [
    "bayesian_expected_calibration_error",
    "probability_of_lower_calibration_error",
]

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


@twin(declared.bayesian_expected_calibration_error)
def bayesian_expected_calibration_error(**arguments):
    spec = declared.spec_of(arguments["num_bins"])
    num_samples = _checks.positive_integer(
        "num_ece_samples", arguments["num_ece_samples"]
    )
    prior = declared.checked_prior(arguments["prior_alpha"], spec.num_bins)
    seed = _posterior.stateless_seed(arguments["seed"])
    with declared.argument_names():
        examples = _inputs.examples(**declared.data_of(arguments))
        statistics, valid = _binning.bin_statistics(examples, spec)
    samples = _posterior.draw(statistics, valid, prior, num_samples, seed)
    return samples, valid


def _checked_samples(name: str, samples: TensorLike) -> tf.Tensor:
    tensor = _inputs.as_tensor(name, samples)
    declared.check_samples_shape(name, tensor.shape)
    return tensor if tensor.dtype.is_floating else tf.cast(tensor, tf.float32)


def _lower_share(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns the share of pairs with a < b, and half that of those with a = b."""
    dtype = a.dtype
    b = tf.sort(b)
    # Twice the number of draws of b below each of a, those equal to it counted half.
    below = sum(_search.search_sorted(b, a, side) for side in ("left", "right"))
    pairs = 2 * tf.size(a, tf.int64) * tf.size(b, tf.int64)
    above = pairs - tf.reduce_sum(tf.cast(below, tf.int64))
    return tf.cast(above, dtype) / tf.cast(pairs, dtype)


@twin(declared.probability_of_lower_calibration_error)
def probability_of_lower_calibration_error(samples_a, samples_b):
    a = _checked_samples("samples_a", samples_a)
    b = _checked_samples("samples_b", samples_b)
    double = tf.float64 in (a.dtype, b.dtype)
    a, b = (tf.cast(x, tf.float64 if double else tf.float32) for x in (a, b))
    finite = tf.reduce_all(tf.math.is_finite(a)) & tf.reduce_all(tf.math.is_finite(b))
    return _lower_share(a, b), finite
