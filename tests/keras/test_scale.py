"""Every metric is exact after 10^9 examples, and up to 2^53 examples."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.keras import streams

pytestmark = [pytest.mark.keras, pytest.mark.tensors, pytest.mark.thorough]

DOUBLINGS = 24


@streams.every_holder
@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.exhaustive), True]
)
def test_values_are_exact_after_10_to_the_9_examples(row, options, weighted, rng):
    data = row.lattice(rng, n=100)
    weights = np.float32(0.1) * rng.integers(1, 40, 100).astype(np.float32)
    weights = weights if weighted else np.ones(100, np.float32)
    batch = [data.labels, data.predictions] + [weights] * weighted
    metric = streams.make_for_graph(row, options)
    metric.update_state(*batch)
    for _ in range(DOUBLINGS):
        metric.merge_state([metric])

    updates = 30 if row.sketched else 300  # Large states are slow.

    @tf.function
    def update(*batch):
        for _ in tf.range(updates):
            metric.update_state(*batch)

    update(*map(tf.constant, batch))
    times = 2**DOUBLINGS + updates
    assert times * len(weights) > 10**9
    data = dataclasses.replace(data, weights=weights.astype(np.float64) * times)
    expected = row.expected(row.metric_cases[0][1], data, True)
    result = streams.read(metric)
    atol = max(1e-6 * row.scale, row.precision)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=atol)
    if not weighted:
        state = metric.get_state()
        assert not np.any(state.arrays["hi"][0])
        once = streams.make_for_graph(row, options)
        once.update_state(*batch)
        counts = once.get_state().arrays["units"][0]
        np.testing.assert_array_equal(state.arrays["units"][0], counts * times)


@streams.every_holder
def test_counts_are_exact_up_to_2_to_the_53(row, options, rng):
    data = row.lattice(rng, n=41)
    metric, once = (streams.make_for_graph(row, options) for _ in range(2))
    once.update_state(data.labels, data.predictions)
    counts = once.get_state().arrays["units"][0]
    doublings = 53 - int(counts.max()).bit_length()
    metric.merge_state([once])
    for _ in range(doublings):
        metric.merge_state([metric])
    metric.merge_state([once])
    found = metric.get_state().arrays["units"][0]
    np.testing.assert_array_equal(found, counts * (2**doublings + 1))
    assert found.max() > 2**52
    data = dataclasses.replace(data, weights=np.full(41, 2.0**doublings))
    expected = row.expected(row.metric_cases[0][1], data, True)
    streams.assert_close(row, streams.read(metric), expected, atol=1e-6)
    metric.merge_state([metric])  # Beyond 2^53 float64 skips integers.
    with pytest.warns(RuntimeWarning, match=r"more than 2\^53 examples"):
        assert np.all(np.isnan(streams.read(metric)))
