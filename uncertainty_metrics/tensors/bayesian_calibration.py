"""Bayesian calibration error on tensors: a posterior over the ECE.

Declared in `uncertainty_metrics.numpy.calibration.bins.bayesian_calibration`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy.calibration.bins import (
    bayesian_calibration as np_bayesian_calibration,
)
from uncertainty_metrics.ops import (
    _binning,
    _inputs,
    _posterior_draws,
    _search,
    is_floating,
    xp,
)
from uncertainty_metrics.tensors import _needs_tensorflow
from uncertainty_metrics.tensors._twin import twin

__all__ = np_bayesian_calibration.__all__

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


@twin(np_bayesian_calibration.bayesian_expected_calibration_error)
def bayesian_expected_calibration_error(
    num_bins,
    logits,
    probabilities,
    labels_true,
    labels_predicted,
    num_ece_samples,
    *,
    prior_alpha,
    seed,
    sample_weight,
    ignore_index,
    probs,
    positive_class,
    correct,
    confidences,
):
    _needs_tensorflow.check()
    spec = np_bayesian_calibration.spec_of(num_bins, positive_class)
    num_samples = _checks.positive_integer("num_ece_samples", num_ece_samples)
    prior = np_bayesian_calibration.checked_prior(prior_alpha, spec.num_bins)
    seed = _posterior_draws.stateless_seed(seed)
    with np_bayesian_calibration.argument_names():
        examples, spec = _binning.examples_and_spec(
            ClassifierData(
                labels=labels_true,
                probabilities=probabilities,
                logits=logits,
                probs=probs,
                labels_predicted=labels_predicted,
                sample_weight=sample_weight,
                ignore_index=ignore_index,
                correct=correct,
                confidences=confidences,
            ),
            spec,
            grades=False,
        )
        statistics, valid = _binning.bin_statistics(examples, spec)
    samples = _posterior_draws.draw(statistics, valid, prior, num_samples, seed)
    return samples, valid


def _checked_samples(name: str, samples: TensorLike) -> xp.Tensor:
    tensor = _inputs.as_tensor(name, samples)
    np_bayesian_calibration.check_samples_shape(name, tensor.shape)
    return tensor if is_floating(tensor) else xp.cast(tensor, xp.float32)


def _lower_share(a: xp.Tensor, b: xp.Tensor) -> xp.Tensor:
    """Returns the share of pairs with a < b, plus half the share with a = b."""
    dtype = a.dtype
    b = xp.sort(b)
    # For each draw of a: twice the number of smaller draws of b, plus the number of
    # equal draws of b.
    below = sum(_search.search_sorted(b, a, side) for side in ("left", "right"))
    pairs = 2 * xp.size(a, xp.int64) * xp.size(b, xp.int64)
    above = pairs - xp.reduce_sum(xp.cast(below, xp.int64))
    return xp.cast(above, dtype) / xp.cast(pairs, dtype)


@twin(np_bayesian_calibration.probability_of_lower_calibration_error)
def probability_of_lower_calibration_error(samples_a, samples_b):
    a = _checked_samples("samples_a", samples_a)
    b = _checked_samples("samples_b", samples_b)
    double = xp.float64 in (a.dtype, b.dtype)
    a, b = (xp.cast(x, xp.float64 if double else xp.float32) for x in (a, b))
    finite = xp.reduce_all(xp.math.is_finite(a)) & xp.reduce_all(xp.math.is_finite(b))
    return _lower_share(a, b), finite
