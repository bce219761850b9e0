"""Means and variances, and whatever has a mask and weights, as tensors [N].

Examples that are wrong are made harmless, and told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.regression import _forecasts as declared
from uncertainty_metrics.ops import _inputs, _validity, is_floating, xp

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


class Forecasts(NamedTuple):
    """Examples, of which those that are wrong are made harmless.

    Attributes:
      errors: targets less predictions, [N].
      variances: > 0, [N].
      weights: >= 0, [N], or None for ones.
      right: boolean [N].
      valid: boolean scalar, False if an example that counts is wrong, or none counts.
    """

    errors: xp.Tensor
    variances: xp.Tensor
    weights: xp.Tensor | None
    right: xp.Tensor
    valid: xp.Tensor

    @property
    def z(self) -> xp.Tensor:
        return self.errors / xp.sqrt(self.variances)


def included(
    tensors: dict[str, xp.Tensor],
    mask: TensorLike | None,
    sample_weight: TensorLike | None,
    dtype: xp.DType,
) -> tuple[list[xp.Tensor], xp.Tensor | None, xp.Tensor]:
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
        exact = kept if is_floating(kept) else xp.cast(kept, xp.int64)
        usable = usable & xp.reduce_all((exact == 0) | (exact == 1))
        ones = _inputs.flat_weights(kept, last, dtype)
        weights = ones if weights is None else weights * ones
    usable = usable & (
        xp.size(last) > 0 if weights is None else xp.reduce_any(weights > 0)
    )
    # Sizes that only the graph knows may differ, and 1 would broadcast.
    usable = usable & xp.reduce_all(
        [xp.size(t) == xp.size(last) for t in tensors.values()]
    )
    return [xp.reshape(t, [-1]) for t in tensors.values()], weights, usable


def is_variance(values: xp.Tensor) -> xp.Tensor:
    return (values > 0) & (values < np.inf)


def variances(name: str, given: xp.Tensor) -> xp.Tensor:
    """Returns variances, 0 for standard deviations that are not positive."""
    if name != "stddevs":
        return given
    return xp.where(given > 0, given * given, xp.zeros_like(given))


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
    mean, given, y = (xp.cast(tensor, dtype) for tensor in flat)
    spreads = variances(name, given)
    right = xp.math.is_finite(mean) & xp.math.is_finite(y) & is_variance(spreads)
    right = right & usable
    return Forecasts(
        xp.where(right, y - mean, xp.zeros_like(y)),
        xp.where(right, spreads, xp.ones_like(spreads)),
        weights,
        right,
        usable & _validity.counted_are_right(right, weights),
    )
