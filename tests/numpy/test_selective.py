"""Selective prediction: naive loops, random orders, values by hand, extremes."""

import itertools

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics.numpy.selective import (
    _selective_risks,
    rejection,
    risk_coverage,
)


def call(name, *arguments, **options):
    """Returns the result as a flat array."""
    value = getattr(risk_coverage, name)(*arguments, **options)
    return np.concatenate(value) if isinstance(value, tuple) else np.array([value])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_curve_equals_the_naive_reference(dtype, weighted, rng):
    arguments = catalogue.data(rng, dtype=dtype).arguments(weighted)
    np.testing.assert_allclose(
        call("risk_coverage_curve", **arguments),
        references.risk_coverage_curve(**arguments),
        rtol=1e-12,
        atol=1e-13,
    )


def test_aurc_is_the_mean_over_all_orders_of_ties(rng):
    confidences = np.array([2, 2, 1, 1, 1, 0])
    correct = rng.permutation([1, 1, 1, 0, 0, 0])
    areas = []
    for order in itertools.permutations(range(6)):
        order = list(order)
        if np.all(np.diff(confidences[order]) <= 0):
            errors = np.cumsum(1 - correct[order])
            areas.append(np.mean(errors / np.arange(1, 7)))
    assert len(areas) == 2 * 6
    area = risk_coverage.aurc(confidences=confidences, correct=correct)
    assert area == pytest.approx(np.mean(areas), rel=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_do_not_change_aurc(weighted, monkeypatch, rng):
    confidences = np.append(np.zeros(20), 1e-3 * np.arange(40))
    correct, weights = rng.uniform(size=60) < 0.5, np.exp(rng.normal(size=60))
    data = {"confidences": confidences, "correct": correct}
    data["sample_weight"] = weights if weighted else None
    expected = risk_coverage.aurc(**data)
    for size in (1, 7, len(set(confidences))):
        monkeypatch.setattr(_selective_risks, "_BLOCK", size)
        assert risk_coverage.aurc(**data) == pytest.approx(expected, rel=1e-14)


def test_by_hand():
    data = {"confidences": [5, 4, 3, -1, -2], "correct": [1, 0, 1, 1, 0]}
    assert risk_coverage.aurc(**data) == pytest.approx(
        (1 / 2 + 1 / 3 + 1 / 4 + 2 / 5) / 5
    )
    best = (1 / 4 + 2 / 5) / 5
    assert risk_coverage.e_aurc(**data) == pytest.approx(
        risk_coverage.aurc(**data) - best
    )
    # At coverages 0, 1/5, ..., 1 the generalized risk is 0, 0, 1/5, 1/5, 1/5, 2/5.
    assert risk_coverage.augrc(**data) == pytest.approx((0.1 + 0.2 + 0.2 + 0.3) / 5)
    curve = risk_coverage.risk_coverage_curve(**data)
    np.testing.assert_allclose(curve.coverages, [0.2, 0.4, 0.6, 0.8, 1.0])
    np.testing.assert_allclose(curve.risks, [0, 1 / 2, 1 / 3, 1 / 4, 2 / 5])
    assert curve.thresholds.tolist() == [5, 4, 3, -1, -2]
    assert risk_coverage.coverage_at_risk(**data) == 0.2
    assert risk_coverage.coverage_at_risk(**data, risk=0.3) == 0.8
    assert risk_coverage.coverage_at_risk(**data, risk=1) == 1
    assert risk_coverage.risk_at_coverage(**data) == 0.25
    assert risk_coverage.risk_at_coverage(**data, coverage=1) == 0.4
    # 0.3 of 5 are 1.5: the oracle gets the last, wrong, and half of the one before,
    # right.
    accuracy = risk_coverage.oracle_collaborative_accuracy(**data, fraction=0.3)
    assert accuracy == pytest.approx(0.8)
    # 0.1 of 5 are 0.5: the oracle gets half of the last, which is wrong.
    accuracy = risk_coverage.oracle_collaborative_accuracy(**data, fraction=0.1)
    assert accuracy == pytest.approx(0.7)


@pytest.mark.parametrize("scale", [None, 1.0, 0.1, 0.3, 7.0, 1e-9])
def test_limits_are_reached_despite_rounding(scale, rng):
    """A share that equals the limit in decimal numbers meets it, for all weights."""
    for n, errors, risk in ((20, 1, 0.05), (10, 3, 0.3), (50, 1, 0.02), (30, 21, 0.7)):
        confidences = rng.permutation(n)
        weights = None if scale is None else np.full(n, scale)
        data = {"confidences": confidences, "sample_weight": weights}
        correct = confidences >= errors  # The least confident examples are wrong.
        assert risk_coverage.coverage_at_risk(**data, correct=correct, risk=risk) == 1
        below = np.nextafter(risk, 0) * (1 - 1e-9)
        assert risk_coverage.coverage_at_risk(**data, correct=correct, risk=below) < 1
    weights = None if scale is None else np.full(10, scale)
    data = {"confidences": np.arange(10), "sample_weight": weights}
    for coverage in (0.1, 0.3, 0.6, 0.7, 0.9):
        # Only the first example beyond the coverage is wrong.
        first_beyond = 9 - round(10 * coverage)
        correct = np.arange(10) != first_beyond
        assert (
            risk_coverage.risk_at_coverage(**data, correct=correct, coverage=coverage)
            == 0
        )
        above = coverage + 1e-9
        assert (
            risk_coverage.risk_at_coverage(**data, correct=correct, coverage=above) > 0
        )


def test_extreme_cases_by_hand():
    for confidences in ([3, 2, 1], [1, 1, 1]):
        right = {"confidences": confidences, "correct": [1, 1, 1]}
        wrong = {"confidences": confidences, "correct": [0, 0, 0]}
        for name in ("aurc", "e_aurc", "augrc"):
            assert call(name, **right) == 0
        assert risk_coverage.aurc(**wrong) == 1
        assert risk_coverage.e_aurc(**wrong) == 0
        assert risk_coverage.augrc(**wrong) == 0.5
        assert risk_coverage.coverage_at_risk(**right, risk=0) == 1
        assert risk_coverage.coverage_at_risk(**wrong, risk=0.99) == 0
        assert risk_coverage.risk_at_coverage(**wrong) == 1
        assert (
            risk_coverage.oracle_collaborative_accuracy(**wrong, fraction=0.25) == 0.25
        )
        assert risk_coverage.oracle_collaborative_accuracy(**wrong, fraction=1) == 1
        assert risk_coverage.oracle_collaborative_accuracy(**right, fraction=0) == 1
    one = {"confidences": 0.3, "correct": False}
    assert [risk_coverage.aurc(**one), risk_coverage.augrc(**one)] == [1, 0.5]
    np.testing.assert_array_equal(call("risk_coverage_curve", **one), [1, 1, 0.3])
    # With equal confidences the risk is the error rate at every coverage.
    equal = {"confidences": np.zeros(50), "correct": np.arange(50) >= 10}
    assert risk_coverage.aurc(**equal) == pytest.approx(0.2, rel=1e-14)
    assert risk_coverage.risk_at_coverage(**equal, coverage=0.01) == 0.2
    assert risk_coverage.coverage_at_risk(**equal, risk=0.1) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saturated_logits_are_ranked(dtype):
    gaps = np.array([50.0, 51.0, 800.0, 30.0, 1e4, 1e30], dtype)
    logits = np.stack([0 * gaps, gaps, 0 * gaps], axis=1)
    logits[2, 0] = -np.inf
    correct = np.array([0, 1, 1, 0, 1, 1])
    curve = risk_coverage.risk_coverage_curve(correct, logits=logits)
    assert len(curve.coverages) == 6
    assert risk_coverage.e_aurc(correct, logits=logits) == 0
    assert risk_coverage.aurc(correct, logits=logits) == pytest.approx(
        (1 / 5 + 2 / 6) / 6
    )
    assert curve.thresholds.tolist()[:4] == [1] * 4
    # If all other classes are impossible, or nearly, the confidence is 1.
    certain = np.array([[0.0, -np.inf], [700.0, 0.0]])
    thresholds = risk_coverage.risk_coverage_curve([0, 0], logits=certain).thresholds
    assert thresholds.tolist() == [1, 1]


def test_thresholds_of_the_curve_are_the_largest_probabilities(rng):
    logits = rng.normal(size=[40, 3])
    labels = rng.integers(0, 3, 40)
    expected = np.sort(references.softmax(logits).max(axis=1))[::-1]
    curve = risk_coverage.risk_coverage_curve(labels, logits=logits)
    np.testing.assert_allclose(curve.thresholds, expected, rtol=1e-14)
    single = references.softmax(logits).astype(np.float32)
    curve = risk_coverage.risk_coverage_curve(labels, single)
    assert curve.thresholds.dtype == np.float64
    assert set(curve.thresholds) == set(single.max(axis=1).astype(np.float64))


def test_accuracy_takes_the_probability_of_class_1():
    assert um.accuracy([0, 1, 1], [0.5, 0.5, 0.6]) == pytest.approx(2 / 3)
    logits = {"logits": [-1, -1, 3], "ignore_index": 255}
    assert um.accuracy([0, 1, 255], **logits) == 0.5


def naive_area(confidences, losses):
    """Returns the mean over k of the expected mean loss of the k most confident."""
    order = sorted(range(len(losses)), key=lambda i: -confidences[i])
    risks = []
    for k in range(1, len(order) + 1):
        last = confidences[order[k - 1]]
        above = [losses[i] for i in order if confidences[i] > last]
        equal = [losses[i] for i in order if confidences[i] == last]
        share = (k - len(above)) / len(equal)
        risks.append((sum(above) + share * sum(equal)) / k)
    return sum(risks) / len(risks)


def with_losses(rng, n=60):
    """Makes losses of any size, tied confidences that predict them, and weights."""
    losses = np.exp(3 * rng.normal(size=n))
    losses[rng.uniform(size=n) < 0.2] = 0.0
    confidences = np.round(-np.log1p(losses) + rng.normal(size=n), 1)
    return confidences, losses, rng.integers(1, 4, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e-300, 1e300])
