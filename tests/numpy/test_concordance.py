"""Concordance of risks and times, against sums over all pairs in fractions, values by
hand and simulation.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy.test_survival import followed

Z = 4.5  # The limit in standard errors, for any seed.


def naive(times, event, risks, weights, ipcw=False, at=math.inf):
    """Returns the concordance index by a loop over all pairs, in fractions."""
    pairs = right = Fraction(0)
    times, event, risks = list(times), list(event), list(risks)
    for i, t in enumerate(times):
        if not (event[i] and t < at):
            continue
        g = followed(times, event, weights, lambda u, t=t: u < t) if ipcw else 1
        for j, s in enumerate(times):
            if s > t or (s == t and not event[j]):
                weight = weights[i] * weights[j] / g**2
                pairs += weight
                wins = (risks[i] > risks[j]) + Fraction(int(risks[i] == risks[j]), 2)
                right += weight * wins
    return float(right / pairs)


def drawn(rng, n=40, ties=True):
    """Makes times with censorings, events, and risks on which the times depend."""
    risks = rng.normal(size=n)
    times, lost = rng.exponential(np.exp(-risks)), rng.exponential(1.0, n)
    event, times = times <= lost, np.minimum(times, lost)
    event[np.argmin(times)] = True
    if ties:
        times, risks = np.ceil(4 * times) / 4, risks.round()
    return times, event, risks


@pytest.mark.parametrize("at", [math.inf, 0.75])
@pytest.mark.parametrize("ipcw", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_index_equals_sums_over_all_pairs(rng, weighted, ties, ipcw, at):
    times, event, risks = drawn(rng, ties=ties)
    weights = rng.integers(0, 4, len(times)) if weighted else np.ones(len(times), int)
    found = um.concordance_index(
        times, event, risks, ipcw=ipcw, at=at, sample_weight=weights
    )
    fractions = [Fraction(int(w)) for w in weights]
    expected = naive(times, event, risks, fractions, ipcw, at)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 9, 16, 17])
def test_index_equals_sums_over_all_pairs_for_any_number_of_examples(rng, n):
    for _ in range(20):
        times, event, risks = drawn(rng, n, ties=bool(rng.integers(2)))
        try:
            expected = naive(times, event, risks, [Fraction(1)] * n)
        except ZeroDivisionError:
            with pytest.raises(ValueError, match="`event` must be 1 for an example"):
                um.concordance_index(times, event, risks)
            continue
        assert um.concordance_index(times, event, risks) == pytest.approx(expected)


def test_ties_by_hand():
    # At time 1 there are an event and a censoring. The event comes first.
    assert um.concordance_index([1, 1], [1, 0], [2, 1]) == 1
    assert um.concordance_index([1, 1], [1, 0], [1, 2]) == 0
    # Two events at the same time are not compared, and equal risks count half.
    assert um.concordance_index([1, 1, 2], [1, 1, 1], [3, 2, 2]) == 0.75
    # The second was censored before the event of the third: they are not compared.
    assert um.concordance_index([1, 2, 3], [1, 0, 1], [3, 1, 2]) == 1


def test_index_depends_only_on_the_order_of_the_risks(rng):
    times, event, risks = drawn(rng)
    for ipcw in (False, True):
        found = um.concordance_index(times, event, risks, ipcw=ipcw)
        again = um.concordance_index(times, event, np.exp(risks), ipcw=ipcw)
        assert found == again
        turned = um.concordance_index(times, event, -risks, ipcw=ipcw)
        assert found + turned == pytest.approx(1)
    assert um.concordance_index(times, event, 0 * risks) == 0.5
    ranks = np.argsort(np.argsort(times))
    seen = np.ones(len(times), bool)
    assert um.concordance_index(ranks, seen, -ranks) == 1


def test_index_without_censoring_is_kendalls_tau_in_another_scale(rng):
    stats = pytest.importorskip("scipy.stats")
    times, risks = rng.exponential(size=200), rng.normal(size=200)
    tau = stats.kendalltau(times, -risks).statistic
    for ipcw in (False, True):
        found = um.concordance_index(times, np.ones(200), risks, ipcw=ipcw)
        assert found == pytest.approx((1 + tau) / 2)


def test_unos_index_does_not_depend_on_the_censoring(rng):
    """The truth is the index of many examples without censoring."""
    n, repeats, at = 400, 200, 1.0

    def data(size):
        risks = rng.normal(size=size)
        # These hazards are not proportional to exp(risk).
        times = rng.exponential(np.exp(-risks * (risks > 0)))
        return risks, times

    risks, times = data(10**5)
    truth = um.concordance_index(times, np.ones(len(times)), risks, at=at)
    found = np.empty((repeats, 2))
    for row in found:
        risks, times = data(n)
        lost = rng.exponential(0.7, n)
        seen = np.minimum(times, lost), times <= lost, risks
        row[:] = [
            um.concordance_index(*seen, ipcw=ipcw, at=at) for ipcw in (False, True)
        ]
    harrell, uno = found.mean(axis=0)
    error = found.std(axis=0) / math.sqrt(repeats)
    noise = 0.3 / math.sqrt(10**5)  # The standard error of `truth`.
    bias = 0.003  # Uno's index has a bias of order 1/n.
    assert abs(uno - truth) < Z * (error[1] + noise) + bias
    assert abs(harrell - truth) > abs(uno - truth)


def test_columns_large_numbers_and_weights_of_0():
    column = um.concordance_index([[1.0], [2.0]], [[1], [1]], [[2.0], [1.0]])
    assert column == 1.0
    assert um.concordance_index([1, 1e308], [1, 0], [1e308, -1e308]) == 1
    # A weight of 0 leaves an example out.
    weights = [1, 1, 0]
    more = um.concordance_index([1, 3, 2], [1, 0, 1], [2, 1, 5], sample_weight=weights)
    assert more == 1.0


BAD = [
    ({"event": [0, 0, 0]}, "`event` must be 1 for an example"),
    (
        {"times": [2.0, 2.0, 2.0], "event": [1, 1, 1]},
        "`event` must be 1 for an example",
    ),
    ({"at": 1.0}, "`event` must be 1 for an example"),
    ({"at": 0}, "`at` must be a time > 0"),
    ({"at": math.nan}, "`at` must be a time > 0"),
    ({"at": [1.0, 2.0]}, "`at` must be a time > 0"),
    ({"ipcw": 1}, "`ipcw` must be True or False"),
    ({"times": [-1.0, 2, 3]}, "`times` must be >= 0"),
    ({"event": [1, 0]}, "`event` must be of the shape of `times`"),
    ({"risk_scores": [1.0, 2.0]}, "`risk_scores` must be of the shape of `times`"),
    ({"risk_scores": [1.0, np.nan, 2.0]}, "`risk_scores` must be finite"),
    ({"sample_weight": [0, 0, 0]}, "`sample_weight` must be positive for at"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_raises(change, message):
    good = {"times": [1.0, 2, 3], "event": [1, 0, 0], "risk_scores": [1.0, 2.0, 3.0]}
    um.concordance_index(**good)
    with pytest.raises(ValueError, match=message) as raised:
        um.concordance_index(**{**good, **change})
    assert "Received" in str(raised.value)
