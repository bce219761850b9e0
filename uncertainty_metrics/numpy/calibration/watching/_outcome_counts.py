"""How many outcomes come if each comes with its own probability: exact tails, and
those of weighted outcomes by a saddlepoint.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import special

from uncertainty_metrics.numpy import _wilson

# Outcomes of smaller probability are rare: their counts follow from few power sums.
_RARE = 0.05
# Up to so many outcomes, the laws of many sums are computed at once.
SMALL = 256
# The size of the largest temporary arrays.
_BLOCK = 2**20
# Fewer rare outcomes are counted one by one.
_SEVERAL = 500
# Power sums below this share of the first are negligible.
_NEGLIGIBLE = 1e-30
# More outcomes than 170 and four times the expected number have a probability below
# 1e-150. (With a variance below 100 at most 200 are expected of probability up to 1/2.)
_FIRST, _TIMES = 170, 4
# A Normal p-value is good enough for weighted gaps of fewer standard errors.
_NEAR = 1.0
# For weights of at most 1, no saddlepoint is farther away.
_FARTHEST = 1e9


def two_sided_p(scores: np.ndarray, count: float) -> float:
    """Returns twice the smaller mid-p tail of the number of outcomes.

    The number is the sum of independent outcomes that come with the probabilities
    `scores`: a Poisson-binomial distribution. A mid-p tail counts the probability of
    the observed number by half. Between whole numbers the tails are interpolated.

    Args:
      scores: in [0, 1], float64 [n], with sum p (1 - p) below 100.
      count: observed number of outcomes.
    """
    likely = scores > 0.5
    came = _law(scores[~likely])
    missed = _law(1 - scores[likely])
    law = np.convolve(came, missed[::-1])
    # The place of the observed number: the law starts where all of `missed` is missed.
    place = count - np.count_nonzero(likely) + len(missed) - 1
    low = int(np.floor(place))
    share = place - low
    tails = (1 - share) * _tails(law, low)
    if share > 0:
        tails = tails + share * _tails(law, low + 1)
    return float(min(1.0, 2 * tails.min()))


def two_sided_p_of_each(
    scores: np.ndarray, starts: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Returns the same of many small groups of outcomes, float64 [groups].

    Args:
      scores: those of all groups, one group after the other, float64 [N].
      starts: where each group starts, and the end of the last one, [groups + 1].
      counts: observed number of outcomes of each group, whole numbers [groups].
    """
    sizes = np.diff(starts)
    order = np.argsort(sizes, kind="stable")
    p_values = np.empty(len(sizes))
    done = 0
    while done < len(order):  # Groups of similar sizes at once.
        left = sizes[order[done:]]
        fits = np.arange(1, len(left) + 1) * (left + 1) <= _BLOCK
        size = max(1, int(np.count_nonzero(fits)))
        chosen = order[done : done + size]
        done += size
        length = int(sizes[chosen].max())
        places = starts[chosen] + np.arange(length)[:, None]
        inside = np.arange(length)[:, None] < sizes[chosen]
        table = np.where(inside, scores[np.where(inside, places, 0)], 0.0)
        laws = _laws(table[:, :, None])
        count = counts[chosen].astype(np.int64)[:, None]
        numbers = np.arange(length + 1)
        half = np.take_along_axis(laws, count, axis=1)[:, 0] / 2
        below = np.where(numbers < count, laws, 0.0).sum(axis=1) + half
        above = np.where(numbers > count, laws, 0.0).sum(axis=1) + half
        p_values[chosen] = np.minimum(1.0, 2 * np.minimum(below, above))
    return p_values


def _tails(law: np.ndarray, place: int) -> np.ndarray:
    """Returns the lower and the upper mid-p tail at a place [2]."""
    if place < 0:
        return np.array([0.0, 1.0])
    if place >= len(law):
        return np.array([1.0, 0.0])
    half = law[place] / 2
    return np.array([law[:place].sum() + half, law[place + 1 :].sum() + half])


def _law(probabilities: np.ndarray) -> np.ndarray:
    """Returns the probabilities of 0, 1, ... outcomes, as far as any is possible."""
    most = min(len(probabilities), int(_FIRST + _TIMES * probabilities.sum()))
    rare = probabilities[(probabilities < _RARE) & (probabilities > 0)]
    others = probabilities[probabilities >= _RARE]
    if len(rare) < _SEVERAL:
        return _law_one_by_one(np.concatenate([rare, others]), most)
    law = np.convolve(_law_of_rare(rare, most), _law_one_by_one(others, most))
    return law[: most + 1]


def _law_of_rare(probabilities: np.ndarray, most: int) -> np.ndarray:
    """Returns the same for rare outcomes, however many, by Newton's identities.

    With the odds o of the outcomes, k law[k] = sum_j (-1)^(j - 1) law[k - j] sum o^j.
    """
    odds = probabilities / (1 - probabilities)
    sums, power = [float(odds.sum())], odds
    while abs(sums[-1]) > _NEGLIGIBLE * sums[0]:
        power = power * odds
        sums.append(-float(np.sign(sums[-1]) * power.sum()))
    signed = np.array(sums)[::-1]
    num_sums = len(sums)
    # Zeros before the law stand for negative numbers of outcomes.
    law = np.zeros(num_sums + most + 1)
    law[num_sums] = np.exp(np.log1p(-probabilities).sum())
    for k in range(1, len(law) - num_sums):  # Each follows from those before it.
        law[num_sums + k] = max(float(signed @ law[k : k + num_sums]), 0.0) / k
    return law[num_sums:]


