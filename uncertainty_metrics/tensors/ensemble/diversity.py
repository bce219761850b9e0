"""How much the decisions and predictions of members differ, on tensors.

Declared in `uncertainty_metrics.numpy.ensemble.diversity`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.ensemble import diversity as np_diversity
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _inputs,
    _member_pairs,
    _members,
    _ranges,
    _sizes,
    _sums,
    for_numpy,
    to_numpy,
    xp,
)
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = np_diversity.__all__


def _decisions(
    logits_1: TensorLike, logits_2: TensorLike
) -> tuple[list[xp.Tensor], xp.Tensor, int, xp.DType]:
    """Returns the decisions of two models [N, ...], whether their scores are right, the
    number of classes, and the type of the result.
    """
    names = ("logits_1", "logits_2")
    scores = _members.pair(names, (logits_1, logits_2), rank=2, size=2)
    decisions = [xp.argmax(array, axis=-1, output_type=xp.int32) for array in scores]
    right = _members.usable(scores[0]) & _members.usable(scores[1])
    return decisions, right, scores[0].shape[-1], scores[0].dtype


@twin(np_diversity.disagreement)
def disagreement(logits_1, logits_2):
    (first, second), right, _, dtype = _decisions(logits_1, logits_2)
    return _members.aggregated(xp.cast(first != second, dtype), right)


@twin(np_diversity.double_fault)
def double_fault(logits_1, logits_2, labels):
    (first, second), right, num_classes, dtype = _decisions(logits_1, logits_2)
    y = _inputs.as_tensor("labels", labels)
    shape = first.shape
    _predictions.check_labels(y.shape, "logits_1", [*shape, num_classes], shape)
    right = right & _sizes.alike(y, first)
    y, sane = _inputs.integer_labels(xp.reshape(y, xp.shape(first)), num_classes)
    both = xp.cast((first != y) & (second != y), dtype)
    return _members.aggregated(both, right & sane)


def _row_means(values: xp.Tensor) -> xp.Tensor:
    """Returns the means of values [rows, N] over N, whose float32 sum would drift."""
    if values.dtype == xp.float64:
        return xp.reduce_mean(values, axis=1)
    hi, lo = _sums.total_pair(xp.transpose(values))
    return (hi + lo) / xp.cast(xp.shape(values)[1], xp.float32)


@twin(np_diversity.average_pairwise_diversity)
def average_pairwise_diversity(probs, num_models, error):
    tensor = _members.floating("probs", probs)
    m = _predictions.check_members_first(tensor.shape, num_models, least=2)
    if m is None:
        raise _checks.error(
            "probs",
            "a static number of members",
            f"shape {list(tensor.shape)}",
            verb="have",
        )
    # TensorFlow takes half of NumPy's time.
    if not IS_TENSORFLOW and _inputs.left_to_numpy(tensor, error):
        means = np_diversity.average_pairwise_diversity(
            to_numpy(tensor), num_models, for_numpy(error)
        )
        dtype = _inputs.sum_dtype(tensor)
        return {name: xp.constant(mean, dtype) for name, mean in means.items()}, True
    rows = xp.reshape(tensor, [m, -1, tensor.shape[-1]])
    right = xp.reduce_all(_ranges.rows_in_range(rows))
    values = _member_pairs.diversities(_members.classes(rows, from_logits=False))
    means = _row_means(xp.where(right, values, xp.zeros_like(values)))
    if error is not None:
        # In an array a Python number keeps its digits.
        number = error if xp.is_tensor(error) else np_inputs.as_array("error", error)
        divisor = _inputs.as_tensor("error", number)
        _predictions.check_number("error", divisor.shape)
        divisor = xp.cast(divisor, means.dtype)
        right = right & ((divisor > 0) & xp.math.is_finite(divisor))
        means = means / xp.stack([divisor, 1, 1])
    return dict(zip(np_diversity.DIVERSITIES, xp.unstack(means), strict=True)), right
