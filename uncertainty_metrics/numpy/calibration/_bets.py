"""Bets against a calibrated model: wealth that a calibrated model keeps from growing.

Let `t` number the examples, and let "the past" be all that is known before outcome t:
the examples before it, and its own score p_t. The hypothesis is that the model is
calibrated given the past:

  H0: E[y_t | past] = p_t,   or of PIT values:  u_t is uniform on [0, 1] given the past

A factor is a number f_t > 0 with E[f_t | past] = 1 under H0:

- The bet that all log-odds are off by a. With c = e^a - 1,

    f_t = 1 + c (y_t - p_t) / (1 + c p_t)

  that is e^a / (1 + c p_t) where y_t = 1, and 1 / (1 + c p_t) where y_t = 0, both > 0.
  Its mean is 1 because that of y_t - p_t is 0. It is also q / p or (1 - q) / (1 - p) of
  the forecast q with logit q = logit p + a: the likelihood ratio of that forecast.
- The bet that PIT values have a density g > 0 on [0, 1], which may depend on the past:
  f_t = g(u_t), and its mean is the integral of g, 1. Where u_t is known only to lie in
  an interval, as for samples and discrete forecasts, f_t is the mean of g over the
  interval, which is the mean of g at a uniform draw from it.
- An example that a bet is not about has f_t = 1.

A bet starts anew with every example, so that a change which comes late is found soon.
The start at example t has the stake w_t >= 0, known before y_t. What all starts
together have won is

  M_t = (M_(t-1) + w_t) f_t,   so that   E[M_t | past] = M_(t-1) + w_t

Mode "test": the stakes come out of a reserve r_t = r_(t-1) - w_t of 1 at first, half of
which the first start gets. W_t = M_t + r_t has E[W_t | past] = W_(t-1) and W_0 = 1, and
so has the mean of W_t over all bets, E_t: both are >= 0 and their mean stays 1. By
Ville's inequality P(E_t >= 1 / alpha for any t) <= alpha.

Mode "change": all stakes are 1, and there is no reserve. M_t - t has mean 0, and so has
the mean of M_t over all bets, less t. At the first T where it is at least 1 / alpha
therefore 1 / alpha <= E[M_T] = E[T]: the mean run length to a false alarm. (A bet that
is about some examples alone gets its stakes of all examples since the last of these at
once, before the next; until then it has less than t.)
"""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

import numpy as np

Mode = Literal["test", "change"]

# Scores are in one of so many even bins, each of which has bets of its own.
NUM_BINS = 5
# The shifts a of the log-odds. Neighbours are so close that one between them loses at
# most a fifth of its growth. Of a forecast of 1/2 they are shifts of 0.0125 to 0.38.
_SIZES = np.array([0.05, 0.125, 0.3, 0.8, 2.0])
_SHIFTS = np.concatenate([_SIZES, -_SIZES])

# Densities of PIT values are constant in each of so many cells.
NUM_CELLS = 10
# Exponents of their shapes: biased either way, too narrow (a bowl) and too wide.
_SLOPE = np.linspace(-1.0, 1.0, NUM_CELLS)
_BOWL = 2 * _SLOPE**2 - 1
_STRENGTHS = (0.08, 0.2, 0.5, 1.2)
# The density of the past counts an example less by this factor with each that follows.
MEMORY = 1 - 1e-3
# What it has of each cell before there is any example.
_PRIOR = 0.5


def _densities() -> np.ndarray:
    """Returns the densities of the shapes, [shapes x strengths, cells]."""
    shapes = (_SLOPE, -_SLOPE, _BOWL, -_BOWL)
    rows = [np.exp(a * shape) for shape in shapes for a in _STRENGTHS]
    return np.stack([row / row.mean() for row in rows])


_DENSITIES = _densities()


class Bets(NamedTuple):
    """What is bet on.

    Attributes:
      log_shares: logarithm of the share of each factor in the bets of a set, [J].
      num_sets: of the sets of examples that bets are about, of which the first is all.
    """

    log_shares: np.ndarray
    num_sets: int


OUTCOMES = Bets(np.full(len(_SHIFTS), -np.log(len(_SHIFTS))), 1 + NUM_BINS)
# The four shapes, and the density of the past.
PIT = Bets(
    np.log(np.append(np.full(len(_DENSITIES), 0.2 / len(_STRENGTHS)), 0.2)),
    1,
)


class Wealth(NamedTuple):
    """What bets have won.

    Attributes:
      log_won: logarithm of M of each factor of each set, [sets, J].
      last: number of the last example of each set, int64 [sets]; 0 before there is one.
    """

    log_won: np.ndarray
    last: np.ndarray


def no_wealth(bets: Bets) -> Wealth:
    """Returns what bets have before the first example."""
    shape = bets.num_sets, len(bets.log_shares)
    return Wealth(np.full(shape, -np.inf), np.zeros(bets.num_sets, np.int64))


