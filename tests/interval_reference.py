"""A naive reference for the interval of the calibration error."""

import numpy as np
from scipy import optimize, stats

from tests import references


def calibration_error_interval(
    labels,
    probabilities,
    level=0.95,
    binning_scheme="adaptive",
    num_bins=15,
    **data,
):
    """Returns the interval by its definition: sums over examples, and root finding."""
    [group] = references.groups(labels, probabilities, True, False, **data)
    z = stats.norm.isf((1 - level) / 2)
    unit = max(1.0, 1 / np.mean([weight for _, _, weight in group]))
    dtype = np.asarray(probabilities).dtype
    found = [[] for _ in range(num_bins)]
    scores, _, weights = zip(*group, strict=True)
    for i, (score, outcome, weight) in enumerate(group):
        if binning_scheme == "even":
            b = references.even_bin(score, num_bins, dtype)
        else:
            b = references.adaptive_bin(i, scores, weights, num_bins)
        found[b].append((float(score), outcome, weight))
    n = unit * sum(weight for _, _, weight in group)
    table = []
    for examples in found:
        p, y, weights = np.array(examples, float).reshape(-1, 3).T
        size = unit * weights.sum()
        if size > 1.5:
            gap = np.average(y - p, weights=weights)
            variance = np.sum(unit * weights * (y - p - gap) ** 2) / (size - 1)
            forecast = np.average(p * (1 - p), weights=weights)
            table.append((size, gap**2 - variance / size, variance, forecast))
    if not table:
        return 0.0, 0.0, 1.0
    size, m, variance, forecast = np.array(table).T
    squared = max(np.sum(size * m) / n, 0.0)
    m = np.maximum(m, 0)
    mean = np.sum(size * m) / n
    spread = (
        np.sum(size * (m - mean) ** 2) / n**2 * (squared / mean) ** 2 if mean else 0
    )
    part = size * m / np.sum(size * m) if mean else size / n

    def moments(r, truth):
        """Returns the variance and the third cumulant of the squared error."""
        variance = 2 / n**2 * np.sum(r**2 * size / (size - 1))
        variance += 4 / n * truth * np.sum(part * r)
        third = 8 / n**3 * np.sum(r**3 * (size / (size - 1)) ** 2)
        return variance, third + 24 / n**2 * truth * np.sum(part * r**2)

    more = ((size - 1) * variance + z**2 * forecast + size / n) / (size - 1 + z**2)

    def above(truth):
        return truth - squared - z * np.sqrt(moments(more, truth)[0] + spread)

    def below(t):
        truth = t * t * squared
        pairs = zip(moments(forecast, truth), moments(variance, truth), strict=True)
        second, third = ((1 - t) * first + t * last for first, last in pairs)
        deviation = np.sqrt(second + spread)
        reach = z * deviation
        if third > 0:
            freedom = max(8 * deviation**6 / third**2, 1.0)
            cube = 1 - 2 / (9 * freedom) + z * np.sqrt(2 / (9 * freedom))
            reach = deviation * np.sqrt(freedom / 2) * (cube**3 - 1)
        return squared - truth - max(reach, 0)

    upper = optimize.brentq(above, squared, 1e6, xtol=1e-15)
    lower = 0.0
    if squared > 0 and below(0) > 0:
        lower = optimize.brentq(below, 0, 1, xtol=1e-15) if below(1) < 0 else 1.0
    upper = min(upper / (size.sum() / n), 1.0)
    return lower * np.sqrt(squared), np.sqrt(squared), np.sqrt(upper)
