"""Forecasts of means and variances as tensors [N], with masks and weights.

Examples that are wrong are marked, and get harmless numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _stddev_or_variance
from uncertainty_metrics.numpy.regression import _forecasts as np_forecasts
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _sizes,
    _validity,
    is_floating,
    to_numpy,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


class Forecasts(NamedTuple):
    """Examples, with harmless numbers where they are wrong.

    Attributes:
      errors: targets less predictions, [N].
      variances: > 0, [N].
      weights: >= 0, [N], or None for ones.
      right: boolean [N], whether the example and all weights are right.
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
    """Returns the tensors [N], the weights [N], and whether to use them.

    Args:
      tensors: by their names, of the shape of the last of them.
      mask: boolean, or 0 and 1, broadcastable to that shape; None for True.
      sample_weight: broadcastable to that shape; None for ones.
      dtype: of the weights.

    Returns:
      the tensors, each [N]; weights [N], 0 where masked, or None for ones; a boolean
      scalar: the sizes are equal, mask and weights have right values, and some count.
    """
    reference, last = list(tensors.items())[-1]
    for name, tensor in tensors.items():
        _checks.paired(name, tensor.shape, reference, last.shape)
    mask = None if mask is None else _inputs.as_tensor("mask", mask)
    if mask is not None:
        # `flat_weights` below would call the mask `sample_weight` in its message.
        _checks.aligned_shape("mask", mask.shape, last.shape)
    weights, usable = _inputs.weights_and_ignored(sample_weight, last, None, dtype)
    if mask is not None:
        exact = mask if is_floating(mask) else xp.cast(mask, xp.int64)
        usable = usable & xp.reduce_all((exact == 0) | (exact == 1))
        counts = _inputs.flat_weights(mask, last, dtype)
        weights = counts if weights is None else weights * counts
    usable = usable & (
        xp.size(last) > 0 if weights is None else xp.reduce_any(weights > 0)
    )
    flat = [xp.reshape(tensor, [-1]) for tensor in tensors.values()]
    (*flat, weights), same = _sizes.of_equal_number([*flat, weights])
    return flat, weights, usable & same


def is_variance(values: xp.Tensor) -> xp.Tensor:
    """Returns whether each value is positive and finite."""
    return (values > 0) & (values < np.inf)


def variances(name: str, given: xp.Tensor) -> xp.Tensor:
    """Returns variances, 0 for standard deviations that are not positive."""
    if name != "stddevs":
        return given
    return xp.where(given > 0, given * given, xp.zeros_like(given))


def check_spreads(
    name: str,
    means: xp.Tensor,
    spreads: xp.Tensor,
    targets: xp.Tensor,
    weights: xp.Tensor | None,
) -> None:
    """Raises ValueError for standard deviations in the place of variances, and the
    reverse, if the values of the tensors are known and in the memory of the host.

    `name` is the argument that holds the spreads.
    """
    tensors = [means, spreads, targets] + ([] if weights is None else [weights])
    if all(map(_execution.is_for_numpy, tensors)):
        mean, spread, y, *w = map(to_numpy, tensors)
        _stddev_or_variance.check(name, mean, spread, y, w[0] if w else None)


def checked_forecasts(
    predictions: TensorLike,
    uncertainties: TensorLike | None,
    targets: TensorLike | None,
    mask: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
    names: tuple[str, str] = ("predictions", "uncertainties"),
) -> Forecasts:
    """Returns the forecasts, checked; `names` are the names of the first two arguments
    in messages.
    """
    name, given = np_forecasts.spread(uncertainties, stddevs, names[1])
    np_forecasts.check_targets(targets)
    arguments = {names[0]: predictions, name: given, "targets": targets}
    tensors = {key: _inputs.as_tensor(key, value) for key, value in arguments.items()}
    dtype = _inputs.predictions_dtype(tensors[names[0]], tensors[name])
    flat, weights, usable = included(tensors, mask, sample_weight, dtype)
    mean, given, y = (xp.cast(tensor, dtype) for tensor in flat)
    check_spreads(name, mean, given, y, weights)
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
