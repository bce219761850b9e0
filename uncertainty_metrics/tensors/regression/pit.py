"""Probability integral transform (PIT): where targets are in their forecasts.

Declared in `uncertainty_metrics.numpy.regression.pit`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from uncertainty_metrics import _checks
from uncertainty_metrics._results import PITInterval
from uncertainty_metrics.numpy.regression import pit as np_pit
from uncertainty_metrics.ops import _forecasts, _inputs, xp
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["probability_integral_transform", "quantile_pit", "sample_pit"]


@twin(np_pit.probability_integral_transform)
def probability_integral_transform(predictions, uncertainties, targets, *, stddevs):
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, stddevs=stddevs
    )
    shape = xp.shape(_inputs.as_tensor("targets", targets))
    pit = 0.5 * xp.math.erfc(forecasts.z * -math.sqrt(0.5))
    return xp.reshape(pit, shape), xp.reshape(forecasts.right, shape)


def _beside(
    name: str, value: TensorLike, targets: TensorLike, axis: str
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns values [..., m] and targets [..., 1] of one type, which rows of both are
    finite, and the shape of the targets.
    """
    values = _inputs.as_tensor(name, value)
    y = _inputs.as_tensor("targets", targets)
    np_pit.check_last_axis(name, values.shape, y.shape, axis)
    values = xp.cast(values, _inputs.predictions_dtype(values))
    batch = xp.shape(values)[:-1]
    column = xp.reshape(xp.cast(y, values.dtype), xp.concat([batch, [1]], axis=0))
    finite = xp.math.is_finite(values) & xp.math.is_finite(column)
    right = xp.reduce_all(finite, axis=-1) & (xp.size(y) == xp.reduce_prod(batch))
    return values, column, right, xp.shape(y)


@twin(np_pit.sample_pit)
def sample_pit(samples, targets):
    values, y, right, shape = _beside("samples", samples, targets, "samples")
    below, upto = (
        xp.reduce_sum(xp.cast(ranked, values.dtype), axis=-1)
        for ranked in (values < y, values <= y)
    )
    m = xp.cast(xp.shape(values)[-1], values.dtype)
    ends = (xp.reshape(rank / (m + 1), shape) for rank in (below, upto + 1))
    return PITInterval(*ends), xp.reshape(right & (m > 0), shape)


@twin(np_pit.quantile_pit)
def quantile_pit(quantile_predictions, quantiles, targets):
    levels = np_pit.check_quantiles(quantiles)
    name = "quantile_predictions"
    knots, y, right, shape = _beside(name, quantile_predictions, targets, "quantiles")
    _checks.quantile_shape(knots.shape, list(knots.shape)[:-1], levels)
    right = right & xp.reduce_all(knots[..., :-1] <= knots[..., 1:], axis=-1)
    below, upto = (
        xp.reduce_sum(xp.cast(ranked, xp.int32), axis=-1)
        for ranked in (knots < y, knots <= y)
    )
    lower, upper, lower_at, upper_at = (
        xp.constant(ends, knots.dtype) for ends in np_pit.quantile_ends(levels)
    )
    at = below < upto
    ends = (
        xp.where(at, xp.gather(lower_at, below), xp.gather(lower, below)),
        xp.where(at, xp.gather(upper_at, upto), xp.gather(upper, upto)),
    )
    pit = PITInterval(*(xp.reshape(end, shape) for end in ends))
    return pit, xp.reshape(right, shape)
