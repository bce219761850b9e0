"""Proper scoring rules of real-valued forecasts, on tensors: losses to train with.

Declared in `uncertainty_metrics.numpy.scoring.forecast_scores`; differentiable in the
forecasts. float64 forecasts are computed in float64, all others in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._results import WeightedIntervalScoreParts
from uncertainty_metrics.numpy.scoring import _interval_bounds, _sample_estimators
from uncertainty_metrics.numpy.scoring import forecast_scores as np_forecast_scores
from uncertainty_metrics.numpy.scoring import (
    multivariate_scores as np_multivariate_scores,
)
from uncertainty_metrics.numpy.scoring import quantile_scores as np_quantile_scores
from uncertainty_metrics.ops import (
    _execution,
    _forecast_scores,
    _forecasts,
    _inputs,
    _pairwise,
    _sizes,
    xp,
)
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = [
    "crps_normal_score",
    "crps_quantile_score",
    "crps_score",
    "energy_score",
    "interval_score",
    "pinball_loss",
    "threshold_weighted_crps",
    "weighted_interval_score",
    "weighted_interval_score_decomposition",
]


def _like_labels(labels: TensorLike, **parameters: TensorLike) -> list[xp.Tensor]:
    """Returns the labels and the parameters of forecasts, of one shape and type."""
    labels = _inputs.as_tensor("labels", labels)
    tensors = {
        name: _inputs.as_tensor(name, value) for name, value in parameters.items()
    }
    labels = xp.cast(labels, _inputs.predictions_dtype(*tensors.values()))
    return [
        labels,
        *(_inputs.like_labels(name, value, labels) for name, value in tensors.items()),
    ]


@twin(np_forecast_scores.crps_normal_score)
def crps_normal_score(labels, means, stddevs):
    labels, means, stddevs = _like_labels(labels, means=means, stddevs=stddevs)
    _forecasts.check_spreads("stddevs", means, stddevs, labels, None)
    return _forecast_scores.normal_scores(labels, means, stddevs)


def _samples(
    labels: TensorLike, predictive_samples: TensorLike, estimator: str
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns labels [...] and samples [..., m], of one type."""
    labels = _inputs.as_tensor("labels", labels)
    samples = _inputs.as_tensor("predictive_samples", predictive_samples)
    _checks.last_axis("predictive_samples", samples.shape, labels.shape, "samples")
    _sample_estimators.check_num_samples(estimator, samples.shape[-1])
    samples = xp.cast(samples, _inputs.predictions_dtype(samples))
    return _without_last(labels, samples), samples


def _without_last(labels: xp.Tensor, predictions: xp.Tensor) -> xp.Tensor:
    """Returns labels in type and shape of predictions, without the last axis."""
    shape = predictions.shape[:-1]
    labels = xp.cast(labels, predictions.dtype)
    labels = _sizes.nan_unless_alike(labels, predictions, len(shape))
    if None in shape:
        shape = xp.shape(predictions)[:-1]
    return xp.reshape(labels, shape)


def _sample_scores(
    labels: xp.Tensor, samples: xp.Tensor, estimator: str, alpha: float
) -> tuple[xp.Tensor, xp.Tensor]:
    scores, right = _forecast_scores.sample_scores(labels, samples, estimator, alpha)
    if _sample_estimators.is_fair(estimator):
        right = right & (xp.shape(samples)[-1] > 1)
    return scores, right


@twin(np_forecast_scores.crps_score, by_numpy=True)
def crps_score(labels, predictive_samples, *, estimator, alpha, member_weights):
    estimator, alpha = _sample_estimators.settled(estimator, alpha)
    labels, samples = _samples(labels, predictive_samples, estimator)
    if member_weights is not None:
        weights = _inputs.as_tensor("member_weights", member_weights)
        _sample_estimators.check_member_weights(weights.shape, samples.shape, estimator)
        return _forecast_scores.weighted_sample_scores(
            labels, samples, xp.cast(weights, samples.dtype), estimator, alpha
        )
    return _sample_scores(labels, samples, estimator, alpha)


