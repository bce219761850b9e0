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
) -> Tensor:
    """Probability integral transform (PIT) of the targets, by predicted quantiles.

    The CDF is linear between the quantiles x_1 <= ... <= x_Q of levels t_1 < ... < t_Q.
    The PIT of a target outside is known only to be below t_1 or above t_Q, and is taken
    as the middle of that range: t_1 / 2 or (1 + t_Q) / 2. Where quantiles coincide the
    CDF jumps, and a target there has the middle of the jump.

    So a target is in the central interval between two levels t and 1 - t if and only if
    |2 PIT - 1| <= 1 - 2t: unless quantiles coincide, the coverage of these intervals is
    exact.

    Args:
      quantile_predictions: predicted quantiles, real, shape [n, Q], ascending along the
        last axis.
      quantiles: levels of the predicted quantiles in (0, 1), at least two, strictly
        increasing.
      targets: observed values, shape [n] or [n, 1].

    Returns:
      Values in (0, 1), of the shape of the targets. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> quantile_predictions = [[0.0, 1.0, 3.0]] * 3
      >>> pit = um.regression.quantile_pit(
      ...     quantile_predictions, [0.25, 0.5, 0.75], [-1.0, 1.0, 2.0]
      ... )
      >>> [float(value) for value in pit]
      [0.125, 0.5, 0.625]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness.
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
