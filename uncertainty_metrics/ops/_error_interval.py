"""The confidence interval of the l2 calibration error, in float64.

The NumPy twin, `numpy.calibration._error_interval`, explains the arithmetic.
"""

from __future__ import annotations

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy.calibration.bins._error_interval import (
    MAX_SKEW,
    NEGLIGIBLE,
    PLACES,
    ROUNDS,
    quantile,
)
from uncertainty_metrics.ops import _binning, _inputs, _search, xp

_SCALE = np.array([2.0, 1.0, 3.0, 2.0])[:, None]


def sums_of(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the sums [4, bins] of one group of scores, and whether data are valid.

    The rows are weights, residuals, squared residuals and p (1 - p).
    """
    statistics, valid = _binning.bin_statistics(examples, spec)
    scored = _binning.score(examples, spec)
    if spec.binning_scheme == "even":
        index = _binning.even_index(scored.scores, spec.num_bins)
    else:  # The edges are some of the scores, in their type.
        scores = xp.cast(scored.scores, examples.dtype)
        index = _search.search_sorted(statistics.edges[0, 1:-1], scores, "left")
    scores = xp.cast(scored.scores, xp.float64)
    outcomes = xp.cast(scored.outcomes, xp.float64)
    residuals = outcomes - scores
    # The variance of a calibrated model: that of the data where outcomes are between.
    of_forecasts = scores * (1 - scores)
    if examples.shares is not None:
        are_binary = xp.reduce_all((outcomes == 0) | (outcomes == 1))
        of_forecasts = xp.where(are_binary, of_forecasts, residuals * residuals)
    values = xp.stack(
        [
            xp.ones_like(scores),
            residuals,
            residuals * residuals,
            of_forecasts,
        ],
        axis=1,
    )
    if scored.weights is not None:
        values = values * xp.cast(scored.weights, xp.float64)[:, None]
    sums = xp.math.unsorted_segment_sum(values, index, spec.num_bins)
    return xp.transpose(sums), valid


def interval(
    sums: xp.Tensor, unit: xp.Tensor | float, level: float
) -> ConfidenceInterval:
    """Returns the interval, scalars, given the sums and the number of examples in a
    weight of 1.
    """
    z = quantile(level)
    divide, total_of = xp.math.divide_no_nan, xp.reduce_sum
    counts = sums[0] * unit
    several = counts > 1.5
    total = total_of(counts)
    counts = xp.where(several, counts, 2 * xp.ones_like(counts))
    shares = divide(xp.where(several, counts, xp.zeros_like(counts)), total)
    residuals, squares, forecast = xp.unstack(divide(sums[1:], sums[0]))
    freedom = counts / (counts - 1)
    variances = xp.maximum(squares - residuals * residuals, 0) * freedom
    means = residuals * residuals - variances / counts
    square = xp.maximum(total_of(shares * means), 0)
    positive = xp.where(
        means > NEGLIGIBLE * residuals * residuals, means, xp.zeros_like(means)
    )
    mean = total_of(shares * positive)
    parts = xp.where(mean > 0, divide(shares * positive, mean), shares)
    spread = divide(total_of(shares * (positive - mean) ** 2), total)
    spread = spread * divide(square, mean) ** 2
    is_several = xp.cast(several, xp.float64)
    scale = divide(xp.ones_like(total), total) ** xp.constant(_SCALE, xp.float64)

    def cumulants(variances: xp.Tensor) -> xp.Tensor:
        variances = is_several * variances
        rows = [
            2 * freedom * variances**2,
            4 * parts * variances,
            8 * freedom**2 * variances**3,
            24 * parts * variances**2,
        ]
        return scale * total_of(xp.stack(rows), axis=1, keepdims=True)

    more = (counts - 1) * variances + z**2 * forecast + shares
    at_zero, slope, _, _ = xp.unstack(cumulants(more / (counts - 1 + z**2))[:, 0])
    half = z**2 * slope / 2
    root = half**2 + 2 * half * square + z**2 * (at_zero + spread)
    upper = divide(square + half + xp.sqrt(root), total_of(shares))
    upper = xp.where(xp.reduce_any(several), upper, xp.ones_like(upper))

    of_forecast, of_data = cumulants(forecast), cumulants(variances)
    steps = xp.constant(np.linspace(0.0, 1.0, PLACES + 1), xp.float64)
    low, high = xp.zeros_like(square), xp.ones_like(square)
    for _ in range(ROUNDS):
        places = low + (high - low) * steps
        truth = places**2 * square
        at_zero, slope, third, steep = xp.unstack(
            (1 - places) * of_forecast + places * of_data
        )
        variance, third = at_zero + slope * truth + spread, third + steep * truth
        deviation = xp.sqrt(variance)
        q = xp.minimum(divide(third, 6 * deviation**3), MAX_SKEW)
        x = z - q
        reach = xp.maximum(deviation * (x + q * x**2 + q**2 * x**3 / 3), 0)
        within = xp.where(square - truth <= reach, xp.range(PLACES + 1), PLACES)
        first = xp.reduce_min(within)
        low = xp.gather(places, xp.maximum(first - 1, 0))
        high = xp.gather(places, first)
    estimate = xp.sqrt(square)
    return ConfidenceInterval(
        high * estimate, estimate, xp.sqrt(xp.minimum(upper, xp.ones_like(upper)))
    )
