"""The likelihood after the best temperature: its precision, range and limits."""

import warnings

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

import uncertainty_metrics as um
from tests.refined_reference import least, likelihood
from uncertainty_metrics.ops import _refined_likelihood

pytestmark = [pytest.mark.keras, pytest.mark.tensors]


def read(metric):
    parts = metric.result(), metric.temperature, metric.calibration_part
    return [float(part) for part in parts]


def drawn(rng, classes, scale, n=400):
    """Returns labels, and calibrated logits of a scale."""
    logits = scale * rng.normal(size=[n, classes])
    return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1), logits


def problems(rng):
    """Yields labels and logits of models of all kinds."""
    for classes in (2, 10, 1000):
        for temperature in (0.2, 1.0, 7.0):
            labels, logits = drawn(rng, classes, rng.choice([1.0, 5.0]))
            yield labels, temperature * logits
    # Nearly separable, with one confident mistake.
    labels, logits = drawn(rng, 10, 3.0)
    logits[np.arange(400), labels] += 40
    labels[0] = (labels[0] + 1) % 10
    yield labels, logits
    # Saturated: some logits are ten times as large as others.
    labels, logits = drawn(rng, 10, 2.0)
    yield labels, logits * np.where(np.arange(400) < 40, 10.0, 1.0)[:, None]


@pytest.mark.thorough
def test_within_the_stated_bounds_of_the_exact_minimum(rng):
    for labels, logits in problems(rng):
        logits = logits.astype(np.float32)
        metric = um.RefinedNegativeLogLikelihood(from_logits=True)
        metric.update_state(labels[:150], logits[:150])
        metric.update_state(labels[150:], logits[150:])
        value, temperature, part = read(metric)
        exact, best = least(labels, logits)
        now = likelihood(labels, logits, 1.0)
        assert abs(value - exact) < 1e-5
        assert abs(part - (now - exact)) < 1e-5
        assert abs(temperature / best - 1) < 1e-4


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("classes", "error", "of_temperature"),
    [(10, 1e-5, 1e-3), (100, 2e-4, 5e-3), (1000, 1e-3, 2e-2)],
)
def test_within_bounds_in_the_worst_case_of_equal_other_logits(
    classes, error, of_temperature
):
    metric = um.RefinedNegativeLogLikelihood(from_logits=True)
    for share in (0.6, 0.9, 0.9999):
        odds = share / (1 - share) * (classes - 1)
        for power in (0.1, 0.25, 0.4):  # T is between two nodes.
            logits = np.zeros([2, classes], np.float32)
            logits[:, 0] = 2**power * np.log(odds)
            metric.reset_state()
            metric.update_state([0, 1], logits, [share, 1 - share])
            value, temperature, _ = read(metric)
            exact = (1 - share) * np.log(odds) - np.log(share)
            assert abs(value - exact) < error
            assert abs(temperature / 2**power - 1) < of_temperature


@pytest.mark.parametrize("power", [-4.0, -3.5, -0.5, 0.0, 0.25, 2.0, 4.0])
def test_the_optimum_equals_a_closed_form(power):
    """Two classes, all examples with the same logits; T is at a node or between two."""
    share = 0.75
    logit = 2**power * np.log(share / (1 - share))
    labels, logits = [0, 1, 1, 1] * 5, np.tile([0.0, logit], [20, 1])
    metric = um.RefinedNegativeLogLikelihood(from_logits=True, dtype="float64")
    # At the ends of the range rounding decides whether there is a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if abs(power) == 4 else "error")
        metric.update_state(labels, logits)
        value, temperature, part = read(metric)
    entropy = -np.sum(special.xlogy([share, 1 - share], [share, 1 - share]))
    assert abs(value - entropy) < 1e-6
    assert abs(part - (likelihood(labels, logits, 1.0) - entropy)) < 1e-6
    if abs(power) < 4:
        assert abs(temperature / 2**power - 1) < 1e-4
        nodes = np.exp(_refined_likelihood.NODES)
        if power in np.round(np.log2(nodes), 6):
            assert abs(temperature / 2**power - 1) < 1e-12


