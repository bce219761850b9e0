"""Calibration of predicted means and variances, exact and in float64.

Most functions read a mean and a variance as a Normal distribution. Those of the
probability integral transform (PIT) do for any forecast: of samples, of quantiles, or
of a CDF.

Arguments that the functions share:

  predictions: predicted means, real, shape [n] or [n, 1], or any other.
  uncertainties: predicted variances, not standard deviations; finite and > 0.
  stddevs: predicted standard deviations, likewise. Exactly one of the two is given.
  targets: what was observed, real. Predictions, uncertainties and targets have one
    shape; a last axis of 1 that some of them lack is no difference.
  mask: True (or 1) for the examples to include, broadcastable to the targets; what is
    left out may hold anything, NaN too.
  sample_weight: finite and >= 0, broadcastable to the targets. Weight 2 is the example
    twice, weight 0 the example left out.
  n_bins: number of levels of coverage, or of bins, up to 10^6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _lazy, _scaling
from uncertainty_metrics._statistics import PITInterval
from uncertainty_metrics.numpy import _binning, _inputs

if TYPE_CHECKING:
    from typing_extensions import Self

# Plots import matplotlib when they draw, and are themselves imported on first use.
_PLOTS = dict.fromkeys(
    (
        "create_calibration_report",
        "plot_calibration_comparison",
        "plot_pit_histogram",
        "plot_reliability_diagram",
        "plot_uncertainty_vs_error",
    ),
    "uncertainty_metrics.visualization.regression",
)

__all__ = [
    "PITInterval",
    "TemperatureScaling",
    "calibration_error",
    "compute_calibration_curve",
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
    *_PLOTS,
]
__getattr__, __dir__ = _lazy.attach(__name__, _PLOTS, __all__)


def curve_levels(n_bins: int) -> np.ndarray:
    """Returns the levels of coverage of a calibration curve, [n_bins]."""
    return np.linspace(0.1, 0.99, _checks.bins("n_bins", n_bins))


def normal_limits(levels: Sequence[float] | np.ndarray) -> np.ndarray:
    """Returns the z of the central intervals of the standard Normal, [L]."""
    from statistics import NormalDist  # It would add a tenth to the time of importing.

    # By the lower tail, which keeps its digits for levels next to 1.
    return np.array([-NormalDist().inv_cdf((1 - p) / 2) for p in levels])


def pit_limits(levels: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """Returns what |2 PIT - 1| must keep, which rounding may have raised a little."""
    precise = np.float64 if dtype == np.float64 else np.float32
    return levels + 4 * float(np.finfo(precise).eps)


def check_quantiles(quantiles: object) -> tuple[float, ...]:
    """Returns the levels of quantiles; raises ValueError unless there are two or more,
    strictly increasing in (0, 1).
    """
    levels = _checks.levels("quantiles", quantiles)
    if not isinstance(levels, tuple) or len(levels) < 2 or np.any(np.diff(levels) <= 0):
        raise _checks.error(
            "quantiles", "at least two, strictly increasing", repr(quantiles)
        )
    return levels


def check_last_axis(
    name: str, shape: _checks.Shape, targets: _checks.Shape, axis: str
) -> None:
    """Raises ValueError unless `shape` is that of the targets and one axis more."""
    shape, targets = list(shape), list(targets)
    lone = shape[-1:] == [1] and targets[-1:] != [1]
    if len(targets) > len(shape) or (lone and len(targets) == len(shape)):
        raise ValueError(
            f"The arguments seem to be swapped: `{name}` come first, then `targets`. "
            f"Received: `{name}` of shape {shape}, `targets` of shape {targets}"
        )
    _checks.last_axis(name, shape, targets, axis, "targets")


class _Forecasts(NamedTuple):
    """Examples that count.

    Attributes:
      errors: targets less predictions, [N].
      variances: > 0, [N].
      weights: > 0, [N], or None for ones.
    """

    errors: np.ndarray
    variances: np.ndarray
    weights: np.ndarray | None

    @property
    @np.errstate(over="ignore")
    def z(self) -> np.ndarray:
        return self.errors / np.sqrt(self.variances)


def _included(
    arguments: dict[str, ArrayLike],
    mask: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Returns the arguments, of which the last tells the shape, and the weights, [N]
    each; what is masked out or of weight 0 is left out before it is looked at.
    """
    arrays = {name: _inputs.as_array(name, value) for name, value in arguments.items()}
    reference, last = list(arrays.items())[-1]
    shape = last.shape
    for name, array in arrays.items():
        _checks.paired(name, array.shape, reference, shape)
    kept = weights = None
    if mask is not None:
        mask = _inputs.as_array("mask", mask)
        _checks.aligned_shape("mask", mask.shape, shape)
        bad = (mask != 0) & (mask != 1)
        if np.any(bad):
            raise _checks.error("mask", "0 or 1", _inputs.first(bad, mask))
        kept = _inputs.sample_weights(mask, shape) > 0
    if sample_weight is not None:
        weights = _inputs.sample_weights(sample_weight, shape)
        kept = weights > 0 if kept is None else kept & (weights > 0)
    flat = [array.reshape(-1) for array in arrays.values()]
    if kept is None:
        return flat, None
    if not np.any(kept):
        raise _checks.error(
            reference,
            "at least one example of positive weight that is not masked out",
            "none",
        )
    return [array[kept] for array in flat], None if weights is None else weights[kept]