def test_losses_equal_the_naive_area(weighted, unit, rng):
    confidences, losses, times = with_losses(rng)
    repeated = np.repeat(np.stack([confidences, losses]), times if weighted else 1, 1)
    data = {"confidences": confidences, "losses": unit * losses}
    data["sample_weight"] = times if weighted else None
    area, oracle = naive_area(*repeated), naive_area(-repeated[1], repeated[1])
    mean = repeated[1].mean()
    assert risk_coverage.aurc(**data) / unit == pytest.approx(area, rel=1e-12)
    assert rejection.ause(**data) / unit == pytest.approx(area - oracle, rel=1e-11)
    ratio = (mean - area) / (mean - oracle)
    assert rejection.prr(**data) == pytest.approx(ratio, rel=1e-11)
    assert rejection.auarc(**data) == 1 - risk_coverage.aurc(**data)
    curve = risk_coverage.risk_coverage_curve(**data)
    for i, threshold in enumerate(curve.thresholds):
        kept = repeated[0] >= threshold
        assert curve.coverages[i] == pytest.approx(kept.mean())
        assert curve.risks[i] / unit == pytest.approx(repeated[1][kept].mean())


def test_losses_of_0_and_1_are_errors(rng):
    confidences, losses, weights = with_losses(rng)
    wrong, weights = losses > 1, np.exp(rng.normal(size=60))
    for given in ({}, {"sample_weight": weights}, {"sample_weight": 1e-9 * weights}):
        given = {"confidences": confidences, **given}
        for function in (risk_coverage.aurc, rejection.ause, rejection.prr):
            value = function(**given, losses=wrong.astype(float))
            expected = function(**given, correct=~wrong)
            assert value == pytest.approx(expected, rel=1e-12)
        excess = risk_coverage.excess_aurc(**given, correct=~wrong)
        assert rejection.ause(**given, correct=~wrong) == excess


