"""Scores of Normal forecasts, and their widths, on tensors.

Declared in `uncertainty_metrics.numpy.regression.normal_scores`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.regression import _forecasts as np_forecasts
from uncertainty_metrics.numpy.regression import _levels as np_levels
from uncertainty_metrics.numpy.regression import normal_scores as np_normal_scores
from uncertainty_metrics.ops import (
    _binning,
    _forecasts,
    _inputs,
    _levels,
    _sums,
    _validity,
    xp,
)
from uncertainty_metrics.tensors._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = np_normal_scores.__all__


def _likelihood(forecasts: _forecasts.Forecasts) -> xp.Tensor:
    terms = xp.math.log(forecasts.variances) + forecasts.z**2
    return 0.5 * (math.log(2 * math.pi) + _sums.mean(terms, forecasts.weights))


@twin(np_normal_scores.negative_log_likelihood, by_numpy=True)
def negative_log_likelihood(mean, var, targets, mask, *, sample_weight, stddevs):
    forecasts = _forecasts.checked_forecasts(
        mean, var, targets, mask, sample_weight, stddevs, names=("mean", "var")
    )
    return _likelihood(forecasts), forecasts.valid


def _mean_stddev(
    uncertainties: TensorLike | None,
    mask: TensorLike | None,
    sample_weight: TensorLike | None,
    stddevs: TensorLike | None,
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the mean standard deviation, and whether to trust it."""
    name, given = np_forecasts.spread(uncertainties, stddevs)
    tensor = _inputs.as_tensor(name, given)
    dtype = _inputs.predictions_dtype(tensor)
    (values,), weights, usable = _forecasts.included(
        {name: tensor}, mask, sample_weight, dtype
    )
    variances = _forecasts.variances(name, xp.cast(values, dtype))
    right = _forecasts.is_variance(variances)
    roots = xp.sqrt(xp.where(right, variances, xp.ones_like(variances)))
    return _sums.mean(roots, weights), usable & _validity.counted_are_right(
        right, weights
    )


@twin(np_normal_scores.sharpness)
def sharpness(uncertainties, mask, *, sample_weight, stddevs):
    return _mean_stddev(uncertainties, mask, sample_weight, stddevs)


@twin(np_normal_scores.interval_width)
def interval_width(uncertainties, level, mask, *, sample_weight, stddevs):
    levels = _checks.levels("level", level)
    mean, valid = _mean_stddev(uncertainties, mask, sample_weight, stddevs)
    limits = xp.constant(np_levels.normal_limits(np.atleast_1d(levels)), mean.dtype)
    return _levels.of_level(2 * limits * mean, levels), valid


def _root_mean_square(errors: xp.Tensor, weights: xp.Tensor | None) -> xp.Tensor:
    return xp.sqrt(_sums.mean(errors * errors, weights))


@twin(np_normal_scores.root_mean_squared_error)
def root_mean_squared_error(predictions, targets, mask, *, sample_weight):
    tensors = {
        "predictions": _inputs.as_tensor("predictions", predictions),
        "targets": _inputs.as_tensor("targets", targets),
    }
    dtype = _inputs.predictions_dtype(tensors["predictions"])
    flat, weights, usable = _forecasts.included(tensors, mask, sample_weight, dtype)
    mean, y = (xp.cast(tensor, dtype) for tensor in flat)
    right = xp.math.is_finite(mean) & xp.math.is_finite(y)
    errors = xp.where(right, y - mean, xp.zeros_like(y))
    valid = usable & _validity.counted_are_right(right, weights)
    return _root_mean_square(errors, weights), valid


@twin(np_normal_scores.expected_normalized_calibration_error)
def expected_normalized_calibration_error(
    predictions, uncertainties, targets, n_bins, mask, *, sample_weight, stddevs
):
    n_bins = _checks.bins("n_bins", n_bins)
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    return _ence(*forecasts[:3], n_bins), forecasts.valid


ence = expected_normalized_calibration_error


def _ence(
    errors: xp.Tensor, variances: xp.Tensor, weights: xp.Tensor | None, n_bins: int
) -> xp.Tensor:
    if weights is None:
        weights = xp.ones_like(errors)
    order = xp.argsort(variances)
    errors, variances, weights = (
        xp.gather(values, order) for values in (errors, variances, weights)
    )
    masses = _sums.integer_masses(weights, n_bins)
    group = xp.zeros_like(order)
    bins = xp.constant([n_bins], xp.int64)
    index = _binning.mass_index(variances, group, masses, bins)
    rows = [weights] + [
        xp.math.multiply_no_nan(values, weights)
        for values in (variances, errors * errors)
    ]
    hi, lo = _sums.segment_pair(
        xp.stack(rows, axis=1), xp.cast(index, xp.int32), n_bins
    )
    mass, variance, squares = xp.unstack(hi + lo)
    gaps = xp.abs(1 - xp.sqrt(xp.math.divide_no_nan(squares, variance)))
    return xp.reduce_sum(mass * gaps) / xp.reduce_sum(mass)


@twin(np_normal_scores.evaluate_calibration)
def evaluate_calibration(
    predictions, uncertainties, targets, mask, n_bins, *, sample_weight, stddevs
):
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    z, weights = forecasts.z, forecasts.weights
    values = {
        "nll": _likelihood(forecasts),
        "ece": _levels.curve_error(_levels.normal_curve(z, weights, n_bins)),
        "rmse": _root_mean_square(forecasts.errors, weights),
        "sharpness": _sums.mean(xp.sqrt(forecasts.variances), weights),
        "mean_z_score": _sums.mean(xp.abs(z), weights),
    }
    return values, forecasts.valid
