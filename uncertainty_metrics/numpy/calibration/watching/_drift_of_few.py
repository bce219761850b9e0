"""The law of a change of calibration: Normal, or exact in bins with few events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# A bin where a period expects fewer events, or fewer non-events, is not nearly Normal.
FEW = 10.0
# Numbers of events this far from an expected number below FEW are impossible.
_FAR = 200.0
# Cells of the distribution of D, from 0 to the value of D.
_CELLS = 2**11
# The relative rounding error of sums of weights.
_ROUNDING = 1e-9


class Changes(NamedTuple):
    """How the gaps differ between two periods.

    Attributes:
      z: the difference in standard errors [bins]; NaN if all outcomes are equal.
      q: the probabilities of an event if the gaps are the same, [2, bins].
    """

    z: np.ndarray
    q: np.ndarray


def changes(
    sizes: np.ndarray, confidences: np.ndarray, accuracies: np.ndarray
) -> Changes:
    """Returns the changes of the gaps of bins; all arguments have shape [2, bins]."""
    totals, true = sizes.sum(axis=0), (sizes * accuracies).sum(axis=0)
    common = (true - (sizes * confidences).sum(axis=0)) / totals
    q = np.clip(confidences + common, 0.5 / totals, 1 - 0.5 / totals)
    steps = np.diff(accuracies - confidences, axis=0)[0]
    varies = (true > _ROUNDING * totals) & (totals - true > _ROUNDING * totals)
    variances = np.where(varies, (q * (1 - q) / sizes).sum(axis=0), 1.0)
    return Changes(np.where(varies, steps / np.sqrt(variances), np.nan), q)


class Law(NamedTuple):
    """The distribution of z^2 in a bin with few events or few non-events.

    Attributes:
      values: the values of z^2, [values].
      probabilities: of the values, [values].
    """

    values: np.ndarray
    probabilities: np.ndarray

    def tail(self, value: float) -> float:
        """Returns P(z^2 > value) + P(z^2 = value) / 2."""
        above = self.values > value * (1 + _ROUNDING)
        equal = ~above & (self.values >= value * (1 - _ROUNDING))
        return float(self.probabilities @ (above + 0.5 * equal))


def law(
    sizes: np.ndarray, confidences: np.ndarray, accuracies: np.ndarray, q: np.ndarray
) -> Law:
    """Returns the distribution of z^2 in a bin whose gaps are the same.

    The events of both periods are binomial. Given their sum, which holds almost all
    that is known of the common gap, the events of the second period have Fisher's
    noncentral hypergeometric distribution, as in his exact test.

    Args:
      sizes: numbers of examples [2]; effective numbers are rounded.
      confidences: mean scores [2].
      accuracies: mean outcomes [2].
      q: the probabilities of an event [2].
    """
    from scipy import special

    if sizes @ accuracies > sizes.sum() / 2:  # Then non-events are the rarer.
        confidences, accuracies, q = 1 - confidences, 1 - accuracies, 1 - q
    n = np.maximum(np.rint(sizes), 1.0)
    of_both = float(sizes @ accuracies)
    total = float(np.clip(np.rint(of_both), 1.0, n.sum() - 1))
    # Events or non-events are few in a period, so few numbers of events are likely.
    middle = np.rint(n[1] * q[1])
    low = max(0.0, total - n[0], middle - _FAR)
    high = max(low, min(total, n[1], middle + _FAR))
    second = np.arange(low, high + 1)
    events = np.stack([total - second, second])
    logits = np.log(q) - np.log1p(-q)
    logs = second * (logits[1] - logits[0])
    logs -= (
        special.gammaln(events + 1) + special.gammaln(n[:, None] - events + 1)
    ).sum(axis=0)
    probabilities = np.exp(logs - logs.max())
    # Effective numbers of events are not whole: as many as were observed are shared.
    events *= of_both / total
    each_size, each_confidence = (
        np.tile(row, (len(second), 1)).T for row in (sizes, confidences)
    )
    z = np.nan_to_num(changes(each_size, each_confidence, events / each_size).z)
    return Law(z**2, probabilities / probabilities.sum())


def tail_of_sum(statistic: float, laws: list[Law], freedom: int) -> float:
    """Returns P(S > statistic) + P(S = statistic) / 2 for the sum S of chi-squared and
    of independent terms with these laws.

    All terms that are added are positive, so that small tails keep their digits. Values
    between two cells of [0, statistic] are split over both, with their mean.
    """
    from scipy import special

    if len(laws) == 1 and freedom == 0:
        return laws[0].tail(statistic)
    cells = np.zeros(_CELLS + 1)
    cells[0], beyond = 1.0, 0.0
    for law in laws:
        places = law.values / statistic * _CELLS
        inside = places < _CELLS * (1 + _ROUNDING)
        places = np.minimum(places[inside], _CELLS)
        left = np.minimum(places.astype(np.int64), _CELLS - 1)
        right = (places - left) * law.probabilities[inside]
        term = np.bincount(left, law.probabilities[inside] - right, _CELLS + 1)
        term += np.bincount(left + 1, right, _CELLS + 1)
        outside = float(law.probabilities[~inside].sum())
        # The probability that the term is above _CELLS less each cell.
        above = outside + np.append(0.0, np.cumsum(term[:0:-1]))
        beyond += float(cells @ above)
        added = np.zeros(_CELLS + 1)
        for place in np.flatnonzero(term):  # A term has few values.
            added[place:] += term[place] * cells[: _CELLS + 1 - place]
        cells = added
    if freedom == 0:
        return beyond + float(cells[-1]) / 2
    rest = statistic * np.linspace(1.0, 0.0, _CELLS + 1)
    return beyond + float(cells @ special.chdtrc(freedom, rest))
