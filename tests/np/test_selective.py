"""Selective prediction: against naive loops and random orders, by hand, and corners."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from tests import catalogue, references
from uncertainty_metrics.numpy import _ranking, selective

FUNCTIONS = (
    ("aurc", {}),
    ("e_aurc", {}),
    ("augrc", {}),
    ("coverage_at_risk", {"risk": 0.05}),
    ("coverage_at_risk", {"risk": 0.4}),
    ("risk_at_coverage", {"coverage": 0.8}),
    ("risk_at_coverage", {"coverage": 0.3}),
    ("oracle_collaborative_accuracy", {"fraction": 0.01}),
    ("oracle_collaborative_accuracy", {"fraction": 0.6}),
    ("risk_coverage_curve", {}),
)
every_function = pytest.mark.parametrize(("name", "options"), FUNCTIONS)


def call(name, *arguments, **options):
    """Returns a flat array."""
    value = getattr(selective, name)(*arguments, **options)
    return np.concatenate(value) if isinstance(value, tuple) else np.array([value])


def ranked(rng, n=60):
    """Confidences with ties, outcomes that go with them, and weights."""
    confidences = np.round(rng.uniform(size=n), 1)
    correct = rng.uniform(size=n) < 0.2 + 0.6 * confidences
    correct[:2] = True, False
    return confidences, correct, np.exp(rng.normal(size=n))


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
    confidences, correct, weights = ranked(rng)
    confidences[20:] += 1e-3 * np.arange(40)
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


@every_function
def test_order_of_examples_changes_no_bit(name, options, rng):
    confidences, correct, weights = ranked(rng)
    expected = {}
    for _ in range(4):
        order = rng.permutation(len(correct))
        data = {"confidences": confidences[order], "correct": correct[order]}
        for given in (None, weights[order], 1e-3 * weights[order]):
            result = call(name, **data, sample_weight=given, **options)
            key = None if given is None else given.sum().round(6)
            np.testing.assert_array_equal(result, expected.setdefault(key, result))


@every_function
def test_scale_of_weights(name, options, rng):
    confidences, correct, weights = ranked(rng)
    data = {"confidences": confidences, "correct": correct, **options}
    for base in (weights / weights.mean(), np.ones(60)):
        expected = call(name, **data, sample_weight=base)
        # Weights of less than 1 on average have no scale.
        for scale in (0.99, 0.1, 1e-12, 1e-200, 1e-310):
            result = call(name, **data, sample_weight=base * scale)
            tolerance = 1e-6 if scale < 1e-300 else 1e-12  # Not all 53 bits are left.
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-14)
        for scale in (3.0, 1e12, 1e200):
            result = call(name, **data, sample_weight=base * scale)
            if name not in ("aurc", "e_aurc"):
                np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)
            elif scale == 3:  # Others are numbers of examples there.
                assert abs(result - expected) > 1e-5


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


def test_weights_of_any_ratio():
    """Nothing breaks where a weight is lost in the rounding of the others."""
    data = {"confidences": [4, 3, 2, 1], "correct": [0, 1, 0, 1]}
    for tiny in (1e-15, 1e-20, 1e-40, 1e-300):
        for light in itertools.product((False, True), repeat=4):
            weights = np.where(light, tiny, 1.0)
            for name, options in FUNCTIONS:
                result = call(name, **data, sample_weight=weights, **options)
                assert np.all((result >= 0) & (result <= 4))
        weights = [tiny, 1.0, tiny, 1.0]
        assert selective.augrc(**data, sample_weight=weights) < 1e-14


def test_sums_of_weights(rng):
    weights = np.exp(3 * rng.normal(size=1000))
    weights[500] = 1e14
    sums = _ranking._weight_sums(weights, np.arange(1001))
    exact = [math.fsum(weights[:i]) for i in range(1001)]
    np.testing.assert_allclose(sums, exact, rtol=2.0**-51)
    assert np.all(np.diff(sums) >= 0)
    shuffled = rng.permutation(weights)
    assert _ranking._weight_sums(shuffled, np.array([1000])) == sums[-1]


def test_digamma_step():
    starts = (0.0, 0.3, 1.0, 7.0, 30.5, 31.0, 33.0, 1e3, 1e6, 1e12)
    steps = (1e-9, 0.5, 1.0, 2.0, 31.0, 1e4, 1e9)
    for start, step in itertools.product(starts, steps):
        with mpmath.workdps(50):
            expected = mpmath.digamma(mpmath.mpf(start) + step + 1)
            expected = float(expected - mpmath.digamma(mpmath.mpf(start) + 1))
        found = _ranking.digamma_step(start, step)
        np.testing.assert_allclose(found, expected, rtol=2e-15)
    assert _ranking.digamma_step(5.0, 0.0) == 0


def test_every_type_of_confidence(rng):
    confidences = np.round(4 * rng.normal(size=80)) / 2
    correct = rng.uniform(size=80) < 0.5
    expected = call("risk_coverage_curve", confidences=confidences, correct=correct)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtypes = (np.float16, np.float32, np.longdouble, ">f4", ">f8", ml_dtypes.bfloat16)
    strided = np.repeat(confidences, 2)[::2]
    halves = (2 * confidences).astype(int)
    for given in (*(confidences.astype(dtype) for dtype in dtypes), strided):
        result = call("risk_coverage_curve", confidences=given, correct=correct)
        np.testing.assert_array_equal(result, expected)
    areas = [
        selective.aurc(confidences=given, correct=kind)
        for given in (confidences, halves, halves.astype(np.int8), halves + 2**40)
        for kind in (correct, correct.astype(np.uint8), correct.astype(float))
    ]
    assert len(set(areas)) == 1
    with_zeros = np.where(confidences == 0, -0.0, confidences)
    mixed = np.where(rng.uniform(size=80) < 0.5, with_zeros, confidences)
    for dtype in (np.float32, np.float64):
        for given in (mixed, np.abs(mixed) * np.sign(mixed) ** 2):
            np.testing.assert_array_equal(
                call("augrc", confidences=given.astype(dtype), correct=correct),
                call("augrc", confidences=given.astype(dtype) + 0, correct=correct),
            )


def test_packed_sort_is_the_general_one(rng):
    """Weights take another path than none."""
    for dtype in (np.float32, np.float64):
        limits = np.finfo(dtype)
        extremes = [limits.max, limits.tiny, limits.smallest_subnormal, 0.0, 1.0]
        positive = np.array([*extremes, *rng.uniform(size=200)], dtype)
        for confidences in (positive, np.append(positive, -positive)):
            confidences = np.append(confidences, confidences[::3])
            correct = rng.uniform(size=len(confidences)) < 0.5
            data = {"confidences": confidences, "correct": correct}
            np.testing.assert_array_equal(
                call("risk_coverage_curve", **data),
                call("risk_coverage_curve", **data, sample_weight=1),
            )


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


@every_function
def test_shapes_and_left_out_examples(name, options, rng):
    confidences, correct, _ = ranked(rng)
    confidences.flags.writeable = correct.flags.writeable = False
    expected = call(name, confidences=confidences, correct=correct, **options)
    columns = confidences[:, None], correct[:, None]
    for scores, outcomes in (
        (columns[0], correct),
        (confidences, columns[1]),
        columns,
        (confidences.reshape(3, 4, 5), correct.reshape(3, 4, 5)),
        (confidences.tolist(), correct.tolist()),
    ):
        result = call(name, confidences=scores, correct=outcomes, **options)
        np.testing.assert_array_equal(result, expected)
    # An example of weight 0 may be anything.
    np.testing.assert_array_equal(
        call(
            name,
            confidences=np.append(confidences, np.nan),
            correct=np.append(correct, 7),
            sample_weight=np.append(np.ones(60), 0),
            **options,
        ),
        expected,
    )


def test_accuracy_of_one_probability():
    assert selective.accuracy([0, 1, 1], [0.5, 0.5, 0.6]) == pytest.approx(2 / 3)
    logits = {"logits": [-1, -1, 3], "ignore_index": 255}
    assert selective.accuracy([0, 1, 255], **logits) == 0.5


GOOD = {"confidences": [0.9, 0.4, 0.6], "correct": [1, 0, 1]}


@pytest.mark.parametrize(
    ("name", "option", "values", "expected"),
    [
        ("coverage_at_risk", "risk", (-0.1, 1.01), r"in \[0, 1\]"),
        ("risk_at_coverage", "coverage", (0, -1, 1.01), r"in \(0, 1\]"),
        ("oracle_collaborative_accuracy", "fraction", (-0.1, 1.01), r"in \[0, 1\]"),
    ],
)
def test_bad_options_raise(name, option, values, expected):
    for value in (*values, np.nan, None, "half", [0.1, 0.2]):
        with pytest.raises(ValueError, match=f"`{option}` must be {expected}"):
            call(name, **GOOD, **{option: value})
