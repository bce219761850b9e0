"""Uncertainty of each example on tensors.

Declared in `uncertainty_metrics.numpy.ensemble.uncertainty`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import KnowledgeUncertainty, ModelUncertainty
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.ensemble import uncertainty as declared
from uncertainty_metrics.ops import _inputs, _members, numpy_dtype, xp
from uncertainty_metrics.ops._members import Members
from uncertainty_metrics.tensorflow._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = declared.__all__

# Bytes of an eager block: memory allocators ask the system for each larger piece anew,
# which takes as long as the arithmetic.
_BLOCK = 28 * 2**20


def _in_blocks(
    score: Callable[[Members], xp.Tensor], members: Members
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the scores [..., N] of all examples and which of them are right."""
    if not xp.executing_eagerly():
        return score(members), members.right
    rows = members.predictions
    step = max(
        1, _BLOCK // (rows.shape[1] * rows.shape[2] * numpy_dtype(rows).itemsize)
    )
    parts = []
    for i in range(0, rows.shape[0], step):  # One block at a time is in memory.
        block = Members(rows[i : i + step], members.from_logits)
        parts.append((score(block), block.right))
    scores, right = zip(*parts, strict=True)
    return xp.concat(scores, axis=-1), xp.concat(right, axis=-1)


def _scores(
    score: Callable[[Members], xp.Tensor],
    logits: TensorLike | None,
    probabilities: TensorLike | None,
    ensemble_axis: int | None,
    labels: TensorLike | None,
    single: bool = False,
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the scores [..., N] of all examples, N in the shape of the examples, and
    which of them are right.

    `single` tells that there is no axis of members.
    """
    name, predictions = _checks.predictions(probabilities, logits, None)
    predictions = _members.floating(name, predictions)
    all_axes = predictions.shape
    if single:
        _predictions.check_shape(name, predictions.shape)
        predictions = predictions[..., None, :]
    else:
        predictions = _members.members_before_classes(name, predictions, ensemble_axis)
    if labels is not None:
        given = _inputs.as_tensor("labels", labels).shape
        _predictions.check_labels(given, name, all_axes, predictions.shape[:-2])
    members = Members(_members.flat_members(predictions), name == "logits")
    scores, right = _in_blocks(score, members)
    right = right & ~members.mistaken()
    shape = xp.shape(predictions)[:-2]
    if None not in predictions.shape[:-2]:
        shape = predictions.shape[:-2]
    scores = xp.reshape(scores, xp.concat([scores.shape[:-1], shape], axis=0))
    return scores, xp.reshape(right, shape)


@twin(declared.model_uncertainty)
def model_uncertainty(**arguments):
    parts, right = _scores(_members.information, **arguments)
    return ModelUncertainty(*xp.unstack(parts)), right


@twin(declared.predictive_entropy)
def predictive_entropy(**arguments):
    single = arguments["ensemble_axis"] is None
    return _scores(_members.total_entropies, **arguments, single=single)


@twin(declared.expected_entropy)
def expected_entropy(**arguments):
    return _scores(_members.expected_entropies, **arguments)


@twin(declared.mutual_information)
def mutual_information(**arguments):
    return _scores(_members.mutual_information, **arguments)


@twin(declared.ensemble_disagreement)
def ensemble_disagreement(**arguments):
    return _scores(_members.disagreements, **arguments)


@twin(declared.mean_member_uncertainty)
def mean_member_uncertainty(**arguments):
    return _scores(_members.member_uncertainties, **arguments)


@twin(declared.variation_ratio)
def variation_ratio(**arguments):
    return _scores(_members.variation_ratios, **arguments)


@twin(declared.knowledge_uncertainty)
def knowledge_uncertainty(alphas, logits):
    name = _checks.exactly_one(alphas=alphas, logits=logits)
    values = _members.floating(name, alphas if logits is None else logits)
    _predictions.check_shape(name, values.shape, size=2)
    values = xp.cast(values, _inputs.sum_dtype(values))
    parts, right = _members.dirichlet_parts(values, name == "logits")
    return KnowledgeUncertainty(*xp.unstack(parts)), right
