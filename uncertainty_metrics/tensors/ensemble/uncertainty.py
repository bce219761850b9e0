"""Uncertainty of each example on tensors.

Declared in `uncertainty_metrics.numpy.ensemble.uncertainty`.
"""

from __future__ import annotations

from collections.abc import Callable

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import MemberData
from uncertainty_metrics._results import KnowledgeUncertainty, ModelUncertainty
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.ensemble import uncertainty as np_uncertainty
from uncertainty_metrics.ops import _execution, _inputs, _members, numpy_dtype, xp
from uncertainty_metrics.ops._members import Members
from uncertainty_metrics.tensors._twin import twin

__all__ = np_uncertainty.__all__

# Bytes of a block of eager arithmetic. Memory allocators request pieces from 32 MiB on
# from the system again, which takes as long as the arithmetic. In blocks that fit into
# a cache PyTorch would wake its threads too often.
_BLOCK = 16 * 2**20


def _in_blocks(
    score: Callable[[Members], xp.Tensor], members: Members
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the scores [..., N] of all examples and which of them are right."""
    if not _execution.is_eager():
        return score(members), members.right
    rows = members.predictions
    row_bytes = rows.shape[1] * rows.shape[2] * numpy_dtype(rows).itemsize
    step = max(1, _BLOCK // row_bytes)
    parts = []
    for i in range(0, rows.shape[0], step):  # One block at a time is in memory.
        block = Members(rows[i : i + step], members.from_logits)
        parts.append((score(block), block.right))
    scores, right = zip(*parts, strict=True)
    return xp.concat(scores, axis=-1), xp.concat(right, axis=-1)


def _scores(
    data: MemberData, score: Callable[[Members], xp.Tensor], single: bool = False
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the scores of all examples, and which of them are right.

    The shape of the scores ends with the shape of the examples.

    Args:
      data: the predictions.
      score: computes scores [..., N] of the members.
      single: whether there is no axis of members.
    """
    name, predictions = _checks.predictions(data.probabilities, data.logits, None)
    predictions = _members.floating(name, predictions)
    all_axes = predictions.shape
    if single:
        _predictions.check_shape(name, predictions.shape)
        predictions = predictions[..., None, :]
    else:
        axis = data.ensemble_axis
        predictions = _members.members_before_classes(name, predictions, axis)
    if data.labels is not None:
        given = _inputs.as_tensor("labels", data.labels).shape
        _predictions.check_labels(given, name, all_axes, predictions.shape[:-2])
    members = Members(_members.flat_members(predictions), name == "logits")
    scores, right = _in_blocks(score, members)
    right = right & ~members.mistaken()
    shape = xp.shape(predictions)[:-2]
    if None not in predictions.shape[:-2]:
        shape = predictions.shape[:-2]
    scores = xp.reshape(scores, xp.concat([scores.shape[:-1], shape], axis=0))
    return scores, xp.reshape(right, shape)


@twin(np_uncertainty.model_uncertainty, data=MemberData, by_numpy=True)
def model_uncertainty(data):
    parts, right = _scores(data, _members.information)
    return ModelUncertainty(*xp.unstack(parts)), right


@twin(np_uncertainty.predictive_entropy, data=MemberData, by_numpy=True)
def predictive_entropy(data):
    single = data.ensemble_axis is None
    return _scores(data, _members.total_entropies, single)


@twin(np_uncertainty.expected_entropy, data=MemberData, by_numpy=True)
def expected_entropy(data):
    return _scores(data, _members.expected_entropies)


@twin(np_uncertainty.mutual_information, data=MemberData, by_numpy=True)
def mutual_information(data):
    return _scores(data, _members.mutual_information)


@twin(np_uncertainty.ensemble_disagreement, data=MemberData, by_numpy=True)
def ensemble_disagreement(data):
    return _scores(data, _members.disagreements)


@twin(np_uncertainty.mean_member_uncertainty, data=MemberData, by_numpy=True)
def mean_member_uncertainty(data):
    return _scores(data, _members.member_uncertainties)


@twin(np_uncertainty.variation_ratio, data=MemberData, by_numpy=True)
def variation_ratio(data):
    return _scores(data, _members.variation_ratios)


@twin(np_uncertainty.knowledge_uncertainty)
def knowledge_uncertainty(alphas, logits):
    name = _checks.exactly_one(alphas=alphas, logits=logits)
    values = _members.floating(name, alphas if logits is None else logits)
    _predictions.check_shape(name, values.shape, size=2)
    values = xp.cast(values, _inputs.sum_dtype(values))
    parts, right = _members.dirichlet_parts(values, name == "logits")
    return KnowledgeUncertainty(*xp.unstack(parts)), right
