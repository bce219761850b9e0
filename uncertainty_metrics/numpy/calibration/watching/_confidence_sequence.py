"""A confidence interval of a running mean that holds at all times at once.

Let x_t in [0, 1] have the mean mu_t given the past, and let p_t in [0, 1] be a forecast
of x_t that is known before x_t. For 0 <= b < 1 the product over t of

  exp(b (x_t - mu_t) - psi(b) (x_t - p_t)^2),   psi(b) = -log(1 - b) - b

is an e-process. To see this, let v = x_t - p_t >= -1. Then exp(b v - psi(b) v^2) <=
1 + b v (Fan, Grama and Liu 2015), so the mean of a factor given the past is at most
exp(-b (mu_t - p_t)) (1 + b (mu_t - p_t)) <= 1.

The mean of such products over several b is an e-process too. By Ville's inequality it
stays below 2 / (1 - level) at all times, with a probability of at least
1 - (1 - level) / 2. Let S = sum (x_t - mu_t) and V = sum (x_t - p_t)^2. For a given V
the mean of the products increases with S, so S stays below the root, the S at which the
mean equals 2 / (1 - level). The same argument for 1 - x_t shows that S stays above
minus the root. So at all times the mean of x_t - p_t differs from the mean of
mu_t - p_t by at most root / n (Howard, Ramdas, McAuliffe and Sekhon 2021).
"""

from __future__ import annotations

import math

import numpy as np

# Each b gives the smallest root for some V; they suffice for V up to about 10^14.
_B = 0.9 * 0.5 ** np.arange(24.0)
_PSI = -np.log1p(-_B) - _B


def half_width(sum_of_squares: float, count: int, level: float) -> float:
    """Returns root / n for V = `sum_of_squares`, n = `count` and a level in (0, 1)."""
    from scipy import optimize

    bound = math.log(2 / (1 - level)) + math.log(len(_B))

    def excess(total: float) -> float:
        terms = _B * total - _PSI * sum_of_squares
        top = float(terms.max())
        return top + math.log(np.exp(terms - top).sum()) - bound

    # There one of the products alone reaches the bound, so their sum exceeds it.
    most = 1.001 * float(np.min((bound + _PSI * sum_of_squares) / _B))
    return optimize.brentq(excess, 0.0, most, xtol=1e-12, rtol=1e-12) / count
