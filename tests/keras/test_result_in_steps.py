"""An eager result after compiled steps is that of eager operations, in one call."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from uncertainty_metrics.keras import _variables
from uncertainty_metrics.ops import _execution

pytestmark = pytest.mark.keras

METRICS = {
    "brier": um.BrierScore,
    "ece": um.ExpectedCalibrationError,
    "aurc": um.AURC,
    "parts": um.BrierDecomposition,
    "refined": um.RefinedNegativeLogLikelihood,
    "collection": lambda: um.MetricCollection(
        [um.BrierScore(), um.BrierDecomposition(), um.MaximumCalibrationError()]
    ),
}


def batch(rng, n=20):
    p = rng.dirichlet(np.ones(3), n).astype(np.float32)
    return tf.constant(rng.integers(0, 3, n)), tf.constant(p)


def floats(result):
    parts = result if isinstance(result, dict) else {"result": result}
    return {name: float(part) for name, part in parts.items()}


def by_operations(metric):
    with _execution.uncompiled():
        return floats(metric.result())


@pytest.mark.parametrize("name", METRICS)
def test_results_are_those_of_eager_operations(name, rng, monkeypatch):
    metric = METRICS[name]()

    def in_one_call():
        """Returns the results without an eager read of a variable."""
        with monkeypatch.context() as patch:
            if name != "refined":  # It has warnings of its own.
                patch.setattr(_variables, "read", None)
            return floats(metric.result())

    @tf.function
    def step(labels, p):
        metric.update_state(labels, p)
        return metric.result()

    for _ in range(3):
        in_step = step(*batch(rng))
        if not isinstance(in_step, dict):
            in_step = {"result": in_step}
        found = in_one_call()
        assert list(found) == list(by_operations(metric))  # In the same order.
        np.testing.assert_allclose(
            list(found.values()), list(by_operations(metric).values()), rtol=1e-6
        )
        np.testing.assert_allclose(
            list(found.values()), [float(in_step[key]) for key in found], rtol=1e-6
        )
        metric.update_state(*batch(rng))  # A later batch counts as well.
        changed = in_one_call()
        assert changed != found
        np.testing.assert_allclose(
            list(changed.values()), list(by_operations(metric).values()), rtol=1e-6
        )
    metric.reset_state()
    assert in_one_call() == by_operations(metric)


def test_a_new_state_has_a_result_of_its_own(rng):
    alone, metric = um.AdaptiveCalibrationError(), um.AdaptiveCalibrationError()
    step = tf.function(lambda: metric.result())
    assert float(step()) == 0  # Traced before the number of classes is known.
    data = batch(rng)
    for each in (alone, metric):
        each.update_state(*data)
    assert float(metric.result()) == float(alone.result()) > 0
    assert float(tf.function(metric.result)()) == pytest.approx(float(alone.result()))
    collection = um.MetricCollection(
        [um.ExpectedCalibrationError(), um.MaximumCalibrationError()]
    )
    tf.function(lambda: collection.result())()
    collection.update_state(*data)
    expected = um.MaximumCalibrationError()
    expected.update_state(*data)
    found = collection.result()["maximum_calibration_error"]
    assert float(found) == pytest.approx(float(expected.result()))


@pytest.mark.parametrize("name", ["ece", "collection"])
def test_a_wrong_batch_is_warned_of_once(name, rng):
    metric = METRICS[name]()

    @tf.function
    def step(labels, p):
        metric.update_state(labels, p)
        return metric.result()

    labels, p = batch(rng)
    step(labels, p)
    assert not np.isnan(list(floats(metric.result()).values())).any()
    step(labels, 2 * p)
    with pytest.warns(RuntimeWarning, match="refused 1 batch") as caught:
        assert np.isnan(list(floats(metric.result()).values())).all()
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.result()
        metric.reset_state()
        step(labels, p)
        metric.result()
    step(labels, 2 * p)
    with pytest.warns(RuntimeWarning, match="refused 1 batch"):
        metric.result()


def test_an_undefined_value_is_warned_of_until_it_is_defined():
    metric = um.AUROC()

    @tf.function
    def step(labels, scores):
        metric.update_state(labels, scores)
        return metric.result()

    for _ in range(2):
        step(tf.constant([1, 1]), tf.constant([0.2, 0.7]))
        with pytest.warns(RuntimeWarning, match="both labels"):
            assert np.isnan(float(metric.result()))
        step(tf.constant([0, 0]), tf.constant([0.1, 0.3]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert float(metric.result()) == 0.75
        metric.reset_state()


def test_results_in_other_contexts_are_not_mixed_up(rng):
    class Doubled(um.BrierScore):
        def result(self):
            return 2 * super().result()

    metric = Doubled()
    step = tf.function(lambda: metric.result())
    metric.update_state(*batch(rng))
    assert float(step()) == float(metric.result())
    expected = float(metric.result()) / 2
    assert float(um.BrierScore.result(metric)) == pytest.approx(expected)


def test_members_that_share_a_state_read_it_once(rng):
    metrics = [um.ExpectedCalibrationError(), um.MaximumCalibrationError()]
    collection = um.MetricCollection(metrics)
    collection.update_state(*batch(rng))
    graph = tf.function(collection._computed_results).get_concrete_function().graph
    reads = [op for op in graph.get_operations() if op.type == "ReadVariableOp"]
    assert len(reads) == len(collection.variables)
