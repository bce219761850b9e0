"""Calibration of predicted means and variances on tensors, eager or compiled.

Definitions and arguments are those of `uncertainty_metrics.numpy.regression`. float64
predictions are computed in float64, all others in float32.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised: a
metric is NaN there, and so is the PIT value of an example that is wrong; a wrong shape
or option raises while the graph is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics._statistics import PITInterval
from uncertainty_metrics.numpy import _binning as np_binning
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy import regression as np_regression
from uncertainty_metrics.tensorflow import (
    _binning,
    _inputs,
    _quadrature,
    _search,
    _sums,
    distribution_scores,
)

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import Distribution, TensorLike

__all__ = [
    "PITInterval",
    "TemperatureScaling",
    "calibration_error",
    "compute_calibration_curve",
    "distribution_pit",
    "ence",
    "evaluate_calibration",
    "expected_calibration_error",
    "expected_normalized_calibration_error",
    "interval_coverage",
    "interval_width",
    "negative_log_likelihood",
    "pit_calibration_curve",
    "pit_calibration_error",
    "pit_histogram",
    "probability_integral_transform",
    "quantile_pit",
    "root_mean_squared_error",
    "sample_pit",
    "sharpness",
]


class _Forecasts(NamedTuple):
    """Examples, of which those that are wrong are made harmless.

    Attributes:
      errors: targets less predictions, [N].
      variances: > 0, [N].
      weights: >= 0, [N], or None for ones.
      right: boolean [N].
      valid: boolean scalar, False if an example that counts is wrong, or none counts.
    """

    errors: tf.Tensor
    variances: tf.Tensor
    weights: tf.Tensor | None
    right: tf.Tensor
    valid: tf.Tensor

    @property
    def z(self) -> tf.Tensor:
        return self.errors / tf.sqrt(self.variances)


def _included(
    tensors: dict[str, tf.Tensor],
    mask: Any,
    sample_weight: TensorLike | None,
    dtype: tf.DType,
) -> tuple[list[tf.Tensor], tf.Tensor | None, tf.Tensor]:
    """Returns the tensors, of which the last tells the shape, and the weights, [N]
    each, 0 for what is masked out; and whether sizes and weights are right, some > 0.
    """
    reference, last = list(tensors.items())[-1]
    for name, tensor in tensors.items():
        _checks.paired(name, tensor.shape, reference, last.shape)
    if mask is not None:
        mask = _inputs.as_tensor("mask", mask)
        _checks.aligned_shape("mask", mask.shape, last.shape)  # By its own name.
    weights, usable = _inputs.weights_and_ignored(sample_weight, last, None, dtype)
    if mask is not None:
        exact = mask if mask.dtype.is_floating else tf.cast(mask, tf.int64)
        usable &= tf.reduce_all((exact == 0) | (exact == 1))
        mask = _inputs.flat_weights(mask, last, dtype)
        weights = mask if weights is None else weights * mask
    usable &= tf.size(last) > 0 if weights is None else tf.reduce_any(weights > 0)
    # Sizes that only the graph knows may differ, and 1 would broadcast.
    usable &= tf.reduce_all([tf.size(t) == tf.size(last) for t in tensors.values()])
    return [tf.reshape(t, [-1]) for t in tensors.values()], weights, usable


def _is_variance(values: tf.Tensor) -> tf.Tensor:
    return (values > 0) & (values < np.inf)


def _variances(name: str, given: tf.Tensor) -> tf.Tensor:
    """Returns variances, 0 for standard deviations that are not positive."""
    if name != "stddevs":
        return given
    return tf.where(given > 0, given * given, tf.zeros_like(given))


def _forecasts(
    predictions: TensorLike,
    uncertainties: TensorLike | None,
    targets: TensorLike | None,
    mask: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
    names: tuple[str, str] = ("predictions", "uncertainties"),
) -> _Forecasts:
    name, given = np_regression.spread(uncertainties, stddevs, names[1])
    np_regression.check_targets(targets)
    arguments = {names[0]: predictions, name: given, "targets": targets}
    tensors = {key: _inputs.as_tensor(key, value) for key, value in arguments.items()}
    dtype = _inputs.predictions_dtype(tensors[names[0]], tensors[name])
    flat, weights, usable = _included(tensors, mask, sample_weight, dtype)
    mean, given, y = (tf.cast(tensor, dtype) for tensor in flat)
    variances = _variances(name, given)
    right = tf.math.is_finite(mean) & tf.math.is_finite(y) & _is_variance(variances)
    right &= usable
    return _Forecasts(
        tf.where(right, y - mean, tf.zeros_like(y)),
        tf.where(right, variances, tf.ones_like(variances)),
        weights,
        right,
        usable & _inputs.live_rows(weights, right),
    )


def _likelihood(forecasts: _Forecasts) -> tf.Tensor:
    terms = tf.math.log(forecasts.variances) + forecasts.z**2
    return 0.5 * (math.log(2 * math.pi) + _sums.mean(terms, forecasts.weights))


def _mean_squared_root(errors: tf.Tensor, weights: tf.Tensor | None) -> tf.Tensor:
    return tf.sqrt(_sums.mean(errors * errors, weights))


def _masses(
    cell: tf.Tensor, weights: tf.Tensor | None, num_cells: int, dtype: tf.DType
) -> tf.Tensor:
    """Returns the weight in each cell."""
    if weights is None:
        ones = tf.ones_like(cell)
        return tf.cast(tf.math.unsorted_segment_sum(ones, cell, num_cells), dtype)
    hi, lo = _sums.segment_pair(weights[:, None], cell, num_cells)
    return (hi + lo)[0]


def _coverage(
    distances: tf.Tensor, limits: np.ndarray, weights: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the share of distances <= each limit, and the weight of all."""
    limits, place = np.unique(limits, return_inverse=True)
    edges = tf.constant(limits, distances.dtype)
    cell = _search.search_sorted(edges, distances, "left")
    mass = tf.cumsum(_masses(cell, weights, len(limits) + 1, distances.dtype))
    return tf.gather(mass, place) / mass[-1], mass[-1]