def test_an_optimum_out_of_range_warns():
    logits = np.array([[2.0, 0.0, -1.0]] * 4)
    for labels, way, temperature, end in (
        ([0, 0, 0, 0], "below 1/16", 0.0, 1 / 16),
        ([2, 2, 1, 2], "above 16", np.inf, 16.0),
    ):
        metric = um.RefinedNegativeLogLikelihood(from_logits=True)
        metric.update_state(labels, logits)
        message = f"The best temperature of RefinedNeg.* 'refined_nll' is {way}"
        with pytest.warns(RuntimeWarning, match=message):
            value = float(metric.result())
        expected = likelihood(labels, logits, end)
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-14)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # It has warned.
            assert read(metric)[:2] == [value, temperature]
            assert float(tf.function(metric.result)()) == value
        gained = likelihood(labels, logits, 1.0) - expected
        np.testing.assert_allclose(metric.calibration_part, gained, rtol=1e-5)
        metric.reset_state()
        metric.update_state(labels, logits)
        with pytest.warns(RuntimeWarning, match=message):
            assert float(metric.temperature) == temperature


def test_an_impossible_label_is_infinite_at_every_temperature():
    metric = um.RefinedNegativeLogLikelihood()
    metric.update_state([1, 1, 1, 0], [[0.25, 0.75]] * 4)
    metric.update_state([1], [[1.0, 0.0]], [0.0])  # Its weight is 0.
    assert np.all(np.isfinite(read(metric)))
    metric.update_state([1, 0], [[1.0, 0.0], [0.0, 0.0]])
    with pytest.warns(
        RuntimeWarning, match="is not defined: a label has probability 0"
    ):
        assert float(metric.result()) == np.inf
    assert np.isnan(metric.temperature)
    assert np.isnan(metric.calibration_part)


def test_temperature_is_1_where_all_are_equally_good():
    metric = um.RefinedNegativeLogLikelihood(from_logits=True)
    assert metric.name == "refined_nll"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(metric) == [0.0, 1.0, 0.0]
        metric.update_state([0, 1, 2, 2], np.full([4, 3], 7.0))
        np.testing.assert_allclose(read(metric), [np.log(3), 1.0, 0.0], atol=1e-6)


def test_logits_that_are_large_or_of_half_precision(rng):
    labels, logits = drawn(rng, 5, 1.0, n=60)
    labels[:20], logits[0, 0] = rng.integers(0, 5, 20), -np.inf
    logits[0, labels[0]] = 1.0
    for dtype, factor in ((np.float16, 3.0), (np.float32, 1e3), (np.float32, 1e30)):
        large = np.asarray(factor * logits, dtype)
        metric = um.RefinedNegativeLogLikelihood(from_logits=True)
        metric.update_state(labels, large)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if factor > 3 else "error")
            value, temperature, part = read(metric)
        exact, best = least(labels, large)
        np.testing.assert_allclose(value, exact, rtol=1e-5)
        now = likelihood(labels, large, 1.0)
        np.testing.assert_allclose(part, now - exact, rtol=1e-4)
        assert temperature == (np.inf if factor > 3 else pytest.approx(best, rel=1e-4))


def test_blocks_of_a_batch_add_to_the_whole(rng, monkeypatch):
    margins = rng.normal(size=[41, 3]).astype(np.float32)
    margins[:, 0], margins[5] = 0.0, np.inf
    weights = rng.choice([0.0, 0.5, 3.0], 41).astype(np.float32)
    weights[5] = 0.0
    batch = tf.constant(margins), tf.constant(weights)
    whole = _refined_likelihood.node_sums(*batch)
    for rows in (1, 7, 20):
        monkeypatch.setattr(_refined_likelihood, "_BLOCK", rows * 17 * 3)
        hi, lo = _refined_likelihood.node_sums(*batch)
        np.testing.assert_allclose(hi + lo, whole[0] + whole[1], rtol=1e-6)


def test_in_a_collection_and_merged(rng):
    labels, logits = drawn(rng, 4, 2.0, n=90)
    logits = 3 * logits
    members = {
        "nll": um.NegativeLogLikelihood(from_logits=True),
        "refined": um.RefinedNegativeLogLikelihood(from_logits=True),
    }
    together = um.MetricCollection(members)
    parts = [um.RefinedNegativeLogLikelihood(from_logits=True) for _ in range(3)]
    for part, place in zip(parts, np.array_split(np.arange(90), 3), strict=True):
        together.update_state(labels[place], logits[place])
        part.update_state(labels[place], logits[place])
    merged = um.RefinedNegativeLogLikelihood(from_logits=True)
    merged.merge_state([*parts[:2], parts[2].get_state()])
    read_alike = read(members["refined"])
    np.testing.assert_allclose(read(merged), read_alike, rtol=1e-6)
    np.testing.assert_allclose(read_alike[:2], least(labels, logits), rtol=1e-4)
    found = together.result()
    gap = float(found["nll"]) - float(found["refined"])
    np.testing.assert_allclose(gap, read_alike[2], rtol=1e-5)
