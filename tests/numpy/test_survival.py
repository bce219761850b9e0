"""Scores of survival curves: naive sums of fractions, values by hand, simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

import uncertainty_metrics.numpy as um

Z = 4.5  # The limit in standard errors, for any seed.


def followed(times, event, weights, until):
    """Returns P(not censored), by a factor for each time as long as `until` is true.

    The arithmetic is in fractions. At equal times, events come before censorings.
    """
    share = Fraction(1)
    for time in sorted(set(times)):
        if not until(time):
            break
        here = [i for i, t in enumerate(times) if t == time]
        at_risk = sum(w for t, w in zip(times, weights, strict=True) if t >= time)
        at_risk -= sum(weights[i] for i in here if event[i])
        lost = sum(weights[i] for i in here if not event[i])
        if lost:
            share *= 1 - lost / at_risk
    return share


def naive_brier(times, event, survival, at, weights):
    total = 0
    for t, happened, s, w in zip(times, event, survival, weights, strict=True):
        if t <= at and happened:
            g = followed(times, event, weights, lambda u, t=t: u < t)
            total += w * s**2 / g
        elif t > at:
            g = followed(times, event, weights, lambda u: u <= at)
            total += w * (1 - s) ** 2 / g
    return total / sum(weights)


def drawn(rng, n=25):
    """Makes data with many ties, as fractions; the last example is an event."""
    times = [Fraction(int(t), 4) for t in rng.integers(0, 9, n)]
    event = rng.integers(0, 2, n).tolist()
    times[-1], event[-1] = Fraction(9, 4), 1
    rows = -np.sort(-rng.integers(0, 17, (n, 3)), axis=1)
    survival = [[Fraction(int(s), 16) for s in row] for row in rows]
    weights = [Fraction(int(w)) for w in rng.integers(0, 4, n)]
    weights[-1] = Fraction(1)
    return times, event, survival, weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_brier_score_equals_sums_of_fractions(weighted, dtype, rng):
    times, event, survival, weights = drawn(rng)
    if not weighted:
        weights = [Fraction(1)] * len(times)
    at = [Fraction(0), Fraction(1, 2), Fraction(7, 8)]
    expected = [
        float(naive_brier(times, event, [s[j] for s in survival], t, weights))
        for j, t in enumerate(at)
    ]
    given = np.array(times, dtype), event, np.array(survival, dtype)
    at = np.array(at, float)
    more = {"sample_weight": np.array(weights, float)} if weighted else {}
    found = um.ipcw_brier_score(*given, at, **more)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for j, t in enumerate(at):
        one = um.ipcw_brier_score(*given[:2], given[2][:, j], t, **more)
        assert isinstance(one, float)
        assert one == pytest.approx(expected[j])
    for first in (0, 1):
        whole = um.integrated_brier_score(
            *given[:2], given[2][:, first:], at[first:], **more
        )
        areas = np.diff(at) * np.add(expected[1:], expected[:-1]) / 2
        assert whole == pytest.approx(areas[first:].sum() / (at[-1] - at[first]))


def test_brier_score_of_ties_by_hand():
    # At time 1 there are an event and a censoring. The event comes first and has G(1-)
    # = 1. Then the censored example and the third are at risk, so G(1) = 1/2.
    given = [1, 1, 2], [1, 0, 1]
    for s in (0.0, 0.25, 1.0):
        expected = (s**2 + 2 * (1 - s) ** 2) / 3
        assert um.ipcw_brier_score(*given, [s] * 3, 1) == pytest.approx(expected)
        # The last event also counts for the censored example.
        assert um.ipcw_brier_score(*given, [s] * 3, 2) == pytest.approx(s**2)


def test_score_without_censoring_is_the_brier_score(rng):
    times, survival = rng.exponential(size=50), rng.random(50)
    for t in (0.0, 0.5, times[3], 1e9):
        expected = np.mean(((times > t) - survival) ** 2)
        found = um.ipcw_brier_score(times, np.ones(50), survival, t)
        assert found == pytest.approx(expected)


def test_weights_of_uncensored_examples_sum_to_the_number_of_examples(rng):
    """So forecasts of 1/2 score 1/4, whichever examples are censored."""
    for _ in range(20):
        times = rng.integers(0, 6, 12)
        event = rng.integers(0, 2, 12)
        followed_to = times.max() + (1 if event[times == times.max()].all() else 0)
        at = rng.uniform(0, followed_to)
        found = um.ipcw_brier_score(times, event, np.full(12, 0.5), at)
        assert found == pytest.approx(0.25, rel=1e-12)


def curves(rng, n):
    """Makes times of two groups, and their survival curves at 0.5 and 1."""
    rate = rng.choice([0.5, 2.0], n)
    times = rng.exponential(1 / rate)
    return times, np.exp(-rate[:, None] * [0.5, 1.0])


def test_brier_score_is_consistent_under_censoring(rng):
    # Right curves score the mean of S (1 - S) over both groups.
    at, repeats, n = [0.5, 1.0], 300, 300
    right = np.exp(-np.outer([0.5, 2], at))
    truth = np.mean(right * (1 - right), axis=0)
    found, left_out = np.empty((2, repeats, 2))
    for i in range(repeats):
        times, survival = curves(rng, n)
        lost = rng.exponential(1.0, n)
        event = times <= lost
        seen = np.minimum(times, lost)
        found[i] = um.ipcw_brier_score(seen, event, survival, at)
        naive = np.mean(((times[event, None] > at) - survival[event]) ** 2, axis=0)
        left_out[i] = naive  # This leaves out the censored examples.
    error = found.std(axis=0) / math.sqrt(repeats)
    assert np.all(np.abs(found.mean(axis=0) - truth) < Z * error)
    assert np.all(np.abs(left_out.mean(axis=0) - truth) > 3 * Z * error)


def test_brier_score_is_consistent_with_ties(rng):
    """Events and censorings are on whole days: G(T-) is right, and G(T) is not."""
    repeats, n, at = 300, 300, 2
    survival = np.full(n, 0.6**2)
    found = np.empty(repeats)
    for i in range(repeats):
        times, lost = rng.geometric(0.4, n), rng.geometric(0.3, n)
        found[i] = um.ipcw_brier_score(
            np.minimum(times, lost), times <= lost, survival, at
        )
    error = found.std() / math.sqrt(repeats)
    assert abs(found.mean() - 0.36 * 0.64) < Z * error


def naive_histogram(event, survival, num_bins, weights):
    masses = [Fraction(0)] * num_bins
    for seen, s, w in zip(event, survival, weights, strict=True):
        for b in range(num_bins):
            low, high = Fraction(b, num_bins), Fraction(b + 1, num_bins)
            if seen or s == 0:
                masses[b] += w * (low < s <= high or (s == 0 and b == 0))
            else:
                masses[b] += w * max(min(high, s) - low, 0) / s
    return masses


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("num_bins", [2, 4, 10])
def test_d_calibration_equals_sums_of_fractions(weighted, num_bins, rng):
    n = 40
    event = rng.integers(0, 2, n)
    survival = [Fraction(int(s), 16) for s in rng.integers(0, 17, n)]
    weights = rng.integers(0, 4, n).tolist() if weighted else [1] * n
    masses = naive_histogram(event, survival, num_bins, weights)
    total = sum(weights)
    statistic = sum((m - Fraction(total, num_bins)) ** 2 for m in masses)
    statistic = float(statistic * num_bins / total)
    found = um.d_calibration(
        event,
        np.array(survival, float),
        num_bins=num_bins,
        sample_weight=weights if weighted else None,
    )
    shares = [float(m / total) for m in masses]
    np.testing.assert_allclose(found.histogram, shares, atol=1e-15)
    assert found.statistic == pytest.approx(statistic)
    tail = scipy.stats.chi2(num_bins - 1).sf(statistic)
    assert found.p_value == pytest.approx(tail)


@pytest.mark.parametrize("censored", [False, True])
def test_d_calibration_has_its_level_and_power(censored, rng):
    repeats, n = 400, 200
    rejected = np.zeros(2)
    histogram = np.zeros(10)
    for _ in range(repeats):
        times = rng.exponential(size=n)
        lost = rng.exponential(1.5, n) if censored else np.full(n, np.inf)
        event, seen = times <= lost, np.minimum(times, lost)
        right = um.d_calibration(event, np.exp(-seen))
        wrong = um.d_calibration(event, np.exp(-1.6 * seen))
        rejected += right.p_value <= 0.05, wrong.p_value <= 0.05
        histogram += right.histogram
    assert rejected[0] <= 0.06 * repeats + Z * math.sqrt(0.06 * 0.94 * repeats)
    assert rejected[1] > repeats / 2
    # The mass of an example in a bin is in [0, 1], and its mean is 1/10.
    error = math.sqrt(0.1 * 0.9 / (repeats * n))
    np.testing.assert_allclose(histogram / repeats, 0.1, atol=Z * error)


FOLLOWED = {"times": [1.0, 2.0, 3.0], "event": [1, 0, 0]}
BAD = [
    ({"times": [-1.0, 2, 3]}, "`times` must be >= 0"),
    ({"times": [[1.0, 2, 3]]}, r"`times` must be of shape \[n\]"),
    ({"times": 1.0}, r"`times` must be of shape \[n\]"),
    ({"times": [np.inf, 2, 3]}, "`times` must be finite"),
    ({"event": [1, 0]}, "`event` must be of the shape of `times`"),
    ({"event": [1, 0, 2]}, r"`event` must be 0 \(censored\) or 1"),
    ({"survival": [[0.5, 0.2]] * 2}, r"`survival` must be of shape \[3, 2\]"),
    ({"survival": [0.5] * 3}, r"`survival` must be of shape \[3, 2\]"),
    ({"survival": [[0.5, 1.2]] * 3}, r"`survival` must be in \[0, 1\]"),
    ({"survival": [[0.5, np.nan]] * 3}, r"`survival` must be in \[0, 1\]"),
    ({"survival": [[0.2, 0.5]] * 3}, r"`survival` must be P\(no event by `at`\)"),
    ({"at": [2.0, 1.0]}, "`at` must be a time >= 0, or ascending"),
    ({"at": [1.0, 1.0]}, "`at` must be a time >= 0, or ascending"),
    ({"at": [-1.0, 1.0]}, "`at` must be a time >= 0, or ascending"),
    ({"at": [1.0, np.inf]}, "`at` must be finite"),
    ({"at": [1.0, 3.0]}, "`at` must be below 3.0, when the last"),
    ({"sample_weight": [0, 0, 0]}, "`sample_weight` must be positive for at"),
    ({"sample_weight": [1, -1, 0]}, "`sample_weight` must be finite and >= 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_of_the_brier_scores_raises(change, message):
    good = {**FOLLOWED, "survival": [[0.5, 0.2]] * 3, "at": [1.0, 2.0]}
    for function in (um.ipcw_brier_score, um.integrated_brier_score):
        function(**good)
        with pytest.raises(ValueError, match=message) as raised:
            function(**{**good, **change})
        assert "Received" in str(raised.value)


def test_bad_input_that_concerns_one_function_raises():
    with pytest.raises(ValueError, match="`at` must hold at least two"):
        um.integrated_brier_score(**FOLLOWED, survival=[[0.5]] * 3, at=[1.0])
    for change, message in (
        ({"num_bins": 1}, "`num_bins` must be an integer of at least 2"),
        ({"survival": [[0.5, 0.5]]}, r"`survival` must be of shape \[n\]"),
        ({"survival": [-0.1, 0.2]}, r"`survival` must be in \[0, 1\]"),
        ({"event": [1]}, "`event` must be of the shape of `survival`"),
        ({"event": [1, 3]}, "`event` must be 0"),
        ({"sample_weight": [0, 0]}, "`sample_weight` must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            um.d_calibration(**{"event": [1, 0], "survival": [0.1, 0.2], **change})


def test_extreme_times_and_weights_by_hand():
    one = um.ipcw_brier_score([[2.0]], [[1]], [[0.25]], 1)
    assert one == 0.75**2
    big = um.ipcw_brier_score([1e308, 1.5e308], [1, 1], [[0.5, 0.5]] * 2, [0.0, 1e308])
    assert big.tolist() == [0.25, 0.25]
    assert um.integrated_brier_score(
        [1e308, 1.5e308], [1, 1], [[0.5, 0.5]] * 2, [0.0, 1.2e308]
    ) == pytest.approx(0.25)
    # An example of weight 0 does not count, even the last, which is censored.
    more = um.ipcw_brier_score(
        [1, 2, 3], [1, 1, 0], [0.5, 0.25, 1], 2.5, sample_weight=[1, 1, 0]
    )
    assert more == um.ipcw_brier_score([1, 2], [1, 1], [0.5, 0.25], 2.5)
    # An example of negligible weight does not count as the last one at risk.
    for weights in ([1e300, 1e-300], [1.0, 0.0]):
        with pytest.raises(ValueError, match="`at` must be below"):
            um.ipcw_brier_score([1, 2], [0, 1], [0.5, 0.5], 1, sample_weight=weights)
    # The mass of a censored example is spread below its survival, even if that is tiny.
    found = um.d_calibration([0, 0], [0.0, 5e-324], num_bins=4)
    assert found.histogram.tolist() == [1, 0, 0, 0]