@twin(np_forecast_scores.threshold_weighted_crps)
def threshold_weighted_crps(
    labels, predictive_samples, lower, upper, *, estimator, alpha
):
    estimator, alpha = _sample_estimators.settled(estimator, alpha)
    labels, samples = _samples(labels, predictive_samples, estimator)
    low, high = (
        _inputs.like_labels(name, _inputs.as_tensor(name, value), labels)
        for name, value in (("lower", lower), ("upper", upper))
    )
    right = (low <= high) & (low < np.inf) & (high > -np.inf)
    right = right & xp.math.is_finite(labels)
    right = right & xp.reduce_all(xp.math.is_finite(samples), axis=-1)
    labels = xp.clip_by_value(labels, low, high)
    samples = xp.clip_by_value(samples, low[..., None], high[..., None])
    scores, _ = _sample_scores(labels, samples, estimator, alpha)
    if _sample_estimators.is_fair(estimator):
        right = right & (xp.shape(samples)[-1] > 1)
    return scores, right


@twin(np_forecast_scores.pinball_loss)
def pinball_loss(labels, quantile_predictions, quantiles):
    return _pinball_losses(labels, quantile_predictions, quantiles)


def _pinball_losses(
    labels: TensorLike, quantile_predictions: TensorLike, quantiles: Any
) -> tuple[xp.Tensor, xp.Tensor]:
    levels = _checks.levels("quantiles", quantiles)
    labels = _inputs.as_tensor("labels", labels)
    predictions = _inputs.as_tensor("quantile_predictions", quantile_predictions)
    _checks.quantile_shape(predictions.shape, labels.shape, levels)
    dtype = _inputs.predictions_dtype(predictions)
    labels, predictions = xp.cast(labels, dtype), xp.cast(predictions, dtype)
    if isinstance(levels, tuple):
        labels = _without_last(labels, predictions)[..., None]
    else:
        predictions = _inputs.like_labels("quantile_predictions", predictions, labels)
    return _forecast_scores.pinball_losses(labels, predictions, levels)


@twin(np_quantile_scores.crps_quantile_score)
def crps_quantile_score(labels, quantile_predictions, quantiles):
    levels = np_quantile_scores.several_levels(quantiles)
    losses, right = _pinball_losses(labels, quantile_predictions, levels)
    return 2 * xp.reduce_mean(losses, axis=-1), xp.reduce_all(right, axis=-1)


def _unless_reversed(right: xp.Tensor, lower: xp.Tensor, upper: xp.Tensor) -> xp.Tensor:
    """Returns which scores are right: none of them if every interval is reversed."""
    reversed_ = xp.reduce_all(lower > upper)
    if _execution.has_known_values(reversed_) and not reversed_:
        return right
    return right & ~reversed_


@twin(np_forecast_scores.interval_score)
def interval_score(labels, lower, upper, alpha):
    alpha = _checks.open_unit("alpha", alpha)
    labels, lower, upper = _like_labels(labels, lower=lower, upper=upper)
    scores, right = _forecast_scores.interval_scores(labels, lower, upper, alpha)
    return scores, _unless_reversed(right, lower, upper)


def _intervals(
    labels: TensorLike,
    median: TensorLike,
    lower: TensorLike,
    upper: TensorLike,
    alphas: Any,
) -> tuple[Any, ...]:
    """Returns labels, medians, bounds [..., K] and `alphas`, of one type."""
    levels = _interval_bounds.interval_levels(alphas)
    labels = _inputs.as_tensor("labels", labels)
    named = {"lower": lower, "upper": upper, "median": median}
    named = {name: _inputs.as_tensor(name, value) for name, value in named.items()}
    for name in ("lower", "upper"):
        shape = named[name].shape
        _checks.counted_axis(name, shape, labels.shape, "alphas", len(levels))
    dtype = _inputs.predictions_dtype(*named.values())
    lower = xp.cast(named["lower"], dtype)
    upper = _inputs.like_labels("upper", named["upper"], lower)
    labels = _without_last(labels, lower)
    median = _inputs.like_labels("median", named["median"], labels)
    return labels, median, lower, upper, levels


@twin(np_forecast_scores.weighted_interval_score)
def weighted_interval_score(labels, median, lower, upper, alphas):
    intervals = _intervals(labels, median, lower, upper, alphas)
    scores, right = _forecast_scores.weighted_interval_scores(*intervals)
    return scores, _unless_reversed(right, *intervals[2:4])