def _variances(name: str, value: ArrayLike) -> np.ndarray:
    """Returns finite float64 variances > 0, of `stddevs` the squares."""
    array = _inputs.finite(name, value)
    if name != "stddevs":
        bad = array <= 0
        if np.any(bad):
            raise _checks.error(name, "variances > 0", _inputs.first(bad, array))
        return array
    with np.errstate(over="ignore", under="ignore"):
        squares = array * array
    bad = (array <= 0) | (squares <= 0) | np.isinf(squares)
    if np.any(bad):
        raise _checks.error(
            name,
            "standard deviations > 0, with finite squares > 0",
            _inputs.first(bad, array),
        )
    return squares


def spread(
    uncertainties: Any, stddevs: Any, name: str = "uncertainties"
) -> tuple[str, Any]:
    """Returns the name and the value of the one that was given."""
    given = _checks.exactly_one(**{name: uncertainties, "stddevs": stddevs})
    return given, stddevs if given == "stddevs" else uncertainties


def check_targets(targets: Any) -> None:
    """Raises ValueError if there are none; `stddevs=` alone makes them an option."""
    if targets is None:
        raise _checks.error("targets", "given", None)


def checked_forecasts(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None,
    targets: ArrayLike | None,
    mask: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
    names: tuple[str, str] = ("predictions", "uncertainties"),
) -> _Forecasts:
    name, given = spread(uncertainties, stddevs, names[1])
    check_targets(targets)
    arguments: dict[str, Any] = {names[0]: predictions, name: given, "targets": targets}
    (mean, given, y), weights = _included(arguments, mask, sample_weight)
    mean, y = _inputs.finite(names[0], mean), _inputs.finite("targets", y)
    return _Forecasts(y - mean, _variances(name, given), weights)


@np.errstate(over="ignore", invalid="ignore")
def _mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    return float(np.average(values, weights=weights))


@np.errstate(over="ignore", invalid="ignore")
def _likelihood(forecasts: _Forecasts) -> float:
    terms = np.log(forecasts.variances) + forecasts.z**2
    return 0.5 * (math.log(2 * math.pi) + _mean(terms, forecasts.weights))


