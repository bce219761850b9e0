# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import PITHistogram, PITInterval

def pit_calibration_curve(
    pit: TensorLike | PITInterval,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> dict[str, Tensor]:
    """Observed against expected coverage of central intervals, by PIT values.

      observed(p) = share of examples with |2 PIT - 1| <= p

    The mass of an interval is spread evenly over it.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or intervals of PIT values, a
        `PITInterval` or a tuple `(lower, upper)` of two arrays. An array or a list of
        two rows holds 2 n values.
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      mask: True for the values to include.
      sample_weight: weight of each value, finite and >= 0, broadcastable to the values.

    Returns:
      A dict with the entries of `compute_calibration_curve`, and equal to it for the
      PIT values of Normal forecasts. float32, or float64 for float64 predictions.
      Compiled code returns NaN for wrong values, for which eager code raises
      ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> curve = um.regression.pit_calibration_curve([0.4, 0.5, 0.9, 1.0], n_bins=3)
      >>> [float(value) for value in curve["observed_coverage"]]
      [0.25, 0.5, 0.75]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """

def pit_calibration_error(
    pit: TensorLike | PITInterval,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> Tensor:
    """Expected calibration error of any forecasts, by their PIT values.

      ECE = mean over p of |observed(p) - p|

    over the levels of `pit_calibration_curve`.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or intervals of PIT values, a
        `PITInterval` or a tuple `(lower, upper)` of two arrays. An array or a list of
        two rows holds 2 n values.
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      mask: True for the values to include.
      sample_weight: weight of each value, finite and >= 0, broadcastable to the values.

    Returns:
      A number in [0, 1]. Smaller is better. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

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

def pit_histogram(
    pit: TensorLike | PITInterval,
    n_bins: int = 10,
    mask: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
) -> PITHistogram:
    """Histogram of PIT values.

    It is flat if forecasts are calibrated, U-shaped if they are too narrow, hill-shaped
    if they are too wide, and sloped if they are biased. The mass of an interval is
    spread evenly over it.

    Args:
      pit: PIT values in [0, 1], shape [n] or [n, 1]; or intervals of PIT values, a
        `PITInterval` or a tuple `(lower, upper)` of two arrays. An array or a list of
        two rows holds 2 n values.
      n_bins: number of bins `(a, b]` of equal width; the first bin includes 0.
      mask: True for the values to include.
      sample_weight: weight of each value, finite and >= 0, broadcastable to the values.

    Returns:
      A named tuple `(edges, counts, density)`: `edges` [n_bins + 1]; `counts` [n_bins]
      is the weight in each bin; `density` [n_bins] is 1 for a uniform distribution.
      float32, or float64 for float64 predictions. Compiled code returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> histogram = um.regression.pit_histogram([0.0, 0.1, 0.5, 0.8], n_bins=2)
      >>> [float(value) for value in histogram.density]
      [1.5, 0.5]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness. Czado, Gneiting and Held (2009), Predictive Model Assessment for Count
      Data.
    """
