"""Streaming scoring rules: tests beside the sweeps."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.keras.streams import STREAMS

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.tensors]


@pytest.mark.thorough
def test_decomposition_of_many_batches_in_float64(rng):
    forecasts = rng.dirichlet(np.full(5, 0.3), 3000)
    labels = np.array([rng.choice(5, p=p) for p in forecasts])
    weights = rng.uniform(size=3000)
    for exact, function in (
        (False, um_np.brier_decomposition),
        (True, um_np.brier_decomposition_exact),
    ):
        metric = um.BrierDecomposition(exact=exact, dtype="float64")
        for part in np.array_split(np.arange(3000), 37):
            metric.update_state(labels[part], forecasts[part], weights[part])
        expected = function(labels, forecasts, sample_weight=weights)
        result = {name: float(part) for name, part in metric.result().items()}
        assert list(result) == list(expected._fields)
        np.testing.assert_allclose(list(result.values()), expected, atol=1e-12)


def test_decompositions_of_different_classes_do_not_add():
    metric = um.BrierDecomposition(num_classes=3)
    with pytest.raises(ValueError, match=r"`y_pred` must have 3 classes.*2 classes"):
        metric.update_state([0], [[0.5, 0.5]])
    other = um.BrierDecomposition()
    other.update_state([0], [[0.5, 0.5]])
    fresh = um.BrierDecomposition()
    fresh.merge_state([other])
    assert float(fresh.result()["uncertainty"]) == -1
    third = um.BrierDecomposition()
    third.update_state([0], [[0.5, 0.25, 0.25]])
    with pytest.raises(ValueError, match="classes"):
        fresh.merge_state([third])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        *("CRPSNormal", "CRPSSamples", "IntervalScore", "Pinball"),
        *(name for name in STREAMS if name.startswith("regression.")),
    ],
)
def test_last_axis_may_be_unknown_in_a_graph(name, rng):
    stream = STREAMS[name]
    data = stream.data(rng)
    y_true, y_pred = data.labels, data.predictions
    metric, compiled = stream.make(dtype="float64"), stream.make(dtype="float64")
    metric.update_state(y_true, y_pred)
    update = tf.function(
        lambda *batch: compiled.update_state(*batch),
        [
            tf.TensorSpec([None], tf.as_dtype(y_true.dtype)),
            tf.TensorSpec([None, None], tf.as_dtype(y_pred.dtype)),
        ],
    )
    update(y_true, y_pred)
    np.testing.assert_allclose(compiled.result(), metric.result(), rtol=1e-7)
    if name != "CRPSSamples":
        for wrong in (np.repeat(y_pred, 2, axis=1), y_pred[:, :1]):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[\?,\d\]"):
                update(y_true, wrong)
    compiled.reset_state()
    update(y_true[:1], y_pred)  # One label would broadcast.
    with pytest.warns(RuntimeWarning, match="is NaN until `reset_state`"):
        assert np.isnan(compiled.result())


def test_impossible_labels_have_infinite_likelihood():
    metric = um.NegativeLogLikelihood()
    metric.update_state([0, 1], [[0.5, 0.5], [0.25, 0.75]])
    # An impossible label of weight 0 does not count.
    metric.update_state([1], [[1.0, 0.0]], [0.0])
    assert np.isfinite(metric.result())
    for batch in ([1, 1], [0]):
        metric.update_state(batch, [[1.0, 0.0]] * len(batch))
        assert float(metric.result()) == np.inf
    metric.update_state([0, 1], [[0.5, 0.5], [0.25, 0.75]])
    assert float(metric.result()) == np.inf
    whole = um.NegativeLogLikelihood()
    whole.merge_state([metric, metric])
    assert float(whole.result()) == np.inf
    metric.reset_state()
    metric.update_state([0], [[0.5, 0.5]])
    np.testing.assert_allclose(metric.result(), np.log(2), rtol=1e-6)


def test_scale_of_weights_does_not_matter(rng):
    labels, normals = rng.normal(size=50), rng.normal(size=[50, 2])
    weights = rng.uniform(size=50)
    expected = um.CRPSNormal("exp")
    expected.update_state(labels, normals, weights)
    for scale in (1e-25, 1e25):
        metric = um.CRPSNormal("exp")
        metric.update_state(labels, normals, weights * scale)
        np.testing.assert_allclose(metric.result(), expected.result(), rtol=1e-6)


def test_float64_results_of_float64_scores(rng):
    y, x = rng.normal(size=60), rng.normal(size=[60, 7])
    metric = um.CRPSSamples(dtype="float64")
    for part in np.array_split(np.arange(60), 7):
        metric.update_state(y[part], x[part])
    expected = um_np.crps_score(y, x).mean()
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-13)


def test_normal_distributions(rng):
    from tensorflow_probability import distributions as tfd

    labels = rng.normal(size=[6, 2]).astype(np.float32)
    mean = rng.normal(size=[6, 2]).astype(np.float32)
    scale = np.exp(rng.normal(size=[6, 2])).astype(np.float32)
    expected = um_np.crps_normal_score(labels, mean, scale).mean()
    for normal in (
        tfd.Normal(mean, scale),
        tfd.Independent(tfd.Normal(mean, scale), 1),
    ):
        metric = um.CRPSNormal()
        metric.update_state(labels, normal)
        np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)
        weights = np.array([[1.0], [0], [2], [0], [1], [3]])
        metric.reset_state()
        metric.update_state(labels, normal, weights)
        weighted = np.average(
            um_np.crps_normal_score(labels, mean, scale),
            weights=np.broadcast_to(weights, [6, 2]),
        )
        np.testing.assert_allclose(metric.result(), weighted, rtol=1e-6)
    one_scale = um.CRPSNormal()
    one_scale.update_state(labels[:, 0], tfd.Normal(mean[:, 0], 1.0))
    expected = um_np.crps_normal_score(labels[:, 0], mean[:, 0], 1.0).mean()
    np.testing.assert_allclose(one_scale.result(), expected, rtol=1e-6)
    with pytest.raises(TypeError, match="crps_distribution"):
        um.CRPSNormal().update_state(labels, tfd.Laplace(mean, scale))


def test_negative_scales_raise():
    for transform, word in (("identity", "scales"), ("variance", "variances")):
        with pytest.raises(ValueError, match=rf"`y_pred` must hold {word} >= 0.*-1.0"):
            um.CRPSNormal(transform).update_state([0.0], [[0.0, -1.0]])


def test_one_quantile_needs_no_axis(rng):
    y, q = rng.normal(size=[2, 9])
    expected = um_np.pinball_loss(y, q, 0.3).mean()
    for level in (0.3, [0.3]):
        for predictions in (q, q[:, None]):
            metric = um.Pinball(level)
            metric.update_state(y, predictions)
            np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)
            metric.update_state(y[:, None], predictions)
            np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"`y_pred`.* 2 \(quantiles\)"):
        um.Pinball([0.1, 0.2]).update_state(y, np.ones([9, 3]))
    with pytest.raises(ValueError, match=r"`y_pred`.* 2 \(lower and upper\)"):
        um.IntervalScore(0.1).update_state(y, np.ones([9, 3]))
    with pytest.raises(ValueError, match="`y_pred` must hold at least two samples"):
        um.CRPSSamples().update_state(y, np.ones([9, 1]))


def test_metrics_of_other_predictions_refuse_distributions(rng):
    from tensorflow_probability import distributions as tfd

    normal = tfd.Normal(tf.zeros([4]), 1.0)
    for metric in (um.CRPSSamples(), um.Pinball(0.5), um.ExpectedCalibrationError()):
        with pytest.raises(TypeError, match="`y_pred` must hold numbers"):
            metric.update_state(np.zeros(4), normal)
    with pytest.raises(TypeError, match="`predictive_samples` must hold numbers"):
        um.crps_score(np.zeros(4), normal)


def test_decomposition_of_one_class_is_not_taken_for_scores():
    """Both states have four rows."""
    metric = um.BrierDecomposition(num_classes=1)
    assert [float(part) for part in metric.result().values()] == [0, 0, 0]


def decomposition_arrays(labels, forecasts):
    """Returns the arrays of a saved state, a column for each decision, by a loop."""
    classes = forecasts.shape[1]
    units = np.zeros([2 * classes + 2, classes], np.int64)
    sums = np.zeros(units.shape)
    for label, p in zip(labels, forecasts.astype(np.float64), strict=True):
        decision = np.argmax(p)
        stray = p - np.eye(classes)[decision]
        units[label, decision] += 1
        rest = [*stray, np.sum(stray**2), stray[label]]
        sums[classes:, decision] += rest
    hi = sums.astype(np.float32)
    lo = (sums - hi).astype(np.float32)
    return {"invalid": np.zeros([], np.int64), "units": units, "hi": hi, "lo": lo}


@pytest.mark.parametrize("classes", [3, 70])
def test_saved_decompositions_have_a_column_for_each_decision(rng, tmp_path, classes):
    """Files keep their layout, whatever rows a metric has in memory."""

    def made():
        return um.BrierDecomposition(num_classes=classes, exact=True)

    forecasts = rng.dirichlet(np.full(classes, 0.3), 60).astype(np.float32)
    labels = rng.integers(0, classes, 60)
    expected = um_np.brier_decomposition_exact(labels, forecasts)
    states = []
    for part in (slice(25), slice(25, None)):
        arrays = decomposition_arrays(labels[part], forecasts[part])
        config = made().get_state().config
        state = um_np.MetricState("BrierDecomposition", config, arrays, classes)
        state.save(tmp_path / "state.npz")
        states.append(um_np.MetricState.load(tmp_path / "state.npz"))
        metric = made()
        metric.update_state(labels[part], forecasts[part])
        added = metric.get_state().arrays
        np.testing.assert_allclose(
            *(of["units"] + of["hi"] + of["lo"] for of in (added, arrays)), atol=1e-6
        )
    metric, collection = made(), um.MetricCollection({"it": made()})
    metric.set_state(states[0])
    assert metric.get_state() == states[0]
    metric.merge_state(states[1:])
    collection.set_state({"it": sum(states)})
    for state in (metric.get_state(), collection.get_state()["it"]):
        result = state.to_metric().result()
        np.testing.assert_allclose(list(result.values()), expected, atol=1e-6)


@pytest.mark.thorough
def test_decomposition_of_many_classes_on_two_replicas(rng):
    forecasts = rng.dirichlet(np.full(70, 0.3), 20).astype(np.float32)
    labels = rng.integers(0, 70, 20)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        metric = um.BrierDecomposition(num_classes=70, exact=True)
    data = tf.data.Dataset.from_tensor_slices((labels, forecasts)).batch(10)

    @tf.function
    def step(batch):
        strategy.run(metric.update_state, args=batch)

    for batch in strategy.experimental_distribute_dataset(data):
        step(batch)
    result = list(metric.result().values())
    expected = um_np.brier_decomposition_exact(labels, forecasts)
    np.testing.assert_allclose(result, expected, atol=1e-6)
