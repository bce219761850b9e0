# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import PITInterval

def probability_integral_transform(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    *,
    stddevs: TensorLike | None = None,
) -> Tensor:
    """Probability integral transform (PIT) of the targets of Normal forecasts.

      PIT = Phi((y - mean) / stddev)

    with Phi the Normal CDF. PIT values of calibrated forecasts are uniform on [0, 1].

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0.
      targets: observed values.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      Values in [0, 1], of the shape of the targets. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

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

def quantile_pit(
    quantile_predictions: TensorLike,
    quantiles: Sequence[float] | np.ndarray,
    targets: TensorLike,
) -> PITInterval:
    """Probability integral transform (PIT) of the targets, by predicted quantiles.

    Between the quantiles x_j < x_(j+1) of levels t_j and t_(j+1) the CDF has a value
    between these levels, and quantiles say no more about it. So the PIT is an interval:

      [t_j, t_(j+1)] where x_j < y < x_(j+1), with t_0 = 0 and t_(Q+1) = 1

    A uniform draw from the interval is uniform on [0, 1] if the quantiles are right,
    whatever the shape of the CDF and however few they are. A PIT that is interpolated
    between the quantiles is not. A target that equals x_j = ... = x_k, which happens
    where the CDF jumps, as for counts, has the interval from the middle of [t_(j-1),
    t_j], or 0 for j = 1, to the middle of [t_k, t_(k+1)], or 1 for k = Q.

    A target is in the central interval between the quantiles of levels t and 1 - t if
    and only if its PIT is within [t, 1 - t]: unless targets equal quantiles, the
    coverage of these intervals in `pit_calibration_curve` is exact.

    Args:
      quantile_predictions: predicted quantiles, real, shape [n, Q], ascending along the
        last axis.
      quantiles: levels of the predicted quantiles in (0, 1), at least two, strictly
        increasing.
      targets: observed values, shape [n] or [n, 1].

    Returns:
      `PITInterval` of `lower` and `upper` in [0, 1], lower < upper, each of the shape
      of the targets. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> quantile_predictions = [[0.0, 1.0, 3.0]] * 3
      >>> pit = um.regression.quantile_pit(
      ...     quantile_predictions, [0.25, 0.5, 0.75], [-1.0, 1.0, 2.0]
      ... )
      >>> [float(value) for value in pit.lower]
      [0.0, 0.375, 0.5]
      >>> [float(value) for value in pit.upper]
      [0.25, 0.625, 0.75]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness. Czado, Gneiting and Held (2009), Predictive Model Assessment for Count
      Data.
    """

def sample_pit(
    samples: TensorLike,
    targets: TensorLike,
) -> PITInterval:
    """Probability integral transform (PIT) of the targets, by samples of the forecasts.

    With m samples x_i the PIT is known only up to the rank of y among them:

      lower = #{x_i < y} / (m + 1),  upper = (#{x_i <= y} + 1) / (m + 1)

    A uniform draw from this interval is uniform on [0, 1] where target and samples are
    draws of one distribution, for any m. The functions `pit_...` spread the mass of an
    example evenly over its interval, so that calibrated forecasts look calibrated.

    Args:
      samples: m samples of each forecast, real, shape [n, m].
      targets: observed values, shape [n] or [n, 1].

    Returns:
      `PITInterval` of `lower` and `upper` in [0, 1], lower < upper, each of the shape
      of the targets. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> pit = um.regression.sample_pit([[1.0, 2.0, 3.0]], [2.5])
      >>> float(pit.lower[0]), float(pit.upper[0])
      (0.5, 0.75)
      >>> histogram = um.regression.pit_histogram(pit, n_bins=4)
      >>> [float(value) for value in histogram.density]
      [0.0, 0.0, 4.0, 0.0]

    References:
      Czado, Gneiting and Held (2009), Predictive Model Assessment for Count Data.
    """