@twin(np_quantile_scores.weighted_interval_score_decomposition)
def weighted_interval_score_decomposition(labels, median, lower, upper, alphas):
    intervals = _intervals(labels, median, lower, upper, alphas)
    parts, right = _forecast_scores.weighted_interval_parts(*intervals)
    right = _unless_reversed(right, *intervals[2:4])
    return WeightedIntervalScoreParts(*parts), right


def _norm(vectors: xp.Tensor) -> xp.Tensor:
    """Returns the Euclidean norm over the last axis, whose gradient at 0 is 0."""
    squared = xp.reduce_sum(vectors * vectors, axis=-1)
    positive = squared > 0
    root = xp.sqrt(xp.where(positive, squared, xp.ones_like(squared)))
    return xp.where(positive, root, xp.zeros_like(root))


@_execution.custom_gradient
def _pair_distances(
    samples: xp.Tensor,
) -> tuple[xp.Tensor, Callable[[xp.Tensor], xp.Tensor]]:
    """Returns the sum of ||x_i - x_j|| over the pairs i < j of samples [..., m, d]."""
    m = xp.shape(samples)[-2]

    def over_shifts(add, start):
        # All pairs at once would take m^2 d numbers.
        def step(shift, total):
            # A shift by m/2 has each pair twice.
            share = xp.where(2 * shift == m, 0.5, 1.0)
            vectors = samples - xp.roll(samples, shift, axis=-2)
            return shift + 1, total + xp.cast(share, samples.dtype) * add(
                shift, vectors
            )

        return xp.while_loop(
            lambda shift, _: 2 * shift <= m, step, [xp.constant(1), start]
        )[1]

    def gradient(upstream):
        def slopes(shift, vectors):
            units = xp.math.divide_no_nan(vectors, _norm(vectors)[..., None])
            return units - xp.roll(units, -shift, axis=-2)

        return upstream[..., None, None] * over_shifts(slopes, xp.zeros_like(samples))

    distances = over_shifts(
        lambda _, vectors: xp.reduce_sum(_norm(vectors), axis=-1),
        xp.zeros(xp.shape(samples)[:-2], samples.dtype),
    )
    return distances, gradient


@twin(np_multivariate_scores.energy_score, by_numpy=True)
def energy_score(labels, predictive_samples, *, estimator, alpha):
    labels = _inputs.as_tensor("labels", labels)
    samples = _inputs.as_tensor("predictive_samples", predictive_samples)
    _checks.vector_samples(samples.shape, labels.shape)
    estimator, alpha = _sample_estimators.settled(estimator, alpha)
    _sample_estimators.check_num_samples(estimator, samples.shape[-2])
    samples = xp.cast(samples, _inputs.predictions_dtype(samples))
    labels = xp.cast(labels, samples.dtype)
    labels = _sizes.nan_unless_alike(labels, samples, len(samples.shape) - 2)
    strays = samples - labels[..., None, :]
    right = xp.reduce_all(xp.math.is_finite(strays), axis=[-2, -1])
    # Squares of very small or large numbers would leave the range of the type.
    scale = xp.stop_gradient(xp.reduce_max(xp.abs(strays), axis=[-2, -1]))
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    strays = strays / scale[..., None, None]
    m = xp.cast(xp.shape(samples)[-2], samples.dtype)
    if estimator == "roll":
        steps = _norm(strays - xp.roll(strays, 1, axis=-2))
        spread = xp.reduce_mean(steps, axis=-1) / 2
    else:
        fair = _sample_estimators.is_fair(estimator)
        if strays.shape[-1] == 1:  # By sorting, not by pairs.
            spread = _pairwise.pairwise_spread(strays[..., 0], fair)
        else:
            spread = _pair_distances(strays) / (m * (m - 1 if fair else m))
        spread = _sample_estimators.share_of_fair(estimator, alpha, m) * spread
    scores = scale * (xp.reduce_mean(_norm(strays), axis=-1) - spread)
    if _sample_estimators.is_fair(estimator):
        right = right & (m > 1)
    return scores, right