def _curve(
    distances: tf.Tensor,
    limits: np.ndarray,
    levels: np.ndarray,
    weights: tf.Tensor | None,
) -> dict[str, tf.Tensor]:
    return _of_coverage(levels, *_coverage(distances, limits, weights))


def _of_coverage(
    levels: np.ndarray, observed: tf.Tensor, total: tf.Tensor
) -> dict[str, tf.Tensor]:
    return {
        "expected_coverage": tf.constant(levels, observed.dtype),
        "observed_coverage": observed,
        "bin_counts": tf.fill([len(levels)], total),
    }


def _curve_error(curve: dict[str, tf.Tensor]) -> tf.Tensor:
    gaps = tf.abs(curve["observed_coverage"] - curve["expected_coverage"])
    return tf.reduce_mean(gaps)


def _normal_curve(forecasts: _Forecasts, n_bins: int) -> dict[str, tf.Tensor]:
    levels = np_regression.curve_levels(n_bins)
    limits = np_regression.normal_limits(levels)
    return _curve(tf.abs(forecasts.z), limits, levels, forecasts.weights)


def _all_nan_unless(
    valid: tf.Tensor, values: dict[str, tf.Tensor], explain: Callable[[], object]
) -> dict[str, tf.Tensor]:
    return {
        name: _inputs.nan_unless(valid, value, explain)
        for name, value in values.items()
    }


