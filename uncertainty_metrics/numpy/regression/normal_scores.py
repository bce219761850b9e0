"""Scores of Normal forecasts, and their widths."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _compiled_loops, _inputs, _threads
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.regression import _forecasts, _levels

__all__ = [
    "ence",
    "evaluate_calibration",
    "expected_normalized_calibration_error",
    "interval_width",
    "negative_log_likelihood",
    "root_mean_squared_error",
    "sharpness",
]


def _sum(values: np.ndarray, weights: np.ndarray | None) -> float:
    return float(np.sum(values if weights is None else weights * values))


def _sum_of_logs(values: np.ndarray) -> float:
    """Returns the sum of the logarithms of numbers [n] that float32 can hold, > 0."""
    # Float64 holds a product of four of them, and products take less time than logs.
    rest = len(values) % 4
    products = values[rest:].reshape(4, -1).prod(axis=0)
    return float(np.log(products).sum() + np.log(values[:rest]).sum())


@np.errstate(over="ignore", invalid="ignore")
def _likelihood(
    mean: np.ndarray,
    variances: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
) -> float:
    arrays = mean, variances, targets
    single = all(array.dtype == np.float32 for array in arrays)
    compiled = None
    if single and weights is None:
        compiled = _compiled_loops.loops(*arrays)

    def total(block: slice) -> float:
        if compiled is not None:
            of_block = (array[block] for array in arrays)
            return float(compiled.likelihood_of_normals(*of_block))
        center, variance, y = (array[block].astype(np.float64) for array in arrays)
        weight = None if weights is None else weights[block]
        y -= center
        if single:  # Such squares do not overflow in float64.
            y *= y
            y /= variance
        else:
            y /= np.sqrt(variance)
            y *= y
        if single and weights is None:
            return _sum_of_logs(variance) + _sum(y, None)
        return _sum(y, weight) + _sum(np.log(variance, out=variance), weight)

    totals = _threads.map_blocks(total, len(targets))
    size = len(targets) if weights is None else float(np.sum(weights))
    return 0.5 * (math.log(2 * math.pi) + float(np.sum(totals)) / size)


@takes_frames
def negative_log_likelihood(
    mean: ArrayLike,
    var: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float:
    """Negative log-likelihood of Normal forecasts, a proper scoring rule.

      NLL = mean of 1/2 (log(2 pi var) + (y - mean)^2 / var)

    Args:
      mean: predicted means, shape [n] or [n, 1].
      var: predicted variances, > 0.
      targets: observed values.
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `var`.

    Returns:
      The mean, in nats; any real number. Smaller is better. It has a gradient for
      tensors.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> score = um.regression.negative_log_likelihood([0.0], [1.0], [1.0])
      >>> round(float(score), 6)
      1.418939

    References:
      Good (1952), Rational Decisions.
    """
    arguments = mean, var, targets, mask, sample_weight, stddevs
    return _likelihood(*_forecasts.checked_arrays(*arguments, names=("mean", "var")))


@takes_frames
def sharpness(
    uncertainties: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float:
    """Sharpness: the mean predicted standard deviation.

    It says how confident the forecasts are, not how good: compare it between calibrated
    models only.

    Args:
      uncertainties: predicted variances, > 0, shape [n] or [n, 1].
      mask: True for the examples to include.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        uncertainties.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A number > 0, in the unit of the targets. Smaller is better where the forecasts
      are calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.regression.sharpness([1.0, 4.0]))
      1.5

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness.
    """
    name, passed = _forecasts.spread(uncertainties, stddevs)
    (values,), weights = _forecasts.included({name: passed}, mask, sample_weight)
    return _forecasts.mean(np.sqrt(_forecasts.variances(name, values)), weights)


@takes_frames
def interval_width(
    uncertainties: ArrayLike | None = None,
    level: float | Sequence[float] | np.ndarray = 0.95,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float | np.ndarray:
    """Mean width of the central Normal intervals (MPIW).

      width = mean of 2 z_p stddev

    Args:
      uncertainties: predicted variances, > 0, shape [n] or [n, 1].
      level: probability p of the intervals, in (0, 1), or a sequence of them.
      mask: True for the examples to include.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        uncertainties.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A number > 0, or one for each `level`, in the unit of the targets. Smaller is
      better where the `interval_coverage` is right.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> round(float(um.regression.interval_width([1.0, 4.0], level=0.95)), 5)
      5.87989

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """
    levels = _checks.levels("level", level)
    mean = sharpness(uncertainties, mask, sample_weight=sample_weight, stddevs=stddevs)
    return _levels.of_level(
        2 * _levels.normal_limits(np.atleast_1d(levels)) * mean, levels
    )


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def root_mean_squared_error(
    predictions: ArrayLike,
    targets: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Root mean squared error (RMSE) of the predicted means.

      RMSE = sqrt(mean of (y - mean)^2)

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      targets: observed values.
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.

    Returns:
      A number >= 0, in the unit of the targets. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.regression.root_mean_squared_error([0.0, 0.0], [1.0, 7.0]))
      5.0
    """
    arguments = {"predictions": predictions, "targets": targets}
    (mean, y), weights = _forecasts.included(arguments, mask, sample_weight)
    errors = _inputs.finite("targets", y) - _inputs.finite("predictions", mean)
    return math.sqrt(_forecasts.mean(errors**2, weights))


