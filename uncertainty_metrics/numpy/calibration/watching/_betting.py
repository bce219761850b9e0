"""Bets against a calibrated model: its calibration keeps their wealth from growing.

Examples have the numbers t = 1, 2, .... "The past" is all that is known before outcome
t: the earlier examples, and the score p_t of example t. The hypothesis H0 is that the
model is calibrated given the past:

  E[y_t | past] = p_t,   or for PIT values:  u_t is uniform on [0, 1] given the past

At example t a bet multiplies the money that is on it by its factor f_t > 0. The bet is
fair: E[f_t | past] = 1 under H0. There are two kinds of bets:

- The log-odds of all forecasts are off by a. With c = e^a - 1,

    f_t = 1 + c (y_t - p_t) / (1 + c p_t)

  This is e^a / (1 + c p_t) if y_t = 1, and 1 / (1 + c p_t) if y_t = 0; both are > 0.
  The mean of f_t is 1 because the mean of y_t - p_t is 0. f_t is also the likelihood
  ratio of the forecast q with logit q = logit p + a: it is q / p if y_t = 1, and
  (1 - q) / (1 - p) if y_t = 0.
- The PIT values have a density g > 0 on [0, 1], which may depend on the past. Then
  f_t = g(u_t), whose mean is the integral of g, which is 1. For samples and discrete
  forecasts only an interval that holds u_t is known. Then f_t is the mean of g over the
  interval: the expected value of g at a uniform draw from the interval.

If a bet is about some of the examples only, f_t = 1 for all other examples.

To find a late change soon, a bet starts anew at every example. The start at example t
has the stake w_t >= 0, which is known before y_t. The wealth of all starts together is

  M_t = (M_(t-1) + w_t) f_t,   so that under H0   E[M_t | past] = M_(t-1) + w_t

Mode "test": the stakes come out of a reserve, r_t = r_(t-1) - w_t with r_0 = 1, and the
first start gets half of the reserve. For W_t = M_t + r_t, W_0 = 1 and under H0
E[W_t | past] = W_(t-1). The e-value E_t is the mean of W_t over all bets, so it has the
same two properties, and it is >= 0. So by Ville's inequality the probability that E_t
ever reaches 1 / alpha is at most alpha.

Mode "change": all stakes are 1, and there is no reserve. E_t is the mean of M_t over
all bets. Under H0, M_t - t has the mean 0, and so has E_t - t. For the first T with
E_T >= 1 / alpha this means 1 / alpha <= E[E_T] = E[T], which is the mean run length to
a false alarm. (A bet about the examples of one bin gets its stakes later: before such
an example it gets the stakes of all examples since the last one in the bin. Until then
its mean is less than t, so false alarms only come later.)
"""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

import numpy as np

Mode = Literal["test", "change"]

# The number of even bins of the scores. Each bin has bets of its own.
NUM_BINS = 5
# The shifts a of the log-odds. If the true shift is between two of them, the better one
# grows at most a fifth slower than a bet on the true shift would. They move a forecast
# of 1/2 by 0.0125 to 0.38.
_SIZES = np.array([0.05, 0.125, 0.3, 0.8, 2.0])
_SHIFTS = np.concatenate([_SIZES, -_SIZES])

# The number of cells in each of which a density of PIT values is constant.
NUM_CELLS = 10
# The logarithms of the densities: a slope if forecasts are biased, a bowl if they are
# too narrow; with a negative sign the other bias, or forecasts that are too wide.
_SLOPE = np.linspace(-1.0, 1.0, NUM_CELLS)
_BOWL = 2 * _SLOPE**2 - 1
_STRENGTHS = (0.08, 0.2, 0.5, 1.2)
# Each new example multiplies the counts of all earlier examples by this factor, in the
# histogram that serves as the density of the past.
MEMORY = 1 - 1e-3
# The count of each cell of this histogram before the first example.
_PRIOR = 0.5


def _densities() -> np.ndarray:
    """Returns a density for each shape and strength, [shapes x strengths, cells]."""
    shapes = (_SLOPE, -_SLOPE, _BOWL, -_BOWL)
    rows = [np.exp(a * shape) for shape in shapes for a in _STRENGTHS]
    return np.stack([row / row.mean() for row in rows])


_DENSITIES = _densities()


class Bets(NamedTuple):
    """The bets of a kind. A set of examples has J bets, each with its own factors.

    Attributes:
      log_shares: logarithm of the share of each bet in the wealth of its set, [J].
      num_sets: number of sets of examples. The first set has all examples, and each
        other set has the examples of one bin.
    """

    log_shares: np.ndarray
    num_sets: int


OUTCOMES = Bets(np.full(len(_SHIFTS), -np.log(len(_SHIFTS))), 1 + NUM_BINS)
# Each of the four shapes has a fifth of the wealth, and so has the density of the past.
PIT = Bets(
    np.log(np.append(np.full(len(_DENSITIES), 0.2 / len(_STRENGTHS)), 0.2)),
    1,
)


class Wealth(NamedTuple):
    """The wealth of all bets.

    Attributes:
      log_won: logarithm of M for each bet of each set, [sets, J].
      last: number of the last example of each set, int64 [sets]; 0 if the set has no
        example yet.
    """

    log_won: np.ndarray
    last: np.ndarray


def no_wealth(bets: Bets) -> Wealth:
    """Returns the wealth before the first example."""
    shape = bets.num_sets, len(bets.log_shares)
    return Wealth(np.full(shape, -np.inf), np.zeros(bets.num_sets, np.int64))


