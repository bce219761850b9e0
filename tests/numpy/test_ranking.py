"""Ranking by scores with ties, which selective prediction and detection share."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from tests import catalogue
from uncertainty_metrics.numpy.selective import (
    _sorted_outcomes,
    detection,
    risk_coverage,
)

RANKED = [row for row in catalogue.FUNCTIONS if row.kernel == "ranking"]
SELECTIVE = [("risk_coverage_curve", {})]
SELECTIVE += [(row.name, case) for row in RANKED for case in row.cases]
DETECTION = [(row.name, case) for row in catalogue.DETECTION_ROWS for case in row.cases]
every_function = pytest.mark.parametrize(("name", "options"), SELECTIVE + DETECTION)


def call(name, scores, outcomes, weights=None, **options):
    """Returns the result as a flat array."""
    if hasattr(detection, name):
        value = getattr(detection, name)
        value = value(outcomes, scores, sample_weight=weights, **options)
    else:
        data = {"confidences": scores, "correct": outcomes, "sample_weight": weights}
        value = getattr(risk_coverage, name)(**data, **options)
    return np.concatenate(value) if isinstance(value, tuple) else np.array([value])


def ranked(rng, n=60):
    """Makes tied scores, outcomes that they predict, and weights."""
    scores = np.round(rng.uniform(size=n), 1)
    outcomes = rng.uniform(size=n) < 0.2 + 0.6 * scores
    outcomes[:2] = True, False
    return scores, outcomes, np.exp(rng.normal(size=n))


@every_function
def test_order_changes_no_bit_and_weights_count_as_repeated_examples(
    name, options, rng
):
    scores, outcomes, weights = ranked(rng)
    expected = {}
    for _ in range(4):
        order = rng.permutation(60)
        data = scores[order], outcomes[order]
        for scale in (None, 1.0, 1e-3, 1e-9):
            given = None if scale is None else scale * weights[order]
            result = call(name, *data, given, **options)
            np.testing.assert_array_equal(result, expected.setdefault(scale, result))
    times = rng.integers(0, 4, 60)
    times[:2] = 1
    repeated = np.repeat(scores, times), np.repeat(outcomes, times)
    np.testing.assert_allclose(
        call(name, scores, outcomes, times, **options),
        call(name, *repeated, **options),
        rtol=1e-13,
        atol=1e-15,
    )


@every_function
def test_scale_of_weights_matters_only_where_they_are_numbers_of_examples(
    name, options, rng
):
    scores, outcomes, weights = ranked(rng)
    for base in (weights / weights.mean(), np.ones(60)):
        expected = call(name, scores, outcomes, base, **options)
        # If the mean weight is below 1, its size does not matter.
        for scale in (0.99, 0.1, 1e-12, 1e-200, 1e-310):
            result = call(name, scores, outcomes, base * scale, **options)
            # Subnormal weights have fewer than 53 bits.
            tolerance = 1e-6 if scale < 1e-300 else 1e-12
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-14)
        for scale in (3.0, 1e12, 1e200):
            result = call(name, scores, outcomes, base * scale, **options)
            if name not in ("area_under_risk_coverage_curve", "excess_aurc"):
                np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)
            elif scale == 3:  # Here larger weights are numbers of examples.
                assert abs(result - expected) > 1e-5
        # For these, the scale of the weights of one class does not matter either.
        if name in ("auroc", "fpr_at_tpr"):
            light = np.where(outcomes, 1e-30, 1.0) * base
            result = call(name, scores, outcomes, light, **options)
            np.testing.assert_allclose(result, expected, rtol=1e-12)


@every_function
def test_all_forms_of_the_input_give_the_same_result(name, options, rng):
    scores, outcomes, _ = ranked(rng)
    scores.flags.writeable = outcomes.flags.writeable = False
    expected = call(name, scores, outcomes, **options)
    for forms in (
        (scores[:, None], outcomes.astype(np.float32)),
        (scores, outcomes[:, None]),
        (scores[:, None], outcomes[:, None]),
        (scores.reshape(3, 4, 5), outcomes.reshape(3, 4, 5)),
        (scores.tolist(), outcomes.tolist()),
    ):
        np.testing.assert_array_equal(call(name, *forms, **options), expected)
    # Examples that do not count may have any values.
    more = np.append(scores, np.nan), np.append(outcomes, 7)
    weights = np.append(np.ones(60), 0)
    np.testing.assert_array_equal(call(name, *more, weights, **options), expected)
    if hasattr(detection, name):
        ignored = call(name, *more, **options, ignore_index=7)
        np.testing.assert_array_equal(ignored, expected)


def test_weights_may_have_any_ratio():
    """Results stay in their range if tiny weights are rounded away in sums."""
    data = [4, 3, 2, 1], [0, 1, 0, 1]
    for tiny in (1e-15, 1e-20, 1e-40, 1e-300):
        for light in itertools.product((False, True), repeat=4):
            weights = np.where(light, tiny, 1.0)
            for name, options in SELECTIVE:
                result = call(name, *data, weights, **options)
                assert np.all((result >= 0) & (result <= 4))
        weights = [tiny, 1.0, tiny, 1.0]
        assert call("augrc", *data, weights) < 1e-14


def test_running_sums_of_weights_are_exact(rng):
    weights = np.exp(3 * rng.normal(size=1000))
    weights[500] = 1e14
    sums = _sorted_outcomes._weight_sums(weights, np.arange(1001))
    exact = [math.fsum(weights[:i]) for i in range(1001)]
    np.testing.assert_allclose(sums, exact, rtol=2.0**-51)
    assert np.all(np.diff(sums) >= 0)
    shuffled = rng.permutation(weights)
    assert _sorted_outcomes._weight_sums(shuffled, np.array([1000])) == sums[-1]


def test_digamma_step_equals_mpmath():
    starts = (0.0, 0.3, 1.0, 7.0, 30.5, 31.0, 33.0, 1e3, 1e6, 1e12)
    steps = (1e-9, 0.5, 1.0, 2.0, 31.0, 1e4, 1e9)
    for start, step in itertools.product(starts, steps):
        with mpmath.workdps(50):
            expected = mpmath.digamma(mpmath.mpf(start) + step + 1)
            expected = float(expected - mpmath.digamma(mpmath.mpf(start) + 1))
        found = _sorted_outcomes.digamma_step(start, step)
        np.testing.assert_allclose(found, expected, rtol=2e-15)
    assert _sorted_outcomes.digamma_step(5.0, 0.0) == 0


def test_confidences_may_have_every_dtype(rng):
    confidences = np.round(4 * rng.normal(size=80)) / 2
    correct = rng.uniform(size=80) < 0.5
    expected = call("risk_coverage_curve", confidences, correct)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtypes = (np.float16, np.float32, np.longdouble, ">f4", ">f8", ml_dtypes.bfloat16)
    strided = np.repeat(confidences, 2)[::2]
    halves = (2 * confidences).astype(int)
    for given in (*(confidences.astype(dtype) for dtype in dtypes), strided):
        result = call("risk_coverage_curve", given, correct)
        np.testing.assert_array_equal(result, expected)
    areas = [
        float(call("aurc", given, kind)[0])
        for given in (confidences, halves, halves.astype(np.int8), halves + 2**40)
        for kind in (correct, correct.astype(np.uint8), correct.astype(float))
    ]
    assert len(set(areas)) == 1
    with_zeros = np.where(confidences == 0, -0.0, confidences)
    mixed = np.where(rng.uniform(size=80) < 0.5, with_zeros, confidences)
    for dtype in (np.float32, np.float64):
        for given in (mixed, np.abs(mixed) * np.sign(mixed) ** 2):
            np.testing.assert_array_equal(
                call("augrc", given.astype(dtype), correct),
                call("augrc", given.astype(dtype) + 0, correct),
            )


def test_packed_sort_equals_the_general_sort(rng):
    """Without weights the packed sort runs, with weights the general one."""
    for dtype in (np.float32, np.float64):
        limits = np.finfo(dtype)
        extremes = [limits.max, limits.tiny, limits.smallest_subnormal, 0.0, 1.0]
        positive = np.array([*extremes, *rng.uniform(size=200)], dtype)
        for confidences in (positive, np.append(positive, -positive)):
            confidences = np.append(confidences, confidences[::3])
            correct = rng.uniform(size=len(confidences)) < 0.5
            data = confidences, correct
            np.testing.assert_array_equal(
                call("risk_coverage_curve", *data),
                call("risk_coverage_curve", *data, 1),
            )