def _coverage(
    distances: np.ndarray, limits: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Returns the share of distances <= each limit, and the weight of all."""

    def mass(chosen):
        return np.count_nonzero(chosen) if weights is None else weights @ chosen

    total = mass(distances >= 0)
    # Ten comparisons of all examples take less time than a search for each of them.
    return np.array([mass(distances <= limit) for limit in limits]) / total, total


def _curve(
    distances: np.ndarray,
    limits: np.ndarray,
    levels: np.ndarray,
    weights: np.ndarray | None,
) -> dict[str, np.ndarray]:
    return _of_coverage(levels, *_coverage(distances, limits, weights))


def _of_coverage(
    levels: np.ndarray, observed: np.ndarray, total: float
) -> dict[str, np.ndarray]:
    return {
        "expected_coverage": levels,
        "observed_coverage": observed,
        "bin_counts": np.full(len(levels), float(total)),
    }


def _curve_error(curve: dict[str, np.ndarray]) -> float:
    gaps = np.abs(curve["observed_coverage"] - curve["expected_coverage"])
    return float(np.mean(gaps))


def _normal_curve(forecasts: _Forecasts, n_bins: int) -> dict[str, np.ndarray]:
    levels = curve_levels(n_bins)
    distances = np.abs(forecasts.z)
    return _curve(distances, normal_limits(levels), levels, forecasts.weights)


def compute_calibration_curve(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
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
      A dict of float64 [n_bins]: `expected_coverage`, the levels p;
      `observed_coverage`, in [0, 1], above p where the variances are too large and
      below it where they are too small; `bin_counts`, the weight of all examples, of
      which every level is a share.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.regression.compute_calibration_curve(
      ...     [0.0, 0.0], [1.0, 4.0], [1.0, 1.0], n_bins=3
      ... )
      >>> curve["expected_coverage"].tolist()
      [0.1, 0.545, 0.99]
      >>> curve["observed_coverage"].tolist()
      [0.0, 0.5, 1.0]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    arguments = predictions, uncertainties, targets, mask, sample_weight, stddevs
    return _normal_curve(checked_forecasts(*arguments), n_bins)


def expected_calibration_error(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float:
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
      A number in [0, 1]. Smaller is better; of n calibrated examples it is of the order
      of 1 / sqrt(n).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.regression.expected_calibration_error(
      ...     [0.0, 0.0], [1.0, 4.0], [1.0, 1.0], n_bins=3
      ... )
      >>> round(error, 6)
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
      sample_weight: finite and >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `var`.

    Returns:
      The mean, in nats; any real number. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> score = um.regression.negative_log_likelihood([0.0], [1.0], [1.0])
      >>> round(score, 6)
      1.418939

    References:
      Good (1952), Rational Decisions.
    """
    arguments = mean, var, targets, mask, sample_weight, stddevs
    return _likelihood(checked_forecasts(*arguments, names=("mean", "var")))


def _of_level(
    values: np.ndarray, levels: float | tuple[float, ...]
) -> float | np.ndarray:
    """Returns values [L] as a number where the level is one."""
    return values if isinstance(levels, tuple) else float(values[0])


def interval_coverage(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    level: float | Sequence[float] | np.ndarray = 0.95,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float | np.ndarray:
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
      A share in [0, 1], or float64 of the shape of `level`; the closer to the level,
      the better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.regression.interval_coverage([0.0, 0.0], [1.0, 1.0], [1.9, 2.0])
      0.5

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """
    levels = _checks.levels("level", level)
    forecasts = checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    limits = normal_limits(np.atleast_1d(levels))
    shares, _ = _coverage(np.abs(forecasts.z), limits, forecasts.weights)
    return _of_level(shares, levels)


def calibration_error(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    level: float | Sequence[float] | np.ndarray = 0.95,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float | np.ndarray:
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
      A number in [0, 1), or float64 of the shape of `level`. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = [0.0, 0.0], [1.0, 1.0], [1.9, 2.0]
      >>> um.regression.calibration_error(*data, level=[0.25, 0.75]).tolist()
      [0.25, 0.75]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    levels = _checks.levels("level", level)
    arguments = predictions, uncertainties, targets, levels, mask
    coverage: Any = interval_coverage(
        *arguments, sample_weight=sample_weight, stddevs=stddevs
    )
    return abs(coverage - levels)


def sharpness(
    uncertainties: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> float:
    """Sharpness: the mean predicted standard deviation.

    It says how confident forecasts are, not how good: compare it between calibrated
    models.

    Args:
      uncertainties: predicted variances, > 0, shape [n] or [n, 1].
      mask: True for the examples to include.
      sample_weight: finite and >= 0, broadcastable to the uncertainties.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A number > 0, in the unit of the targets. Smaller is sharper.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.regression.sharpness([1.0, 4.0])
      1.5

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness.
    """
    name, given = spread(uncertainties, stddevs)
    (values,), weights = _included({name: given}, mask, sample_weight)
    return _mean(np.sqrt(_variances(name, values)), weights)


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
      sample_weight: finite and >= 0, broadcastable to the uncertainties.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A number > 0, or float64 of the shape of `level`, in the unit of the targets.
      Smaller is sharper; read it together with `interval_coverage`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> round(um.regression.interval_width([1.0, 4.0], level=0.95), 6)
      5.879892

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """
    levels = _checks.levels("level", level)
    mean = sharpness(uncertainties, mask, sample_weight=sample_weight, stddevs=stddevs)
    return _of_level(2 * normal_limits(np.atleast_1d(levels)) * mean, levels)


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
      sample_weight: finite and >= 0, broadcastable to the targets.

    Returns:
      A number >= 0, in the unit of the targets. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.regression.root_mean_squared_error([0.0, 0.0], [1.0, 7.0])
      5.0
    """
    arguments = {"predictions": predictions, "targets": targets}
    (mean, y), weights = _included(arguments, mask, sample_weight)
    errors = _inputs.finite("targets", y) - _inputs.finite("predictions", mean)
    return math.sqrt(_mean(errors**2, weights))


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
      A number >= 0. Smaller is better; of n calibrated examples it is of the order of
      sqrt(n_bins / n). Time O(n log n).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 4.0, 4.0], [1.0, -1.0, 1.0, 3.0]
      >>> round(um.regression.ence(*data, n_bins=2), 6)
      0.059017

    References:
      Levi, Gispan, Giladi and Fetaya (2022), Evaluating and Calibrating Uncertainty
      Prediction in Regression Tasks.
    """
    n_bins = _checks.bins("n_bins", n_bins)
    arguments = predictions, uncertainties, targets, mask, sample_weight, stddevs
    return _ence(*checked_forecasts(*arguments), n_bins)


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
    first = starts[:-1][starts[:-1] < starts[1:]]  # Of the bins that hold an example.
    rows = weights, weights * variances, weights * errors**2
    mass, variance, squares = (np.add.reduceat(row, first) for row in rows)
    return _mean(np.abs(1 - np.sqrt(squares / variance)), mass)


@np.errstate(over="ignore", invalid="ignore")
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
      A dict of `nll`, `ece`, `rmse` and `sharpness`, which are
      `negative_log_likelihood`, `expected_calibration_error`, `root_mean_squared_error`
      and `sharpness`, and `mean_z_score`, the mean of |y - mean| / stddev: it is
      sqrt(2 / pi) = 0.798 of calibrated Normal forecasts, more where the variances are
      too small.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = [0.0, 0.0], [1.0, 4.0], [1.0, 7.0]
      >>> values = um.regression.evaluate_calibration(*data)
      >>> values["rmse"], values["sharpness"], values["mean_z_score"]
      (5.0, 1.5, 2.25)
      >>> round(values["nll"], 6), round(values["ece"], 6)
      (4.578012, 0.345)
    """
    forecasts = checked_forecasts(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    errors, variances, weights = forecasts
    return {
        "nll": _likelihood(forecasts),
        "ece": _curve_error(_normal_curve(forecasts, n_bins)),
        "rmse": math.sqrt(_mean(errors**2, weights)),
        "sharpness": _mean(np.sqrt(variances), weights),
        "mean_z_score": _mean(np.abs(forecasts.z), weights),
    }


def probability_integral_transform(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    *,
    stddevs: ArrayLike | None = None,
) -> np.ndarray:
    """Probability integral transform (PIT) of the targets of Normal forecasts.

      PIT = Phi((y - mean) / stddev)

    with Phi the Normal CDF. PIT values of calibrated forecasts are uniform on [0, 1].

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      Float64 values in [0, 1], of the shape of the targets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> pit = um.regression.probability_integral_transform(
      ...     [0.0, 1.0], [1.0, 4.0], [0.0, 3.0]
      ... )
      >>> pit.round(6).tolist()
      [0.5, 0.841345]

    References:
      Dawid (1984), Statistical Theory: The Prequential Approach. Gneiting, Balabdaoui
      and Raftery (2007), Probabilistic Forecasts, Calibration and Sharpness.
    """
    from scipy import special

    arguments = predictions, uncertainties, targets
    forecasts = checked_forecasts(*arguments, stddevs=stddevs)
    shape = _inputs.as_array("targets", targets).shape
    return special.ndtr(forecasts.z).reshape(shape)


def sample_pit(samples: ArrayLike, targets: ArrayLike) -> PITInterval:
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
      `PITInterval` of float64 `lower` and `upper` in [0, 1], lower < upper, each of the
      shape of the targets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> pit = um.regression.sample_pit([[1.0, 2.0, 3.0]], [2.5])
      >>> pit.lower.tolist(), pit.upper.tolist()
      ([0.5], [0.75])
      >>> um.regression.pit_histogram(pit, n_bins=4)["density"].tolist()
      [0.0, 0.0, 4.0, 0.0]

    References:
      Czado, Gneiting and Held (2009), Predictive Model Assessment for Count Data.
    """
    samples = _inputs.as_array("samples", samples)
    targets = _inputs.as_array("targets", targets)
    check_last_axis("samples", samples.shape, targets.shape, "samples")
    samples, targets = (
        _inputs.finite("samples", samples),
        _inputs.finite("targets", targets),
    )
    y = targets.reshape(*samples.shape[:-1], 1)
    ranks = np.sum(samples < y, axis=-1), np.sum(samples <= y, axis=-1) + 1
    ends = (rank / (samples.shape[-1] + 1) for rank in ranks)
    return PITInterval(*(end.reshape(targets.shape) for end in ends))


def quantile_pit(
    quantile_predictions: ArrayLike,
    quantiles: Sequence[float] | np.ndarray,
    targets: ArrayLike,
) -> np.ndarray:
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
      Float64 values in (0, 1), of the shape of the targets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> quantile_predictions = [[0.0, 1.0, 3.0]] * 3
      >>> um.regression.quantile_pit(
      ...     quantile_predictions, [0.25, 0.5, 0.75], [-1.0, 1.0, 2.0]
      ... ).tolist()
      [0.125, 0.5, 0.625]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness.
    """
    levels = check_quantiles(quantiles)
    name = "quantile_predictions"
    knots = _inputs.as_array(name, quantile_predictions)
    targets = _inputs.as_array("targets", targets)
    check_last_axis(name, knots.shape, targets.shape, "quantiles")
    _checks.quantile_shape(knots.shape, targets.shape, levels)
    knots, targets = _inputs.finite(name, knots), _inputs.finite("targets", targets)
    crossed = np.diff(knots, axis=-1) < 0
    if np.any(crossed):
        raise _checks.error(
            name,
            "ascending along the last axis",
            f"a smaller one after {_inputs.first(crossed, knots[..., :-1])}",
        )
    y = targets.reshape(*knots.shape[:-1], 1)
    return _interpolated(y, knots, np.array(levels)).reshape(targets.shape)


def _interpolated(y: np.ndarray, knots: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the PIT of y [..., 1] among knots [..., Q]."""
    left, right = knots[..., :-1], knots[..., 1:]
    width = right - left
    jump = width == 0
    part = np.clip((y - left) / np.where(jump, 1.0, width), 0.0, 1.0)
    part = np.where(jump, 0.5 * (y > left) + 0.5 * (y >= left), part)
    pit = levels[0] + np.sum(np.diff(levels) * part, axis=-1)
    y = y[..., 0]
    pit = np.where(y < knots[..., 0], levels[0] / 2, pit)
    return np.where(y > knots[..., -1], (1 + levels[-1]) / 2, pit)


def _pit_values(
    pit: ArrayLike | PITInterval,
    mask: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Returns PIT values in [0, 1], in the precision that was passed, or the lower and
    upper ends of intervals; and weights.
    """
    arguments = pit._asdict() if isinstance(pit, PITInterval) else {"pit": pit}
    ends, weights = _included(arguments, mask, sample_weight)
    ends = [
        _inputs.check_probabilities(_inputs.native_floating(values), name)
        for name, values in zip(arguments, ends, strict=True)
    ]
    if len(ends) > 1:
        single = all(values.dtype.itemsize <= 4 for values in ends)
        lower, upper = ends = [
            values.astype(np.float32 if single else np.float64) for values in ends
        ]
        bad = lower > upper
        if np.any(bad):
            raise _checks.error("lower", "<= `upper`", _inputs.first(bad, lower))
    return ends, weights


def _spread_masses(
    ends: Sequence[np.ndarray],
    cells: Sequence[np.ndarray],
    edges: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Returns the weight in each cell, that of an example being spread evenly from its
    lower to its upper end.

    `cells` are those of the ends; `edges` are in the precision that says so.
    """
    edges = edges.astype(np.float64)
    lower, upper = (values.astype(np.float64) for values in ends)
    first, last = cells
    n = len(edges) - 1
    whole = np.ones(len(lower)) if weights is None else weights
    width = np.where(first < last, upper - lower, 1.0)
    start = np.where(first < last, (edges[first + 1] - lower) / width, 1.0)
    end = np.where(first < last, (upper - edges[last]) / width, 0.0)
    masses = np.bincount(first, start * whole, n) + np.bincount(last, end * whole, n)
    # Of a cell between the two it holds a share by width: only then is it not tiny.
    slope = np.where(last - first > 1, whole / width, 0.0)
    steps = np.bincount(first + 1, slope, n + 1) - np.bincount(last, slope, n + 1)
    return masses + np.maximum(np.cumsum(steps[:-1]), 0) * np.diff(edges)


def interval_edges(limits: np.ndarray) -> np.ndarray:
    """Returns the edges, of 2 PIT - 1, of cells that central intervals are made of."""
    return np.concatenate([[-1.0], -limits[::-1], limits, [1.0]])


def pit_histogram(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
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
      A dict of float64 `edges` [n_bins + 1]; `counts` [n_bins], the weight in each bin;
      and `density` [n_bins], which is 1 for a uniform distribution.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> histogram = um.regression.pit_histogram([0.0, 0.1, 0.5, 0.8], n_bins=2)
      >>> histogram["density"].tolist()
      [1.5, 0.5]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness. Czado, Gneiting and Held (2009), Predictive Model Assessment for Count
      Data.
    """
    n_bins = _checks.bins("n_bins", n_bins)
    ends, weights = _pit_values(pit, mask, sample_weight)
    cells = [_binning.even_index(values, n_bins) for values in ends]
    if len(ends) == 1:
        counts = np.bincount(cells[0], weights, n_bins)
    else:
        edges = _binning.even_edges(n_bins, ends[0].dtype)
        counts = _spread_masses(ends, cells, edges, weights)
    return {
        "edges": _binning.even_edges(n_bins),
        "counts": counts.astype(np.float64),
        "density": counts / counts.sum() * n_bins,
    }


def pit_calibration_curve(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
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
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.regression.pit_calibration_curve([0.4, 0.5, 0.9, 1.0], n_bins=3)
      >>> curve["observed_coverage"].tolist()
      [0.25, 0.5, 0.75]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    levels = curve_levels(n_bins)
    ends, weights = _pit_values(pit, mask, sample_weight)
    limits = pit_limits(levels, ends[0].dtype)
    ends = [2 * values.astype(np.float64) - 1 for values in ends]
    if len(ends) == 1:
        return _curve(np.abs(ends[0]), limits, levels, weights)
    edges = interval_edges(limits)
    cells = [np.searchsorted(edges[1:-1], values) for values in ends]
    masses = _spread_masses(ends, cells, edges, weights)
    below, middle, above = np.split(masses, [n_bins, n_bins + 1])
    within = np.cumsum(np.concatenate([middle, below[::-1] + above]))
    return _of_coverage(levels, within[:-1] / within[-1], within[-1])


def pit_calibration_error(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Expected calibration error of any forecasts, by their PIT values.

      ECE = mean over p of |observed(p) - p|

    over the levels of `pit_calibration_curve`.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or a `PITInterval` of such.
      n_bins: number of levels, spaced evenly from 0.1 to 0.99.
      mask: True for the values to include.
      sample_weight: finite and >= 0, broadcastable to the values.

    Returns:
      A number in [0, 1]. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> error = um.regression.pit_calibration_error([0.4, 0.5, 0.9, 1.0], n_bins=3)
      >>> round(error, 6)
      0.145

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    return _curve_error(
        pit_calibration_curve(pit, n_bins, mask, sample_weight=sample_weight)
    )


class TemperatureScaling(_scaling.Scaling):
    """Recalibration of predicted variances by one factor, the temperature.

      calibrated variance = T variance,  T = mean of (y - mean)^2 / variance

    T minimises the negative log-likelihood of the data it is fitted to, which must not
    be those that the model was trained on. T > 1 says that the model was overconfident.

    Attributes:
      temperature: the fitted T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> scaler = um.regression.TemperatureScaling()
      >>> scaler = scaler.fit([0.0, 0.0], [1.0, 1.0], [1.0, 3.0])
      >>> scaler.temperature
      5.0
      >>> scaler.transform([1.0, 2.0]).tolist()
      [5.0, 10.0]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
      Laves, Ihler, Fast, Kahrs and Ortmaier (2020), Well-Calibrated Regression
      Uncertainty in Medical Imaging with Deep Learning.
    """

    _kind = "regression.TemperatureScaling"

    def fit(
        self,
        predictions: ArrayLike,
        uncertainties: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        max_iter: int = 100,
        lr: float = 0.1,
        *,
        sample_weight: ArrayLike | None = None,
        stddevs: ArrayLike | None = None,
    ) -> Self:
        """Sets the temperature to the best one, in closed form.

        Args:
          predictions: predicted means of held-out data, shape [n] or [n, 1].
          uncertainties: predicted variances, > 0.
          targets: observed values.
          mask: True for the examples to include.
          max_iter: not needed; for code that was written for an iterative fit.
          lr: not needed, likewise.
          sample_weight: finite and >= 0, broadcastable to the targets.
          stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

        Returns:
          The scaling itself.

        Raises:
          ValueError: an argument is not as described, or every prediction equals its
            target. The temperature stays what it was.
        """
        forecasts = checked_forecasts(
            predictions, uncertainties, targets, mask, sample_weight, stddevs
        )
        temperature = _mean(forecasts.z**2, forecasts.weights)
        if temperature == 0:
            raise _checks.error(
                "targets",
                "other than the predictions, or the best temperature is 0",
                "predictions without an error",
            )
        return self._set(temperature)

    def transform(
        self,
        uncertainties: ArrayLike | None = None,
        *,
        stddevs: ArrayLike | None = None,
    ) -> np.ndarray:
        """Multiplies variances by the temperature, standard deviations by its root.

        Args:
          uncertainties: predicted variances, > 0, of any shape.
          stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

        Returns:
          Float64 variances, or standard deviations, of that shape.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        temperature = self._require_fitted()
        name, given = spread(uncertainties, stddevs)
        values = _inputs.as_array(name, given)
        _checks.paired(name, values.shape, name, values.shape)
        scaled = temperature * _variances(name, values)
        return np.sqrt(scaled) if name == "stddevs" else scaled
