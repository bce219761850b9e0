"""An interval of a running mean that holds at all times at once.

For x_t in [0, 1] with mean mu_t given the past, and a forecast p_t in [0, 1] of it that
is known before, the product over t of

  exp(b (x_t - mu_t) - psi(b) (x_t - p_t)^2),   psi(b) = -log(1 - b) - b,   0 <= b < 1

is an e-process: exp(b v - psi(b) v^2) <= 1 + b v for v = x_t - p_t >= -1 (Fan, Grama
and Liu 2015), so that the mean of a factor given the past is at most
exp(-b (mu_t - p_t)) (1 + b (mu_t - p_t)) <= 1. So is the mean of such products over
some b, and by Ville's inequality it stays below 2 / (1 - level) at all times with a
probability of at least 1 - (1 - level) / 2. With S = sum (x_t - mu_t) and
V = sum (x_t - p_t)^2 it is increasing in S, which is therefore below the root at all
times; and above minus the root, by the same of 1 - x_t. Hence the mean of x_t - p_t is
within root / n of the mean of mu_t - p_t (Howard, Ramdas, McAuliffe and Sekhon 2021).
"""

from __future__ import annotations

import math

import numpy as np

# Each b is best for some V, up to about 10^14.
_B = 0.9 * 0.5 ** np.arange(24.0)
_PSI = -np.log1p(-_B) - _B


def half_width(sum_of_squares: float, count: int, level: float) -> float:
    """Returns root / n for V, n examples and a level in (0, 1)."""
    from scipy import optimize

    bound = math.log(2 / (1 - level)) + math.log(len(_B))

    def excess(total: float) -> float:
        terms = _B * total - _PSI * sum_of_squares
        top = float(terms.max())
        return top + math.log(np.exp(terms - top).sum()) - bound

    # One product alone reaches the bound there, so all of them do before.
    most = 1.001 * float(np.min((bound + _PSI * sum_of_squares) / _B))
    return optimize.brentq(excess, 0.0, most, xtol=1e-12, rtol=1e-12) / count
