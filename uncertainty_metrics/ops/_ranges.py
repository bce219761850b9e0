"""Whether probabilities are in [0, 1], but for rounding."""

from __future__ import annotations

from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import numpy_dtype, xp


def upper_limit(probabilities: xp.Tensor) -> xp.Tensor:
    """Returns the largest number that is 1 but for rounding, in the same type."""
    dtype = probabilities.dtype
    return xp.constant(np_inputs.upper_limit(numpy_dtype(dtype)), dtype)


def in_range(probabilities: xp.Tensor) -> xp.Tensor:
    """Returns whether each probability is in [0, 1], but for rounding; NaN is not."""
    return (probabilities >= 0) & (probabilities <= upper_limit(probabilities))


def rows_in_range(
    probabilities: xp.Tensor, total: xp.Tensor | None = None
) -> xp.Tensor:
    """Returns whether all probabilities of each row are in [0, 1], but for rounding.

    Args:
      probabilities: [..., K].
      total: [...], any numbers that are NaN where a probability of the row is; by
        default the sums of the rows.
    """
    # Reductions of numbers are several times as fast as a reduction of comparisons.
    largest = xp.reduce_max(probabilities, axis=-1)
    smallest = xp.reduce_min(probabilities, axis=-1)
    if total is None:
        total = xp.reduce_sum(probabilities, axis=-1)
    right = (largest <= upper_limit(probabilities)) & (smallest >= 0)
    return right & ~xp.math.is_nan(total)
