"""What becomes of wrong values: eager code raises, and compiled code returns NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from uncertainty_metrics.ops import _execution, _structures, xp

Values = TypeVar("Values")

# Where the NumPy half, which computes in float64, accepts the values.
OUT_OF_RANGE = (
    "The values are too large or too small to compute with in the type of the "
    "predictions: pass float64, or scale them. Received: numbers that become 0 or "
    "infinite"
)


def counted_are_right(right: xp.Tensor, weights: xp.Tensor | None) -> xp.Tensor:
    """Returns whether every example that counts is right, a boolean scalar.

    Args:
      right: boolean [N].
      weights: [N], 0 for an example that does not count; None where all count.
    """
    return xp.reduce_all(right if weights is None else right | (weights == 0))


@_execution.not_converted
def nan_unless(right: Any, values: Values, explain: Callable[[], object]) -> Values:
    """Returns the values; in compiled code they are NaN where they are not right.

    Args:
      right: booleans, a structure as of `nan_where_wrong`.
      values: a tensor or a structure of tensors.
      explain: raises the ValueError that names the wrong value: the NumPy twin, which
        has the same rules.

    Raises:
      ValueError: one of the values is not right, in eager execution.
    """
    each = _structures.flatten(right)
    if not _execution.is_eager() or any(map(_execution.is_traced, each)):
        return nan_where_wrong(right, values)
    if not all(map(xp.reduce_all, each)):
        explain()
        raise ValueError(OUT_OF_RANGE)
    return values


def nan_where_wrong(right: Any, values: Values) -> Values:
    """Returns a structure of tensors, with NaN where they are not right.

    Args:
      right: booleans that broadcast to the tensors: one tensor for all, or one for each
        tensor of `values`.
      values: a tensor or a structure of tensors.
    """
    each, tensors = _structures.flatten(right), _structures.flatten(values)
    tensors = [
        xp.where(is_right, tensor, xp.constant(float("nan"), tensor.dtype))
        for is_right, tensor in zip(
            each * (len(tensors) // len(each)), tensors, strict=True
        )
    ]
    return _structures.packed_like(values, tensors)
