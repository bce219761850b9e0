"""Threads that share a metric lose no batch."""

import threading

import numpy as np
import pytest

from tests.keras.streams import STREAMS, parts

pytestmark = [pytest.mark.keras, pytest.mark.thorough]

THREADS, BATCHES, RUNS = 8, 3, 15
# The first batch makes the state of these metrics; others make it in the constructor.
LAZY = (
    *("StaticCalibrationError", "AdaptiveCalibrationError", "BrierDecomposition"),
    *("ThresholdedAdaptiveCalibrationError",),
)


@pytest.mark.parametrize("name", [*LAZY, "ExpectedCalibrationError", "BrierScore"])
@pytest.mark.first(2)
def test_threads_share_a_fresh_metric(name, rng):
    stream = STREAMS[name]
    assert (name in LAZY) == (len(stream.make().get_state().arrays) == 1)
    batch, *_ = parts(stream.data(rng, 16), 2)
    one = stream.make()
    for _ in range(THREADS * BATCHES):
        one.update_state(*batch)
    for _ in range(RUNS):
        metric = stream.make()
        start = threading.Barrier(THREADS)

        def feed(metric=metric, start=start):
            start.wait()
            for _ in range(BATCHES):
                metric.update_state(*batch)

        threads = [threading.Thread(target=feed) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(metric.variables) == 4
        for name, array in metric.get_state().arrays.items():
            np.testing.assert_array_equal(array, one.get_state().arrays[name], name)
