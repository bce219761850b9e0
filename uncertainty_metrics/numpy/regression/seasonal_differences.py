"""The error of the seasonal naive forecast, by which scores are scaled."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs

__all__ = ["seasonal_error"]


def seasonal_error(history: ArrayLike, season: int = 1) -> np.ndarray:
    """Mean absolute seasonal difference of each series: the scale of the MASE.

      seasonal error = mean over t of abs(y_t - y_(t - season))

    A score in the unit of the targets, such as an absolute error, a pinball loss, a
    CRPS or a WIS, divided by the seasonal error of the history of its series, is a
    scaled score: series of any unit can be averaged, and 1 is the mean absolute error
    of the seasonal naive forecast within the history.

    Args:
      history: values of each series before its forecasts, ascending in time along the
        last axis, shape [..., T]. NaN is a missing value, whose differences are left
        out: fill shorter series with it.
      season: number of steps of a season, an integer from 1 to T - 1. 1 is the naive
        forecast, 12 that of monthly data by the year.

    Returns:
      Seasonal errors >= 0, shape [...], in the unit of the values. It is 0 for a series
      that repeats itself; such a series has no scaled scores.

    Raises:
      ValueError: an argument is not as described, or a series has no difference.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> histories = [[1.0, 3.0, 2.0, 5.0], [np.nan, 100.0, 300.0, 200.0]]
      >>> scale = um.regression.seasonal_error(histories)
      >>> [float(value) for value in scale]
      [2.0, 150.0]
      >>> scores = um.crps_score([4.0, 250.0], [[3.0, 4.0, 6.0], [200.0, 300.0, 350.0]])
      >>> (scores / scale).round(3).tolist()
      [0.0, 0.111]

    References:
      Hyndman and Koehler (2006), Another Look at Measures of Forecast Accuracy.
    """
    values = _inputs.as_array("history", history).astype(np.float64)
    season = _checks.positive_integer("season", season)
    if values.ndim == 0 or values.shape[-1] <= season:
        raise _checks.error(
            "history",
            f"more than {season} values in its last axis, the steps of a season",
            f"shape {list(values.shape)}",
            verb="have",
        )
    infinite = np.isinf(values)
    if np.any(infinite):
        raise _checks.error(
            "history", "finite numbers or NaN", _inputs.first(infinite, values)
        )
    with np.errstate(over="ignore"):
        differences = np.abs(values[..., season:] - values[..., :-season])
    known = ~np.isnan(differences)
    numbers = np.sum(known, axis=-1)
    if np.any(numbers == 0):
        raise _checks.error(
            "history",
            f"two values {season} steps apart in every series",
            _inputs.first(numbers == 0, np.asarray(numbers)),
            verb="hold",
        )
    return np.sum(np.where(known, differences, 0), axis=-1) / numbers