def outcome_factors(scores: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
    """Returns the logarithms of the factors [J, n] for scores and outcomes [n]."""
    odds = np.expm1(_SHIFTS)[:, None]
    return _SHIFTS[:, None] * outcomes - np.log1p(odds * scores)


def pit_factors(
    shares: np.ndarray, histogram: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the logarithms of the factors of PIT values, [J, n], and the histogram
    after these examples.

    Args:
      shares: share of each example in each cell, [cells, n]; the shares of an example
        sum to 1.
      histogram: discounted counts of all earlier examples, [cells].
    """
    n = shares.shape[1]
    # The counts are h_t = MEMORY h_(t-1) + share_t. Divided by MEMORY^t this is a plain
    # sum. A block is so short that the powers do not underflow.
    powers = MEMORY ** np.arange(n + 1)
    sums = np.cumsum(shares / powers[1:], axis=1)
    counts = powers * (histogram[:, None] + np.pad(sums, ((0, 0), (1, 0))))
    before = counts[:, :-1] + _PRIOR
    past_density = NUM_CELLS * before / before.sum(axis=0)
    # For arrays as small as these, the threads of `@` would make it slower.
    factors = np.vstack(
        [
            np.einsum("jk,kn->jn", _DENSITIES, shares),
            (past_density * shares).sum(axis=0),
        ]
    )
    return np.log(factors), counts[:, -1]


def _log_sum(values: np.ndarray) -> np.ndarray:
    """Returns the logarithm of the sum over the first axis of exp(values)."""
    top = values.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):  # The sum may be 0.
        return top + np.log(np.exp(values - top).sum(axis=0))


def _log_reserve(numbers: np.ndarray, mode: Mode) -> np.ndarray:
    """Returns log r_t, where r_0 = 1 and r_t = 1 / (2 + log t) for t >= 1."""
    if mode == "change":
        return np.full(np.shape(numbers), -np.inf)
    return np.where(numbers > 0, -np.log(2 + np.log(np.maximum(numbers, 1))), 0.0)


def _log_stakes(before: np.ndarray, numbers: np.ndarray, mode: Mode) -> np.ndarray:
    """Returns the logarithm of the sum of the stakes after example `before`, up to
    example `numbers`.
    """
    if mode == "change":
        return np.log(numbers - before)
    start = np.maximum(before, 1)
    logs = np.log(start), np.log(numbers)
    # This is r_s - r_t, without a difference of nearly equal numbers.
    later = np.log1p((numbers - start) / start) / ((2 + logs[0]) * (2 + logs[1]))
    with np.errstate(divide="ignore"):  # `later` is 0 only where it is not taken.
        return np.where(before > 0, np.log(later), np.log1p(-1 / (2 + logs[1])))


def _log_won(
    log_won: np.ndarray, log_factors: np.ndarray, log_stakes: np.ndarray
) -> np.ndarray:
    """Returns log M after each example, [J, n], where M_t = (M_(t-1) + w_t) f_t.

    With the product F_t of the factors up to t, M_t / F_t is a sum:

      M_t / F_t = M_0 + sum over j <= t of w_j / F_(j-1)
    """
    log_products = np.cumsum(log_factors, axis=1)
    terms = log_stakes - (log_products - log_factors)
    terms[:, 0] = np.logaddexp(log_won, terms[:, 0])
    return log_products + np.logaddexp.accumulate(terms, axis=1)


def values(wealth: Wealth, bets: Bets, mode: Mode) -> np.ndarray:
    """Returns log W of each set, averaged over its bets, [sets]."""
    won = _log_sum(wealth.log_won.T + bets.log_shares[:, None])
    return np.logaddexp(won, _log_reserve(wealth.last, mode))


def log_mean(values: np.ndarray) -> np.ndarray:
    """Returns log E from log W of the sets, [sets] or [sets, n]."""
    return _log_sum(values) - np.log(len(values))


def bet(
    wealth: Wealth,
    bets: Bets,
    log_factors: np.ndarray,
    bins: np.ndarray | None,
    count: int,
    mode: Mode,
) -> tuple[Wealth, np.ndarray]:
    """Returns the wealth after a block of examples, and log E after each example, [n].

    Args:
      wealth: wealth before the block.
      bets: the bets of this kind of examples.
      log_factors: logarithms of the factors, [J, n].
      bins: bin of each example, integers [n]; None if all examples are the only set.
      count: number of examples before the block.
      mode: "test" or "change".
    """
    n = log_factors.shape[1]
    log_won, last = wealth.log_won.copy(), wealth.last.copy()
    log_values = np.empty((bets.num_sets, n))
    before = values(wealth, bets, mode)
    # A loop, since the sets have different numbers of examples; there are at most six.
    for i in range(bets.num_sets):
        members = np.ones(n, bool) if i == 0 else bins == i - 1
        numbers = count + 1 + np.flatnonzero(members)
        if len(numbers) == 0:
            log_values[i] = before[i]
            continue
        starts = np.append(last[i], numbers[:-1])
        won = _log_won(
            log_won[i], log_factors[:, members], _log_stakes(starts, numbers, mode)
        )
        own = np.logaddexp(
            _log_sum(won + bets.log_shares[:, None]), _log_reserve(numbers, mode)
        )
        # A set changes only at its own examples; between them its value is carried on.
        log_values[i] = np.append(before[i], own)[np.cumsum(members)]
        log_won[i], last[i] = won[:, -1], numbers[-1]
    return Wealth(log_won, last), log_mean(log_values)


def blocks(size: int, length: int) -> list[slice]:
    """Returns slices of at most `length` examples that cover `size` examples."""
    ends = [*range(0, size, length), size]
    return [slice(start, end) for start, end in itertools.pairwise(ends)]