def test_losses_may_be_shifted_and_scaled(rng):
    """The order is as good as before: the area only scales, and the ratio stays."""
    confidences, losses, _ = with_losses(rng)
    data = {"confidences": confidences, "losses": losses}
    other = {"confidences": confidences, "losses": 8 * losses + 1e6}
    assert rejection.prr(**other) == pytest.approx(rejection.prr(**data), rel=1e-8)
    assert rejection.ause(**other) / 8 == pytest.approx(rejection.ause(**data))


def test_best_equal_and_worst_orders_of_losses_by_hand():
    losses = [0.0, 1.0, 2.0, 5.0]
    best, equal = {"confidences": [4, 3, 2, 1]}, {"confidences": [0, 0, 0, 0]}
    assert rejection.ause(**best, losses=losses) == 0
    assert rejection.prr(**best, losses=losses) == 1
    assert rejection.prr(**equal, losses=losses) == pytest.approx(0, abs=1e-15)
    assert risk_coverage.aurc(**equal, losses=losses) == pytest.approx(2)
    # The means of the first k are 5, 7/2, 8/3, 2 in the worst order, and 0, 1/2, 1, 2
    # in the best.
    worst = {"confidences": [1, 2, 3, 4], "losses": losses}
    assert rejection.ause(**worst) == pytest.approx((5 + 3 + 5 / 3) / 4)
    assert rejection.prr(**worst) == pytest.approx(
        (8 - 5 - 7 / 2 - 8 / 3 - 2) / (8 - 7 / 2)
    )
    one = {"confidences": [0.5], "losses": [3.0]}
    assert risk_coverage.aurc(**one) == 3
    assert rejection.ause(**one) == 0
    with pytest.raises(ValueError, match="`losses` must be such that some"):
        rejection.prr(**one)


def test_order_of_losses_changes_no_bit_and_scale_of_weights_does_not_matter(rng):
    confidences, losses, _ = with_losses(rng)
    order = rng.permutation(60)
    for function in (risk_coverage.aurc, rejection.ause, rejection.prr):
        value = function(confidences=confidences, losses=losses)
        shuffled = {"confidences": confidences[order], "losses": losses[order]}
        assert function(**shuffled) == value
        given = {"confidences": confidences, "losses": losses}
        assert function(**given, sample_weight=1e-200) == pytest.approx(value)
