"""Scores of predicted quantiles, and the parts of one of them, in float64.

All are losses: smaller is better. Labels have any shape, and there is a score for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import WeightedIntervalScoreParts
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.scoring import _interval_bounds, forecast_scores

__all__ = ["crps_quantile_score", "weighted_interval_score_decomposition"]


def several_levels(quantiles: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    """Returns checked levels; raises ValueError unless they are a sequence."""
    levels = _checks.levels("quantiles", quantiles)
    if not isinstance(levels, tuple):
        raise _checks.error(
            "quantiles", "a sequence of numbers in (0, 1)", repr(quantiles)
        )
    return levels


@takes_frames
def crps_quantile_score(
    labels: ArrayLike,
    quantile_predictions: ArrayLike,
    quantiles: Sequence[float] | np.ndarray,
) -> np.ndarray:
    """Approximate CRPS of predicted quantiles: twice their mean pinball loss.

      score = 2/Q sum_j loss_j

    with the `pinball_loss` of each of the Q quantiles. The CRPS is twice the integral
    of the pinball loss over all levels, to which this tends for many evenly spaced
    levels. Of other levels it is a proper score, in which each level counts the same;
    the CRPS of few levels is larger, since the tails beyond them are not scored. With a
    median and the ends of central intervals it is the `weighted_interval_score`.

    Args:
      labels: real, shape [...].
      quantile_predictions: predicted quantiles, real, shape [..., Q].
      quantiles: levels of the predicted quantiles in (0, 1), a sequence of Q.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels.
      Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> score = um.crps_quantile_score([1.0], [[0.0, 3.0]], [0.5, 0.75])
      >>> float(score[0])
      1.0

    References:
      Gneiting and Ranjan (2011), Comparing Density Forecasts Using Threshold- and
      Quantile-Weighted Scoring Rules. Bracher, Ray, Gneiting and Reich (2021),
      Evaluating Epidemic Forecasts in an Interval Format.
    """
    levels = several_levels(quantiles)
    losses = forecast_scores.pinball_loss(labels, quantile_predictions, levels)
    return 2 * np.mean(losses, axis=-1)


@np.errstate(over="ignore", invalid="ignore")
@takes_frames
def weighted_interval_score_decomposition(
    labels: ArrayLike,
    median: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    alphas: Sequence[float] | np.ndarray,
) -> WeightedIntervalScoreParts:
    """Dispersion, overprediction and underprediction: parts of the weighted interval
    score (WIS), which they add up to.

      dispersion = sum_k alpha_k / 2 (u_k - l_k) / (K + 1/2)
      overprediction = (max(median - y, 0) / 2 + sum_k max(l_k - y, 0)) / (K + 1/2)
      underprediction = (max(y - median, 0) / 2 + sum_k max(y - u_k, 0)) / (K + 1/2)

    The first is the cost of wide intervals, the others are those of forecasts that are
    too high or too low.

    Args:
      labels: real, shape [...].
      median: real, shape of the labels, or a scalar.
      lower: real, the quantiles of level alpha/2, shape [..., K].
      upper: real, the quantiles of level 1 - alpha/2, shape [..., K].
      alphas: in (0, 1), a sequence of K; 0.1 for 90% intervals.

    Returns:
      A named tuple `(dispersion, overprediction, underprediction)` of arrays of the
      shape of the labels, in the unit of the labels. All are >= 0, the dispersion
      unless bounds are crossed. Smaller is better.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> intervals = {"lower": [[0.0, -1.0]], "upper": [[1.0, 2.0]]}
      >>> parts = um.weighted_interval_score_decomposition(
      ...     [3.0], [0.5], **intervals, alphas=[0.5, 0.1]
      ... )
      >>> [round(float(part[0]), 6) for part in parts]
      [0.16, 0.0, 1.7]

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format.
    """
    y, middle, low, high, levels = _interval_bounds.checked_intervals(
        labels, median, lower, upper, alphas
    )
    error = middle - y[..., 0]
    parts = (
        np.sum(np.divide(levels, 2) * (high - low), axis=-1),
        np.maximum(error, 0) / 2 + np.sum(np.maximum(low - y, 0), axis=-1),
        np.maximum(-error, 0) / 2 + np.sum(np.maximum(y - high, 0), axis=-1),
    )
    return WeightedIntervalScoreParts(*(part / (len(levels) + 0.5) for part in parts))
