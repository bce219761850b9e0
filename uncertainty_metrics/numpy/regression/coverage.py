"""How often targets lie in the central intervals of Normal forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.regression import _forecasts, _levels

__all__ = [
    "calibration_error",
    "compute_calibration_curve",
    "expected_calibration_error",
    "interval_coverage",
]


@takes_frames
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

    With z = (y - mean) / stddev, and z_p the limit that |z| does not exceed with
    probability p if z is standard Normal:

      observed(p) = share of examples with |z| <= z_p

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A dict of vectors [n_bins]: `expected_coverage`, the levels p;
      `observed_coverage`, in [0, 1], above p if the variances are too large and below
      p if they are too small; `bin_counts`, the total weight of the examples, the same
      at every level.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.regression.compute_calibration_curve(
      ...     [0.0, 0.0], [1.0, 4.0], [1.0, 1.0], n_bins=3
      ... )
      >>> [round(float(p), 3) for p in curve["expected_coverage"]]
      [0.1, 0.545, 0.99]
      >>> [float(value) for value in curve["observed_coverage"]]
      [0.0, 0.5, 1.0]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    _checks.bins("n_bins", n_bins)
    z, weights = _forecasts.checked_z(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    return _levels.normal_curve(z, weights, n_bins)


@takes_frames
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
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A number in [0, 1]. Smaller is better; for n calibrated examples it is of the
      order of 1 / sqrt(n).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
    return _levels.curve_error(
        compute_calibration_curve(
            *arguments, sample_weight=sample_weight, stddevs=stddevs
        )
    )


@takes_frames
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
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A share in [0, 1], or one for each `level`; the closer to the level, the better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.regression.interval_coverage([0.0, 0.0], [1.0, 1.0], [1.9, 2.0]))
      0.5

    References:
      Khosravi, Nahavandi, Creighton and Atiya (2011), Comprehensive Review of Neural
      Network-Based Prediction Intervals and New Advances.
    """
    levels = _checks.levels("level", level)
    z, weights = _forecasts.checked_z(
        predictions, uncertainties, targets, mask, sample_weight, stddevs
    )
    limits = _levels.normal_limits(np.atleast_1d(levels))
    shares, _ = _levels.coverage(z, limits, weights)
    return _levels.of_level(shares, levels)


@takes_frames
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
      level: probability p of the intervals, in (0, 1), or a sequence of them.
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      A number in [0, 1), or one for each `level`. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = [0.0, 0.0], [1.0, 1.0], [1.9, 2.0]
      >>> error = um.regression.calibration_error(*data, level=[0.25, 0.75])
      >>> [float(value) for value in error]
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
