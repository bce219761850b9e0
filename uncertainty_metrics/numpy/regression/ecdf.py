"""The band that holds the empirical CDF of uniform values at all points at once."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from uncertainty_metrics import _checks

__all__ = ["ecdf_band"]

# The points divide [0, 1] into this many steps.
NUM_STEPS = 100
# For more values the tail of this many values is used.
_MAX_EXACT = 10**6
_BISECTIONS = 16


class EcdfBand(NamedTuple):
    """A simultaneous band for an empirical CDF, float64 [101] each.

    Attributes:
      points: 0, 0.01, ..., 1.
      lower: lower end of the share of the values that are at most the point.
      upper: upper end of this share.
    """

    points: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def ecdf_band(n: int, level: float = 0.95) -> EcdfBand:
    """Simultaneous band for the empirical CDF of n uniform values.

    With probability `level` the empirical CDF is within the band at all points at once.
    Far more than 1 - level of calibrated forecasts would leave bands that hold at each
    point separately. At the point z the band goes from the quantile of level gamma to
    the quantile of level 1 - gamma of Binomial(n, z), both divided by n. The largest
    gamma with

      P(lower(z) <= share of values <= z <= upper(z), for all z) >= level

    is found by bisection. The probability is exact: the counts up to each point are a
    Markov chain, a Poisson process conditional on its last count n.

    The CDF of intervals, such as those of `sample_pit`, is within the band at least
    about as often: spread mass varies less, between points where intervals may end.

    The n values must be independent. The band needs only their number, so it takes no
    `clusters`: of examples that come in clusters pass one value each.

    Args:
      n: number of values, an integer >= 1.
      level: probability in (0, 1).

    Returns:
      A named tuple (points, lower, upper) of float64 [101]: the points 0, 0.01, ..., 1,
      and the ends of the band, in [0, 1]. The probability exceeds `level`, because
      counts are whole numbers: as computed for some n up to 2000, by up to 0.011 for
      n < 10 and 0.001 from n = 50 on at the level 0.95, by up to 0.035 and 0.02 at
      other levels. Takes 0.1 seconds, half a second for n = 10^6; for larger n the
      probability is right within 0.0005.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> points, lower, upper = um.regression.ecdf_band(100)
      >>> float(points[50]), float(lower[50]), float(upper[50])
      (0.5, 0.36, 0.64)

    References:
      Säilynoja, Bürkner and Vehtari (2022), Graphical Test for Discrete Uniformity and
      Its Applications in Goodness-of-Fit Evaluation and Multiple Sample Comparison.
    """
    n, level = _checks.positive_integer("n", n), _checks.open_unit("level", level)
    counts = _lower_counts(n, _tail(min(n, _MAX_EXACT), level))
    return EcdfBand(_points(), counts / n, (n - counts[::-1]) / n)


def _points() -> np.ndarray:
    return np.linspace(0, 1, NUM_STEPS + 1)


def _lower_counts(n: int, tail: float) -> np.ndarray:
    """Returns the lowest counts in the band of values up to each point: fewer have less
    than the probability `tail`. The highest are n less these, in reverse order.
    """
    from scipy import stats

    inner = stats.binom.ppf(tail, n, _points()[1:-1])
    return np.concatenate([[0], inner.astype(np.int64), [n]])


@functools.lru_cache(maxsize=128)
def _tail(n: int, level: float) -> float:
    """Returns the largest tail probability at each point whose band has the level."""
    most = (1 - level) / 2  # The tail of one point alone.
    least = most / (NUM_STEPS - 1)  # Bonferroni's tail.
    if _coverage(n, _lower_counts(n, most)) >= level:
        return most
    for _ in range(_BISECTIONS):
        middle = np.sqrt(least * most)
        if _coverage(n, _lower_counts(n, middle)) >= level:
            least = middle
        else:
            most = middle
    return float(least)


def _coverage(n: int, lower: np.ndarray) -> float:
    """Returns the probability that n uniform values are within the band."""
    from scipy import fft, stats

    upper = n - lower[::-1]
    reach = int(np.max(upper[1:] - lower[:-1])) + 1
    size = fft.next_fast_len(int(np.max(upper - lower)) + reach + 1, real=True)
    step = fft.rfft(stats.poisson.pmf(np.arange(reach), n / NUM_STEPS), size)
    # Probabilities of the counts in the band at a point, all earlier ones being inside.
    mass = np.ones(1)
    for before, low, high in zip(lower[:-1], lower[1:], upper[1:], strict=True):
        counts = fft.irfft(fft.rfft(mass, size) * step, size)
        # Rounding may leave numbers below 0.
        mass = np.maximum(counts[low - before : high - before + 1], 0)
    return float(mass[0] / stats.poisson.pmf(n, n))
