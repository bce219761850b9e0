# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def evaluate_calibration(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    mask: TensorLike | None = None,
    n_bins: int = 10,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> dict[str, Tensor]:
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
      are too small. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> data = [0.0, 0.0], [1.0, 4.0], [1.0, 7.0]
      >>> values = um.regression.evaluate_calibration(*data)
      >>> {name: round(float(value), 4) for name, value in values.items()}
      {'nll': 4.578, 'ece': 0.345, 'rmse': 5.0, 'sharpness': 1.5, 'mean_z_score': 2.25}
    """

def expected_normalized_calibration_error(
    predictions: TensorLike,
    uncertainties: TensorLike | None = None,
    targets: TensorLike | None = None,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> Tensor:
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
      sqrt(n_bins / n). Time O(n log n). float32, or float64 for float64 predictions.
      Compiled code returns NaN for wrong values, for which eager code raises
      ValueError.

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

def interval_width(
    uncertainties: TensorLike | None = None,
    level: float | Sequence[float] | np.ndarray = 0.95,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> Tensor:
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
      better where the `interval_coverage` is right. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

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

def negative_log_likelihood(
    mean: TensorLike,
    var: TensorLike | None = None,
    targets: TensorLike | None = None,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> Tensor:
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
      tensors. float32, or float64 for float64 predictions. Compiled code returns NaN
      for wrong values, for which eager code raises ValueError.

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

def root_mean_squared_error(
    predictions: TensorLike,
    targets: TensorLike,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> Tensor:
    """Root mean squared error (RMSE) of the predicted means.

      RMSE = sqrt(mean of (y - mean)^2)

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      targets: observed values.
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.

    Returns:
      A number >= 0, in the unit of the targets. Smaller is better. float32, or float64
      for float64 predictions. Compiled code returns NaN for wrong values, for which
      eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.regression.root_mean_squared_error([0.0, 0.0], [1.0, 7.0]))
      5.0
    """

def sharpness(
    uncertainties: TensorLike | None = None,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    stddevs: TensorLike | None = None,
) -> Tensor:
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
      are calibrated. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

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

ence = expected_normalized_calibration_error
