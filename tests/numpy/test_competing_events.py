"""Forecasts of one of several causes, against loops over the examples in fractions, and
the functions that have no competing events.
"""

from fractions import Fraction

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy.test_survival import followed


def drawn(rng, n=30):
    """Makes times with ties, codes of events, forecasts [n, 2] and weights."""
    times = [Fraction(int(t), 4) for t in rng.integers(0, 9, n)]
    event = rng.integers(0, 4, n).tolist()
    times[-1], event[-1], event[0] = Fraction(9, 4), 1, 2
    incidence = np.sort(rng.integers(0, 17, (n, 2)) / 16, axis=1)
    weights = [Fraction(int(w)) for w in rng.integers(1, 4, n)]
    return times, event, incidence, weights


def naive(times, event, at, cause, weights):
    """Returns labels and weights: 1 / G(T-) for an event of any cause by `at`, and
    1 / G(at) for who is followed for longer.
    """
    for t, code, w in zip(times, event, weights, strict=True):
        share = Fraction(0)
        if t <= at and code > 0:
            share = w / followed(times, event, weights, lambda u, t=t: u < t)
        elif t > at:
            share = w / followed(times, event, weights, lambda u: u <= at)
        yield int(t <= at and code == cause), float(share)


@pytest.mark.parametrize("cause", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_weights_and_scores_equal_loops(weighted, cause, rng):
    times, event, incidence, weights = drawn(rng)
    event[1] = cause
    if not weighted:
        weights = [Fraction(1)] * len(times)
    data = np.array(times, float), event
    options = {"cause": cause, "sample_weight": np.array(weights, float)}
    scores = []
    for k, at in enumerate((Fraction(3, 4), Fraction(2))):
        labels, shares = zip(*naive(times, event, at, cause, weights), strict=True)
        found = um.survival_at(*data, float(at), **options)
        assert found.labels.tolist() == list(labels)
        np.testing.assert_allclose(found.sample_weight, shares, rtol=1e-12)
        risks = incidence[:, k]
        losses = [
            w * (y - p) ** 2 for y, w, p in zip(labels, shares, risks, strict=True)
        ]
        scores.append(sum(losses) / float(sum(weights)))
        score = um.ipcw_brier_score(*data, 1 - risks, float(at), **options)
        assert score == pytest.approx(scores[-1], rel=1e-12)
        # The AUROC of every event of the cause against every other known example.
        pairs = right = 0.0
        for y, w, p in zip(labels, shares, risks, strict=True):
            for z, v, q in zip(labels, shares, risks, strict=True):
                if y > z:
                    pairs += w * v
                    right += w * v * ((p > q) + (p == q) / 2)
        if pairs:
            auroc = um.auroc(labels, risks, sample_weight=found.sample_weight)
            assert auroc == pytest.approx(right / pairs, rel=1e-12)
    both = um.ipcw_brier_score(*data, 1 - incidence, [0.75, 2.0], **options)
    np.testing.assert_allclose(both, scores, rtol=1e-12)
    whole = um.integrated_brier_score(*data, 1 - incidence, [0.75, 2.0], **options)
    assert whole == pytest.approx(sum(scores) / 2)


def test_cause_of_the_only_events_changes_nothing(rng):
    times, event = rng.random(20), rng.integers(0, 2, 20)
    times[0], event[0] = 2.0, 1
    for plain, named in zip(
        um.survival_at(times, event, 0.5),
        um.survival_at(times, event, 0.5, cause=1),
        strict=True,
    ):
        np.testing.assert_array_equal(plain, named)
    # If the competing events are censored instead, the risks are another question.
    event[1:4] = 2
    named = um.survival_at(times, event, 0.9, cause=1)
    censored = um.survival_at(times, event == 1, 0.9)
    assert named.sample_weight[1] > 0 == censored.sample_weight[1]


FOLLOWED = {"times": [1.0, 2.0, 3.0], "event": [1, 2, 0]}


@pytest.mark.parametrize(
    ("function", "more", "message"),
    [
        (um.survival_at, {"at": 2.0}, "name the cause .*cause=1"),
        (um.ipcw_brier_score, {"survival": [0.5] * 3, "at": 2.0}, "cause=1"),
        (
            um.integrated_brier_score,
            {"survival": [[0.5, 0.5]] * 3, "at": [1.0, 2.0]},
            "cause=1",
        ),
        (um.concordance_index, {"risk_scores": [3, 2, 1]}, "take `auroc` with"),
        (um.cce, {"probs": [0.1, 0.2, 0.3], "end_time": 2.0}, "is not defined"),
    ],
)
def test_codes_above_1_are_refused_without_a_cause(function, more, message):
    with pytest.raises(ValueError, match=message) as raised:
        function(**FOLLOWED, **more)
    assert "`event` must be 0 (censored) or 1 (event)" in str(raised.value)
    assert "Received: 2" in str(raised.value)


def test_distribution_calibration_has_no_causes():
    with pytest.raises(ValueError, match="distribution calibration is not defined"):
        um.d_calibration([1, 2, 0], [0.2, 0.5, 0.7])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cause": 0}, "`cause` must be an integer of at least 1"),
        ({"cause": True}, "`cause` must be an integer of at least 1"),
        ({"cause": "relapse"}, "`cause` must be an integer of at least 1"),
        ({"cause": 3}, "`cause` must be a code in `event`: 0, 1, 2. Received: 3"),
        ({"event": [1, 1.5, 0]}, "`event` must be 0 .censored. or the code"),
        ({"event": [1, -1, 0]}, "`event` must be 0 .censored. or the code"),
    ],
)
def test_bad_causes_raise(change, message):
    given = {**FOLLOWED, "at": 2.0, "cause": 1, **change}
    with pytest.raises(ValueError, match=message):
        um.survival_at(**given)
    with pytest.raises(ValueError, match=message):
        um.ipcw_brier_score(**given, survival=[0.5] * 3)


def test_error_at_the_end_of_follow_up_offers_two_ways():
    times, event, end = (
        np.array([1.0, 2.0, 3.0, 5.0, 5.0]),
        np.array([1, 0, 1, 1, 0]),
        5,
    )
    with pytest.raises(
        ValueError, match=r"`at` must be below 5\.0, .*follow-up"
    ) as one:
        um.survival_at(times, event, end)
    message = str(one.value)
    # Just below, the last event has not come yet.
    below = np.nextafter(5.0, 0.0)
    assert f"just below it, which is {below}" in message
    labels, weights = um.survival_at(times, event, below)
    assert labels.tolist() == [1, 0, 1, 0, 0]
    np.testing.assert_allclose(weights, [1, 0, 4 / 3, 4 / 3, 4 / 3])
    # Or who was followed until the horizon counts as 1[T >= at] / G(at-).
    recipe = "np.where((event == 0) & (times == 5.0), np.nextafter(5.0, np.inf), times)"
    assert f"pass at=5.0 and {recipe}" in message
    later = eval(recipe, {"np": np, "event": event, "times": times})
    labels, weights = um.survival_at(later, event, end)
    assert labels.tolist() == [1, 0, 1, 1, 0]
    np.testing.assert_allclose(weights, [1, 0, 4 / 3, 4 / 3, 4 / 3])
