"""Cross-entropies of ensembles on tensors, differentiable.

Declared in `uncertainty_metrics.numpy.ensemble.cross_entropy`.
"""

from __future__ import annotations

from collections.abc import Callable

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import MemberData
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.ensemble import cross_entropy as np_cross_entropy
from uncertainty_metrics.ops import _classifier_scores, _inputs, _members, _sizes, xp
from uncertainty_metrics.ops._members import Members
from uncertainty_metrics.tensors._twin import twin

__all__ = np_cross_entropy.__all__


def _cross_entropy(
    data: MemberData,
    aggregate: bool,
    likelihoods: Callable[[Members, xp.Tensor], xp.Tensor],
) -> tuple[xp.Tensor, xp.Tensor]:
    _checks.boolean("aggregate", aggregate)
    name, predictions = _checks.predictions(data.probabilities, data.logits, None)
    predictions = _members.floating(name, predictions)
    y = _inputs.as_tensor("labels", data.labels)
    _predictions.check_not_swapped(y.shape, name, predictions.shape)
    axis = data.ensemble_axis
    predictions = _members.members_before_classes(name, predictions, axis)
    shape = predictions.shape
    _predictions.check_labels(y.shape, name, shape, shape[:-2])
    # Labels are checked against one member, as all members have the same classes.
    examples = _inputs.examples(
        y,
        **{name: predictions[..., 0, :]},
        sample_weight=data.sample_weight,
        ignore_index=data.ignore_index,
    )
    members = Members(_members.flat_members(predictions), name == "logits")
    scores = likelihoods(members, examples.labels)
    return _classifier_scores.reduced(examples, scores, members.right, aggregate)


@twin(np_cross_entropy.ensemble_cross_entropy, data=MemberData)
def ensemble_cross_entropy(data, aggregate):
    return _cross_entropy(data, aggregate, _members.ensemble_likelihoods)


@twin(np_cross_entropy.gibbs_cross_entropy, data=MemberData)
def gibbs_cross_entropy(data, aggregate):
    return _cross_entropy(data, aggregate, _members.gibbs_likelihoods)


@twin(np_cross_entropy.variance_bound)
def variance_bound(probs, labels, num_models):
    tensor = _members.floating("probs", probs)
    _predictions.check_members_first(tensor.shape, num_models)
    y = _inputs.as_tensor("labels", labels)
    _predictions.check_labels(y.shape, "probs", tensor.shape, tensor.shape[1:-1])
    predictions = _members.members_before_classes("probs", tensor, 0)
    members = Members(_members.flat_members(predictions), False)
    y, right = _inputs.integer_labels(xp.reshape(y, [-1]), members.classes.shape[-1])
    right = right & members.right & _sizes.alike(y, members.predictions, 1)
    if num_models is not None:  # A graph may not know the number.
        right = right & (members.count == num_models)
    at_labels = _members.label_probabilities(members, y)
    top = xp.reduce_max(at_labels, axis=1, keepdims=True)
    shares = xp.math.divide_no_nan(at_labels, top)
    return _members.aggregated(xp.math.reduce_variance(shares, axis=1) / 2, right)