def outcome_factors(scores: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
    """Returns the logarithms of the factors of scores and outcomes [n], [J, n]."""
    odds = np.expm1(_SHIFTS)[:, None]
    return _SHIFTS[:, None] * outcomes - np.log1p(odds * scores)


def pit_factors(
    shares: np.ndarray, histogram: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the logarithms of the factors of PIT values, [J, n], and the histogram
    after them.

    Args:
      shares: share of each example in each cell, [cells, n]; they sum to 1.
      histogram: discounted counts of all examples before, [cells].
    """
    n = shares.shape[1]
    # Counts h_t = MEMORY h_(t-1) + share_t, as sums of what is divided by the powers,
    # which a block is short enough for.
    powers = MEMORY ** np.arange(n + 1)
    sums = np.cumsum(shares / powers[1:], axis=1)
    counts = powers * (histogram[:, None] + np.pad(sums, ((0, 0), (1, 0))))
    before = counts[:, :-1] + _PRIOR
    of_the_past = NUM_CELLS * before / before.sum(axis=0)
    # Not `@`, whose threads are slower for arrays as small as these.
    factors = np.vstack(
        [np.einsum("jk,kn->jn", _DENSITIES, shares), (of_the_past * shares).sum(axis=0)]
    )
    return np.log(factors), counts[:, -1]


def _log_sum(values: np.ndarray) -> np.ndarray:
    """Returns the logarithm of the sum over the first axis of exp(values)."""
    top = values.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):  # Of the logarithm of nothing.
        return top + np.log(np.exp(values - top).sum(axis=0))


def _log_reserve(numbers: np.ndarray, mode: Mode) -> np.ndarray:
    """Returns the logarithm of r_t: of 1 at t = 0, and of 1 / (2 + log t) from 1 on."""
    if mode == "change":
        return np.full(np.shape(numbers), -np.inf)
    return np.where(numbers > 0, -np.log(2 + np.log(np.maximum(numbers, 1))), 0.0)


def _log_stakes(before: np.ndarray, numbers: np.ndarray, mode: Mode) -> np.ndarray:
    """Returns the logarithm of all stakes after examples `before`, up to `numbers`."""
    if mode == "change":
        return np.log(numbers - before)
    start = np.maximum(before, 1)
    logs = np.log(start), np.log(numbers)
    # r_s - r_t, without a difference of nearly equal numbers.
    later = np.log1p((numbers - start) / start) / ((2 + logs[0]) * (2 + logs[1]))
    with np.errstate(divide="ignore"):  # Where `before` is 0, which is not taken.
        return np.where(before > 0, np.log(later), np.log1p(-1 / (2 + logs[1])))


def _log_won(
    log_won: np.ndarray, log_factors: np.ndarray, log_stakes: np.ndarray
) -> np.ndarray:
    """Returns log M after each example, [J, n], of M = (M + stake) factor.

    Divided by the product F of the factors so far, it is a sum:

      M_t / F_t = M_0 + sum over j <= t of w_j / F_(j-1)
    """
    log_products = np.cumsum(log_factors, axis=1)
    terms = log_stakes - (log_products - log_factors)
    terms[:, 0] = np.logaddexp(log_won, terms[:, 0])
    return log_products + np.logaddexp.accumulate(terms, axis=1)


def values(wealth: Wealth, bets: Bets, mode: Mode) -> np.ndarray:
    """Returns log W of each set, [sets]."""
    won = _log_sum(wealth.log_won.T + bets.log_shares[:, None])
    return np.logaddexp(won, _log_reserve(wealth.last, mode))


def log_mean(values: np.ndarray) -> np.ndarray:
    """Returns log E of log W of the sets, [sets] or [sets, n]."""
    return _log_sum(values) - np.log(len(values))


def bet(
    wealth: Wealth,
    bets: Bets,
    log_factors: np.ndarray,
    bins: np.ndarray | None,
    count: int,
    mode: Mode,
) -> tuple[Wealth, np.ndarray]:
    """Returns the wealth after a block of examples, and log E after each, [n].

    Args:
      wealth: before the block.
      bets: what is bet on.
      log_factors: [J, n].
      bins: bin of each example, integers [n]; None where all are the only set.
      count: number of the examples before the block.
      mode: "test" or "change".
    """
    n = log_factors.shape[1]
    log_won, last = wealth.log_won.copy(), wealth.last.copy()
    log_values = np.empty((bets.num_sets, n))
    before = values(wealth, bets, mode)
    # A loop over the sets, of which there are six at most.
    for i in range(bets.num_sets):
        held = np.ones(n, bool) if i == 0 else bins == i - 1
        numbers = count + 1 + np.flatnonzero(held)
        if len(numbers) == 0:
            log_values[i] = before[i]
            continue
        starts = np.append(last[i], numbers[:-1])
        won = _log_won(
            log_won[i], log_factors[:, held], _log_stakes(starts, numbers, mode)
        )
        own = np.logaddexp(
            _log_sum(won + bets.log_shares[:, None]), _log_reserve(numbers, mode)
        )
        # Between its own examples a set keeps its value.
        log_values[i] = np.append(before[i], own)[np.cumsum(held)]
        log_won[i], last[i] = won[:, -1], numbers[-1]
    return Wealth(log_won, last), log_mean(log_values)


def blocks(size: int, length: int) -> list[slice]:
    """Returns blocks of so many examples, of at most `length` each."""
    ends = [*range(0, size, length), size]
    return [slice(start, end) for start, end in itertools.pairwise(ends)]
