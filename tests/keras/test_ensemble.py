"""Streaming uncertainty of ensembles, in the Keras that is loaded."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

keras = tf.keras
pytestmark = pytest.mark.keras

UNCERTAINTIES = {
    "PredictiveEntropy": um_np.predictive_entropy,
    "ExpectedEntropy": um_np.expected_entropy,
    "MutualInformation": um_np.mutual_information,
    "EnsembleDisagreement": um_np.ensemble_disagreement,
    "MeanMemberUncertainty": um_np.mean_member_uncertainty,
    "VariationRatio": um_np.variation_ratio,
}
CROSS_ENTROPIES = {
    "EnsembleCrossEntropy": um_np.ensemble_cross_entropy,
    "GibbsCrossEntropy": um_np.gibbs_cross_entropy,
}
OF_MEMBERS = (*UNCERTAINTIES, *CROSS_ENTROPIES)
ALL = (*OF_MEMBERS, "KnowledgeUncertainty")
# One of each kind of data; the others are means of other scores.
KINDS = ("MutualInformation", "GibbsCrossEntropy", "KnowledgeUncertainty")
every_metric = pytest.mark.parametrize("name", ALL)


def make(name, rng, n=40):
    """Makes labels, predictions and weights; logits as well."""
    shape = [n, 3] if name == "KnowledgeUncertainty" else [n, 4, 3]
    logits = rng.normal(size=shape).astype(np.float32)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    weights[0] = 1.0
    alone = name == "KnowledgeUncertainty"
    predictions = np.exp(logits) if alone else tf.nn.softmax(logits).numpy()
    return rng.integers(0, 3, n), predictions, weights, logits


def expected(name, labels, predictions, weights=None):
    """Returns the mean of the values of the NumPy function."""
    if name == "KnowledgeUncertainty":
        values = um_np.knowledge_uncertainty(predictions).knowledge_uncertainty
    elif name in UNCERTAINTIES:
        values = UNCERTAINTIES[name](probabilities=predictions)
    else:
        return CROSS_ENTROPIES[name](
            labels, probabilities=predictions, sample_weight=weights
        )
    return np.average(values, weights=weights)


def read(metric):
    return float(metric.result())


@pytest.mark.tensors
@every_metric
def test_batches_equal_the_function_on_the_whole(name, rng):
    labels, predictions, weights, logits = make(name, rng)
    metric = getattr(um, name)()
    assert read(metric) == 0.0
    for part in np.array_split(np.arange(40), 3):
        metric.update_state(labels[part], predictions[part])
    np.testing.assert_allclose(
        read(metric), expected(name, labels, predictions), rtol=1e-6
    )
    metric.reset_state()
    for part in np.array_split(np.arange(40), 3):
        metric.update_state(labels[part], predictions[part], weights[part])
    weighted = expected(name, labels, predictions, weights)
    np.testing.assert_allclose(read(metric), weighted, rtol=1e-6)

    other = getattr(um, name)(from_logits=True)
    other.update_state(labels, logits, weights)
    np.testing.assert_allclose(read(other), weighted, rtol=1e-5)
    if name not in CROSS_ENTROPIES:
        metric.update_state(None, predictions)
    merged = getattr(um, name)()
    half = getattr(um, name)(name="half")
    merged.update_state(labels[:9], predictions[:9], weights[:9])
    half.update_state(labels[9:], predictions[9:], weights[9:])
    merged.merge_state([half])
    np.testing.assert_allclose(read(merged), weighted, rtol=1e-6)


@pytest.mark.tensors
@every_metric
@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_equals_eager(name, jit_compile, rng):
    if jit_compile and name not in KINDS:
        pytest.skip("another score, which tests/parity compiles")
    labels, predictions, weights, _ = make(name, rng)
    metric = getattr(um, name)()
    signature = None
    if not jit_compile:
        signature = [
            tf.TensorSpec([None, *array.shape[1:]], array.dtype)
            for array in (labels, predictions, weights)
        ]

    @tf.function(jit_compile=jit_compile, input_signature=signature)
    def update(*batch):
        metric.update_state(*batch)

    update(*(tf.constant(array) for array in (labels, predictions, weights)))
    np.testing.assert_allclose(
        read(metric), expected(name, labels, predictions, weights), rtol=1e-6
    )
    if not jit_compile:  # An empty shard adds nothing.
        before = read(metric)
        update(labels[:0], predictions[:0], weights[:0])
        assert read(metric) == before


@pytest.mark.tensors
@pytest.mark.parametrize("name", OF_MEMBERS)
def test_members_on_other_axes(name, rng):
    labels, predictions, weights, _ = make(name, rng)
    value = expected(name, labels, predictions, weights)
    images = predictions.reshape(2, 4, 5, 4, 3)
    for moved, axis in (
        (predictions.swapaxes(0, 1), 0),
        (images, -2),
        (np.moveaxis(images, 3, 1), 1),
    ):
        metric = getattr(um, name)(ensemble_axis=axis)
        shape = [40] if moved.ndim == 3 else [2, 4, 5]
        metric.update_state(
            labels.reshape(shape), moved, sample_weight=weights.reshape(shape)
        )
        np.testing.assert_allclose(read(metric), value, rtol=1e-6)


def test_entropy_of_a_single_model(rng):
    labels, predictions, weights, _ = make("PredictiveEntropy", rng)
    metric = um.PredictiveEntropy(ensemble_axis=None)
    metric.update_state(labels, predictions[:, 0], weights)
    values = um_np.predictive_entropy(
        probabilities=predictions[:, 0], ensemble_axis=None
    )
    np.testing.assert_allclose(
        read(metric), np.average(values, weights=weights), rtol=1e-6
    )


@pytest.mark.parametrize("name", CROSS_ENTROPIES)
def test_labels_as_keras_users_pass_them(name, rng):
    labels, predictions, weights, _ = make(name, rng)
    value = expected(name, labels, predictions)
    for y_true in (labels[:, None], labels.astype(np.float32), np.eye(3)[labels]):
        metric = getattr(um, name)()
        metric.update_state(y_true, predictions)
        np.testing.assert_allclose(read(metric), value, rtol=1e-6)
    known = rng.uniform(size=40) < 0.7
    metric = getattr(um, name)(ignore_index=255)
    metric.update_state(np.where(known, labels, 255), predictions, weights)
    value = expected(name, labels[known], predictions[known], weights[known])
    np.testing.assert_allclose(read(metric), value, rtol=1e-6)
    metric = getattr(um, name)()
    metric.update_state([0], [[[0.0, 1.0], [0.0, 1.0]]])
    assert read(metric) == np.inf


@every_metric
def test_config_holds_the_arguments_of_the_constructor(name, rng):
    metric = getattr(um, name)(from_logits=True, name="other", dtype="float64")
    config = metric.get_config()
    parameters = set(inspect.signature(type(metric).__init__).parameters)
    assert set(config) == parameters - {"self"}
    again = type(metric).from_config(config)
    assert again.get_config() == config
    labels, _, _, logits = make(name, rng)
    again.update_state(labels, logits)
    assert again.result().dtype == tf.float64


@keras.utils.register_keras_serializable("tests")
def constant_loss_of_members(y_true, y_pred):
    return 0 * tf.reduce_mean(y_pred, axis=[1, 2])


def test_in_compile_and_after_reload(rng, tmp_path):
    features = rng.normal(size=[50, 4]).astype(np.float32)
    labels = rng.integers(0, 3, 50)
    inputs = keras.Input([4])
    outputs = keras.layers.Reshape([5, 3])(keras.layers.Dense(15)(inputs))
    outputs = keras.layers.Softmax()(outputs)
    model = keras.Model(inputs, outputs)
    metrics = [getattr(um, name)(name=name) for name in OF_MEMBERS]
    model.compile("sgd", constant_loss_of_members, metrics=metrics)
    model.save(tmp_path / "model.keras")
    reloaded = keras.models.load_model(tmp_path / "model.keras")
    predictions = reloaded.predict(features, verbose=0)
    arguments = {"batch_size": 16, "verbose": 0, "return_dict": True}
    logs = reloaded.evaluate(features, labels, **arguments)
    for name in OF_MEMBERS:
        value = expected(name, labels, predictions)
        np.testing.assert_allclose(logs[name], value, rtol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_two_replicas_give_the_value_of_one(name, strategy, rng):
    labels, predictions, weights, _ = make(name, rng, 41)
    with strategy.scope():
        metric = getattr(um, name)()
    dataset = tf.data.Dataset.from_tensor_slices((labels, predictions, weights))

    @tf.function
    def step(batch):
        strategy.run(metric.update_state, args=batch)

    for batch in strategy.experimental_distribute_dataset(dataset.batch(12)):
        step(batch)
    np.testing.assert_allclose(
        read(metric), expected(name, labels, predictions, weights), rtol=1e-6
    )


def bad_data(name, rng):
    """Returns what must be refused, with a word of the message."""
    labels, predictions, _, _ = make(name, rng, 4)
    wrong = predictions.copy()
    wrong.reshape(-1)[2] = np.nan
    negative = predictions.copy()
    negative.reshape(-1)[2] = -0.1
    bad = [
        ((labels, wrong), "y_pred"),
        ((labels, negative), "y_pred"),
        ((labels, predictions, [1.0, -1.0, 1.0, 1.0]), "sample_weight"),
        ((labels, predictions, np.ones(3)), "sample_weight"),
        ((labels[:3], predictions), "y_true"),
        ((labels[:0], predictions[:0]), "y_"),
    ]
    if name in OF_MEMBERS:
        bad.append(((labels, predictions[:, 0]), "y_pred"))
    if name in CROSS_ENTROPIES:
        bad.append(((labels + 1.5, predictions), "y_true"))
        bad.append(((labels + 3, predictions), "y_true"))
    return bad


@pytest.mark.tensors
@every_metric
def test_bad_data_raises_and_keeps_the_state(name, rng):
    labels, predictions, _, _ = make(name, rng)
    metric = getattr(um, name)()
    metric.update_state(labels, predictions)
    before = read(metric)
    for arguments, word in bad_data(name, rng):
        with pytest.raises(ValueError, match=word) as raised:
            metric.update_state(*arguments)
        assert "Received" in str(raised.value)
        assert read(metric) == before


@pytest.mark.tensors
@every_metric
def test_bad_values_in_a_graph_make_the_result_nan(name, rng):
    for arguments, _ in bad_data(name, rng)[:3]:
        metric = getattr(um, name)()

        @tf.function
        def update(*batch, metric=metric):
            metric.update_state(*batch)

        update(*(tf.constant(argument) for argument in arguments))
        assert np.isnan(read(metric))


@pytest.mark.tensors
@every_metric
def test_examples_of_weight_zero_may_hold_anything(name, rng):
    labels, predictions, weights, _ = make(name, rng)
    hole = np.where(weights.reshape(-1, *[1] * (predictions.ndim - 1)) > 0, 0, np.nan)
    metric = getattr(um, name)()
    metric.update_state(labels, predictions + hole, weights)
    np.testing.assert_allclose(
        read(metric), expected(name, labels, predictions, weights), rtol=1e-6
    )


@pytest.mark.tensors
@every_metric
def test_whole_predictions(name, rng):
    labels, predictions, _, _ = make(name, rng)
    whole = np.eye(3, dtype=bool)[np.argmax(predictions, axis=-1)]
    whole |= name == "KnowledgeUncertainty"  # Alphas are > 0.
    results = []
    for dtype in (np.float32, np.int64, bool):
        metric = getattr(um, name)()
        metric.update_state(labels, whole.astype(dtype))
        results.append(read(metric))
    assert results == results[:1] * 3


@pytest.mark.tensors
@pytest.mark.parametrize("name", OF_MEMBERS)
def test_probabilities_are_no_logits(name, rng):
    labels, predictions, _, logits = make(name, rng)
    with pytest.raises(ValueError, match="for logits use `from_logits=True`"):
        getattr(um, name)().update_state(labels, logits)
    metric = getattr(um, name)(from_logits=True)
    with pytest.raises(ValueError, match="for probabilities use `from_logits=False`"):
        metric.update_state(labels, predictions)
    tf.function(metric.update_state)(labels, predictions)
    assert np.isnan(read(metric))


@every_metric
def test_bad_options_raise(name):
    with pytest.raises(ValueError, match="from_logits"):
        getattr(um, name)(from_logits=1)
    if name in OF_MEMBERS:
        metric = getattr(um, name)(ensemble_axis=2)
        with pytest.raises(ValueError, match="ensemble_axis"):
            metric.update_state([0], np.full([1, 2, 3], 1 / 3))
