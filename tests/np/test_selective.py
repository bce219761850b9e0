"""Selective prediction: against naive loops and random orders, by hand, and corners."""

import itertools

import numpy as np
import pytest

from tests import catalogue, references
from uncertainty_metrics.numpy import selective


def call(name, *arguments, **options):
    """Returns a flat array."""
    value = getattr(selective, name)(*arguments, **options)
    return np.concatenate(value) if isinstance(value, tuple) else np.array([value])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_equals_the_naive_one(dtype, weighted, rng):
    arguments = catalogue.data(rng, dtype=dtype).arguments(weighted)
    np.testing.assert_allclose(
        call("risk_coverage_curve", **arguments),
        references.risk_coverage_curve(**arguments),
        rtol=1e-12,
        atol=1e-13,
    )


def test_aurc_is_the_mean_over_random_orders_of_ties(rng):
    confidences = np.array([2, 2, 1, 1, 1, 0])
    correct = rng.permutation([1, 1, 1, 0, 0, 0])
    areas = []
    for order in itertools.permutations(range(6)):
        order = list(order)
        if np.all(np.diff(confidences[order]) <= 0):
            errors = np.cumsum(1 - correct[order])
            areas.append(np.mean(errors / np.arange(1, 7)))
    assert len(areas) == 2 * 6
    area = selective.aurc(confidences=confidences, correct=correct)
    assert area == pytest.approx(np.mean(areas), rel=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_add_up(weighted, monkeypatch, rng):
    confidences = np.append(np.zeros(20), 1e-3 * np.arange(40))
    correct, weights = rng.uniform(size=60) < 0.5, np.exp(rng.normal(size=60))
    data = {"confidences": confidences, "correct": correct}
    data["sample_weight"] = weights if weighted else None
    expected = selective.aurc(**data)
    for size in (1, 7, len(set(confidences))):
        monkeypatch.setattr(selective, "_BLOCK", size)
        assert selective.aurc(**data) == pytest.approx(expected, rel=1e-14)


def test_by_hand():
    data = {"confidences": [5, 4, 3, -1, -2], "correct": [1, 0, 1, 1, 0]}
    assert selective.aurc(**data) == pytest.approx((1 / 2 + 1 / 3 + 1 / 4 + 2 / 5) / 5)
    best = (1 / 4 + 2 / 5) / 5
    assert selective.e_aurc(**data) == pytest.approx(selective.aurc(**data) - best)
    # Five steps of 1/5; the generalized risk is 0, 0, 1/5, 1/5, 1/5, 2/5.
    assert selective.augrc(**data) == pytest.approx((0.1 + 0.2 + 0.2 + 0.3) / 5)
    curve = selective.risk_coverage_curve(**data)
    np.testing.assert_allclose(curve.coverages, [0.2, 0.4, 0.6, 0.8, 1.0])
    np.testing.assert_allclose(curve.risks, [0, 1 / 2, 1 / 3, 1 / 4, 2 / 5])
    assert curve.thresholds.tolist() == [5, 4, 3, -1, -2]
    assert selective.coverage_at_risk(**data) == 0.2
    assert selective.coverage_at_risk(**data, risk=0.3) == 0.8
    assert selective.coverage_at_risk(**data, risk=1) == 1
    assert selective.risk_at_coverage(**data) == 0.25
    assert selective.risk_at_coverage(**data, coverage=1) == 0.4
    # The oracle takes the last one and half of the one before, which was right.
    accuracy = selective.oracle_collaborative_accuracy(**data, fraction=0.3)
    assert accuracy == pytest.approx(0.8)
    # A tenth is half of the last one, which was wrong.
    accuracy = selective.oracle_collaborative_accuracy(**data, fraction=0.1)
    assert accuracy == pytest.approx(0.7)


@pytest.mark.parametrize("scale", [None, 1.0, 0.1, 0.3, 7.0, 1e-9])
def test_limits_are_reached_exactly(scale, rng):
    """Shares that are equal to a limit in decimals meet it, whatever the weights."""
    for n, errors, risk in ((20, 1, 0.05), (10, 3, 0.3), (50, 1, 0.02), (30, 21, 0.7)):
        confidences = rng.permutation(n)
        weights = None if scale is None else np.full(n, scale)
        data = {"confidences": confidences, "sample_weight": weights}
        correct = confidences >= errors  # The least confident are wrong.
        assert selective.coverage_at_risk(**data, correct=correct, risk=risk) == 1
        below = np.nextafter(risk, 0) * (1 - 1e-9)
        assert selective.coverage_at_risk(**data, correct=correct, risk=below) < 1
    weights = None if scale is None else np.full(10, scale)
    data = {"confidences": np.arange(10), "sample_weight": weights}
    for coverage in (0.1, 0.3, 0.6, 0.7, 0.9):
        # Only the first example beyond the coverage is wrong.
        first_beyond = 9 - round(10 * coverage)
        correct = np.arange(10) != first_beyond
        assert (
            selective.risk_at_coverage(**data, correct=correct, coverage=coverage) == 0
        )
        above = coverage + 1e-9
        assert selective.risk_at_coverage(**data, correct=correct, coverage=above) > 0


def test_corners():
    for confidences in ([3, 2, 1], [1, 1, 1]):
        right = {"confidences": confidences, "correct": [1, 1, 1]}
        wrong = {"confidences": confidences, "correct": [0, 0, 0]}
        for name in ("aurc", "e_aurc", "augrc"):
            assert call(name, **right) == 0
        assert selective.aurc(**wrong) == 1
        assert selective.e_aurc(**wrong) == 0
        assert selective.augrc(**wrong) == 0.5
        assert selective.coverage_at_risk(**right, risk=0) == 1
        assert selective.coverage_at_risk(**wrong, risk=0.99) == 0
        assert selective.risk_at_coverage(**wrong) == 1
        assert selective.oracle_collaborative_accuracy(**wrong, fraction=0.25) == 0.25
        assert selective.oracle_collaborative_accuracy(**wrong, fraction=1) == 1
        assert selective.oracle_collaborative_accuracy(**right, fraction=0) == 1
    one = {"confidences": 0.3, "correct": False}
    assert [selective.aurc(**one), selective.augrc(**one)] == [1, 0.5]
    np.testing.assert_array_equal(call("risk_coverage_curve", **one), [1, 1, 0.3])
    # All equal: the risk is the error rate at every coverage.
    equal = {"confidences": np.zeros(50), "correct": np.arange(50) >= 10}
    assert selective.aurc(**equal) == pytest.approx(0.2, rel=1e-14)
    assert selective.risk_at_coverage(**equal, coverage=0.01) == 0.2
    assert selective.coverage_at_risk(**equal, risk=0.1) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saturated_logits_are_ranked(dtype):
    gaps = np.array([50.0, 51.0, 800.0, 30.0, 1e4, 1e30], dtype)
    logits = np.stack([0 * gaps, gaps, 0 * gaps], axis=1)
    logits[2, 0] = -np.inf
    correct = np.array([0, 1, 1, 0, 1, 1])
    curve = selective.risk_coverage_curve(correct, logits=logits)
    assert len(curve.coverages) == 6
    assert selective.e_aurc(correct, logits=logits) == 0
    assert selective.aurc(correct, logits=logits) == pytest.approx((1 / 5 + 2 / 6) / 6)
    assert curve.thresholds.tolist()[:4] == [1] * 4
    # Without another class nothing is more certain.
    certain = np.array([[0.0, -np.inf], [700.0, 0.0]])
    thresholds = selective.risk_coverage_curve([0, 0], logits=certain).thresholds
    assert thresholds.tolist() == [1, 1]


def test_thresholds_are_largest_probabilities(rng):
    logits = rng.normal(size=[40, 3])
    labels = rng.integers(0, 3, 40)
    expected = np.sort(references.softmax(logits).max(axis=1))[::-1]
    curve = selective.risk_coverage_curve(labels, logits=logits)
    np.testing.assert_allclose(curve.thresholds, expected, rtol=1e-14)
    single = references.softmax(logits).astype(np.float32)
    curve = selective.risk_coverage_curve(labels, single)
    assert curve.thresholds.dtype == np.float64
    assert set(curve.thresholds) == set(single.max(axis=1).astype(np.float64))


def test_accuracy_of_one_probability():
    assert selective.accuracy([0, 1, 1], [0.5, 0.5, 0.6]) == pytest.approx(2 / 3)
    logits = {"logits": [-1, -1, 3], "ignore_index": 255}
    assert selective.accuracy([0, 1, 255], **logits) == 0.5