@takes_frames
def expected_normalized_calibration_error(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float:
    """Expected normalized calibration error (ENCE): relative error of the variances.

    Examples are sorted by variance into bins of equal mass; equal variances share a
    bin. With RMV_b the root of the mean variance of bin b, RMSE_b the root of its mean
    squared error, and w_b its share of the weight:

      ENCE = sum_b w_b |RMV_b - RMSE_b| / RMV_b

    It assumes nothing about the shape of the distribution. The ENCE of netcal is
    another number: its bins divide the range of the standard deviations evenly, and all
    bins that hold an example have the same weight.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      n_bins: number of bins.
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A number >= 0. Smaller is better; for n calibrated examples it is of the order of
      sqrt(n_bins / n). Time O(n log n).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 4.0, 4.0], [1.0, -1.0, 1.0, 3.0]
      >>> round(float(um.regression.ence(*data, n_bins=2)), 5)
      0.05902

    References:
      Levi, Gispan, Giladi and Fetaya (2022), Evaluating and Calibrating Uncertainty
      Prediction in Regression Tasks.
    """
    n_bins = _checks.bins("n_bins", n_bins)
    arguments = predictions, uncertainties, targets, mask, sample_weight, stddevs
    return _ence(*_forecasts.checked_forecasts(*arguments), n_bins)


ence = expected_normalized_calibration_error


@np.errstate(over="ignore", invalid="ignore")
def _ence(
    errors: np.ndarray, variances: np.ndarray, weights: np.ndarray | None, n_bins: int
) -> float:
    order = np.argsort(variances)
    errors, variances = errors[order], variances[order]
    if weights is None:
        masses, weights = None, np.ones(len(order))
    else:
        weights = weights[order]
        masses = _binning.integer_masses(weights, n_bins)
    starts = _binning.adaptive_starts(variances, n_bins, masses)
    filled = starts[:-1][starts[:-1] < starts[1:]]  # Starts of bins with examples.
    rows = weights, weights * variances, weights * errors**2
    mass, variance, squares = (np.add.reduceat(row, filled) for row in rows)
    return _forecasts.mean(np.abs(1 - np.sqrt(squares / variance)), mass)


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def evaluate_calibration(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    n_bins: int = 10,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> dict[str, float]:
    """Several metrics of Normal forecasts at once.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      mask: True for the examples to include.
      n_bins: number of coverage levels of `ece`, evenly spaced from 0.1 to 0.99.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A dict of `nll`, `ece`, `rmse` and `sharpness`, which are
      `negative_log_likelihood`, `expected_calibration_error`, `root_mean_squared_error`
      and `sharpness`, and `mean_z_score`, the mean of |y - mean| / stddev, which is
      sqrt(2 / pi) = 0.798 for calibrated Normal forecasts, and larger if the variances
      are too small.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = [0.0, 0.0], [1.0, 4.0], [1.0, 7.0]
      >>> values = um.regression.evaluate_calibration(*data)
      >>> {name: round(float(value), 4) for name, value in values.items()}
      {'nll': 4.578, 'ece': 0.345, 'rmse': 5.0, 'sharpness': 1.5, 'mean_z_score': 2.25}
    """
    _checks.bins("n_bins", n_bins)
    arguments = predictions, uncertainties, targets, mask, sample_weight, stddevs
    forecasts = _forecasts.checked_forecasts(*arguments)
    errors, variances, weights = forecasts
    return {
        "nll": _likelihood(np.zeros_like(errors), variances, errors, weights),
        "ece": _levels.curve_error(_levels.normal_curve(forecasts.z, weights, n_bins)),
        "rmse": math.sqrt(_forecasts.mean(errors**2, weights)),
        "sharpness": _forecasts.mean(np.sqrt(variances), weights),
        "mean_z_score": _forecasts.mean(np.abs(forecasts.z), weights),
    }
