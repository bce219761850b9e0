"""Probability integral transform (PIT): the CDF of each forecast at its target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import PITInterval
from uncertainty_metrics.numpy import _inputs, _threads
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


@np.errstate(over="ignore", invalid="ignore")
def quantile_pit(
    quantile_predictions: ArrayLike,
    quantiles: Sequence[float] | np.ndarray,
    targets: ArrayLike,
) -> np.ndarray:
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
      Values in (0, 1), of the shape of the targets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
            f"a smaller number after {_inputs.first(crossed, knots[..., :-1])}",
        )
    y = targets.reshape(*knots.shape[:-1], 1)
    return _interpolated(y, knots, np.array(levels)).reshape(targets.shape)


def _interpolated(y: np.ndarray, knots: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the PIT of y [..., 1] among knots [..., Q]."""
    left, right = knots[..., :-1], knots[..., 1:]
    width = right - left
    jump = width == 0
    fraction = np.clip((y - left) / np.where(jump, 1.0, width), 0.0, 1.0)
    fraction = np.where(jump, 0.5 * (y > left) + 0.5 * (y >= left), fraction)
    pit = levels[0] + np.sum(np.diff(levels) * fraction, axis=-1)
    y = y[..., 0]
    pit = np.where(y < knots[..., 0], levels[0] / 2, pit)
    return np.where(y > knots[..., -1], (1 + levels[-1]) / 2, pit)