def _law_one_by_one(probabilities: np.ndarray, most: int) -> np.ndarray:
    """Returns the same for any outcomes; the time is their number times its root.

    All sums have positive terms, so that small probabilities keep their digits.
    """
    rows = max(1, int(np.sqrt(len(probabilities))))
    columns = -(-len(probabilities) // rows)
    table = np.zeros(rows * columns)
    table[: len(probabilities)] = probabilities
    laws = _laws(table.reshape(columns, rows, 1))
    return functools.reduce(lambda a, b: np.convolve(a, b)[: most + 1], laws)


def _laws(table: np.ndarray) -> np.ndarray:
    """Returns the laws of the sums of several rows of outcomes, [rows, columns + 1].

    Args:
      table: the probabilities, float64 [columns, rows, 1].
    """
    columns, rows, _ = table.shape
    laws = np.eye(1, columns + 1).repeat(rows, axis=0)
    # Each outcome changes the law of the sum of those before it, in every row.
    for k, p in enumerate(table):
        laws[:, 1 : k + 2] += p * (laws[:, : k + 1] - laws[:, 1 : k + 2])
        laws[:, :1] *= 1 - p
    return laws


def two_sided_p_of_weighted(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray
) -> float:
    """Returns a careful two-sided p-value of the weighted sum of outcomes.

    From one standard error on it is the largest of three: Normal, with the variance
    sum w^2 p (1 - p); that of as many unweighted outcomes as the weighted ones are
    worth; and that of the saddlepoint approximation. The second alone would be too
    small if few outcomes are expected, since one of large weight moves the sum far.

    Args:
      scores: in [0, 1], float64 [n].
      outcomes: 0 or 1, float64 [n].
      weights: positive, float64 [n].
    """
    weights = weights / weights.max()
    excess = float(weights @ (outcomes - scores))
    variance = float(weights**2 @ (scores * (1 - scores)))
    z = excess / np.sqrt(variance)
    normal = 2 * float(special.ndtr(-abs(z)))
    if abs(z) < _NEAR:
        return normal
    size = _wilson.effective_size(weights)
    effective = p_of_effective(scores, weights, size, excess / weights.sum())
    return max(normal, effective, _p_of_saddlepoint(scores, outcomes, weights, z))


def p_of_effective(
    scores: np.ndarray, weights: np.ndarray, size: float, gap: float
) -> float:
    """Returns the p-value of a gap of unweighted outcomes, whose number is `size`,
    rounded, and whose scores are quantiles of the scores.
    """
    number = max(1, round(size))
    order = np.argsort(scores)
    middles = np.cumsum(weights[order]) - weights[order] / 2
    at = (np.arange(number) + 0.5) / number * weights.sum()
    quantiles = np.interp(at, middles, scores[order])
    count = number * gap + quantiles.sum()
    return two_sided_p(quantiles, float(np.clip(count, 0, number)))


def _p_of_saddlepoint(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray, z: float
) -> float:
    """Returns the p-value by Barndorff-Nielsen's formula.

    With K(t) = sum log(1 - p + p exp(w t)) and t such that K'(t) = sum w y,

      r = sign(t) sqrt(2 (t K'(t) - K(t))),   u = t sqrt(K''(t))
      p = 2 Phi(-abs(r + log(u / r) / r))
    """
    from scipy import optimize

    uncertain = (scores > 0) & (scores < 1)
    if np.any(~uncertain & (outcomes != scores)):
        return 0.0  # An impossible outcome.
    p, y, w = scores[uncertain], outcomes[uncertain], weights[uncertain]
    if np.all(y == 1) or np.all(y == 0):  # The end of the range: a mid-p tail, twice.
        return float(np.exp(np.log(np.where(y == 1, p, 1 - p)).sum()))
    log_odds, total = special.logit(p), float(w @ y)

    def excess(t: float) -> float:
        return float(w @ special.expit(log_odds + w * t)) - total

    # K'(t) - K'(0) has the sign of t, so t is between 0 and some multiple of the first.
    far = z / np.sqrt(w**2 @ (p * (1 - p)))
    while excess(far) * z <= 0:
        far *= 2
        if abs(far) > _FARTHEST:  # Rounding hides the weights of the other outcomes.
            return 0.0
    t = optimize.brentq(excess, min(far, 0.0), max(far, 0.0), rtol=1e-7)
    tilted = special.expit(log_odds + w * t)
    # log(1 - p + p exp(w t)) = log((1 - p) / (1 - tilted))
    cumulants = np.log1p(-p) - special.log_expit(-log_odds - w * t)
    r = np.sign(t) * np.sqrt(max(2 * (t * total - cumulants.sum()), 0.0))
    u = t * np.sqrt(w**2 @ (tilted * (1 - tilted)))
    return float(2 * special.ndtr(-abs(r + np.log(u / r) / r)))
