"""Scores of logits, to detect examples out of distribution, on tensors.

Declared in `uncertainty_metrics.numpy.selective.out_of_distribution`; differentiable.
float64 logits are computed in float64, all others in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncertainty_metrics._temperature import checked_temperature
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.selective import (
    out_of_distribution as np_out_of_distribution,
)
from uncertainty_metrics.ops import _inputs, _members, xp
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["energy", "max_logit", "max_softmax"]


def _checked(logits: TensorLike) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns logits minus the largest of their row [..., K], the largest [...], and
    which rows are right.
    """
    values = _members.floating("logits", logits)
    _predictions.check_shape("logits", values.shape, size=2)
    rows = xp.reshape(values, [-1, values.shape[-1]])
    values = xp.cast(values, _inputs.sum_dtype(values))
    right = _members.usable(values) & ~_inputs.are_probabilities(rows)
    values = xp.where(right[..., None], values, xp.zeros_like(values))
    largest = xp.reduce_max(values, axis=-1)
    return values - largest[..., None], largest, right


@twin(np_out_of_distribution.max_softmax)
def max_softmax(logits):
    below, _, right = _checked(logits)
    return 1 / xp.reduce_sum(xp.exp(below), axis=-1), right


@twin(np_out_of_distribution.max_logit)
def max_logit(logits):
    _, largest, right = _checked(logits)
    return largest, right


@twin(np_out_of_distribution.energy)
def energy(logits, *, temperature):
    temperature = checked_temperature(temperature)
    below, largest, right = _checked(logits)
    t = xp.constant(temperature, below.dtype)
    scores = -(largest + t * xp.math.log(xp.reduce_sum(xp.exp(below / t), axis=-1)))
    return scores, right & xp.math.is_finite(scores)
