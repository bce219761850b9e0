"""Probability integral transform (PIT): the CDF of each forecast at its target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import PITInterval
from uncertainty_metrics.numpy import _inputs, _threads
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.regression import _forecasts

__all__ = [
    "PITInterval",
    "probability_integral_transform",
    "quantile_pit",
    "sample_pit",
]


def check_quantiles(quantiles: object) -> tuple[float, ...]:
    """Returns the levels of quantiles; raises ValueError unless there are two or more,
    strictly increasing in (0, 1).
    """
    levels = _checks.levels("quantiles", quantiles)
    if not isinstance(levels, tuple) or len(levels) < 2 or np.any(np.diff(levels) <= 0):
        raise _checks.error(
            "quantiles",
            "at least two levels, strictly increasing",
            repr(quantiles),
            verb="hold",
        )
    return levels


def check_last_axis(
    name: str, shape: _checks.Shape, targets: _checks.Shape, axis: str
) -> None:
    """Raises ValueError unless `shape` is that of the targets and one more axis."""
    shape, targets = list(shape), list(targets)
    column = shape[-1:] == [1] and targets[-1:] != [1]
    if len(targets) > len(shape) or (column and len(targets) == len(shape)):
        raise _checks.plain_error(
            f"The arguments seem to be swapped: `{name}` come first, then `targets`.",
            f"`{name}` of shape {shape}, `targets` of shape {targets}",
        )
    _checks.last_axis(name, shape, targets, axis, "targets")


@takes_frames
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
      Values in [0, 1], of the shape of the targets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> pit = um.regression.probability_integral_transform(
      ...     [0.0, 1.0], [1.0, 4.0], [0.0, 3.0]
      ... )
      >>> [round(float(value), 6) for value in pit]
      [0.5, 0.841345]

    References:
      Dawid (1984), Statistical Theory: The Prequential Approach. Gneiting, Balabdaoui
      and Raftery (2007), Probabilistic Forecasts, Calibration and Sharpness.
    """
    from scipy import special

    arguments = predictions, uncertainties, targets
    z, _ = _forecasts.checked_z(*arguments, stddevs=stddevs)
    shape = _inputs.as_array("targets", targets).shape

    def normal_cdf(block: slice) -> np.ndarray:
        return special.ndtr(z[block])

    return _threads.fill_rows(z, normal_cdf, row_size=1).reshape(shape)


@takes_frames
def sample_pit(samples: ArrayLike, targets: ArrayLike) -> PITInterval:
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
      of the targets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> pit = um.regression.sample_pit([[1.0, 2.0, 3.0]], [2.5])
      >>> float(pit.lower[0]), float(pit.upper[0])
      (0.5, 0.75)
      >>> histogram = um.regression.pit_histogram(pit, n_bins=4)
      >>> [float(value) for value in histogram.density]
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


@takes_frames
def quantile_pit(
    quantile_predictions: ArrayLike,
    quantiles: Sequence[float] | np.ndarray,
    targets: ArrayLike,
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
      of the targets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
    levels = check_quantiles(quantiles)
    name = "quantile_predictions"
    knots = _inputs.as_array(name, quantile_predictions)
    targets = _inputs.as_array("targets", targets)
    check_last_axis(name, knots.shape, targets.shape, "quantiles")
    _checks.quantile_shape(knots.shape, targets.shape, levels)
    knots, targets = _inputs.finite(name, knots), _inputs.finite("targets", targets)
    crossed = knots[..., 1:] < knots[..., :-1]
    if np.any(crossed):
        raise _checks.error(
            name,
            "ascending along the last axis",
            f"a smaller number after {_inputs.first(crossed, knots[..., :-1])}",
        )
    y = targets.reshape(*knots.shape[:-1], 1)
    below, upto = np.sum(knots < y, axis=-1), np.sum(knots <= y, axis=-1)
    ends = quantile_ends(levels)
    lower = np.where(below < upto, ends.lower_at[below], ends.lower[below])
    upper = np.where(below < upto, ends.upper_at[upto], ends.upper[upto])
    return PITInterval(*(end.reshape(targets.shape) for end in (lower, upper)))


class QuantileEnds(NamedTuple):
    """Ends of the PIT intervals by the number of quantiles, from 0 to Q, [Q + 1] each.

    Attributes:
      lower: lower ends by the number of quantiles below a target.
      upper: upper ends by the number of quantiles up to a target.
      lower_at: lower ends of targets that equal quantiles.
      upper_at: upper ends of targets that equal quantiles.
    """

    lower: np.ndarray
    upper: np.ndarray
    lower_at: np.ndarray
    upper_at: np.ndarray


def quantile_ends(levels: Sequence[float]) -> QuantileEnds:
    """Returns the ends of the PIT intervals of targets among quantiles."""
    known = np.array([0.0, *levels, 1.0])
    lower, upper = known[:-1], known[1:]
    middle = (lower + upper) / 2
    return QuantileEnds(
        lower, upper, np.append(0.0, middle[1:]), np.append(middle[:-1], 1.0)
    )