def compute_calibration_curve(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> dict[str, tf.Tensor]:
    """Observed against expected coverage of central Normal intervals.

    With z = (y - mean) / stddev, and z_p the limit that |z| of a standard Normal keeps
    with probability p:

      observed(p) = share of examples with |z| <= z_p

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      n_bins: number of levels, spaced evenly from 0.1 to 0.99.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A dict of tensors [n_bins], float32 or float64 as the forecasts:
      `expected_coverage`, the levels p; `observed_coverage`, in [0, 1], above p where
      the variances are too large and below it where they are too small; `bin_counts`,
      the weight of all examples, of which every level is a share. NaN inside a graph
      where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> curve = um.regression.compute_calibration_curve(
      ...     [0.0, 0.0], [1.0, 4.0], [1.0, 1.0], n_bins=3
      ... )
      >>> curve["observed_coverage"].numpy().tolist()
      [0.0, 0.5, 1.0]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    forecasts = _forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    return _all_nan_unless(
        forecasts.valid,
        _normal_curve(forecasts, n_bins),
        lambda: np_regression.compute_calibration_curve(
            predictions,
            uncertainties,
            targets,
            n_bins,
            mask,
            sample_weight=sample_weight,
            stddevs=stddevs,
        ),
    )


def expected_calibration_error(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Expected calibration error (ECE) of regression: how far coverage is from its
    level.

      ECE = mean over p of |observed(p) - p|

    over the levels of `compute_calibration_curve`.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      n_bins: number of levels, spaced evenly from 0.1 to 0.99.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A scalar in [0, 1], float32 or float64 as the forecasts. Smaller is better; of n
      calibrated examples it is of the order of 1 / sqrt(n). NaN inside a graph where
      eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.regression.expected_calibration_error(
      ...     [0.0, 0.0], [1.0, 4.0], [1.0, 1.0], n_bins=3
      ... )
      >>> round(float(error), 6)
      0.051667

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    arguments = predictions, uncertainties, targets, n_bins, mask
    return _curve_error(
        compute_calibration_curve(
            *arguments, sample_weight=sample_weight, stddevs=stddevs
        )
    )


def negative_log_likelihood(
    mean: TensorLike,
    var: TensorLike | None = None,
    targets: TensorLike | None = None,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Negative log-likelihood of Normal forecasts, a proper scoring rule.

      NLL = mean of 1/2 (log(2 pi var) + (y - mean)^2 / var)

    Args:
      mean: predicted means, shape [n] or [n, 1].
      var: predicted variances, > 0.
      targets: observed values.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `var`.

    Returns:
      The mean, a scalar, float32 or float64 as the forecasts, in nats; any real number.
      Smaller is better. Differentiable. NaN inside a graph where eager execution raises
      ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> score = um.regression.negative_log_likelihood([0.0], [1.0], [1.0])
      >>> round(float(score), 6)
      1.418939

    References:
      Good (1952), Rational Decisions.
    """
    arguments = mean, var, targets, mask
    forecasts = _forecasts(*arguments, sample_weight, stddevs, names=("mean", "var"))
    return _inputs.nan_unless(
        forecasts.valid,
        _likelihood(forecasts),
        lambda: np_regression.negative_log_likelihood(
            *arguments, sample_weight=sample_weight, stddevs=stddevs
        ),
    )


def _of_level(values: tf.Tensor, levels: float | tuple[float, ...]) -> tf.Tensor:
    """Returns values [L] as a scalar where the level is one."""
    return values if isinstance(levels, tuple) else values[0]


def interval_coverage(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    level: float | Sequence[float] | np.ndarray = 0.95,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Share of the targets in their central Normal intervals (PICP).

      coverage = share of examples with |y - mean| <= z_p stddev

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      level: probability p of the intervals, in (0, 1), or a sequence of them.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      Shares in [0, 1], of the shape of `level`, float32 or float64 as the forecasts;
      the closer to the level, the better. NaN inside a graph where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.regression.interval_coverage([0.0, 0.0], [1.0, 1.0], [1.9, 2.0]))
      0.5

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """
    levels = _checks.levels("level", level)
    forecasts = _forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    limits = np_regression.normal_limits(np.atleast_1d(levels))
    shares, _ = _coverage(tf.abs(forecasts.z), limits, forecasts.weights)
    return _inputs.nan_unless(
        forecasts.valid,
        _of_level(shares, levels),
        lambda: np_regression.interval_coverage(
            predictions,
            uncertainties,
            targets,
            levels,
            mask,
            sample_weight=sample_weight,
            stddevs=stddevs,
        ),
    )


def calibration_error(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    level: float | Sequence[float] | np.ndarray = 0.95,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Calibration error at one level, or at each of several.

      error = |coverage - level|

    with the coverage of `interval_coverage`.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      level: probability of the intervals, in (0, 1), or a sequence of them.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      Numbers in [0, 1), of the shape of `level`, float32 or float64 as the forecasts.
      Smaller is better. NaN inside a graph where eager execution raises ValueError for
      values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> data = [0.0, 0.0], [1.0, 1.0], [1.9, 2.0]
      >>> um.regression.calibration_error(*data, level=[0.25, 0.75]).numpy().tolist()
      [0.25, 0.75]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    levels = _checks.levels("level", level)
    arguments = predictions, uncertainties, targets, levels, mask
    coverage = interval_coverage(
        *arguments, sample_weight=sample_weight, stddevs=stddevs
    )
    return tf.abs(coverage - tf.constant(levels, coverage.dtype))


def sharpness(
    uncertainties: TensorLike | None = None,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Sharpness: the mean predicted standard deviation.

    It says how confident forecasts are, not how good: compare it between calibrated
    models.

    Args:
      uncertainties: predicted variances, > 0, shape [n] or [n, 1].
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the uncertainties.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A scalar > 0, float32 or float64 as the variances, in the unit of the targets.
      Smaller is sharper. NaN inside a graph where eager execution raises ValueError for
      values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.regression.sharpness([1.0, 4.0]))
      1.5

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness.
    """
    name, given = np_regression.spread(uncertainties, stddevs)
    tensor = _inputs.as_tensor(name, given)
    dtype = _inputs.predictions_dtype(tensor)
    (values,), weights, usable = _included({name: tensor}, mask, sample_weight, dtype)
    variances = _variances(name, tf.cast(values, dtype))
    right = _is_variance(variances)
    roots = tf.sqrt(tf.where(right, variances, tf.ones_like(variances)))
    return _inputs.nan_unless(
        usable & _inputs.live_rows(weights, right),
        _sums.mean(roots, weights),
        lambda: np_regression.sharpness(
            uncertainties, mask, sample_weight=sample_weight, stddevs=stddevs
        ),
    )


def interval_width(
    uncertainties: TensorLike | None = None,
    level: float | Sequence[float] | np.ndarray = 0.95,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Mean width of the central Normal intervals (MPIW).

      width = mean of 2 z_p stddev

    Args:
      uncertainties: predicted variances, > 0, shape [n] or [n, 1].
      level: probability p of the intervals, in (0, 1), or a sequence of them.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the uncertainties.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      Numbers > 0, of the shape of `level`, float32 or float64 as the variances, in the
      unit of the targets. Smaller is sharper; read it together with
      `interval_coverage`. NaN inside a graph where eager execution raises ValueError
      for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> round(float(um.regression.interval_width([1.0, 4.0], level=0.95)), 5)
      5.87989

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """
    levels = _checks.levels("level", level)
    mean = sharpness(uncertainties, mask, sample_weight=sample_weight, stddevs=stddevs)
    limits = np_regression.normal_limits(np.atleast_1d(levels))
    return _of_level(2 * tf.constant(limits, mean.dtype) * mean, levels)


def root_mean_squared_error(
    predictions: TensorLike,
    targets: TensorLike,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> tf.Tensor:
    """Root mean squared error (RMSE) of the predicted means.

      RMSE = sqrt(mean of (y - mean)^2)

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      targets: observed values.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the targets.

    Returns:
      A scalar >= 0, float32 or float64 as the predictions, in the unit of the targets.
      Smaller is better. NaN inside a graph where eager execution raises ValueError for
      values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.regression.root_mean_squared_error([0.0, 0.0], [1.0, 7.0]))
      5.0
    """
    tensors = {
        "predictions": _inputs.as_tensor("predictions", predictions),
        "targets": _inputs.as_tensor("targets", targets),
    }
    dtype = _inputs.predictions_dtype(tensors["predictions"])
    flat, weights, usable = _included(tensors, mask, sample_weight, dtype)
    mean, y = (tf.cast(tensor, dtype) for tensor in flat)
    right = tf.math.is_finite(mean) & tf.math.is_finite(y)
    errors = tf.where(right, y - mean, tf.zeros_like(y))
    return _inputs.nan_unless(
        usable & _inputs.live_rows(weights, right),
        _mean_squared_root(errors, weights),
        lambda: np_regression.root_mean_squared_error(
            predictions, targets, mask, sample_weight=sample_weight
        ),
    )


def expected_normalized_calibration_error(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Expected normalized calibration error (ENCE): whether variances are those of the
    errors, small or large.

    Examples are sorted by variance into bins of equal mass; equal variances share a
    bin. With RMV_b the root of the mean variance of bin b, RMSE_b the root of its mean
    squared error, and w_b its share of the weight:

      ENCE = sum_b w_b |RMV_b - RMSE_b| / RMV_b

    Nothing is assumed of the shape of the distribution. The ENCE of netcal is another
    number: its bins are even intervals of the standard deviation, from the least to the
    largest, and all that hold an example count the same.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      n_bins: number of bins.
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A scalar >= 0, float32 or float64 as the forecasts. Smaller is better; of n
      calibrated examples it is of the order of sqrt(n_bins / n). Time O(n log n). NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> data = [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 4.0, 4.0], [1.0, -1.0, 1.0, 3.0]
      >>> round(float(um.regression.ence(*data, n_bins=2)), 5)
      0.05902

    References:
      Levi, Gispan, Giladi and Fetaya (2022), Evaluating and Calibrating Uncertainty
      Prediction in Regression Tasks.
    """
    n_bins = _checks.bins("n_bins", n_bins)
    forecasts = _forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    return _inputs.nan_unless(
        forecasts.valid,
        _ence(*forecasts[:3], n_bins),
        lambda: np_regression.ence(
            predictions,
            uncertainties,
            targets,
            n_bins,
            mask,
            sample_weight=sample_weight,
            stddevs=stddevs,
        ),
    )


ence = expected_normalized_calibration_error


def _ence(
    errors: tf.Tensor, variances: tf.Tensor, weights: tf.Tensor | None, n_bins: int
) -> tf.Tensor:
    if weights is None:
        weights = tf.ones_like(errors)
    order = tf.argsort(variances)
    errors, variances, weights = (
        tf.gather(values, order) for values in (errors, variances, weights)
    )
    masses = _sums.integer_masses(weights, n_bins)
    group = tf.zeros_like(order)
    bins = tf.constant([n_bins], tf.int64)
    index = _binning.mass_index(variances, group, masses, bins)
    rows = [weights] + [
        tf.math.multiply_no_nan(values, weights)
        for values in (variances, errors * errors)
    ]
    hi, lo = _sums.segment_pair(
        tf.stack(rows, axis=1), tf.cast(index, tf.int32), n_bins
    )
    mass, variance, squares = tf.unstack(hi + lo)
    gaps = tf.abs(1 - tf.sqrt(tf.math.divide_no_nan(squares, variance)))
    return tf.reduce_sum(mass * gaps) / tf.reduce_sum(mass)


def evaluate_calibration(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    mask: TensorLike | None = None,
    n_bins: int = 10,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> dict[str, tf.Tensor]:
    """The metrics of Normal forecasts at once.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      mask: True for the examples to include.
      n_bins: number of levels of the calibration error.
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A dict of scalars, float32 or float64 as the forecasts: `nll`, `ece`, `rmse` and
      `sharpness`, which are `negative_log_likelihood`, `expected_calibration_error`,
      `root_mean_squared_error` and `sharpness`, and `mean_z_score`, the mean of
      |y - mean| / stddev: it is sqrt(2 / pi) = 0.798 of calibrated Normal forecasts,
      more where the variances are too small. NaN inside a graph where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> data = [0.0, 0.0], [1.0, 4.0], [1.0, 7.0]
      >>> values = um.regression.evaluate_calibration(*data)
      >>> [round(float(value), 5) for value in values.values()]
      [4.57801, 0.345, 5.0, 1.5, 2.25]
    """
    forecasts = _forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    errors, variances, weights = forecasts[:3]
    values = {
        "nll": _likelihood(forecasts),
        "ece": _curve_error(_normal_curve(forecasts, n_bins)),
        "rmse": _mean_squared_root(errors, weights),
        "sharpness": _sums.mean(tf.sqrt(variances), weights),
        "mean_z_score": _sums.mean(tf.abs(forecasts.z), weights),
    }
    return _all_nan_unless(
        forecasts.valid,
        values,
        lambda: np_regression.evaluate_calibration(
            predictions,
            uncertainties,
            targets,
            mask,
            n_bins,
            sample_weight=sample_weight,
            stddevs=stddevs,
        ),
    )


def probability_integral_transform(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    *,
    stddevs: TensorLike | None = None,
) -> tf.Tensor:
    """Probability integral transform (PIT) of the targets of Normal forecasts.

      PIT = Phi((y - mean) / stddev)

    with Phi the Normal CDF. PIT values of calibrated forecasts are uniform on [0, 1].

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      Values in [0, 1], of the shape of the targets, float32 or float64 as the
      forecasts. NaN inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> pit = um.regression.probability_integral_transform(
      ...     [0.0, 1.0], [1.0, 4.0], [0.0, 3.0]
      ... )
      >>> [round(float(value), 6) for value in pit]
      [0.5, 0.841345]

    References:
      Dawid (1984), Statistical Theory: The Prequential Approach. Gneiting, Balabdaoui
      and Raftery (2007), Probabilistic Forecasts, Calibration and Sharpness.
    """
    np_regression.check_targets(targets)
    targets = _inputs.as_tensor("targets", targets)
    arguments = predictions, uncertainties, targets
    forecasts = _forecasts(*arguments, stddevs=stddevs)
    pit = 0.5 * tf.math.erfc(forecasts.z * -math.sqrt(0.5))
    pit = _inputs.nan_unless(
        forecasts.right,
        pit,
        lambda: np_regression.probability_integral_transform(
            *arguments, stddevs=stddevs
        ),
    )
    return tf.reshape(pit, tf.shape(targets))


def _beside(
    name: str, value: TensorLike, targets: TensorLike, axis: str
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns values [..., m] and targets [..., 1] of one type, which rows of them are
    finite, and the shape of the targets.
    """
    values = _inputs.as_tensor(name, value)
    y = _inputs.as_tensor("targets", targets)
    np_regression.check_last_axis(name, values.shape, y.shape, axis)
    values = tf.cast(values, _inputs.predictions_dtype(values))
    batch = tf.shape(values)[:-1]
    column = tf.reshape(tf.cast(y, values.dtype), tf.concat([batch, [1]], axis=0))
    finite = tf.math.is_finite(values) & tf.math.is_finite(column)
    right = tf.reduce_all(finite, axis=-1) & (tf.size(y) == tf.reduce_prod(batch))
    return values, column, right, tf.shape(y)


def sample_pit(samples: TensorLike, targets: TensorLike) -> PITInterval:
    """Probability integral transform (PIT) of the targets, by samples of the forecasts.

    Of m samples x_i it is known no better than by the rank of y among them:

      lower = #{x_i < y} / (m + 1),  upper = (#{x_i <= y} + 1) / (m + 1)

    A uniform draw from this interval is uniform on [0, 1] where target and samples are
    draws of one distribution, for any m. The functions `pit_...` spread the mass of an
    example evenly over its interval, so that calibrated forecasts look calibrated.

    Args:
      samples: m samples of each forecast, real, shape [n, m].
      targets: observed values, shape [n] or [n, 1].

    Returns:
      `PITInterval` of `lower` and `upper` in [0, 1], lower < upper, each of the shape
      of the targets, float32 or float64 as the samples. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> pit = um.regression.sample_pit([[1.0, 2.0, 3.0]], [2.5])
      >>> pit.lower.numpy().tolist(), pit.upper.numpy().tolist()
      ([0.5], [0.75])
      >>> um.regression.pit_histogram(pit, n_bins=4)["density"].numpy().tolist()
      [0.0, 0.0, 4.0, 0.0]

    References:
      Czado, Gneiting and Held (2009), Predictive Model Assessment for Count Data.
    """
    values, y, right, shape = _beside("samples", samples, targets, "samples")
    below, upto = (
        tf.reduce_sum(tf.cast(ranked, values.dtype), axis=-1)
        for ranked in (values < y, values <= y)
    )
    m = tf.cast(tf.shape(values)[-1], values.dtype)
    lower, upper = (
        tf.reshape(
            _inputs.nan_unless(
                right & (m > 0),
                rank / (m + 1),
                lambda: np_regression.sample_pit(samples, targets),
            ),
            shape,
        )
        for rank in (below, upto + 1)
    )
    return PITInterval(lower, upper)


def quantile_pit(
    quantile_predictions: TensorLike,
    quantiles: Sequence[float] | np.ndarray,
    targets: TensorLike,
) -> tf.Tensor:
    """Probability integral transform (PIT) of the targets, by predicted quantiles.

    The CDF is linear between the quantiles x_1 <= ... <= x_Q of levels t_1 < ... < t_Q.
    Of a target outside it is known only that its PIT is below t_1 or above t_Q, so it
    has the middle of those: t_1 / 2 or (1 + t_Q) / 2. Where quantiles coincide the CDF
    jumps, and a target there has the middle of the jump.

    So a target is in the central interval between two levels t and 1 - t if and only if
    |2 PIT - 1| <= 1 - 2t: but for coinciding quantiles, coverage there is exact.

    Args:
      quantile_predictions: real, shape [n, Q], ascending along the last axis.
      quantiles: their levels in (0, 1), at least two, strictly increasing.
      targets: observed values, shape [n] or [n, 1].

    Returns:
      Values in (0, 1), of the shape of the targets, float32 or float64 as the
      predictions. NaN inside a graph where eager execution raises ValueError for
      values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> quantile_predictions = [[0.0, 1.0, 3.0]] * 3
      >>> um.regression.quantile_pit(
      ...     quantile_predictions, [0.25, 0.5, 0.75], [-1.0, 1.0, 2.0]
      ... ).numpy().tolist()
      [0.125, 0.5, 0.625]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness.
    """
    levels = np_regression.check_quantiles(quantiles)
    name = "quantile_predictions"
    knots, y, right, shape = _beside(name, quantile_predictions, targets, "quantiles")
    _checks.quantile_shape(knots.shape, list(knots.shape)[:-1], levels)
    right &= tf.reduce_all(knots[..., :-1] <= knots[..., 1:], axis=-1)
    pit = _inputs.nan_unless(
        right,
        _interpolated(y, knots, np.array(levels)),
        lambda: np_regression.quantile_pit(quantile_predictions, levels, targets),
    )
    return tf.reshape(pit, shape)


def _interpolated(y: tf.Tensor, knots: tf.Tensor, levels: np.ndarray) -> tf.Tensor:
    """Returns the PIT of y [..., 1] among knots [..., Q]."""
    dtype = knots.dtype
    left, right = knots[..., :-1], knots[..., 1:]
    width = right - left
    jump = width == 0
    part = (y - left) / tf.where(jump, tf.ones_like(width), width)
    step = 0.5 * (tf.cast(y > left, dtype) + tf.cast(y >= left, dtype))
    part = tf.where(jump, step, tf.clip_by_value(part, 0, 1))
    pit = levels[0] + tf.reduce_sum(tf.constant(np.diff(levels), dtype) * part, axis=-1)
    y = y[..., 0]
    pit = tf.where(y < knots[..., 0], tf.constant(levels[0] / 2, dtype), pit)
    above = tf.constant((1 + levels[-1]) / 2, dtype)
    return tf.where(y > knots[..., -1], above, pit)


@tf.autograph.experimental.do_not_convert
def distribution_pit(
    distribution: Distribution, targets: TensorLike
) -> tf.Tensor | PITInterval:
    """Probability integral transform (PIT) of the targets, by a TFP distribution.

      PIT = F(y), or the interval from P(X < y) to F(y) of a discrete distribution

    The PIT values of calibrated forecasts are uniform on [0, 1], and so are uniform
    draws from the intervals; `pit_histogram` and the like take both.

    Args:
      distribution: a `tfp.distributions.Distribution` of scalar events that has a
        `cdf`, of the batch shape of the targets, or of batch shape [].
      targets: observed values, inside or outside of the support, shape [n] or [n, 1].

    Returns:
      Values in [0, 1], of the shape of the targets, or a `PITInterval` of such; float64
      for a distribution of float64, else float32. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      TypeError: `distribution` is no distribution, or `targets` hold no numbers.
      ValueError: an argument is not as described, or a parameter of the distribution is
        out of its range.

    Example:
      >>> import tensorflow_probability as tfp
      >>> import uncertainty_metrics as um
      >>> forecast = tfp.distributions.Normal(loc=[0.0, 1.0], scale=[1.0, 2.0])
      >>> pit = um.regression.distribution_pit(forecast, [0.0, 3.0])
      >>> [round(float(value), 6) for value in pit]
      [0.5, 0.841345]
      >>> coin = tfp.distributions.Bernoulli(probs=0.25)
      >>> pit = um.regression.distribution_pit(coin, [0, 1])
      >>> pit.lower.numpy().tolist(), pit.upper.numpy().tolist()
      ([0.0, 0.75], [0.75, 1.0])

    References:
      Dawid (1984), Statistical Theory: The Prequential Approach. Czado, Gneiting and
      Held (2009), Predictive Model Assessment for Count Data.
    """
    distribution = distribution_scores.unwrapped(distribution)
    targets = _inputs.as_tensor("targets", targets)
    batch = distribution.batch_shape
    if batch.rank is None:
        raise _checks.error("distribution", "of a static rank", "an unknown rank")
    shape = batch if batch.rank else targets.shape
    _checks.paired("distribution", shape, "targets", targets.shape)
    y = tf.cast(targets, tf.float64 if distribution.dtype == tf.float64 else tf.float32)
    finite = tf.math.is_finite(y)
    if batch.rank:
        shape = distribution.batch_shape_tensor()
        finite &= tf.size(y) == tf.reduce_prod(shape)
        y, finite = tf.reshape(y, shape), tf.reshape(finite, shape)
    y = _inputs.nan_unless(finite, y, lambda: np_inputs.finite("targets", targets))
    distribution_scores.check_parameters(distribution)
    ends, right = cdf_ends(distribution, tf.where(finite, y, tf.zeros_like(y)))

    def explain():
        raise _checks.error(
            "distribution",
            "of parameters in their range, with a CDF that rises from 0 to 1",
            type(distribution).__name__,
        )

    ends = [
        tf.reshape(_inputs.nan_unless(finite & right, end, explain), tf.shape(targets))
        for end in ends
    ]
    return ends[0] if len(ends) == 1 else PITInterval(*ends)


def cdf_ends(
    distribution: Distribution, y: tf.Tensor
) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Returns the CDF at y, of a discrete distribution below and above its jump there;
    and whether it is a CDF.
    """
    tfp = _optional.dependency("tensorflow_probability")

    tfd = tfp.distributions

    def call(method, z):
        return tf.cast(_quadrature.call_method(distribution, method, z), y.dtype)

    rises = True
    if isinstance(distribution, tfd.Deterministic | tfd.Empirical | tfd.FiniteDiscrete):
        upper = call("cdf", y)
        ends = [upper - call("prob", y), upper]
    elif _quadrature.is_discrete(distribution):
        # TFP's probabilities are not to be trusted outside of the support.
        ends = [call("cdf", tf.math.ceil(y) - 1), call("cdf", tf.floor(y))]
    else:
        cdf = _quadrature.cdf_and_survival(distribution, y.dtype).below
        ends = [cdf(y)]
        # A negative scale makes it fall.
        far = 1e4 * (1 + tf.abs(y))
        rises = ~(cdf(y + far) < cdf(y - far))
    right = rises
    for end in ends:
        right &= tf.abs(end - 0.5) <= 0.5 + _quadrature.CDF_TOLERANCE
    right &= ends[0] <= ends[-1] + _quadrature.CDF_TOLERANCE
    ends = [tf.clip_by_value(end, 0, 1) for end in ends]
    ends[0] = tf.minimum(ends[0], ends[-1])
    return ends, right


def _pit_values(
    pit: TensorLike | PITInterval,
    mask: TensorLike | None,
    sample_weight: TensorLike | None,
) -> tuple[list[tf.Tensor], tf.Tensor | None, tf.Tensor]:
    """Returns PIT values in [0, 1], in the precision that was passed, or the lower and
    upper ends of intervals; weights, and whether all was right.
    """
    arguments = pit._asdict() if isinstance(pit, PITInterval) else {"pit": pit}
    tensors = {
        name: _inputs.as_tensor(name, value) for name, value in arguments.items()
    }
    dtype = _inputs.predictions_dtype(*tensors.values())
    ends, weights, usable = _included(tensors, mask, sample_weight, dtype)
    right = tf.constant(True)
    for i, values in enumerate(ends):
        if not values.dtype.is_floating:
            values = tf.cast(values, tf.float32)
        inside = _inputs.rows_in_range(values[:, None])
        right &= inside
        ends[i] = tf.where(inside, tf.minimum(values, 1), tf.zeros_like(values))
    if len(ends) > 1:
        lower, upper = (tf.cast(values, dtype) for values in ends)
        right &= lower <= upper
        ends = [tf.where(right, lower, tf.zeros_like(lower)), upper]
    return ends, weights, usable & _inputs.live_rows(weights, right)


def _spread_masses(
    ends: Sequence[tf.Tensor],
    cells: Sequence[tf.Tensor],
    edges: np.ndarray,
    weights: tf.Tensor | None,
) -> tf.Tensor:
    """Returns the weight in each cell, that of an example being spread evenly from its
    lower to its upper end; the twin of NumPy's, says why there.
    """
    (lower, upper), (first, last) = ends, cells
    dtype, n = lower.dtype, len(edges) - 1
    bounds = tf.constant(edges, dtype)
    whole = tf.ones_like(lower) if weights is None else weights
    one = tf.ones_like(lower)
    width = tf.where(first < last, upper - lower, one)
    start = tf.where(first < last, (tf.gather(bounds, first + 1) - lower) / width, one)
    end = tf.where(first < last, (upper - tf.gather(bounds, last)) / width, 0 * one)
    slope = tf.where(last - first > 1, whole / width, 0 * one)

    def add(values, others, places, size):
        column = tf.concat([values, others], axis=0)[:, None]
        hi, lo = _sums.segment_pair(column, tf.concat(places, axis=0), size)
        return (hi + lo)[0]

    masses = add(start * whole, end * whole, [first, last], n)
    steps = add(slope, -slope, [first + 1, last], n + 1)
    return masses + tf.maximum(tf.cumsum(steps[:-1]), 0) * (bounds[1:] - bounds[:-1])


def ring_masses(
    ends: Sequence[tf.Tensor], limits: np.ndarray, weights: tf.Tensor | None
) -> tf.Tensor:
    """Returns the weight where |2 PIT - 1| is between limits [L], shape [L + 1], that
    of an example being spread evenly from its lower to its upper 2 PIT - 1.
    """
    edges = np_regression.interval_edges(limits)
    inner = tf.constant(edges[1:-1], ends[0].dtype)
    cells = [_search.search_sorted(inner, values, "left") for values in ends]
    masses = _spread_masses(ends, cells, edges, weights)
    below, middle, above = tf.split(masses, [len(limits), 1, len(limits)])
    return tf.concat([middle, below[::-1] + above], axis=0)


def pit_histogram(
    pit: TensorLike | PITInterval,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> dict[str, tf.Tensor]:
    """Histogram of PIT values.

    It is flat where forecasts are calibrated, shaped like a U where they are too
    narrow, like a hill where too wide, and slanted where biased. The mass of an
    interval is spread evenly over it.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or a `PITInterval` of such.
      n_bins: number of bins `(a, b]` of one width; the first holds 0 too.
      mask: True for the values to include.
      sample_weight: finite and >= 0, broadcastable to the values.

    Returns:
      A dict of tensors, float32 or float64 as the values: `edges` [n_bins + 1];
      `counts` [n_bins], the weight in each bin; and `density` [n_bins], which is 1 for
      a uniform distribution. NaN inside a graph where eager execution raises ValueError
      for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> histogram = um.regression.pit_histogram([0.0, 0.1, 0.5, 0.8], n_bins=2)
      >>> histogram["density"].numpy().tolist()
      [1.5, 0.5]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness. Czado, Gneiting and Held (2009), Predictive Model Assessment for Count
      Data.
    """
    n_bins = _checks.bins("n_bins", n_bins)
    ends, weights, valid = _pit_values(pit, mask, sample_weight)
    dtype = _inputs.sum_dtype(ends[0])
    cells = [_binning.even_index(values, n_bins) for values in ends]
    if len(ends) == 1:
        counts = _masses(cells[0], weights, n_bins, dtype)
    else:
        edges = np_binning.even_edges(n_bins, dtype.as_numpy_dtype)
        counts = _spread_masses(ends, cells, edges, weights)
    histogram = {
        "edges": tf.constant(np_binning.even_edges(n_bins), dtype),
        "counts": counts,
        "density": counts / tf.reduce_sum(counts) * n_bins,
    }
    return _all_nan_unless(
        valid,
        histogram,
        lambda: np_regression.pit_histogram(
            pit, n_bins, mask, sample_weight=sample_weight
        ),
    )


def pit_calibration_curve(
    pit: TensorLike | PITInterval,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> dict[str, tf.Tensor]:
    """Observed against expected coverage of central intervals, by PIT values.

      observed(p) = share of examples with |2 PIT - 1| <= p

    The mass of an interval is spread evenly over it.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or a `PITInterval` of such.
      n_bins: number of levels, spaced evenly from 0.1 to 0.99.
      mask: True for the values to include.
      sample_weight: finite and >= 0, broadcastable to the values.

    Returns:
      A dict as that of `compute_calibration_curve`, which it equals for the PIT values
      of Normal forecasts.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> curve = um.regression.pit_calibration_curve([0.4, 0.5, 0.9, 1.0], n_bins=3)
      >>> curve["observed_coverage"].numpy().tolist()
      [0.25, 0.5, 0.75]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    levels = np_regression.curve_levels(n_bins)
    ends, weights, valid = _pit_values(pit, mask, sample_weight)
    limits = np_regression.pit_limits(levels, ends[0].dtype.as_numpy_dtype)
    ends = [2 * tf.cast(values, _inputs.sum_dtype(values)) - 1 for values in ends]
    if len(ends) == 1:
        curve = _curve(tf.abs(ends[0]), limits, levels, weights)
    else:
        within = tf.cumsum(ring_masses(ends, limits, weights))
        curve = _of_coverage(levels, within[:-1] / within[-1], within[-1])
    return _all_nan_unless(
        valid,
        curve,
        lambda: np_regression.pit_calibration_curve(
            pit, n_bins, mask, sample_weight=sample_weight
        ),
    )


def pit_calibration_error(
    pit: TensorLike | PITInterval,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> tf.Tensor:
    """Expected calibration error of any forecasts, by their PIT values.

      ECE = mean over p of |observed(p) - p|

    over the levels of `pit_calibration_curve`.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or a `PITInterval` of such.
      n_bins: number of levels, spaced evenly from 0.1 to 0.99.
      mask: True for the values to include.
      sample_weight: finite and >= 0, broadcastable to the values.

    Returns:
      A scalar in [0, 1], float32 or float64 as the values. Smaller is better. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> error = um.regression.pit_calibration_error([0.4, 0.5, 0.9, 1.0], n_bins=3)
      >>> round(float(error), 6)
      0.145

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    return _curve_error(
        pit_calibration_curve(pit, n_bins, mask, sample_weight=sample_weight)
    )


class TemperatureScaling(np_regression.TemperatureScaling):
    """Recalibration of predicted variances by one factor, the temperature.

      calibrated variance = T variance,  T = mean of (y - mean)^2 / variance

    T minimises the negative log-likelihood of the data it is fitted to, which must not
    be those that the model was trained on. T > 1 says that the model was overconfident.
    The fit is eager; `transform` works in graphs too.

    Attributes:
      temperature: the fitted T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics as um
      >>> scaler = um.regression.TemperatureScaling()
      >>> scaler = scaler.fit([0.0, 0.0], [1.0, 1.0], [1.0, 3.0])
      >>> scaler.temperature
      5.0
      >>> scaler.transform([1.0, 2.0]).numpy().tolist()
      [5.0, 10.0]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
      Laves, Ihler, Fast, Kahrs and Ortmaier (2020), Well-Calibrated Regression
      Uncertainty in Medical Imaging with Deep Learning.
    """

    def transform(
        self,
        uncertainties: TensorLike | None = None,
        *,
        stddevs: TensorLike | None = None,
    ) -> tf.Tensor:
        """Multiplies variances by the temperature, standard deviations by its root.

        Args:
          uncertainties: predicted variances, > 0, of any shape.
          stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

        Returns:
          Variances, or standard deviations, of that shape, float32 or float64 as they
          are. NaN inside a graph where eager execution raises ValueError for values.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        temperature = self._require_fitted()
        name, given = np_regression.spread(uncertainties, stddevs)
        tensor = _inputs.as_tensor(name, given)
        _checks.paired(name, tensor.shape, name, tensor.shape)
        values = tf.cast(tensor, _inputs.predictions_dtype(tensor))
        factor = math.sqrt(temperature) if name == "stddevs" else temperature
        return _inputs.nan_unless(
            _is_variance(_variances(name, values)),
            factor * values,
            lambda: np_regression.TemperatureScaling.transform(self, **{name: given}),
        )
